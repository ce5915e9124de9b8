"""What the grader writes on a terminal: rows, failures, and what to do next; and `--next`: the part
to write next, and where the handout asks for it.
"""

import io
import json
import os
import re
import shlex
import shutil
from unittest import mock

import pytest

import grader
from autograder import Outcome, Report, Verdict, read_manifest
from autograder.report import Table, to_markdown, write_failures, write_summary
from checks.support.next_part import advise, describe, next_part
from checks.support.session import MANIFEST
from helpers import ROOT, SOLUTION, STARTER, call, replace

COURSE = read_manifest(MANIFEST)
ALL = set(COURSE.questions)


def failed(id, verdict, message):
    return Outcome(id, verdict, message=message, details=message)


def report_of(outcomes):
    return Report(COURSE, {outcome.id: outcome for outcome in outcomes}, 7, ("none", ""))


def shown(*outcomes):
    """What is written of them in a terminal of 80 columns, and in a summary."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    with mock.patch.dict(os.environ, COLUMNS="80"):
        table = Table(stream, COURSE, False)
    report = report_of(outcomes)
    for outcome in outcomes:
        table.line(outcome)
    write_failures(report, table, lambda ids: "again " + " ".join(ids))
    write_summary(report, table)
    return stream.getvalue(), to_markdown(report)


def test_an_unwritten_part_has_one_whole_row():
    place, other = "dataset.py:81  CharCorruptionDataset.__getitem__", "helper.py:91  finetune"
    ids = [id for id in COURSE.checks if id.startswith("1c") and id.endswith("basic")]
    unwritten = [failed(id, Verdict.NOT_IMPLEMENTED, place) for id in ids]
    text, _ = shown(*unwritten, failed("1d-1-basic", Verdict.NOT_IMPLEMENTED, other))
    assert all(text.count(once) == 1 for once in (place, other, *ids, "1d-1-basic"))
    assert text.index("1c-0-basic") < text.index("1d  ") < text.index("1d-1-basic")


def test_long_texts_wrap_at_words():
    words = [f"word{i}" for i in range(60)]
    text, _ = shown(failed("1d-5-basic", Verdict.WRONG_ANSWER, " ".join(words)))
    assert max(map(len, text.split("\n"))) <= 80 and re.findall(r"word\d+", text) == words
    assert COURSE.checks["1d-5-basic"].title in " ".join(text.split())


def test_equal_failures_are_written_once():
    """In a summary for a git host, too."""
    raised = "attention.py, line {}: ValueError: {} is no size\n  attention.py, line 5, in f"
    text, summary = shown(
        failed("1h-2-basic", Verdict.EXCEPTION, raised.format(5, 3)),
        failed("1h-3-basic", Verdict.EXCEPTION, raised.format(5, 4)),
        failed("1h-6-basic", Verdict.EXCEPTION, raised.format(6, 3)),
        failed("1c-0-basic", Verdict.WRONG_ANSWER, "y is not x"),
        failed("1c-1-basic", Verdict.WRONG_ANSWER, "y is not x"),
    )
    assert text.count("is no size") == 2 and "again 1h-2-basic 1h-3-basic" in text
    assert text.count("y is not x") == summary.count("y is not x") == 1
    assert "again 1c-0-basic 1c-1-basic" in text
    assert "- **1c-0-basic, 1c-1-basic**: " in summary


@pytest.fixture
def code(tmp_path):
    """A copy of the starter."""
    return shutil.copytree(STARTER, tmp_path / "code")


def write(folder, *names):
    """Put the reference's files into a submission."""
    for name in names:
        shutil.copy(SOLUTION / name, folder / name)


def line_at(part):
    """The line that a part is said to be in."""
    return part.file.read_text(encoding="utf-8").split("\n")[part.line - 1]


def test_the_first_part_has_its_place(code, tmp_path, monkeypatch):
    """And its page in a release."""
    replace(code / "dataset.py", "START_CODE_HERE ###\n", "START_CODE_HERE ###\n\n")
    part = next_part(code, COURSE, ALL)
    assert "raise NotImplementedError" in line_at(part) and part.file.name == "dataset.py"
    pages = tmp_path / "pages.json"
    monkeypatch.setattr("checks.support.next_part.PAGES", pages)
    told = describe(part, COURSE, "python src/grader.py 1c")
    assert f"1c  Span corruption ({COURSE.questions['1c'].points:g} points)" in told
    assert f"dataset.py, line {part.line}" in told and "grader.py 1c" in told
    assert "CharCorruptionDataset.__getitem__" in told
    assert "problem 1, question (c)" in told
    pages.write_text(json.dumps({"1c": 11}), encoding="utf-8")
    assert "handout.pdf, page 11\n" in describe(part, COURSE, "")


def test_parts_come_in_the_order_of_the_handout_and_what_they_build_on_first(code):
    def found(questions=ALL):
        part = next_part(code, COURSE, questions)
        return part and f"{part.question} {part.what}"

    write(code, "dataset.py")
    assert found() == "1d initialize_vanilla_model"
    assert found({"6c"}) == "1h precompute_rotary_emb"
    replace(code / "helper.py", 'raise NotImplementedError("1d', 'print("1d')
    assert found() == "1f finetune"
    write(code, "helper.py", "model.py", "attention.py")
    assert found() == "5a your answers" and found({"6c"}) == "6c sinusoidal"
    write(code, "problem5/hand_attention.json")
    assert found() == "5b scaling_experiment"
    # answers are parts until no blank is left
    assert line_at(next_part(code, COURSE, {"6b"})) == 'architecture = ""'
    write(code, "problem6/choices.toml")
    with open(code / "problem6" / "choices.toml", "a", encoding="utf-8") as choices:
        choices.write('# architecture = ""\n')
    assert found({"6b"}) is None


def test_a_missing_file_and_a_submission_without_folders(code, tmp_path, monkeypatch):
    (code / "dataset.py").unlink()
    part = next_part(code, COURSE, ALL)
    assert part.question == "1c" and "file is missing" in describe(part, COURSE, "")
    (code / "problem5" / "encoder.py").rename(code / "encoder.py")
    assert next_part(code, COURSE, {"5d"}).file == code / "encoder.py"
    # a file that no starter has is no part
    monkeypatch.setattr("checks.support.next_part.GIVEN", tmp_path / "nowhere")
    assert next_part(code, COURSE, ALL).question != "1c"


def test_next_on_the_command_line(code):
    submission = ["--submission", str(code)]
    command = "python grader.py{} " + shlex.join(submission) + "\n"
    done = call(grader.main, "1", "--next", *submission, cwd=ROOT / "src")
    assert done.returncode == 0 and done.stdout.startswith("Next: 1c  Span corruption")
    assert done.stdout.endswith("  check  " + command.format(" 1c"))
    shutil.copytree(SOLUTION, code, dirs_exist_ok=True)
    done = call(grader.main, "1", "--next", *submission, cwd=ROOT / "src")
    assert re.fullmatch("All .*Next: " + re.escape(command.format(" 1")), done.stdout)
    done = call(grader.main, "--next", "--submission", code / "nowhere")
    assert done.returncode == 2 and "--next needs a folder" in done.stderr


STUB = failed("1d-1-basic", Verdict.NOT_IMPLEMENTED, "helper.py:91  finetune")
WRONG = failed("1c-0-basic", Verdict.WRONG_ANSWER, "x has the wrong length")
RAISED = failed("1h-3-basic", Verdict.EXCEPTION, "attention.py, line 70: TypeError: no")
WHERE = "No answer within 2 seconds.\nWhere it was: attention.py, line 64, in turn.\nA loop?"
PASSED_ON = """dataset.py, line 166: ValueError: no
  helper.py, line 96, in finetune
  dataset.py, line 166, in _parse"""
DEEP = failed("6e-4-basic", Verdict.EXCEPTION, "fixes.py, line 91: TypeError: no")
PASSED_ON = failed("1d-1-basic", Verdict.EXCEPTION, PASSED_ON)
SECOND = failed("6e-6-basic", Verdict.WRONG_ANSWER, "PreNormStack(3)(x): off by 1.")
KINDS = {"basic": Verdict.PASSED, "hidden": None}
DONE = [Outcome(check.id, KINDS[check.kind]) for check in COURSE.checks.values() if check.coded]
NEXT = [
    ([STUB], [], r"write initialize_vanilla_model \(1d\); .*code/helper\.py:\d+; read .* 1d$"),
    ([WRONG, STUB], ["dataset.py"], r"mend 1c-0-basic; \S*code/dataset\.py:{line}; read"),
    ([RAISED], [], r"mend 1h-3-basic; .*attention.py:70; "),
    ([failed("1h-3-basic", Verdict.TIMEOUT, WHERE)], [], "mend 1h-3-basic; .*attention.py:64; "),
    ([failed("6d-9-basic", Verdict.WRONG_ANSWER, "")], [], r"mend 6d-9-basic \(.* 1h: "),
    ([DEEP], ["dataset.py"], r"mend 6e-4-basic; .*code/problem6/fixes\.py:91; "),
    ([failed("1f-6-basic", Verdict.WRONG_ANSWER, "rope.pretrain.dev: 3")], [], "6-basic; read "),
    ([PASSED_ON], ["dataset.py", "helper.py"], r"mend 1d-1-basic; .*helper\.py:96; "),
    ([SECOND], ["dataset.py", "problem6/fixes.py"], r"mend 6e-6-basic; .*fixes\.py:{second}; "),
    (DONE[:1], [], "^Next: grade --next$"),
    (DONE, [], "^Nothing is left: all checks that run here passed.$"),
]


@pytest.mark.parametrize(("outcomes", "written", "says"), NEXT, ids=range(len(NEXT)))
def test_the_last_line_says_what_to_do_next(code, outcomes, written, says):
    write(code, *written)
    text = (code / "dataset.py").read_text(encoding="utf-8")
    line = text.split("[part 1c]")[0].count("\n") + 1
    fixes = (code / "problem6" / "fixes.py").read_text(encoding="utf-8")
    second = fixes.index("[part 6e]", fixes.index("class PreNormStack"))
    says = says.replace("{second}", str(1 + fixes.count("\n", 0, second)))
    told = advise(report_of(outcomes), code, lambda ids: "grade " + " ".join(ids))
    assert re.search(says.replace("{line}", str(line)), told)


def test_a_file_that_cannot_be_read_is_mended_first(code):
    text = (SOLUTION / "model.py").read_text(encoding="utf-8")
    (code / "model.py").write_text(text, encoding="utf-16")
    told = advise(report_of([RAISED]), code, " ".join)
    assert re.search(r"mend 1h-3-basic; \S*code/model\.py; read", told)
