"""Several processes train as one does, and the first alone speaks and writes."""

import os
import signal
import socket
import subprocess
import sys

import pytest
import torch

import run
from helpers import (
    ROOT,
    SOLUTION,
    STARTER,
    Counting,
    call,
    descendants,
    is_running,
    run_cli,
    wait_until,
)
from jobs.options import choose_options
from jobs.package import load_submission
from jobs.records import Record, ingredients, write_record
from jobs.targets import JOBS
from run import build_parser

SETTINGS = {
    "max_epochs": 3,
    "batch_size": 4,
    "learning_rate": 1e-2,
    "device": "cpu",
    "progress": False,
    "log_every": 3,
    "ckpt_seconds": 0,
}


def train(rank: int, world: int, port: int, folder: str, settings: dict) -> None:
    """Train a small model as one of several processes, and keep its weights, its history, and the
    random numbers that come next.
    """
    torch.set_num_threads(1)
    submission = load_submission(SOLUTION)
    if world > 1:
        os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world)}
        address = f"tcp://127.0.0.1:{port}"
        torch.distributed.init_process_group("gloo", address, rank=rank, world_size=world)
    torch.manual_seed(7)
    dropout = settings.pop("dropout", 0.0)
    shape = {"n_layer": 1, "n_head": 2, "n_embd": 8}
    drops = {"embd_pdrop": dropout, "resid_pdrop": 0.0, "attn_pdrop": 0.0}
    model = submission.GPT(submission.GPTConfig(11, 14, **shape, **drops))
    model.unused = torch.nn.Linear(3, 3)  # a student may have a layer that is not called
    trainer = submission.Trainer(
        model, Counting(), None, submission.TrainerConfig(**{**SETTINGS, **settings})
    )
    trainer.train()
    torch.save((model.state_dict(), trainer.history, torch.rand(5)), f"{folder}/{world}-{rank}.pt")
    if world > 1:
        torch.distributed.destroy_process_group()


def trained(world, folder, **settings):
    """The weights, the history and the next random numbers of each of `world` processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(train, (world, port, str(folder), settings), nprocs=world)
    return [torch.load(folder / f"{world}-{rank}.pt") for rank in range(world)]


@pytest.mark.full
def test_the_weights_are_those_of_one_process(tmp_path):
    """37 rows in batches of 4: rows have different numbers of targets, and the last batch has fewer
    rows than there are processes. Within 1e-4: sums are taken in another order. The checkpoint of
    several processes serves one.
    """
    ((alone, history, _),) = trained(1, tmp_path)
    for weights, seen, _ in trained(3, tmp_path, ckpt_path=str(tmp_path / "run.ckpt")):
        assert max((weights[name] - alone[name]).abs().max() for name in alone) < 1e-4
        assert [entry["step"] for entry in seen] == [entry["step"] for entry in history]
        assert all(abs(a["loss"] - b["loss"]) < 1e-4 for a, b in zip(seen, history))
    ((resumed, *_),) = trained(1, tmp_path, ckpt_path=str(tmp_path / "run.ckpt"), resume=True)
    assert all(torch.equal(resumed[name], weights[name]) for name in weights)


@pytest.mark.full
def test_dropout_differs_between_processes(tmp_path):
    (_, _, one), (_, _, other) = trained(2, tmp_path, dropout=0.5, max_epochs=1)
    assert not torch.equal(one, other)


def torchrun(*arguments, **options):
    """Run run.py in two processes."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--"]
    return subprocess.Popen(
        [*command, str(ROOT / "src" / "run.py"), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        **options,
    )


SMOKE = ("vanilla_pretrain", "--preset", "smoke", "--submission", SOLUTION)


@pytest.mark.full
def test_the_command(tmp_path):
    process = torchrun(*SMOKE, "--out", tmp_path, "--log")
    said, complained = process.communicate(timeout=100)
    assert process.returncode == 0, complained
    for line, count in (("vanilla_pretrain\n", 1), ("Wrote", 2), ("Preset smoke", 1)):
        assert said.count(line) == count
    assert complained.count(" 0/21 [") == 1  # one bar, that of the first process
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "vanilla.pretrain.params"]


@pytest.mark.full
def test_mistakes_are_told_once(tmp_path):
    words = ("--preset", "smoke", "--submission", STARTER, "--out", tmp_path)
    process = torchrun("vanilla_pretrain", *words)
    _, complained = process.communicate(timeout=100)
    assert process.returncode == 1 and complained.count("Not implemented yet") == 1


@pytest.mark.full
def test_a_checkpoint_that_only_some_see(tmp_path):
    """As on machines that share no folder: some would train on from it, and others from the start."""
    whole = run_cli(*SMOKE, "--out", tmp_path / "0")
    assert whole.returncode == 0
    options = choose_options(build_parser().parse_args([*map(str, SMOKE), "--out", str(tmp_path)]))
    record = Record(ingredients(JOBS["vanilla_pretrain"], options))
    for rank in "01":
        (tmp_path / rank / "runs").mkdir(parents=True, exist_ok=True)
    (tmp_path / "0" / "vanilla.pretrain.params").unlink()
    write_record(tmp_path / "0" / "vanilla.pretrain.ckpt", record)
    (tmp_path / "0" / "vanilla.pretrain.ckpt").write_bytes(b"x")
    script = tmp_path / "each.py"
    script.write_text(EACH.format(source=str(ROOT / "src"), out=str(tmp_path)), encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", script]
    words = [*map(str, SMOKE), "--resume"]
    process = subprocess.run([*command, *words], capture_output=True, encoding="utf-8")
    assert process.returncode and "Use a folder that all machines share" in process.stderr
    assert (tmp_path / "0" / "vanilla.pretrain.ckpt").read_bytes() == b"x"


# each process has a folder of its own for results
EACH = """
import os, sys
sys.path.insert(0, {source!r})
sys.argv += ["--out", {out!r} + "/" + os.environ["RANK"]]
import run
sys.exit(run.main())
"""


@pytest.mark.full
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_nobody_is_left(tmp_path, ending):
    """One of two processes is killed, or Ctrl-C ends all; a checkpoint is kept."""
    words = ["vanilla_pretrain", "--preset", "laptop", "--submission", SOLUTION, "--out", tmp_path]
    process = torchrun(*words, start_new_session=True)
    checkpoint = tmp_path / "runs" / "vanilla.pretrain.ckpt.json"
    wait_until(lambda: process.poll() is not None or checkpoint.exists())
    workers = descendants(process.pid)
    (second,) = (pid for pid in workers if b"\0RANK=1\0" in environment_of(pid))
    if ending == signal.SIGKILL:
        os.kill(second, ending)
    else:
        os.killpg(process.pid, ending)  # as a terminal sends it
    _, complained = process.communicate(timeout=100)
    assert process.returncode and not any(map(is_running, workers))
    assert complained.count("vanilla_pretrain was interrupted") == (ending == signal.SIGINT)


def environment_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        return b"\0" + file.read()


@pytest.mark.parametrize("target", ["all", "demo", "encoder_report"])
def test_torchrun_is_for_single_trainings(target):
    """Else each process would choose a folder of its own, or all would write the same files."""
    result = call(run.main, target, TORCHELASTIC_RUN_ID="1", WORLD_SIZE="2", RANK="0")
    assert result.returncode == 2 and "one training at a time" in result.stderr
