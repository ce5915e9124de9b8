"""python src/grader.py as a student and an instructor use it."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import grader
from autograder import read_manifest
from autograder.isolation import Isolation
from checks.support.session import MANIFEST, GradingWorker
from common.files import write_text
from helpers import ROOT, SOLUTION, STARTER, call
from instructor.mistakes.patches import make

GRADER = ROOT / "src" / "grader.py"
CHECKS = read_manifest(MANIFEST).checks.values()
CODED = sum(check.points for check in CHECKS if check.coded)
pytestmark = pytest.mark.usefixtures("warm")


def run_grader(*args, cwd=ROOT):
    """Run grader.py in this process; returns its exit code and output."""
    return call(grader.main, *args, cwd=cwd)


def start_grader(*args, cwd=ROOT, program=GRADER, python=sys.executable, **options):
    """Run grader.py and return the finished process."""
    command = [python, program, *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", **options)


@pytest.fixture
def submission(tmp_path):
    """A copy of the reference's code."""
    return make((), tmp_path / "code")


def replace(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def grade_to_json(tmp_path, *args):
    """Run grader.py; returns the process, the JSON, and its checks by id."""
    process = run_grader(*args, "--json", tmp_path / "result.json")
    assert "Traceback" not in process.stderr, process.stderr
    content = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    return process, content, {check["id"]: check for check in content["checks"]}


@pytest.mark.full
def test_the_reference_with_its_results(tmp_path):
    process, content, _ = grade_to_json(tmp_path, "--submission", "instructor/solution")
    assert process.returncode == 0 and content["score"] == content["max_score"] == CODED, (
        process.stdout
    )
    assert f"all  {CODED:g} of {CODED:g}" in process.stdout and "\033" not in process.stdout
    of_1g, of_3a = (sum(one.points for one in CHECKS if one.question == id) for id in ("1g", "3a"))
    assert f"Graded by hand, points: 1g {of_1g:g}, 3a {of_3a:g}" in process.stdout


def test_the_starter_from_its_own_folder(tmp_path):
    some = ("1c-0-basic", "1h-2-basic", "1h-3-basic", "6d-7-basic")
    process = run_grader(*some, "--json", tmp_path / "r.json", cwd=ROOT / "src")
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert process.returncode == 1 and content["score"] == 0
    assert {check["verdict"] for check in content["checks"]} == {"not implemented"}
    assert re.search(r"attention\.py:\d+  apply_rotary_emb\n +0/[\d.]+: 1h-3-basic", process.stdout)


@pytest.fixture
def copy(tmp_path):
    """A student's copy: in a released tree there is no instructor/; its folder may have any name."""
    copy = tmp_path / "Assignment 5 [1] ü"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "data", copy / "data")
    for name in ("attention.py", "dataset.py", "helper.py", "model.py"):
        shutil.copy(SOLUTION / name, copy / "src" / "submission")
    return copy


def test_what_a_student_sees_without_hidden_checks(copy, tmp_path):
    words = ("1c", "1h", "--no-artifacts", "--json", "r.json")
    process = start_grader(*words, program=copy / "src" / "grader.py", cwd=tmp_path)
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert process.returncode == 0, process.stdout + process.stderr
    there = [check for check in CHECKS if check.question in ("1c", "1h") and not check.artifacts]
    total = sum(check.points for check in there)
    basic = sum(check.points for check in there if check.kind == "basic")
    assert [content[name] for name in ("score", "max_score_here")] == [basic, basic]
    assert content["max_score"] == total
    hidden = f"{total - basic:g} more in hidden checks"
    assert f"all  {basic:g} of {basic:g}, and {hidden}" in process.stdout
    assert re.search(r"hidden +1h-7-hidden +-/", process.stdout)


def test_pytest_runs_the_checks_in_a_students_copy(copy):
    words = ("-m", "pytest", "src/checks", "-k", "1h-2 or 5a", "-p", "no:cacheprovider")
    process = subprocess.run(
        [sys.executable, *words], cwd=copy, capture_output=True, encoding="utf-8"
    )
    assert "1 failed, 1 passed" in process.stdout, process.stdout + process.stderr
    assert "not implemented: problem5/hand_attention.json" in process.stdout
    assert "Again: python src/grader.py 5a-0-basic --seed" in process.stdout
    assert "Traceback" not in process.stdout


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["6d-6"], ["6d-6-basic"]),
        (["1c-0-basic", "5a-0"], ["1c-0-basic", "5a-0-basic"]),
        (["1g"], ["1g-0-written", "1g-1-written"]),
    ],
)
def test_choosing_checks(names, ids, capsys):
    """An id may be a beginning that ends before a dash."""
    assert grader.main(["--list", *names]) == 0
    assert re.findall(r"\b\d[a-z]-\d+-[a-z]+\b", capsys.readouterr().out) == ids


REFUSED = [
    ("6d-99", "There is no check or question '6d-99'. Did you mean 6d-9?"),
    ("q1c", "Did you mean 1c?"),
    ("zzz", "python src/grader.py --list shows them."),
    ("3", "3: graded by hand. There is nothing to run"),
    ("3 4 --watch", "3, 4: graded by hand."),
    ("--next 3", "3: graded by hand."),
    ("1f-6 --no-artifacts", "--no-artifacts leaves out all of 1f-6."),
    ("5a --json {folder}", "{folder} is a folder. Check --json"),
    ("--json nowhere/r.json", "Check --json"),
    ("1c-0-basic --summary nowhere/s.md", "is not a folder. Check --summary."),
    ("--submission nowhere", "nowhere does not exist"),
    ("--submission data", "it is not a submission"),
    ("--artifacts nowhere", "nowhere does not exist. Check --artifacts."),
    ("--data data", "--data also needs --preset"),
    ("--data src --preset laptop", "wiki.txt does not exist. Check --data"),
    ("--seed x", "must be a whole number from 0"),
    ("--jsn x", "nrecognized arguments"),
    ("5a --watch --debug", "--watch and --debug don't go together"),
    ("5a --watch --json r.json", "--watch and --json don't go together"),
    ("5a --watch --submission upload.zip", "--watch needs a folder, and upload.zip is none"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_what_cannot_be_graded_is_said_at_once(words, message, tmp_path):
    process = run_grader(*words.format(folder=tmp_path).split())
    assert process.returncode == 2 and message.format(folder=tmp_path) in process.stderr
    assert "\n  all " not in process.stdout and "Traceback" not in process.stderr


def test_hidden_checks_are_never_another_copys(tmp_path):
    other = tmp_path / "instructor"
    other.mkdir()
    (other / "__init__.py").write_text("", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = start_grader("5a", "--submission", SOLUTION, env=environment)
    assert process.returncode == 0, process.stderr


def test_python_may_be_started_through_any_folder(tmp_path):
    """Also where the command has "..", which an isolated process may not be able to follow."""
    levels = []
    for python in (sys.executable, os.path.relpath(sys.executable, tmp_path)):
        words = ("6d-7", "--submission", SOLUTION)
        process = start_grader(*words, cwd=tmp_path, python=python)
        assert process.returncode == 0, process.stderr
        levels.append(process.stdout.rpartition("isolation: ")[2])
    assert levels[0] == levels[1]


@pytest.mark.full
def test_a_failure_can_be_repeated(tmp_path, submission):
    replace(submission / "attention.py", "a * cos - b * sin", "a * sin - b * cos")
    arguments = ("--submission", submission)
    _, first, checks = grade_to_json(tmp_path, "1h-3-basic", *arguments)
    message = checks["1h-3-basic"]["message"]
    again = ("1h-3-basic", "--seed", first["seed"], *arguments)
    process, _, checks = grade_to_json(tmp_path, *again)
    assert checks["1h-3-basic"]["message"] == message
    assert (
        f"grader.py 1h-3-basic --seed {first['seed']} --submission {submission}" in process.stdout
    )
    messages = {message}
    for _ in range(6):  # two seeds may draw the same of the released rounds
        _, other, checks = grade_to_json(tmp_path, "1h-3-basic", *arguments)
        assert other["seed"] != first["seed"]
        messages.add(checks["1h-3-basic"]["message"])
    assert len(messages) > 1


LOOK = "document = self.data[idx]"


def test_debugging(submission, tmp_path):
    """Prints, in folders without __init__.py, and breakpoints."""
    file = submission / "dataset.py"
    replace(file, LOOK, f"{LOOK}; print('here', idx)")
    words = ("--debug", "--submission", submission)
    process = start_grader("1c-0-basic", "5d-3-basic", "5d-8-basic", *words)
    assert process.returncode == 0 and "isolation: none" in process.stdout
    assert "\nhere 3\n" in process.stdout
    replace(file, LOOK, f"{LOOK}; breakpoint()")
    process = start_grader("1c-0-basic", *words, input="p 'here', idx\nq\n", cwd=tmp_path)
    assert "(Pdb) ('here', 0)" in process.stdout
    # nothing is left in the folder that it was called from
    assert list(tmp_path.iterdir()) == [submission]


def test_a_closed_pipe_is_no_error():
    command = f"'{sys.executable}' '{GRADER}' 1h-2-basic --submission '{SOLUTION}' | head -1"
    process = subprocess.run(["bash", "-c", command], capture_output=True, encoding="utf-8")
    assert process.stdout.startswith("Grading") and process.stderr == ""


STUB = "raise NotImplementedError('not there yet')\n"
CHANGES = [
    ("attention.py", "x[..., 0::2], x[..., 1::2]", "x.chunk(2, -1)", "1h-3-basic", "half-split"),
    ("attention.py", "rotated_x = None", "rotated_x = = None", "1h-2-basic", "SyntaxError: inv"),
    ("helper.py", "model = GPT(mconf)", STUB, "1d-4-basic", ""),
    ("helper.py", "model = GPT(rope_conf)", STUB, "1h-9-basic", ""),
    ("model.py", "x_input = token_embeddings\n", STUB, "1h-9-basic", ""),
]


@pytest.mark.parametrize(("file", "old", "new", "check", "says"), CHANGES)
def test_what_is_wrong_or_not_written_is_named_and_costs_that_check(
    tmp_path, submission, file, old, new, check, says
):
    """In any file; without hidden checks, too. It costs nothing elsewhere."""
    replace(submission / file, old, new)
    words = (check, "1c-0-basic", "--submission", submission)
    process, _, checks = grade_to_json(tmp_path, *words)
    found = checks[check]
    assert process.returncode == 1 and found["score"] == 0 < checks["1c-0-basic"]["score"]
    assert (found["verdict"] == "not implemented") == (new == STUB)
    assert says in found["message"]


def passing(checks, question):
    return [end["verdict"] == "passed" for end in checks.values() if end["question"] == question]


@pytest.mark.parametrize(
    ("name", "encoding", "verdict", "message"),
    [
        (None, None, "not implemented", "is missing."),
        ("attention (1).py", "utf-8", "exception", "is missing; there is 'attention (1).py'"),
        ("attention.py", "utf-16", "exception", "is not UTF-8 but UTF-16. Save the file as UTF-8."),
    ],
)
def test_a_missing_file(tmp_path, submission, name, encoding, verdict, message):
    text = (submission / "attention.py").read_text(encoding="utf-8")
    (submission / "attention.py").unlink()
    if name:
        (submission / name).write_text(text, encoding=encoding)
    _, content, checks = grade_to_json(tmp_path, "1c", "1h", "--submission", submission)
    check = checks["1h-2-basic"]
    assert all(passing(checks, "1c")) and check["verdict"] == verdict
    assert check["message"].startswith(f"attention.py {message}")
    said = f"attention.py {message}".removesuffix(".")
    assert any(notice.startswith(said) for notice in content["notices"])


def test_a_missing_folder(tmp_path, submission):
    shutil.rmtree(submission / "problem6")
    _, _, checks = grade_to_json(tmp_path, "6a-1-basic", "--submission", submission)
    assert checks["6a-1-basic"]["message"].startswith("problem6/accounting.py is missing.")


@pytest.mark.full
def test_an_older_edition_without_rope(tmp_path, submission):
    """Its code does not know initialize_rope_model; that costs what needs it, and nothing of 1c, 1d
    and 1f.
    """
    text = (submission / "helper.py").read_text(encoding="utf-8")
    start, end = text.index("def initialize_rope_model"), text.index("def finetune")
    (submission / "helper.py").write_text(text[:start] + text[end:], encoding="utf-8")
    _, content, checks = grade_to_json(tmp_path, "1", "--no-artifacts", "--submission", submission)
    assert all(passing(checks, "1c") + passing(checks, "1d") + passing(checks, "1f"))
    assert checks["1h-7-hidden"]["verdict"] == "not implemented"
    assert "helper.py does not define initialize_rope_model" in checks["1h-7-hidden"]["details"]
    (notice,) = content["notices"]
    assert "helper.py differs from the starter outside the markers" in notice


def test_given_files_are_ours(tmp_path, submission):
    replace(submission / "trainer.py", "self.scaler.step(self.optimizer)", "pass")
    (submission / "__init__.py").write_text("raise SystemExit\n", encoding="utf-8")
    some = ("1d", "1c-0-basic", "--submission", submission)
    process, content, checks = grade_to_json(tmp_path, *some)
    named = sorted(notice.split(" ")[0] for notice in content["notices"])
    assert process.returncode == 0 and named == ["__init__.py", "trainer.py"]


FULL = functools.partial(pytest.param, marks=pytest.mark.full)


@pytest.mark.parametrize("before", ["import copy", *map(FULL, ("trainer_obj.train()", "tconf = "))])
def test_a_change_of_folder_costs_nothing(tmp_path, submission, before):
    """To one where nobody may write: at the import of a file, or in a function."""
    text = (submission / "helper.py").read_text(encoding="utf-8")
    change = r"\1__import__('os').chdir('/proc')\n\g<0>"
    text = re.sub(rf"^( *){re.escape(before)}", change, text, flags=re.MULTILINE)
    (submission / "helper.py").write_text(text, encoding="utf-8")
    process, *_ = grade_to_json(tmp_path, "1d", "1f", "--no-artifacts", "--submission", submission)
    assert process.returncode == 0, process.stdout


@pytest.mark.parametrize(
    ("old", "new", "check", "hint"),
    [
        ("copy.copy(mconf)", "mconf", "1h-9-basic", "sets mconf.rope in place"),
        ("final_tokens=650", "final_tokens=200", "1f-0-basic", "accepted, but the handout asks"),
    ],
)
def test_what_is_accepted_and_not_asked_is_a_hint(tmp_path, submission, old, new, check, hint):
    replace(submission / "helper.py", old, new)
    process, _, checks = grade_to_json(tmp_path, check, "--submission", submission)
    assert process.returncode == 0 and hint in checks[check]["hints"][0]
    assert f"Hint ({check})" in process.stdout


def test_a_zip_is_graded_as_its_folder_is(submission, tmp_path):
    shutil.make_archive(str(tmp_path / "upload"), "zip", submission.parent, "code")
    words = ("1h", "--no-artifacts", "--submission", tmp_path / "upload.zip")
    _, content, _ = grade_to_json(tmp_path, *words)
    assert content["score"] == content["max_score"] > 0


def test_what_is_no_plain_file_is_refused_whole(submission, tmp_path):
    (submission / "notes.py").symlink_to("/etc/passwd")
    process = run_grader("1h-2-basic", "--submission", submission, "--json", tmp_path / "r.json")
    assert process.returncode == 2 and "notes.py is a link. Put the file" in process.stderr
    assert not (tmp_path / "r.json").exists()


@pytest.fixture
def only_limits(monkeypatch):
    """A machine on which no strong isolation level works."""
    monkeypatch.setattr("checks.support.session.GradingWorker", GradingWorker)
    monkeypatch.setattr(
        "checks.support.session.choose",
        lambda: Isolation("limits", "bubblewrap: bwrap is not installed; landlock: no root"),
    )


def test_hidden_checks_need_a_sandbox(only_limits, submission, tmp_path, capsys):
    """The reference in one's own copy does not."""
    assert grader.main(["5a", "--submission", os.path.relpath(SOLUTION)]) == 0
    assert "isolation: limits" in capsys.readouterr().out
    arguments = ["1h-2-basic", "--submission", str(submission), "--json", str(tmp_path / "r.json")]
    assert grader.main(arguments) == 2 and not (tmp_path / "r.json").exists()
    error = capsys.readouterr().err
    assert "bwrap is not installed\n  landlock: no root" in error
    assert "--allow-weak-isolation" in error
    assert grader.main([*arguments, "--allow-weak-isolation"]) == 0
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert content["isolation"] == "limits" and "bwrap is" in content["isolation_reason"]


def test_a_summary_for_a_git_host(tmp_path, submission):
    """What is not written yet fails no push; what is written and wrong does."""
    summary = tmp_path / "summary.md"
    some = ("1c-0-basic", "1h-3-basic", "5a-0-basic", "--summary", summary)
    process = run_grader(*some, "--submission", STARTER)
    text = summary.read_text(encoding="utf-8")
    assert process.returncode == 0 and "  all  0 of " in process.stdout
    assert text.startswith("## Points: 0 of ") and "Failed" not in text
    assert "| 1c Span corruption | 0 of " in text and "| 1 not implemented |" in text
    assert re.search(r"\nNext: write .*; `[^`]*grader.py [^`]*`\n\Z", text), (
        "the command alone is code"
    )
    assert run_grader(*some, "--submission", submission).returncode == 0
    assert "| 1 passed |" in summary.read_text(encoding="utf-8")
    replace(
        submission / "attention.py",
        "def apply_rotary_emb(",
        "def apply_rotary_emb(*x):\n    raise ValueError('<b> `@ada` | [x](y)')\n\n\ndef other(",
    )
    assert run_grader(*some, "--submission", submission).returncode == 1
    text = summary.read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if "ValueError" in line)
    assert "- **1h-3-basic** " in text and ": exception.\n" in text
    assert line.startswith("  `attention.py, line ") and line.endswith("`")
    assert "<b> '@ada' | [x](y)" in line, "shown as it is, in a code span"


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    (device := tmp_path / "device").symlink_to("/dev/null")
    write_text(device, "{}")
    assert device.is_symlink()
