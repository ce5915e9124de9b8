"""Finds weights that are somebody else's: copied, and perhaps changed a little.

Weights without pretraining are left out: they follow from given code and the default seed, so all
students' are alike.
"""

import contextlib
import itertools
import pickle
import tempfile
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np

from autograder.intake import Refused, take
from checks.support.staging import result_limit
from jobs.targets import JOBS

# Relative distance of matrices. Other trainings: 0.92 to 1.0, from the same seed, too. Finetuned
# weights and the pretrained ones that they began with: 0.02; with noise of 0.01 added: 0.07.
NEAR = 0.3
KEPT = 2000  # numbers of each matrix
COMPARED = {job.writes for job in JOBS.values() if job.pretrained and job.kind == "finetune"}


class _Tensors(pickle.Unpickler):
    """Reads where a state_dict's tensors are in its archive: name -> ((_, dtype, file, ...),
    shape). It calls nothing that a file names but what is listed here.
    """

    known = {
        ("collections", "OrderedDict"): OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): lambda storage, offset, shape, *_: (storage, shape),
        ("torch", "HalfStorage"): "<f2",
        ("torch", "FloatStorage"): "<f4",
        ("torch", "DoubleStorage"): "<f8",
    }

    def find_class(self, module, name):
        return self.known[module, name]

    def persistent_load(self, pid):
        return pid


def read_weights(source: Path) -> dict[str, np.ndarray]:
    """A part of all matrices' numbers, by the file's name, of a submission's weights; without what
    is no zip archive of torch.save.
    """
    found = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        results = Path(folder, "results")
        with contextlib.suppress(Refused, OSError):  # none, or bad ones, which grading has reported
            take(source, results, lambda name: result_limit(name) if name in COMPARED else None)
        for path in sorted(results.glob("*")):
            with contextlib.suppress(Exception):  # whatever a forged file makes a reader raise
                found[path.name] = _numbers(path)
    return found


def _numbers(path):
    """Numbers of the matrices, evenly spaced; without masks and tables of rotations."""
    parts = []
    with zipfile.ZipFile(path) as archive:
        # what is compressed may be larger than the file
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise ValueError("compressed")
        root = archive.namelist()[0].split("/")[0]
        if archive.getinfo(f"{root}/data.pkl").file_size > 1 << 20:
            raise ValueError("more names than a model has")
        with archive.open(f"{root}/data.pkl") as file:
            tensors = _Tensors(file).load()
        for name, ((_, dtype, key, *_), shape) in sorted(tensors.items()):
            if len(shape) > 1 and not name.endswith(("mask", "cache")):
                numbers = np.frombuffer(archive.read(f"{root}/data/{key}"), dtype)
                parts.append(numbers[:: -(-len(numbers) // KEPT)].astype(float))
    numbers = np.concatenate(parts)
    if not np.isfinite(numbers).all():
        raise ValueError("not all numbers are finite")
    return numbers


def near(weights: dict[str, dict[str, np.ndarray]]) -> list[tuple[str, str, str, float]]:
    """(person, person, file, distance) of those whose weights are equal, or nearly.

    Args:
        weights: of each person, as `read_weights` returns them.
    """
    found = []
    for (person, mine), (other, theirs) in itertools.combinations(weights.items(), 2):
        for name in sorted(mine.keys() & theirs.keys()):
            one, two = mine[name], theirs[name]
            if one.shape == two.shape:
                distance = np.sqrt(((one - two) ** 2).sum() / max((one**2 + two**2).sum(), 1e-9))
                if distance < NEAR:
                    found.append((person, other, name, float(distance)))
    return found
