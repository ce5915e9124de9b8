"""A check's limit is of CPU time: a busy machine costs no points, and what hangs is ended."""

import contextlib
import os
import subprocess
import sys

import pytest
from toy_course import DOUBLE, MANIFEST, answers, outcome_of

from autograder import StudentProcess, Submission, Verdict, probe
from autograder.allowance import CLOCK
from autograder.student import Student
from autograder.verdicts import Failed

SECONDS = MANIFEST.checks["9a-0-basic"].seconds
SPINS = answers("while True: pass")
SLEEPS = answers("time.sleep(1000)", before="import time")
SEVERAL = answers("os.fork()", "while True: pass", before="import os")


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


# On a free machine: these come before a core is made busy


@pytest.mark.parametrize("source", [SPINS, SLEEPS, SEVERAL], ids=["spins", "sleeps", "several"])
def test_what_does_not_end_is_a_timeout(free, folder, monkeypatch, source):
    if source != SLEEPS:
        monkeypatch.setattr("autograder.allowance.CLOCK", 50)
    outcome = outcome_of(free, folder, source)
    limit = CLOCK * SECONDS if source == SLEEPS else SECONDS
    assert outcome.verdict is Verdict.TIMEOUT and f"{limit:g} seconds" in outcome.message
    assert (outcome.cpu_seconds >= SECONDS / 2) == (source != SLEEPS) and not outcome.busy


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
    __import__("time").sleep(seconds)


@pytest.mark.parametrize("run", [work, sleep], ids=["work", "sleep"])
def test_all_calls_of_a_check_share_one_limit(free, folder, run):
    check, submission = MANIFEST.checks["9a-0-basic"], Submission((folder,), folder, "toy")
    student = Student(free, submission, check, 1)
    with pytest.raises(Failed, match="for all its calls together") as error:
        for _ in range(8):
            student.run(run, seconds=SECONDS / 4 * (CLOCK if run is sleep else 1))
    assert error.value.verdict is Verdict.TIMEOUT and 1 < student.calls <= 5


# On a busy one


def test_waiting_for_a_processor_costs_nothing(busy, folder, monkeypatch):
    """Half of the limit in work takes two and a half times the limit beside four other programs."""
    monkeypatch.setattr("autograder.allowance.CLOCK", 50)
    works = f"while time.process_time() < {SECONDS / 2}: pass"
    outcome = outcome_of(busy, folder, answers(works, DOUBLE, before="import time"))
    assert outcome.verdict is Verdict.PASSED and not outcome.busy, outcome.details
    assert outcome.seconds > outcome.cpu_seconds > 0


def test_nothing_is_waited_for_for_ever(busy, folder, monkeypatch):
    monkeypatch.setattr("autograder.allowance.CLOCK", 1.2)
    outcome = outcome_of(busy, folder, SPINS)
    assert outcome.verdict is Verdict.TIMEOUT and outcome.busy, outcome.details
    assert "is the machine busy with something else?" in outcome.message
