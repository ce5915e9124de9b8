"""Collecting what is handed in: all of it or a list of what is missing, the same bytes every time,
and nothing outdated unsaid.
"""

import argparse
import json
import os
import subprocess
import sys
import zipfile

import pytest

import collect
from checks.support.staging import RESULTS, stage
from helpers import ROOT, SOLUTION, STARTER, call
from instructor.mistakes.patches import make
from instructor.release.starter import KEPT_RESULTS
from jobs.deliverables import ANSWERS, DELIVERABLES, STUDENT_FILES
from jobs.presets import PRESETS
from jobs.records import Record, ingredients, write_record
from jobs.targets import JOBS, MADE_BY

NOW = 1_800_000_000
WEIGHTS = (KEPT_RESULTS / "encoder.params").read_bytes()


@pytest.fixture
def folder(tmp_path):
    """All deliverables: the code of the reference, results that are just bytes, each newer than
    what it was made from.
    """
    folder = make((), tmp_path / "submission")
    for age, name in enumerate(DELIVERABLES):
        if name in MADE_BY:
            # as torch.save writes it, or as its pickles begin
            content = WEIGHTS if name == "encoder.params" else b"\x80bytes of " + name.encode()
            (folder / name).write_bytes(content)
        os.utime(folder / name, (NOW + age, NOW + age))
    return folder


@pytest.fixture
def collected(folder, tmp_path):
    """A function that collects them; it returns what is printed, or why it is refused."""

    def collected(*options, code=0):
        process = call(collect.main, "--submission", folder, "--out", tmp_path / "s.zip", *options)
        assert process.returncode == code and "Traceback" not in process.stderr
        assert (process.stderr == "") == (code == 0)
        return process.stdout if code == 0 else process.stderr

    return collected


def indented(said):
    """The lines of the lists, by the file that each begins with."""
    return dict(line.split(None, 1) for line in said.splitlines() if line.startswith("  "))


def test_the_zip_has_everything_and_the_grader_takes_it_in(folder, collected, tmp_path):
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    said = collected()
    assert "Warning" not in said and f"{len(DELIVERABLES)} files" in said
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        assert archive.namelist() == list(DELIVERABLES)
        assert all(archive.read(name) == (folder / name).read_bytes() for name in DELIVERABLES)
    staged = tmp_path / "staged"
    staged.mkdir()
    _, notices = stage(tmp_path / "s.zip", staged)
    assert notices == [] and {path.name for path in (staged / RESULTS).iterdir()} == {*MADE_BY}
    for name in (*STUDENT_FILES, *ANSWERS):
        assert (staged / "submission" / name).read_bytes() == (folder / name).read_bytes()


def test_the_zip_does_not_depend_on_when_and_where(folder, collected, tmp_path):
    collected()
    for name in DELIVERABLES:
        os.utime(folder / name, (NOW - 10**8, NOW - 10**8))
        (folder / name).chmod(0o600)
    command = [sys.executable, ROOT / "src" / "collect.py", "--submission", folder]
    elsewhere = {"env": {**os.environ, "TZ": "Asia/Tokyo"}, "umask": 0o077}
    subprocess.run([*command, "--out", tmp_path / "b.zip"], check=True, **elsewhere)
    assert (tmp_path / "s.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_what_is_missing_is_listed_with_the_command_that_makes_it(folder, collected, tmp_path):
    for name in ("utils.py", *ANSWERS, *MADE_BY):
        (folder / name).unlink()
    for name in ("rope.finetune.params", "Utils.py.txt", "encoder (1).params"):
        (folder / name).touch()
    said = collected(code=2)
    assert not (tmp_path / "s.zip").exists() and "--allow-missing" in said
    lines = indented(said)
    assert lines.keys() == {"utils.py", *ANSWERS, *MADE_BY}
    assert "'Utils.py.txt': rename" in lines["utils.py"]
    assert "'encoder (1).params': rename" in lines["encoder.params"]
    assert lines["rope.finetune.params"].endswith(" (it is empty)")
    assert all(f"./run.sh {job.target}" in lines[job.writes] for job in JOBS.values())
    assert all("starter" in lines[name] for name in ANSWERS)

    said = collected("--allow-missing")
    assert said.startswith("Left out") and lines.items() <= indented(said).items()
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        assert archive.namelist() == [name for name in DELIVERABLES if name not in lines]


PREDICTIONS = [job.writes for job in JOBS.values() if job.kind == "evaluate"]
OLDER = {  # a file that is newer than others -> these
    "rope.pretrain.params": ["rope.finetune.params"],
    **{name: PREDICTIONS for name in STUDENT_FILES if "/" not in name},
    "problem5/encoder.py": ["encoder.params"],
    # nothing comes from the first, and grading takes its own of the second
    "problem5/numpy_attention.py": [],
    "utils.py": [],
}


@pytest.mark.parametrize("newer", OLDER)
def test_outdated_results_are_told_with_the_command_that_makes_them_anew(folder, collected, newer):
    why = dict.fromkeys(OLDER[newer], f"older than {newer}")
    if newer == "rope.pretrain.params":
        tuned = [name for name in PREDICTIONS if name.startswith("rope.pretrain")]
        why |= dict.fromkeys(tuned, "made from rope.finetune.params")
    os.utime(folder / newer, (NOW + 100, NOW + 100))
    said = collected()
    assert ("Warning" in said) == bool(why)
    wanted = [name for name in MADE_BY if name in why]
    told = [(name, f"{why[name]}: ./run.sh {MADE_BY[name].target}") for name in wanted]
    assert [*indented(said).items()] == told


def test_what_a_job_has_kept_counts_more_than_dates(folder, collected):
    """A clone, or a zip that was unpacked, has files with other dates."""
    job = next(job for job in JOBS.values() if job.kind == "evaluate")
    options = argparse.Namespace(preset=PRESETS["smoke"], seed=0, submission=folder, out=folder)
    options.data = folder
    write_record(folder / job.writes, Record(ingredients(job, options)))
    file = folder / "attention.py"
    os.utime(file, (NOW + 100, NOW + 100))
    assert job.writes not in indented(collected())
    file.write_text(file.read_text(encoding="utf-8") + "# more\n", encoding="utf-8")
    os.utime(file, (NOW, NOW))
    told = indented(collected())[job.writes]
    assert "another attention.py" in told and told.endswith(f": ./run.sh {job.target}")
    record = folder / "runs" / f"{job.writes}.json"
    record.write_text("[" * 200_000, encoding="utf-8")  # damaged, so dates count
    assert job.writes not in indented(collected())


NO_FILES = {
    "ln -s /etc/hostname helper.py": "a link",
    "ln -s nowhere helper.py": "a link",
    "mkdir helper.py": "a folder",
    "mkfifo helper.py": "no regular file",
}


@pytest.mark.parametrize("command", NO_FILES)
def test_what_is_no_file_is_refused(folder, collected, tmp_path, command):
    (folder / "helper.py").unlink()
    subprocess.run(command.split(), cwd=folder, check=True)
    (tmp_path / "s.zip").write_bytes(b"the one before")
    assert f"helper.py is {NO_FILES[command]}" in collected("--allow-missing", code=2)
    assert (tmp_path / "s.zip").read_bytes() == b"the one before"


HAND, CHOICES = "problem5/hand_attention.json", "problem6/choices.toml"
STARTED = {name: (STARTER / name).read_text(encoding="utf-8") for name in ("dataset.py", HAND)}
SOLVED = json.loads((SOLUTION / HAND).read_text(encoding="utf-8"))
ONE_LEFT = json.dumps(SOLVED | {"weights": [[None]]}).replace("null", "\n\nnull")
CHOSEN = (SOLUTION / CHOICES).read_text(encoding="utf-8")


def blank(name, line):
    return f"{name}, line {line}: not filled in ({ANSWERS[name]}: your answers)"


UNREADY = [
    ("dataset.py", STARTED["dataset.py"], "not filled in (1c: CharCorruptionDataset.__getitem__)"),
    ("model.py", "x = 1\ndef (\n", "model.py, line 2"),
    ("helper.py", "x = 1\n".encode("utf-16"), "helper.py is not UTF-8 but UTF-16."),
    ("encoder.params", "version https://git-lfs", "encoder.params: It is a pointer of Git LFS"),
    ("encoder.params", "hello", "encoder.params: It was not written by torch.save. ./run.sh enc"),
    ("rope.pretrain.params", WEIGHTS[:-100], "rope.pretrain.params: It ends too early"),
    (HAND, json.dumps(json.loads(STARTED[HAND])), blank(HAND, 1)),
    (HAND, ONE_LEFT, blank(HAND, 3)),
    (HAND, '{\n "scores": [1,]\n}', f"{HAND}, line 2: "),
    (HAND, "[" * 200_000, f"{HAND}: "),
    (HAND, '{"scores": ' + "9" * 10_000 + "}", f"{HAND}: "),
    (CHOICES, 'x = "y"\n# z = ""\nz = ""\n', blank(CHOICES, 3)),
    (CHOICES, f'remark = "an answer"\n{CHOSEN}', None),  # that is for the grader to say
    (CHOICES, "[spam_filter\n", f"{CHOICES}: "),
    (CHOICES, "x = " + "[" * 5_000, f"{CHOICES}: "),
]


@pytest.mark.parametrize("name, content, warning", UNREADY, ids=range(len(UNREADY)))
def test_what_is_not_ready_is_warned_of(folder, collected, name, content, warning):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    said = collected()
    assert (warning or "") in said and (name in said) == bool(warning)
    assert ("Warning" in said) == bool(warning)
