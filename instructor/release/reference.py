"""The results of the reference at laptop size, kept beside its code, so that it can be graded in
full at once.
"""

import shutil
from pathlib import Path

import torch

from common.files import UserError, writing
from jobs.presets import LAPTOP
from jobs.problem1.run_job import Options, run_job
from jobs.targets import JOBS

from .starter import KEPT_RESULTS, ROOT, SOLUTION


def keep_results(folder: Path, out: Path = KEPT_RESULTS) -> None:
    """Keep the weights that `./run.sh demo --out folder` made, at half precision to save space, and
    answer with these.

    Args:
        folder: where the demo ran.
        out: gets the three files of weights that answer questions, and the six files of
            predictions.

    Raises:
        UserError: the demo did not come to its end there.
    """
    evaluations = [job for job in JOBS.values() if job.kind == "evaluate"]
    for name in sorted({job.reads for job in evaluations}):
        if not (folder / name).is_file():
            raise UserError(f"{folder / name} is not there. First: ./run.sh demo --out {folder}")
        state = torch.load(folder / name, map_location="cpu", weights_only=True)
        with writing(out / name) as temporary:
            torch.save(
                {
                    key: value.half() if value.is_floating_point() else value
                    for key, value in state.items()
                },
                temporary,
            )
    options = Options(
        preset=LAPTOP,
        data=ROOT / "data" / LAPTOP.data,
        submission=SOLUTION,
        out=out,
        gold=ROOT / "instructor" / "gold" / LAPTOP.data,
        device="cpu",
        seed=0,
        compile=False,
        resume=False,
    )
    for job in evaluations:
        print(job.target)
        run_job(job, options)
    shutil.rmtree(out / "runs", ignore_errors=True)
