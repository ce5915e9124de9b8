"""The proof of the grader: wrong submissions lose the points they should, right ones none, whatever the seed.

tests/wrong and tests/right hold the submissions; `python benchmarks/grader_proof.py` writes them up in docs/grader-proof.md.
"""
import pytest
from conftest import SOLUTION, STARTER
from proof import MANIFEST, collect, grade_folder, grade_right, grade_wrong, lost, questions_of, start_process

from autograder import Verdict

WRONG = collect("wrong", "WRONG")
RIGHT = collect("right", "RIGHT")
RUNS = 10           # of each right submission by checks of chance, those of span corruption,
STEADY_RUNS = 4     # and by the others, which compare with what it should compute; 20 each in benchmarks/grader_proof.py
SEEDS = 50          # of the reference and of the starter, on problem 1
STEADY_SEEDS = 10   # on the others
SLOW_SEEDS = 2      # of the reference, by checks that train models


@pytest.fixture(scope="module")
def process():
    """One student's process for all."""
    with start_process() as process:
        yield process


def test_there_are_enough():
    assert len(WRONG) >= 120 and len(RIGHT) >= 25
    assert len({wrong.name for wrong in WRONG}) == len(WRONG) and len({right.name for right in RIGHT}) == len(RIGHT)
    caught = {id for wrong in WRONG for id in wrong.caught_by}
    code = {check.id for check in MANIFEST.checks.values() if check.coded and not check.artifacts}
    assert caught == code       # every check of code has been seen to fail


@pytest.mark.parametrize("wrong", WRONG, ids=[wrong.name for wrong in WRONG])
def test_wrong_submissions_lose_points(process, wrong):
    taken = lost(grade_wrong(process, wrong))
    assert set(wrong.caught_by) == taken.keys(), f"{wrong.why} Only {sorted(taken)} took points."


@pytest.mark.parametrize("right", RIGHT, ids=[right.name for right in RIGHT])
def test_right_submissions_lose_none(process, right):
    for run in range(RUNS if "1c" in questions_of(right.changes) else STEADY_RUNS):
        report = grade_right(process, right, run, [] if run < STEADY_RUNS else ["1c"])
        assert not lost(report), f"{right.what} seed {report.seed}: {[o.details for o in report.outcomes.values() if o.details]}"


def test_the_reference_has_full_points(process):
    for run in range(SEEDS):
        report = grade_folder(process, SOLUTION, [] if run < STEADY_SEEDS else ["1"], slow=run < SLOW_SEEDS)
        assert not lost(report), f"seed {report.seed}: {[o.details for o in report.outcomes.values() if o.details]}"
        assert not any(outcome.hints for outcome in report.outcomes.values())


def test_the_starter_has_none(process):
    for run in range(SEEDS):
        report = grade_folder(process, STARTER, [] if run < STEADY_SEEDS else ["1"], artifacts=True)
        assert report.score == 0
        assert {outcome.verdict for outcome in report.outcomes.values()} == {Verdict.NOT_IMPLEMENTED}, report.seed
