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


def written(old: str, new: str) -> tuple[Text]:
    """The right file, spelled otherwise."""
    assert old in RIGHT
    return (Text("choices.toml", RIGHT.replace(old, new)),)


# Wrong ideas of what an application needs: names that exist, in a file that is complete.
IDEAS = [
    misconception("choices-decoder-as-filter",
          "A decoder can do everything, so it filters e-mails.",
          choose(spam_filter=("decoder-only", "causal-lm", None)), (RIGHTNESS,)),
    misconception("choices-filter-with-both", "The filter has a decoder to write its label.",
          choose(spam_filter=("encoder-decoder", "span-corruption", None)), (RIGHTNESS,)),
    misconception("choices-filter-does-not-fit",
          "The filter's decoder is trained to guess hidden words.",
          choose(spam_filter=("decoder-only", None, None)), (RIGHTNESS,)),
    misconception("choices-filter-by-vectors", "The filter compares vectors.",
          choose(spam_filter=(None, None, "pooled-embedding")), (RIGHTNESS,)),
    misconception("choices-filter-contrastive", "The filter is trained as a search is.",
          choose(spam_filter=(None, "masked-lm-then-contrastive", None)), (RIGHTNESS,)),
    misconception("choices-filter-needs-words", "Spam has unusual words.",
          choose(spam_filter=(None, None, "larger-vocabulary")), (RIGHTNESS,)),
    misconception("choices-filter-by-tokens", "The filter says of each word whether it is spam.",
          choose(spam_filter=(None, None, "per-token-labels")), (RIGHTNESS,)),
    misconception("choices-filter-by-next-sentence",
          "Guessing whether sentences belong together prepares for classes.",
          choose(spam_filter=(None, "next-sentence", None)), (RIGHTNESS,)),
    misconception("choices-chatbot-with-encoder",
          "The history is read by an encoder, which nothing trains.",
          choose(chatbot=("encoder-decoder", "causal-lm", None)), (RIGHTNESS,)),
    misconception("choices-chatbot-encoder", "An encoder answers.",
          choose(chatbot=("encoder-only", "masked-lm", None)), (RIGHTNESS,)),
    misconception("choices-chatbot-by-next-sentence",
          "A reply is the next sentence, so the chatbot learns to tell which it is.",
          choose(chatbot=("encoder-only", "next-sentence", None)), (RIGHTNESS,)),
    misconception("choices-chatbot-of-code", "The chatbot learned on programs.",
          choose(chatbot=(None, "causal-lm-on-code", None)), (RIGHTNESS,)),
    misconception("choices-chatbot-only-pretrained", "The chatbot needs more words.",
          choose(chatbot=(None, None, "larger-vocabulary")), (RIGHTNESS,)),
    misconception("choices-chatbot-hot",
          "What a pretrained model lacks in a conversation is variety.",
          choose(chatbot=(None, None, "higher-temperature")), (RIGHTNESS,)),
    misconception("choices-summarizer-mixed", "A decoder is trained by masked language modeling.",
          choose(summarizer=("decoder-only", "masked-lm", None)), (RIGHTNESS,)),
    misconception("choices-summarizer-of-labels", "The summarizer classifies sentences.",
          choose(summarizer=("encoder-only", "masked-lm", "classification-head")), (RIGHTNESS,)),
    misconception("choices-summarizer-of-dialogue",
          "A meeting is a conversation, so the summarizer is tuned as a chatbot is.",
          choose(summarizer=(None, None, "dialogue-tuning-and-retrieval")), (RIGHTNESS,)),
    misconception("choices-summarizer-cut",
          "Three paragraphs are short, so it is the output that needs care.",
          choose(summarizer=(None, None, "limited-output")), (RIGHTNESS,)),
    misconception("choices-summarizer-translates", "A summary is a translation into fewer words.",
          choose(summarizer=("encoder-decoder", "translation", None)), (RIGHTNESS,)),
    misconception("choices-sql-no-code", "The decoder for SQL has seen no code.",
          choose(sql_generator=(None, "causal-lm", None)), (RIGHTNESS,)),
    misconception("choices-sql-spans",
          "The decoder for SQL filled gaps in texts, and has seen no code.",
          choose(sql_generator=("decoder-only", "span-corruption", None)), (RIGHTNESS,)),
    misconception("choices-sql-by-masked-code",
          "Guessing hidden words of programs prepares for writing them.",
          choose(sql_generator=("encoder-only", "masked-lm-on-code", None)), (RIGHTNESS,)),
    misconception("choices-sql-translates",
          "SQL is another language, so translation prepares for it.",
          choose(sql_generator=("encoder-decoder", "translation", None)), (RIGHTNESS,)),
    misconception("choices-sql-no-schema", "The schema is known to the model.",
          choose(sql_generator=(None, None, "long-input")), (RIGHTNESS,)),
    misconception("choices-search-by-masked-words",
          "Masked language modeling makes vectors that can be compared.",
          choose(search=(None, "masked-lm", None)), (RIGHTNESS,)),
    misconception("choices-search-decoder", "The search writes the documents' names.",
          choose(search=("decoder-only", "causal-lm", None)), (RIGHTNESS,)),
    misconception("choices-search-classes", "Each document is a class.",
          choose(search=(None, None, "classification-head")), (RIGHTNESS,)),
    misconception("choices-all-the-same", "Every application gets the chatbot's model.",
          choose(**dict.fromkeys(("spam_filter", "summarizer", "sql_generator", "search"),
                                 ("decoder-only", "causal-lm", "dialogue-tuning-and-retrieval"))),
          (RIGHTNESS,)),
]
# Files that are not written as they should be.
SPELLINGS = [
    slip("choices-two-values", "Both defensible architectures are named.",
         written('architecture = "encoder-decoder"',
                 'architecture = ["encoder-decoder", "decoder-only"]'), (FILE, RIGHTNESS)),
    slip("choices-capitals", "Names are spelled otherwise.", written('"causal-lm"', '"Causal LM"'),
         (FILE, RIGHTNESS)),
    slip("choices-exchanged", "Architecture and objective are swapped.",
         choose(search=("masked-lm-then-contrastive", "encoder-only", None)), (FILE, RIGHTNESS)),
    slip("choices-other-table", "A table has another name.",
         written("[summarizer]", "[summariser]"), (FILE, RIGHTNESS)),
    slip("choices-one-more-table", "There is one more table.",
         written("[search]", "[remarks]\n[search]"), (FILE,)),
    slip("choices-key-at-the-top", "A name stands before all tables.",
         (Text("choices.toml", 'name = "Ada"\n' + RIGHT),), (FILE,)),
    slip("choices-one-more-key", "A table has a reason in it.",
         written("[chatbot]", '[chatbot]\nreason = "it writes"'), (FILE, RIGHTNESS)),
    slip("choices-key-missing", "A table lacks a modification.",
         written('modification = "pooled-embedding"\n', ""), (FILE, RIGHTNESS)),
    slip("choices-left-empty", "A value is still empty.", choose(chatbot=(None, None, "")),
         (FILE, RIGHTNESS)),
    slip("choices-four-left", "Only the filter's choices are made.",
         choose(**dict.fromkeys(("chatbot", "summarizer", "sql_generator", "search"),
                                ("", "", ""))), (FILE, RIGHTNESS)),
    slip("choices-without-quotes", "Values stand without quotation marks.",
         written('"encoder-only"', "encoder-only"), (FILE, RIGHTNESS)),
    slip("choices-as-json", "The file is JSON.",
         (Text("choices.toml", '{"spam_filter": {"architecture": "encoder-only"}}'),),
         (FILE, RIGHTNESS)),
    slip("choices-tables-are-strings", "Tables are lines with all three values.",
         (Text("choices.toml", "".join(f'{name} = "decoder-only, causal-lm, long-input"\n'
                                       for name in (
             "spam_filter", "chatbot", "summarizer", "sql_generator", "search"))),),
         (FILE, RIGHTNESS)),
    slip("choices-file-missing", "The file was not handed in.", (Text("choices.toml", None),),
         (FILE, RIGHTNESS)),
    slip("choices-file-empty", "Nothing is in the file.", (Text("choices.toml", ""),),
         (FILE, RIGHTNESS)),
]
MISTAKES = IDEAS + SPELLINGS
EXCEPTIONS = {wrong.name: "A basic check that tells right choices from wrong ones gives them away "
                          "to whoever tries all."
              for wrong in IDEAS}
