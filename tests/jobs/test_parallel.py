"""Several processes train as one does, and the first alone speaks and writes."""

import os
import signal
import socket
import subprocess
import sys

import pytest
import torch

import run
from helpers import ROOT, SOLUTION, Counting, call, descendants, is_running, wait_until
from jobs.package import load_submission
from jobs.parallel import joined

SETTINGS = {"max_epochs": 3, "batch_size": 4, "learning_rate": 1e-2, "log_every": 3}


def train(rank, world, port, folder, seed, settings):
    """Train a small model as one of several processes, and keep weights, history and seed."""
    torch.set_num_threads(1)
    submission = load_submission(SOLUTION)
    if world > 1:
        os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world)}
        address = f"tcp://127.0.0.1:{port}"
        torch.distributed.init_process_group("gloo", address, rank=rank, world_size=world)
    torch.manual_seed(seed)
    drops = dict.fromkeys(("embd_pdrop", "resid_pdrop", "attn_pdrop"), 0.0)
    config = submission.GPTConfig(11, 14, n_layer=1, n_head=2, n_embd=8, **drops)
    model = submission.GPT(config)
    model.unused = torch.nn.Linear(3, 3)  # a student may have a layer that is not called
    settings = {"device": "cpu", "progress": False, "ckpt_seconds": 0, **SETTINGS, **settings}
    trainer = submission.Trainer(model, Counting(), None, submission.TrainerConfig(**settings))
    trainer.train()
    kept = model.state_dict(), trainer.history, torch.initial_seed()
    torch.save(kept, f"{folder}/{world}-{rank}.pt")
    if world > 1:
        torch.distributed.destroy_process_group()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def trained(world, folder, seed, **settings):
    """The weights, the history and the last seed of each of `world` processes."""
    torch.multiprocessing.spawn(train, (world, free_port(), folder, seed, settings), nprocs=world)
    return [torch.load(folder / f"{world}-{rank}.pt") for rank in range(world)]


@pytest.mark.full
def test_the_weights_are_those_of_one_process(tmp_path, seed):
    """37 rows in batches of 4: rows have different numbers of targets, and the last batch has fewer
    rows than there are processes. Within 1e-4: sums are taken in another order. The checkpoint of
    several processes serves one.
    """
    ((alone, history, _),) = trained(1, tmp_path, seed)
    several = trained(3, tmp_path, seed, ckpt_path=str(tmp_path / "run.ckpt"))
    assert len({seed for *_, seed in several}) == 3, "dropout would be the same in all"
    for weights, seen, _ in several:
        assert max((weights[name] - alone[name]).abs().max() for name in alone) < 1e-4
        assert [entry["step"] for entry in seen] == [entry["step"] for entry in history]
        assert all(abs(a["loss"] - b["loss"]) < 1e-4 for a, b in zip(seen, history))
    ((resumed, *_),) = trained(1, tmp_path, seed, ckpt_path=str(tmp_path / "run.ckpt"), resume=True)
    assert all(torch.equal(resumed[name], weights[name]) for name in weights)


def torchrun(*arguments, preset="smoke"):
    """Start vanilla_pretrain in two processes, in a process group of their own."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--"]
    words = ["vanilla_pretrain", "--preset", preset, "--submission", SOLUTION, *arguments]
    command += [ROOT / "src" / "run.py", *words]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    return subprocess.Popen([*map(str, command)], start_new_session=True, **streams)


@pytest.mark.full
def test_the_command(tmp_path):
    process = torchrun("--out", tmp_path, "--log")
    said, complained = process.communicate(timeout=100)
    assert process.returncode == 0, complained
    for line, count in (("vanilla_pretrain\n", 1), ("Wrote", 2), ("Preset smoke", 1)):
        assert said.count(line) == count
    assert complained.count(" 0/21 [") == 1  # one bar, that of the first process
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "vanilla.pretrain.params"]


def disagree(rank, port):
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "1"}
    os.environ |= {**address, "RANK": str(rank), "WORLD_SIZE": "2"}
    with joined("cpu", begins=("unfinished", "")[rank]):
        pass


@pytest.mark.full
def test_a_checkpoint_that_only_some_see():
    """Some would train on from it, and others from the start."""
    with pytest.raises(Exception, match="Use a folder that all machines share"):
        torch.multiprocessing.spawn(disagree, (free_port(),), nprocs=2)


def environment_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        return b"\0" + file.read()


@pytest.mark.full
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_nobody_is_left(tmp_path, ending):
    """One of two processes is killed, or Ctrl-C ends all; a checkpoint is kept."""
    process = torchrun("--out", tmp_path, preset="laptop")
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


@pytest.mark.parametrize("target", ["all", "demo", "encoder_report"])
def test_torchrun_is_for_single_trainings(target):
    """Else each process would choose a folder of its own, or all would write the same files."""
    result = call(run.main, target, TORCHELASTIC_RUN_ID="1", WORLD_SIZE="2", RANK="0")
    assert result.returncode == 2 and "one training at a time" in result.stderr
