"""Proof of the grader: wrong submissions (instructor/mistakes) lose the points they should, right
ones (tests/checks/right) none, with any seed.

Limits of chance in 1c refuse a right submission once in 200,000 runs (q1c_randomness.py).

By default, tests take the reference, and wrong submissions that fail each check once; with --full,
all; `-k 5c` those of a question. Points out of proportion cause a warning; `-W "error:out of
proportion"` makes it fail.
"""

import random
import warnings

import pytest

import proof
from proof import MANIFEST, collect, exceptions, grade_changes, grade_folder, lost

from autograder import Verdict
from helpers import SOLUTION, STARTER
from instructor.mistakes import noops
from instructor.mistakes.patches import KINDS, changed
from mutants import all_mutants, survivors, tolerated

MISTAKES = collect("instructor.mistakes", "MISTAKES")
RIGHT = collect("right", "RIGHT")
SEEDS = 8  # of the reference on problem 1, whose checks are statistical,
STEADY_SEEDS = 3  # and on the others, which compare with the right values
SLOW_SEEDS = 1  # of the reference, by checks that train models


def one_for_each_check():
    """Names of few wrong submissions that fail every check at least once, none of which takes
    a quarter of a minute.
    """

    def worth(wrong):
        new = len(left & {*wrong.caught_by})
        return new > 0, wrong.kind != "edge", 2 * new - len(wrong.caught_by)

    quick = [wrong for wrong in MISTAKES if wrong.name != "documents-dense-unseen"]
    chosen, left = set(), {id for wrong in MISTAKES for id in wrong.caught_by}
    while left:
        best = max(quick, key=worth)
        chosen.add(best.name)
        left -= {*best.caught_by}
    return chosen


CHOSEN = one_for_each_check()
full = pytest.mark.full


def first_of(values):
    """Parameters of which the first is tried by default."""
    return [values[0], *(pytest.param(value, marks=full) for value in values[1:])]


def right_of(report):
    """Fail unless a submission lost no points."""
    details = [outcome.details for outcome in report.outcomes.values() if outcome.details]
    assert not lost(report), f"seed {report.seed}: {details}"


def test_every_code_check_has_failed_at_least_once():
    wrong, right = ([entry.name for entry in entries] for entries in (MISTAKES, RIGHT))
    assert len({*wrong}) == len(wrong) and len({*right}) == len(right)
    assert {wrong.kind for wrong in MISTAKES} == {*KINDS}
    assert exceptions() <= {*wrong} and len(exceptions()) < len(wrong) / 20
    caught = {id for wrong in MISTAKES for id in wrong.caught_by}
    code = {check.id for check in MANIFEST.checks.values() if check.coded and not check.artifacts}
    assert caught == code


def test_all_changes_apply():
    """Also those of submissions that this run does not choose: the reference has the code that
    they replace.
    """
    for submission in [*MISTAKES, *RIGHT]:
        assert changed(submission.changes) != changed(()), submission.name


def parameter(wrong):
    question, marks = wrong.caught_by[0].partition("-")[0], () if wrong.name in CHOSEN else full
    return pytest.param(wrong, id=f"{question}-{wrong.name}", marks=marks)


@pytest.mark.parametrize("wrong", map(parameter, MISTAKES))
def test_wrong_submissions_lose_points(process, wrong):
    taken = proof.points_of_wrong(process, wrong)
    faults = proof.faults(wrong, taken)
    assert not faults, f"{wrong.why} {wrong.kind}: {taken}"
    if text := proof.out_of_proportion(wrong, taken):
        warnings.warn(text, stacklevel=1)


IDS = ["-".join([*proof.touched_by(right.changes), right.name]) for right in RIGHT]


@full
@pytest.mark.parametrize("right", RIGHT, ids=IDS)
def test_right_submissions_lose_none(process, right):
    right_of(grade_changes(process, right.changes, proof.questions_of(right.changes)))


@pytest.mark.parametrize(
    "run", [pytest.param(0, marks=pytest.mark.longest), *first_of(range(SEEDS))[1:]]
)
def test_the_reference_has_full_points(process, run):
    names = [] if run < STEADY_SEEDS else ["1"]
    report = grade_folder(process, SOLUTION, names, slow=run < SLOW_SEEDS)
    right_of(report)
    assert not any(outcome.hints for outcome in report.outcomes.values())


@pytest.mark.parametrize("run", first_of(range(STEADY_SEEDS)))
def test_the_starter_has_none(process, run):
    report = grade_folder(process, STARTER, [], artifacts=True)
    verdicts = {outcome.verdict for outcome in report.outcomes.values()}
    assert report.score == 0 and verdicts == {Verdict.NOT_IMPLEMENTED}, report.seed


def earns_nothing(report):
    earned = {id: outcome.score for id, outcome in report.outcomes.items() if outcome.score}
    assert not earned, f"seed {report.seed}"


@pytest.mark.parametrize("question", noops.QUESTIONS)
@pytest.mark.parametrize("kind", first_of(noops.KINDS))
def test_no_ops_earn_nothing(process, question, kind):
    """What computes nothing has no points."""
    earns_nothing(grade_changes(process, noops.noops(question, kind), [question]))


BY_NAME = {entry.name: entry for entry in [*MISTAKES, *RIGHT]}


@full
def test_a_document_that_is_only_padded_earns_nothing(process):
    """The right shape and dtype alone, and y shifted, are no points."""
    earns_nothing(grade_changes(process, BY_NAME["noop-identity"].changes, ["1c"]))


HABITS = "tokens, with|third MASK|block_size * 7/8|longest truncated|first and the last"


def hints_of(process, name, ids):
    outcomes = grade_changes(process, BY_NAME[name].changes, ids).outcomes.values()
    assert all(outcome.score for outcome in outcomes)
    return [hint for outcome in outcomes for hint in outcome.hints]


def test_habits_of_other_editions_are_accepted_with_a_hint(process):
    """x is one token shorter, no third MASK, 7/8 instead of 3/4, and rounded real numbers."""
    ids = ["1c-0-basic", "1c-1-basic", "1c-8-basic", "1c-10-basic"]
    hints = hints_of(process, "rounded_reals", ids)
    accepted = [hint for hint in hints if "accepted, but the handout asks for" in hint]
    assert all(any(habit in hint for hint in accepted) for habit in HABITS.split("|")), hints
    hints = hints_of(process, "empty_now_and_then", ["1c-11-basic"])
    assert "A document of one character" in hints[0]


def test_writing_to_the_list_of_documents_is_named(process):
    changes = BY_NAME["length-stored-document-cut"].changes
    report = grade_changes(process, changes, ["1c"])
    assert lost(report).keys() == {"1c-1-basic", "1c-7-hidden", "1c-12-basic"}
    assert "an assignment to self.data[idx]" in report.outcomes["1c-1-basic"].details


def test_what_is_tolerated_are_mutants():
    assert tolerated() <= {mutant.name for mutant in all_mutants()}


@full
def test_no_mutant_survives(process, seed):
    """Every small change of the reference is seen, or equivalent.txt says why not. `python
    tests/checks/mutants.py 5e` tries all of a question.
    """
    known = tolerated()
    asked = [mutant for mutant in all_mutants() if mutant.name not in known]
    drawn = random.sample(asked, 100)  # about two minutes
    found = [mutant.name for mutant in survivors(process, drawn)]
    assert not found, "\n".join(found)
