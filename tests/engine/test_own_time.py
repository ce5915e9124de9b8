"""A check's limit is of its own time: a busy machine costs no points, and what hangs is ended."""

import contextlib
import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import StudentProcess, Submission, Verdict, grade, probe, read_manifest
from autograder.manifest import Check
from autograder.report import as_dict
from autograder.student import Student
from autograder.verdicts import Failed
from conftest import LANDLOCK, require_level

TOY = Path(__file__).parent / "toy"
MANIFEST = read_manifest(TOY / "manifest.toml")
SECONDS = 2
RIGHT = "    return 2 * __import__('torch').from_numpy(x)\n"
WORKS = "import time\ndef answer(x):\n    while time.process_time() < {0}: pass\n"
SPINS = "def answer(x):\n    while True: pass\n"
SLEEPS = "import time\ndef answer(x):\n    time.sleep(1000)\n"
SEVERAL = "import os, time\ndef answer(x):\n    os.fork()\n    while True: pass\n"

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(),
    reason="it is not told how long a process waits for a processor",
)


@contextlib.contextmanager
def one_core(others):
    """What is started here shares one core with `others` programs that never rest."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


@pytest.fixture(
    scope="module", params=["bubblewrap", LANDLOCK, pytest.param("limits", marks=pytest.mark.full)]
)
def level(request):
    """As elsewhere, but the weakest level, which measures as the others do, with --full alone."""
    return require_level(request.param)


@pytest.fixture(scope="module")
def busy(level, folder):
    """A student's process on a core with four other programs."""
    with one_core(0), StudentProcess(level, ("torch",), (folder,)) as process:
        process.start()
        with one_core(4):
            yield process


@pytest.fixture(scope="module")
def free(level, folder):
    """A student's process that may run anywhere."""
    with StudentProcess(level, ("torch",), (folder,)) as process:
        yield process


def outcome_of(process, folder, source):
    """The Outcome of a toy.py that has SECONDS."""
    (folder / "toy.py").write_text(source, encoding="utf-8")
    check = dataclasses.replace(MANIFEST.checks["9a-0-basic"], seconds=SECONDS)
    submission = Submission((folder,), folder, "toy")
    report = grade(MANIFEST, [check], [TOY / "checks"], process, submission, 1, "")
    entry = as_dict(report)["checks"][0]
    assert {"cpu_seconds", "busy"} <= entry.keys()
    return report.outcomes["9a-0-basic"]


# On a free machine: these come before a core is made busy


@pytest.mark.parametrize("source", [SPINS, SLEEPS, SEVERAL], ids=["spins", "sleeps", "several"])
def test_what_does_not_end_is_a_timeout(free, folder, source):
    outcome = outcome_of(free, folder, source)
    assert outcome.verdict is Verdict.TIMEOUT and f"{SECONDS} seconds" in outcome.message
    assert (outcome.cpu_seconds >= SECONDS / 2) == (source != SLEEPS)


@probe
def work(seconds):
    """Computes for some seconds."""
    import time

    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@probe
def sleep(seconds):
    """Sleeps for some seconds."""
    import time

    time.sleep(seconds)


@pytest.mark.parametrize("run", [work, sleep], ids=["work", "sleep"])
def test_all_calls_of_a_check_share_one_limit(free, folder, run):
    check = Check("9a-0-basic", "9a", "basic", "calls", 1, SECONDS, 300, False, ())
    student = Student(free, Submission((folder,), folder, "toy"), check, 1)
    with pytest.raises(Failed, match="for all its calls together") as error:
        for _ in range(8):
            student.run(run, seconds=SECONDS / 4)
    assert error.value.verdict is Verdict.TIMEOUT and 1 < student.calls <= 5


# On a busy one


def test_waiting_for_a_processor_costs_nothing(busy, folder):
    """Half of the limit in work takes two and a half times the limit beside four other programs."""
    outcome = outcome_of(busy, folder, WORKS.format(SECONDS / 2) + RIGHT)
    assert outcome.verdict is Verdict.PASSED and not outcome.busy, outcome.details
    assert outcome.seconds > outcome.cpu_seconds > 0


def test_work_without_end_is_a_timeout_however_busy_the_machine_was(busy, folder):
    outcome = outcome_of(busy, folder, SPINS)
    assert outcome.verdict is Verdict.TIMEOUT and not outcome.busy, outcome.details
    assert (
        f"within {SECONDS} seconds" in outcome.message and "The machine was busy" in outcome.message
    )


def test_nothing_is_waited_for_for_ever(busy, folder, monkeypatch):
    monkeypatch.setattr("autograder.allowance.PATIENCE", 1.2)
    outcome = outcome_of(busy, folder, SPINS)
    assert outcome.verdict is Verdict.TIMEOUT and outcome.busy, outcome.details
    assert "the longest that 9a-0-basic may take on a busy machine" in outcome.message
