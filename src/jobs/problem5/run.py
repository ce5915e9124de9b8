"""Runs a target of problem 5."""

import argparse
import importlib
from pathlib import Path

from common.files import UserError
from jobs.options import ROOT
from jobs.problem5.copying import copy
from jobs.problem5.report import report
from jobs.problem5.scaling import scaling
from jobs.targets import TARGETS


def run(args: argparse.Namespace, student, out: Path) -> None:
    """Run the target `args.target`.

    Args:
        args: the command line.
        student: the file of the submission that the target calls, as a module.
        out: the folder for results.
    """
    match args.target:
        case "encoder_scaling":
            scaling(student.scaling_experiment, out / TARGETS[args.target].writes, args.seed)
        case "encoder_copy":
            copy(student.copy_task, args.seed)
        case "encoder_report":
            data = importlib.import_module(f"{student.__package__}.encoder_data")
            report(student, data, find_occupations(args.data), out, args.seed)


def find_occupations(data: Path | None) -> Path:
    """The folder with the occupations: in --data, beside it, or the assignment's own."""
    if data is not None and not data.is_dir():
        raise UserError(f"--data {data} is not a folder.")
    places = [data, data.resolve().parent] if data else []
    found = (place / "occupations" for place in places if (place / "occupations").is_dir())
    return next(found, ROOT / "data" / "occupations")
