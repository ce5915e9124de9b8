"""Grading on a cluster: the same grades, nobody else's code, and a sentence where it cannot be
reached.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request

import psutil
import pytest
from distributed import Client
from test_batch import QUICK, command, submissions, verdicts

from autograder.trial import choose
from common.files import UserError
from conftest import ROOT
from instructor.grading.engines.cluster import Cluster

DASK = [sys.executable, "-m", "dask"]
DOCUMENT = (
    (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8").split("### On a cluster")[1]
)
LEVEL = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import instructor
from common.files import UserError
from instructor.grading.engines import cluster
cluster.ANSWERS, cluster.COMES = 3, 3
try:
    print(cluster.Cluster(sys.argv[1]).level())
except UserError as error:
    print(error)
"""
PLAIN = {"DASK_CONFIG": "/nowhere"}  # whatever Dask's configuration is here


def options(program):
    """The options of a documented command, for one machine."""
    line = re.search(rf"^\$ dask {program} (.*) &$", DOCUMENT, re.MULTILINE)[1]
    return line.replace("--interface ib0", "--host 127.0.0.1").replace("--nworkers 64", "").split()


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Starts a scheduler and workers by the documented commands; gives the scheduler's file and all
    processes.
    """
    started = []

    def run(*workers, **environment):
        folder = tmp_path_factory.mktemp("dask")
        path = str(ROOT / "tests" / "instructor" / "grading")  # where batch_work is
        programs = [([*DASK, "scheduler", "--port", "0", *options("scheduler")], {})]
        for n, own in enumerate(workers):
            words = [*DASK, "worker", "--local-directory", str(folder / str(n))]
            programs.append(([*words, *options("worker")], {"PYTHONPATH": path, **own}))
        for words, own in programs:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
            own = {**os.environ, **environment, **own}
            started.append(subprocess.Popen(words, **quiet, env=own))
        return folder / "scheduler.json", started[-len(programs) :]

    yield run
    for process in started:
        process.kill()  # Dask can miss a milder signal while it starts
        process.wait()


def answer(scheduler, **environment):
    """What asking for the level gives: the level or a sentence, and nothing else."""
    done = subprocess.run(
        [sys.executable, "-c", LEVEL, str(scheduler)],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.stderr == "" and done.stdout.count("\n") == 1, done.stdout + done.stderr
    return done.stdout.strip()


def grading(folder, out, file, **environment):
    """A grading by a cluster, which has begun; a worker here may have no isolation."""
    words = "--seed 5 --engine dask --allow-weak-isolation --scheduler".split()
    return subprocess.Popen(
        [*QUICK, "grade", folder, "--out", out, *words, file],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def until_graded(grading, part):
    """Read what a grading writes until its bar shows the part; what was read."""
    read = ""
    while part not in read:
        read += (character := grading.stderr.read(1))
        assert character, read
    return read


def until(condition):
    """Wait for something that comes sooner or later."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def workers_of(file, count):
    """The addresses of a cluster's workers, once there are so many."""
    until(file.exists)
    with Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)
        return list(client.scheduler_info(n_workers=-1)["workers"])


def test_the_weakest_worker_counts_and_a_killed_one_loses_nothing(start, tmp_path):
    """The first of two workers does not find bubblewrap; the other is killed in the middle."""
    file, processes = start({"PATH": os.path.dirname(sys.executable)}, {}, **PLAIN)
    folder = submissions(tmp_path / "class", 12, pause=range(12))
    local = command("grade", folder, "--out", tmp_path / "local", "--seed", "5")
    assert local.returncode == 0, local.stderr
    address = workers_of(file, 2)[0]
    if choose().level.startswith("bubblewrap"):
        assert not Cluster(str(file)).level().startswith("bubblewrap")
    assert "it is a worker" in answer(address, **PLAIN)
    process = grading(folder, tmp_path / "out", file, **PLAIN)
    until_graded(process, "1/12")
    for member in [*psutil.Process(processes[2].pid).children(), processes[2]]:
        member.kill()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert verdicts(tmp_path / "out") == verdicts(tmp_path / "local")


@pytest.mark.full
def test_a_scheduler_that_is_lost_is_a_sentence(start, tmp_path):
    file, processes = start({}, **PLAIN)
    folder = submissions(tmp_path / "class", 12, pause=range(12))
    workers_of(file, 1)
    process = grading(folder, tmp_path / "out", file, **PLAIN)
    read = until_graded(process, "1/12")
    processes[0].kill()
    read += process.communicate(timeout=120)[1]
    lines = [line for line in re.split(r"[\r\n]", read) if line and not line.startswith("Grading:")]
    assert process.returncode == 2 and len(lines) == 1, read
    assert "is lost" in lines[0] and "run the same command" in lines[0]


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        ("tcp://127.0.0.1:1", "Connection refused"),
        ("tls://127.0.0.1:1", "check your TLS configuration"),
        ("http://127.0.0.1:1", "unknown address scheme 'http'"),
        ("missing.json", "there is no such file"),
        ("words.json", "it is not a scheduler file"),
    ],
)
def test_a_scheduler_that_cannot_be_reached_is_a_sentence(tmp_path, scheduler, message):
    (tmp_path / "words.json").write_text("tcp://127.0.0.1:1", encoding="utf-8")
    scheduler = tmp_path / scheduler if scheduler.endswith(".json") else scheduler
    sentence = answer(scheduler, **PLAIN)
    assert sentence.startswith(f"No Dask scheduler answers at {scheduler}: ")
    assert message in sentence and "docs/instructors.md" in sentence


@pytest.mark.full
def test_a_cluster_that_cannot_grade_is_a_sentence(start, monkeypatch):
    file, _ = start(**PLAIN)
    until(file.exists)
    assert "has no workers" in answer(file, **PLAIN)
    file, _ = start({}, **PLAIN)
    workers_of(file, 1)
    monkeypatch.setattr("instructor.grading.engines.cluster.ROOT", "/nowhere")
    with pytest.raises(UserError, match="cannot read /nowhere"):
        Cluster(str(file)).level()


@pytest.mark.full
def test_the_documented_certificates_and_ports_let_nobody_else_in(start, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl")
    block = next(block for block in DOCUMENT.split("```") if "openssl" in block)
    settings = []
    for name in ("mine", "other"):
        (home := tmp_path / name).mkdir()
        words = ["bash", "-euc", block.replace("$ ", "")]
        environment = {**os.environ, "HOME": str(home)}
        subprocess.run(words, check=True, capture_output=True, env=environment)
        settings.append({"DASK_CONFIG": str(home / ".config" / "dask")})
    mine, other = settings
    file, processes = start({}, **mine)
    until(file.exists)
    address = re.search(r"tls://[\d.:]+", file.read_text(encoding="utf-8"))[0]
    plain = address.replace("tls:", "tcp:")
    assert "TLS configuration" in answer(address, **PLAIN)
    assert "certificate verify failed" in answer(address, **other)
    assert "No Dask scheduler answers" in answer(plain, **PLAIN)
    assert "encryption required" in answer(plain, **mine)
    process = grading(submissions(tmp_path / "class", 3), tmp_path / "out", file, **mine)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0 and len(verdicts(tmp_path / "out")) == 3, errors
    addresses = [address for process in processes for address in listening(process)]
    assert addresses and {address.ip for address in addresses} == {"127.0.0.1"}
    for address in addresses:
        for page in ("info/main/workers.html", "info/logs.html", "json/counts.json", "metrics"):
            with pytest.raises(OSError):  # no such page, or it speaks TLS
                urllib.request.urlopen(f"http://127.0.0.1:{address.port}/{page}", timeout=5)


def listening(process):
    """The addresses that a process and its children listen at."""
    family = [psutil.Process(process.pid)]
    family += family[0].children(recursive=True)
    sockets = [socket for member in family for socket in member.net_connections("inet")]
    return [socket.laddr for socket in sockets if socket.status == "LISTEN"]
