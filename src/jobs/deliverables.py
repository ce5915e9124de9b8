"""The files to hand in, by their paths in src/submission."""

import os
from pathlib import Path, PurePosixPath

from jobs.targets import TARGETS

# The files that students write code in.
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
# Those for numbers and choices, with their questions.
ANSWERS = {"problem5/hand_attention.json": "5a", "problem6/choices.toml": "6b"}
# Supplied files. Grading uses our own copies of these and of __init__.py.
SUPPLIED = (
    "trainer.py",
    "utils.py",
    "given/epochs.py",
    "given/cuda_graphs.py",
    "problem5/encoder_data.py",
)
GIVEN = ("__init__.py", *SUPPLIED)

CODE = ("__init__.py", *STUDENT_FILES, *SUPPLIED)
FOLDERS = tuple(sorted({name.rpartition("/")[0] for name in (*CODE, *ANSWERS)} - {""}))
ANSWERING = ("attention.py", "dataset.py", "helper.py", "model.py")  # predictions depend on these
TRAINED = {"encoder.params": ("problem5/encoder.py",)}  # weights that depend on one file only
# result -> the target that writes it
MADE_BY = {target.writes: target.target for target in TARGETS.values() if target.handed_in}
DELIVERABLES = (*CODE, *ANSWERS, *MADE_BY)

_PLACES = {PurePosixPath(name).name: name for name in (*CODE, *ANSWERS)}


def place_of(name: str) -> str:
    """The path of a file in src/submission: `problem5/encoder.py` for `encoder.py`; other names
    stay as they are.
    """
    return _PLACES.get(name, name)


def has_code(folder: Path) -> bool:
    """Whether a folder has any file that students write, in its place or at the top."""
    return any(
        os.path.lexists(folder / place)
        for name in STUDENT_FILES
        for place in (name, PurePosixPath(name).name)
    )
