"""What train_on_gpu.ipynb does once it has unpacked the student's zip, which has this module: look
at the machine, make the command that trains, and put the results into a zip.
"""

import os
import shlex
import struct
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

from common.files import UserError, writing
from jobs.presets import PRESETS
from jobs.targets import JOBS

OLDEST_TORCH = "2.9"
MENUS = {
    "Colab": "In the menu Runtime > Change runtime type, choose a GPU.",
    "Kaggle": "In the menu Settings > Accelerator, choose a GPU T4 (accounts need a verified phone "
    "number for that).",
}
# How another for_gpu.zip gets to the machine.
BRING = {
    "Colab": "set NEW_CODE = True in the first cell of code, and upload the zip when asked",
    "Kaggle": "add the zip as a new version of your dataset, and take that version under Input",
}
# a notebook then shows the sentence alone
UserError._render_traceback_ = lambda error: [str(error)]


def begin(copy: Path, kept: Path, preset: str, options: str = "", where: str = "") -> str:
    """Print the machine, and return the command that does what is not done yet.

    Args:
        copy: the unpacked folder of the student.
        kept: a folder that outlives the machine; the results are in its folder `preset`.
        preset: the name of one.
        options: more options of src/run.py.
        where: "Colab" or "Kaggle", whose menus are named if there is no GPU.

    Raises:
        UserError: the machine lacks packages or a GPU, or there is no such preset.
    """
    if preset not in PRESETS:
        raise UserError(
            f"There is no preset {preset!r}. Set PRESET to one of: {', '.join(PRESETS)}"
        )
    if missing := [name for name in ("torch", "numpy", "tqdm") if find_spec(name) is None]:
        raise UserError(f"This Python lacks packages. In a cell: %pip install {' '.join(missing)}")
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    print(f"{gpu or 'No GPU'}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    if torch.__version__ < OLDEST_TORCH:
        print(f"torch {OLDEST_TORCH} or later is needed. If a job fails: %pip install -U torch")
    if preset == "gpu" and not gpu:
        advice = MENUS.get(
            where, "If `!nvidia-smi` shows one, this torch is for CPUs, or for newer drivers."
        )
        raise UserError(
            f"torch finds no GPU. {advice} Then run all cells again. Without a GPU, PRESET = "
            '"laptop" trains a smaller model.'
        )
    command = [sys.executable, str(copy / "src" / "run.py"), "all", "--resume"]
    command += ["--preset", preset, "--out", str(kept / preset), *shlex.split(options)]
    # for `!`, whose shell is another on Windows
    return subprocess.list2cmdline(command) if os.name == "nt" else shlex.join(command)


def require_done(exit_code: int, copy: Path, where: str = "") -> None:
    """Raise UserError, which says how to go on, if the command that trains has not done all jobs;
    copy, where: as in `begin`.
    """
    if exit_code == 0:
        return
    if exit_code not in (1, 2, 3):  # stopped, or killed from outside
        raise UserError("Not all jobs are done. To continue, run all cells again.")
    bring = BRING.get(where, "put the zip in place of the one beside this notebook")
    unless = "" if exit_code == 3 else "If it is your code: "
    raise UserError(
        f"Not all jobs are done; why is said above. {unless}{copy} is only what the zip had, so "
        "changes there are lost. Change the file in your own copy, make the zip again "
        f"(./collect_submission.sh --for-gpu), and {bring}. Then run all cells again."
    )


def pack(kept: Path, preset: str) -> Path:
    """Write the zip that brings the results back, and say where they belong; returns its path.

    Raises:
        UserError: there are no results yet, or the zip cannot be written.
    """
    results, archive = kept / preset, kept / f"results-{preset}.zip"
    names = [job.writes for job in JOBS.values() if (results / job.writes).exists()]
    if not names:
        raise UserError(f"There are no results in {results} yet. Run the cell that trains.")
    # what each was made from, and logs
    made = [f"runs/{name}.json" for name in names]
    made = [name for name in made if (results / name).exists()]
    logs = [f"runs/{path.name}" for path in sorted(results.glob("runs/*.jsonl"))]
    with writing(archive) as temporary, zipfile.ZipFile(temporary, "w") as zipped:
        for name in (*names, *made, *logs):
            entry = zipfile.ZipInfo.from_file(results / name, f"src/submission/{name}")
            # The time in UTC, as unzip and others read it: collect_submission.sh compares times.
            modified = int((results / name).stat().st_mtime)
            entry.extra = struct.pack("<HHBl", 0x5455, 5, 1, modified)
            zipped.writestr(entry, (results / name).read_bytes())
    missing = [job.target for job in JOBS.values() if job.writes not in names]
    print(f"Wrote {archive}, {archive.stat().st_size / 2**20:.1f} MiB: {', '.join(names)}")
    print(
        f"Unpack it in the root folder of your copy, where run.sh is (unzip -o {archive.name}); "
        "its files go into src/submission. Then ./collect_submission.sh works there; to train "
        f"again, ./run.sh all --resume --preset {preset}."
    )
    if missing:
        print(f"Still to do: {', '.join(missing)}. Run the cell that trains again.")
    return archive
