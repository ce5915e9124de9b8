"""Rounds: the same code gives the same bytes; what a student's copy compares with; staff's own; and
what the reference itself is held to.
"""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import proof
from proof import MANIFEST, grade_folder

from autograder import Answer, Failed, NotImplementedYet, Student, WrongAnswer, probe, require_close
from autograder.inside import wire
from checks.support.asked import Asked, Close, Same
from checks.support.rounds import RELEASED, Call, Rounds, Sketch, pack
from checks.support.staging import stage
from common.files import UserError
from helpers import ROOT, SOLUTION
from hostile.attacks.lookup import LOOK_UP
from instructor.checks import solving
from instructor.checks.drawing import all_draws, draw_round
from instructor.checks.solving import all_questions
from instructor.mistakes.patches import Fill, make
from instructor.release import cases

IDS = sorted(all_draws())
BASIC = [id for id in IDS if id.endswith("basic")]


def test_the_released_files_are_up_to_date(tmp_path, monkeypatch):
    assert cases.find_stale() == []
    shutil.copytree(RELEASED, tmp_path, dirs_exist_ok=True)
    solving.save(tmp_path / "5c.zip", {}, "another solution")
    (tmp_path / "5d.zip").unlink()
    (tmp_path / "9z.zip").write_bytes(b"a" * cases.LIMIT)
    monkeypatch.setattr(cases, "RELEASED", tmp_path)
    stale, missing, left_over, large = cases.find_stale()
    assert [line[:3] for line in (stale, missing, left_over)] == ["5c.", "5d.", "9z."]
    assert "bytes" in large


@pytest.mark.full
def test_the_same_code_makes_the_same_rounds():
    """Those of a question that takes seconds."""
    ((_, made),) = solving.solve(["5c"], cases.PLAN)
    assert made.keys() == Rounds().counts("5c").keys()
    for id, rounds in made.items():
        for calls, released in zip(rounds, Rounds().rounds(id), strict=True):
            for call, other in zip(calls, released, strict=True):
                # but for rounding, as between processors
                for value, wanted in ((call.inputs, other.inputs), (call.right, other.right)):
                    assert Sketch.of(value).matches(Sketch.of(wanted))
                assert [wrong[:2] for wrong in call.wrong] == [wrong[:2] for wrong in other.wrong]


def test_every_basic_check_has_rounds_and_no_other():
    assert {path.stem for path in RELEASED.glob("*.zip")} == {*all_questions()}
    assert {id for question in all_questions() for id in Rounds().counts(question)} == {*BASIC}
    for id in BASIC:
        rounds = Rounds().rounds(id)
        assert len(rounds) >= cases.PLAN.rounds and sum(map(len, rounds)) >= cases.PLAN.calls, id


@pytest.mark.full
@pytest.mark.parametrize("id", BASIC)
def test_staff_have_other_inputs(id):
    """Of thirty rounds, hardly any consists of calls that students have."""
    kept = {str(call.inputs) for calls in Rounds().rounds(id) for call in calls}
    drawn = [draw_round(id, number, seed=2**40) for number in range(30)]
    assert sum({str(call.inputs) for call in calls} <= kept for calls in drawn) <= 1


MADE_FROM = [
    "src/checks/support/asked.py",
    "src/checks/problem5/q5c.py",
    "instructor/solution/problem5/numpy_attention.py",
    "instructor/mistakes/q5c.py",
    "instructor/mistakes/patches.py",
]
OTHERS = ["src/checks/support/staging.py", "src/checks/problem5/q5d.py"]


def test_staffs_rounds_are_made_anew_when_it_matters(tmp_path, monkeypatch):
    for folder in ("src/autograder", "src/checks", "instructor"):
        for path in (ROOT / folder).rglob("*.py"):
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    monkeypatch.setattr(solving, "ROOT", tmp_path)
    for name in MADE_FROM + OTHERS:
        before = solving.made_from("5c", cases.PLAN)
        with (tmp_path / name).open("ab") as file:
            file.write(b"# changed\n")
        assert (solving.made_from("5c", cases.PLAN) != before) == (name in MADE_FROM), name


UNSCALED = """scores = Q @ np.swapaxes(K, -1, -2)
weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
return weights / weights.sum(axis=-1, keepdims=True) @ V"""


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        (LOOK_UP, ""),  # the hostile submission that looks replies up works
        ((Fill("attention", UNSCALED),), "Likely cause: The scores are not scaled"),
    ],
)
def test_a_students_copy_grades_with_released_rounds(
    tmp_path, process, monkeypatch, changes, cause
):
    monkeypatch.setattr(proof, "rounds", Rounds)
    report = grade_folder(process, make(changes, tmp_path / "submission"), ["5c-0-basic"])
    assert report.passed == (cause == "")
    assert cause in report.outcomes["5c-0-basic"].message


def test_damaged_rounds_are_told(tmp_path):
    content = (RELEASED / "5c.zip").read_bytes()
    for damaged in (None, content[:2000], content.replace(b"5c-0", b"5c-9", 1), b""):
        if damaged is not None:
            (tmp_path / "5c.zip").write_bytes(damaged)
        with pytest.raises(UserError, match="5c.zip in .* is damaged or missing"):
            Rounds(tmp_path).rounds("5c-0-basic")


def test_what_is_kept_can_be_drawn_when_its_file_is_locked_away(tmp_path, seed):
    path, rounds = Path(shutil.copy(RELEASED / "5c.zip", tmp_path)), Rounds(tmp_path)
    rounds.keep(["5c-0-basic", "1c-0-basic"])
    path.unlink()
    drawn = rounds.draw("5c-0-basic", np.random.default_rng(seed))
    assert pack(drawn) == pack(Rounds().draw("5c-0-basic", np.random.default_rng(seed)))
    with pytest.raises(UserError, match="5c.zip"):
        rounds.draw("5c-1-basic", np.random.default_rng(seed))


# The verdict, with replies that no submission needs to give.


@probe
def toy(x):
    return {"y": x, "text": ""}


TOY = Asked(toy, "toy({x})", {"y": Close(), "text": Same("{call} says {got}, not {right}.")})


def wire_answer(value):
    """A value as it arrives from the student's process."""
    return Answer(wire.decode(wire.encode(value, 1 << 20)), "the result")


def giving(reply):
    """Stands for a student: gives this reply to each call."""
    return SimpleNamespace(each=lambda probe, calls: [wire_answer(reply) for _ in calls])


def judge(right, got, wrong=()):
    """Judge a reply to toy(x); returns what is wrong, or None."""
    right = wire_answer(right).value
    call = Call("toy", {"x": np.zeros((2, 3))}, right=right, wrong=list(wrong))
    try:
        TOY.require(giving(got), [call])
    except Failed as failed:
        return failed


X = np.array([[1.0, 2.0, 3.0], [0.0, -4.0, 0.5]])


@pytest.mark.parametrize(
    ("got", "says"),
    [
        ({"y": X + 3e-10, "text": ""}, None),  # 1e-10, relative to 4
        ({"y": X + 5e-10, "text": ""}, "off by up to 5e-10"),
        ({"y": X.T, "text": ""}, "should be a float64 NumPy array of shape (2, 3)"),
        ({"y": X.astype("float32"), "text": ""}, "it is a float32 NumPy array"),
        ({"y": X * np.nan, "text": ""}, "6 values that are NaN or infinite, the first at (0, 0)"),
        ({"y": X.tolist(), "text": ""}, "it is a list of 2"),
        ({"y": X, "text": "b"}, "toy(x (2, 3) float64) says b, not"),
        ({"y": X, "text": X}, "toy(x (2, 3) float64) says a float64 NumPy array"),
        ({"y": X}, "says None"),
        (X, "gave no reply"),
        ({"y": {}, "text": ""}, "it is a dict of 0"),
    ],
)
def test_a_reply_is_right_or_says_why_not(got, says):
    found = judge({"y": X, "text": ""}, got)
    assert type(found) is WrongAnswer and says in found.message if says else found is None


@pytest.mark.parametrize("got", [2.5, np.nan])
def test_a_wrong_number_is_shown(got):
    """Without an index, which it has none of."""
    found = judge({"y": 2.0, "text": ""}, {"y": got, "text": ""})
    assert f"should be 2; it is {got}, off by" in found.message and "()" not in found.message


@pytest.mark.parametrize("asked", [TOY, replace(TOY, reply={})])
def test_what_should_have_been_refused_is_shown(asked):
    call = Call("toy", {"x": np.zeros(2)}, raises="ValueError")
    with pytest.raises(WrongAnswer, match=r"should raise ValueError; it returned the string 'a'"):
        asked.require(giving({"y": "a", "text": ""}), [call])


def test_a_call_is_written_as_a_student_would():
    x = np.zeros((2, 3), np.float32)
    inputs = {"sizes": [6, 3], "options": {"seed": 4}, "x": x, "mask": None, "train": False}
    call = "Layer({*sizes}).train({train})({mask}, {x}, weights={mask}, {**options})"
    written = Asked(None, call, {}).written(Call("", inputs, ", twice"))
    assert written == "Layer(6, 3).eval()(x (2, 3) float32, seed=4), twice"


@pytest.mark.parametrize("y", [[X, {"a": X}], 1.5, 3, np.arange(3), X > 0], ids=range(5))
def test_replies_of_other_types(y):
    right = {"y": y, "text": ""}
    assert judge(right, right) is None
    for wrong in (X.sum(axis=1), "1"):
        assert type(judge(right, {"y": wrong, "text": ""})) is WrongAnswer
    assert type(judge(right, {"y": None, "text": ""})) is NotImplementedYet


def test_the_likely_cause_is_a_mistake_with_the_same_reply():
    wrong = [
        ("It is doubled.", "y", Sketch.of(wire_answer(2 * X).value)),
        ("It is turned.", "y", Sketch.of(wire_answer(X.T).value)),
        ("It speaks.", "text", Sketch.of("hello")),
    ]
    right = {"y": X, "text": ""}
    for y, text, cause in [
        (2 * X + 1e-9, "x", "It is doubled."),
        (X.T, "", "It is turned."),
        (X, "hello", "It speaks."),
    ]:
        message = judge(right, {"y": y, "text": text}, wrong).message
        assert message.endswith(f"\nLikely cause: {cause}")
    assert "Likely cause" not in judge(right, {"y": 3 * X, "text": ""}, wrong).message


def in_float64(value):
    """Inputs with float64 wherever they have float32."""
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return value.astype(float)
    if isinstance(value, (list, tuple)):
        return type(value)(map(in_float64, value))
    if isinstance(value, dict):
        return {key: in_float64(item) for key, item in value.items()}
    return "float64" if isinstance(value, str) and value == "float32" else value


def arrays(value):
    """The arrays and floats in a reply, in order."""
    if isinstance(value, (wire.Array, float)):
        return [getattr(value, "data", np.array(value))]
    if isinstance(value, (dict, list, tuple)):
        items = value.values() if isinstance(value, dict) else value
        return [found for item in items for found in arrays(item)]
    return []


def in_both(process, id):
    """Where the reference's reply has float32: the key, it, what float64 gives, the tolerance."""
    every = [call for calls in Rounds().rounds(id) for call in calls if not call.raises]
    with tempfile.TemporaryDirectory(dir=proof.STAGED.name) as folder:
        student = Student(process, stage(SOLUTION, Path(folder))[0], MANIFEST.checks[id], seed=0)
        for asked in (draw.asked for draw in all_draws()[id]):
            rules = asked.reply.items()
            rules = {key: rule.tolerance for key, rule in rules if isinstance(rule, Close)}
            calls = [call for call in every if call.asked == asked.name]
            calls = [(call, in_float64(call.inputs)) for call in calls]
            calls = [(call, wide) for call, wide in calls if str(wide) != str(call.inputs)]
            replies = student.each(asked.probe, [wide for _, wide in calls]) if calls else []
            for (call, _), reply in zip(calls, replies, strict=True):
                if isinstance(reply, Failed):  # a module whose parameters stay float32
                    continue
                for key in (key for key in rules if "float32" in rules[key]):
                    pairs = arrays(call.right[key]), arrays(reply.value[key])
                    for rounded, exact in zip(*pairs, strict=True):
                        yield key, rounded, exact, rules[key]["float32"]


@pytest.mark.full
@pytest.mark.parametrize("question", "1h 5c 5d 5e 5g 6c 6d 6e 6g".split())
def test_the_reference_is_exact_in_float32(process, question):
    """What it computes in float32 differs from float64 by a tenth of the tolerance at most."""
    ids = [id for id in BASIC if id.startswith(question)]
    found = [each for id in ids for each in in_both(process, id)]
    assert found
    for key, rounded, exact, tolerance in found:
        require_close(key, rounded, exact, tolerance / 10)
