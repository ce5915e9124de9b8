"""A student's copy: the checks that run there, by pytest, too; and that texts in other encodings
and with line ends of other systems change nothing.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import grader
from autograder import read_manifest
from checks.support.session import MANIFEST
from helpers import DATA, ROOT, SOLUTION, STARTER, call
from instructor.mistakes.patches import Fill, make

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
NAME, PLACE = "Zoë Šimůnková 张伟", "Łódź"


def run(environment, *command, **options):
    """Run a command with the project's Python; returns the finished process."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    options |= {"env": {**kept, **environment}, "capture_output": True, "encoding": "utf-8"}
    return subprocess.run([sys.executable, *map(str, command)], timeout=400, **options)


def grade(environment, copy, code, *ids):
    """Grade code; returns what is printed, and the JSON."""
    result = copy / "result.json"
    words = [copy / "src" / "grader.py", *ids, "--submission", code, "--json", result]
    done = run(environment, *words)
    assert not done.stderr, done.stderr
    return done.stdout, json.loads(result.read_text(encoding="utf-8"))


@pytest.fixture
def copy(tmp_path):
    """A copy with the reference's code: in a released tree there is no instructor/; its folder may
    have any name.
    """
    copy = tmp_path / "Assignment 5 [1] ü"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("src", "data"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    shutil.copytree(SOLUTION, copy / "src" / "submission", ignore=ignored, dirs_exist_ok=True)
    return copy


def test_what_a_student_sees_without_hidden_checks_and_with_line_ends_of_windows(copy, warm):
    """As git may write them there: in a submission, and in all texts of a copy."""
    for path in copy.rglob("*.*"):
        if path.suffix in (".py", ".json", ".toml", ".ini", ".tsv", ".txt"):
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    code, more = copy / "src" / "submission", ("5a-0-basic", "5c-0-basic", "6b-1-basic")
    printed, content = grade({}, copy, code, "1c", "1h", *more, "--no-artifacts")
    checks = read_manifest(MANIFEST).select(["1c", "1h", *more])
    there = [check for check in checks if not check.artifacts]
    total = sum(check.points for check in there)
    basic = sum(check.points for check in there if check.kind == "basic")
    assert [content[name] for name in ("score", "max_score_here")] == [basic, basic]
    assert content["max_score"] == total
    assert f"all  {basic:g} of {basic:g}, and {total - basic:g} more" in printed
    assert re.search(r"hidden +1h-7-hidden +-/", printed)
    done = call(grader.main, "1h-2-basic", *more, "--submission", code)
    assert done.returncode == 0
    for text in (printed, done.stdout):
        assert "differs" not in text and "was changed" not in text
    assert "All parts" in call(grader.main, "--next", "--submission", code).stdout


def test_pytest_runs_the_checks_in_a_students_copy(copy):
    answers = "problem5/hand_attention.json"
    shutil.copy(STARTER / answers, copy / "src" / "submission" / answers)
    words = ("-m", "pytest", "src/checks", "-k", "1h-2 or 5a", "-p", "no:cacheprovider")
    process = run({}, *words, cwd=copy)
    assert "1 failed, 1 passed" in process.stdout, process.stdout + process.stderr
    assert f"not implemented: {answers}" in process.stdout
    assert "Again: python src/grader.py 5a-0-basic --seed" in process.stdout
    assert "Traceback" not in process.stdout


@pytest.mark.full
def test_commands_where_text_is_ascii(copy, tmp_path, monkeypatch):
    """The system's encoding decides neither what is read nor what is written."""
    if not sys.prefix.isascii():  # there torch can't be imported with this encoding
        link = tmp_path / "python"
        link.symlink_to(sys.prefix)
        program = link / Path(sys.executable).relative_to(sys.prefix)
        monkeypatch.setattr(sys, "executable", str(program))
    assert run(ASCII, "-c", "open('/dev/null').encoding.encode('ä')").returncode == 1
    world, src = tmp_path / "Übung 张", copy / "src"
    data, code = shutil.copytree(DATA, world / "data"), world / "code"
    for path in data.iterdir():
        text = path.read_text(encoding="utf-8").replace("London", PLACE)
        path.write_text(text, encoding="utf-8")
    make((Fill("apply_rotary_emb", f"print({NAME!r})\nreturn x"),), code)
    for path in code.rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace("\nimport ", f"\n# {NAME}\nimport ", 1)
        path.write_text(text + f"\n# {NAME}\n", encoding="utf-8")

    def says(*command):
        done = run(ASCII, *command)
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
        return done.stdout

    out = ("--submission", code, "--out", world / "out")
    job = ("--preset", "smoke", "--data", data)
    assert "vanilla_pretrain" in says(src / "run.py", "help")
    says(src / "run.py", "vanilla_finetune_without_pretrain", *job, *out)
    assert f"'{PLACE}'" in says(src / "run.py", "vanilla_eval_dev_without_pretrain", *job, *out)
    assert "wrote" in says(src / "run.py", "show_corruption", "--data", data, *out).lower()
    assert "x: " in says(code / "dataset.py", "namedata", "--data", data)
    printed, content = grade(ASCII, copy, code, "1h-3-basic", "5c-0-basic")
    found = {check["id"]: check for check in content["checks"]}
    assert [check["verdict"] for check in found.values()] == ["wrong answer", "passed"], found
    assert NAME in found["1h-3-basic"]["details"] and NAME in printed
    zipped = world / "submission.zip"
    said = says(src / "collect.py", "--submission", code, "--out", zipped, "--allow-missing")
    # how such a Python can print a path: a question mark for each byte that is not ASCII
    shown = os.fsencode(zipped).decode("ascii", "surrogateescape").encode("utf-8", "replace")
    assert f"Wrote {shown.decode()}" in said and zipped.is_file()
