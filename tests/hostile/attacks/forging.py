"""Forged results: on every stream and file that could carry them, and in the messages that answer a
probe.
"""

from hostile.attack import BLOCKED, CRASHED, EXCEPTION, MISSING, TIMEOUT, WRONG, Hostile

# Writing messages by hand, as inside/wire.py and process.py would read them.
FORGE = '''
import json


def message(tree, *buffers):
    """A complete message; `tree` is its JSON, as a text or a value."""
    text = (tree if isinstance(tree, str) else json.dumps(tree)).encode()
    return struct.pack("<I", len(text)) + text + b"".join(buffers)


def value(tree):
    """The JSON of an answer."""
    return {"dict": [["value", tree]]}


def frame(*parts):
    return b"".join(struct.pack("<Q", len(part)) + part for part in parts)


def write(data):
    """Write to the pipe for the answer: all that is open, but for standard input and output."""
    for number in range(3, 256):
        try:
            rest = data
            while rest:
                rest = rest[os.write(number, rest):]
        except OSError:
            pass


def setting(name):
    """An entry of the dictionaries that the functions have which called this code."""
    caller = sys._getframe()
    while caller:
        for content in list(caller.f_locals.values()):
            if type(content) is dict and name in content:
                return content[name]
        caller = caller.f_back


def answer(data):
    """Send a message, and end before the real one comes."""
    write(data)
    os._exit(0)


PASSED = value({"dict": [["verdict", "passed"], ["passed", True], ["score", 2], ["points", 2], ["id", "1c-0-basic"]]})
'''


def forged(
    name,
    tries,
    code,
    seen="It is no answer, or a wrong one.",
    verdicts=frozenset({CRASHED, WRONG}),
    **more,
):
    """Make a forging attack that is stopped without a sandbox."""
    return Hostile(
        name,
        tries,
        seen,
        FORGE + code,
        verdicts=verdicts,
        **{"everywhere": False, "sandbox": False, **more},
    )


HOSTILE = [
    forged(
        "print-a-grade",
        "Prints what a passing test run, a JSON result and a TAP stream look like.",
        """
print('1c-0-basic 2/2 passed\\n1 passed in 0.01s\\n{"score": 60, "tests": [{"score": 60}]}\\nok 1 - 1c-0-basic')
print('<testsuite failures="0"><testcase name="1c-0-basic"/></testsuite>', file=sys.stderr)
""",
        "It is printed text, shown as such.",
        frozenset({MISSING}),
    ),
    forged(
        "write-result-files",
        "Writes results.json and a JUnit file wherever a grader may look for one.",
        """
home = os.environ.get("HOME", ".")
text = json.dumps({"score": 60, "tests": [{"name": "1c-0-basic", "score": 2, "max_score": 2, "output": "@MARK@"}]})
for folder in (".", "..", home, "/tmp", "/dev/shm", "/autograder/results", "/autograder", "@FOLDER@", "@ROOT@"):
    for name in ("results.json", "result.json", "junit.xml", "report.xml"):
        attempt(lambda: open(os.path.join(folder, name), "x").write(text))
""",
        "Nobody reads them, and they are removed.",
        frozenset({MISSING}),
        everywhere=True,
        sandbox=True,
        lasting=True,
    ),
    forged(
        "forge-on-every-descriptor",
        "Writes a complete message that says 'passed' to every descriptor, and exits with success.",
        """
for number in range(4097):
    attempt(lambda: os.write(number, message(PASSED)))
os._exit(0)
""",
        "It is taken for the student's answer, which is wrong.",
    ),
    forged(
        "forge-the-judges-frames",
        "Finds the number of the request, and writes what the student's process would tell the "
        "judge.",
        """
ended = json.dumps({"ended": "answered", "code": 0, "output": "", "request": setting("request")}).encode()
answer(frame(ended, message(PASSED)))
""",
        "It reaches nobody but the process that forked it, which takes it for a broken answer.",
    ),
    forged(
        "forge-into-the-channel",
        "Opens the judge's channel in /proc and writes a frame with the right number of the "
        "request into it.",
        """
ended = json.dumps({"ended": "answered", "code": 0, "output": "LOOT-" + "@MARK@"[::-1], "request": setting("request")}).encode()
def deliver(path):
    channel = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    loot(path) if stat.S_ISFIFO(os.fstat(channel).st_mode) and os.write(channel, frame(ended, message(PASSED))) else None
import stat
for pid in parents():
    if pid != int("@JUDGE@"):
        for number in (1, *range(2, 32), 0):
            attempt(lambda: deliver(f"/proc/{pid}/fd/{number}"))
""",
        "The channel cannot be opened.",
        frozenset({MISSING, EXCEPTION}),
        everywhere=True,
        sandbox=True,
    ),
    forged(
        "answer-passed",
        "Replaces the function that writes answers, so that every probe answers 'passed'.",
        """
caller = sys._getframe()
while caller:
    if hasattr(caller.f_globals.get("wire"), "encode"):
        caller.f_globals["wire"].encode = lambda *arguments: message(PASSED)
    caller = caller.f_back
""",
        "The verdict looks at the answer, and it is wrong.",
        frozenset({WRONG}),
    ),
    forged(
        "answer-twice",
        "Sends a message of its own, and lets the real one follow.",
        """
write(message(PASSED))
""",
        "Bytes are left over, so it is no answer.",
        frozenset({CRASHED}),
    ),
    forged(
        "half-a-message",
        "Sends half a message, and sleeps with the pipe open.",
        """
write(message(PASSED)[:40])
time.sleep(60)
""",
        "The time limit ends it.",
        frozenset({TIMEOUT}),
        seconds=2,
    ),
    forged(
        "endless-messages",
        "Sends one valid message after the other, without end.",
        """
while True:
    write(message(PASSED) * 10_000)
""",
        "The size limit ends it.",
        frozenset({WRONG, TIMEOUT, BLOCKED}),
        seconds=6,
    ),
    forged(
        "broken-characters",
        "Answers and fails with halves of characters, which UTF-8 cannot hold.",
        r"""
lone = '"\\ud800\\udfff\\udc80"'
answer(message('{"dict": [["error", {"dict": [["type", %s], ["message", %s], ["name", %s], ["kinds", [%s]], '
               '["frames", [[%s, 1, %s, %s]]]]}]]}' % ((lone,) * 7)))
""",
        "They are replaced, and the report can be written.",
        frozenset({EXCEPTION, CRASHED}),
    ),
    forged(
        "colliding-keys",
        "Answers with thousands of different tuples as keys, all with the same hash, to keep the "
        "judge busy.",
        """
P1, P2, P5, M = 11400714785074694791, 14029467366897019727, 2870177450012600261, 1 << 64
INVERSE = pow(P2, -1, M)
def collides(first, wanted=1 << 40):
    # Python's hash of a tuple (xxHash): choose the second number so that both together give one fixed state.
    state = (P5 + first * P2) % M
    state = ((state << 31) | (state >> 33)) % M * P1 % M
    second = (wanted - state) * INVERSE % M
    return second if second < (1 << 61) - 1 else None
pairs, first = [], 0
while len(pairs) < 40_000:
    first += 1
    if (second := collides(first)) is not None:
        pairs.append([{"tuple": [first, second]}, 0])
answer(message(value({"dict": pairs})))
""",
        "The judge refuses keys that no probe uses, at once.",
        seconds=4,
    ),
    forged(
        "blame-the-grader",
        "Fails with an error that is called what the grader calls its own faults.",
        """
class ProcessError(RuntimeError):
    pass
class GRADER_ERROR(ProcessError, AssertionError):
    pass
GRADER_ERROR.__module__ = ProcessError.__module__ = "autograder.process"
raise GRADER_ERROR("grader error: The grader failed here, not your code. Please tell the staff.")
""",
        "It is an exception of the student's.",
        frozenset({EXCEPTION}),
    ),
]
