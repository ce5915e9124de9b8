"""Several processes train as one does, and the first alone speaks and writes."""

import os
import signal
import socket
import subprocess
import sys

import pytest
import torch

from conftest import ROOT, SOLUTION, run_cli
from processes import descendants, is_running, wait_until
from small_training import Counting

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
    import sys

    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    from jobs.package import load_submission

    torch.set_num_threads(1)
    submission = load_submission(SOLUTION)
    settings = {
        name: value.format(rank=rank) if name == "ckpt_path" else value
        for name, value in settings.items()
    }
    if world > 1:
        os.environ |= {
            "RANK": str(rank),
            "WORLD_SIZE": str(world),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        torch.distributed.init_process_group("gloo")
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


def run(world, folder, **settings):
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
    ((alone, history, _),) = run(1, tmp_path)
    for weights, seen, _ in run(3, tmp_path, ckpt_path=str(tmp_path / "run.ckpt")):
        assert max((weights[name] - alone[name]).abs().max() for name in alone) < 1e-4
        assert [entry["step"] for entry in seen] == [entry["step"] for entry in history]
        assert all(abs(a["loss"] - b["loss"]) < 1e-4 for a, b in zip(seen, history))
    ((resumed, *_),) = run(1, tmp_path, ckpt_path=str(tmp_path / "run.ckpt"), resume=True)
    assert all(torch.equal(resumed[name], weights[name]) for name in weights)


@pytest.mark.full
def test_dropout_differs_between_processes(tmp_path):
    (_, _, one), (_, _, other) = run(2, tmp_path, dropout=0.5, max_epochs=1)
    assert not torch.equal(one, other)


@pytest.mark.full
def test_a_checkpoint_that_only_some_see(tmp_path):
    """As on machines that share no folder: all would wait for each other."""
    run(1, tmp_path, ckpt_path=str(tmp_path / "0.ckpt"))
    with pytest.raises(Exception, match="is not the same for all processes"):
        run(2, tmp_path, ckpt_path=str(tmp_path / "{rank}.ckpt"), resume=True)


SMOKE = ("--preset", "smoke", "--nproc", "2")


def test_the_command(tmp_path):
    words = (*SMOKE, "--submission", SOLUTION, "--out", tmp_path, "--log")
    result = run_cli("vanilla_pretrain", *words)
    assert result.returncode == 0 and "Warning" not in result.stderr, result.stderr
    for line, count in (("vanilla_pretrain\n", 1), ("Wrote", 2), ("Preset smoke", 1)):
        assert result.stdout.count(line) == count
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "vanilla.pretrain.params"]


@pytest.mark.parametrize(
    "target, code, exit_code, message",
    [
        ("vanilla_finetune_with_pretrain", SOLUTION, 2, "which is not there"),
        ("vanilla_pretrain", ROOT / "src" / "submission", 3, "Not implemented yet"),
    ],
)
def test_mistakes_are_told_once(tmp_path, target, code, exit_code, message):
    result = run_cli(target, *SMOKE, "--submission", code, "--out", tmp_path)
    assert result.returncode == exit_code and result.stderr.count(message) == 1
    assert "Traceback" not in result.stderr


@pytest.mark.full
@pytest.mark.parametrize(
    "ending, exit_code, message",
    [
        (signal.SIGKILL, 2, "was killed from outside (signal 9, perhaps out of memory)."),
        (signal.SIGINT, 130, "was interrupted"),
    ],
)
def test_ends_are_told_and_nobody_is_left(tmp_path, ending, exit_code, message):
    """One of two processes is killed, or Ctrl-C ends all."""
    words = ["--preset", "laptop", "--submission", SOLUTION, "--out", tmp_path, "--nproc", "2"]
    with open(tmp_path / "said", "wb") as said:
        process = subprocess.Popen(
            [sys.executable, ROOT / "src" / "run.py", "vanilla_pretrain", *words],
            stdout=said,
            stderr=said,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
    said = tmp_path / "said"
    wait_until(lambda: process.poll() is not None or b"epoch 1" in said.read_bytes())
    workers = descendants(process.pid)
    (second,) = (pid for pid in workers if b"\0RANK=1\0" in environment_of(pid))
    os.kill(second if ending == signal.SIGKILL else process.pid, ending)
    assert process.wait(60) == exit_code
    text = said.read_text(encoding="utf-8")
    assert text.count(message) == 1 and "Traceback" not in text
    assert not any(map(is_running, workers))


def environment_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        return b"\0" + file.read()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["vanilla_pretrain", "--nproc", "0"], "a whole number from 1"),
        (["vanilla_eval_dev_with_pretrain", "--nproc", "2"], "runs in one process"),
        (["demo", "--nproc", "2"], "runs in one process"),
        (["dashboard", "--nproc", "3"], "runs in one process"),
        (["vanilla_pretrain", "--jobs", "2"], "is one job. Leave it out"),
        (["all", "--jobs", "2", "--nproc", "2"], "Leave"),
    ],
)
def test_what_does_not_train_takes_one_process(arguments, message):
    result = run_cli(*arguments)
    assert result.returncode == 2 and message in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("target", ["all", "demo", "encoder_report"])
def test_torchrun_is_for_single_trainings(target, monkeypatch):
    """Else each process would choose a folder of its own, or all would write the same files."""
    for name, value in {"TORCHELASTIC_RUN_ID": "1", "WORLD_SIZE": "2", "RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    result = run_cli(target)
    assert result.returncode == 2 and "one training at a time" in result.stderr
