"""The demo at smoke size: what it writes, and how it ends and resumes."""

import json
import shlex
import shutil
import subprocess
import sys

import pytest
import torch

from common.files import UserError
from helpers import ROOT, SOLUTION, STARTER, run_cli
from jobs.problem1.demo import choose_folder
from jobs.records import path_of, read_record
from jobs.targets import JOBS

ALL = list(JOBS.values())


def test_all_jobs_write_their_files(demo):
    made = {path.name for path in demo.folder.iterdir()} - {"runs", "summary.json", "accuracy.png"}
    assert made == {job.writes for job in ALL}
    for job in ALL:
        assert job.target in demo.printed
        if job.kind == "evaluate":
            lines = (demo.folder / job.writes).read_text(encoding="utf-8").splitlines()
            assert len(lines) == {"dev": 100, "test": 40}[job.split]
        else:
            state = torch.load(demo.folder / job.writes, weights_only=True)
            assert ("pos_emb" in state) == (job.variant == "vanilla") and "tok_emb.weight" in state
    assert demo.printed.count("of 100,") == demo.printed.count("of 40,") == 3
    assert "'London' gets 5, 5.0%" in demo.printed


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


REFUSED = [
    (("--preset", "smoke"), "not an empty folder"),
    (("--resume",), "--preset smoke continues"),
    (("--preset", "smoke", "--resume", "--data", "/nowhere"), "does not exist"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_what_is_refused_keeps_the_results(demo, results, options, words):
    """Also those whose records are lost, which would be made again."""
    if "--data" in options:
        shutil.rmtree(results / "runs")
        (results / "runs").mkdir()
    process = run_cli("demo", "--submission", demo.code, "--out", results, *options)
    assert process.returncode == 2 and words in process.stderr
    assert all((results / job.writes).is_file() for job in ALL)


def test_a_folder_that_is_no_demo_is_not_resumed(tmp_path):
    """An empty one is: its demo was interrupted in its first seconds."""
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="no demo to resume"):
        choose_folder(tmp_path, resume=True)
    (tmp_path / "mine.txt").unlink()
    assert choose_folder(tmp_path, resume=True) == tmp_path


FAILS = [
    (STARTER, 1, 3),
    pytest.param(STARTER, 2, 3, marks=pytest.mark.full),
    pytest.param("mine", 2, 1, marks=pytest.mark.full),
]


@pytest.mark.parametrize(("submission", "jobs", "exit_code"), FAILS)
def test_a_demo_that_fails_in_its_first_job_leaves_nothing(tmp_path, submission, jobs, exit_code):
    mine = shutil.copytree(SOLUTION, tmp_path / "mine", ignore=shutil.ignore_patterns("*.params"))
    (mine / "model.py").write_text("raise RuntimeError('mine')", encoding="utf-8")
    command = ("demo", "--preset", "smoke", "--submission", submission, "--jobs", jobs)
    assert run_cli(*command, cwd=tmp_path).returncode == exit_code
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(("left", "jobs"), [(8, 2), pytest.param(0, 1, marks=pytest.mark.full)])
def test_a_demo_that_is_killed_resumes(demo, results, monkeypatch, left, jobs):
    """In a job of RoPE, with other jobs done and not. What lost its record is made again; weights
    that are then the same to the bit leave what was made from them as it is.
    """
    made = [results / job.writes for job in ALL]
    before = {path: path.read_bytes() for path in made}
    for path in made[left:-2] if left else made:
        path.unlink()
    if left:
        path_of(made[left - 1]).write_text("", encoding="utf-8")  # rope.pretrain.params
    command = ("demo", "--preset", "smoke", "--submission", demo.code, "--out", results, "--resume")
    monkeypatch.setenv("HOOK", "os.kill(os.getppid(), 9)")
    assert run_cli(*command, "--jobs", jobs).returncode == -9
    monkeypatch.delenv("HOOK")
    process = run_cli(*command, "--jobs", jobs)
    assert process.returncode == 0 and "RoPE" in process.stdout, process.stderr
    assert left == 0 or process.stdout.count(" is done: ") == len(ALL) - 2
    assert {path: path.read_bytes() for path in made} == before


NONE, LEARNED, ROPE = ("vanilla", False), ("vanilla", True), ("rope", True)
FOUND = {NONE: 0.04, LEARNED: 0.5, ROPE: 0.6}
LOW = [{NONE: 0.11}, {LEARNED: 0.2}, {LEARNED: 0.7}, {ROPE: 0.3}, {ROPE: None}]


@pytest.mark.parametrize(
    ("change", "people", "code"), [({}, 105, 0), ({}, 90, 1), *((change, 105, 1) for change in LOW)]
)
def test_floors(tmp_path, change, people, code):
    found = [
        {"variant": variant, "pretrained": pretrained, "dev": share}
        for (variant, pretrained), share in (FOUND | change).items()
    ]
    summary = tmp_path / "summary.json"
    summary.write_text(json.dumps({"models": found, "dev_people": people}), encoding="utf-8")
    command = [sys.executable, ROOT / "benchmarks" / "floors.py", summary]
    assert subprocess.run(command).returncode == code
