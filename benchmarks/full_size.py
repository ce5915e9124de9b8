"""Measures the assignment at full size on a GPU, in one call that nobody watches:

    python benchmarks/full_size.py OUT DATA [--seconds 540]

DATA is a folder like data/, such as that of the public corpus; its demo comes first. After each
step OUT has report.md, jobs.json, a plot for each demo, and the logs; nothing else is written
there. Needs torch, numpy, tqdm and matplotlib, and no network. To try it out without a GPU:

    python benchmarks/full_size.py OUT data/laptop --preset smoke --device cpu --seconds 100

Each step is a process of its own, so that one that fails or hangs takes nothing along. If the
canary or the demo fails, it is repeated without recorded steps, then in float32, too; the steps
after it run in the same way.
"""

import argparse
import contextlib
import dataclasses
import json
import math
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tables import ROOT, markdown

from common.command_line import require_packages
from common.files import write_text
from jobs.presets import PRESETS
from jobs.records import read_record
from jobs.targets import JOBS

WAYS = ([], ["--no-graphs"], ["--no-graphs", "--precision", "fp32"])  # each slower, and safer
GRACE = 12  # seconds that a step has to end in after Ctrl-C
LEAST = {"canary": 15, "public": 25, "rates": 15, "ours": 25, "long": 15}  # seconds, on a GPU
EPOCHS = 130  # of a pretraining of our corpus, instead of 650: as many steps as of the public one
SAID = re.compile(r"(- |Trained in |Took )")


def setup(preset, variant: str, **settings):
    """What pretrain() of the reference returns for our corpus, with these settings of the trainer:
    (config, trainer).
    """
    from jobs.package import load_submission, seed_everything
    from jobs.problem1.data import Data
    from jobs.problem1.models import new_model

    seed_everything(0)
    submission = load_submission(ROOT / "instructor" / "solution")
    documents = Data(ROOT / "data" / preset.data, preset.block_size).corpus
    dataset = submission.CharCorruptionDataset(documents, preset.block_size)
    model = new_model(submission, variant, dataset.vocab_size, preset)
    config, trainer = submission.pretrain(dataset, preset.block_size, model)
    preset.pretrain.apply(config, len(dataset), preset.block_size)
    for name, value in {"progress": False, **settings}.items():
        setattr(config, name, value)
    return config, trainer


class Clock:
    """A writer that keeps the time of each log entry."""

    def __init__(self):
        self.times = {}

    def add_scalar(self, name, value, step):
        """Called by the trainer after reading the losses, so all steps until then are done."""
        self.times[step] = time.perf_counter()


def canary(args: argparse.Namespace, out: Path) -> None:
    """200 steps of RoPE with recording and 200 without: do they run, are they the same?"""
    from jobs.parallel import workers
    from jobs.problem1.demo import machine

    class Enough(Exception):
        """The training has run as long as it should."""

    class Losses(Clock):
        """Reads each of the first 40 losses, then only some, which takes no time."""

        def add_scalar(self, name, value, step):
            super().add_scalar(name, value, step)
            if name == "loss":
                losses[step] = value
                config.log_every = 1 if step < 40 else 20
                if step >= 200:
                    raise Enough

    print(f"- On {machine()}")
    rates, losses_of = [], []
    for graphs in (True, False) if args.graphs else (False,):
        losses, clock = {}, Losses()
        config, trainer = setup(
            PRESETS[args.preset],
            "rope",
            device=args.device,
            precision=args.precision,
            graphs=graphs,
            writer=clock,
            log_every=1,
            max_epochs=10**6,
            num_workers=workers(PRESETS[args.preset].num_workers),
        )
        with contextlib.suppress(Enough):
            trainer.train()
        rates.append(100 / (clock.times[200] - clock.times[100]))
        losses_of.append(losses)
        how = "recorded" if trainer.graphs else "not recorded"
        print(f"- {rates[-1]:.1f} steps/s in {trainer.precision}, {how}")
    # how long two pretrainings of our corpus take
    epochs = PRESETS[args.preset].pretrain.max_epochs or EPOCHS
    documents = len(trainer.train_dataset)
    write_text(out, str(2 * epochs * documents / config.batch_size / rates[0]))
    if args.graphs:
        apart = max(abs(losses_of[0][step] - losses_of[1][step]) for step in range(1, 41))
        print(f"- Recorded, {rates[0] / rates[1]:.2f} times as fast; losses differ by {apart:.2g}")
        if not apart < 0.01:
            sys.exit("Recorded steps don't compute what steps do without recording.")


def rates(args: argparse.Namespace, _: Path) -> None:
    """Our trainer's rate, and a plain loop's."""
    for variant in ("rope", "vanilla"):
        plain = plain_rate(args, variant)
        print(f"- {variant}, plain loop: {plain:,.0f} documents/s")
        ours = our_rate(args, variant)
        print(f"- {variant}, our trainer: {ours:,.0f} documents/s, {ours / plain:.2f} times")


def plain_rate(args: argparse.Namespace, variant: str, epochs: int = 5) -> float:
    """Documents a second of the loop that most people write first, after its first epoch: float32,
    eager mode, a DataLoader whose four workers restart every epoch, rows as long as block_size,
    AdamW that isn't fused, and loss.item() in each step. The learning rate is our trainer's.
    """
    import torch
    from torch.utils.data import DataLoader

    config, trainer = setup(PRESETS[args.preset], variant)
    model, dataset = trainer.model, trainer.train_dataset
    learning_rate_at = sys.modules[type(trainer).__module__].learning_rate_at
    model.to(args.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, betas=config.betas)
    loader = DataLoader(
        dataset,
        batch_size=config.batch_size,
        shuffle=True,
        num_workers=4,
        multiprocessing_context="fork",
        pin_memory=args.device != "cpu",
    )
    tokens = 0
    for epoch in range(1 + epochs):
        if epoch == 1:
            started = time.perf_counter()
        for x, y in loader:
            x, y = x.to(args.device), y.to(args.device)
            _, loss = model(x, y)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_norm_clip)
            tokens += x.numel()
            for group in optimizer.param_groups:
                group["lr"] = learning_rate_at(tokens, config.batch_size * x.size(1), config)
            optimizer.step()
            loss.item()
    return epochs * len(dataset) / (time.perf_counter() - started)


def our_rate(args: argparse.Namespace, variant: str, epochs: int = 20) -> float:
    """Documents a second of our trainer, after its first epoch; on a GPU, after the first fifth:
    graphs are recorded, and workers have drawn epochs in advance.
    """
    from jobs.parallel import workers

    preset, clock = PRESETS[args.preset], Clock()
    config, trainer = setup(
        preset,
        variant,
        device=args.device,
        precision=args.precision,
        graphs=args.graphs,
        writer=clock,
        log_every=5,
        max_epochs=1 + epochs,
        num_workers=workers(preset.num_workers),
    )
    trainer.train()
    documents = len(trainer.train_dataset)
    per_epoch = math.ceil(documents / config.batch_size)
    begin = per_epoch * (1 if args.device == "cpu" else epochs // 5)
    first, *_, last = sorted(step for step in clock.times if step >= begin)
    return (last - first) * documents / per_epoch / (clock.times[last] - clock.times[first])


def words(args: argparse.Namespace, *target: str, out: Path) -> list[str]:
    """The command line of a target, with the options of this step."""
    graphs = [] if args.graphs else ["--no-graphs"]
    more = ["--preset", args.preset, "--device", args.device, "--precision", args.precision]
    solution = str(ROOT / "instructor" / "solution")
    return [*target, "--submission", solution, *more, *graphs, "--out", str(out)]


def target(args: argparse.Namespace, out: Path) -> None:
    """The demo of the public corpus, or the pretraining of ours at its real length."""
    import run

    command = ["vanilla_pretrain"]
    if args.step == "public":
        command = ["demo", "--jobs", "1", "--data", str(args.data)]
        command += ["--resume"] if (out / "runs").exists() else []
    sys.argv = ["run.py", *words(args, *command, out=out)]
    sys.exit(run.main())


def ours(args: argparse.Namespace, out: Path) -> None:
    """All jobs on our corpus, with as many steps of pretraining as on the public one."""
    import run
    from jobs.options import choose_options
    from jobs.problem1.run_job import run_job

    options = choose_options(run.build_parser().parse_args(words(args, "all", out=out)))
    epochs = options.preset.pretrain.max_epochs or EPOCHS
    fewer = dataclasses.replace(options.preset.pretrain, max_epochs=epochs)
    preset = dataclasses.replace(options.preset, pretrain=fewer)
    for job in JOBS.values():
        print(f"\n{job.target}", flush=True)
        run_job(job, dataclasses.replace(options, preset=preset))


def attempt(command: list[str], log: Path, seconds: float) -> str:
    """Run a command with its output in a file; returns how it ended."""
    started, ended = time.monotonic(), "stopped, out of time,"
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT)
    try:
        code = process.wait(seconds - GRACE)
        ended = "done" if code == 0 else f"failed with exit code {code}"
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    finally:
        process.kill()
        process.wait()
    return f"{ended} after {time.monotonic() - started:.0f} s"


def section(title: str, log: Path, jobs: dict) -> str:
    """What the report says of a step: its jobs, what its log says of trainings, and its end."""
    lines = re.split(r"[\r\n]+", log.read_text(encoding="utf-8", errors="replace").strip())
    rows = [
        [
            name,
            f"{job['seconds']:.1f}",
            f"{job['correct'] / job['total']:.1%}" if job["total"] else "",
        ]
        for name, job in jobs.items()
    ]
    told = [line for line in lines if SAID.match(line)]
    end = ["```", *lines[-8:], "```"] if "failed" in title else []
    table = [markdown(["job", "seconds", "right answers"], rows)] if rows else []
    return "\n\n".join([f"## {title}", *table, "\n".join(told), "\n".join(end)]).strip()


def measure(args: argparse.Namespace, work: Path) -> None:
    """Take all steps that there is time for; write what is known into OUT after each."""
    end, way, sections, jobs = time.monotonic() + args.seconds, 0, [], {}
    args.out.mkdir(parents=True, exist_ok=True)
    arguments = [str(args.out), str(args.data), "--preset", args.preset, "--device", args.device]
    for step, least in LEAST.items():
        if step == "ours" and (work / "canary-auto").exists():
            least += 1.2 * float((work / "canary-auto").read_text(encoding="utf-8"))
        ended = "failed"
        while ended.startswith("failed"):
            left = end - time.monotonic()
            if left < least + GRACE:
                sections.append(f"## {step}: not begun, with {left:.0f} s left")
                break
            made = work / f"{step}-{'fp32' if 'fp32' in WAYS[way] else 'auto'}"
            log = work / f"{step}-{way}.log"
            command = [sys.executable, __file__, *arguments, "--step", step, "--made", str(made)]
            ended = attempt([*command, *WAYS[way]], log, left)
            records = {name: read_record(made / job.writes) for name, job in JOBS.items()}
            jobs[step] = {name: asdict(record) for name, record in records.items() if record}
            if (made / "accuracy.png").exists():
                shutil.copy(made / "accuracy.png", args.out / f"accuracy-{step}.png")
            title = " ".join([f"{step}:", ended, *WAYS[way]])
            sections.append(section(title, log, jobs.get(step, {})))
            write_text(args.out / "report.md", "\n\n".join(sections) + "\n")
            write_text(args.out / "jobs.json", json.dumps(jobs))
            with tarfile.open(args.out / "logs.tar.gz", "w:gz") as tar:
                for log in sorted(work.glob("*.log")):
                    tar.add(log, log.name)
            print(sections[-1], flush=True)
            if step not in ("canary", "public") or way + 1 == len(WAYS):
                break
            way += ended.startswith("failed")
    write_text(args.out / "report.md", "\n\n".join(sections) + "\n")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--seconds", type=float, default=540, help="of the call (default: 540)")
    parser.add_argument("--preset", choices=PRESETS, default="gpu")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-graphs", dest="graphs", action="store_false", help=argparse.SUPPRESS)
    parser.add_argument("--precision", default="auto", help=argparse.SUPPRESS)
    parser.add_argument("--step", choices=LEAST, help=argparse.SUPPRESS)
    parser.add_argument("--made", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        sys.stdout.reconfigure(line_buffering=True)
        own = {"canary": canary, "rates": rates, "ours": ours}
        own.get(args.step, target)(args, args.made)
        return
    require_packages("torch", "numpy", "tqdm", "matplotlib")
    if not (args.data / "wiki.txt").exists():
        sys.exit(f"{args.data} has no wiki.txt. Name a folder of a corpus and its questions.")
    args.out, args.data = args.out.resolve(), args.data.resolve()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also behind nohup, for the steps
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as work:
        measure(args, Path(work))
    print(f"See {args.out / 'report.md'}")


if __name__ == "__main__":
    main()
