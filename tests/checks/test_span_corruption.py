"""Messages of the checks of question 1c, and what earns nothing there."""

import pytest

from proof import collect, grade_changes

from instructor.mistakes.q1c import NOTHING


def entry(package, kind, name):
    """The submission of that name."""
    return next(entry for entry in collect(package, kind) if entry.name == name)


HABITS = "tokens, with|third MASK|block_size * 7/8|longest truncated|first and the last"


def test_habits_of_other_editions_are_accepted_with_a_hint(process):
    """x is one token shorter, no third MASK, 7/8 instead of 3/4, and rounded real numbers."""
    ids = ["1c-0-basic", "1c-1-basic", "1c-8-basic", "1c-10-basic"]
    changes = entry("right", "RIGHT", "rounded_reals").changes
    outcomes = grade_changes(process, changes, ids).outcomes.values()
    assert all(outcome.score for outcome in outcomes)
    hints = [hint for outcome in outcomes for hint in outcome.hints]
    accepted = [hint for hint in hints if "accepted, but the handout asks for" in hint]
    assert all(any(habit in hint for hint in accepted) for habit in HABITS.split("|")), hints


def test_one_character_that_is_not_masked_is_a_hint(process):
    changes = entry("right", "RIGHT", "empty_now_and_then").changes
    outcome = grade_changes(process, changes, ["1c-11-basic"]).outcomes["1c-11-basic"]
    assert outcome.score and "A document of one character" in outcome.hints[0]


def test_writing_to_the_list_of_documents_is_named(process):
    mistake = entry("instructor.mistakes", "MISTAKES", "length-stored-document-cut")
    report = grade_changes(process, mistake.changes, ["1c"])
    failed = {id for id, outcome in report.outcomes.items() if not outcome.score}
    assert failed == {"1c-1-basic", "1c-7-hidden", "1c-12-basic"}
    assert "an assignment to self.data[idx]" in report.outcomes["1c-1-basic"].details


@pytest.mark.full
@pytest.mark.parametrize("mistake", NOTHING, ids=[mistake.name for mistake in NOTHING])
def test_what_does_nothing_earns_nothing(process, mistake):
    """The right shape and dtype alone, and y shifted, are no points."""
    report = grade_changes(process, mistake.changes, ["1c"])
    assert not {id: outcome.score for id, outcome in report.outcomes.items() if outcome.score}
