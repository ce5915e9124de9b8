"""Question 6b, basic: choices.toml has five tables of known names, and objectives that train what
they are chosen for. Which names are right for an application is not here.
"""

import difflib

from autograder import Answer, NotImplementedYet, WrongAnswer, check, probe
from checks.support.submitted_file import file_content, read_content

FILE = "problem6/choices.toml"
APPLICATIONS = ("spam_filter", "chatbot", "summarizer", "sql_generator", "search")
VALUES = {
    "architecture": ("encoder-only", "decoder-only", "encoder-decoder"),
    "objective": (
        "masked-lm",
        "masked-lm-on-code",
        "masked-lm-then-contrastive",
        "next-sentence",
        "span-corruption",
        "translation",
        "causal-lm",
        "causal-lm-on-code",
    ),
    "modification": (
        "classification-head",
        "per-token-labels",
        "pooled-embedding",
        "long-input",
        "limited-output",
        "dialogue-tuning-and-retrieval",
        "higher-temperature",
        "schema-input-and-constrained-decoding",
        "larger-vocabulary",
    ),
}
# The objectives that train every part of an architecture. (Translation is span corruption's like.)
TRAINS = {
    "encoder-only": (
        "masked-lm",
        "masked-lm-on-code",
        "masked-lm-then-contrastive",
        "next-sentence",
    ),
    "decoder-only": ("causal-lm", "causal-lm-on-code", "span-corruption", "translation"),
    "encoder-decoder": ("span-corruption", "translation"),
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
    tables, chosen, problems = read_file(student), [], []
    more = [name for name in tables if name not in APPLICATIONS]
    if missing := [name for name in APPLICATIONS if name not in tables]:
        near = difflib.get_close_matches(missing[0], more, n=1)
        raise WrongAnswer(
            f"{FILE} has no table [{missing[0]}]{f', but {near[0][:60]!r}' if near else ''}."
        )
    if more:
        table = isinstance(tables[more[0]].value, dict)
        raise WrongAnswer(
            f"{FILE} has {'the table' if table else 'a key outside the tables,'} "
            f"{more[0][:60]!r}. There should be the tables {', '.join(APPLICATIONS)} and nothing "
            "else."
        )
    for name in APPLICATIONS:
        try:
            architecture, objective, modification = read_table(name, tables[name])
        except WrongAnswer as wrong:
            problems.append(wrong.message)
            continue
        chosen.append((architecture, objective, modification))
        if objective not in TRAINS[architecture]:
            problems.append(
                f"[{name}] has values that do not fit: {objective} does not train every part of "
                f"{'a' if architecture[0] == 'd' else 'an'} {architecture} model."
            )
    if len(chosen) == len(APPLICATIONS) and len({*chosen}) == 1:
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


def read_table(name: str, table: Answer | None) -> tuple[str, str, str]:
    """Read the architecture, objective and modification of an application, each one of VALUES.

    Raises:
        WrongAnswer: there is no table, a key is missing, empty or unknown, or a value is none of
        those that there are.
    """
    if table is None:
        raise WrongAnswer(f"{FILE} has no table [{name}].")
    if not isinstance(table.value, dict):
        raise WrongAnswer(
            f"{name} should be a table, [{name}] with three keys under it; it is "
            f"{table.describe()}."
        )
    entries = table.entries()
    if more := [key for key in entries if key not in VALUES]:
        raise WrongAnswer(
            f"[{name}] has the key {more[0][:60]!r}. There should be {', '.join(VALUES)} and "
            "nothing else."
        )
    for key, allowed in VALUES.items():
        if key not in entries:
            raise WrongAnswer(f"[{name}] has no {key}.")
        value = entries[key].value
        if value == "":
            raise WrongAnswer(f"{key} of [{name}] is still empty.")
        if not isinstance(value, str) or value not in allowed:
            raise WrongAnswer(
                f"{key} of [{name}] is {entries[key].describe()}, and should be one of: "
                f"{', '.join(allowed)}.{_likely(value, allowed)}"
            )
    return tuple(entries[key].value for key in VALUES)


def _likely(value, allowed):
    """Return a sentence on why a value may not be among those allowed; "" if unknown."""
    if not isinstance(value, str):
        return " Write one name in quotation marks."
    if where := next((key for key, values in VALUES.items() if value in values), None):
        return f" That is a name for the {where}."
    near = difflib.get_close_matches(
        value[:60].lower().replace("_", "-").replace(" ", "-"), allowed, n=1
    )
    return f" Did you mean {near[0]!r}?" if near else ""
