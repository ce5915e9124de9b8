"""What tests of jobs share: a demo, and what ./run.sh look finds in small models."""

import fcntl
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from helpers import ROOT
from instructor.mistakes.patches import Edit, make
from jobs.problem1.look.command import find
from looks import dataset_of, make_models, options_for

ROPE = "def initialize_rope_model(mconf: GPTConfig) -> GPT:\n"
HOOK = '    import os\n    exec(os.environ.get("HOOK", ""))\n'
TRAIN = "    trainer_obj.train()\n"
# Prints much, also through the shell, the last line without an end; reads three characters; the
# last training deletes its log.
TALKS = """    import os, pathlib, sys
    name = writing_params_path.split("/")[-1].removesuffix(".tmp")
    for number in range(3000):
        print(name, number)
    os.system("echo from the shell")
    print("read", repr(sys.stdin.read(3)))
    trainer_obj.train()
    if name == "rope.finetune.params":
        for log in pathlib.Path(writing_params_path).parent.glob("runs/rope_finetune*.log"):
            log.unlink()
    print("the end of", name, end="")
"""


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """A demo of smoke size, one job at a time: its folder, `code`, and what it `printed`. All tests
    share it, so it is not to be changed. The code is the reference's, but its train() talks, and
    initialize_rope_model() first does what the variable HOOK says.
    """
    top = tmp_path_factory.getbasetemp()
    top = top.parent if "PYTEST_XDIST_WORKER" in os.environ else top
    code, out, printed = top / "talkative", top / "demo", top / "demo.txt"
    with open(top / "demo.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            make((Edit("helper.py", ROPE, ROPE + HOOK), Edit("helper.py", TRAIN, TALKS)), code)
            command = [sys.executable, ROOT / "src" / "run.py", "demo", "--preset", "smoke"]
            command += ["--submission", code, "--out", out, "--jobs", "1"]
            streams = {"input": "yes" * 11, "stdout": subprocess.PIPE, "encoding": "utf-8"}
            process = subprocess.run(command, check=True, **streams)
            printed.write_text(process.stdout, encoding="utf-8")
    return SimpleNamespace(folder=out, code=code, printed=printed.read_text(encoding="utf-8"))


@pytest.fixture
def results(demo, tmp_path):
    """A copy of the results of all eleven jobs that a test may damage."""
    return shutil.copytree(demo.folder, tmp_path / "results")


@pytest.fixture
def code(tmp_path):
    """A function that writes the reference with changes; returns its folder."""
    return lambda *changes: make(changes, tmp_path / "code")


@pytest.fixture
def dataset(submission):
    return dataset_of(submission)


@pytest.fixture
def models(submission, seed, tmp_path):
    """By their positions, with random weights that are in tmp_path."""
    return make_models(submission, tmp_path)


@pytest.fixture
def found(models, tmp_path):
    return find(options_for(tmp_path))
