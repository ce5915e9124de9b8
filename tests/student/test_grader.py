"""python src/grader.py as a student and an instructor use it."""

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
from autograder.trial import choose
from checks.support.session import MANIFEST, GradingWorker
from common.files import write_text
from helpers import ROOT, SOLUTION, STARTER, call, replace
from instructor.mistakes.patches import make

GRADER = ROOT / "src" / "grader.py"
TEXT = {"capture_output": True, "encoding": "utf-8"}
pytestmark = pytest.mark.usefixtures("warm")


@pytest.fixture
def submission(tmp_path):
    """A copy of the reference's code."""
    return make((), tmp_path / "code")


@pytest.fixture
def graded(submission, tmp_path):
    """A function that grades that copy: ids and options -> the process, the JSON, its checks."""

    def grade(*words, of=submission):
        process = call(grader.main, *words, "--submission", of, "--json", tmp_path / "r.json")
        assert "Traceback" not in process.stderr, process.stderr
        content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
        return process, content, {check["id"]: check for check in content["checks"]}

    return grade


@pytest.mark.full
def test_the_reference_with_its_results(graded):
    checks = read_manifest(MANIFEST).checks.values()
    coded = sum(check.points for check in checks if check.coded)
    of_1g, of_3a = (sum(one.points for one in checks if one.question == id) for id in ("1g", "3a"))
    process, content, _ = graded(of=SOLUTION)
    assert process.returncode == 0 and content["score"] == content["max_score"] == coded
    assert f"all  {coded:g} of {coded:g}" in process.stdout and "\033" not in process.stdout
    assert f": 1g {of_1g:g}, 3a {of_3a:g}" in process.stdout


def test_the_starter_from_its_own_folder(tmp_path):
    some = ("1c-0-basic", "1h-2-basic", "1h-3-basic", "6d-7-basic")
    process = call(grader.main, *some, "--json", tmp_path / "r.json", cwd=ROOT / "src")
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert process.returncode == 1 and content["score"] == 0
    assert {check["verdict"] for check in content["checks"]} == {"not implemented"}
    assert re.search(r"attention\.py:\d+  apply_rotary_emb\n +0/[\d.]+: 1h-3-basic", process.stdout)


def test_choosing_checks():
    """An id may be a beginning that ends before a dash."""
    chosen = {"6d-6": "6d-6-basic", "1c-0-basic 5a-0": "1c-0-basic 5a-0-basic"}
    for names, ids in (chosen | {"1g": "1g-0-written 1g-1-written"}).items():
        listed = call(grader.main, "--list", *names.split()).stdout
        assert re.findall(r"\b\d[a-z]-\d+-[a-z]+\b", listed) == ids.split()


def test_python_may_be_started_through_any_folder_and_finds_this_copys_hidden_checks(tmp_path):
    """Also where the command has "..", which an isolated process may not be able to follow."""
    other = tmp_path / "instructor"
    other.mkdir()
    (other / "__init__.py").write_text("", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    python = os.path.relpath(sys.executable, tmp_path)
    command = [python, GRADER, "6d-7", "5a", "--submission", SOLUTION]
    process = subprocess.run(command, cwd=tmp_path, env=environment, **TEXT)
    assert process.returncode == 0, process.stderr
    assert re.search(r"isolation: (\w+)", process.stdout)[1] == choose().name


@pytest.mark.full
def test_a_failure_can_be_repeated(graded, submission):
    replace(submission / "attention.py", "a * cos - b * sin", "a * sin - b * cos")
    (_, first, checks), (_, other, _) = graded("1h-3-basic"), graded("1h-3-basic")
    assert other["seed"] != first["seed"]
    process, _, again = graded("1h-3-basic", "--seed", first["seed"])
    assert again["1h-3-basic"]["message"] == checks["1h-3-basic"]["message"]
    command = f"grader.py 1h-3-basic --seed {first['seed']} --submission {submission}"
    assert command in process.stdout


def test_debugging(submission, tmp_path):
    """Prints, in folders without __init__.py, and breakpoints; nothing is left in the folder that
    it was called from.
    """
    look = "document = self.data[idx]"
    stop = f"{look}; print('here', idx); idx == 3 and breakpoint()"
    replace(submission / "dataset.py", look, stop)
    words = ("1c-0-basic", "5d-3-basic", "5d-8-basic", "--debug", "--submission", submission)
    typed = "p 'there', idx\n" + 10_000 * "c\n"
    process = subprocess.run([sys.executable, GRADER, *words], cwd=tmp_path, input=typed, **TEXT)
    assert process.returncode == 0 and "isolation: none" in process.stdout
    assert "\nhere 3\n" in process.stdout and "(Pdb) ('there', 3)" in process.stdout
    assert list(tmp_path.iterdir()) == [submission]


def test_a_closed_pipe_is_no_error():
    command = f"'{sys.executable}' '{GRADER}' 1h-2-basic --submission '{SOLUTION}' | head -1"
    process = subprocess.run(["bash", "-c", command], **TEXT)
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
def test_a_fault_is_named_and_costs_that_check(graded, submission, file, old, new, check, says):
    """In any file; without hidden checks, too. It costs nothing elsewhere."""
    replace(submission / file, old, new)
    process, _, checks = graded(check, "1c-0-basic")
    found = checks[check]
    assert process.returncode == 1 and found["score"] == 0 < checks["1c-0-basic"]["score"]
    assert (found["verdict"] == "not implemented") == (new == STUB) and says in found["message"]


MISSING = [
    (None, None, "not implemented", "is missing."),
    ("attention (1).py", "utf-8", "exception", "is missing; there is 'attention (1).py'"),
    ("attention.py", "utf-16", "exception", "is not UTF-8 but UTF-16. Save the file as UTF-8."),
]


@pytest.mark.parametrize(("name", "encoding", "verdict", "message"), MISSING)
def test_a_missing_file_and_a_missing_folder(graded, submission, name, encoding, verdict, message):
    text = (submission / "attention.py").read_text(encoding="utf-8")
    (submission / "attention.py").unlink()
    if name:
        (submission / name).write_text(text, encoding=encoding)
        shutil.rmtree(submission / "problem6")
    _, content, checks = graded("1c-0-basic", "1h-2-basic", "6a-1-basic")
    assert checks["1c-0-basic"]["verdict"] == "passed"
    assert checks["1h-2-basic"]["verdict"] == verdict
    assert checks["1h-2-basic"]["message"].startswith(f"attention.py {message}")
    absent = "problem6/accounting.py is missing."
    assert not name or checks["6a-1-basic"]["message"].startswith(absent)
    said = f"attention.py {message}".removesuffix(".")
    assert any(notice.startswith(said) for notice in content["notices"])


@pytest.mark.full
def test_an_older_edition_without_rope(graded, submission):
    """Its code does not know initialize_rope_model; that costs what needs it, and nothing of 1c, 1d
    and 1f.
    """
    file = submission / "helper.py"
    before, rest = file.read_text(encoding="utf-8").split("def initialize_rope_model")
    file.write_text(before + "def finetune" + rest.partition("def finetune")[2], encoding="utf-8")
    _, content, checks = graded("1", "--no-artifacts")
    others = [end["verdict"] for id, end in checks.items() if not id.startswith("1h")]
    assert {*others} == {"passed"}
    assert checks["1h-7-hidden"]["verdict"] == "not implemented"
    assert "helper.py does not define initialize_rope_model" in checks["1h-7-hidden"]["details"]
    (notice,) = content["notices"]
    assert "helper.py differs" in notice


def test_given_files_are_ours(graded, submission):
    replace(submission / "trainer.py", "self.scaler.step(self.optimizer)", "pass")
    (submission / "__init__.py").write_text("raise SystemExit\n", encoding="utf-8")
    process, content, _ = graded("1d", "1c-0-basic")
    named = sorted(notice.split(" ")[0] for notice in content["notices"])
    assert process.returncode == 0 and named == ["__init__.py", "trainer.py"]


def test_a_change_of_folder_costs_nothing(graded, submission):
    """To one where nobody may write: at the import of a file, or in a function."""
    text = (submission / "helper.py").read_text(encoding="utf-8")
    places = r"^( *)(?=import copy|trainer_obj\.train\(\)|tconf = )"
    text, count = re.subn(
        places, r"\1__import__('os').chdir('/proc')\n\1", text, flags=re.MULTILINE
    )
    (submission / "helper.py").write_text(text, encoding="utf-8")
    process, *_ = graded("1d", "1f", "--no-artifacts")
    assert count >= 3 and process.returncode == 0, process.stdout


HINTS = [
    ("copy.copy(mconf)", "mconf", "1h-9-basic", "sets mconf.rope in place"),
    ("final_tokens=650", "final_tokens=200", "1f-0-basic", "accepted, but the handout asks"),
]


@pytest.mark.parametrize(("old", "new", "check", "hint"), HINTS)
def test_what_is_accepted_and_not_asked_is_a_hint(graded, submission, old, new, check, hint):
    replace(submission / "helper.py", old, new)
    process, _, checks = graded(check)
    assert process.returncode == 0 and hint in checks[check]["hints"][0]
    assert f"Hint ({check})" in process.stdout


def test_hidden_checks_need_a_sandbox(monkeypatch, graded, submission, tmp_path):
    """Of a machine on which no strong level works; the reference in one's own copy does not."""
    why, session = "bubblewrap: bwrap is not installed; landlock: no root", "checks.support.session"
    monkeypatch.setattr(f"{session}.GradingWorker", GradingWorker)
    monkeypatch.setattr(f"{session}.choose", lambda: Isolation("limits", why))
    own = call(grader.main, "5a", "--submission", os.path.relpath(SOLUTION, ROOT))
    assert own.returncode == 0 and "isolation: limits" in own.stdout
    refused = call(
        grader.main, "1h-2-basic", "--submission", submission, "--json", tmp_path / "r.json"
    )
    assert refused.returncode == 2 and not (tmp_path / "r.json").exists()
    assert "\n  landlock: no root" in refused.stderr
    assert "--allow-weak-isolation" in refused.stderr
    process, content, _ = graded("1h-2-basic", "--allow-weak-isolation")
    assert process.returncode == 0 and content["isolation"] == "limits"
    assert "bwrap is" in content["isolation_reason"]


def test_a_summary_for_a_git_host(tmp_path, submission):
    """What is not written yet fails no push; what is written and wrong does."""
    some = ("1c-0-basic", "1h-3-basic", "5a-0-basic", "--summary", tmp_path / "summary.md")

    def summarized(folder, code):
        process = call(grader.main, *some, "--submission", folder)
        assert process.returncode == code
        return process.stdout, (tmp_path / "summary.md").read_text(encoding="utf-8")

    printed, text = summarized(STARTER, 0)
    assert "  all  0 of " in printed
    assert text.startswith("## Points: 0 of ") and "Failed" not in text
    assert "| 1c Span corruption | 0 of " in text and "| 1 not implemented |" in text
    next_line = r"\nNext: write .*; `[^`]*grader.py [^`]*`\n\Z"
    assert re.search(next_line, text), "the command alone is code"
    assert "| 1 passed |" in summarized(submission, 0)[1]
    fails = "def apply_rotary_emb(*x):\n    raise ValueError('<b> `@ada` | [x](y)')\n\n\ndef other("
    replace(submission / "attention.py", "def apply_rotary_emb(", fails)
    _, text = summarized(submission, 1)
    (line,) = (line for line in text.splitlines() if "ValueError" in line)
    assert "- **1h-3-basic** " in text and ": exception.\n" in text
    assert line.startswith("  `attention.py, line ") and line.endswith("`")
    assert "<b> '@ada' | [x](y)" in line, "shown as it is, in a code span"


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    (device := tmp_path / "device").symlink_to("/dev/null")
    write_text(device, "{}")
    assert device.is_symlink()
