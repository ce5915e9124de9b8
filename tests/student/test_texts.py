"""Texts in other encodings, and line ends of other systems, change nothing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import DATA, ROOT
from instructor.mistakes.patches import Fill, make

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
NAME, PLACE = "Zoë Šimůnková 张伟", "Łódź"


def run(environment, *command):
    """Run a command with the project's Python; returns the finished process, output in bytes."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env={**kept, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        timeout=400,
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A student's copy."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "data", folder / "data")
    return folder


def grade(environment, copy, code, *ids):
    """Grade code; returns the process, and the outcomes by id."""
    result = copy / "result.json"
    command = [copy / "src" / "grader.py", *ids, "--submission", code, "--json", result]
    done = run(environment, *command)
    assert not done.stderr, done.stderr
    content = json.loads(result.read_text(encoding="utf-8"))
    return done, {check["id"]: check for check in content["checks"]}


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


@pytest.mark.full
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
