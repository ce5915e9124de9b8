"""Proof of the grader: wrong submissions lose the points they should, right ones none, with any
seed.

tests/checks/wrong and tests/checks/right hold the submissions; `python benchmarks/grader_proof.py`
runs right ones 20 times each, reference and starter 50 times, and writes tests/checks/proof.md. A
test run in several processes repeats some of it with fresh seeds: half of the right ones and an
eighth of the wrong ones, different each time. `pytest -n 0 tests/checks/test_proof.py` takes all of
them: run it when checks have changed. Points out of proportion cause a warning; `-W "error:out of
proportion"` makes it fail.
"""

import os
import random
import warnings

import pytest

from proof import (
    MANIFEST,
    collect,
    exceptions,
    faults,
    grade_folder,
    grade_right,
    grade_wrong,
    lost,
    out_of_proportion,
    start_process,
)

from autograder import Verdict
from conftest import SOLUTION, STARTER
from variants import KINDS, make

WRONG = collect("wrong", "WRONG")
RIGHT = collect("right", "RIGHT")
# shared by all processes of a run, which must choose alike
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID")
CHOSEN = random.Random(RUN).sample(WRONG, len(WRONG) // 8) if RUN else WRONG
ACCEPTED = random.Random(RUN).sample(RIGHT, len(RIGHT) // 2) if RUN else RIGHT
SEEDS = 8  # of the reference on problem 1, whose checks are statistical,
STEADY_SEEDS = 3  # and on the others, which compare with the right values
SLOW_SEEDS = 1  # of the reference, by checks that train models


@pytest.fixture(scope="module")
def process():
    """One student's process for all."""
    with start_process() as process:
        yield process


def test_there_are_enough():
    assert len(WRONG) >= 120 and len(RIGHT) >= 25
    assert len({wrong.name for wrong in WRONG}) == len(WRONG) and len(
        {right.name for right in RIGHT}
    ) == len(RIGHT)
    assert {wrong.kind for wrong in WRONG} == {*KINDS}
    assert (
        exceptions().keys() <= {wrong.name for wrong in WRONG}
        and len(exceptions()) < len(WRONG) / 20
    )
    caught = {id for wrong in WRONG for id in wrong.caught_by}
    code = {check.id for check in MANIFEST.checks.values() if check.coded and not check.artifacts}
    assert caught == code  # every code check has failed at least once


def test_all_changes_apply(tmp_path):
    """Also those of submissions that this run does not choose: the reference has the code that
    they replace.
    """
    failed = []
    for submission in [*WRONG, *RIGHT]:
        try:
            make(submission.changes, tmp_path / submission.name)
        except ValueError as error:
            failed.append(f"{submission.name}: {error}")
    assert not failed


@pytest.mark.parametrize(
    "wrong",
    CHOSEN,
    ids=[f"{wrong.caught_by[0].partition('-')[0]}-{wrong.name}" for wrong in CHOSEN],
)
def test_wrong_submissions_lose_points(process, wrong):
    taken = lost(grade_wrong(process, wrong, all_checks=True))
    assert not faults(wrong, taken), f"{wrong.why} {wrong.kind}: {taken}"
    if text := out_of_proportion(wrong, taken):
        warnings.warn(text, stacklevel=1)


@pytest.mark.parametrize("right", ACCEPTED, ids=[right.name for right in ACCEPTED])
def test_right_submissions_lose_none(process, right):
    report = grade_right(process, right, run=0)
    assert not lost(report), (
        f"{right.what} seed {report.seed}: "
        f"{[o.details for o in report.outcomes.values() if o.details]}"
    )


@pytest.mark.parametrize("run", range(SEEDS))
def test_the_reference_has_full_points(process, run):
    report = grade_folder(
        process, SOLUTION, [] if run < STEADY_SEEDS else ["1"], slow=run < SLOW_SEEDS
    )
    assert not lost(report), (
        f"seed {report.seed}: {[o.details for o in report.outcomes.values() if o.details]}"
    )
    assert not any(outcome.hints for outcome in report.outcomes.values())


@pytest.mark.parametrize("run", range(STEADY_SEEDS))
def test_the_starter_has_none(process, run):
    report = grade_folder(process, STARTER, [], artifacts=True)
    assert report.score == 0
    assert {outcome.verdict for outcome in report.outcomes.values()} == {Verdict.NOT_IMPLEMENTED}, (
        report.seed
    )
