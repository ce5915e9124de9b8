"""Compares our trainer's rate with a plain loop's, on the same model and data in the same run:

    python benchmarks/train_throughput.py [--preset laptop|gpu] [--device cpu|cuda] [--runs 3]

The plain loop is the one that most people write first: float32, eager mode, a DataLoader whose four
workers restart every epoch, rows as long as block_size, AdamW that isn't fused, and loss.item() in
each step. Both are timed after their first epoch, and have the same learning rate schedule. Runs
alternate, each with its own seed; medians are published in benchmarks/README.md, with the loss
reached.
"""

import argparse
import math
import statistics
import subprocess
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader

from tables import ROOT, markdown, publish

from common.files import read_documents
from jobs.package import load_submission, seed_everything
from jobs.parallel import workers
from jobs.presets import PRESETS
from jobs.problem1.demo import machine

LONG = 15  # times as many epochs, for a steady rate on a GPU


def setup(preset, variant: str, corpus: float = 1.0, seed: int = 0):
    """The dataset, the model, and what pretrain() of the reference returns for them, with the
    corpus repeated.
    """
    seed_everything(seed)
    submission = load_submission(ROOT / "instructor" / "solution")
    documents = read_documents(ROOT / "data" / preset.data / "wiki.txt").split("\n")
    documents = (documents * math.ceil(corpus))[: round(len(documents) * corpus)]
    dataset = submission.CharCorruptionDataset("\n".join(documents), preset.block_size)
    config = submission.GPTConfig(
        dataset.vocab_size,
        preset.block_size,
        n_layer=preset.n_layer,
        n_head=preset.n_head,
        n_embd=preset.n_embd,
        embd_pdrop=preset.dropout,
        resid_pdrop=preset.dropout,
        attn_pdrop=preset.dropout,
    )
    model = getattr(submission, f"initialize_{variant}_model")(config)
    config, trainer = submission.pretrain(dataset, preset.block_size, model)
    preset.pretrain.apply(config, len(dataset), preset.block_size)
    return dataset, model, config, trainer


def plain_rate(preset, variant: str, device: str, epochs: int, seed: int) -> tuple[float, float]:
    """Documents a second of a plain loop, after its first epoch; and the loss in the end."""
    dataset, model, config, trainer = setup(preset, variant, seed=seed)
    learning_rate_at = sys.modules[type(trainer).__module__].learning_rate_at
    model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, betas=config.betas)
    loader = DataLoader(
        dataset,
        batch_size=config.batch_size,
        shuffle=True,
        num_workers=4,
        multiprocessing_context="fork",
        pin_memory=device != "cpu",
    )
    tokens = 0
    for epoch in range(1 + epochs):
        if epoch == 1:
            started = time.perf_counter()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            _, loss = model(x, y)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_norm_clip)
            tokens += x.numel()
            for group in optimizer.param_groups:
                group["lr"] = learning_rate_at(tokens, config.batch_size * x.size(1), config)
            optimizer.step()
            loss.item()
    rate = epochs * len(dataset) / (time.perf_counter() - started)
    return rate, loss_of(trainer)


def loss_of(trainer) -> float:
    """The loss of a trainer's model, in nats per target, on an epoch that is the same for all."""
    trainer.test_dataset, trainer.config.seed = trainer.train_dataset, -1
    return trainer.test_loss()


class Clock:
    """A writer that keeps the time of each log entry."""

    def __init__(self):
        self.times = {}

    def add_scalar(self, name, value, step):
        """Called by the trainer after reading the losses, so all steps until then are done."""
        self.times[step] = time.perf_counter()


def our_rate(
    preset,
    variant: str,
    device: str,
    epochs: int,
    corpus: float = 1.0,
    seed: int = 0,
    mode: str | None = None,
    **settings,
) -> tuple[float, float]:
    """Documents a second of our trainer, after its first epoch (on a GPU, after the first fifth:
    graphs are recorded, and workers have drawn epochs in advance), with the corpus repeated; and
    the final loss. With a mode of torch.compile, the model is compiled in that mode.
    """
    dataset, model, config, trainer = setup(preset, variant, corpus, seed)
    if mode:
        model.compile(mode=mode)
    config.writer = clock = Clock()
    for name, value in {
        "device": device,
        "max_epochs": 1 + epochs,
        "progress": False,
        "log_every": 5,
        "seed": seed,
        "num_workers": workers(preset.num_workers),
        **settings,
    }.items():
        setattr(config, name, value)
    trainer.train()
    per_epoch = math.ceil(len(dataset) / config.batch_size)
    begin = per_epoch * max(1, epochs // 5 if device != "cpu" else 1)
    steps = sorted(step for step in clock.times if step >= begin)
    rate = (
        (steps[-1] - steps[0])
        * len(dataset)
        / per_epoch
        / (clock.times[steps[-1]] - clock.times[steps[0]])
    )
    return rate, loss_of(trainer)


def draw_rate(preset, variant: str) -> float:
    """Documents a second that one core draws for training: __getitem__ and batching."""
    dataset, _, config, trainer = setup(preset, variant)
    epochs = sys.modules[type(trainer).__module__].Epochs(dataset, config.batch_size, 0)
    times = []
    for epoch in range(5):
        started = time.perf_counter()
        epochs[epoch]
        times.append(time.perf_counter() - started)
    return len(dataset) / statistics.median(times)


def matrix_peak(device: str, dtype: torch.dtype) -> float:
    """FLOPs a second of a large matrix product on this machine, the best of fifty."""
    n, best = 1024 if device == "cpu" else 8192, 0.0
    a, b = torch.randn(2, n, n, device=device, dtype=dtype)
    for _ in range(50):
        if device != "cpu":
            torch.cuda.synchronize()
        started = time.perf_counter()
        a @ b
        if device != "cpu":
            torch.cuda.synchronize()
        best = max(best, 2 * n**3 / (time.perf_counter() - started))
    return best


def flops_and_tokens(preset, variant: str) -> tuple[float, float]:
    """The average FLOPs of training on a document, and its tokens without padding. Matrix products
    alone, three times those of the forward pass (Kaplan et al. 2020, section 2.1).
    """
    from torch.utils.flop_counter import FlopCounterMode

    dataset, model, *_ = setup(preset, variant)
    lengths = [int((dataset[i % len(dataset)][0] != 0).sum()) for i in range(1000)]
    tokens = sum(lengths) / len(lengths)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(1, round(tokens), dtype=torch.long))
    return 3 * counter.get_total_flops(), tokens


class Busy:
    """The percentage of time that a kernel runs on torch's GPU, by nvidia-smi."""

    def __enter__(self):
        self.samples, self.over = [], threading.Event()
        self.thread = threading.Thread(target=self._sample)
        self.thread.start()
        return self

    def _sample(self):
        gpu = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
        while not self.over.wait(0.25):
            run = subprocess.run(
                [
                    "nvidia-smi",
                    "-i",
                    gpu,
                    "--query-gpu=utilization.gpu",
                    "--format=csv,noheader,nounits",
                ],
                capture_output=True,
                encoding="utf-8",
            )
            self.samples += [float(line) for line in run.stdout.split()[:1]]

    def __exit__(self, *error):
        self.over.set()
        self.thread.join()

    def __str__(self):
        # the first third is start-up, the end is the loss
        middle = self.samples[len(self.samples) // 3 : -2]
        return f"{statistics.mean(middle):.0f}%" if middle else "?"


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    gpu = torch.cuda.is_available()
    parser.add_argument("--device", default="cuda" if gpu else "cpu")
    parser.add_argument("--preset", choices=PRESETS)
    parser.add_argument("--variant", choices=("vanilla", "rope"), default="vanilla")
    parser.add_argument("--epochs", type=int, help="of each run, after the first")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    on_gpu = args.device != "cpu"
    preset = PRESETS[args.preset or ("gpu" if on_gpu else "laptop")]
    epochs = args.epochs or (8 if on_gpu else 4)
    ways = {"our trainer": {}}
    if on_gpu:
        ways |= {
            "without CUDA graphs": {"graphs": False},
            "and in float32": {"graphs": False, "precision": "fp32"},
            "compiled, with CUDA graphs": {"compile": True},
        }
    else:
        ways |= {"in bfloat16": {"precision": "bf16"}, "compiled": {"compile": True}}
    flops, tokens = flops_and_tokens(preset, args.variant)
    dtype = torch.bfloat16 if on_gpu else torch.float32
    peak, drawn = matrix_peak(args.device, dtype), draw_rate(preset, args.variant)
    rates, losses, busy = {}, {}, {}

    def keep(name, rate, loss):
        """Add a measurement, and write what there is: a run that is interrupted leaves its rows."""
        rates.setdefault(name, []).append(rate)
        losses.setdefault(name, []).append(loss)
        plain, rows = statistics.median(rates["plain loop"]), []
        for name, values in rates.items():
            rate, of_name = statistics.median(values), losses[name]
            rows.append(
                [
                    name,
                    f"{rate:,.0f}",
                    f"{rate * tokens / 1000:,.1f}k",
                    f"{rate / plain:.2f}",
                    f"{rate * flops / peak:.1%}",
                    f"{statistics.median(of_name):.3f} ({min(of_name):.3f} to {max(of_name):.3f})",
                    *([str(busy.get(name, ""))] if on_gpu else []),
                ]
            )
        head = [
            "",
            "documents/s",
            "tokens/s, without padding",
            "times the plain loop",
            f"of the matrix peak ({peak / 1e12:.2f} TFLOP/s, {str(dtype).split('.')[1]})",
            f"loss after {epochs + 1} epochs",
            *(["GPU busy"] if on_gpu else []),
        ]
        text = (
            f"Pretraining ({args.variant}, preset {preset.name}) on {machine()}, "
            f"{torch.get_num_threads()} threads; medians of {len(rates['plain loop'])}.\n\n"
            f"{markdown(head, rows)}\n\n"
            f"One core draws {drawn:,.0f} documents a second from the solution's dataset"
        )
        if "our trainer" in rates:
            ours = statistics.median(rates["our trainer"])
            text += f", {drawn / ours:.2f} times what our trainer reads"
        publish("train_throughput", args.device, f"{text}.")

    for seed in range(args.runs):
        keep("plain loop", *plain_rate(preset, args.variant, args.device, epochs, seed))
        for name, settings in ways.items():
            rate, loss = our_rate(preset, args.variant, args.device, epochs, seed=seed, **settings)
            if on_gpu:  # a few epochs end before the rate is steady
                with Busy() as busy[name]:
                    times = LONG if settings.get("graphs", True) else 2
                    rate, _ = our_rate(
                        preset, args.variant, args.device, times * epochs, seed=seed, **settings
                    )
            keep(name, rate, loss)


if __name__ == "__main__":
    sys.exit(main())
