"""Saves the reference's laptop-size results, so that grading it needs no training."""

import json
import shutil
from datetime import date
from pathlib import Path

import torch

from autograder import Report, draw_seed, read_manifest
from checks.support.session import MANIFEST, Setting, grade_submission
from common.cores import cores
from common.files import UserError, write_text, writing
from instructor import ROOT
from jobs.options import Options
from jobs.presets import LAPTOP
from jobs.problem1.run_job import run_job
from jobs.targets import JOBS

from .starter import KEPT_RESULTS, SOLUTION


def keep_results(folder: Path, out: Path = KEPT_RESULTS) -> None:
    """Save the weights of `./run.sh demo --out folder` in half precision, and their predictions.

    Args:
        folder: where the demo ran.
        out: gets the three files of weights that answer questions, the six files of predictions,
            and summary.json, which is the demo's with the date and the seconds of grading all this.
            The plot of the demo becomes docs/demo.png.

    Raises:
        UserError: the demo is not finished.
    """
    evaluations = [job for job in JOBS.values() if job.kind == "evaluate"]
    for name in sorted({job.reads for job in evaluations}):
        if not (folder / name).is_file():
            raise UserError(f"{folder / name} is missing. Run first: ./run.sh demo --out {folder}")
        state = torch.load(folder / name, map_location="cpu", weights_only=True)
        with writing(out / name) as temporary:
            halves = {
                key: value.half() if value.is_floating_point() else value
                for key, value in state.items()
            }
            torch.save(halves, temporary)
    options = Options(
        preset=LAPTOP,
        data=ROOT / "data" / LAPTOP.data,
        submission=SOLUTION,
        out=out,
        gold=ROOT / "instructor" / "gold" / LAPTOP.data,
        device="cpu",
        seed=0,
        resume=False,
    )
    for job in evaluations:
        print(job.target)
        run_job(job, options)
    shutil.rmtree(out / "runs", ignore_errors=True)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    report = grade_reference(out)
    print(f"Graded: {report.score:g} of {report.max_score:g} points")
    summary |= {"date": f"{date.today()}"}
    write_text(out / "summary.json", json.dumps(summary, indent=2) + "\n")
    shutil.copyfile(folder / "accuracy.png", ROOT / "docs" / "demo.png")


def grade_reference(results: Path) -> Report:
    """Grade the reference with its results by basic and hidden checks."""
    setting = Setting(hidden=True, results=results, workers=cores())
    manifest = read_manifest(MANIFEST)
    checks = [check for check in manifest.checks.values() if check.coded]
    return grade_submission(SOLUTION, checks, setting, draw_seed(), manifest)
