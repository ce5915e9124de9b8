"""Every isolation level: the limits of a check, and what is left after it.

The limit of time is of CPU time: a busy machine costs no points, and what hangs is ended.
"""

import contextlib
import dataclasses
import os
import subprocess
import sys

import pytest
import toy_course
from toy_course import DOUBLE, MANIFEST, RIGHT, answers

from autograder import Failed, Student, StudentProcess, Submission, Verdict, probe
from autograder.allowance import CLOCK
from autograder.inside import watch


@pytest.fixture(scope="module")
def process(level, folder):
    """One process for all tests of a level: each also shows that those before did no harm."""
    with StudentProcess(level, ("torch",), (folder,)) as process:
        yield process


@pytest.fixture
def outcome_of(process, folder):
    """A function that grades a toy.py and then a right one, which must pass; it returns the first
    one's Outcome.
    """

    def run(source, **options):
        outcome = toy_course.outcome_of(process, folder, source, **options)
        after = toy_course.outcome_of(process, folder, RIGHT, **options)
        assert after.verdict is Verdict.PASSED, after.details
        assert outcome.verdict is not Verdict.GRADER_ERROR, outcome.details
        return outcome

    return run


FORKS = "for _ in range(100):\n        if os.fork() == 0: time.sleep(30)"
THREADS = (
    "for _ in range(100): threading.Thread(target=time.sleep, args=(30,), daemon=True).start()"
)
IMPORTS = "import os, threading, time"
HIDDEN = """for _ in range(150):
        if os.fork() == 0:
            try:
                os.setsid()
                if os.fork() == 0: time.sleep(5)
            finally: os._exit(0)
        time.sleep(0.001)"""
SEVERAL = "for n in range(4000): open(str(n // 40), 'ab').write(bytes(1 << 20))"
RESERVED = """for n in range(20):
        os.posix_fallocate(os.open(str(n), os.O_WRONLY | os.O_CREAT), 0, 36 << 20)"""
BROKEN = {  # the lines of an answer that breaks a limit, and a part of the message
    "many processes": ([FORKS, "time.sleep(30)"], "processes"),
    "many processes left behind": ([FORKS, "return x"], "processes"),
    "many processes with other parents": ([HIDDEN, "time.sleep(3)"], "process"),
    "many threads": ([THREADS, "time.sleep(30)"], "threads"),
    "many files": (["files = [open('f', 'w') for _ in range(300)]"], "too many open files"),
    "one large file": (["f = open('f', 'wb')", "while True: f.write(bytes(1 << 24))"], "file"),
    "many small files": (["for n in range(10**9): open(str(n), 'w').close()"], "files"),
    "several large files": ([SEVERAL, "time.sleep(30)"], "wrote"),
    "reserved files": ([RESERVED, "time.sleep(1)"], "file"),
    "a sparse file": (["os.truncate(os.open('f', os.O_RDWR | os.O_CREAT), 1 << 40)"], "file"),
    "much output": (["while True: print('x' * 100_000)"], "printed"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_limit_has_its_verdict(outcome_of, name):
    lines, message = BROKEN[name]
    # ext4 takes its time where thousands of files were deleted just before
    outcome = outcome_of(answers(*lines, before=IMPORTS), seconds=20)
    assert outcome.verdict is Verdict.BLOCKED and message in outcome.message, outcome.details


FILL = """
import mmap, os, time
def fill(megabytes):
    return [bytearray(os.urandom(16) * (1 << 16)) for _ in range(megabytes)]
"""


def test_memory_is_capped_at_the_manifests_limit(outcome_of):
    """Of random bytes; and what was freed may be used again."""
    lines = ["blocks = []", "try:", "    while True: blocks += fill(1)", "except MemoryError:"]
    lines += ["    n = len(blocks)", "    del blocks", "    raise ValueError(f'got {n} MiB')"]
    outcome = outcome_of(answers(*lines, before=FILL))
    got = int(outcome.message.split("got ")[1].split()[0])
    assert 0.9 * 300 <= got <= 1.1 * 300


THREE = """for _ in range(3):
        if os.fork() == 0:
            kept = fill({})
            time.sleep(1)
            os._exit(0)
    for _ in range(3): os.wait()"""
SHARED = """with open(f'/dev/shm/{os.getpid()}-{time.time_ns()}', 'w+b') as file:
        os.unlink(file.name)
        file.truncate(450 << 20)
        block = mmap.mmap(file.fileno(), 0)
    for at in range(0, len(block), 4096): block[at] = 1
    time.sleep(1)"""
ADDRESSES = "mmap.mmap(-1, 20 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)[5]"


MEMORY = {  # what comes before a right answer, and the verdict
    "of three processes": (THREE.format(60), Verdict.PASSED),
    "of three with too much": (THREE.format(120), Verdict.OUT_OF_MEMORY),
    "shared": (SHARED, Verdict.OUT_OF_MEMORY),
    "addresses alone": (ADDRESSES, Verdict.PASSED),
}


@pytest.mark.parametrize("name", MEMORY)
def test_memory_of_all_kinds_counts_but_no_addresses(outcome_of, name):
    code, verdict = MEMORY[name]
    outcome = outcome_of(answers(code, DOUBLE, before=FILL))
    assert outcome.verdict is verdict, outcome.details


DAEMON = """import os, signal, time
if os.fork() == 0:
    os.setsid()
    for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)
    if os.fork() == 0:
        os.closerange(0, 1000)
        time.sleep(60)
    os._exit(0)
time.sleep(0.2)
"""


def test_no_process_is_left(outcome_of, process):
    process.start()
    before = set(watch.descendants(process.pid))
    outcome = outcome_of(DAEMON + RIGHT)
    assert outcome.verdict is Verdict.PASSED, outcome.details
    assert set(watch.descendants(process.pid)) == before


def test_what_removes_its_own_folder_harms_nobody(outcome_of):
    """At the weakest level it can remove everything of its user."""
    lines = "where = os.getcwd()", "os.chdir('/')", "shutil.rmtree(where, ignore_errors=True)"
    source = answers(*lines, "time.sleep(0.5)", DOUBLE, before=f"{IMPORTS}, shutil")
    outcome = outcome_of(source)
    assert outcome.verdict is Verdict.PASSED, outcome.details


# Time

SECONDS = 1.2  # the limit of a check
SPINS = answers("while True: pass")
SLEEPS = answers("time.sleep(1000)", before=IMPORTS)


@pytest.mark.parametrize("source", [SPINS, SLEEPS], ids=["spins", "sleeps"])
def test_what_does_not_end_is_a_timeout(outcome_of, monkeypatch, source):
    if source != SLEEPS:
        monkeypatch.setattr("autograder.allowance.CLOCK", 50)
    outcome = outcome_of(source, seconds=SECONDS)
    limit = CLOCK * SECONDS if source == SLEEPS else SECONDS
    assert outcome.verdict is Verdict.TIMEOUT and f"{limit:g} seconds" in outcome.message
    assert (outcome.cpu_seconds >= SECONDS / 2) == (source != SLEEPS) and not outcome.busy


@probe
def spend(work, rest):
    """Works and rests for some seconds."""
    import time

    end = time.process_time() + work
    while time.process_time() < end:
        pass
    time.sleep(rest)


@pytest.mark.parametrize(("work", "rest"), [(SECONDS / 4, 0), (0, SECONDS / 4 * CLOCK)])
def test_all_calls_of_a_check_share_one_limit(process, folder, work, rest):
    check = dataclasses.replace(MANIFEST.checks["9a-0-basic"], seconds=SECONDS)
    submission = Submission((folder,), folder, "toy")
    student = Student(process, submission, check, 1)
    with pytest.raises(Failed, match="for all its calls together") as error:
        for _ in range(8):
            student.run(spend, work=work, rest=rest)
    assert error.value.verdict is Verdict.TIMEOUT and 1 < student.calls <= 5


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


def test_waiting_for_a_processor_costs_nothing(busy, folder, monkeypatch):
    """Half of the limit in work takes two and a half times the limit beside four other programs."""
    monkeypatch.setattr("autograder.allowance.CLOCK", 50)
    works = f"while time.process_time() < {SECONDS / 2}: pass"
    source = answers(works, DOUBLE, before=IMPORTS)
    outcome = toy_course.outcome_of(busy, folder, source, seconds=SECONDS)
    assert outcome.verdict is Verdict.PASSED and not outcome.busy, outcome.details
    assert outcome.seconds > outcome.cpu_seconds > 0


def test_nothing_is_waited_for_for_ever(busy, folder, monkeypatch):
    monkeypatch.setattr("autograder.allowance.CLOCK", 1.2)
    outcome = toy_course.outcome_of(busy, folder, SPINS, seconds=SECONDS)
    assert outcome.verdict is Verdict.TIMEOUT and outcome.busy, outcome.details
    assert "is the machine busy with something else?" in outcome.message
