"""Grading on a cluster: the same grades, nobody else's code, and a sentence if it is lost."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import psutil
import pytest
from classes import cli, set_up, start, students, verdicts
from distributed import Client

from common.files import UserError
from helpers import ROOT, descendants, wait_until
from instructor.grading import engine

DASK = [sys.executable, "-m", "dask"]
DOCUMENT = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
DOCUMENT = DOCUMENT.split("### On a cluster")[1]
PLAIN = {"DASK_CONFIG": "/nowhere"}  # whatever Dask's configuration is here
# the repository, as documented, and where batch_work is
PATHS = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'instructor' / 'grading'}"}


def options(program):
    line = re.search(rf"^\$ dask {program} (.*) &$", DOCUMENT, re.MULTILINE)[1]
    return line.replace("--interface ib0", "--host 127.0.0.1").replace("--nworkers 64", "").split()


@pytest.fixture
def start_cluster(tmp_path):
    """Starts a scheduler and workers as documented; gives the scheduler's file and processes."""
    started, file = [], tmp_path / "scheduler.json"

    def run(workers, **environment):
        programs = [[*DASK, "scheduler", "--port", "0", *options("scheduler")]]
        for n in range(workers):
            words = [*DASK, "worker", "--local-directory", str(tmp_path / f"worker{n}")]
            programs.append([*words, *options("worker")])
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
        own = {**os.environ, **PATHS, **environment}
        started.extend(subprocess.Popen(words, **quiet, env=own) for words in programs)
        wait_until(file.exists)
        return file, started

    yield run
    for process in started:
        process.kill()  # Dask can miss a milder signal while it starts
        process.wait()


def finish(process, code=0):
    _, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    return errors


def until_graded(grading, part):
    read = ""
    while part not in read:
        read += (character := grading.stderr.read(1))
        assert character, read
    return read


@pytest.mark.full
def test_a_cluster_grades_as_one_machine_and_a_killed_worker_loses_nothing(start_cluster, tmp_path):
    """A scheduler that is lost is a sentence."""
    file, processes = start_cluster(2, **PLAIN)
    students(tmp_path / "class", 12, pause=range(12))
    local = set_up(tmp_path / "local", submissions=["../class"], seed=5)
    finish(start("grade", local))
    with Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    out = set_up(tmp_path / "out", submissions=["../class"], seed=5)
    process = start("grade", out, "--cluster", file, **PLAIN)
    until_graded(process, "1/12")
    for pid in (*descendants(processes[2].pid), processes[2].pid):
        os.kill(pid, signal.SIGKILL)
    finish(process)
    assert verdicts(out) == verdicts(local)
    lost = set_up(tmp_path / "lost", submissions=["../class"])
    process = start("grade", lost, "--cluster", file, **PLAIN)
    read = until_graded(process, "1/12")
    processes[0].kill()
    read += finish(process, code=2)
    (line,) = [line for line in re.split(r"[\r\n]", read) if line and "Grading:" not in line]
    assert "No Dask cluster" in line and "is kept" in line


@pytest.mark.parametrize(
    "scheduler", ["tcp://127.0.0.1:1", "tls://127.0.0.1:1", "http://127.0.0.1:1", "words.json", "x"]
)
def test_a_scheduler_that_cannot_be_reached_is_a_sentence(tmp_path, monkeypatch, scheduler):
    monkeypatch.setattr(engine, "CONNECTS", 2)
    students(tmp_path / "class", 1)
    (tmp_path / "words.json").write_text("tcp://127.0.0.1:1", encoding="utf-8")
    scheduler = tmp_path / scheduler if scheduler.endswith(".json") else scheduler
    out = set_up(tmp_path / "out", submissions=["../class"])
    with pytest.raises(UserError, match=f"No Dask cluster at {scheduler} can grade: "):
        cli("grade", out, "--cluster", scheduler)


@pytest.mark.full
def test_the_documented_certificates_and_ports_let_nobody_else_in(start_cluster, tmp_path):
    block = next(block for block in DOCUMENT.split("```") if "openssl" in block)
    for name in ("mine", "other"):
        (home := tmp_path / name).mkdir()
        words, own = ["bash", "-euc", block.replace("$ ", "")], {**os.environ, "HOME": str(home)}
        subprocess.run(words, check=True, capture_output=True, env=own)
    mine, other = ({"DASK_CONFIG": f"{tmp_path / who}/.config/dask"} for who in ("mine", "other"))
    file, processes = start_cluster(1, **mine)
    students(tmp_path / "class", 3)
    out = set_up(tmp_path / "out", submissions=["../class"])
    tls = re.search(r"tls://[\d.:]+", file.read_text(encoding="utf-8"))[0]
    tcp = tls.replace("tls", "tcp")
    for address, environment in ((tls, PLAIN), (tls, other), (tcp, PLAIN), (tcp, mine)):
        process = start("grade", out, "--cluster", address, **environment)
        assert "No Dask cluster" in finish(process, code=2)
    finish(start("grade", out, "--cluster", file, **mine))
    assert len(verdicts(out)) == 3
    pids = [pid for process in processes for pid in (process.pid, *descendants(process.pid))]
    sockets = [socket for pid in pids for socket in psutil.Process(pid).net_connections("inet")]
    addresses = [socket.laddr for socket in sockets if socket.status == "LISTEN"]
    assert addresses and {address.ip for address in addresses} == {"127.0.0.1"}
    for address in addresses:
        for page in ("info/main/workers.html", "info/logs.html", "json/counts.json", "metrics"):
            with pytest.raises(OSError):  # no such page, or it speaks TLS
                urllib.request.urlopen(f"http://127.0.0.1:{address.port}/{page}", timeout=5)
