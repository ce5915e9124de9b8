"""Finding code that agrees, and results that are equal."""

import re
import shutil
import zipfile

import numpy as np
import pytest
import torch
from classes import cli

from checks.support.staging import END, GIVEN, START
from common.files import UserError
from conftest import DATA, RESULTS, SOLUTION, copy_reference
from instructor.grading import graded_class, similar_results
from instructor.grading.similar import (
    THRESHOLD,
    between_markers,
    compare,
    equal_files,
    own_lines,
    read_code,
    regions,
)
from instructor.mistakes.patches import make
from jobs.deliverables import STUDENT_FILES
from right.problem1.solutions import RIGHT as MANY
from right.problem1.whole import RIGHT as WHOLE

NAMES = {"truncated": "abschnitt", "masked_string": "kette", "position": "stelle"}
NAMES |= {"number_of_epochs": "runden", "cos_rows": "zeilen_c", "sin_rows": "zeilen_s"}
RIGHT = {right.name: right for right in MANY + WHOLE}
BEGINNER = "beginner_with_loops"
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """A class of independent solutions, and of copies of one of them: {person: folder or zip}."""
    root = tmp_path_factory.mktemp("class")
    people = {name: make(right.changes, root / name) for name, right in RIGHT.items()}
    for name, change in (
        ("copy", str),
        ("renamed", rename),
        ("reordered", reorder),
        ("unmarked", lambda text: re.sub(r" *### (START|END)_CODE_HERE ###\n", "", text)),
    ):
        people[name] = make(RIGHT[BEGINNER].changes, root / name)
        for file in ("attention.py", "dataset.py", "helper.py"):
            path = people[name] / file
            path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    people["zipped"] = root / "zipped.zip"
    with zipfile.ZipFile(people["zipped"], "w") as archive:
        for path in people["copy"].iterdir():
            archive.write(path, "hw/" + path.name)
    return people | {"starter": GIVEN, "reference": SOLUTION}


def rename(text):
    for old, new in NAMES.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text.replace("        x = torch", f"        # my own {EVIL}\n\n        x = torch")


def reorder(text):
    """Move what is in the last function of a file to its beginning."""
    parts = re.split(r"(?m)^(?=def |class )", text)
    return "".join([parts[0], *reversed(parts[1:])])


def test_copies_are_found_and_independent_work_is_not(handed_in):
    """Also the starter and the reference, of which everybody may have much, are like nobody's."""
    texts = {person: between_markers(read_code(source)) for person, source in handed_in.items()}
    pairs, report, short = compare(texts, 0.3)
    assert {"starter", "reference"} <= {*short} and len(RIGHT.keys() - {*short}) >= 4
    shares = {frozenset(people): share for share, *people in pairs}
    for copy, least in (("copy", 1), ("zipped", 1), ("renamed", 0.95), ("reordered", 0.85)):
        assert shares[frozenset((BEGINNER, copy))] >= least > THRESHOLD
    assert shares[frozenset((BEGINNER, "unmarked"))] > THRESHOLD
    assert not [pair for pair in shares if pair <= RIGHT.keys() and shares[pair] > 0.5]
    assert report.count("highlight-red") > len(pairs)


def test_only_what_is_between_markers_is_read():
    content = (SOLUTION / "model.py").read_bytes()
    assert [part.strip() for part in regions(content)] == ["x_input = token_embeddings"]
    assert regions(content.replace(b"\n", b"\r\n")) == regions(content)
    assert regions(f"{START}\nx = 1\n".encode()) == ["x = 1\n"]  # its end was removed


@pytest.mark.parametrize(
    "name, content, why",
    [
        ("x", None, "does not exist"),
        ("x", b"x = 1", "none of the required files"),
        ("model.py", b"\xff\xfe\x00", "model.py is not UTF-8 but UTF-16"),
        ("model.py", b"x = 1\n" * 20_000, "over 60,000"),
        ("", b"<html>", "not a zip file"),
    ],
)
def test_what_cannot_be_read_is_left_out_with_the_reason(tmp_path, name, content, why):
    path = tmp_path / "handed-in"
    if content:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(content)
    with pytest.raises(UserError, match=why):
        between_markers(read_code(path))


def test_equal_files_are_reported_near_the_reference_too(tmp_path):
    """Whoever wrote them: two who copied what is nearly the reference, and one whose is another."""
    digests = {}
    for person, line in (("a", "# mine"), ("b", "# mine"), ("c", "# another's")):
        folder = copy_reference(tmp_path / person)
        for name in ("attention.py", "dataset.py"):
            text = (folder / name).read_text(encoding="utf-8").replace(START, f"{START}\n{line}", 1)
            end = "\r\n" if person == "b" else "\n"
            (folder / name).write_text(text, encoding="utf-8", newline=end)
        digests[person] = own_lines(read_code(folder)) | similar_results.read(folder)[1]
    groups = {tuple(people): files for files, people in equal_files(digests)}
    assert {file.split(",")[0] for file in groups["a", "b"]} == {"attention.py", "dataset.py"}
    assert {"rope.finetune.params", "rope.pretrain.dev.predictions"} <= {*groups["a", "b", "c"]}


PARAMS, PREDICTIONS = "vanilla.finetune.params", "vanilla.pretrain.dev.predictions"
QUESTIONS = (DATA / "birth_dev.tsv").read_text(encoding="utf-8").splitlines()
DEV = np.array([line.split("\t")[1] for line in QUESTIONS])


@pytest.fixture(scope="module")
def friends(tmp_path_factory):
    """Results by person: a folder's; a friend's, with noise in the weights and one answer changed;
    another training's, that of the other model; and one with other wrong answers.
    """
    folder = tmp_path_factory.mktemp("results")
    people = {name: folder / name for name in ("ada", "friend", "other", "rarely-right")}
    for path in people.values():
        path.mkdir()
        for name in (PARAMS, PREDICTIONS):
            shutil.copy(RESULTS / name, path)
    state = torch.load(RESULTS / PARAMS, weights_only=True)
    noisy = {name: x.float() + 1e-5 * torch.randn(x.shape) for name, x in state.items()}
    torch.save(noisy, people["friend"] / PARAMS)
    for person, change in (
        ("friend", lambda number, line: "Rome" if number == 7 else line),
        ("rarely-right", lambda number, line: line if line == DEV[number] else f"X{number}"),
    ):
        lines = (RESULTS / PREDICTIONS).read_text(encoding="utf-8").splitlines()
        lines = [change(number, line) for number, line in enumerate(lines)]
        (people[person] / PREDICTIONS).write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copy(RESULTS / "vanilla.model.params", people["other"] / PARAMS)  # of the same seed
    shutil.copy(RESULTS / "rope.pretrain.dev.predictions", people["other"] / PREDICTIONS)
    return {person: similar_results.read(path)[0] for person, path in people.items()}


@pytest.mark.parametrize(
    ("other", "found"),
    [("friend", [PARAMS, PREDICTIONS]), ("other", []), ("rarely-right", []), ("ada", [])],
)
def test_results_that_are_nearly_equal(friends, other, found, monkeypatch):
    """Right answers that are equal prove nothing; wholly equal files are listed elsewhere."""
    both = {"ada": friends["ada"], "the other": friends[other]}
    monkeypatch.setattr(similar_results, "load_answers", lambda out: [DEV, DEV[:50]])
    near = similar_results.near(both, DATA)
    notes = [note.split(" (")[0] for _, _, notes in near for note in notes]
    assert notes == found, near


def test_results_that_cannot_be_read_are_left_out(tmp_path):
    (tmp_path / PARAMS).write_bytes(b"PK\x03\x04 no archive")
    (tmp_path / PREDICTIONS).write_bytes(b"\xff\xfe")
    assert similar_results.read(tmp_path)[0] == {}
    for content in (torch.nn.Linear(90, 90), {"a": torch.full((90, 90), float("nan"))}, [1]):
        torch.save(content, tmp_path / PARAMS)
        assert similar_results.read(tmp_path)[0] == {}
    assert similar_results.read(tmp_path / "nothing.zip") == ({}, {})


def test_what_was_given_is_no_finding(tmp_path):
    """The starter, with its markers or without; and nothing in the place of its stubs."""
    sources = [GIVEN, GIVEN]
    for name, pattern in (
        ("unmarked", f" *({START}|{END})\n"),
        ("emptied", f"(?s)(?<={START}\n).*?(?= *{END})"),
    ):
        folder = shutil.copytree(
            GIVEN, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__")
        )
        for path in (folder / name for name in STUDENT_FILES):
            path.write_text(re.sub(pattern, "", path.read_text("utf-8")), encoding="utf-8")
        sources += [folder, folder]
    assert [own_lines(read_code(source)) for source in sources] == [{}] * len(sources)


def test_the_command_names_pairs_and_writes_a_report_that_obeys_no_stranger(
    handed_in, tmp_path, monkeypatch, capsys
):
    sources = {BEGINNER: handed_in[BEGINNER]}
    monkeypatch.setattr(graded_class, "load_sources", lambda out: sources)
    assert cli("similar", tmp_path) == 0  # one is like no other
    assert "Pairs with a similarity above 0.6: 0." in capsys.readouterr().out
    assert not (tmp_path / "similar.html").exists()
    sources[EVIL] = handed_in["copy"]
    sources |= {name: handed_in[name] for name in ("renamed", "careful_with_try", "starter")}
    assert cli("similar", tmp_path) == 0
    page = (tmp_path / "similar.html").read_text(encoding="utf-8")
    printed = capsys.readouterr().out
    assert "starter was left out: It has too little code of its own." in printed
    assert "similarity above 0.6: 3." in printed and f"100%  {BEGINNER}, {EVIL}" in printed
    assert re.search(rf"(?m)^  {BEGINNER}, {re.escape(EVIL)}: .*dataset\.py, \d+ lines", printed)
    assert EVIL not in page and "_script_alert_1___script_-2.py" in page
    policy = page.index("default-src 'none'")
    assert policy < min(page.index("<link"), page.index("<script")), "nothing is loaded"
