"""The engine, on a toy course: each way to fail gets its verdict, whatever runs next is unharmed,
and nothing leaks.
"""

import multiprocessing
import os
import secrets
from unittest import mock

import pytest
from toy_course import MANIFEST, RIGHT, TOY, WRONG, answers, grade_toy, outcome_of

from autograder import SameProcess, StudentProcess, Submission, Verdict, grade
from autograder.inside import wire
from autograder.manifest import ManifestError, read_manifest
from autograder.trial import choose
from helpers import is_running, wait_until


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """One student's process for all tests: each also shows that those before did no harm."""
    with StudentProcess(choose(), ("torch",), (tmp_path_factory.getbasetemp(),)) as process:
        yield process


FIVE_LONGS = "answer(x) should be an int64 tensor of shape (5,); "
HIDES_THE_TIME = answers(
    "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "while True:",
    "    if os.fork() == 0:",
    "        while time.process_time() < 0.5: pass",
    "        os._exit(0)",
    "    try: os.wait()",
    "    except ChildProcessError: pass",
    before="import os, signal, time",
)
ORPHANS = """import subprocess
subprocess.run(['sh', '-c', 'for i in $(seq 100); do (true &); done; sleep 0.3'])
"""
THREADS = """import torch
torch.set_num_threads(96)
torch.set_num_interop_threads(96)
torch.ones(800, 800) @ torch.ones(800, 800)
"""
SOMEWHERE = "def answer(x): deep()\ndef deep():\n    while True: pass\n"
DEAF = "import signal\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\nwhile True: pass\n"
HANGS = """within 2 seconds, the limit of 9a-0-basic in total.
What was running: call. Its inputs: argument = int64 of shape (5,)."""
KEY_ERROR = """toy.py, line 2: KeyError: 'key'
  toy.py, line 2, in answer
    return {}['key']"""
DEEP = "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n"
NEVER_SHOWN = "class E(Exception):\n    def __str__(self):\n        while True: pass"
NOT_SHOWN = "class E(Exception):\n    def __str__(self): raise ValueError"
TORCH = "import torch\n"
BAD_NAME = "A = type('A', (), {})\nA.__qualname__ = '\\ud800'\n"

# The verdict (None: any but a grader error) -> what a submission does, and a part of the message.
BEHAVIORS = {
    Verdict.PASSED: {
        "right": (RIGHT, ""),
        "threads": (THREADS + RIGHT, ""),
        "many orphans": (ORPHANS + RIGHT, ""),
        "chatty": ("print('x' * 3_000_000)\n" + RIGHT, ""),
    },
    Verdict.NOT_IMPLEMENTED: {
        "stub": (answers("raise NotImplementedError('9a: answer')"), "toy.py:2  answer"),
        "none": (answers("pass"), "answer(x) is None"),
        "no function": ("def other(x):\n    return x\n", "does not define answer"),
    },
    Verdict.EXCEPTION: {
        "exception": (answers("return {}['key']"), KEY_ERROR),
        "syntax error": ("def answer(x:\n", "toy.py, line 1: SyntaxError"),
        "wrong signature": ("def answer(): pass", "TypeError: answer() takes 0 positional arg"),
        "no such module": ("import pandas_of_the_sea", "there is no module 'pandas_of_the_sea' h"),
        "exit": (answers("exit(0)"), "called exit(0)"),
        "exit at import": ("import sys\nsys.exit()\n", "called exit()"),
        "breakpoint": (answers("breakpoint()"), "has no terminal. It has one with --debug"),
        "no GPU": (TORCH + "torch.ones(5).cuda()", "toy.py, line 2: grading has no GPU: "),
        "not to be shown": (answers("raise E", before=NOT_SHOWN), "cannot be shown"),
        "deep recursion": (answers("return answer(x)"), "RecursionError"),
        "interrupt": (answers("raise KeyboardInterrupt"), "KeyboardInterrupt"),
    },
    Verdict.CRASHED: {
        "os._exit": (answers("__import__('os')._exit(0)"), "exit code 0"),
        "segmentation fault": ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
        "closes everything": ("import os\nos.closerange(0, 1000)\n" + RIGHT, ""),
        "error with infinity": (answers("raise SyntaxError('x', ('f', float('inf'), 0, 't'))"), ""),
        "patched json": ("import json\njson.dumps = lambda *a, **k: '{'\n" + RIGHT, "interfered"),
    },
    Verdict.TIMEOUT: {
        "hang": (answers("while True: pass"), HANGS),
        "hang, somewhere": (SOMEWHERE, "\nWhere it was: toy.py, line 3, in deep.\n"),
        "hang, told": (answers("raise E", before=NEVER_SHOWN), "within 2 seconds"),
        "hang, deaf": (DEAF, "Importing toy.py does not finish."),
        "hides the time of its children": (HIDES_THE_TIME, "within 2 seconds"),
    },
    Verdict.OUT_OF_MEMORY: {
        "memory": (answers("return [bytearray(1 << 20) for _ in range(1000)]"), "300 MiB"),
        "memory in torch": (TORCH + "torch.ones(1 << 28)", "300 MiB"),
    },
    Verdict.WRONG_ANSWER: {
        "wrong": (WRONG, "answer(x) is not 2 x."),
        "float": (RIGHT.replace("2 *", "2.0 *"), FIVE_LONGS + "it is a float32 tensor of shape (5"),
        "array": (answers("return 2 * x"), "it is an int64 NumPy array"),
        "device": (answers("return torch.ones(5, device='meta')", before=TORCH), "on device meta"),
        "list": (answers("return (2 * x).tolist()"), "it is a list of 5"),
        "other length": (RIGHT.replace("(x)\n", "(x)[1:]\n"), "shape (4,)"),
        "large integer": (answers("return 10 ** 400"), "a very large integer"),
        "object": (answers("return object()"), "of type builtins.object"),
        "large": (answers("return torch.ones(1).expand(1 << 29)", before=TORCH), "than 64 MiB"),
        "nested": (answers("y = []", "for _ in range(500): y = [y]", "return y"), "list"),
        "bad name": (BAD_NAME + answers("return A()"), "toy."),
        "chatty and wrong": ("print('a' * 3_000_000 + 'the end')\n" + WRONG, "the end"),
    },
    None: {
        "killed its parent": ("import os\nos.kill(os.getppid(), 9)\nos._exit(0)", ""),
        "long list": (answers("return [[]] * 3_000_000"), ""),
        # on a slow disk they are seen while it still runs, and count as too many files
        "deep folders": (DEEP + RIGHT, ""),
    },
}
CASES = {name: (verdict, *row) for verdict, rows in BEHAVIORS.items() for name, row in rows.items()}


@pytest.mark.parametrize("name", CASES)
def test_each_way_to_end_has_its_verdict(process, tmp_path, monkeypatch, name):
    monkeypatch.setattr("autograder.allowance.CLOCK", 50)  # however busy the machine is
    verdict, source, message = CASES[name]
    outcome = outcome_of(process, tmp_path, source)
    assert outcome.verdict not in (None, Verdict.GRADER_ERROR), outcome.details
    assert verdict in (None, outcome.verdict), outcome.details
    assert message in outcome.message
    assert "Likely cause" in message or "Likely cause" not in outcome.message
    assert outcome.score == (1 if outcome.verdict is Verdict.PASSED else 0)
    # Whatever it was: the next check starts clean.
    assert outcome_of(process, tmp_path, RIGHT).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("file", "statement", "message"),
    [
        ("main", "from data import SIZE", "write `from .data import ...`."),
        ("main", "import data", "write `from . import data`."),
        ("main", "from src.toy.data import SIZE", "write `from .data import ...`."),
        ("main", "from src.toy import data", "write `from . import ...`."),
        ("main", "from ..data import SIZE", "write `from .data import ...`."),
        ("main", "from part.inner import SIZE", "write `from .part.inner import ...`."),
        ("part.inner", "from data import SIZE", "write `from ..data import ...`."),
        ("part.inner", "from .data import SIZE", "write `from ..data import ...`."),
        ("main", "from far_away.data import SIZE", "there is no module 'far_away' here."),
        ("main", "from .lost import SIZE", "lost.py is missing."),
        ("main", "from .part.other import SIZE", "part/other.py does not define SIZE."),
        ("main", "from .part import lost", "part/lost.py is missing."),
        ("main", "from .part import odd", "part/odd.py is in UTF-16."),
        ("main", "from .part.circle import SIZE", "ImportError: cannot import name 'answer' from"),
        ("main", "from toy.data import SIZE", None),
    ],
)
def test_an_import_of_ones_own_file_is_put_right(tmp_path, process, file, statement, message):
    code = f"{statement}\n{RIGHT}"
    files = {"__init__": f"from .{file} import answer\n", "data": "SIZE = 2\n", "main": code}
    files |= {"part.inner": code, "part.other": "", "part.circle": "from ..main import answer\n"}
    (tmp_path / "toy" / "part").mkdir(parents=True)
    for name, text in files.items():
        path = tmp_path / "toy" / f"{name.replace('.', '/')}.py"
        path.write_text(text, encoding="utf-8")
    odd = {"part/odd.py": "part/odd.py is in UTF-16."}
    submission = Submission((tmp_path,), tmp_path / "toy", "toy", unusable=odd)
    checks = MANIFEST.select(["9a-0-basic"])
    outcomes = grade(MANIFEST, checks, [TOY / "checks"], process, submission, 1).outcomes
    assert (message or "") in outcomes["9a-0-basic"].message
    assert (outcomes["9a-0-basic"].verdict is Verdict.PASSED) == (message is None)


def test_an_interrupted_call_leaves_no_reply_behind(process, tmp_path, monkeypatch):
    """Ctrl-C while the student's process works: nobody gets this answer later."""
    process.start()
    interrupt = mock.Mock(side_effect=KeyboardInterrupt)
    with monkeypatch.context() as patch:
        patch.setattr("autograder.process.wire.read_frame", interrupt)
        with pytest.raises(KeyboardInterrupt):
            outcome_of(process, tmp_path, answers("return 5"))
    assert outcome_of(process, tmp_path, RIGHT).verdict is Verdict.PASSED


def test_what_breaks_a_limit_at_once_is_ended(process, tmp_path):
    """Even before the fork has done anything."""
    request = {"source": "def work():\n    while True: pass", "name": "work", "inputs": {}}
    request |= {"path": [], "root": str(tmp_path), "seed": 1}
    for _ in range(20):
        reply = process.call(request, 0, 10, 1000)
        assert reply.ended == "timeout", reply
    assert outcome_of(process, tmp_path, RIGHT).verdict is Verdict.PASSED


def test_ctrl_c_ends_a_grading_although_a_check_file_is_broken(process, tmp_path):
    check = "from autograder import check\n@check('9b-3-basic')\n"
    check += "def interrupted(student): raise KeyboardInterrupt"
    (tmp_path / "q9.py").write_text(check, encoding="utf-8")
    (tmp_path / "q8.py").write_text("# 9b-3-basic\n1 / 0", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        grade_toy(process, tmp_path, RIGHT, "9b-3", checks=[tmp_path])


def test_the_students_process_ends_with_the_judge(tmp_path, monkeypatch):
    """Killed in the midst of a check, the judge leaves no process running."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = tmp_path / "pid"
    source = f"import os, time\nopen({str(file)!r}, 'w').write(f'{{os.getpid()}} ')\ntime.sleep(60)"
    material = StudentProcess(choose("limits")), tmp_path, source
    judge = multiprocessing.get_context("fork").Process(target=outcome_of, args=material)
    judge.start()
    wait_until(lambda: file.exists() and " " in file.read_text(encoding="utf-8"))
    judge.kill()
    judge.join()
    wait_until(lambda: not is_running(int(file.read_text(encoding="utf-8"))))


ENDINGS = ["exception", "exit", "os._exit", "hang", "right"]


@pytest.mark.parametrize(
    "names", [["chatty and wrong", "right"], pytest.param(ENDINGS, marks=pytest.mark.full)]
)
def test_without_fork(tmp_path, names, monkeypatch):
    # the judge's own limit is the only one there
    monkeypatch.setattr("autograder.process.GRACE_SECONDS", 1)
    with StudentProcess(choose("limits"), ("torch",), fork=False) as fresh:
        for verdict, source, _ in map(CASES.get, names):
            outcome = outcome_of(fresh, tmp_path, source)
            assert outcome.verdict is verdict, outcome.details


def test_debugging_in_the_same_process(tmp_path, capfd):
    source = "import os\nprint('process', os.getpid())\n" + RIGHT
    assert outcome_of(SameProcess(), tmp_path, source).score == 1
    assert f"process {os.getpid()}" in capfd.readouterr().out
    # imported anew
    assert outcome_of(SameProcess(), tmp_path, WRONG).score == 0


def test_the_score_is_computed_over_the_manifest(process, tmp_path):
    """Basic checks run before hidden ones: students read their messages, so nothing that a hidden
    one has left may get there.
    """
    ran = []
    report = grade_toy(process, tmp_path, RIGHT, finished=lambda outcome: ran.append(outcome.id))
    assert [id.endswith("hidden") for id in ran] == [False] * (len(ran) - 1) + [True]
    outcomes = report.outcomes
    assert list(outcomes) == list(MANIFEST.checks)
    for id, details in (("9b-2", ""), ("9b-3", "did not run"), ("9b-5", "Several functions")):
        assert outcomes[f"{id}-basic"].verdict is Verdict.GRADER_ERROR
        assert details in outcomes[f"{id}-basic"].details
    assert outcomes["9b-0-basic"].score == 3 and outcomes["9b-1-basic"].score == 0
    assert outcomes["9b-4-basic"].hints == ["nice"]
    # kept although the check says something else in the end
    assert outcomes["9b-1-basic"].compared["got"] == [["1", "2.5"]]
    assert (report.score, report.max_score, report.passed) == (1 + 3 + 1, 12, False)


def test_hidden_checks_keep_their_secrets(process, tmp_path):
    outcome = grade_toy(process, tmp_path, RIGHT, "9a").outcomes["9a-1-hidden"]
    assert outcome.message == "Hidden check: twice, in secret." and "4711" in outcome.details
    assert "4711" not in str({**vars(outcome), "details": ""})
    absent = grade_toy(process, tmp_path, RIGHT, "9a", hidden=False)
    assert absent.outcomes["9a-1-hidden"].verdict is None
    assert (absent.score, absent.max_score, absent.max_score_here, absent.passed) == (1, 3, 1, True)


def test_basic_checks_do_not_learn_which_import_hung_in_a_hidden_one(
    process, tmp_path, monkeypatch
):
    """The submission could choose that by hidden inputs, and basic checks' messages are read."""
    source = "def answer(x):\n    exec(compile('while True: pass', __file__, 'exec'))\n" * 2
    told, call = [], process.call

    def record(request, *limits):
        told.append(request["endless"])
        return call(request, *limits)

    monkeypatch.setattr(process, "call", record)
    report = grade_toy(process, tmp_path, source, "9a-1-hidden", "9b-0-basic")
    assert "Importing toy.py does not finish" in report.outcomes["9a-1-hidden"].details
    assert told and not any(told)


def test_a_check_file_with_an_error_costs_nobody_points(process, tmp_path):
    ours = (TOY / "checks" / "q9.py").read_text(encoding="utf-8")
    folder = tmp_path / "checks"
    folder.mkdir()
    (folder / "q8.py").write_text("# 9b-3-basic\ndef broken(:\n", encoding="utf-8")

    def graded(text):
        (folder / "q9.py").write_text(text, encoding="utf-8")
        return grade_toy(process, tmp_path, RIGHT, "9a-0", "9b-3", checks=[folder]).outcomes

    # a second grading must not find the half that Python keeps of what it has imported
    for text in 2 * [ours + "raise RuntimeError('at import')"] + [ours]:
        first, last = graded(text).values()
        assert last.verdict is Verdict.GRADER_ERROR and "q8.py" in last.details
        assert first.verdict is (Verdict.PASSED if text == ours else Verdict.GRADER_ERROR)
        assert text == ours or "q9.py" in first.details


def test_a_seed_repeats_inputs_and_every_librarys_random_numbers(process, tmp_path):
    draws = "x.tolist(), random.random(), numpy.random.rand(), torch.rand(()).item()"
    raised = f"raise ValueError(*map('|{{}}|'.format, [{draws}]))"
    source = answers(raised, before="import random, numpy, torch")

    def drawn(seed):
        message = outcome_of(process, tmp_path, source, seed=seed).message
        return message.split("\n")[0].split("|")[1::2]

    first, other = drawn(5), drawn(6)
    assert first == drawn(5) and len(first) == len(other) == 4
    assert all(one != two for one, two in zip(first, other))


def test_the_student_sees_neither_seed_nor_environment(process, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter" + "2")
    source = """
import gc, os, sys
def answer(x):
    secret = "hunter" + "2" in repr(dict(os.environ))
    values = [v for o in gc.get_objects() if isinstance(o, dict) for v in o.values()]
    seed = any(type(v) is int and v == 987654000 + 321 for v in values)
    modules = [name for name in ("pytest", "autograder", "toy") if name in sys.modules]
    raise ValueError(f"seen: {secret}, {seed}, {modules}, {sys.argv[1:]}")
"""
    message = outcome_of(process, tmp_path, source, seed=987654321).message
    assert "ValueError: seen: False, False, ['toy'], []" in message


SCAN = """
def find(first, second):
    first, second, found = first.encode(), second.encode(), 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb") as memory:
        for line in maps:
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            if line.split()[1].startswith("rw") and "[v" not in line:
                for at in range(begin, end, 1 << 24):
                    memory.seek(at)
                    try:
                        block = memory.read(min(1 << 24, end - at))
                    except OSError:
                        continue
                    found += sum(part.startswith(second) for part in block.split(first)[1:])
    return found
"""


def test_nothing_of_an_earlier_request_is_in_memory(process, tmp_path):
    """Inputs and probes of a hidden check are not there for a basic one, whose messages a student
    reads.
    """
    first, second = secrets.token_hex(12), secrets.token_hex(12)
    request = {"path": [], "root": str(tmp_path), "seed": 1, "name": "find"}

    def found(source, **inputs):
        reply = process.call({**request, "source": source, "inputs": inputs}, 60, 300, 1000)
        assert reply.ended == "answered", reply
        return wire.decode(reply.message)["value"]

    # a scan finds what is there
    assert found(SCAN + f"#{first}{second}", first=first, second=second) > 0
    for size in (10, 20_000, 90_000, 5_000_000):
        found("def find(text):\n    return 0", text="x" * size + first + second)
    assert found(SCAN, first=first, second=second) == 0


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("points = 3 }", "points = 4 }", "9a has 4 points, but its checks have 3"),
        ('id = "9a-0-basic"', 'id = "9a-1-hidden"', "9a-1-hidden appears twice"),
        ('id = "9a-0-basic"', 'id = "9c-0-basic"', "with a known QUESTION"),
        ('id = "9a-0-basic"', 'id = "9a-0-open"', "one of basic, hidden, written"),
        ("partial = true", "parital = true", "unknown field parital"),
        ('title = "hint and context"\n', "", "lacks title"),
        ("partial = true", 'kind = "hidden"', "unknown field kind"),
        (
            'title = "hint and context"\n',
            'title = "hint and context"\nstep = 1\n',
            "step 1 is not one of .* 0",
        ),
        ("points = 3 }", 'points = 3, steps = ["one"] }', "step 0 is not one of .* 1 steps"),
        ("[questions]", "[questions", "manifest.toml"),
    ],
)
def test_manifests_that_contradict_themselves_are_refused(tmp_path, old, new, problem):
    path = tmp_path / "manifest.toml"
    text = (TOY / "manifest.toml").read_text(encoding="utf-8").replace(old, new)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ManifestError, match=problem):
        read_manifest(path)
