"""Question 6c: the checks' formulas against the reference, and the messages of failed checks."""

import re

import numpy as np
import pytest
import torch

from autograder import Answer, WrongAnswer
from autograder.inside import wire
from checks.problem6.q6c.positions import Call, refused
from checks.problem6.q6c.rope_scores import ScoreCall
from instructor.checks.problem6.q6c.cases import call_case, score_case

CALLS = [
    ("sinusoidal", 7, 10),
    ("sinusoidal_at", np.array([3.5, -2.25, 900.0]), 8),
    ("shift_matrix", 50, 6),
    ("shift_matrix", -3, 4),
    ("alibi_bias", 3, 5),
    ("interpolated_positions", 9, 4),
]


def reply(**values) -> Answer:
    """Return a probe's answer."""
    return Answer(wire.decode(wire.encode(values, 10**6)), "the reply")


@pytest.fixture
def positions(submission):
    """The reference's positions.py."""
    from submission.problem6 import positions

    return positions


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_the_formulas_give_what_the_reference_gives(positions, call):
    returned = getattr(positions, call[0])(*call[1:])
    Call(call_case(*call)).judge(reply(returned=returned, raised=None, changed=False))


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_known_mistakes_are_named(call):
    case = call_case(*call).solved()
    assert len(case.wrong) >= 6
    for sentence, wrong in case.wrong:
        with pytest.raises(WrongAnswer, match="Likely cause: ") as caught:
            Call(case).judge(reply(returned=wrong, raised=None, changed=False))
        named = caught.value.message.partition("Likely cause: ")[2]
        alike = [other for other, same in case.wrong if np.allclose(wrong, same, atol=1e-6)]
        assert sentence in alike and named in alike


def test_what_is_not_refused_is_said():
    says = re.escape("sinusoidal(5, 7) should raise ValueError; it returned")
    with pytest.raises(WrongAnswer, match=says):
        refused("sinusoidal", 5, 7).judge(reply(returned=np.eye(5, 7), raised=None, changed=False))


def rope_answers(sign=1, halves=False):
    """Return a case, and a correct rope_scores's result with a possibly wrong rotation."""
    rng = np.random.default_rng(4)
    q, k = rng.standard_normal((2, 10))
    queries, keys = [5, 2, 9], [1, 7, 3]
    w = sign * 10000.0 ** (-np.arange(0, 10, 2) / 10)

    def turned(x, at):
        first, second = (x[:5], x[5:]) if halves else (x[0::2], x[1::2])
        z = (first + 1j * second) * np.exp(1j * at * w)
        return np.stack((z.real, z.imag), axis=0 if halves else -1).ravel()

    scores = torch.tensor([turned(q, m) @ turned(k, n) for m, n in zip(queries, keys)])
    rows = torch.from_numpy(np.stack([turned(q, at) for at in range(3)]))[None, None]
    values = {"scores": scores, "raised": None, "unchanged": True, "turned": rows}
    return score_case(q, k, queries, keys, "float64"), values


FIRST = "Fix that in attention.py first"


@pytest.mark.parametrize(
    "mistake, says",
    [
        ({"sign": -1}, "rotates in the wrong direction: the angle has the wrong sign."),
        ({"halves": True}, "from the two halves of the vectors; they should be adjacent."),
        ({"sign": 0.5}, "in your attention.py is wrong."),
    ],
)
def test_a_mistake_of_1h_is_named_as_such(mistake, says):
    case, values = rope_answers(**mistake)
    with pytest.raises(WrongAnswer, match=re.escape(f"{says} {FIRST}")) as caught:
        ScoreCall(case).judge(reply(**values))
    assert "swapped" not in caught.value.message


def test_swapped_positions_are_named_where_1h_is_right():
    case, values = rope_answers()
    ScoreCall(case).judge(reply(**values))
    values["scores"] = rope_answers(sign=-1)[1]["scores"]
    with pytest.raises(WrongAnswer, match="cause: query and key positions are swapped."):
        ScoreCall(case).judge(reply(**values))
