"""All measurements at full size on a GPU, as many as fit into some minutes; the same command again
continues:

    python benchmarks/full_size.py OUT [DATA ...] --minutes 9

First a trial of each training, then rates, then the eleven jobs on data/ and on each other folder
of data, then more seeds of RoPE. OUT/report.md has what is there, written anew after each step.
Needs torch, numpy, tqdm and matplotlib, and no network.

A step that an earlier call had no time for begins anew, but for jobs, which are resumed. One that a
whole call is too short for, or that fails, is reported as such; `--again WORD` repeats those whose
names have this word. Wanted: each pretraining of the public corpus at most 45 s all in, of ours 4
minutes; 10 times the rate of a plain loop; dev over 40.4% with RoPE on the public corpus, and over
60% with both positions on ours.
"""

import argparse
import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tables import ROOT, markdown, publish

from common.files import Interrupted, UserError, write_text
from common.packages import require_packages
from jobs.presets import PRESETS
from jobs.targets import JOBS

SOLUTION, GOLD = ROOT / "instructor" / "solution", ROOT / "instructor" / "gold"
GRACE = 15  # seconds that a step has to end in after Ctrl-C
LEAST = 30  # seconds that a step needs to begin
RATES = {
    "plain loop": {"plain": True},
    "recorded steps": {},
    "without recorded steps": {"graphs": False},
    "float32": {"precision": "fp32"},
    "12 workers": {"num_workers": 12},
    "2 workers": {"num_workers": 2},
    "1 worker": {"num_workers": 1},
    "0 workers": {"num_workers": 0},
    "compiled, recorded steps": {"compile": True},
    "compiled, reduce-overhead": {"graphs": False, "mode": "reduce-overhead"},
}


@dataclass(frozen=True)
class Step:
    """A step: its section of the report, its name, and its command.

    Attributes:
        command: for a job, the words of its command line; else JSON for full_size_steps.py.
        is_job: an interrupted one is resumed.
    """

    section: str
    name: str
    command: list[str] | dict
    is_job: bool = False


def plan(args: argparse.Namespace) -> list[Step]:
    """All steps, in order."""
    on = {"preset": args.preset, "device": args.device}
    variants = ("vanilla", "rope")
    steps = [
        Step(
            "trials",
            f"{variant} {kind}",
            {"step": "trial", "variant": variant, "kind": kind, "seconds": args.seconds, **on},
        )
        for kind in ("pretrain", "finetune")
        for variant in variants
    ]
    training = {"variant": "rope", "kind": "pretrain", **on}
    steps.append(
        Step(
            "resumed",
            "resumed",
            {"step": "resumed", "seconds": max(15, args.seconds / 3), **training},
        )
    )
    for variant in variants:
        words = {"step": "same_losses", "steps": 200, **training, "variant": variant}
        steps.append(Step("same losses", f"{variant} same losses", words))
    for name, settings in RATES.items():
        for variant in variants if "worker" not in name else ("rope",):
            words = {"step": "rate", "variant": variant, "epochs": args.epochs, **on, **settings}
            steps.append(Step("rates", f"{variant} {name}", words))
    steps.append(Step("drawn", "drawn", {"step": "drawn", "variant": "rope", **on}))
    for variant in variants:
        words = {"step": "decoded", "variant": variant, **on}
        steps.append(Step("decoding", f"{variant} decoding", words))
    ours = ROOT / "data" / PRESETS[args.preset].data
    folders = {"ours": ours, **{data.resolve().name: data.resolve() for data in args.data}}
    for name, data in folders.items():
        steps += [_job(args, name, data, target, 0) for target in JOBS]
    for name, data in reversed(folders.items()):  # the others are smaller than ours
        for seed in args.seeds:
            for target in JOBS:
                if target.startswith("rope") and "_test_" not in target:
                    steps.append(_job(args, name, data, target, seed))
    return steps


def _job(args, name, data, target, seed):
    out = args.out.resolve() / (f"{name}-seed-{seed}" if seed else name)
    words = [sys.executable, str(ROOT / "src" / "run.py"), target, "--resume"]
    words += ["--preset", args.preset, "--device", args.device, "--seed", str(seed)]
    words += ["--data", str(data), "--submission", str(SOLUTION), "--out", str(out)]
    gold = GOLD / PRESETS[args.preset].data
    if name == "ours" and "_test_" in target and gold.is_dir():
        words += ["--gold", str(gold)]
    section = "seeds" if seed else "jobs"
    return Step(section, f"{name} {target}" + f" seed {seed}" * bool(seed), words, is_job=True)


def attempt(command: list[str], log: Path, seconds: float) -> int | None:
    """Run a command with its output in a file; returns its exit code, None if Ctrl-C or a kill
    ended it for want of time.

    Raises:
        KeyboardInterrupt: after the command has ended, too.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        return process.wait(max(0.1, seconds - GRACE))
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
        pressed = isinstance(error, KeyboardInterrupt)
        if not pressed or error.args:  # else the terminal has told it, too
            process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        if pressed:
            raise
        return None
    finally:
        process.kill()
        process.wait()


def perform(step: Step, before: dict, out: Path, left: float, whole: float) -> dict:
    """Run a step, and return what to keep of it.

    Args:
        step: the step.
        before: what was kept of its interrupted parts.
        out: the folder of results.
        left: the seconds that it may take.
        whole: those of a whole call.
    """
    stem = re.sub(r"\W+", "-", step.name)
    log, result = out / "logs" / f"{stem}.log", out / "logs" / f"{stem}.json"
    result.unlink(missing_ok=True)
    command = step.command
    if not step.is_job:
        script = str(Path(__file__).with_name("full_size_steps.py"))
        command = [sys.executable, script, json.dumps(step.command), str(result.resolve())]
    begun = log.stat().st_size if log.exists() else 0
    started = time.monotonic()
    code = attempt(command, log, left)
    took = time.monotonic() - started
    kept = {"seconds": before.get("seconds", 0) + took, "parts": before.get("parts", 0) + 1}
    said = log.read_bytes()[begun:].decode("utf-8", errors="replace")
    if code is None:
        if not step.is_job and left > 0.9 * whole:
            return {"failed": f"not done after {took:.0f} s", "done": True}
        return kept if step.is_job else {}
    if code:
        lines = re.split(r"[\r\n]+", said.strip())
        return {"failed": f"exit code {code}: {lines[-1][:200]}", "done": True}
    if step.is_job:
        right = re.search(r"^Correct: (\d+) of (\d+)", said, re.MULTILINE)
        return {**kept, "right": right and [*map(int, right.groups())], "done": True}
    return {**json.loads(result.read_text(encoding="utf-8")), "done": True}


def report(steps: list[Step], results: dict, where: str) -> str:
    """What is measured until now, as tables in Markdown."""
    parts = [f"On {where}."]
    for section, (head, row) in SECTIONS.items():
        rows = []
        for step in steps:
            found = results.get(step.name, {})
            if step.section == section and found.get("done"):
                cells = [found["failed"]] if "failed" in found else row(found, results, step)
                rows.append([step.name, *cells, *[""] * (len(head) - len(cells))])
        if rows:
            parts.append(markdown(["", *head], rows))
    return "\n\n".join(parts) + "\n"


def _of_trial(found, *_):
    return [
        found["precision"],
        found["recorded"],
        f"{found['rate']:.1f}",
        f"{found['first']:.3f} to {found['last']:.3f} in {found['step']:,} steps",
        f"{found['gpu'] / 2**30:.2f}",
        f"{found['shared'] / 2**30:.2f}",
        found["said"] or "-",
    ]


def _of_rate(found, results, step):
    plain = results.get(f"{step.name.split()[0]} plain loop", {}).get("documents")
    times = f"{found['documents'] / plain:.2f}" if plain else "?"
    return [f"{found['documents']:,.0f}", f"{found['steps']:.1f}", times, f"{found['loss']:.3f}"]


def _of_job(found, *_):
    right = f"{found['right'][0] / found['right'][1]:.1%}" if found["right"] else "-"
    return [f"{found['seconds']:.1f}", found["parts"], right]


JOB = (["seconds, all in", "parts", "right answers"], _of_job)
SECTIONS = {
    "trials": (
        [
            "precision",
            "recorded shapes",
            "steps/s",
            "loss",
            "GiB of the GPU",
            "GiB of /dev/shm",
            "what it said",
        ],
        _of_trial,
    ),
    "resumed": (
        ["goes on from"],
        lambda found, *_: [
            f"step {found['from']:,} (loss {found['first']:.3f}) to {found['to']:,} "
            f"({found['last']:.3f})"
            if found["killed"]
            else "it ended before its first checkpoint"
        ],
    ),
    "same losses": (
        ["steps", "recorded shapes", "largest difference with recorded steps and without"],
        lambda found, *_: [
            found["steps"],
            found["recorded"] or "none: nothing was compared",
            f"{found['most']:.2g} (wanted: at most 0.001)",
        ],
    ),
    "rates": (["documents/s", "steps/s", "times the plain loop", "loss"], _of_rate),
    "drawn": (["documents/s of a core"], lambda found, *_: [f"{found['documents']:,.0f}"]),
    "decoding": (
        ["people/s", "one at a time, without a cache: people/s"],
        lambda found, *_: [f"{found['batches']:.0f}", f"{found['plain']:.1f}"],
    ),
    "jobs": JOB,
    "seeds": JOB,
}


def measure(args: argparse.Namespace) -> None:
    """Take the steps that are missing, until the time is over.

    Raises:
        UserError: OUT is of other settings, or a folder of data is missing.
        Interrupted: Ctrl-C; what is done is kept.
    """
    started, whole = time.monotonic(), args.minutes * 60
    require_packages("torch", "numpy", "tqdm", "matplotlib")
    from jobs.problem1.demo import machine

    if missing := [data for data in args.data if not (data / "wiki.txt").exists()]:
        raise UserError(f"{missing[0]} has no wiki.txt. Name folders of a corpus and questions.")
    settings = {"preset": args.preset, "device": args.device}
    kept = args.out / "results.json"
    state = {"settings": settings, "results": {}}
    if kept.exists():
        state = json.loads(kept.read_text(encoding="utf-8"))
        if state["settings"] != settings:
            raise UserError(f"{args.out} has results of {state['settings']}. Choose another OUT.")
    results, steps, where = state["results"], plan(args), machine()
    args.out.mkdir(parents=True, exist_ok=True)
    for step in steps:
        if args.again and args.again in step.name:
            results.pop(step.name, None)
    for number, step in enumerate(steps, start=1):
        left = whole - (time.monotonic() - started)
        if results.get(step.name, {}).get("done"):
            continue
        if left < min(LEAST, whole / 2):
            break
        print(f"[{number}/{len(steps)}] {step.name} ...", flush=True)
        results[step.name] = perform(step, results.get(step.name, {}), args.out, left, whole)
        write_text(kept, json.dumps(state))
        write_text(args.out / "report.md", report(steps, results, where))
    missing = [step.name for step in steps if not results.get(step.name, {}).get("done")]
    if missing:
        print(f"Next: {missing[0]}. The same command goes on (without --again).")
    elif args.device.startswith("cuda") and args.preset == "gpu":
        publish("full_size", "cuda", report(steps, results, where))
    print(f"See {args.out / 'report.md'}")


def _terminated(*_):
    raise KeyboardInterrupt("only this process was told")


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("data", type=Path, metavar="DATA", nargs="*", help="as data/")
    parser.add_argument("--minutes", type=float, default=9, help="of this call (default: 9)")
    parser.add_argument("--again", metavar="WORD", help="repeat the steps with this in their names")
    parser.add_argument("--preset", choices=PRESETS, default="gpu")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3], help="more, of RoPE")
    parser.add_argument("--seconds", type=float, default=60, help="of a trial (default: 60)")
    parser.add_argument("--epochs", type=int, default=20, help="of a rate (default: 20)")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also behind nohup, for the steps
    signal.signal(signal.SIGTERM, _terminated)
    try:
        measure(parser.parse_intermixed_args())
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("\nInterrupted. The same command goes on.", file=sys.stderr)
        return Interrupted.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
