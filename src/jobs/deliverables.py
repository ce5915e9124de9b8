"""What is handed in: the files of src/submission, by their place in it."""

import os
from pathlib import Path, PurePosixPath

from jobs.targets import TARGETS

# What students write, and where they enter numbers and choices.
STUDENT_FILES = (
    "attention.py",
    "dataset.py",
    "helper.py",
    "model.py",
    "problem5/numpy_attention.py",
    "problem5/encoder.py",
    "problem6/accounting.py",
    "problem6/positions.py",
    "problem6/efficient_attention.py",
    "problem6/fixes.py",
    "problem6/diagnostics.py",
)
ANSWERS = ("problem5/hand_attention.json", "problem6/choices.toml")
# What they are given. Grading takes these, and __init__.py, from us.
SUPPLIED = (
    "trainer.py",
    "utils.py",
    "given/epochs.py",
    "given/cuda_graphs.py",
    "problem5/encoder_data.py",
)
GIVEN = ("__init__.py", *SUPPLIED)

CODE = ("__init__.py", *STUDENT_FILES, *SUPPLIED)
FOLDERS = tuple(sorted({name.rpartition("/")[0] for name in CODE + ANSWERS} - {""}))
ANSWERING = ("attention.py", "dataset.py", "helper.py", "model.py")  # predictions come from these
TRAINED = {"encoder.params": ("problem5/encoder.py",)}  # weights that come from one file alone
# results: the target that writes each
MADE_BY = {target.writes: target.target for target in TARGETS.values() if target.handed_in}
DELIVERABLES = CODE + ANSWERS + tuple(MADE_BY)

_PLACES = {PurePosixPath(name).name: name for name in CODE + ANSWERS}


def place_of(name: str) -> str:
    """Where a file belongs in src/submission: `encoder.py` is taken in as `problem5/encoder.py`,
    other names as they are.
    """
    return _PLACES.get(name, name)


def has_code(folder: Path) -> bool:
    """Whether a folder has any file that students write, in its place or without folders."""
    return any(
        os.path.lexists(folder / place)
        for name in STUDENT_FILES
        for place in (name, PurePosixPath(name).name)
    )
