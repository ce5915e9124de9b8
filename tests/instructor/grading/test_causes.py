"""Root causes: what one fault explains stands in one line."""

import random

import pytest

from autograder import read_manifest
from conftest import ROOT
from instructor.grading.causes import root_causes

MANIFEST = read_manifest(ROOT / "src" / "checks" / "manifest.toml")


def failure(id, message, verdict="wrong answer"):
    check = MANIFEST.checks[id]
    shown = f"Hidden check: {check.title}." if check.kind == "hidden" else message
    return {"id": id, "verdict": verdict, "message": shown, "details": message, "score": 0.0}


def causes(*failures, scores=None):
    shuffled = random.sample(failures, len(failures))
    order = sorted(shuffled, key=lambda one: list(MANIFEST.checks).index(one["id"]))
    return root_causes(MANIFEST, order, scores or {})


def worth(*ids):
    return sum(MANIFEST.checks[id].points for id in ids)


def test_an_unwritten_part_is_one_cause_wherever_it_is_called():
    said = f"encoder.py:{random.randrange(20, 200)}  MultiHeadAttention.forward"
    # the last one's question builds on no other
    ids = "5d-1-basic", "5d-2-basic", "5d-4-hidden", "5e-0-basic", "6a-1-basic"
    (cause,) = causes(*(failure(id, said, "not implemented") for id in ids))
    assert cause.question == "5d" and sorted(cause.checks) == sorted(ids)
    assert cause.points == worth(*ids)
    assert cause.text.startswith("MultiHeadAttention.forward is not written yet: encoder.py, line")


def test_a_known_mistake_explains_what_else_fails_in_its_function():
    cause = "\nLikely cause: the logits are multiplied by the temperature."
    one, two = causes(
        failure("6e-4-basic", f"apply_temperature(x, 0.7): off by up to 2.1.{cause} Divide."),
        failure("6e-9-basic", f"generate(model, x, 6): token 0 is wrong.{cause}\nSee 6e-4."),
        failure("6e-5-basic", "apply_temperature(x, 3): x is changed in place."),
        failure("6e-6-basic", "clip_gradients(1.0) should be a Python float; it is a tensor."),
    )
    found = {cause.text: set(cause.checks) for cause in (one, two)}
    assert found == {
        "The logits are multiplied by the temperature": {"6e-4-basic", "6e-9-basic", "6e-5-basic"},
        "clip_gradients(1.0) should be a Python float; it is a tensor": {"6e-6-basic"},
    }
    assert one.points >= two.points


def test_results_join_the_mistake_of_their_own_question():
    wrong = "apply_rotary_emb(x): off by up to 1.\nLikely cause: the pairs are swapped."
    ids = "1h-3-basic", "1h-8-basic"
    (cause,) = causes(failure(ids[0], wrong), failure(ids[1], "84 of 84 predictions differ"))
    assert cause.text == "The pairs are swapped" and set(cause.checks) == set(ids)


def test_equal_messages_are_one_cause_whatever_their_numbers():
    text = "In all {} examples the masked content has {} characters. Its length should be random."
    (cause,) = causes(
        failure("1c-3-basic", text.format(300, 7)), failure("1c-11-basic", text.format(40, 2))
    )
    assert cause.text == "In all 300 examples the masked content has 7 characters"


def test_an_exception_is_one_cause_for_each_line_of_code():
    text = "dataset.py, line {}: ValueError: empty range for randrange() (4, {}, -1)\n  dataset.py"
    ids = "1c-0-basic", "1c-1-basic", "1c-2-basic"
    lines = (81, 3), (81, 2), (97, 3)
    found = causes(*(failure(i, text.format(*at), "exception") for i, at in zip(ids, lines)))
    assert sorted(cause.checks for cause in found) == [["1c-0-basic", "1c-1-basic"], ["1c-2-basic"]]


def test_the_same_words_in_questions_without_a_link_are_two_causes():
    said = "attention(x): off by up to 1.\nLikely cause: the mask is ignored."
    assert len(causes(failure("5c-0-basic", said), failure("5d-2-basic", said))) == 2


@pytest.mark.parametrize("verdict", ["wrong answer", "exception", "not implemented"])
def test_hidden_checks_alone_tell_only_their_title(verdict):
    (cause,) = causes(failure("1c-5-hidden", "SECRET", verdict))
    assert MANIFEST.checks["1c-5-hidden"].title in cause.text and "SECRET" not in cause.text


def test_what_costs_no_points_is_no_cause():
    assert (
        causes(failure("1c-0-basic", "", "passed"), failure("1c-1-basic", "", "grader error")) == []
    )
    given = {"1c-2-basic": worth("1c-2-basic")}  # by staff
    assert causes(failure("1c-2-basic", "y is not x shifted."), scores=given) == []
