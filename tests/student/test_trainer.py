"""The trainer: the same run twice is the same, interrupted or not, and it says what went wrong."""

import contextlib
import math
import os
import signal
import subprocess
import sys

import pytest
import torch

from helpers import ROOT, SOLUTION, Counting, descendants, is_running, wait_until


class Interrupted(Counting):
    """Ctrl-C after so many epochs, in the middle of the next."""

    def __init__(self, epochs):
        super().__init__()
        self.left = 1 + 37 * epochs + 5

    def __getitem__(self, idx):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().__getitem__(idx)


def weights(trainer):
    return torch.cat([p.detach().flatten() for p in trainer.model.parameters()])


def test_it_learns_and_repeats(fresh):
    settings = {"max_epochs": 30, "final_tokens": 30 * 37 * 14}
    runs = [fresh(**settings), fresh(**settings), fresh(**settings, seed=1)]
    for trainer in runs:
        torch.manual_seed(3)
        trainer.train()
    assert runs[0].history[-1]["loss"] < 0.5 * runs[0].history[0]["loss"]
    assert torch.equal(weights(runs[0]), weights(runs[1]))
    assert not torch.equal(weights(runs[0]), weights(runs[2]))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_recorded_steps_learn_what_steps_learn(fresh):
    """The losses to 0.01: sums are taken in another order. Memory is as before."""
    runs = [
        fresh(device="cuda", precision="fp32", graphs=graphs, max_epochs=20)
        for graphs in (False, True)
    ]
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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_a_model_that_waits_for_the_gpu_says_how_to_go_on(submission, fresh):
    from submission.trainer import TrainingError

    trainer = fresh(device="cuda")
    trainer.model.register_forward_pre_hook(lambda *_: torch.cuda.synchronize())
    with pytest.raises(TrainingError, match=r"test_trainer.py, line \d+.*--no-graphs"):
        trainer.train()


@pytest.mark.parametrize("epoch_of_interruption", [1, 3])
def test_resume_is_bit_identical(fresh, tmp_path, epoch_of_interruption):
    ckpt = {"ckpt_path": str(tmp_path / "run.ckpt"), "ckpt_seconds": 0}
    whole = fresh(**ckpt)
    torch.manual_seed(9)
    whole.train()

    broken = fresh(Interrupted(epoch_of_interruption), **ckpt)
    torch.manual_seed(9)
    with pytest.raises(KeyboardInterrupt):
        broken.train()
    resumed = fresh(**ckpt, resume=True)
    torch.manual_seed(1234)
    resumed.train()
    assert torch.equal(weights(resumed), weights(whole))
    assert not torch.equal(weights(broken), weights(whole))
    assert resumed.history == whole.history and resumed.step == whole.step


def test_a_checkpoint_that_cannot_be_written_stops_nothing_and_a_damaged_one_is_refused(
    fresh, tmp_path, capsys
):
    trainer = fresh(max_epochs=2, ckpt_path=str(tmp_path / "nowhere" / "run.ckpt"), ckpt_seconds=0)
    trainer.train()
    assert trainer.epoch == 2 and "could not be written" in capsys.readouterr().out
    path = tmp_path / "run.ckpt"
    fresh(ckpt_path=str(path), ckpt_seconds=0).train()
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(RuntimeError, match="damaged"):
        fresh(ckpt_path=str(path), resume=True).train()


def test_cropping_changes_no_loss(submission, fresh, seed):
    """To 1e-5, of rows of 14 columns; an epoch has all rows, in another order."""
    from submission.given.epochs import draw, epochs_ahead

    dataset, model = Counting(), fresh().model.eval()
    x, y, _ = draw(dataset, seed, 3)
    rows = torch.from_numpy(x).split(2), torch.from_numpy(y).split(2)
    config = submission.TrainerConfig(batch_size=2, seed=seed, max_epochs=4)
    (batches,) = epochs_ahead(dataset, config, 3, torch.device("cpu"))
    assert [len(xs) for xs, _ in batches] == 18 * [2] + [1]
    # of 18 pairs, each has a longest row in 1 of 6 draws
    assert min(xs.size(1) for xs, _ in batches) < 14, "nothing was cropped"
    for whole_x, whole_y, (xs, ys) in zip(*rows, batches, strict=True):
        width = xs.size(1)
        assert torch.equal(whole_x[:, :width].long(), xs) and whole_y[:, width:].eq(0).all()
        assert torch.equal(whole_y[:, :width].long(), ys) and ys[:, -1].ne(0).any()
        whole = model(whole_x.long(), whole_y.long())[1]
        assert torch.allclose(whole, model(xs, ys)[1], atol=1e-5)
    first = x[:, 0].tolist()
    assert first != sorted(first) == sorted(i % 10 + 1 for i in range(37))


def test_batches_of_other_devices_have_few_widths(submission, seed):
    from submission.given.epochs import epochs_ahead

    config = submission.TrainerConfig(batch_size=4, seed=seed, max_epochs=1)
    (batches,) = epochs_ahead(Counting(width=40), config, 0, torch.device("meta"))
    assert {x.size(1) for x, _ in batches} <= {16, 32, 40}


def test_learning_rate_warms_up_then_falls_and_stays_down(submission):
    from submission.trainer import learning_rate_at

    config = submission.TrainerConfig(
        learning_rate=1.0, lr_decay=True, warmup_tokens=1000, final_tokens=20_000
    )
    rates = [learning_rate_at(tokens, 10, config) for tokens in range(0, 100_000, 500)]
    peak = rates.index(max(rates))
    assert rates[0] == 0 and rates[peak] == pytest.approx(1.0) and peak == 2
    assert all(a >= b for a, b in zip(rates[peak:], rates[peak + 1 :])), "the rate climbs again"
    assert rates[40:] == [pytest.approx(0.1)] * len(rates[40:])
    # A warm-up of less than one batch is none: it is stretched to the 20 batches that Adam averages
    # over.
    assert learning_rate_at(5000, 5000, config) == pytest.approx(5000 / (5000 / (1 - 0.95)))


def test_gradients_are_clipped(fresh):
    trainer = fresh(max_epochs=1, grad_norm_clip=1e-9, weight_decay=0.0, learning_rate=1e-3)
    before = weights(trainer)
    # Adam divides by the gradient's size plus 1e-8, so clipped gradients hardly move anything
    trainer.train()
    free = fresh(max_epochs=1, weight_decay=0.0, learning_rate=1e-3)
    free.train()
    assert (weights(trainer) - before).abs().max() < 0.2 * (weights(free) - before).abs().max()


def test_only_linear_weights_decay(fresh):
    trainer = fresh()
    trainer.prepare()
    decayed, kept = (group["params"] for group in trainer.optimizer.param_groups)
    names = {p: name for name, p in trainer.model.named_parameters()}
    assert {names[p] for p in decayed} == {
        n for n in names.values() if n.endswith("weight") and "ln" not in n and "emb" not in n
    }
    assert len(decayed) + len(kept) == len(names) and any("pos_emb" in names[p] for p in kept)


def spoil_gradients(trainer):
    """Gradients of float16 are no numbers: steps are skipped, so that loss and weights stay."""
    for parameter in trainer.model.parameters():
        parameter.register_hook(lambda gradient: gradient * math.nan)


def spoil_loss(trainer):
    with torch.no_grad():
        trainer.model.head.weight[0, 0] = math.nan


def spoil_last_step(trainer):
    """Its loss is still a number."""
    steps = []
    trainer.model.register_forward_pre_hook(lambda *_: steps.append(1))
    weight = trainer.model.head.weight
    weight.register_hook(lambda gradient: gradient * (math.nan if len(steps) == 5 else 1))


@pytest.mark.parametrize(
    ("spoil", "settings", "words"),
    [
        (spoil_gradients, {"precision": "fp16", "ckpt_path": None}, "NaN.*precision fp32"),
        (spoil_loss, {"max_epochs": 3}, "smaller learning rate"),
        (spoil_last_step, {"max_epochs": 1}, "NaN near batch 5"),
    ],
)
def test_what_is_no_number_stops_with_advice_and_keeps_no_weights(
    fresh, tmp_path, spoil, settings, words
):
    from submission.trainer import TrainingError

    ckpt = {"ckpt_path": str(tmp_path / "run.ckpt"), "ckpt_seconds": 0}
    trainer = fresh(**{"max_epochs": 8, "log_every": 1000, **ckpt, **settings})
    before = weights(trainer)
    spoil(trainer)
    with pytest.raises(TrainingError, match=words):
        trainer.train()
    if spoil is spoil_gradients:
        assert torch.equal(weights(trainer), before)
    assert not list(tmp_path.iterdir())


def test_float16_learns_what_float32_learns(fresh):
    """The losses to 0.02, over 100 steps. A CPU computes in float16, too."""
    runs = [fresh(precision=precision, max_epochs=20) for precision in ("fp16", "fp32")]
    for trainer in runs:
        torch.manual_seed(3)
        trainer.train()
    assert runs[0].scaler.is_enabled() and not runs[1].scaler.is_enabled()
    for narrow, wide in zip(*(trainer.history for trainer in runs), strict=True):
        assert abs(narrow["loss"] - wide["loss"]) < 0.02
    assert not torch.equal(weights(runs[0]), weights(runs[1]))


def test_float16_keeps_the_scale_of_the_loss(fresh, tmp_path):
    """Steps whose gradients overflow are skipped, and halve the scale; a resumed training has it."""
    settings = {"precision": "fp16", "ckpt_path": str(tmp_path / "run.ckpt"), "ckpt_seconds": 0}
    first = fresh(**settings)
    make, before, scale = first.prepare, weights(first), 2.0**30

    def prepare():
        make()
        first.scaler = torch.amp.GradScaler("cpu", init_scale=scale)

    first.prepare = prepare
    first.train()
    left = first.scaler.get_scale()
    assert left < scale
    assert torch.isfinite(weights(first)).all() and not torch.equal(weights(first), before)
    resumed = fresh(**settings, resume=True)
    resumed.prepare()
    assert resumed.step == first.step and resumed.scaler.get_scale() == left


def test_epochs_from_workers_are_the_same_and_need_no_shared_memory(submission):
    """A container has 64 MB of it, which are a few epochs."""
    from submission.given.epochs import epochs_ahead

    runs = []
    for workers in (0, 2):
        config = submission.TrainerConfig(batch_size=8, seed=4, max_epochs=7, num_workers=workers)
        runs.append(list(epochs_ahead(Counting(), config, 3, torch.device("cpu"))))
    assert len(runs[0]) == len(runs[1]) == 4
    for alone, helped in zip(*runs):
        for (x, y), (other_x, other_y) in zip(alone, helped, strict=True):
            assert torch.equal(x, other_x) and torch.equal(y, other_y)
            assert not other_x.is_shared() and not other_y.is_shared()


DRAWS = """
import sys
sys.path[:0] = {paths!r}
from helpers import Counting
from jobs.package import load_submission
from pathlib import Path
load_submission(Path({submission!r}))
import torch
from submission import TrainerConfig
from submission.given.epochs import epochs_ahead
config = TrainerConfig(batch_size=8, seed=1, max_epochs=50, num_workers=2)
for number, _ in enumerate(epochs_ahead(Counting(n=6000), config, 0, torch.device("cpu"))):
    print(number, flush=True)
    if number == 0:
        sys.stdin.readline()
print("all", flush=True)
"""


@pytest.fixture
def drawing(tmp_path):
    """A process that has got an epoch from its workers, of more than a pipe holds, and these."""
    paths, script = [str(ROOT / "src"), str(ROOT / "tests")], tmp_path / "draws.py"
    script.write_text(DRAWS.format(paths=paths, submission=str(SOLUTION)), encoding="utf-8")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, str(script)], encoding="utf-8", **pipes)
    assert process.stdout.readline() == "0\n"
    workers = descendants(process.pid)
    yield process, workers
    for pid in workers:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_training(drawing, number):
    process, workers = drawing
    assert len(workers) == 2
    process.send_signal(number)
    process.wait(60)
    wait_until(lambda: not any(map(is_running, workers)))


def test_ctrl_c_is_not_for_workers(drawing):
    process, workers = drawing
    for pid in workers:
        os.kill(pid, signal.SIGINT)
    said, _ = process.communicate("go on\n", timeout=120)
    assert said.split()[-2:] == ["49", "all"] and process.returncode == 0
