"""The demo at smoke size, and the floors that its results are held to."""

import json
import shlex
import shutil
from pathlib import Path

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
        (("--submission", STARTER), 1, 3),
        pytest.param(("--device", "nonsense"), 1, 2, marks=pytest.mark.full),
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


FLOORS = [
    ((0.04, 0.5, 0.6), 105, ""),
    ((0.04, 0.5, 0.6), 90, "only 90 dev people"),
    ((0.04, 0.5, None), 105, "rope with pretraining"),
    ((0.11, 0.5, 0.6), 105, "vanilla without pretraining"),
    ((0.04, 0.2, 0.6), 105, "vanilla with pretraining"),
    ((0.04, 0.7, 0.6), 105, "not ahead"),
]


@pytest.mark.parametrize(("accuracies", "people", "words"), FLOORS)
def test_floors(monkeypatch, accuracies, people, words):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from floors import outside_limits

    trainings = (("vanilla", False), ("vanilla", True), ("rope", True))
    keys = ("variant", "pretrained", "dev")
    models = [dict(zip(keys, (*how, dev))) for how, dev in zip(trainings, accuracies)]
    problems = outside_limits({"models": models, "dev_people": people})
    assert len(problems) == bool(words) and all(words in problem for problem in problems)
