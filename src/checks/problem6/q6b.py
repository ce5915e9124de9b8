"""Question 6b, basic: choices.toml has five tables of known names, and objectives that train what
they are chosen for. Which names are right for an application is not here.
"""

from autograder import Answer, NotImplementedYet, WrongAnswer, check, probe
from checks.support.submitted_file import file_content, read_content

FILE = "problem6/choices.toml"
APPLICATIONS = ("spam_filter", "chatbot", "summarizer", "sql_generator", "search")
VALUES = {
    "architecture": "encoder-only decoder-only encoder-decoder".split(),
    "objective": (
        "masked-lm masked-lm-on-code masked-lm-then-contrastive next-sentence span-corruption "
        "translation causal-lm causal-lm-on-code"
    ).split(),
    "modification": (
        "classification-head per-token-labels pooled-embedding long-input limited-output "
        "dialogue-tuning-and-retrieval higher-temperature schema-input-and-constrained-decoding "
        "larger-vocabulary"
    ).split(),
}
# The objectives that train every part of an architecture. (Translation is span corruption's like.)
TRAINS = {
    "encoder-only": "masked-lm masked-lm-on-code masked-lm-then-contrastive next-sentence".split(),
    "decoder-only": "causal-lm causal-lm-on-code span-corruption translation".split(),
    "encoder-decoder": "span-corruption translation".split(),
}


@probe(uses=(file_content,))
def read_toml(name):
    """Return a TOML file's content, or why it cannot be read."""
    import tomllib

    return file_content(name, lambda data: tomllib.loads(data.decode("utf-8-sig")))


@check("6b-1-basic")
def test_file(student):
    """Five tables and nothing else, each filled in with known names that fit each other, and not
    the same in all. Reports everything wrong with the tables at once.
    """
    tables = read_file(student)
    chosen, problems = read_choices(tables)
    if more := [name[:60] for name in tables if name not in APPLICATIONS]:
        problems.append(
            f"{FILE} has {', '.join(more)[:200]}. There should be the tables "
            f"{', '.join(APPLICATIONS)} and nothing else."
        )
    for name, (architecture, objective, _) in chosen.items():
        if objective not in TRAINS[architecture]:
            problems.append(
                f"[{name}] has values that do not fit: {objective} does not train every part of "
                f"{'a' if architecture[0] == 'd' else 'an'} {architecture} model."
            )
    if len(chosen) == len(APPLICATIONS) and len({*chosen.values()}) == 1:
        problems.append(
            "All five applications have the same three values. Choose for each by its own input "
            "and output."
        )
    if problems:
        raise WrongAnswer("\n".join(problems))


def read_file(student) -> dict[str, Answer]:
    """Read the file's top-level entries, which should be tables.

    Raises:
        NotImplementedYet: there is no file, or all applications' tables are still empty.
        WrongAnswer: it cannot be read.
    """
    advice = 'A line is [table], or key = "value" with quotation marks, or starts with #.'
    tables = read_content(student, read_toml, FILE, advice).entries()
    values = [tables[name].value if name in tables else None for name in APPLICATIONS]
    if all(isinstance(table, dict) and [*map(table.get, VALUES)] == [""] * 3 for table in values):
        raise NotImplementedYet(
            f"{FILE}: all choices are still empty. Write a name between the quotation marks of "
            "each."
        )
    return tables


def read_choices(tables: dict[str, Answer]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Read the three values of each application, each one of VALUES.

    Returns:
        Those of applications without a problem, by name; and the first problem of each other.
    """
    chosen, problems = {}, []
    for name in APPLICATIONS:
        table = tables[name].value if name in tables else None
        if not isinstance(table, dict) or table.keys() != VALUES.keys():
            problems.append(f"[{name}] should be a table of {', '.join(VALUES)} and nothing else.")
        elif wrong := [key for key, allowed in VALUES.items() if table[key] not in allowed]:
            key, value = wrong[0], tables[name].entries()[wrong[0]]
            should = f"is {value.describe()}, and should be one of: {', '.join(VALUES[key])}."
            problems.append(
                f"{key} of [{name}] {should if value.value != '' else 'is still empty.'}"
            )
        else:
            chosen[name] = tuple(table[key] for key in VALUES)
    return chosen, problems
