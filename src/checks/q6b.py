"""Question 6b, basic: the file of choices, and those for the spam filter."""
import hashlib

from autograder import WrongAnswer, check
from checks.choices import FILE, blank, read_choices, read_table, require_fit

NAME = "spam_filter"
# Of the one combination that can be defended. As a digest, so that it is not read in passing: whoever tries all ninety has
# learned what running this check ninety times would tell as well, and still has to justify it.
DEFENSIBLE = "fbc0997b0cdb3aa4815532d561b23ac4b77545d80b6c6f9df8a47c423ee4a1c0"


def digest(*values: str) -> str:
    """A combination in a form that does not show it."""
    return hashlib.sha256(" ".join((NAME, *values)).encode()).hexdigest()


@check("6b-1-basic")
def test_file(student):
    """Every table that is filled in has names that exist; the spam filter's are right."""
    tables = read_choices(student)
    empty = [name for name, table in tables.items() if blank(table)]
    values = {name: read_table(name, table) for name, table in tables.items() if name not in empty}
    if empty:
        student.hint(f"{FILE}: {', '.join(empty)} {'is' if len(empty) == 1 else 'are'} still empty.")
    if NAME in empty:
        raise WrongAnswer(f"[{NAME}] is still empty.")
    require_fit(NAME, *values[NAME][:2])
    if digest(*values[NAME]) != DEFENSIBLE:
        raise WrongAnswer(f"The values of [{NAME}] are not the ones that it needs. Its architecture and objective fit each "
                          "other. Do they fit what goes in and what should come out? Is the modification what the "
                          "pretrained model lacks?")
