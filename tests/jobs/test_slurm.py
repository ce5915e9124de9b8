"""slurm.sbatch, without a cluster: run by bash with Slurm's variables and a scontrol of ours."""

import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from conftest import ROOT
from gpu_machines import for_gpu, trainings, wait_for, waiting_for
from jobs.targets import JOBS

SCRIPT = ROOT / "slurm.sbatch"
LIMIT = 300  # seconds, of jobs that take a few
pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes")


@pytest.fixture
def cluster(tmp_path):
    """A function that starts the script as a job with options, in a copy of the student's folder;
    what it prints is appended to tmp_path / "log".
    """
    for_gpu(tmp_path / "for_gpu.zip", waiting_for(tmp_path / "go", tmp_path / "mine"))
    home, bin = tmp_path / "my home", tmp_path / "bin"
    zipfile.ZipFile(tmp_path / "for_gpu.zip").extractall(home)
    for name in ("run.sh", "slurm.sbatch", "pyproject.toml"):
        shutil.copy(ROOT / name, home)
    bin.mkdir()
    (bin / "scontrol").write_text(
        f"#!/bin/sh\necho $@ >> '{tmp_path}/scontrol'\n", encoding="utf-8"
    )
    (bin / "scontrol").chmod(0o755)
    path = os.pathsep.join((str(bin), str(Path(sys.executable).parent), os.environ["PATH"]))
    spool = tmp_path / "spool"  # Slurm runs a copy
    shutil.copy(SCRIPT, spool)
    settings = {"PATH": path, "SLURM_JOB_ID": "77", "SLURM_SUBMIT_DIR": str(home)}

    def start(*options, device=("--device", "cpu")):
        with (tmp_path / "log").open("ab") as log:
            return subprocess.Popen(
                ["bash", spool, "--preset", "smoke", "--jobs", "1", *device, *options],
                env={**os.environ, **settings, "SCRATCH": str(tmp_path / "scratch")},
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=tmp_path,
            )

    yield start
    (tmp_path / "go").touch()  # nothing waits for it any more


@pytest.mark.parametrize(
    "sent, code, requeued",
    [(signal.SIGUSR1, 0, True), pytest.param(signal.SIGTERM, 143, False, marks=pytest.mark.full)],
)
def test_a_job_whose_time_is_up_is_requeued_and_resumes(cluster, tmp_path, sent, code, requeued):
    out = tmp_path / "scratch" / "results-of-my home"
    job = cluster()
    wait_for(lambda: (out / "vanilla.pretrain.test.predictions").exists() and trainings(out))
    job.send_signal(sent)
    assert job.wait(LIMIT) == code
    wait_for(lambda: not trainings(out))
    asked = tmp_path / "scontrol"
    assert (asked.exists() and asked.read_text(encoding="utf-8") == "requeue 77\n") == requeued
    (tmp_path / "go").touch()
    assert cluster().wait(LIMIT) == 0
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert log.count(" is done: ") == 7 and log.count(f"results in {out}\n") == 2
    there = tmp_path / "my home" / "src" / "submission"
    for one in JOBS.values():
        assert (there / one.writes).read_bytes() == (out / one.writes).read_bytes()
        assert (there / one.writes).stat().st_mtime_ns == (out / one.writes).stat().st_mtime_ns
        assert (there / "runs" / f"{one.writes}.made.json").exists()
    assert not list(there.rglob("*.tmp"))


@pytest.mark.skipif(not shutil.which("flock"), reason="needs flock")
def test_a_second_job_of_the_same_copy_is_refused(cluster, tmp_path):
    out = tmp_path / "scratch" / "results-of-my home"
    first = cluster()
    wait_for(lambda: trainings(out))
    assert cluster().wait(LIMIT) == 2
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert f"Another job trains into {out}." in log and "OUT=FOLDER" in log
    first.send_signal(signal.SIGTERM)
    assert first.wait(LIMIT) == 143
    wait_for(lambda: not trainings(out))


def test_a_job_that_fails_says_so_and_copies_nothing(cluster, tmp_path):
    (tmp_path / "go").touch()
    assert cluster("--data", str(tmp_path / "nowhere")).wait(LIMIT) == 2
    assert "nowhere" in (tmp_path / "log").read_text(encoding="utf-8")
    assert not list((tmp_path / "my home" / "src" / "submission").glob("*.params"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_job_that_got_no_gpu_ends_at_once(cluster, tmp_path):
    assert cluster(device=()).wait(LIMIT) == 2
    assert "--device cuda: torch" in (tmp_path / "log").read_text(encoding="utf-8")


def test_slurm_reads_its_settings():
    """They count only above the first command; Slurm refuses line ends of Windows."""
    text = SCRIPT.read_bytes().decode()
    head, _, body = text.partition("\nset -eu\n")
    for option in ("--gres=gpu:1", "--requeue", "--signal=B:USR1@", "--open-mode=append"):
        assert f"\n#SBATCH {option}" in head
    assert "#SBATCH" not in body and "\r" not in text
