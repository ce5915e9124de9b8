"""python src/grader.py --next: the part to write next, and where the handout asks for it."""

import json
import shlex
import shutil

import pytest

from autograder import Outcome, Report, Verdict, read_manifest
from checks.support.next_part import advise, describe, next_part
from checks.support.session import MANIFEST
from helpers import ROOT, SOLUTION, STARTER

COURSE = read_manifest(MANIFEST)
ALL = set(COURSE.questions)


@pytest.fixture
def code(tmp_path):
    """A copy of the starter."""
    return shutil.copytree(STARTER, tmp_path / "code")


def written(folder, *names):
    """Put the reference's files into a submission."""
    for name in names:
        shutil.copy(SOLUTION / name, folder / name)
    return folder


def found(folder, questions=ALL):
    part = next_part(folder, COURSE, questions)
    return part and (part.question, part.what)


def test_the_first_part_has_its_place(code):
    file = code / "dataset.py"
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("START_CODE_HERE ###\n", "START_CODE_HERE ###\n\n"), encoding="utf-8"
    )
    part = next_part(code, COURSE, ALL)
    assert (part.question, part.what) == ("1c", "CharCorruptionDataset.__getitem__")
    lines = part.file.read_text(encoding="utf-8").split("\n")
    assert "raise NotImplementedError" in lines[part.line - 1] and part.file.name == "dataset.py"
    shown = describe(part, COURSE, "python src/grader.py 1c")
    assert f"1c  Span corruption ({COURSE.questions['1c'].points:g} points)" in shown
    assert f"dataset.py, line {part.line}" in shown and "grader.py 1c" in shown


def test_parts_come_in_the_order_of_the_handout(code):
    assert found(written(code, "dataset.py")) == ("1d", "initialize_vanilla_model")
    helper = code / "helper.py"
    text = helper.read_text(encoding="utf-8")
    helper.write_text(text.replace('raise NotImplementedError("1d', 'print("1d'), encoding="utf-8")
    assert found(code) == ("1f", "finetune")
    written(code, "helper.py", "model.py", "attention.py")
    assert found(code) == ("5a", "your answers")
    written(code, "problem5/hand_attention.json")
    assert found(code) == ("5b", "scaling_experiment")


def test_what_a_question_builds_on_comes_first(code):
    assert found(code, {"6c"}) == ("1h", "precompute_rotary_emb")
    written(code, "helper.py", "model.py", "attention.py")
    assert found(code, {"6c"}) == ("6c", "sinusoidal")


def test_answers_are_parts_until_no_blank_is_left(code):
    choices = code / "problem6" / "choices.toml"
    part = next_part(code, COURSE, {"6b"})
    assert choices.read_text(encoding="utf-8").split("\n")[part.line - 1] == 'architecture = ""'
    text = (SOLUTION / "problem6" / "choices.toml").read_text(encoding="utf-8")
    choices.write_text(text + '# architecture = ""\n', encoding="utf-8")
    assert found(code, {"6b"}) is None


def test_a_missing_file_and_a_submission_without_folders(code):
    (code / "dataset.py").unlink()
    part = next_part(code, COURSE, ALL)
    assert part.question == "1c" and "(the file is missing)" in describe(part, COURSE, "")
    (code / "problem5" / "encoder.py").rename(code / "encoder.py")
    assert next_part(code, COURSE, {"5d"}).file == code / "encoder.py"


def test_a_file_that_no_starter_has_is_no_part(code, tmp_path, monkeypatch):
    """As in a copy whose src/submission is the only starter."""
    (code / "dataset.py").unlink()
    monkeypatch.setattr("checks.support.next_part.GIVEN", tmp_path / "nowhere")
    assert next_part(code, COURSE, ALL).question != "1c"


def test_a_timeout_is_mended_where_it_was(code):
    says = "No answer within 2 seconds.\nWhere it was: attention.py, line 64, in turn.\nA loop?"
    outcome = Outcome("1h-3-basic", Verdict.TIMEOUT, 0.0, says, says)
    report = Report(COURSE, {outcome.id: outcome}, 1, ("none", ""))
    assert "attention.py:64; " in advise(report, code, " ".join)


def test_the_page_is_that_of_the_release_or_the_section_is_named(code, tmp_path, monkeypatch):
    part = next_part(code, COURSE, ALL)
    pages = tmp_path / "pages.json"
    monkeypatch.setattr("checks.support.next_part.PAGES", pages)
    assert "read   the handout, problem 1, question (c)" in describe(part, COURSE, "")
    pages.write_text(json.dumps({"1c": 11}), encoding="utf-8")
    assert "handout.pdf, page 11\n" in describe(part, COURSE, "")


def test_on_the_command_line(code, capsys, monkeypatch):
    import grader

    monkeypatch.chdir(ROOT / "src")
    submission = ["--submission", str(code)]
    command = "python grader.py{} " + shlex.join(submission) + "\n"
    assert grader.main(["1", "--next", *submission]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Next: 1c  Span corruption")
    assert shown.endswith("  check  " + command.format(" 1c"))
    shutil.copytree(SOLUTION, code, dirs_exist_ok=True)
    assert grader.main(["1", "--next", *submission]) == 0
    assert capsys.readouterr().out == "All parts are written. Next: " + command.format(" 1")
    assert grader.main(["--next", "--submission", str(code / "nowhere")]) == 2
    assert "--next needs a folder" in capsys.readouterr().err
