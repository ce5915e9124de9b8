"""Runs many calls of fixes.py in one probe; failures in rare cases cost only a part of a check's
points.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autograder import Answer, Failed, Verdict
from checks.support.calls import run_each
from checks.support.cases import Case

KEPT = 0.75  # share of a check's points if only rare cases are wrong


@contextmanager
def rare_cases() -> Iterator[None]:
    """Context in which a failure leaves KEPT of a `partial` check's points: the usual cases have
    already passed.
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
    """Run a probe on the inputs of cases; see `run_each`."""
    return run_each(student, probe, [case.inputs for case in cases], list(map(call_of, cases)))
