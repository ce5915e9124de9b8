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
from jobs.deliverables import ANSWERS, DELIVERABLES, STUDENT_FILES
from jobs.presets import PRESETS
from jobs.records import Record, ingredients, write_record
from jobs.targets import JOBS, MADE_BY

NOW = 1_800_000_000


def collected(folder, out, *options, code=0):
    """Collect a submission; returns what is printed, or why it is refused."""
    process = call(collect.main, "--submission", folder, "--out", out, *options)
    assert process.returncode == code and "Traceback" not in process.stderr
    assert (process.stderr == "") == (code == 0)
    return process.stdout if code == 0 else process.stderr


@pytest.fixture
def folder(tmp_path):
    """All deliverables: the code of the reference, results that are just bytes, each newer than
    what it was made from.
    """
    folder = make((), tmp_path / "submission")
    for age, name in enumerate(DELIVERABLES):
        if name in MADE_BY:
            (folder / name).write_bytes(f"bytes of {name}".encode())
        os.utime(folder / name, (NOW + age, NOW + age))
    return folder


def test_everything_is_put_into_a_zip_that_the_grader_takes_in(folder, tmp_path):
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    said = collected(folder, tmp_path / "s.zip")
    assert "Warning" not in said and f"{len(DELIVERABLES)} files" in said
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        assert archive.namelist() == list(DELIVERABLES)
        assert all(archive.read(name) == (folder / name).read_bytes() for name in DELIVERABLES)
    (tmp_path / "staged").mkdir()
    _, notices = stage(tmp_path / "s.zip", tmp_path / "staged")
    results = {path.name for path in (tmp_path / "staged" / RESULTS).iterdir()}
    assert notices == [] and results == MADE_BY.keys()
    for name in (*STUDENT_FILES, *ANSWERS):
        staged = tmp_path / "staged" / "submission" / name
        assert staged.read_bytes() == (folder / name).read_bytes()


def test_the_zip_does_not_depend_on_when_and_where(folder, tmp_path):
    collected(folder, tmp_path / "a.zip")
    for name in DELIVERABLES:
        os.utime(folder / name, (NOW - 10**8, NOW - 10**8))
        (folder / name).chmod(0o600)
    command = [sys.executable, ROOT / "src" / "collect.py", "--submission", folder]
    elsewhere = {"env": {**os.environ, "TZ": "Asia/Tokyo"}, "umask": 0o077}
    subprocess.run([*command, "--out", tmp_path / "b.zip"], check=True, **elsewhere)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_what_is_missing_is_listed_with_the_command_that_makes_it(folder, tmp_path):
    for name in ("utils.py", *ANSWERS, *MADE_BY):
        (folder / name).unlink()
    for name in ("rope.finetune.params", "Utils.py.txt", "encoder (1).params"):
        (folder / name).touch()
    said = collected(folder, tmp_path / "s.zip", code=2)
    assert not (tmp_path / "s.zip").exists()
    lines = {line.split()[0]: line for line in said.splitlines() if line.startswith("  ")}
    assert lines.keys() == {"utils.py", *ANSWERS, *MADE_BY}
    assert lines["utils.py"].endswith(" there is 'Utils.py.txt': rename it")
    assert lines["encoder.params"].endswith(" there is 'encoder (1).params': rename it")
    assert lines["rope.finetune.params"].endswith(" (it is empty)")
    assert all(f"./run.sh {job.target}" in lines[job.writes] for job in JOBS.values())
    assert all("starter" in lines[name] for name in ANSWERS) and "--allow-missing" in said

    said = collected(folder, tmp_path / "s.zip", "--allow-missing")
    assert said.startswith("Left out") and all(line in said for line in lines.values())
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        assert archive.namelist() == [name for name in DELIVERABLES if name not in lines]


def older(newer, *names):
    return {name: f"older than {newer}" for name in names}


TUNED = "made from rope.finetune.params"
PREDICTIONS = [job.writes for job in JOBS.values() if job.kind == "evaluate"]


@pytest.mark.parametrize(
    "newer, outdated",
    [
        (
            "rope.pretrain.params",
            older("rope.pretrain.params", "rope.finetune.params")
            | {f"rope.pretrain.{split}.predictions": TUNED for split in ("dev", "test")},
        ),
        *((name, older(name, *PREDICTIONS)) for name in STUDENT_FILES if "/" not in name),
        ("problem5/encoder.py", older("problem5/encoder.py", "encoder.params")),
        # nothing comes from the first, and grading takes its own of the second
        *((name, {}) for name in ("problem5/numpy_attention.py", "utils.py")),
    ],
)
def test_outdated_results_are_told_with_the_command_that_makes_them_anew(
    folder, tmp_path, newer, outdated
):
    os.utime(folder / newer, (NOW + 100, NOW + 100))
    said = collected(folder, tmp_path / "s.zip")
    assert ("Warning" in said) == bool(outdated)
    warned = [line.split(None, 1) for line in said.splitlines() if line.startswith("  ")]
    wanted = [name for name in MADE_BY if name in outdated]
    assert warned == [
        [name, f"{outdated[name]}: ./run.sh {MADE_BY[name].target}"] for name in wanted
    ]


def test_what_a_job_has_kept_counts_more_than_dates(folder, tmp_path):
    """A clone, or a zip that was unpacked, has files with other dates."""
    job = next(job for job in JOBS.values() if job.kind == "evaluate")
    options = argparse.Namespace(preset=PRESETS["smoke"], seed=0, submission=folder, out=folder)
    options.data = tmp_path
    write_record(folder / job.writes, Record(ingredients(job, options)))

    def warnings():
        said = collected(folder, tmp_path / "s.zip")
        return [line for line in said.splitlines() if line.startswith(f"  {job.writes} ")]

    file = folder / "attention.py"
    os.utime(file, (NOW + 100, NOW + 100))
    assert warnings() == []
    file.write_text(file.read_text(encoding="utf-8") + "# more\n", encoding="utf-8")
    os.utime(file, (NOW, NOW))
    (line,) = warnings()
    assert line.endswith(f" made from another attention.py: ./run.sh {job.target}")
    record = folder / "runs" / f"{job.writes}.json"
    record.write_text("[" * 200_000, encoding="utf-8")  # damaged, so dates count
    assert warnings() == []


@pytest.mark.parametrize(
    "spoil, complaint",
    [
        (lambda path: path.symlink_to("/etc/hostname"), "is a link"),
        (lambda path: path.symlink_to("nowhere"), "is a link"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: os.mkfifo(path), "no regular file"),
    ],
)
def test_what_is_no_file_is_refused(folder, tmp_path, spoil, complaint):
    (folder / "helper.py").unlink()
    spoil(folder / "helper.py")
    (tmp_path / "s.zip").write_bytes(b"the one before")
    said = collected(folder, tmp_path / "s.zip", "--allow-missing", code=2)
    assert complaint in said and "helper.py" in said
    assert (tmp_path / "s.zip").read_bytes() == b"the one before"


HAND, CHOICES = "problem5/hand_attention.json", "problem6/choices.toml"
STARTED = {name: (STARTER / name).read_text(encoding="utf-8") for name in ("dataset.py", HAND)}
SOLVED = json.loads((SOLUTION / HAND).read_text(encoding="utf-8"))
CHOSEN = (SOLUTION / CHOICES).read_text(encoding="utf-8")


def blank(name, line):
    return f"{name}, line {line}: not filled in ({ANSWERS[name]}: your answers)"


@pytest.mark.parametrize(
    "name, content, warning",
    [
        (
            "dataset.py",
            STARTED["dataset.py"],
            "not filled in (1c: CharCorruptionDataset.__getitem__)",
        ),
        ("model.py", "x = 1\ndef (\n", "model.py, line 2"),
        ("helper.py", "x = 1\n".encode("utf-16"), "helper.py is not UTF-8 but UTF-16."),
        ("encoder.params", "version https://git-lfs", "encoder.params: It is a pointer of Git LFS"),
        (HAND, json.dumps(json.loads(STARTED[HAND])), blank(HAND, 1)),
        (
            HAND,
            json.dumps(SOLVED | {"weights": [[None]]}).replace("null", "\n\nnull"),
            blank(HAND, 3),
        ),
        (HAND, json.dumps(SOLVED), None),
        (HAND, '{\n "scores": [1,]\n}', f"{HAND}, line 2: "),
        (HAND, b"\xff\xfe\x00", f"{HAND}: "),
        (HAND, "[" * 200_000, f"{HAND}: "),
        (HAND, '{"scores": ' + "9" * 10_000 + "}", f"{HAND}: "),
        (CHOICES, 'x = "y"\n# z = ""\nz = ""\n', blank(CHOICES, 3)),
        (CHOICES, CHOSEN.replace("\n", "\r\n"), None),
        (CHOICES, f'remark = "an answer"\n{CHOSEN}', None),  # that is for the grader to say
        (CHOICES, "[spam_filter\n", f"{CHOICES}: "),
        (CHOICES, b"\xff\xfe\x00", f"{CHOICES} is not UTF-8 but UTF-16"),
        (CHOICES, "x = " + "[" * 5_000, f"{CHOICES}: "),
        (CHOICES, "x = " + "9" * 10_000, f"{CHOICES}: "),
    ],
    ids=range(18),
)
def test_what_is_not_ready_is_warned_of(folder, tmp_path, name, content, warning):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    said = collected(folder, tmp_path / "x.zip")
    assert (warning or "") in said and (name in said) == bool(warning)
    assert ("cannot have full points yet" in said) == bool(warning)
