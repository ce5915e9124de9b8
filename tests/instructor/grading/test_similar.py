"""Finding code that agrees, and weights that are equal."""

import re
import shutil
from types import SimpleNamespace

import pytest
import torch
from classes import cli

from checks.support.staging import END, GIVEN, START
from common.files import UserError
from helpers import RESULTS, SOLUTION, copy_reference
from instructor.grading import graded_class
from instructor.grading.similar import THRESHOLD, between_markers, equal_files, read_code
from instructor.grading.similar_weights import near, read_weights
from instructor.mistakes.patches import make
from right.problem1.whole import RIGHT as WHOLE

NAMES = {"truncated": "abschnitt", "masked_string": "kette", "position": "stelle"}
RIGHT = {right.name: right for right in WHOLE}
BEGINNER = "beginner_with_loops"
EVIL = "<script>alert(1)</script>"
PARAMS = "vanilla.finetune.params"


def rename(text):
    for old, new in NAMES.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text.replace("        x = torch", f"        # my own {EVIL}\n\n        x = torch")


def reorder(text):
    parts = re.split(r"(?m)^(?=def |class )", text)
    return "".join([parts[0], *reversed(parts[1:])])


def test_copies_are_found_and_independent_work_is_not(tmp_path, monkeypatch, capsys):
    """The starter and the reference, of which everybody may have much, are like nobody's."""

    def similar(sources, *options):
        graded = SimpleNamespace(sources=sources)
        monkeypatch.setattr(graded_class, "load_class", lambda out: graded)
        assert cli("similar", tmp_path, *options) == 0
        return capsys.readouterr().out

    people = {name: make(right.changes, tmp_path / name) for name, right in RIGHT.items()}
    assert " above 0.6: 0." in similar({BEGINNER: people[BEGINNER]})
    assert not (tmp_path / "similar.html").exists()
    copies = {  # how a copy is changed, and how alike it is at least
        EVIL: (str, 1),
        "renamed": (rename, 0.95),
        "reordered": (reorder, 0.85),
        "unmarked": (lambda text: re.sub(r" *### (START|END)_CODE_HERE ###\n", "", text), 0.61),
    }
    for number, (name, (change, _)) in enumerate(copies.items()):
        people[name] = make(RIGHT[BEGINNER].changes, tmp_path / str(number))
        for file in ("attention.py", "dataset.py", "helper.py"):
            path = people[name] / file
            path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    for name in (EVIL, "renamed"):
        shutil.copy(RESULTS / PARAMS, people[name])
    shutil.make_archive(tmp_path / "zipped", "zip", tmp_path, people[EVIL].name)
    given = {"zipped": tmp_path / "zipped.zip", "starter": GIVEN, "reference": SOLUTION}
    printed = similar(people | given, "--threshold", 0.3)
    left_out = r"(?m)^  (\S+) was left out: Too little of its code differs from the starter"
    short = set(re.findall(left_out, printed))
    assert {"starter", "reference"} <= short and len(RIGHT.keys() - short) >= 4
    pairs = re.findall(r"(?m)^  (\d+)%  (\S+), (\S+)$", printed)
    shares = {frozenset(people): int(share) / 100 for share, *people in pairs}
    for name, (_, least) in (copies | {"zipped": (str, 1)}).items():
        assert shares[frozenset((BEGINNER, name))] >= least > THRESHOLD
    assert not [pair for pair in shares if pair <= RIGHT.keys() and shares[pair] > 0.5]
    assert re.search(rf"(?m)^  dataset\.py, \d+ lines: {BEGINNER}, {re.escape(EVIL)}", printed)
    assert f"{PARAMS} (distance 0)" in printed
    page = (tmp_path / "similar.html").read_text(encoding="utf-8")
    assert page.count("highlight-red") > len(pairs)
    assert EVIL not in page and "_script_alert_1___script_-" in page
    policy = page.index("default-src 'none'")
    assert policy < min(page.index("<link"), page.index("<script")), "nothing is loaded"


LEFT_OUT = [  # a file of a submission, its content, and why it is left out
    ("x", None, "does not exist"),
    ("x", b"x = 1", "none of the required files"),
    ("model.py", b"\xff\xfe\x00", "model.py is not UTF-8 but UTF-16"),
    ("model.py", b"x = 1\n" * 20_000, "over 60,000"),
    ("", b"<html>", "not a zip file"),
]


@pytest.mark.parametrize("name, content, why", LEFT_OUT)
def test_what_cannot_be_read_is_left_out_with_the_reason(tmp_path, name, content, why):
    if content:
        (tmp_path / "handed-in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "handed-in" / name).write_bytes(content)
    with pytest.raises(UserError, match=why):
        between_markers(read_code(tmp_path / "handed-in"))


def test_equal_files_are_reported_near_the_reference_too(tmp_path):
    """But not the starter, with its markers or without, or without its stubs."""
    codes = {}
    for person, line in (("a", "# mine"), ("b", "# mine"), ("c", "# another's")):
        folder = copy_reference(tmp_path / person)
        for name in ("attention.py", "dataset.py"):
            text = (folder / name).read_text(encoding="utf-8").replace(START, f"{START}\n{line}", 1)
            end = "\r\n" if person == "b" else "\n"
            (folder / name).write_text(text, encoding="utf-8", newline=end)
        codes[person] = read_code(folder)
    for pattern in ("$^", f" *({START}|{END})\n", f"(?s)(?<={START}\n).*?(?= *{END})"):
        for name, content in (given := read_code(GIVEN)).items():
            given[name] = re.sub(pattern, "", content.decode()).encode()
        codes |= {f"first {pattern}": given, f"second {pattern}": given}
    found = {name: people for name, _, people in equal_files(codes)}
    assert found.pop("attention.py") == found.pop("dataset.py") == ["a", "b"]
    assert found and all(people == ["a", "b", "c"] for people in found.values())


def noisy(state):
    return {name: x.float() + 1e-5 * torch.randn(x.shape) for name, x in state.items()}


@pytest.mark.parametrize(
    "name, change, is_found",
    [
        (PARAMS, dict, True),
        (PARAMS, noisy, True),
        ("vanilla.model.params", dict, False),  # another training, from the same seed
        *((PARAMS, lambda state, bad=bad: bad, False) for bad in ({}, [1], torch.nn.Linear(9, 9))),
        (PARAMS, lambda state: {"a": torch.full((90, 90), float("nan"))}, False),
    ],
)
def test_weights_that_are_equal_or_nearly(tmp_path, name, change, is_found):
    mine = read_weights(RESULTS)
    assert {*mine} == {PARAMS, "rope.finetune.params"}
    torch.save(change(torch.load(RESULTS / name, weights_only=True)), tmp_path / PARAMS)
    theirs = read_weights(tmp_path)
    found = near({"ada": mine, "ben": theirs, "cy": read_weights(tmp_path / "nothing.zip")})
    assert [pair[:3] for pair in found] == [("ada", "ben", PARAMS)] * is_found
