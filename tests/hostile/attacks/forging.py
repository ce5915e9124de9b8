"""Forged results: on every stream and file that could carry them, and as a probe's answer."""

from hostile.attack import BLOCKED, CRASHED, EXCEPTION, MISSING, TIMEOUT, WRONG, family
from hostile.prelude import *

HOSTILE, attack = family(verdicts={CRASHED, WRONG}, everywhere=False, sandbox=False)


@attack(verdicts={MISSING}, everywhere=True, sandbox=True, lasting=True)
def results():
    """Prints and writes results as a grader may look for: pytest's, JSON, TAP, JUnit's."""
    home = os.environ.get("HOME", ".")
    test = {"name": "1c-0-basic", "score": 2, "max_score": 2, "output": MARK}
    text = json.dumps({"score": 60, "tests": [test]})
    print(f"1c-0-basic 2/2 passed\n1 passed in 0.01s\n{text}\nok 1 - 1c-0-basic")
    print('<testsuite failures="0"><testcase name="1c-0-basic"/></testsuite>', file=sys.stderr)
    folders = ".", "..", home, "/tmp", "/dev/shm", "/autograder/results", "/autograder"
    for folder in (*folders, FOLDER, ROOT):
        for name in ("results.json", "result.json", "junit.xml", "report.xml"):
            attempt(lambda: open(os.path.join(folder, name), "x").write(text))


@attack()
def on_every_descriptor():
    """Writes a message that says 'passed' to every descriptor, and exits with success."""
    for number in range(4097):
        attempt(lambda: os.write(number, GRADED))
    os._exit(0)


@attack(verdicts={MISSING, EXCEPTION}, everywhere=True, sandbox=True)
def into_the_channel():
    """Opens the judge's channel in /proc and writes a whole reply into it."""
    import stat

    ended = json.dumps({"ended": "answered", "code": 0, "seconds": 1, "cpu": 1}).encode()
    frames = ended, GRADED, f"LOOT-{MARK[::-1]}".encode(), b""
    forged = b"".join(struct.pack("<Q", len(frame)) + frame for frame in frames)

    def deliver(path):
        channel = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        if stat.S_ISFIFO(os.fstat(channel).st_mode) and os.write(channel, forged):
            loot(path)

    for pid in parents():
        if pid != JUDGE:
            for number in (1, *range(2, 32), 0):
                attempt(lambda: deliver(f"/proc/{pid}/fd/{number}"))


@attack(verdicts={CRASHED})
def answer_twice():
    """Sends a message of its own, and lets the real one follow, which is too much."""
    write(GRADED)


@attack(verdicts={MISSING, CRASHED, WRONG})
def answer_after_the_end():
    """Leaves a process that answers when the real answer is sent and nobody watches any more."""
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent:
            pass
        while True:
            write(GRADED)


@attack(verdicts={WRONG})
def answer_passed():
    """Replaces the function that writes answers, so that every probe answers 'passed'."""
    for frame in callers():
        if hasattr(frame.f_globals.get("wire"), "encode"):
            frame.f_globals["wire"].encode = lambda *arguments: GRADED


@attack(verdicts={WRONG, TIMEOUT, BLOCKED}, seconds=6)
def endless_messages():
    """Sends one valid message after the other, without end."""
    while True:
        write(GRADED * 10_000)


@attack(verdicts={EXCEPTION})
def blame_the_grader():
    """Fails with an error that is called what the grader calls its own faults."""

    class ProcessError(RuntimeError):
        pass

    class GRADER_ERROR(ProcessError, AssertionError):
        pass

    GRADER_ERROR.__module__ = ProcessError.__module__ = "autograder.process"
    raise GRADER_ERROR("grader error: The grader failed here, not your code.")
