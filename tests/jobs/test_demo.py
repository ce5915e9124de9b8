"""The demo at smoke size, and the floors that its results are held to."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from common.files import UserError
from helpers import ROOT, SOLUTION, STARTER, run_cli
from jobs.problem1.demo import choose_folder
from jobs.records import read_record
from jobs.targets import JOBS


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder of a finished demo, and what was printed."""
    out = tmp_path_factory.mktemp("demo")
    process = run_cli("demo", "--preset", "smoke", "--out", out, "--jobs", "1")
    assert process.returncode == 0, process.stderr
    return out, process.stdout


def test_table_plot_and_summary(demo):
    out, printed = demo
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    models = [(model["variant"], model["pretrained"]) for model in summary["models"]]
    assert models == [("vanilla", False), ("vanilla", True), ("rope", True)]
    assert all(0 <= m[split] <= 1 for m in summary["models"] for split in ("dev", "test"))
    assert summary["baseline_dev"] == pytest.approx(0.05) and summary["dev_people"] == 100
    records = [read_record(out / job.writes) for job in JOBS.values()]
    seconds = sum(record.seconds for record in records)
    assert sum(m["seconds"] for m in summary["models"]) == pytest.approx(seconds, abs=0.3)
    assert 0 < seconds <= summary["total_seconds"] + 1
    assert "torch" in summary["machine"]
    assert (out / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert "RoPE" in printed and "most common place" in printed and "5.0%" in printed
    look = shlex.join(["./run.sh", "look", "--submission", str(SOLUTION), "--out", str(out)])
    assert printed.splitlines()[-1].endswith(look)


def test_a_finished_demo_resumes_at_once_and_a_used_folder_is_refused(demo):
    out, _ = demo
    process = run_cli("demo", "--preset", "smoke", "--out", out, "--resume")
    assert process.returncode == 0 and "[1/11]" not in process.stdout and "RoPE" in process.stdout
    assert process.stdout.count(" is done: ") == 11
    process = run_cli("demo", "--preset", "smoke", "--out", out)
    assert process.returncode == 2 and "not an empty folder" in process.stderr


def test_a_result_of_a_demo_without_its_record_is_made_again(demo, tmp_path):
    out = shutil.copytree(demo[0], tmp_path / "copy")
    (out / "runs" / "rope.pretrain.params.json").write_text("", encoding="utf-8")
    process = run_cli("demo", "--preset", "smoke", "--out", out, "--resume")
    assert process.returncode == 0 and process.stdout.count(" is done: ") == 10


def test_a_result_without_its_record_stays_until_it_is_made_again(demo, tmp_path):
    out = shutil.copytree(demo[0], tmp_path / "copy")
    shutil.rmtree(out / "runs")
    (out / "runs").mkdir()
    process = run_cli(
        "demo", "--preset", "smoke", "--out", out, "--resume", "--data", tmp_path / "none"
    )
    assert process.returncode == 2 and "does not exist" in process.stderr
    assert all((out / job.writes).is_file() for job in JOBS.values())


def test_a_demo_of_another_preset_is_not_resumed_unasked(demo):
    process = run_cli("demo", "--out", demo[0], "--resume")
    assert process.returncode == 2 and "--preset smoke continues" in process.stderr


def test_a_folder_that_is_no_demo_is_not_resumed(tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "mine.txt").write_text("mine", encoding="utf-8")
    process = run_cli("demo", "--preset", "smoke", "--resume", cwd=tmp_path)
    assert process.returncode == 2 and "no demo to resume" in process.stderr
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["mine.txt"]


def test_a_demo_that_was_interrupted_in_its_first_seconds_is_resumed(tmp_path, monkeypatch):
    """Its folder is empty then."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="no demo to resume"):
        choose_folder(None, resume=True)
    (tmp_path / "demo").mkdir()
    assert choose_folder(None, resume=True) == choose_folder(Path("demo"), resume=True)


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--device", "nonsense"), 2),
        (("--data", "/nowhere"), 2),
        (("--submission", STARTER), 3),
        (("--submission", "mine"), 1),
    ],
)
def test_a_demo_that_fails_in_its_first_job_leaves_nothing(tmp_path, options, code, jobs):
    mine = shutil.copytree(SOLUTION, tmp_path / "mine", ignore=shutil.ignore_patterns("*.params"))
    (mine / "model.py").write_text("raise RuntimeError('mine')", encoding="utf-8")
    command = ("demo", "--preset", "smoke", *options, "--jobs", jobs)
    assert run_cli(*command, cwd=tmp_path).returncode == code
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.full), "2"])
def test_a_demo_that_is_killed_resumes_and_jobs_of_other_code_are_done_again(tmp_path, jobs):
    """Whenever it is killed, even in the first job."""
    mine = shutil.copytree(SOLUTION, tmp_path / "mine", ignore=shutil.ignore_patterns("*.params"))
    command = ("demo", "--preset", "smoke", "--submission", mine, "--jobs", jobs)
    model = (mine / "model.py").read_text(encoding="utf-8")
    kill = "\nimport os\nos.kill(os.getppid() if os.getppid() != {} else os.getpid(), 9)\n"
    (mine / "model.py").write_text(model + kill.format(os.getpid()), encoding="utf-8")
    assert run_cli(*command, cwd=tmp_path).returncode == -9
    (mine / "model.py").write_text(model, encoding="utf-8")
    process = run_cli(*command, "--resume", cwd=tmp_path)
    assert process.returncode == 0 and " is done" not in process.stdout
    (mine / "model.py").write_text(model + "\n", encoding="utf-8")
    process = run_cli(*command, "--resume", cwd=tmp_path)
    assert process.returncode == 0 and " is done: " not in process.stdout
    assert process.stdout.count(" was made: model.py.") >= 3 and "RoPE" in process.stdout


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
