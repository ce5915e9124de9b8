"""The students' commands where Windows differs from Linux, as far as Linux can play it: by
windows/sitecustomize.py, and by a locale whose encoding has no letters beyond ASCII.
"""

import contextlib
import json
import os
import pty
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from conftest import DATA, ROOT, SOLUTION
from jobs.targets import JOBS
from variants import Edit, Fill, make

WINDOWS = {"PYTHONPATH": str(Path(__file__).parent / "windows")}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
NAME, PLACE = "Zoë Šimůnková 张伟", "Łódź"
CALLS = "def head_dim(d_model: int, n_head: int) -> int:"


def run(environment, *command, **options):
    """Run a command with the project's Python; returns the finished process, output in bytes."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env={**kept, "OMP_NUM_THREADS": "1", **environment},
        **{"capture_output": True, "timeout": 400, **options},
    )


def copy_for(folder, seconds):
    """A student's copy, in which a check may take so many seconds."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "data", folder / "data")
    manifest = folder / "src" / "checks" / "manifest.toml"
    text, limit = manifest.read_text(encoding="utf-8"), "[defaults]\nseconds = "
    assert text.count(f"{limit}20\n") == 1
    manifest.write_text(text.replace(f"{limit}20\n", f"{limit}{seconds}\n"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A student's copy, in which a check may take six seconds."""
    return copy_for(tmp_path_factory.mktemp("copy"), 6)


def grade(environment, copy, code, *ids):
    """Grade code; returns the process, and the outcomes by id."""
    temporary = copy / "temporary"
    temporary.mkdir()
    result = copy / "result.json"
    command = [copy / "src" / "grader.py", *ids, "--submission", code, "--json", result]
    done = run({**environment, "TMPDIR": str(temporary)}, *command)
    assert not done.stderr, done.stderr
    assert not list(temporary.iterdir())
    temporary.rmdir()
    content = json.loads(result.read_text(encoding="utf-8"))
    assert content["isolation"] == "limits" or environment is not WINDOWS
    return done, {check["id"]: check for check in content["checks"]}


@pytest.mark.full
def test_right_code_passes(copy):
    ids = ("1h-2-basic", "1c-12-basic", "5d-1-basic", "6d-7-basic")
    done, found = grade(WINDOWS, copy, SOLUTION, *ids)
    assert done.returncode == 0 and [found[id]["verdict"] for id in ids] == ["passed"] * 4, found


@pytest.mark.full
def test_other_code_gets_its_verdicts(copy, tmp_path):
    code = make(
        (
            Fill("apply_rotary_emb", "print('Größe 張')\nreturn x"),
            Fill("attention", "while True:\n    pass"),
            Edit("accounting.py", CALLS, f"import os\n{CALLS}\n    os._exit(3)"),
        ),
        tmp_path / "code",
    )
    ids = ("1h-3-basic", "5c-0-basic", "6a-0-basic")
    done, found = grade(WINDOWS, copy, code, *ids)
    assert done.returncode == 1
    verdicts = [found[id]["verdict"] for id in ids]
    assert verdicts == ["wrong answer", "timeout", "crashed"], found
    assert "Größe 張" in found["1h-3-basic"]["details"]
    assert "exit code 3" in found["6a-0-basic"]["details"]


@pytest.mark.full
def test_a_save_ends_a_check_that_takes_forever(tmp_path):
    """There, nothing interrupts a wait."""
    src, code = copy_for(tmp_path, 10_000) / "src", make((), tmp_path / "code")
    file = code / "problem5" / "numpy_attention.py"
    right = file.read_text(encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, src / "grader.py", "5c-0", "--watch", "--submission", code],
        env={**os.environ, "OMP_NUM_THREADS": "1", **WINDOWS},
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    late = threading.Timer(150, process.kill)
    late.start()
    try:
        assert any(line.startswith("Watching") for line in process.stdout)
        file.write_text(right + "\nwhile True:\n    pass\n", encoding="utf-8")
        assert any("numpy_attention.py changed" in line for line in process.stdout)
        time.sleep(5)  # until it waits for an answer
        file.write_text(right + "\n", encoding="utf-8")
        assert any("Saved again before" in line for line in process.stdout)
        assert any("Nothing changed: 2 of 2" in line for line in process.stdout)
    finally:
        late.cancel()
        process.kill()
        process.communicate()


@pytest.mark.full
def test_jobs_at_the_same_time(tmp_path):
    """From a console, they give what they give elsewhere, one after the other; a refused one leaves
    nothing.
    """
    smoke = ("--preset", "smoke", "--submission", SOLUTION, "--out")
    command = (ROOT / "src" / "run.py", "all", *smoke)
    alone = run({}, *command, tmp_path / "alone", "--jobs", 1)
    assert alone.returncode == 0, alone.stderr
    terminal, console = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *map(str, (*command, tmp_path / "out", "--jobs", 2))],
        env={**os.environ, "OMP_NUM_THREADS": "1", **WINDOWS},
        stdout=console,
        stderr=console,
    )
    os.close(console)
    shown = b""
    with open(terminal, "rb", buffering=0) as screen, contextlib.suppress(OSError):  # all are gone
        while block := screen.read(4096):
            shown += block
    assert process.wait(60) == 0, shown.decode()
    for job in JOBS.values():
        one, other = tmp_path / "alone" / job.writes, tmp_path / "out" / job.writes
        if job.kind == "evaluate":
            assert one.read_bytes() == other.read_bytes()
        else:
            a, b = (torch.load(path, weights_only=True) for path in (one, other))
            assert all(torch.equal(a[name], b[name]) for name in a)
    refused = run(WINDOWS, *command, tmp_path / "none", "--jobs", 2, "--data", tmp_path)
    assert refused.returncode == 2 and b"Traceback" not in refused.stderr, refused.stderr
    assert not (tmp_path / "none").exists()


@pytest.fixture
def world(tmp_path):
    """A folder with names that ASCII lacks: data, and a submission whose comments have them."""
    world = tmp_path / "Übung 张"
    shutil.copytree(DATA, world / "data")
    for path in (world / "data").iterdir():
        text = path.read_text(encoding="utf-8").replace("London", PLACE)
        path.write_text(text, encoding="utf-8")
    wrong = f"print({NAME!r})\nreturn x"
    make((Fill("apply_rotary_emb", wrong),), world / "code")
    for path in (world / "code").rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace("\nimport ", f"\n# {NAME}\nimport ", 1)
        path.write_text(text + f"\n# {NAME}\n", encoding="utf-8")
    return world


def test_commands_where_text_is_ascii(copy, world, tmp_path, monkeypatch):
    """The system's encoding decides neither what is read nor what is written."""
    if not sys.prefix.isascii():  # there torch can't be imported with this encoding
        link = tmp_path / "python"
        link.symlink_to(sys.prefix)
        program = link / Path(sys.executable).relative_to(sys.prefix)
        monkeypatch.setattr(sys, "executable", str(program))
    assert run(ASCII, "-c", "open('/dev/null').encoding.encode('ä')").returncode == 1
    code, data, src = world / "code", world / "data", copy / "src"
    out = ("--submission", code, "--out", world / "out")

    def says(*command):
        done = run(ASCII, *command)
        assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr.decode()
        return done.stdout.decode()

    assert "vanilla_pretrain" in says(src / "run.py", "help")
    job = ("--preset", "smoke", "--data", data)
    says(src / "run.py", "vanilla_finetune_without_pretrain", *job, *out)
    assert f"'{PLACE}'" in says(src / "run.py", "vanilla_eval_dev_without_pretrain", *job, *out)
    assert "wrote" in says(src / "run.py", "show_corruption", "--data", data, *out).lower()
    assert "x: " in says(code / "dataset.py", "namedata", "--data", data)
    done, found = grade(ASCII, copy, code, "1h-3-basic", "5c-0-basic")
    assert [check["verdict"] for check in found.values()] == ["wrong answer", "passed"], found
    assert NAME in found["1h-3-basic"]["details"] and NAME in done.stdout.decode()
    zipped = world / "submission.zip"
    said = says(src / "collect.py", "--submission", code, "--out", zipped, "--allow-missing")
    assert f"Wrote {ascii_only(zipped)}" in said and zipped.is_file()


def ascii_only(path):
    """How such a Python can print a path: a question mark for each byte that is not ASCII."""
    return os.fsencode(path).decode("ascii", "surrogateescape").encode("utf-8", "replace").decode()


def test_line_ends_of_windows_change_nothing(copy, tmp_path):
    """As git may write them there: in a submission, and in all texts of a copy."""
    code = make((), tmp_path / "code")
    windows = shutil.copytree(copy, tmp_path / "windows")
    for path in [*code.rglob("*.*"), *windows.rglob("*.*")]:
        if path.suffix in (".py", ".json", ".toml", ".ini", ".tsv", ".txt"):
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    ids = ("1h-2-basic", "5a-0-basic", "5c-0-basic", "6b-1-basic")
    for folder in (copy, windows):
        done, found = grade({}, folder, code, *ids)
        assert done.returncode == 0, found
        assert b"differs" not in done.stdout and b"was changed" not in done.stdout
        starter = run({}, folder / "src" / "grader.py", "--next", "1h", "--submission", code)
        assert b"All parts are written" in starter.stdout


def test_git_keeps_line_ends():
    """A clone where git translates them has the bytes of this one, but for the commands of Windows."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git here")
    listed = subprocess.run(
        ["git", "ls-files", "--eol"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    for line in listed.stdout.splitlines():
        facts, _, name = line.partition("\t")
        if facts.startswith("i/lf"):
            assert f"eol={'crlf' if name.endswith('.bat') else 'lf'}" in facts, line
        else:
            assert facts.startswith(("i/-text", "i/none")), line
