"""Cases: the same code gives the same bytes; only numbers and sentences; the draws of students'
copies and of staff.
"""

import json
import zlib

import numpy as np
import pytest

from proof import MANIFEST, grade_folder

from autograder import WrongAnswer
from checks.support.cases import RELEASED, Case, Released, pack, same
from common.files import UserError
from conftest import ROOT
from hostile.attacks.lookup import LOOK_UP
from instructor.checks.makers import Fresh, all_makers
from instructor.release import cases
from variants import Fill, make

IDS = sorted(all_makers())


def draw(id, seed, source):
    return source.draw(id, np.random.default_rng([seed, zlib.crc32(id.encode())]))


@pytest.fixture(scope="module")
def files():
    """Return what the command would write."""
    return cases.case_files()


@pytest.mark.full
def test_the_files_are_what_the_makers_give(files):
    assert cases.find_differences() == []
    assert files == cases.case_files()  # to the byte
    assert sum(map(len, files.values())) < cases.LIMIT


@pytest.mark.full
def test_differences_are_found(tmp_path, files):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert cases.find_differences(tmp_path) == []
    text = (tmp_path / "5c.json").read_text(encoding="utf-8")
    (tmp_path / "5c.json").write_text(text.replace("divide", "multiply", 1), encoding="utf-8")
    (tmp_path / "5c.npz").unlink()
    (tmp_path / "9z.json").write_text("{}", encoding="utf-8")
    assert cases.find_differences(tmp_path) == [
        "5c.json differs",
        "5c.npz is missing",
        "9z.json is no longer made",
    ]


@pytest.mark.parametrize("id", IDS)
def test_a_check_has_enough_cases(id):
    rounds = Released().rounds(id)
    assert len(rounds) >= cases.ROUNDS and sum(map(len, rounds)) >= cases.CASES
    assert MANIFEST.checks[id].kind == "basic"


@pytest.mark.parametrize("id", IDS)
def test_kept_mistakes_differ_from_the_answer(id):
    for round in Released().rounds(id):
        for case in round:
            assert not any(same(value, case.right) for _, value in case.wrong)
            assert all(sentence.strip() for sentence, _ in case.wrong)


@pytest.mark.full
@pytest.mark.parametrize("id", IDS)
def test_staff_draws_others(id):
    """Of a hundred rounds, hardly any consists of cases that students have."""
    kept = [case.inputs for round in Released().rounds(id) for case in round]
    known = sum(
        all(any(same(case.inputs, other) for other in kept) for case in draw(id, seed, Fresh()))
        for seed in range(100)
    )
    assert known <= 1


def test_files_hold_numbers_and_sentences_alone():
    for path in RELEASED.iterdir():
        if path.suffix == ".npz":
            assert all(
                array.dtype.kind in "biuf" for array in np.load(path, allow_pickle=False).values()
            ), path
        else:
            assert path.suffix == ".json" and set(json.loads(path.read_text(encoding="utf-8"))) == {
                "texts",
                "checks",
            }


def test_what_is_packed_is_read_again(tmp_path):
    rng = np.random.default_rng()
    inputs = {
        "x": rng.standard_normal((3, 1, 4)),
        "sizes": (3, 5),
        "flags": rng.random(7) < 0.5,
        "weights": {"a": np.arange(6)},
        "none": None,
        "text": "ü",
        "large": 2**70,
        "half": np.float64(0.5),
    }
    right = rng.standard_normal((2, 5))
    wrong = [
        ("is twice as much.", lambda: 2 * right),
        ("is the same.", right.copy()),
        ("is nothing.", lambda: None),
        ("has another shape.", right.T),
    ]
    text, arrays = pack({"9z-0-basic": [[Case(inputs, right, wrong, {"name": "f"})], []]})
    (tmp_path / "9z.json").write_text(text, encoding="utf-8")
    np.savez(tmp_path / "9z.npz", **arrays)
    (case,), nothing = Released(tmp_path).rounds("9z-0-basic")
    assert (
        nothing == []
        and same(case.inputs, {**inputs, "half": 0.5})
        and case.inputs["x"].dtype == float
    )
    assert np.array_equal(case.right, right) and case.about == {"name": "f"}
    assert [sentence for sentence, _ in case.wrong] == ["is twice as much.", "has another shape."]
    with pytest.raises(
        WrongAnswer,
        match=r"(?s)off by up to .* first wrong value .*Likely cause: is twice as much\.",
    ):
        case.require("f(x)", 2 * right, 1e-10)
    case.require("f(x)", right + 1e-12, 1e-10)


def test_a_seed_repeats_a_draw():
    for source in (Released(), Fresh()):
        for id in IDS:
            one, two = (draw(id, 5, source) for _ in range(2))
            assert same([case.inputs for case in one], [case.inputs for case in two])


@pytest.fixture
def released_alone(monkeypatch):
    """Grade as a student's copy does, with the released cases."""
    monkeypatch.setattr("proof.FRESH", Released())


def test_a_looked_up_answer_is_right_on_released_cases_alone(tmp_path, process, released_alone):
    """Shows that the hostile submission that looks answers up works."""
    assert grade_folder(process, make(LOOK_UP, tmp_path / "looks-up"), ["5c-0-basic"]).passed


def test_a_students_copy_names_the_cause(tmp_path, process, released_alone):
    body = (
        "scores = Q @ np.swapaxes(K, -1, -2)\n"
        "weights = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
        "return weights / weights.sum(axis=-1, keepdims=True) @ V"
    )
    report = grade_folder(
        process, make((Fill("attention", body),), tmp_path / "unscaled"), ["5c-0-basic"]
    )
    message = report.outcomes["5c-0-basic"].message
    assert (
        "Likely cause: the scores are not scaled" in message
        and "off by up to" in message
        and "first wrong value" in message
    )


def test_every_check_with_cases_asks_for_them():
    for id in IDS:
        text = "\n".join(
            path.read_text(encoding="utf-8") for path in (ROOT / "src" / "checks").rglob("q*.py")
        )
        verdict = text.split(f'@check("{id}")')[1].split("\n\n\n")[0]
        assert "cases" in verdict.split("):")[0], id


DAMAGES = {
    "a missing file": lambda folder: (folder / "5c.npz").unlink(),
    "a text that ends early": lambda folder: (folder / "5c.json").write_bytes(
        (RELEASED / "5c.json").read_bytes()[:2000]
    ),
    "arrays that end early": lambda folder: (folder / "5c.npz").write_bytes(
        (RELEASED / "5c.npz").read_bytes()[:2000]
    ),
    "a byte less": lambda folder: (folder / "5c.npz").write_bytes(
        (RELEASED / "5c.npz").read_bytes()[:700] + (RELEASED / "5c.npz").read_bytes()[701:]
    ),
    "another question's arrays": lambda folder: (folder / "5c.npz").write_bytes(
        (RELEASED / "5b.npz").read_bytes()
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_cases_are_told(tmp_path, damage):
    for name in ("5c.json", "5c.npz"):
        (tmp_path / name).write_bytes((RELEASED / name).read_bytes())
    DAMAGES[damage](tmp_path)
    with pytest.raises(
        UserError,
        match=r"5c.json and 5c.npz in .* are damaged or missing .*Copy them from the release again",
    ):
        Released(tmp_path).require(["5c", "1c"])
