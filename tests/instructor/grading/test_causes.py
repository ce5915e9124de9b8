"""Root causes: what one fault explains stands in one line."""

import pytest
from classes import MANIFEST

from instructor.grading.causes import root_causes
from instructor.grading.feedback import feedback_on

MISSING = ["5d-1-basic", "5d-2-basic", "5d-4-hidden", "5e-0-basic", "6a-1-basic"]
EMPTY = "dataset.py, line {}: ValueError: empty range for randrange() (4, {}, -1)"
MASKED = "In all {} examples the masked content has {} characters. Its length should be random."
TEMPERATURE = "\nLikely cause: the logits are multiplied by the temperature."
SWAPPED = "apply_rotary_emb(x): off by up to 1.\nLikely cause: the pairs are swapped."
CLIPPED = "clip_gradients(1.0) should be a Python float; it is a tensor"
WRONG = "wrong answer"
# how checks end, their messages, and the causes with their checks
FAILURES = {
    "an unwritten part, wherever it is called: the last one's question builds on no other": (
        "not implemented",
        dict.fromkeys(MISSING, "encoder.py:71  MultiHeadAttention.forward"),
        {"MultiHeadAttention.forward is not written yet: encoder.py, line 71": MISSING},
    ),
    "a known mistake, and what else fails in its function": (
        WRONG,
        {
            "6e-4-basic": f"apply_temperature(x, 0.7): off by up to 2.1.{TEMPERATURE} Divide.",
            "6e-5-basic": "apply_temperature(x, 3): x is changed in place.",
            "6e-6-basic": f"{CLIPPED}.",
            "6e-9-basic": f"generate(model, x, 6): token 0 is wrong.{TEMPERATURE}\nSee 6e-4.",
        },
        {
            "The logits are multiplied by the temperature": [
                *("6e-4-basic", "6e-5-basic", "6e-9-basic")
            ],
            CLIPPED: ["6e-6-basic"],
        },
    ),
    "results, by the mistake of their own question": (
        WRONG,
        {"1h-3-basic": SWAPPED, "1h-8-basic": "84 of 84 predictions differ"},
        {"The pairs are swapped": ["1h-3-basic", "1h-8-basic"]},
    ),
    "equal messages, whatever their numbers": (
        WRONG,
        {"1c-3-basic": MASKED.format(300, 7), "1c-11-basic": MASKED.format(40, 2)},
        {MASKED.format(300, 7).split(".")[0]: ["1c-11-basic", "1c-3-basic"]},
    ),
    "an exception, by its line of code": (
        "exception",
        {
            "1c-0-basic": EMPTY.format(81, 3) + "\n  dataset.py",
            "1c-1-basic": EMPTY.format(81, 2),
            "1c-2-basic": EMPTY.format(97, 3),
        },
        {EMPTY.format(81, 3): ["1c-0-basic", "1c-1-basic"], EMPTY.format(97, 3): ["1c-2-basic"]},
    ),
}


def causes(verdict, failures, scores=None):
    outcomes = [
        {"id": id, "verdict": verdict, "message": failures[id], "score": 0.0}
        for id in sorted(failures, key=[*MANIFEST.checks].index)
    ]
    return root_causes(MANIFEST, feedback_on(MANIFEST, outcomes, scores))


@pytest.mark.parametrize("verdict, failures, expected", FAILURES.values(), ids=FAILURES)
def test_failures_of_one_cause_are_one_line(verdict, failures, expected):
    found = causes(verdict, failures)
    assert {cause.text: sorted(check.id for check in cause.checks) for cause in found} == expected
    for cause in found:
        assert cause.points == sum(check.points for check in cause.checks)
    assert found == sorted(found, key=lambda cause: -cause.points)


@pytest.mark.parametrize("verdict", [WRONG, "exception", "not implemented"])
def test_a_hidden_check_alone_tells_its_title(verdict):
    (cause,) = causes(verdict, {"1c-5-hidden": "SECRET"})
    assert MANIFEST.checks["1c-5-hidden"].title in cause.text and "SECRET" not in cause.text


def test_what_costs_no_points_is_no_cause():
    for verdict in ("passed", "grader error"):
        assert causes(verdict, {"1c-0-basic": "No."}) == []
    given = {"1c-2-basic": MANIFEST.checks["1c-2-basic"].points}  # by staff
    assert causes(WRONG, {"1c-2-basic": "y is not x shifted."}, given) == []


def test_the_same_words_in_questions_without_a_link_are_two_causes():
    assert len(causes(WRONG, {"5c-0-basic": SWAPPED, "1h-3-basic": SWAPPED})) == 2
