"""Reads choices.toml: five tables of known names; shared by the checks of question 6b.

Which names are right for an application is not here.
"""

import difflib

from autograder import Answer, NotImplementedYet, WrongAnswer, probe
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


@probe(uses=(file_content,))
def read_toml(name):
    """Return a TOML file's content, or why it cannot be read."""
    import tomllib

    return file_content(name, lambda data: tomllib.loads(data.decode("utf-8-sig")))


def read_file(student) -> dict[str, Answer]:
    """Read the file's top-level entries, which should be tables.

    Raises:
        NotImplementedYet: there is no file, or all applications' tables are still empty.
        WrongAnswer: it cannot be read.
    """
    advice = 'A line is [table], or key = "value" with quotation marks, or starts with #.'
    tables = read_content(student, read_toml, FILE, advice).entries()
    if all(name in tables and blank(tables[name]) for name in APPLICATIONS):
        raise NotImplementedYet(
            f"{FILE}: all choices are still empty. Write a name between the quotation marks of "
            "each."
        )
    return tables


def require_tables(tables: dict[str, Answer]) -> None:
    """Check that the file has the five tables and nothing else.

    Raises:
        WrongAnswer: one is missing, or there is more.
    """
    more = [name for name in tables if name not in APPLICATIONS]
    if missing := [name for name in APPLICATIONS if name not in tables]:
        near = difflib.get_close_matches(missing[0], more, n=1)
        raise WrongAnswer(
            f"{FILE} has no table [{missing[0]}]{f', but {near[0][:60]!r}' if near else ''}."
        )
    if more:
        what = (
            "the table" if isinstance(tables[more[0]].value, dict) else "a key outside the tables,"
        )
        raise WrongAnswer(
            f"{FILE} has {what} {more[0][:60]!r}. There should be the tables "
            f"{', '.join(APPLICATIONS)} and nothing else."
        )


def blank(table: Answer) -> bool:
    """Whether an application's values are all still empty."""
    return isinstance(table.value, dict) and all(table.value.get(key) == "" for key in VALUES)


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
