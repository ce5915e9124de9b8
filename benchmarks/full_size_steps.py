"""A measurement of full_size.py, in a process of its own:

    python benchmarks/full_size_steps.py '{"step": "trial", ...}' RESULT

The keywords of the function of that name are JSON, and so is its result, which is written when it
is complete.
"""

import contextlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from tables import ROOT

import decoding
from common.files import write_text
from jobs.parallel import workers
from jobs.presets import PRESETS
from train_throughput import Clock, draw_rate, our_rate, plain_rate, setup

ENDLESS = 10**6  # epochs: something else ends the training


class Enough(Exception):
    """A training has run as long as it should."""


class Until(Clock):
    """A writer that keeps losses and times, and ends the training after some steps or seconds."""

    def __init__(self, steps: float, seconds: float):
        super().__init__()
        self.steps, self.end, self.losses = steps, time.perf_counter() + seconds, {}

    def add_scalar(self, name, value, step):
        """Called by the trainer; raises Enough."""
        if name == "loss":
            super().add_scalar(name, value, step)
            self.losses[step] = value
            if step >= self.steps or time.perf_counter() >= self.end:
                raise Enough


def train(
    preset: str, device: str, variant: str, kind: str, seconds=1e9, steps=1e9, **settings
) -> tuple[Until, object]:
    """Train until one of these is reached; returns the writer and the trainer."""
    preset = PRESETS[preset]
    dataset, model, config, trainer = setup(preset, variant)
    if kind == "finetune":
        config, trainer = sys.modules["submission"].finetune(
            None,
            str(ROOT / "data" / preset.data / "birth_places_train.tsv"),
            dataset,
            preset.block_size,
            model,
        )
        preset.finetune_from_scratch.apply(config, len(trainer.train_dataset), preset.block_size)
    config.writer = writer = Until(steps, seconds)
    own = {
        "device": device,
        "max_epochs": ENDLESS,
        "progress": False,
        "log_every": 10,
        "num_workers": workers(preset.num_workers),
    }
    for name, value in {**own, **settings}.items():
        setattr(config, name, value)
    with contextlib.suppress(Enough):
        trainer.train()
    if len(writer.losses) < 2:
        sys.exit(f"It made fewer than {2 * config.log_every} steps in {seconds:g} s.")
    return writer, trainer


def trial(seconds: float, **training) -> dict:
    """Whether a training runs, and how: precision, recorded steps, rate, loss."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        writer, trainer = train(seconds=seconds, **training)
    print(said.getvalue())
    first, *_, last = writer.losses
    # the rate of the second half, when all is warm
    middle = max(step for step in writer.times if step <= (first + last) / 2)
    took = writer.times[last] - writer.times[middle]
    shared = Path("/dev/shm")
    return {
        "precision": trainer.hardware.precision,
        "recorded": len(getattr(trainer.one_step, "replays", ())),
        "rate": (last - middle) / took,
        "first": writer.losses[first],
        "last": writer.losses[last],
        "step": last,
        "gpu": torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0,
        "shared": shutil.disk_usage(shared).total if shared.is_dir() else 0,
        "said": " ".join(said.getvalue().split()),
    }


def resumed(seconds: float, **training) -> dict:
    """Kill a training once it has a checkpoint, and resume it."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "a.ckpt"
        training |= {"ckpt_path": str(checkpoint), "ckpt_seconds": seconds / 4}
        words = json.dumps({"step": "trial", "seconds": 1e9, **training})
        command = [sys.executable, __file__, words, str(Path(folder) / "result")]
        process = subprocess.Popen(command)
        try:
            while not checkpoint.exists() and process.poll() is None:
                time.sleep(0.2)
        finally:
            process.kill()
            process.wait()
        return {"killed": checkpoint.exists(), **after(seconds, resume=True, **training)}


def after(seconds: float, **training) -> dict:
    """The first step and loss of a training, and the last."""
    writer, _ = train(seconds=seconds, **training)
    first, *_, last = writer.losses
    return {"from": first, "first": writer.losses[first], "to": last, "last": writer.losses[last]}


def same_losses(steps: int, **training) -> dict:
    """How far the losses of steps, each of them, differ with recorded steps and without."""
    (recorded, trainer), (direct, _) = (
        train(steps=steps, log_every=1, graphs=graphs, **training) for graphs in (True, False)
    )
    return {
        "steps": len(recorded.losses),
        "recorded": len(getattr(trainer.one_step, "replays", ())),
        "most": max(abs(recorded.losses[step] - direct.losses[step]) for step in direct.losses),
    }


def rate(preset: str, device: str, variant: str, epochs: int, plain=False, **settings) -> dict:
    """Documents and steps a second, and the loss reached."""
    chosen = PRESETS[preset]
    if settings.get("compile") or settings.get("mode"):
        # raises where there is no compiler: a training would go on uncompiled
        torch.compile(torch.sin)(torch.ones(2, device=device))
    if plain:
        documents, loss = plain_rate(chosen, variant, device, max(1, epochs // 4), seed=0)
    else:
        documents, loss = our_rate(chosen, variant, device, epochs, **settings)
    config = setup(chosen, variant)[2]
    return {"documents": documents, "steps": documents / config.batch_size, "loss": loss}


def drawn(preset: str, variant: str, **_) -> dict:
    """Documents a second that a core draws."""
    return {"documents": draw_rate(PRESETS[preset], variant)}


def decoded(preset: str, device: str, variant: str) -> dict:
    """People a second, in batches and one at a time."""
    return decoding.measure(PRESETS[preset], variant, device, runs=1)


def main() -> None:
    """Measure one thing."""
    if sys.argv[1:] in ([], ["--help"]):
        print(f"usage: full_size_steps.py JSON RESULT\n\n{__doc__}")
        return
    words = json.loads(sys.argv[1])
    result = globals()[words.pop("step")](**words)
    write_text(Path(sys.argv[2]), json.dumps(result))


if __name__ == "__main__":
    main()
