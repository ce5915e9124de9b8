"""Checks of one submission that run at the same time, in a student's process each."""

import os
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from autograder import Outcome, Verdict, read_manifest
from checks.support import session
from checks.support.session import MANIFEST, GradingWorker, Setting, grade_submission
from helpers import ROOT, STARTER, command_of, descendants, is_running, wait_until


@pytest.fixture
def few(monkeypatch):
    """Let a second process help with few checks, too."""
    monkeypatch.setattr(session, "MANY", 0)


def grade(workers, lines):
    """Grade two cheap questions of the starter."""
    manifest = read_manifest(MANIFEST)
    checks = manifest.select(["1c", "5a"])
    setting = Setting(workers=workers)
    return grade_submission(STARTER, checks, setting, 5, manifest, lines.append)


def test_two_workers_find_what_one_finds(few):
    """The same outcomes, each reported once, and no process is left."""
    one, two, before = [], [], descendants()
    alone, together = grade(1, one), grade(2, two)
    assert {id: (end.verdict, end.message) for id, end in together.outcomes.items()} == {
        id: (end.verdict, end.message) for id, end in alone.outcomes.items()
    }
    assert sorted(end.id for end in two) == sorted(end.id for end in one)
    assert not {*descendants()} - {*before}


def test_all_processes_end_after_a_suspicious_submission(tmp_path):
    """What broke out of a check in any of them must not meet the next submission."""
    shutil.copytree(STARTER, tmp_path / "crashes")
    (tmp_path / "crashes" / "dataset.py").write_text("import os\nos._exit(3)\n", encoding="utf-8")
    manifest = read_manifest(MANIFEST)
    checks = manifest.select(["1c-1-basic", "1c-2-basic"])
    with GradingWorker(Setting(), [manifest.questions["1c"]], 2) as worker:
        for source, runs in ((STARTER, True), (tmp_path / "crashes", False)):
            grade_submission(source, checks, Setting(), 5, manifest, worker=worker)
            assert [process._process is not None for process in worker.processes] == [runs] * 2


def test_lines_keep_the_manifests_order():
    """Whichever outcome arrives first; hidden checks that don't run here have a line, too."""
    from grader import Rows

    checks, written = read_manifest(MANIFEST).select(["1d"]), []
    hidden = {check.id: Outcome(check.id) for check in checks if check.kind == "hidden"}
    ids = [check.id for check in checks]
    rows = Rows(SimpleNamespace(line=written.append), {id: hidden.get(id) for id in ids})
    for id in reversed([id for id in ids if id not in hidden]):
        rows.add(Outcome(id, Verdict.PASSED))
    assert [outcome.id for outcome in written] == ids


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_grading_leaves_no_process(number):
    """Neither Ctrl-C nor being killed leaves a helper that goes on."""
    command = [sys.executable, "src/grader.py", "--submission", "instructor/solution"]
    process = subprocess.Popen(
        [*command, "--workers", "2"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_until(lambda: sum("modules" in command_of(pid) for pid in descendants(process.pid)) >= 2)
    children = descendants(process.pid)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert b"Traceback" not in errors
    wait_until(lambda: not any(map(is_running, children)))


def test_ctrl_c_while_helpers_start_prints_no_traceback():
    """Ctrl-C in a terminal, which all processes get."""
    words = ["--workers", "2", "--allow-weak-isolation"]
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "src" / "grader.py"), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    process.stdout.readline()  # Grading ...
    wait_until(lambda: descendants(process.pid))
    os.killpg(process.pid, signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and errors == "\nInterrupted.\n"
