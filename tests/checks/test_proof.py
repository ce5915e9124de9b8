"""Proof of the grader: wrong submissions lose the points they should, right ones none, with any
seed.

instructor/mistakes and tests/checks/right hold the submissions. By default, tests take the
reference, and wrong submissions that fail each check once, always the same ones; with --full, all
of them, each time with new seeds; `-k 5c` those of a question. Points out of proportion cause a
warning; `-W "error:out of proportion"` makes it fail.
"""

import warnings

import pytest

from proof import (
    MANIFEST,
    collect,
    exceptions,
    faults,
    grade_changes,
    grade_folder,
    lost,
    out_of_proportion,
    points_of_wrong,
    questions_of,
    touched_by,
)

from autograder import Verdict
from helpers import SOLUTION, STARTER
from instructor.mistakes import noops
from instructor.mistakes.patches import KINDS, changed

MISTAKES = collect("instructor.mistakes", "MISTAKES")
RIGHT = collect("right", "RIGHT")
SEEDS = 8  # of the reference on problem 1, whose checks are statistical,
STEADY_SEEDS = 3  # and on the others, which compare with the right values
SLOW_SEEDS = 1  # of the reference, by checks that train models


def one_for_each_check():
    """Names of few wrong submissions that fail every check at least once."""

    def worth(wrong):
        new = len(left & {*wrong.caught_by})
        return new > 0, wrong.kind != "edge", 2 * new - len(wrong.caught_by)

    chosen, left = set(), {id for wrong in MISTAKES for id in wrong.caught_by}
    while left:
        best = max(MISTAKES, key=worth)
        chosen.add(best.name)
        left -= {*best.caught_by}
    return chosen


CHOSEN = one_for_each_check()
full = pytest.mark.full


def test_there_are_enough():
    wrong, right = ([entry.name for entry in entries] for entries in (MISTAKES, RIGHT))
    assert len({*wrong}) == len(wrong) >= 120 and len({*right}) == len(right) >= 25
    assert {wrong.kind for wrong in MISTAKES} == {*KINDS}
    assert exceptions().keys() <= {*wrong} and len(exceptions()) < len(wrong) / 20
    caught = {id for wrong in MISTAKES for id in wrong.caught_by}
    code = {check.id for check in MANIFEST.checks.values() if check.coded and not check.artifacts}
    assert caught == code  # every code check has failed at least once


def test_all_changes_apply():
    """Also those of submissions that this run does not choose: the reference has the code that
    they replace.
    """
    failed = []
    for submission in [*MISTAKES, *RIGHT]:
        try:
            changed(submission.changes)
        except ValueError as error:
            failed.append(f"{submission.name}: {error}")
    assert not failed


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            wrong,
            id=f"{wrong.caught_by[0].partition('-')[0]}-{wrong.name}",
            marks=() if wrong.name in CHOSEN else full,
        )
        for wrong in MISTAKES
    ],
)
def test_wrong_submissions_lose_points(process, wrong):
    taken = points_of_wrong(process, wrong)
    assert not faults(wrong, taken), f"{wrong.why} {wrong.kind}: {taken}"
    if text := out_of_proportion(wrong, taken):
        warnings.warn(text, stacklevel=1)


@full
@pytest.mark.parametrize(
    "right", RIGHT, ids=["-".join([*touched_by(right.changes), right.name]) for right in RIGHT]
)
def test_right_submissions_lose_none(process, right):
    report = grade_changes(process, right.changes, questions_of(right.changes))
    assert not lost(report), (
        f"{right.what} seed {report.seed}: "
        f"{[o.details for o in report.outcomes.values() if o.details]}"
    )


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(0, marks=pytest.mark.longest),
        *(pytest.param(run, marks=full) for run in range(1, SEEDS)),
    ],
)
def test_the_reference_has_full_points(process, run):
    report = grade_folder(
        process, SOLUTION, [] if run < STEADY_SEEDS else ["1"], slow=run < SLOW_SEEDS
    )
    assert not lost(report), (
        f"seed {report.seed}: {[o.details for o in report.outcomes.values() if o.details]}"
    )
    assert not any(outcome.hints for outcome in report.outcomes.values())


@pytest.mark.parametrize(
    "run", [0, *(pytest.param(run, marks=full) for run in range(1, STEADY_SEEDS))]
)
def test_the_starter_has_none(process, run):
    report = grade_folder(process, STARTER, [], artifacts=True)
    assert report.score == 0
    assert {outcome.verdict for outcome in report.outcomes.values()} == {Verdict.NOT_IMPLEMENTED}, (
        report.seed
    )


@pytest.mark.parametrize("question", noops.QUESTIONS)
@pytest.mark.parametrize(
    "kind", [noops.KINDS[0], *(pytest.param(kind, marks=full) for kind in noops.KINDS[1:])]
)
def test_no_ops_earn_nothing(process, question, kind):
    """What computes nothing has no points."""
    report = grade_changes(process, noops.noops(question, kind), [question])
    earned = {id: outcome.score for id, outcome in report.outcomes.items() if outcome.score}
    assert not earned, report.seed
