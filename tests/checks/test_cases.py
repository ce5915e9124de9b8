"""Cases: the same code gives the same bytes; only numbers and sentences; the draws of students'
copies and of staff.
"""

import itertools
import json
import shutil
import zlib

import numpy as np
import pytest

from proof import MANIFEST

from autograder import WrongAnswer
from checks.support.cases import RELEASED, Case, Released, pack, same
from common.files import UserError
from conftest import ROOT
from instructor.checks.makers import Fresh, all_makers
from instructor.release import solved_cases as cases

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
    text = (tmp_path / "6d.json").read_text(encoding="utf-8")
    (tmp_path / "6d.json").write_text(text.replace("divide", "multiply", 1), encoding="utf-8")
    (tmp_path / "6d.npz").unlink()
    (tmp_path / "9z.json").write_text("{}", encoding="utf-8")
    assert cases.find_differences(tmp_path) == [
        "6d.json differs",
        "6d.npz is missing",
        "9z.json is no longer made",
    ]


@pytest.mark.parametrize("id", IDS)
def test_a_check_has_enough_cases_and_their_mistakes_differ_from_the_answer(id):
    rounds = Released().rounds(id)
    assert len(rounds) >= cases.ROUNDS and sum(map(len, rounds)) >= cases.CASES
    assert MANIFEST.checks[id].kind == "basic"
    for case in itertools.chain(*rounds):
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
    for path in RELEASED.glob("*.npz"):
        arrays = np.load(path, allow_pickle=False).values()
        assert {array.dtype.kind for array in arrays} <= {*"biuf"}, path
    for path in RELEASED.glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8")).keys() == {"texts", "checks"}
    assert {path.suffix for path in RELEASED.iterdir()} == {".npz", ".json", ".zip"}


def test_what_is_packed_is_read_again(tmp_path):
    rng = np.random.default_rng()
    right = rng.standard_normal((2, 5))
    inputs = {
        "x": rng.standard_normal((3, 1, 4)),
        "sizes": (3, 5),
        "flags": rng.random(7) < 0.5,
        "weights": {"a": np.arange(6)},
        "others": [None, "ü", 2**70, 0.5],
    }
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
    assert nothing == [] and same(case.inputs, inputs) and case.inputs["x"].dtype == float
    assert np.array_equal(case.right, right) and case.about == {"name": "f"}
    assert [sentence for sentence, _ in case.wrong] == ["is twice as much.", "has another shape."]
    pattern = r"(?s)off by up to .* first wrong value .*Likely cause: is twice as much\."
    with pytest.raises(WrongAnswer, match=pattern):
        case.require("f(x)", 2 * right, 1e-10)
    case.require("f(x)", right + 1e-12, 1e-10)


def test_a_seed_repeats_a_draw():
    for source in (Released(), Fresh()):
        for id in IDS:
            one, two = (draw(id, 5, source) for _ in range(2))
            assert same([case.inputs for case in one], [case.inputs for case in two])


def test_every_check_with_cases_asks_for_them():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "checks").rglob("q*.py")]
    for id in IDS:
        verdict = "\n".join(texts).split(f'@check("{id}")')[1].split("\n\n\n")[0]
        assert "cases" in verdict.split("):")[0], id


def cut(name, at, more):
    """Damage: a file ends early, or lacks a byte."""
    raw = (RELEASED / name).read_bytes()
    return lambda folder: (folder / name).write_bytes(raw[:at] + raw[len(raw) - more :])


LENGTH = (RELEASED / "6d.npz").stat().st_size
DAMAGES = {
    "a missing file": lambda folder: (folder / "6d.npz").unlink(),
    "a text that ends early": cut("6d.json", 2000, 0),
    "arrays that end early": cut("6d.npz", 2000, 0),
    "a byte less": cut("6d.npz", 700, LENGTH - 701),
    "another question's arrays": lambda folder: shutil.copy(RELEASED / "6e.npz", folder / "6d.npz"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_cases_are_told(tmp_path, damage):
    for name in ("6d.json", "6d.npz"):
        shutil.copy(RELEASED / name, tmp_path)
    DAMAGES[damage](tmp_path)
    pattern = "6d.json and 6d.npz in .* are damaged or missing .*Copy them from the release again"
    with pytest.raises(UserError, match=pattern):
        Released(tmp_path).require(["6d", "1c"])
