"""Running many calls of fixes.py in one probe; and rare ones, which cost a part of a check's points
alone.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autograder import Answer, Failed, Verdict
from checks.problem6.calls import run_each
from checks.support.cases import Case

KEPT = 0.75  # of a check's points, where all is right but rare cases


@contextmanager
def rare_cases() -> Iterator[None]:
    """What goes wrong in here leaves KEPT of the points of a check that is `partial`: the usual
    cases have passed before.
    """
    try:
        yield
    except Failed as failed:
        if failed.verdict in (Verdict.WRONG_ANSWER, Verdict.EXCEPTION):
            failed.fraction = KEPT
        raise


def run_cases(
    student, probe, cases: list[Case], call_of: Callable[[Case], str]
) -> Iterator[Answer]:
    """What a probe returns for the inputs of cases; see `run_each`."""
    return run_each(student, probe, [case.inputs for case in cases], list(map(call_of, cases)))
