"""Wrong choices of architectures, and files of them that cannot be read (question 6b)."""
import re

from instructor.mistakes.patches import Text, misconception, slip
from instructor.release.starter import SOLUTION

FILE, RIGHTNESS = "6b-1-basic", "6b-2-hidden"
RIGHT = (SOLUTION / "problem6" / "choices.toml").read_text(encoding="utf-8")


def choose(text: str = RIGHT, **tables: tuple[str, str, str]) -> tuple[Text]:
    """The right file with other choices for some applications; None leaves a value as it is."""
    for name, values in tables.items():
        for key, value in zip(("architecture", "objective", "modification"), values):
            if value is not None:
                text, count = re.subn(rf'(\[{name}\][^\[]*?{key} = )".*?"',
                                      lambda match: f'{match[1]}"{value}"', text)
                assert count == 1
    return (Text("choices.toml", text),)


# Wrong ideas of what an application needs: names that exist, in a file that is complete.
IDEAS = [
    misconception("choices-decoder-as-filter",
          "A decoder can do everything, so it filters e-mails.",
          choose(spam_filter=("decoder-only", "causal-lm", None)), (RIGHTNESS,)),
    misconception("choices-chatbot-hot",
          "What a pretrained model lacks in a conversation is variety.",
          choose(chatbot=(None, None, "higher-temperature")), (RIGHTNESS,)),
    misconception("choices-summarizer-translates", "A summary is a translation into fewer words.",
          choose(summarizer=("encoder-decoder", "translation", None)), (RIGHTNESS,)),
    misconception("choices-sql-no-code", "The decoder for SQL has seen no code.",
          choose(sql_generator=(None, "causal-lm", None)), (RIGHTNESS,)),
    misconception("choices-search-by-masked-words",
          "Masked language modeling makes vectors that can be compared.",
          choose(search=(None, "masked-lm", None)), (RIGHTNESS,)),
]
# What the basic check sees: values that do not fit each other, or were not chosen one by one.
UNFIT = [
    misconception("choices-chatbot-with-encoder",
          "The history is read by an encoder, which nothing trains.",
          choose(chatbot=("encoder-decoder", "causal-lm", None)), (FILE, RIGHTNESS)),
    misconception("choices-summarizer-mixed", "A decoder is trained by masked language modeling.",
          choose(summarizer=("decoder-only", "masked-lm", None)), (FILE, RIGHTNESS)),
    misconception("choices-all-the-same", "Every application gets the chatbot's model.",
          choose(**dict.fromkeys(("spam_filter", "summarizer", "sql_generator", "search"),
                                 ("decoder-only", "causal-lm", "dialogue-tuning-and-retrieval"))),
          (FILE, RIGHTNESS)),
]
# Files that are not written as they should be.
SPELLINGS = [
    slip("choices-exchanged", "Architecture and objective are swapped.",
         choose(search=("masked-lm-then-contrastive", "encoder-only", None)), (FILE, RIGHTNESS)),
    slip("choices-other-table", "A table has another name.",
         (Text("choices.toml", RIGHT.replace("[summarizer]", "[summariser]")),),
         (FILE, RIGHTNESS)),
    slip("choices-key-at-the-top", "A name stands before all tables.",
         (Text("choices.toml", 'name = "Ada"\n' + RIGHT),), (FILE,)),
    slip("choices-left-empty", "A value is still empty.", choose(chatbot=(None, None, "")),
         (FILE, RIGHTNESS)),
    slip("choices-without-quotes", "Values stand without quotation marks.",
         (Text("choices.toml", RIGHT.replace('"encoder-only"', "encoder-only")),),
         (FILE, RIGHTNESS)),
]
MISTAKES = IDEAS + UNFIT + SPELLINGS
EXCEPTIONS = {wrong.name: "A basic check that tells right choices from wrong ones gives them away "
                          "to whoever tries all."
              for wrong in IDEAS}
