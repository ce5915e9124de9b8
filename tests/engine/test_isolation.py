"""Every isolation level: the limits of a check, what is left after it, and what it can see."""

import os
import time

import pytest
import toy_course
from toy_course import DOUBLE, RIGHT, TOY, answers

from autograder import StudentProcess, Verdict
from autograder.inside import watch


@pytest.fixture(scope="module")
def process(level, folder):
    """One process for all tests of a level: so each also shows that the ones before it did no
    harm.
    """
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
BROKEN = {  # the lines of an answer that breaks a limit, and a part of the message
    "many processes": ([FORKS, "time.sleep(30)"], "processes"),
    "many processes left behind": ([FORKS, "return x"], "processes"),
    "many threads": ([THREADS, "time.sleep(30)"], "threads"),
    "many files": (["files = [open('f', 'w') for _ in range(300)]"], "too many open files"),
    "one large file": (
        ["with open('f', 'wb') as file:", "    while True: file.write(bytes(1 << 24))"],
        "file",
    ),
    "many small files": (
        ["n = 0", "while True:", "    open(str(n), 'w').close()", "    n += 1"],
        "files",
    ),
    "several large files": (
        [
            "for n in range(100):",
            "    with open(str(n), 'wb') as file:",
            "        for _ in range(40): file.write(bytes(1 << 20))",
            "time.sleep(30)",
        ],
        "wrote",
    ),
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


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (THREE.format(60), Verdict.PASSED),
        (THREE.format(120), Verdict.OUT_OF_MEMORY),
        (SHARED, Verdict.OUT_OF_MEMORY),
        (ADDRESSES, Verdict.PASSED),
    ],
    ids=["of three processes", "of three with too much", "shared", "addresses alone"],
)
def test_memory_of_all_kinds_counts_but_no_addresses(outcome_of, code, verdict):
    outcome = outcome_of(answers(code, DOUBLE, before=FILL))
    assert outcome.verdict is verdict, outcome.details


def test_cpu_time_is_limited(outcome_of):
    """Of a process that outlives the check's own wait: the time limit comes first, and nothing is
    left.
    """
    assert outcome_of(answers("return pow(10**7, 10**8)")).verdict is Verdict.TIMEOUT


DAEMON = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        os.closerange(0, 1000)
        while True: time.sleep(0.01)
    os._exit(0)
"""


def test_no_process_is_left(outcome_of, process):
    process.start()
    before = set(watch.descendants(process._process.pid))
    outcome = outcome_of(DAEMON + "time.sleep(0.2)\n" + RIGHT)
    assert outcome.verdict is Verdict.PASSED, outcome.details
    assert set(watch.descendants(process._process.pid)) == before


def test_no_file_is_left(outcome_of, process):
    """The scratch folder, its parent, shared memory, and a folder that its own owner cannot
    enter.
    """
    mark = f"left-{time.time_ns()}"
    outcome = outcome_of(
        f"import os\nos.makedirs('{mark}/closed/deep')\nos.chmod('{mark}/closed', 0)\n"
        f"for folder in ('..', '/dev/shm', '/tmp', '/var/tmp', os.path.expanduser('~')):\n"
        f"    try: open(folder + '/{mark}', 'w').close()\n    except OSError: pass\n" + RIGHT
    )
    assert outcome.verdict is Verdict.PASSED, outcome.details
    names = f"[n for f in ('..', '/dev/shm', '/tmp') for n in os.listdir(f) if '{mark}' in n]"
    message = outcome_of(answers(f"raise ValueError({names})", before="import os")).message
    if process.isolation.strong:
        allowed = "ValueError: []", Verdict.BLOCKED.value, "not allow"
        assert any(text in message for text in allowed), message
    found = [
        os.path.join(folder, name)
        for top in ("/tmp", "/dev/shm", "/var/tmp")
        for folder, folders, files in os.walk(top)
        for name in folders + files
        if mark in name
    ]
    if process.isolation.strong:
        assert not found
    # without a sandbox it may write where its user may; only its own folder is cleaned
    for path in found:
        os.unlink(path)


def test_strong_levels_hide_the_grader(outcome_of, process, tmp_path):
    if not process.isolation.strong:
        pytest.skip("this level has no sandbox")
    secret = tmp_path / "secret"
    secret.write_text("a secret", encoding="utf-8")
    for path in (secret, *list(tmp_path.parents)[:2]):  # what keeps it out must be the level
        os.chmod(path, 0o755)
    ours = [f"/proc/{os.getpid()}/{name}" for name in ("environ", "cmdline")]
    for path in (secret, TOY / "checks" / "q9.py", *ours, "/etc/passwd"):
        outcome = outcome_of(
            answers(f"raise ValueError('read ' + open({str(path)!r}).read()[:20])")
        )
        assert "read" not in outcome.message.split("\n")[0], outcome.message
