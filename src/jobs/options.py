"""A job's options: those of the command line, with every default filled in."""

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path

from jobs.presets import PRESETS, Preset

ROOT = Path(__file__).resolve().parents[2]
STARTER = ROOT / "src" / "submission"


@dataclass(frozen=True)
class Options:
    """Where a job reads and writes, and how it runs.

    `data` has the corpus and the questions, `submission` the student's package, `out` gets the
    results (and has those of earlier jobs), and `gold`, if given, has the answers of the test
    questions. `log`: a training keeps a log.
    """

    preset: Preset
    data: Path
    submission: Path
    out: Path
    gold: Path | None
    device: str
    seed: int
    resume: bool
    log: bool = False
    graphs: bool = True
    precision: str = "auto"

    def as_arguments(self) -> list[str]:
        """These options as command-line arguments."""
        names = ("data", "submission", "out", "gold", "device", "seed", "precision")
        values = {"preset": self.preset.name} | {name: getattr(self, name) for name in names}
        flags = {"resume": self.resume, "log": self.log, "no-graphs": not self.graphs}
        return [
            *(f"--{name}={value}" for name, value in values.items() if value is not None),
            *(f"--{name}" for name, is_set in flags.items() if is_set),
        ]

    def command(self, target: str) -> str:
        """What to type for a target that reads these options' results."""
        words = ["./run.sh", target]
        for name, default in (
            ("submission", STARTER),
            ("out", self.submission),
            ("data", ROOT / "data" / self.preset.data),
        ):
            if getattr(self, name) != default:
                words += [f"--{name}", str(getattr(self, name))]
        return shlex.join(words)


def choose_options(
    args: argparse.Namespace, own: str | None = None, quiet: bool = False
) -> Options:
    """Fill in the defaults, and print which preset was chosen and why.

    Args:
        own: the target's own default preset.
        quiet: print nothing.

    Raises:
        UserError: the requested device is not available.
    """
    from jobs.devices import choose_device  # imports torch

    device = choose_device(args.device, quiet)
    name = args.preset or own or ("gpu" if device.startswith("cuda") else "laptop")
    why = (
        "by --preset"
        if args.preset
        else (
            f"{f'the default of {args.target}' if own else f'since the device is {device}'}; "
            "--preset chooses"
        )
    )
    preset = PRESETS[name]
    submission = args.submission or STARTER
    options = Options(
        preset=preset,
        data=args.data or ROOT / "data" / preset.data,
        submission=submission,
        out=args.out or submission,
        gold=args.gold,
        device=device,
        seed=args.seed,
        resume=args.resume,
        log=args.log,
        graphs=args.graphs,
        precision=args.precision,
    )
    if not quiet:
        print(f"Preset {name} ({why}), data from {options.data}", flush=True)
    return options
