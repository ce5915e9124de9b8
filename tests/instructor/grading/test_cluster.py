"""Grading on a cluster: the same grades, nobody else's code, and a sentence where it cannot be
reached.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import psutil
import pytest
from distributed import Client
from test_batch import QUICK, command, submissions, verdicts

from autograder.isolation import choose, strength
from conftest import ROOT
from instructor.grading.engines.cluster import Cluster
from instructor.grading.engines.local import Local

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
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        path = {"PYTHONPATH": str(ROOT / "tests" / "instructor" / "grading")}  # where batch_work is
        scheduler = [*DASK, "scheduler", "--port", "0", *options("scheduler")]
        processes = [subprocess.Popen(scheduler, **quiet, env={**os.environ, **environment})]
        for n, own in enumerate(workers):
            processes.append(
                subprocess.Popen(
                    [
                        *DASK,
                        "worker",
                        "--local-directory",
                        str(folder / str(n)),
                        *options("worker"),
                    ],
                    **quiet,
                    env={**os.environ, **path, **environment, **own},
                )
            )
        started.extend(processes)
        return folder / "scheduler.json", processes

    yield run
    for process in started:
        process.terminate()
    for process in started:
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # Dask can miss it while it starts
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(start):
    """Two workers without TLS. The first does not find bubblewrap."""
    return start({"PATH": os.path.dirname(sys.executable)}, {}, **PLAIN)


@pytest.fixture(scope="module")
def secure(start, tmp_path_factory):
    """A worker with TLS, as documented, with the environment that makes Dask use it; and another
    key's.
    """
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl")
    block = next(block for block in DOCUMENT.split("```") if "openssl" in block)
    homes = []
    for _ in range(2):
        homes.append(tmp_path_factory.mktemp("home"))
        subprocess.run(
            ["bash", "-euc", block.replace("$ ", "")],
            check=True,
            capture_output=True,
            env={**os.environ, "HOME": str(homes[-1])},
        )
    mine, other = ({"DASK_CONFIG": str(home / ".config" / "dask")} for home in homes)
    return *start({}, **mine), mine, other


def said(scheduler, **environment):
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
    """A grading by a cluster, which has begun."""
    return subprocess.Popen(
        [
            *QUICK,
            "grade",
            folder,
            "--out",
            out,
            "--seed",
            "5",
            "--engine",
            "dask",
            "--scheduler",
            file,
            "--allow-weak-isolation",  # a worker here may have none
        ],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def test_the_level_is_that_of_the_weakest_worker(cluster):
    assert Local(1, "").level() == choose().level
    code = "import instructor; from autograder.isolation import choose; print(choose().level)"
    weak = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PATH": os.path.dirname(sys.executable)},
    )
    workers_of(cluster[0], 2)
    levels = choose().level, weak.stdout.strip()
    assert Cluster(str(cluster[0])).level() == min(levels, key=strength)


@pytest.mark.full
def test_a_cluster_gives_the_same(cluster, tmp_path):
    """One of its workers is killed in the middle."""
    file, processes = cluster
    folder = submissions(tmp_path / "class", 24, pause=range(24))
    local = command("grade", folder, "--out", tmp_path / "local", "--seed", "5")
    assert local.returncode == 0, local.stderr
    workers_of(file, 2)
    process = grading(folder, tmp_path / "out", file, **PLAIN)
    until_graded(process, "1/24")
    for one in [*psutil.Process(processes[1].pid).children(), processes[1]]:
        one.kill()
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
        ("tcp://127.0.0.1:1", "No Dask scheduler answers at tcp://127.0.0.1:1"),
        pytest.param(
            "tcp://nobody.invalid:8786",
            "No Dask scheduler answers at tcp://nobody.invalid:8786",
            marks=pytest.mark.full,
        ),
        ("tls://127.0.0.1:1", "has no certificates"),
        ("tcp://127.0.0.1", "missing port"),
        ("http://127.0.0.1:1", "unknown address scheme 'http'"),
        ("FOLDER/missing.json", "there is no such file"),
        ("FOLDER/words.json", "it is not a scheduler file"),
        ("FOLDER/list.json", "it is not a scheduler file"),
        pytest.param("FOLDER/stale.json", "No Dask scheduler answers", marks=pytest.mark.full),
    ],
)
def test_a_scheduler_that_cannot_be_reached_is_a_sentence(tmp_path, scheduler, message):
    (tmp_path / "words.json").write_text("tcp://127.0.0.1:1", encoding="utf-8")
    (tmp_path / "list.json").write_text("[1]", encoding="utf-8")
    (tmp_path / "stale.json").write_text('{"address": "tcp://127.0.0.1:1"}', encoding="utf-8")
    sentence = said(scheduler.replace("FOLDER", str(tmp_path)), **PLAIN)
    assert message in sentence and "docs/instructors.md" in sentence


def test_a_scheduler_without_workers_is_a_sentence(start):
    file, _ = start(**PLAIN)
    until(file.exists)
    assert "has no workers" in said(file, **PLAIN)


def test_a_worker_is_no_scheduler(cluster):
    assert "it is a worker" in said(workers_of(cluster[0], 1)[0], **PLAIN)


@pytest.mark.full
def test_with_certificates_only_who_has_the_key_gets_in(secure, tmp_path):
    file, _, mine, other = secure
    until(file.exists)
    address = re.search(r"tls://[\d.:]+", file.read_text(encoding="utf-8"))[0]
    assert "has no certificates" in said(address, **PLAIN)
    assert "certificate verify failed" in said(address, **other)
    assert "No Dask scheduler answers" in said(address.replace("tls:", "tcp:"), **PLAIN)
    assert "encryption required" in said(address.replace("tls:", "tcp:"), **mine)
    process = grading(submissions(tmp_path / "class", 3), tmp_path / "out", file, **mine)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0 and len(verdicts(tmp_path / "out")) == 3, errors


@pytest.mark.full
def test_the_documented_commands_open_nothing_to_the_network(secure):
    """And nothing can be read at the ports that they open."""
    _, processes, _, _ = secure
    until(lambda: all(listening(process) for process in processes))
    addresses = [address for process in processes for address in listening(process)]
    assert addresses and {address.ip for address in addresses} == {"127.0.0.1"}
    answers = 0
    for address in addresses:
        for page in ("info/main/workers.html", "info/logs.html", "json/counts.json", "metrics"):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{address.port}/{page}", timeout=5)
                pytest.fail(f"{page} is shown")
            except urllib.error.HTTPError:
                answers += 1
            except OSError:
                pass  # it speaks TLS
    assert answers, "nothing was tried"


def workers_of(file, count):
    """The addresses of a cluster's workers, once there are so many."""
    until(file.exists)
    with Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)
        return list(client.scheduler_info(n_workers=-1)["workers"])


def until_graded(grading, part):
    """Read what a grading writes until its bar shows the part; what was read."""
    read = ""
    while part not in read:
        read += (character := grading.stderr.read(1))
        assert character, read
    return read


def until(condition, seconds=60):
    """Wait for something that comes sooner or later."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def listening(process):
    """The addresses that a process and its children listen at."""
    family = [psutil.Process(process.pid)]
    family += family[0].children(recursive=True)
    return [
        one.laddr
        for member in family
        for one in member.net_connections("inet")
        if one.status == "LISTEN"
    ]
