"""python src/grader.py --next: the part to write next, and where the handout asks for it; and what
the last line of a grading says to do next.
"""

import json
import re
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


def replace(path, old, new):
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def write(folder, *names):
    """Put the reference's files into a submission."""
    for name in names:
        shutil.copy(SOLUTION / name, folder / name)


def found(folder, questions=ALL):
    part = next_part(folder, COURSE, questions)
    return part and (part.question, part.what)


def test_the_first_part_has_its_place(code, tmp_path, monkeypatch):
    """And its page in a release."""
    replace(code / "dataset.py", "START_CODE_HERE ###\n", "START_CODE_HERE ###\n\n")
    part = next_part(code, COURSE, ALL)
    assert (part.question, part.what) == ("1c", "CharCorruptionDataset.__getitem__")
    lines = part.file.read_text(encoding="utf-8").split("\n")
    assert "raise NotImplementedError" in lines[part.line - 1] and part.file.name == "dataset.py"
    pages = tmp_path / "pages.json"
    monkeypatch.setattr("checks.support.next_part.PAGES", pages)
    shown = describe(part, COURSE, "python src/grader.py 1c")
    assert f"1c  Span corruption ({COURSE.questions['1c'].points:g} points)" in shown
    assert f"dataset.py, line {part.line}" in shown and "grader.py 1c" in shown
    assert "the handout, problem 1, question (c)" in shown
    pages.write_text(json.dumps({"1c": 11}), encoding="utf-8")
    assert "handout.pdf, page 11\n" in describe(part, COURSE, "")


def test_parts_come_in_the_order_of_the_handout_and_what_they_build_on_first(code):
    write(code, "dataset.py")
    assert found(code) == ("1d", "initialize_vanilla_model")
    assert found(code, {"6c"}) == ("1h", "precompute_rotary_emb")
    replace(code / "helper.py", 'raise NotImplementedError("1d', 'print("1d')
    assert found(code) == ("1f", "finetune")
    write(code, "helper.py", "model.py", "attention.py")
    assert found(code) == ("5a", "your answers") and found(code, {"6c"}) == ("6c", "sinusoidal")
    write(code, "problem5/hand_attention.json")
    assert found(code) == ("5b", "scaling_experiment")


def test_answers_are_parts_until_no_blank_is_left(code):
    choices = code / "problem6" / "choices.toml"
    part = next_part(code, COURSE, {"6b"})
    assert choices.read_text(encoding="utf-8").split("\n")[part.line - 1] == 'architecture = ""'
    text = (SOLUTION / "problem6" / "choices.toml").read_text(encoding="utf-8")
    choices.write_text(text + '# architecture = ""\n', encoding="utf-8")
    assert found(code, {"6b"}) is None


def test_a_missing_file_and_a_submission_without_folders(code, tmp_path, monkeypatch):
    (code / "dataset.py").unlink()
    part = next_part(code, COURSE, ALL)
    assert part.question == "1c" and "(the file is missing)" in describe(part, COURSE, "")
    (code / "problem5" / "encoder.py").rename(code / "encoder.py")
    assert next_part(code, COURSE, {"5d"}).file == code / "encoder.py"
    # a file that no starter has is no part
    monkeypatch.setattr("checks.support.next_part.GIVEN", tmp_path / "nowhere")
    assert next_part(code, COURSE, ALL).question != "1c"


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


STUB = ("1d-1-basic", Verdict.NOT_IMPLEMENTED, "helper.py:91  finetune")
TIMEOUT = "No answer within 2 seconds.\nWhere it was: attention.py, line 64, in turn.\nA loop?"
RAISED = "attention.py, line 70: TypeError: no"
WRONG = ("1c-0-basic", Verdict.WRONG_ANSWER, "x has the wrong length")


@pytest.mark.parametrize(
    ("failures", "written", "says"),
    [
        ([STUB], [], r"write initialize_vanilla_model \(1d\); .*code/helper\.py:\d+; read .* 1d$"),
        ([WRONG, STUB], ["dataset.py"], r"mend 1c-0-basic; \S*code/dataset\.py:{line}; read"),
        ([("1h-3-basic", Verdict.EXCEPTION, RAISED)], [], r"mend 1h-3-basic; .*attention.py:70; "),
        ([("1h-3-basic", Verdict.TIMEOUT, TIMEOUT)], [], r"mend 1h-3-basic; .*attention.py:64; "),
        ([], [], "^Next: grade --next$"),
    ],
)
def test_the_last_line_says_what_to_do_next(code, failures, written, says):
    write(code, *written)
    text = (code / "dataset.py").read_text(encoding="utf-8")
    line = text.split("[part 1c]")[0].count("\n") + 1
    outcomes = [Outcome(id, verdict, message=why, details=why) for id, verdict, why in failures]
    outcomes = outcomes or [Outcome("1c-0-basic", Verdict.PASSED)]
    assert re.search(says.replace("{line}", str(line)), next_after(code, outcomes))


def next_after(folder, outcomes):
    report = Report(COURSE, {outcome.id: outcome for outcome in outcomes}, 7, ("none", ""))
    return advise(report, folder, lambda ids: "grade " + " ".join(ids))


def test_nothing_is_left_after_all_checks_have_passed(tmp_path):
    coded = [check for check in COURSE.checks.values() if check.coded]
    outcomes = [
        Outcome(check.id, None if check.kind == "hidden" else Verdict.PASSED) for check in coded
    ]
    assert next_after(tmp_path, outcomes) == "Nothing is left: all checks that run here passed."
