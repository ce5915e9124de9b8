"""Question 6b, hidden: whether the choices are defensible."""

from autograder import WrongAnswer, check
from checks.problem6.q6b import read_choices, read_file

# Architecture, objective and modification.
DEFENSIBLE = {
    "spam_filter": {("encoder-only", "masked-lm", "classification-head")},
    # Span corruption trains a decoder alone, too, as in question 1f.
    "chatbot": {
        ("decoder-only", "causal-lm", "dialogue-tuning-and-retrieval"),
        ("decoder-only", "span-corruption", "dialogue-tuning-and-retrieval"),
        ("encoder-decoder", "span-corruption", "dialogue-tuning-and-retrieval"),
    },
    "summarizer": {
        ("encoder-decoder", "span-corruption", "long-input"),
        ("decoder-only", "causal-lm", "long-input"),
        ("decoder-only", "span-corruption", "long-input"),
    },
    # Of the objectives that train a decoder alone, the one on code prepares best for code.
    "sql_generator": {
        ("decoder-only", "causal-lm-on-code", "schema-input-and-constrained-decoding"),
        ("encoder-decoder", "span-corruption", "schema-input-and-constrained-decoding"),
    },
    "search": {("encoder-only", "masked-lm-then-contrastive", "pooled-embedding")},
}
# Share of the check's 4 points deducted per wrong application: 1.25 points, a quarter of the 5 that
# the file is worth (the basic check gives the other one).
TAKES = 5 / 16


@check("6b-2-hidden")
def test_choices(student):
    """Each indefensible choice costs points."""
    chosen, problems = read_choices(read_file(student))
    for name, values in chosen.items():
        if values not in DEFENSIBLE[name]:
            problems.append(f"[{name}] cannot be defended: {', '.join(values)}.")
    if problems:
        raise WrongAnswer("\n".join(problems), fraction=max(0.0, 1 - TAKES * len(problems)))
