"""Right choices (question 6b): the other ones that can be defended, and other ways to write the
file.
"""
from instructor.mistakes.patches import Right, Text
from instructor.mistakes.q6b import RIGHT as FILE
from instructor.mistakes.q6b import choose

OTHER = choose(summarizer=("decoder-only", "causal-lm", None),
               sql_generator=("encoder-decoder", "span-corruption", None),
               chatbot=("encoder-decoder", "span-corruption", None))[0].text

RIGHT = [
    Right("choices_other_three", "Where there are several answers, it has another; Windows' line "
                                 "ends.",
          (Text("choices.toml", OTHER.replace("\n", "\r\n")),)),
    Right("choices_decoders_by_span_corruption", "Decoders trained by span corruption, as in 1f.",
          choose(chatbot=("decoder-only", "span-corruption", None),
                 summarizer=("decoder-only", "span-corruption", None))),
    Right("choices_inline", "One line for each, in another order, with a remark in the same line, "
                            "after a byte-order mark.",
          (Text("choices.toml", "\ufeff" + "".join(
              f"{name} = {{modification='{modification}', architecture = \"{architecture}\", "
              f"objective = '{objective}'}} # mine\n"
              for name, architecture, objective, modification in (
                  ("search", "encoder-only", "masked-lm-then-contrastive", "pooled-embedding"),
                  ("sql_generator", "decoder-only", "causal-lm-on-code",
                   "schema-input-and-constrained-decoding"),
                  ("summarizer", "decoder-only", "causal-lm", "long-input"),
                  ("chatbot", "decoder-only", "causal-lm", "dialogue-tuning-and-retrieval"),
                  ("spam_filter", "encoder-only", "masked-lm", "classification-head")))),)),
    Right("choices_bare", "No remarks, and no blank lines.",
          (Text("choices.toml", "".join(line + "\n" for line in FILE.splitlines() if line
                                        and line[0] != "#")),)),
]
