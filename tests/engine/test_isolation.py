"""Every isolation level: the limits of a check, what is left after it, and what it can see."""

import dataclasses
import os
import time
from pathlib import Path

import pytest

from autograder import StudentProcess, Submission, Verdict, grade, read_manifest
from autograder.inside import watch

TOY = Path(__file__).parent / "toy"
MANIFEST = read_manifest(TOY / "manifest.toml")  # its limits: 2 seconds, 300 MiB
RIGHT = "def answer(x):\n    return 2 * __import__('torch').from_numpy(x)\n"


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
    one's Outcome. `seconds` is the time that it may take.
    """

    def run(source, seconds=MANIFEST.checks["9a-0-basic"].seconds):
        def graded(source):
            (folder / "toy.py").write_text(source, encoding="utf-8")
            check = dataclasses.replace(MANIFEST.checks["9a-0-basic"], seconds=seconds)
            report = grade(
                MANIFEST,
                [check],
                [TOY / "checks"],
                process,
                Submission((folder,), folder, "toy"),
                1,
                "",
            )
            return report.outcomes["9a-0-basic"]

        outcome = graded(source)
        after = graded(RIGHT)
        assert after.verdict is Verdict.PASSED, after.details
        assert outcome.verdict is not Verdict.GRADER_ERROR, outcome.details
        return outcome

    return run


# What an answer does, the verdict, and a part of the message.
BROKEN = {
    "many processes": (
        "import os, time\ndef answer(x):\n    for _ in range(100):\n"
        "        if os.fork() == 0: time.sleep(30)\n    time.sleep(30)\n",
        "processes",
    ),
    "many processes left behind": (
        "import os, time\ndef answer(x):\n    for _ in range(100):\n"
        "        if os.fork() == 0: time.sleep(30)\n    return x\n",
        "processes",
    ),
    "many threads": (
        "import threading, time\ndef answer(x):\n    for _ in range(100):\n"
        "        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
        "    time.sleep(30)\n",
        "threads",
    ),
    "many files": (
        "def answer(x):\n    files = [open('f', 'w') for _ in range(300)]\n",
        "too many open files",
    ),
    "one large file": (
        "def answer(x):\n    with open('f', 'wb') as file:\n"
        "        while True: file.write(bytes(1 << 24))\n",
        "file",
    ),
    "many small files": (
        "import os\ndef answer(x):\n    n = 0\n    while True:\n        open(str(n), 'w').close()\n"
        "        n += 1\n",
        "files",
    ),
    "several large files": (
        "def answer(x):\n    for n in range(100):\n        with open(str(n), 'wb') as file:\n"
        "            for _ in range(40): file.write(bytes(1 << 20))\n"
        "    __import__('time').sleep(30)\n",
        "wrote",
    ),
    "much output": ("def answer(x):\n    while True: print('x' * 100_000)\n", "printed"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_limit_has_its_verdict(outcome_of, name):
    source, message = BROKEN[name]
    # ext4 takes its time where thousands of files were deleted just before
    outcome = outcome_of(source, seconds=20)
    assert outcome.verdict is Verdict.BLOCKED and message in outcome.message, outcome.details


ALLOCATE = """
import os, time
def fill(megabytes):
    blocks = []
    for _ in range(megabytes):
        blocks.append(bytearray(os.urandom(16) * (1 << 16)))
    return blocks
"""


def test_memory_is_capped_at_the_manifests_limit(outcome_of):
    outcome = outcome_of(
        ALLOCATE
        + (
            "def answer(x):\n    blocks = []\n    try:\n        while True: blocks += fill(1)\n"
            "    except MemoryError:\n        n = len(blocks)\n        del blocks\n"
            "        raise ValueError(f'got {n} MiB')\n"
        )
    )
    got = int(outcome.message.split("got ")[1].split()[0])
    assert 0.9 * 300 <= got <= 1.1 * 300


@pytest.mark.parametrize(("each", "passes"), [(60, True), (120, False)])
def test_memory_is_that_of_all_processes_together(outcome_of, each, passes):
    outcome = outcome_of(
        ALLOCATE
        + (
            "def answer(x):\n    children = []\n    for _ in range(3):\n"
            "        children.append(os.fork())\n        if children[-1] == 0:\n"
            f"            kept = fill({each})\n            time.sleep(1)\n"
            "            os._exit(0)\n    for child in children: os.waitpid(child, 0)\n"
        )
        + RIGHT.split("\n", 1)[1]
    )
    assert outcome.verdict is (Verdict.PASSED if passes else Verdict.OUT_OF_MEMORY), outcome.details


def test_shared_memory_counts(outcome_of):
    source = (
        "import mmap, os, time\ndef answer(x):\n"
        "    file = open(f'/dev/shm/{os.getpid()}-{time.time_ns()}', 'w+b')\n"
        "    os.unlink(file.name)\n    file.truncate(450 << 20)\n"
        "    block = mmap.mmap(file.fileno(), 0)\n"
        "    for at in range(0, len(block), 4096): block[at] = 1\n    time.sleep(1)\n    return 1\n"
    )
    assert outcome_of(source).verdict is Verdict.OUT_OF_MEMORY


def test_address_space_is_not_capped(outcome_of):
    source = (
        "import mmap\ndef answer(x):\n    block = mmap.mmap(-1, 20 << 30, mmap.MAP_PRIVATE | "
        "mmap.MAP_ANONYMOUS, mmap.PROT_READ)\n    block[5]\n" + RIGHT.split("\n", 1)[1]
    )
    assert outcome_of(source).verdict is Verdict.PASSED


def test_cpu_time_is_limited(outcome_of):
    """Of a process that outlives the check's own wait: the time limit comes first, and nothing is
    left.
    """
    assert outcome_of("def answer(x):\n    return pow(10**7, 10**8)\n").verdict is Verdict.TIMEOUT


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
    looked = (
        "import os\ndef answer(x):\n    raise ValueError([n for f in ('..', '/dev/shm', '/tmp') "
        f"for n in os.listdir(f) if '{mark}' in n])\n"
    )
    message = outcome_of(looked).message
    if process.isolation.strong:
        assert (
            "ValueError: []" in message
            or Verdict.BLOCKED.value in message
            or "not allow" in message
        ), message
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
    for path in (
        secret,
        TOY / "checks" / "q9.py",
        f"/proc/{os.getpid()}/environ",
        f"/proc/{os.getpid()}/cmdline",
        "/etc/passwd",
    ):
        outcome = outcome_of(
            f"def answer(x):\n    raise ValueError('read ' + open({str(path)!r}).read()[:20])\n"
        )
        assert "read" not in outcome.message.split("\n")[0], outcome.message
