"""Question 6b, hidden: the choices for the other four applications."""
from autograder import NotImplementedYet, WrongAnswer, check
from checks.choices import blank, read_choices, read_table

# Architecture, objective and modification: what can be defended. The spam filter's is in the basic check.
DEFENSIBLE = {
    "chatbot": {("decoder-only", "causal-lm", "dialogue-tuning-and-retrieval")},
    "summarizer": {("encoder-decoder", "span-corruption", "long-input"), ("decoder-only", "causal-lm", "long-input")},
    "sql_generator": {("decoder-only", "causal-lm-on-code", "schema-input-and-constrained-decoding"),
                      ("encoder-decoder", "span-corruption", "schema-input-and-constrained-decoding")},
    "search": {("encoder-only", "masked-lm-then-contrastive", "pooled-embedding")},
}


@check("6b-2-hidden")
def test_choices(student):
    """A point for each."""
    tables, problems = read_choices(student), []
    if all(blank(tables[name]) for name in DEFENSIBLE):
        raise NotImplementedYet("All four are still empty.")
    for name, defensible in DEFENSIBLE.items():
        try:
            chosen = read_table(name, tables[name])
            if chosen not in defensible:
                raise WrongAnswer(f"[{name}] cannot be defended: {', '.join(chosen)}.")
        except WrongAnswer as wrong:
            problems.append(wrong.message)
    if problems:
        raise WrongAnswer("\n".join(problems), fraction=1 - len(problems) / len(DEFENSIBLE))
