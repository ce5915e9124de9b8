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
from grader import Rows
from helpers import ROOT, SOLUTION, STARTER, command_of, descendants, is_running, wait_until

COURSE = read_manifest(MANIFEST)
GRADER = [sys.executable, ROOT / "src" / "grader.py", "--workers", "2"]
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}


def test_two_workers_find_what_one_finds(monkeypatch):
    """The same outcomes, each reported once, and no process is left."""
    monkeypatch.setattr(session, "MANY", 0)  # a second process helps with few checks, too
    checks, before, found = COURSE.select(["1c", "5a"]), descendants(), []
    for workers in (1, 2):
        lines, setting = [], Setting(workers=workers)
        report = grade_submission(STARTER, checks, setting, 5, COURSE, lines.append)
        ends = {id: (end.verdict, end.message) for id, end in report.outcomes.items()}
        found.append((ends, sorted(line.id for line in lines)))
    assert found[0] == found[1]
    assert not {*descendants()} - {*before}


def test_all_processes_end_after_a_suspicious_submission(tmp_path):
    """What broke out of a check in any of them must not meet the next submission."""
    shutil.copytree(STARTER, tmp_path / "crashes")
    (tmp_path / "crashes" / "dataset.py").write_text("import os\nos._exit(3)\n", encoding="utf-8")
    checks = COURSE.select(["1c-1-basic", "1c-2-basic"])
    with GradingWorker(Setting(), [COURSE.questions["1c"]], 2) as worker:
        for source, runs in ((STARTER, True), (tmp_path / "crashes", False)):
            grade_submission(source, checks, Setting(), 5, COURSE, worker=worker)
            assert [process.pid is not None for process in worker.processes] == [runs] * 2


def test_lines_keep_the_manifests_order():
    """Whichever outcome arrives first; hidden checks that don't run here have a line, too."""
    checks, written = COURSE.select(["1d"]), []
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
    process = subprocess.Popen([*GRADER, "--submission", SOLUTION], **PIPES)
    wait_until(lambda: sum("modules" in command_of(pid) for pid in descendants(process.pid)) >= 2)
    children = descendants(process.pid)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    wait_until(lambda: not any(map(is_running, children)))


def test_ctrl_c_while_helpers_start_prints_no_traceback():
    """Ctrl-C in a terminal, which all processes get."""
    command = [*GRADER, "--allow-weak-isolation"]
    process = subprocess.Popen(command, start_new_session=True, **PIPES)
    process.stdout.readline()  # Grading ...
    wait_until(lambda: descendants(process.pid))
    os.killpg(process.pid, signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and errors == "\nInterrupted.\n"
