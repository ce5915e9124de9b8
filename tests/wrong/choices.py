"""Wrong choices of architectures, and files of them that cannot be read (question 6b)."""
import re

from instructor.starter import SOLUTION
from variants import Text, Wrong

FILE, OTHERS = "6b-1-basic", "6b-2-hidden"
RIGHT = (SOLUTION / "choices.toml").read_text(encoding="utf-8")


def choose(text: str = RIGHT, **tables: tuple[str, str, str]) -> tuple[Text]:
    """The right file with other choices for some applications; None leaves a value as it is."""
    for name, values in tables.items():
        for key, value in zip(("architecture", "objective", "modification"), values):
            if value is not None:
                text, count = re.subn(rf'(\[{name}\][^\[]*?{key} = )".*?"', lambda match: f'{match[1]}"{value}"', text)
                assert count == 1
    return (Text("choices.toml", text),)


def written(old: str, new: str) -> tuple[Text]:
    """The right file, spelled otherwise."""
    assert old in RIGHT
    return (Text("choices.toml", RIGHT.replace(old, new)),)


WRONG = [
    Wrong("choices-decoder-as-filter", "A decoder can do everything, so it filters e-mails.",
          choose(spam_filter=("decoder-only", "causal-lm", None)), (FILE,)),
    Wrong("choices-filter-with-both", "The filter has a decoder to write its label.",
          choose(spam_filter=("encoder-decoder", "span-corruption", None)), (FILE,)),
    Wrong("choices-filter-does-not-fit", "The filter's decoder is trained to guess hidden words.",
          choose(spam_filter=("decoder-only", None, None)), (FILE,)),
    Wrong("choices-filter-by-vectors", "The filter compares vectors.",
          choose(spam_filter=(None, None, "pooled-embedding")), (FILE,)),
    Wrong("choices-filter-contrastive", "The filter is trained as a search is.",
          choose(spam_filter=(None, "masked-lm-then-contrastive", None)), (FILE,)),
    Wrong("choices-filter-needs-words", "Spam has unusual words.",
          choose(spam_filter=(None, None, "larger-vocabulary")), (FILE,)),
    Wrong("choices-chatbot-with-encoder", "The history is read by an encoder.",
          choose(chatbot=("encoder-decoder", "span-corruption", None)), (OTHERS,)),
    Wrong("choices-chatbot-encoder", "An encoder answers.", choose(chatbot=("encoder-only", "masked-lm", None)), (OTHERS,)),
    Wrong("choices-chatbot-of-code", "The chatbot learned on programs.",
          choose(chatbot=(None, "causal-lm-on-code", None)), (OTHERS,)),
    Wrong("choices-chatbot-only-pretrained", "The chatbot needs more words.",
          choose(chatbot=(None, None, "larger-vocabulary")), (OTHERS,)),
    Wrong("choices-summarizer-mixed", "A decoder is trained by span corruption.", choose(summarizer=("decoder-only", None, None)),
          (OTHERS,)),
    Wrong("choices-summarizer-of-labels", "The summarizer classifies sentences.",
          choose(summarizer=("encoder-only", "masked-lm", "classification-head")), (OTHERS,)),
    Wrong("choices-summarizer-short", "An hour of speech is no longer than other inputs.",
          choose(summarizer=(None, None, "dialogue-tuning-and-retrieval")), (OTHERS,)),
    Wrong("choices-sql-no-code", "The decoder for SQL has seen no code.",
          choose(sql_generator=(None, "causal-lm", None)), (OTHERS,)),
    Wrong("choices-sql-no-schema", "The schema is known to the model.",
          choose(sql_generator=(None, None, "long-input")), (OTHERS,)),
    Wrong("choices-search-by-masked-words", "Masked language modeling makes vectors that can be compared.",
          choose(search=(None, "masked-lm", None)), (OTHERS,)),
    Wrong("choices-search-decoder", "The search writes the documents' names.", choose(search=("decoder-only", "causal-lm", None)),
          (OTHERS,)),
    Wrong("choices-search-classes", "Each document is a class.", choose(search=(None, None, "classification-head")), (OTHERS,)),
    Wrong("choices-all-the-same", "Every application gets the chatbot's model.",
          choose(**dict.fromkeys(("spam_filter", "summarizer", "sql_generator", "search"),
                                 ("decoder-only", "causal-lm", "dialogue-tuning-and-retrieval"))), (FILE, OTHERS)),
    Wrong("choices-two-values", "Both defensible architectures are named.",
          written('architecture = "encoder-decoder"', 'architecture = ["encoder-decoder", "decoder-only"]'), (FILE, OTHERS)),
    Wrong("choices-capitals", "Names are spelled otherwise.", written('"causal-lm"', '"Causal LM"'), (FILE, OTHERS)),
    Wrong("choices-exchanged", "Architecture and objective have changed places.",
          choose(search=("masked-lm-then-contrastive", "encoder-only", None)), (FILE, OTHERS)),
    Wrong("choices-other-table", "A table has another name.", written("[summarizer]", "[summariser]"), (FILE, OTHERS)),
    Wrong("choices-one-more-table", "There is one more table.", written("[search]", "[remarks]\n[search]"), (FILE, OTHERS)),
    Wrong("choices-key-at-the-top", "A name stands before all tables.", (Text("choices.toml", 'name = "Ada"\n' + RIGHT),),
          (FILE, OTHERS)),
    Wrong("choices-one-more-key", "A table has a reason in it.",
          written("[chatbot]", '[chatbot]\nreason = "it writes"'), (FILE, OTHERS)),
    Wrong("choices-key-missing", "A table lacks a modification.",
          written('modification = "pooled-embedding"\n', ""), (FILE, OTHERS)),
    Wrong("choices-left-empty", "A value is still empty.", choose(chatbot=(None, None, "")), (FILE, OTHERS)),
    Wrong("choices-four-left", "Only the filter's choices are made.",
          choose(**dict.fromkeys(("chatbot", "summarizer", "sql_generator", "search"), ("", "", ""))), (OTHERS,)),
    Wrong("choices-without-quotes", "Values stand without quotation marks.",
          written('"encoder-only"', "encoder-only"), (FILE, OTHERS)),
    Wrong("choices-as-json", "The file is JSON.",
          (Text("choices.toml", '{"spam_filter": {"architecture": "encoder-only"}}'),), (FILE, OTHERS)),
    Wrong("choices-tables-are-strings", "Tables are lines with all three values.",
          (Text("choices.toml", "".join(f'{name} = "decoder-only, causal-lm, long-input"\n' for name in (
              "spam_filter", "chatbot", "summarizer", "sql_generator", "search"))),), (FILE, OTHERS)),
    Wrong("choices-file-missing", "The file was not handed in.", (Text("choices.toml", None),), (FILE, OTHERS)),
    Wrong("choices-file-empty", "Nothing is in the file.", (Text("choices.toml", ""),), (FILE, OTHERS)),
]
