"""`python -m instructor reference FOLDER`: saves the reference's laptop-size results, so that
grading it needs no training.
"""

import argparse
import json
import shutil
from datetime import date

import torch

from autograder import draw_seed, read_manifest
from checks.support.session import MANIFEST, Setting, grade_submission
from common.cores import cores
from common.files import UserError, write_text, writing
from instructor import ROOT
from jobs.options import Options
from jobs.presets import LAPTOP
from jobs.problem1.run_job import run_job
from jobs.targets import JOBS

from .starter import KEPT_RESULTS, SOLUTION


def run(args: argparse.Namespace) -> int:
    """Save the weights of `./run.sh demo --out FOLDER` in half precision, their predictions, and
    the demo's summary.json with the date; its plot becomes docs/demo.png. Returns the exit code.

    Raises:
        UserError: the demo is not finished.
    """
    folder, out = args.folder, KEPT_RESULTS
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
    setting, manifest = Setting(hidden=True, results=out, workers=cores()), read_manifest(MANIFEST)
    checks = [*manifest.checks.values()]
    report = grade_submission(SOLUTION, checks, setting, draw_seed(), manifest)
    print(f"Graded: {report.score:g} of {report.max_score:g} points")
    summary |= {"date": f"{date.today()}"}
    write_text(out / "summary.json", json.dumps(summary, indent=2) + "\n")
    shutil.copyfile(folder / "accuracy.png", ROOT / "docs" / "demo.png")
    return 0
