"""The demo at smoke size, and the floors that its results are held to."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from common.files import UserError
from helpers import ROOT, SOLUTION, STARTER, run_cli
from jobs.problem1.demo import choose_folder
from jobs.records import path_of, read_record
from jobs.targets import JOBS

ALL = list(JOBS.values())


def test_table_plot_and_summary(demo):
    summary = json.loads((demo.folder / "summary.json").read_text(encoding="utf-8"))
    models = [(model["variant"], model["pretrained"]) for model in summary["models"]]
    assert models == [("vanilla", False), ("vanilla", True), ("rope", True)]
    assert all(0 <= m[split] <= 1 for m in summary["models"] for split in ("dev", "test"))
    assert summary["baseline_dev"] == pytest.approx(0.05) and summary["dev_people"] == 100
    seconds = sum(read_record(demo.folder / job.writes).seconds for job in ALL)
    assert sum(m["seconds"] for m in summary["models"]) == pytest.approx(seconds, abs=0.3)
    assert 0 < seconds <= summary["total_seconds"] + 1
    assert (demo.folder / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert "RoPE" in demo.printed and "most common place" in demo.printed
    look = ["./run.sh", "look", "--submission", str(demo.code), "--out", str(demo.folder)]
    assert demo.printed.splitlines()[-1].endswith(shlex.join(look))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--preset", "smoke"), "not an empty folder"),
        (("--resume",), "--preset smoke continues"),
        (("--preset", "smoke", "--resume", "--data", "/nowhere"), "does not exist"),
    ],
)
def test_what_is_refused_keeps_the_results(demo, tmp_path, options, words):
    """Also those whose records are lost, which would be made again."""
    out = shutil.copytree(demo.folder, tmp_path / "demo")
    if "--data" in options:
        shutil.rmtree(out / "runs")
        (out / "runs").mkdir()
    process = run_cli("demo", "--submission", demo.code, "--out", out, *options)
    assert process.returncode == 2 and words in process.stderr
    assert all((out / job.writes).is_file() for job in ALL)


def test_a_folder_that_is_no_demo_is_not_resumed(tmp_path, monkeypatch):
    """An empty one is: its demo was interrupted in its first seconds."""
    monkeypatch.chdir(tmp_path)
    Path("demo").mkdir()
    Path("demo", "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="no demo to resume"):
        choose_folder(None, resume=True)
    Path("demo", "mine.txt").unlink()
    assert choose_folder(None, resume=True) == choose_folder(Path("demo"), resume=True)


@pytest.mark.parametrize(
    ("options", "jobs", "code"),
    [
        (("--device", "nonsense"), 1, 2),
        (("--submission", STARTER), 1, 3),
        pytest.param(("--data", "/nowhere"), 2, 2, marks=pytest.mark.full),
        pytest.param(("--submission", STARTER), 2, 3, marks=pytest.mark.full),
        pytest.param(("--submission", "mine"), 2, 1, marks=pytest.mark.full),
    ],
)
def test_a_demo_that_fails_in_its_first_job_leaves_nothing(tmp_path, options, jobs, code):
    mine = shutil.copytree(SOLUTION, tmp_path / "mine", ignore=shutil.ignore_patterns("*.params"))
    (mine / "model.py").write_text("raise RuntimeError('mine')", encoding="utf-8")
    command = ("demo", "--preset", "smoke", *options, "--jobs", jobs)
    assert run_cli(*command, cwd=tmp_path).returncode == code
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("left", "jobs"), [(8, 2), *(pytest.param(0, jobs, marks=pytest.mark.full) for jobs in (1, 2))]
)
def test_a_demo_that_is_killed_resumes(demo, tmp_path, monkeypatch, left, jobs):
    """In a job of RoPE, with other jobs done and not. What lost its record is made again; weights
    that are then the same to the bit leave what was made from them as it is.
    """
    out = shutil.copytree(demo.folder, tmp_path / "demo")
    made = [out / job.writes for job in ALL]
    before = {path: path.read_bytes() for path in made}
    for path in made[left:-2] if left else made:
        path.unlink()
    if left:
        path_of(made[left - 1]).write_text("", encoding="utf-8")  # rope.pretrain.params
    command = ("demo", "--preset", "smoke", "--submission", demo.code, "--out", out, "--resume")
    monkeypatch.setenv("HOOK", "os.kill(os.getppid(), 9)")
    assert run_cli(*command, "--jobs", jobs).returncode == -9
    monkeypatch.delenv("HOOK")
    process = run_cli(*command, "--jobs", jobs)
    assert process.returncode == 0 and "RoPE" in process.stdout, process.stderr
    assert left == 0 or process.stdout.count(" is done: ") == len(ALL) - 2
    assert {path: path.read_bytes() for path in made} == before


GOOD = {"none": 0.04, "vanilla": 0.5, "rope": 0.6}
KEYS = {
    "none": {"variant": "vanilla", "pretrained": False},
    "vanilla": {"variant": "vanilla", "pretrained": True},
    "rope": {"variant": "rope", "pretrained": True},
}


@pytest.mark.parametrize(
    ("accuracies", "people", "code"),
    [
        (GOOD, 105, 0),
        (GOOD, 90, 1),
        ({}, 105, 1),
        *((GOOD | change, 105, 1) for change in ({"none": 0.11}, {"vanilla": 0.2}, {"rope": 0.3})),
        (GOOD | {"vanilla": 0.7}, 105, 1),
    ],
)
def test_floors(tmp_path, accuracies, people, code):
    models = [KEYS[name] | {"dev": share} for name, share in accuracies.items()]
    summary = tmp_path / "summary.json"
    summary.write_text(json.dumps({"models": models, "dev_people": people}), encoding="utf-8")
    command = [sys.executable, ROOT / "benchmarks" / "floors.py", summary]
    assert subprocess.run(command).returncode == code
