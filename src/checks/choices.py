"""Reading choices.toml: names that exist, and values that fit each other. The checks of question 6b share it.

What is right for an application is not here; the fit of architecture and objective follows from what an objective trains.
"""
import difflib

from autograder import Answer, NotImplementedYet, WrongAnswer, probe
from checks.given_file import file_content, read_content

FILE = "choices.toml"
APPLICATIONS = ("spam_filter", "chatbot", "summarizer", "sql_generator", "search")
VALUES = {
    "architecture": ("encoder-only", "decoder-only", "encoder-decoder"),
    "objective": ("masked-lm", "masked-lm-then-contrastive", "span-corruption", "causal-lm", "causal-lm-on-code"),
    "modification": ("classification-head", "dialogue-tuning-and-retrieval", "long-input",
                     "schema-input-and-constrained-decoding", "pooled-embedding", "larger-vocabulary"),
}
TRAINS = {      # the architecture that each objective trains as a whole
    "masked-lm": "encoder-only", "masked-lm-then-contrastive": "encoder-only", "span-corruption": "encoder-decoder",
    "causal-lm": "decoder-only", "causal-lm-on-code": "decoder-only",
}


@probe(uses=(file_content,))
def read_toml(name):
    """What a TOML file holds, or why it holds nothing."""
    import tomllib
    return file_content(name, lambda data: tomllib.loads(data.decode("utf-8-sig")))


def read_choices(student) -> dict[str, Answer]:
    """The five tables of the file, or what stands in their place; none where all is still empty.

    Raises:
        NotImplementedYet: there is no file, or nothing in it has been chosen.
        WrongAnswer: it cannot be read, or has other tables than the five.
    """
    advice = 'A line is [table], or key = "value" with quotation marks, or begins with #.'
    tables = read_content(student, read_toml, FILE, advice).entries()
    if missing := [name for name in APPLICATIONS if name not in tables]:
        near = difflib.get_close_matches(missing[0], [name for name in tables if name not in APPLICATIONS], n=1)
        raise WrongAnswer(f"{FILE} has no table [{missing[0]}]{f', but {near[0][:60]!r}' if near else ''}.")
    if more := [name for name in tables if name not in APPLICATIONS]:
        what = "the table" if isinstance(tables[more[0]].value, dict) else "outside of all tables the key"
        raise WrongAnswer(f"{FILE} has {what} {more[0][:60]!r}. There should be the tables {', '.join(APPLICATIONS)} and nothing "
                          "else.")
    if all(blank(tables[name]) for name in APPLICATIONS):
        raise NotImplementedYet(f"{FILE}: all choices are still empty. Write a name between the quotation marks of each.")
    return {name: tables[name] for name in APPLICATIONS}


def blank(table: Answer) -> bool:
    """Whether an application's values are all still empty."""
    return isinstance(table.value, dict) and all(table.value.get(key) == "" for key in VALUES)


def read_table(name: str, table: Answer) -> tuple[str, str, str]:
    """The architecture, objective and modification of an application, each one of VALUES.

    Raises:
        WrongAnswer: a key is missing, empty or unknown, or a value is none of those that there are.
    """
    if not isinstance(table.value, dict):
        raise WrongAnswer(f"{name} should be a table, [{name}] with three keys under it; it is {table.describe()}.")
    entries = table.entries()
    if more := [key for key in entries if key not in VALUES]:
        raise WrongAnswer(f"[{name}] has the key {more[0][:60]!r}. There should be {', '.join(VALUES)} and nothing else.")
    for key, allowed in VALUES.items():
        if key not in entries:
            raise WrongAnswer(f"[{name}] has no {key}.")
        value = entries[key].value
        if value == "":
            raise WrongAnswer(f"{key} of [{name}] is still empty.")
        if not isinstance(value, str) or value not in allowed:
            raise WrongAnswer(f"{key} of [{name}] is {entries[key].describe()}, and should be one of: {', '.join(allowed)}."
                              f"{_likely(value, allowed)}")
    return tuple(entries[key].value for key in VALUES)


def require_fit(name: str, architecture: str, objective: str) -> None:
    """Raise WrongAnswer unless the objective trains the architecture as a whole."""
    parts = {"encoder-only": "no decoder", "decoder-only": "no encoder", "encoder-decoder": "both an encoder and a decoder"}
    if TRAINS[objective] != architecture:
        raise WrongAnswer(f"The values of [{name}] do not fit each other: {objective} trains {parts[TRAINS[objective]]}, and the "
                          f"architecture is {architecture}.")


def _likely(value, allowed):
    """A sentence about how a value came to be none of those allowed; "" if it says nothing."""
    if not isinstance(value, str):
        return " It is one name, in quotation marks."
    if where := next((key for key, values in VALUES.items() if value in values), None):
        return f" That is a name for the {where}."
    near = difflib.get_close_matches(value[:60].lower().replace("_", "-").replace(" ", "-"), allowed, n=1)
    return f" Is it {near[0]!r} that is meant?" if near else ""
