"""A job's options: those of the command line, with every default filled in."""

import argparse
import shlex
from dataclasses import dataclass, fields
from pathlib import Path

from common.files import UserError
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
    device = _choose_device(args.device, quiet)
    on_device = "gpu" if device.startswith("cuda") else "laptop"
    preset = PRESETS[args.preset or own or on_device]
    submission = args.submission or STARTER
    chosen = vars(args) | {
        "preset": preset,
        "data": args.data or ROOT / "data" / preset.data,
        "submission": submission,
        "out": args.out or submission,
        "device": device,
    }
    options = Options(**{field.name: chosen[field.name] for field in fields(Options)})
    if not quiet:
        default = f"the default of {args.target}" if own else f"since the device is {device}"
        why = "by --preset" if args.preset else f"{default}; --preset chooses"
        print(f"Preset {preset.name} ({why}), data from {options.data}", flush=True)
    return options


def _choose_device(wanted, quiet):
    """The device to compute on: the one that is wanted, else an NVIDIA GPU, else the CPU. Unless
    quiet, prints a hint where torch should have found a GPU.
    """
    import torch  # which collect.py does without

    available = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if wanted is None:
        if torch.version.cuda and not available["cuda"] and not quiet:
            print(
                f"torch {torch.__version__} was built for CUDA {torch.version.cuda} and finds no "
                "GPU, so this runs on the CPU. If there is one, compare with the driver's CUDA "
                "version in nvidia-smi: an older driver needs an update, or a torch built for its "
                "version: TORCH_BUILD=cu126 ./run.sh python -V, say, makes .venv with one for CUDA "
                "12.6.",
                flush=True,
            )
        return "cuda" if available["cuda"] else "cpu"
    kind = wanted.split(":")[0] if wanted.startswith("cuda") else wanted
    if not available.get(kind):
        raise UserError(
            f"--device {wanted}: torch {torch.__version__} finds no such device here. "
            f"Available: {', '.join(name for name in available if available[name])}."
        )
    try:
        torch.empty(1, device=wanted)
    except (RuntimeError, AssertionError):
        raise UserError(
            f"--device {wanted}: there is no device with that number. --device {kind} takes the "
            "first one."
        ) from None
    return wanted
