"""Question 6b, basic: the file of choices. Whether they are right is not judged here."""

from autograder import WrongAnswer, check
from checks.problem6.q6b.choices import APPLICATIONS, read_file, read_table, require_tables


@check("6b-1-basic")
def test_file(student):
    """Five tables and nothing else, each filled in with known names. Reports everything wrong with
    the tables at once.
    """
    tables = read_file(student)
    require_tables(tables)
    problems = []
    for name in APPLICATIONS:
        try:
            read_table(name, tables[name])
        except WrongAnswer as wrong:
            problems.append(wrong.message)
    if problems:
        raise WrongAnswer("\n".join(problems))
