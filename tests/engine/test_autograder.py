"""The engine, on a toy course: each way to fail gets its verdict, whatever runs next is unharmed,
and nothing leaks.
"""

import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder import (
    ManifestError,
    SameProcess,
    StudentProcess,
    Submission,
    Verdict,
    grade,
    read_manifest,
)
from autograder.inside import wire
from autograder.isolation import choose
from autograder.report import to_json

TOY = Path(__file__).parent / "toy"
MANIFEST = read_manifest(TOY / "manifest.toml")


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """One student's process for all tests here: so each also shows that the ones before it did no
    harm.
    """
    with StudentProcess(choose(), ("torch",), (tmp_path_factory.getbasetemp(),)) as process:
        yield process


@pytest.fixture
def grade_code(tmp_path, process):
    """A function that grades a toy.py: (source, *ids, seed, process, hidden) -> Report."""

    def run(source, *names, seed=1, process=process, hidden=True):
        (tmp_path / "toy.py").write_text(source, encoding="utf-8")
        return grade(
            MANIFEST,
            MANIFEST.select(list(names)),
            [TOY / "checks"],
            process,
            Submission((tmp_path,), tmp_path, "toy"),
            seed,
            "the context",
            hidden,
        )

    return run


RIGHT = "def answer(x):\n    return 2 * __import__('torch').from_numpy(x)\n"

# What a submission does, the verdict, and a part of the message.
BEHAVIORS = {
    "right": (RIGHT, Verdict.PASSED, ""),
    "wrong": (RIGHT.replace("2 *", "3 *"), Verdict.WRONG_ANSWER, "answer(x) is not 2 x."),
    "stub": (
        "def answer(x):\n    raise NotImplementedError('9a: answer')\n",
        Verdict.NOT_IMPLEMENTED,
        "toy.py:2  answer",
    ),
    "none": ("def answer(x):\n    pass\n", Verdict.NOT_IMPLEMENTED, "answer(x) is None"),
    "no function": (
        "def other(x):\n    return x\n",
        Verdict.NOT_IMPLEMENTED,
        "does not define answer",
    ),
    "exception": (
        "def answer(x):\n    return {}['key']\n",
        Verdict.EXCEPTION,
        "toy.py, line 2: KeyError: 'key'\n  toy.py, line 2, in answer\n    return {}['key']",
    ),
    "syntax error": (
        "def answer(x:\n    return x\n",
        Verdict.EXCEPTION,
        "toy.py, line 1: SyntaxError",
    ),
    "wrong signature": (
        "def answer():\n    return 1\n",
        Verdict.EXCEPTION,
        "TypeError: answer() takes 0 positional arguments but 1 was given",
    ),
    "no such module": (
        "import pandas_of_the_sea\n",
        Verdict.EXCEPTION,
        "toy.py, line 1: there is no module 'pandas_of_the_sea' here",
    ),
    "exit": ("def answer(x):\n    exit(0)\n", Verdict.EXCEPTION, "called exit(0)"),
    "exit at import": ("import sys\nsys.exit()\n", Verdict.EXCEPTION, "called exit()"),
    "os._exit": ("import os\ndef answer(x):\n    os._exit(0)\n", Verdict.CRASHED, "exit code 0"),
    "segmentation fault": (
        "import ctypes\ndef answer(x):\n    ctypes.string_at(0)\n",
        Verdict.CRASHED,
        "SIGSEGV",
    ),
    "killed": (
        "import os\ndef answer(x):\n    os.kill(os.getpid(), 9)\n",
        Verdict.CRASHED,
        "SIGKILL",
    ),
    "killed its parent": (
        "import os\ndef answer(x):\n    os.kill(os.getppid(), 9)\n    os._exit(0)\n",
        None,
        "",
    ),
    "hang": (
        "def answer(x):\n    while True: pass\n",
        Verdict.TIMEOUT,
        "within 2 seconds, the limit of 9a-0-basic in total.\n"
        "What was running: call. Its inputs: argument = int64 of shape (5,).",
    ),
    "hang, deaf": (
        "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)\n",
        Verdict.TIMEOUT,
        "Importing toy.py does not finish.",
    ),
    "memory": (
        "def answer(x):\n    return [bytearray(1 << 20) for _ in range(1000)]\n",
        Verdict.OUT_OF_MEMORY,
        "300 MiB",
    ),
    "memory in torch": (
        "import torch\ndef answer(x):\n    return torch.ones(1 << 28)\n",
        Verdict.OUT_OF_MEMORY,
        "300 MiB",
    ),
    "NaN": (
        "import torch\ndef answer(x):\n    return (torch.from_numpy(x) * "
        "float('nan')).long() * 0\n",
        Verdict.WRONG_ANSWER,
        "not 2 x",
    ),
    "float": (
        RIGHT.replace("2 *", "2.0 *"),
        Verdict.WRONG_ANSWER,
        "answer(x) should be an int64 tensor of shape (5,); it is a float32 tensor of shape (5,)",
    ),
    "array": (
        "def answer(x):\n    return 2 * x\n",
        Verdict.WRONG_ANSWER,
        "it is a int64 NumPy array",
    ),
    "other device": (
        "import torch\ndef answer(x):\n    return torch.ones(5, dtype=torch.long, device='meta')\n",
        Verdict.WRONG_ANSWER,
        "on device meta",
    ),
    "list": (
        "def answer(x):\n    return (2 * x).tolist()\n",
        Verdict.WRONG_ANSWER,
        "it is a list of 5",
    ),
    "object": (
        "def answer(x):\n    return object()\n",
        Verdict.WRONG_ANSWER,
        "an object of type builtins.object",
    ),
    "other length": (RIGHT.replace("(x)\n", "(x)[1:]\n"), Verdict.WRONG_ANSWER, "shape (4,)"),
    "too large": (
        "import torch\ndef answer(x):\n    return torch.ones(1).expand(1 << 29)\n",
        Verdict.WRONG_ANSWER,
        "larger than 64 MiB",
    ),
    "threads": (
        "import os\nos.environ['OMP_NUM_THREADS'] = '96'\n"
        "import torch\ntorch.set_num_threads(96)\ntorch.set_num_interop_threads(96)\n"
        "torch.ones(800, 800) @ torch.ones(800, 800)\n" + RIGHT,
        Verdict.PASSED,
        "",
    ),
    "default dtype": (
        "import torch\ntorch.set_default_dtype(torch.float64)\n"
        "def answer(x):\n    return 2 * torch.tensor(x.tolist()) * torch.ones(())\n",
        Verdict.WRONG_ANSWER,
        "it is a float64 tensor of shape (5,).\n"
        "Likely cause: toy.py, line 2: torch.set_default_dtype(torch.float64) changes",
    ),
    "default tensor type": (
        "import torch\ntorch.set_default_tensor_type(torch.DoubleTensor)\n"
        "def answer(x):\n    return torch.ones(5)\n",
        Verdict.WRONG_ANSWER,
        "\nLikely cause: toy.py, line 2: torch.set_default_tensor_type(torch.DoubleTensor) changes",
    ),
    "default device": (
        "import torch\ntorch.set_default_device('cuda')\n"
        "def answer(x):\n    return torch.ones(5)\n",
        Verdict.EXCEPTION,
        "\nLikely cause: toy.py, line 2: torch.set_default_device('cuda') puts every new tensor on "
        "that device, and grading has no GPU.",
    ),
    "no gradients": (
        "import torch\ndef answer(x):\n    with torch.set_grad_enabled(False): pass\n"
        "    torch.set_grad_enabled(False)\n    torch.ones(1, requires_grad=True).exp().backward()\n",
        Verdict.EXCEPTION,
        "\nLikely cause: toy.py, line 4: torch.set_grad_enabled(False) turns",
    ),
    "default dtype under another name": (
        "import torch\nset_dtype = torch.set_default_dtype\nset_dtype(torch.float64)\n"
        "def answer(x):\n    return torch.ones(5)\n",
        Verdict.WRONG_ANSWER,
        "\nLikely cause: torch.set_default_dtype changes",
    ),
    "default dtype, and another fault": (
        "import torch\ntorch.set_default_dtype(torch.float64)\n"
        "def answer(x):\n    return torch.from_numpy(x)[1:]\n",
        Verdict.WRONG_ANSWER,
        "",
    ),
    "no GPU": (
        "import torch\nW = torch.ones(5).cuda()\n" + RIGHT,
        Verdict.EXCEPTION,
        "toy.py, line 2: grading has no GPU: ",
    ),
    "chatty": ("print('x' * 3_000_000)\n" + RIGHT, Verdict.PASSED, ""),
    "chatty and wrong": (
        "print('a' * 3_000_000 + 'the end')\n" + RIGHT.replace("2 *", "3 *"),
        Verdict.WRONG_ANSWER,
        "the end",
    ),
    "closes everything": ("import os\nos.closerange(0, 1000)\n" + RIGHT, Verdict.CRASHED, ""),
    "nonsense as an answer": (
        "import os\nfor fd in range(3, 30):\n    try: os.write(fd, b'nonsense')\n    except "
        "OSError: pass\n" + RIGHT,
        None,
        "",
    ),
    "leaves a process": (
        "import os, time\nif os.fork() == 0:\n    time.sleep(60)\n" + RIGHT,
        Verdict.PASSED,
        "",
    ),
    "exception that cannot be shown": (
        "class E(Exception):\n    def __str__(self): raise ValueError\ndef answer(x):\n"
        "    raise E()\n",
        Verdict.EXCEPTION,
        "cannot be shown",
    ),
    "deep recursion": (
        "def answer(x):\n    return answer(x)\n",
        Verdict.EXCEPTION,
        "RecursionError",
    ),
    "nested deeply": (
        "def answer(x):\n    y = []\n    for _ in range(500): y = [y]\n    return y\n",
        Verdict.WRONG_ANSWER,
        "list",
    ),
    "deep folders": (
        "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n" + RIGHT,
        None,  # on a slow disk they are seen while it still runs, and count as too many files
        "",
    ),
    "interrupt": (
        "def answer(x):\n    raise KeyboardInterrupt\n",
        Verdict.EXCEPTION,
        "KeyboardInterrupt",
    ),
    "loops at its end": (
        "import os, threading\nos.register_at_fork\ndef answer(x):\n    os.closerange(3, 100)\n"
        "    while True: pass\n",
        Verdict.TIMEOUT,
        "2 seconds",
    ),
    "bad name": (
        "A = type('A', (), {})\nA.__qualname__ = '\\ud800'\ndef answer(x):\n    return A()\n",
        Verdict.WRONG_ANSWER,
        "toy.",
    ),
    "error with infinity": (
        "def answer(x):\n    raise SyntaxError('x', ('f', float('inf'), 0, 't'))\n",
        Verdict.CRASHED,
        "",
    ),
    "long list": ("def answer(x):\n    return [[]] * 3_000_000\n", None, ""),
    "other dtype than it says": (
        "import torch\nclass T(torch.Tensor):\n    dtype = 'torch.int64'\n"
        "def answer(x):\n    return (2.0 * torch.from_numpy(x)).as_subclass(T)\n",
        None,
        "",
    ),
    "large integer": (
        "def answer(x):\n    return 10 ** 400\n",
        Verdict.WRONG_ANSWER,
        "a very large integer",
    ),
    "patched json": (
        "import json\njson.dumps = lambda *a, **k: '{'\n" + RIGHT,
        Verdict.CRASHED,
        "interfered",
    ),
}


@pytest.mark.parametrize("name", BEHAVIORS)
def test_each_way_to_end_has_its_verdict(grade_code, name):
    source, verdict, message = BEHAVIORS[name]
    started = time.monotonic()
    outcome = grade_code(source, "9a-0-basic").outcomes["9a-0-basic"]
    assert time.monotonic() - started < 30  # no limit was overstepped by much
    assert outcome.verdict not in (None, Verdict.GRADER_ERROR), outcome.details
    if verdict is not None:
        assert outcome.verdict is verdict, outcome.details
    assert message in outcome.message
    assert "Likely cause" in message or "Likely cause" not in outcome.message
    assert outcome.score == (1 if outcome.verdict is Verdict.PASSED else 0)
    # Whatever it was: the next check starts clean.
    assert grade_code(RIGHT, "9a-0-basic").outcomes["9a-0-basic"].verdict is Verdict.PASSED


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


def test_what_looks_like_a_tensor_of_another_dtype_gets_no_points(grade_code):
    source, *_ = BEHAVIORS["other dtype than it says"]
    assert grade_code(source, "9a-0-basic").score == 0


def test_the_submission_cannot_reach_the_judges_channel(grade_code):
    source = (
        "import os\nopen_ones = []\nfor fd in range(3, 4096):\n    try:\n        os.fstat(fd)\n"
        "        open_ones.append(fd)\n    except OSError:\n        pass\ndef answer(x):\n"
        "    raise ValueError(f'{len(open_ones)} open')\n"
    )
    # its own answer's
    assert "ValueError: 1 open" in grade_code(source, "9a-0-basic").outcomes["9a-0-basic"].message


def test_an_interrupted_call_leaves_no_reply_behind(grade_code, process, monkeypatch):
    """Ctrl-C while the student's process works: nobody gets this answer later."""

    def interrupt(seconds):
        raise KeyboardInterrupt

    process.start()
    with monkeypatch.context() as patch:
        patch.setattr(process, "_next_frame", interrupt)
        with pytest.raises(KeyboardInterrupt):
            grade_code("def answer(x):\n    return 5\n", "9a-0-basic")
    assert grade_code(RIGHT, "9a-0-basic").passed


def test_the_students_process_ends_with_the_judge(tmp_path):
    """Killed or interrupted in the midst of a check, the judge leaves no process running."""
    (tmp_path / "toy.py").write_text(
        "import os, time\nopen(os.environ['TMPDIR'] + '/../../pid', 'w').write(str(os.getpid()))\n"
        "time.sleep(60)\n",
        encoding="utf-8",
    )
    script = tmp_path / "judge.py"
    script.write_text(
        f"""
import sys, tempfile
sys.path[:0] = [{str(TOY.parents[2] / "src")!r}]
from pathlib import Path
from autograder import StudentProcess, Submission, grade, read_manifest
from autograder.isolation import choose
folder = Path({str(tmp_path)!r})
tempfile.tempdir = str(folder / "home")
manifest = read_manifest(Path({str(TOY / "manifest.toml")!r}))
with StudentProcess(choose("limits")) as process:
    grade(manifest, manifest.select(["9a-0-basic"]), [Path({str(TOY / "checks")!r})], process, Submission((folder,), folder, "toy"), 1)
""",
        encoding="utf-8",
    )
    (tmp_path / "home").mkdir()
    judge = subprocess.Popen([sys.executable, str(script)])
    deadline = time.monotonic() + 20
    while (
        not list((tmp_path / "home").glob("*/pid"))
        and not (tmp_path / "home" / "pid").exists()
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    found = [*(tmp_path / "home").glob("*/pid"), *(tmp_path / "home").glob("pid")]
    assert found, "the submission did not start"
    pid = int(found[0].read_text(encoding="utf-8"))
    judge.kill()
    judge.wait()
    while time.monotonic() < deadline and Path(f"/proc/{pid}").exists():
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    "name",
    [
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in ("right", "wrong", "exception", "exit", "os._exit", "hang")
        ),
        "chatty and wrong",
    ],
)
def test_without_fork(grade_code, name, monkeypatch):
    # the judge's own limit is the only one there
    monkeypatch.setattr("autograder.process.GRACE_SECONDS", 1)
    source, verdict, message = BEHAVIORS[name]
    with StudentProcess(choose("limits"), ("torch",), fork=False) as fresh:
        outcome = grade_code(source, "9a-0-basic", process=fresh).outcomes["9a-0-basic"]
        assert outcome.verdict is verdict, outcome.details
        assert grade_code(RIGHT, "9a-0-basic", process=fresh).passed


def test_debugging_in_the_same_process(grade_code, capfd):
    source = "import os\nprint('process', os.getpid())\n" + RIGHT
    assert grade_code(source, "9a-0-basic", process=SameProcess()).passed
    assert f"process {os.getpid()}" in capfd.readouterr().out
    # imported anew
    assert not grade_code(RIGHT.replace("2 *", "3 *"), "9a-0-basic", process=SameProcess()).passed


def test_the_score_is_computed_over_the_manifest(grade_code):
    report = grade_code(RIGHT)
    verdicts = {id: outcome.verdict for id, outcome in report.outcomes.items()}
    assert list(verdicts) == list(MANIFEST.checks)
    assert (
        verdicts["9b-3-basic"]
        is verdicts["9b-5-basic"]
        is verdicts["9b-2-basic"]
        is Verdict.GRADER_ERROR
    )
    assert (
        "did not run" in report.outcomes["9b-3-basic"].details
        and "Several functions" in report.outcomes["9b-5-basic"].details
    )
    assert report.outcomes["9b-0-basic"].score == 3 and report.outcomes["9b-1-basic"].score == 0
    assert report.outcomes["9b-4-basic"].hints == ["nice"]
    # kept although the check says something else in the end
    assert report.outcomes["9b-1-basic"].compared["got"] == [["1", "2.5"]]
    assert (report.score, report.max_score, report.passed) == (1 + 3 + 1 + 1, 13, False)


def test_hidden_checks_keep_their_secrets(grade_code):
    report = grade_code(RIGHT, "9a")
    outcome = report.outcomes["9a-1-hidden"]
    assert outcome.message == "Hidden check: twice, in secret." and "4711" in outcome.details
    assert "4711" not in str({**vars(outcome), "details": ""})
    absent = grade_code(RIGHT, "9a", hidden=False)
    assert absent.outcomes["9a-1-hidden"].verdict is None
    assert (absent.score, absent.max_score, absent.max_score_here, absent.passed) == (1, 3, 1, True)


def test_a_check_file_that_cannot_be_read_costs_nobody_points(grade_code, tmp_path, process):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "q8.py").write_text("# 9b-3-basic\ndef broken(:\n", encoding="utf-8")
    (tmp_path / "toy.py").write_text(RIGHT, encoding="utf-8")
    report = grade(
        MANIFEST,
        MANIFEST.select(["9a", "9b-3-basic"]),
        [TOY / "checks", tmp_path / "more"],
        process,
        Submission((tmp_path,), tmp_path, "toy"),
        1,
        "the context",
        True,
    )
    assert report.outcomes["9b-3-basic"].verdict is Verdict.GRADER_ERROR
    assert "q8.py" in report.outcomes["9b-3-basic"].details


def test_a_check_file_that_breaks_off_is_never_taken_for_a_whole_one(tmp_path, process):
    """Python keeps what it has imported: a second grading in one process must not find the half of
    it.
    """
    checks = tmp_path / "checks"
    checks.mkdir()
    text = (TOY / "checks" / "q9.py").read_text(encoding="utf-8")
    (checks / "q9.py").write_text(text + "\nraise RuntimeError('at import')\n", encoding="utf-8")
    (tmp_path / "toy.py").write_text(RIGHT, encoding="utf-8")
    for _ in range(2):
        report = grade(
            MANIFEST,
            MANIFEST.select(["9a-0-basic"]),
            [checks],
            process,
            Submission((tmp_path,), tmp_path, "toy"),
            1,
            "the context",
        )
        assert (
            report.outcomes["9a-0-basic"].verdict is Verdict.GRADER_ERROR
            and "at import" in report.outcomes["9a-0-basic"].details
        )
    (checks / "q9.py").write_text(text, encoding="utf-8")
    report = grade(
        MANIFEST,
        MANIFEST.select(["9a-0-basic"]),
        [checks],
        process,
        Submission((tmp_path,), tmp_path, "toy"),
        1,
        "the context",
    )
    assert report.outcomes["9a-0-basic"].verdict is Verdict.PASSED


def test_a_seed_repeats_a_run(grade_code):
    source = "import random\ndef answer(x):\n    raise ValueError(f'{x} {random.random()}')\n"

    def message(seed):
        return grade_code(source, "9a-0-basic", seed=seed).outcomes["9a-0-basic"].message

    assert message(5) == message(5) != message(6)


@pytest.mark.parametrize(
    "draw", ["random.random()", "numpy.random.rand()", "torch.rand(()).item()"]
)
def test_a_seed_repeats_every_librarys_random_numbers(process, draw):
    source = f"def drawn():\n    import {draw.partition('.')[0]}\n    return {draw}"

    def run(seed):
        request = {"source": source, "name": "drawn", "inputs": {}, "root": "", "path": []}
        return wire.decode(process.call({**request, "seed": seed}, 60, 4000).message)["value"]

    assert run(5) == run(5) != run(6)


def test_the_student_sees_neither_seed_nor_environment(grade_code, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter" + "2")
    source = """
import gc, os, sys
def answer(x):
    seen = "hunter" + "2" in repr(dict(os.environ)), any(type(v) is int and v == 987654000 + 321 for o in gc.get_objects() if isinstance(o, dict) for v in o.values())
    raise ValueError(f"seen: {seen}, {[name for name in ('pytest', 'autograder', 'toy') if name in sys.modules]}, {sys.argv[1:]}")
"""
    message = grade_code(source, "9a-0-basic", seed=987654321).outcomes["9a-0-basic"].message
    assert "ValueError: seen: (False, False), ['toy'], []" in message


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
        reply = process.call({**request, "source": source, "inputs": inputs}, 60, 1000)
        assert reply.ended == "answered", reply
        return wire.decode(reply.message)["value"]

    # a scan finds what is there
    assert found(SCAN + f"#{first}{second}", first=first, second=second) > 0
    for size in (10, 20_000, 90_000, 5_000_000):
        found("def find(text):\n    return 0", text="x" * size + first + second)
    assert found(SCAN, first=first, second=second) == 0


def test_json(grade_code):
    content = json.loads(
        to_json(grade_code("print('\\x1b[2J')\n" + RIGHT.replace("2 *", "3 *"), "9a"))
    )
    assert (
        content["score"] == 0
        and content["max_score"] == 3
        and content["seed"] == 1
        and content["isolation"]
    )
    check = content["checks"][0]
    assert {
        "id",
        "question",
        "title",
        "score",
        "max_score",
        "verdict",
        "message",
        "seconds",
    } <= check.keys()
    assert (
        check["verdict"] == "wrong answer"
        and "\x1b" not in check["message"]
        and "\\x1b" in check["message"]
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("points = 3 }", "points = 4 }", "9a has 4 points, but its checks have 3"),
        ('id = "9a-0-basic"', 'id = "9a-1-hidden"', "9a-1-hidden appears twice"),
        ('id = "9a-0-basic"', 'id = "9c-0-basic"', "with a known QUESTION"),
        ('id = "9a-0-basic"', 'id = "9a-0-open"', "one of basic, hidden, written"),
        ("partial = true", "parital = true", "unknown field parital"),
        ('title = "a number"\n', "", "lacks title"),
        ('title = "a number"\n', 'title = "a number"\nstep = 1\n', "step 1 is not one of .* 0"),
        ("points = 3 }", 'points = 3, steps = ["one"] }', "step 0 is not one of .* 1 steps"),
        ("[questions]", "[questions", "manifest.toml"),
    ],
)
def test_manifests_that_contradict_themselves_are_refused(tmp_path, old, new, problem):
    path = tmp_path / "manifest.toml"
    path.write_text(
        (TOY / "manifest.toml").read_text(encoding="utf-8").replace(old, new), encoding="utf-8"
    )
    with pytest.raises(ManifestError, match=problem):
        read_manifest(path)
