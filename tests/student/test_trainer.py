"""The trainer: the same run twice is the same, interrupted or not, and it says what went wrong."""

import functools
import itertools
import math
import os
import random
import signal
import subprocess
import sys

import pytest
import torch

from helpers import ROOT, Counting, descendants, is_running, wait_until

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")


def weights(trainer):
    return torch.cat([p.detach().flatten() for p in trainer.model.parameters()])


def trained(trainer, seed=3):
    """Train it, whatever torch's own seed is; returns it."""
    torch.manual_seed(seed)
    trainer.train()
    return trainer


@pytest.fixture
def kept(tmp_path):
    """The settings of a trainer that writes a checkpoint after each epoch."""
    return {"ckpt_path": str(tmp_path / "run.ckpt"), "ckpt_seconds": 0}


def test_it_learns_and_repeats(fresh):
    settings = {"max_epochs": 30, "final_tokens": 30 * 37 * 14}
    first, second = random.sample(range(2**31), 2)
    seeds = first, first, second
    one, two, other = (trained(fresh(**settings, seed=seed)) for seed in seeds)
    assert one.history[-1]["loss"] < 0.5 * one.history[0]["loss"]
    assert torch.equal(weights(one), weights(two))
    assert not torch.equal(weights(one), weights(other))


@GPU
def test_recorded_steps_learn_what_steps_learn(fresh):
    """The losses to 0.01: sums are taken in another order. Memory is as before."""
    settings = {"device": "cuda", "precision": "fp32", "max_epochs": 20}
    runs = [fresh(graphs=graphs, **settings) for graphs in (False, True)]
    for trainer in runs:
        for module in trainer.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        before = torch.cuda.memory_allocated()
        trainer.train()
        del trainer.optimizer
        assert torch.cuda.memory_allocated() - before < 2**20
    for recorded, stepwise in zip(*(trainer.history for trainer in runs), strict=True):
        assert abs(recorded["loss"] - stepwise["loss"]) < 0.01


@GPU
def test_a_model_that_waits_for_the_gpu_says_how_to_go_on(submission, fresh):
    trainer = fresh(device="cuda")
    trainer.model.register_forward_pre_hook(lambda *_: torch.cuda.synchronize())
    with pytest.raises(
        submission.trainer.TrainingError, match=r"test_trainer.py, line \d+.*--no-graphs"
    ):
        trainer.train()


@pytest.mark.parametrize("epoch_of_interruption", [1, 3])
def test_resume_is_bit_identical(fresh, kept, epoch_of_interruption):
    whole, broken, steps = trained(fresh(**kept)), fresh(**kept), itertools.count()

    def interrupt(*_):
        if next(steps) == 5 * epoch_of_interruption + 2:
            raise KeyboardInterrupt

    broken.model.register_forward_pre_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        trained(broken)
    resumed = trained(fresh(**kept, resume=True), seed=1234)
    assert torch.equal(weights(resumed), weights(whole))
    assert not torch.equal(weights(broken), weights(whole))
    assert resumed.history == whole.history and resumed.step == whole.step


def test_a_checkpoint_not_written_stops_nothing_and_a_damaged_one_all(
    fresh, kept, tmp_path, capsys
):
    trainer = fresh(**kept | {"ckpt_path": str(tmp_path / "nowhere" / "run.ckpt")}, max_epochs=2)
    trainer.train()
    assert trainer.epoch == 2 and "not be written" in capsys.readouterr().out
    fresh(**kept).train()
    path = tmp_path / "run.ckpt"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(RuntimeError, match="damaged"):
        fresh(**kept, resume=True).train()


def test_cropping_changes_no_loss(submission, fresh, seed):
    """To 1e-5, of rows of 14 columns; an epoch has all rows, in another order."""
    dataset, model = Counting(), fresh().model.eval()
    x, y, _ = submission.given.epochs.draw(dataset, seed, 3)
    rows = torch.from_numpy(x).long().split(2), torch.from_numpy(y).long().split(2)
    config = submission.TrainerConfig(batch_size=2, seed=seed, max_epochs=4)
    (batches,) = submission.given.epochs.epochs_ahead(dataset, config, 3, torch.device("cpu"))
    assert [len(xs) for xs, _ in batches] == 18 * [2] + [1]
    # of 18 pairs, each has a longest row in 1 of 6 draws
    assert min(xs.size(1) for xs, _ in batches) < 14, "nothing was cropped"
    for whole_x, whole_y, (xs, ys) in zip(*rows, batches, strict=True):
        width = xs.size(1)
        assert torch.equal(whole_x[:, :width], xs) and torch.equal(whole_y[:, :width], ys)
        assert whole_y[:, width:].eq(0).all() and ys[:, -1].ne(0).any()
        assert torch.allclose(model(whole_x, whole_y)[1], model(xs, ys)[1], atol=1e-5)
    first = x[:, 0].tolist()
    assert first != sorted(first) == sorted(i % 10 + 1 for i in range(37))


def test_batches_of_other_devices_have_few_widths(submission, seed):
    config = submission.TrainerConfig(batch_size=4, seed=seed, max_epochs=1)
    ahead, device = submission.given.epochs.epochs_ahead, torch.device("meta")
    (batches,) = ahead(Counting(width=40), config, 0, device)
    assert {x.size(1) for x, _ in batches} <= {16, 32, 40}


def test_learning_rate_warms_up_then_falls_and_stays_down(submission):
    tokens = {"warmup_tokens": 1000, "final_tokens": 20_000}
    config = submission.TrainerConfig(learning_rate=1.0, lr_decay=True, **tokens)
    rates = [
        submission.trainer.learning_rate_at(tokens, 10, config) for tokens in range(0, 100_000, 500)
    ]
    assert rates[0] == 0 and max(rates) == rates[2] == pytest.approx(1.0)
    assert all(a >= b for a, b in zip(rates[2:], rates[3:])), "the rate climbs again"
    assert rates[40:] == [pytest.approx(0.1)] * len(rates[40:])
    # a warm-up of less than a batch is stretched to the 20 that Adam averages over
    assert submission.trainer.learning_rate_at(5000, 5000, config) == pytest.approx(
        5000 / (5000 / (1 - 0.95))
    )


def test_gradients_are_clipped(fresh):
    """Adam divides by the gradient's size plus 1e-8, so clipped gradients hardly move anything."""
    settings = {"max_epochs": 1, "weight_decay": 0.0, "learning_rate": 1e-3}
    before, moved = weights(fresh()), []
    for norm in ({"grad_norm_clip": 1e-9}, {}):
        moved.append((weights(trained(fresh(**settings, **norm))) - before).abs().max())
    assert moved[0] < 0.2 * moved[1]


def test_only_linear_weights_decay(fresh):
    trainer = fresh()
    trainer.prepare()
    names = {p: name for name, p in trainer.model.named_parameters()}
    decayed, kept = ({names[p] for p in g["params"]} for g in trainer.optimizer.param_groups)
    weights = {name for name in names.values() if name.endswith("weight")}
    assert decayed == {name for name in weights if "ln" not in name and "emb" not in name}
    assert kept == {*names.values()} - decayed and any("pos_emb" in name for name in kept)


def spoil_gradients(trainer):
    """Gradients of float16 are no numbers: steps are skipped, so that loss and weights stay."""
    for parameter in trainer.model.parameters():
        parameter.register_hook(lambda gradient: gradient * math.nan)


def spoil_last_step(trainer):
    """Its loss is still a number."""
    steps = []
    trainer.model.register_forward_pre_hook(lambda *_: steps.append(1))
    weight = trainer.model.head.weight
    weight.register_hook(lambda gradient: gradient * (math.nan if len(steps) == 5 else 1))


SPOILT = [
    (spoil_gradients, {"precision": "fp16", "ckpt_path": None}, "NaN.*precision fp32"),
    (spoil_last_step, {"max_epochs": 1}, "NaN near batch 5.*smaller learning rate"),
]


@pytest.mark.parametrize(("spoil", "settings", "words"), SPOILT)
def test_no_number_stops_with_advice(submission, fresh, kept, tmp_path, spoil, settings, words):
    """And keeps no weights."""
    trainer = fresh(**{"max_epochs": 8, "log_every": 1000, **kept, **settings})
    before = weights(trainer)
    spoil(trainer)
    with pytest.raises(submission.trainer.TrainingError, match=words):
        trainer.train()
    assert spoil is not spoil_gradients or torch.equal(weights(trainer), before)
    assert not list(tmp_path.iterdir())


def test_float16_learns_what_float32_learns(fresh):
    """The losses to 0.02, over 100 steps. A CPU computes in float16, too."""
    half, full = (trained(fresh(precision=name, max_epochs=20)) for name in ("fp16", "fp32"))
    assert half.scaler.is_enabled() and not full.scaler.is_enabled()
    for narrow, wide in zip(half.history, full.history, strict=True):
        assert abs(narrow["loss"] - wide["loss"]) < 0.02
    assert not torch.equal(weights(half), weights(full))


def test_float16_keeps_the_scale_of_the_loss(fresh, kept, monkeypatch):
    """Steps whose gradients overflow are skipped, and halve the scale; a resumed run has it."""
    scale, kept["precision"] = 2.0**30, "fp16"
    large = functools.partial(torch.amp.GradScaler, init_scale=scale)
    monkeypatch.setattr(torch.amp, "GradScaler", large)
    first, resumed = fresh(**kept), fresh(**kept, resume=True)
    before = weights(first)
    first.train()
    left = first.scaler.get_scale()
    assert left < scale
    assert torch.isfinite(weights(first)).all() and not torch.equal(weights(first), before)
    resumed.prepare()
    assert resumed.step == first.step and resumed.scaler.get_scale() == left


def test_epochs_from_workers_are_the_same_and_need_no_shared_memory(submission):
    """A container has 64 MB of it, which are a few epochs."""
    settings, cpu = {"batch_size": 8, "seed": 4, "max_epochs": 7}, torch.device("cpu")
    configs = [submission.TrainerConfig(**settings, num_workers=workers) for workers in (0, 2)]
    ahead = submission.given.epochs.epochs_ahead
    runs = [list(ahead(Counting(), config, 3, cpu)) for config in configs]
    assert len(runs[0]) == len(runs[1]) == 4
    for alone, helped in zip(*runs):
        for (x, y), (other_x, other_y) in zip(alone, helped, strict=True):
            assert torch.equal(x, other_x) and torch.equal(y, other_y)
            assert not other_x.is_shared() and not other_y.is_shared()


DRAWS = """
import sys
import torch
from helpers import SOLUTION, Counting
from jobs.package import load_submission
load_submission(SOLUTION)
from submission import TrainerConfig
from submission.given.epochs import epochs_ahead
config = TrainerConfig(batch_size=8, seed=1, max_epochs=30, num_workers=2)
for number, _ in enumerate(epochs_ahead(Counting(n=3000), config, 0, torch.device("cpu"))):
    if number in (0, 10):
        print(number, flush=True)
        sys.stdin.readline()
"""


def test_workers_ignore_ctrl_c_and_end_with_their_training(request):
    """Each epoch is more than a pipe holds."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": environment}
    with subprocess.Popen([sys.executable, "-c", DRAWS], encoding="utf-8", **pipes) as process:
        assert process.stdout.readline() == "0\n"
        workers = descendants(process.pid)
        request.addfinalizer(lambda: [os.kill(p, signal.SIGKILL) for p in workers if is_running(p)])
        assert len(workers) == 2
        for pid in workers:
            os.kill(pid, signal.SIGINT)
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == "10\n"
        assert all(map(is_running, workers))
        process.kill()
        process.wait(60)
        wait_until(lambda: not any(map(is_running, workers)))
