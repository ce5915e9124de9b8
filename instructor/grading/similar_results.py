"""Finds weights and predictions that are nearly somebody else's: copied, and changed a little.

Results without pretraining are left out: they follow from given code and the default seed, so all
students' are alike.
"""

import contextlib
import hashlib
import itertools
import pickle
import tempfile
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np

from autograder.intake import Refused, take
from checks.support.context import GRADED, Context
from checks.support.staging import result_limit
from instructor.grading.settings import read_settings
from jobs.presets import PRESETS
from jobs.targets import JOBS

# Relative distance of matrices. Other trainings: 0.92 to 1.0, from the same seed, too. Finetuned
# weights and the pretrained ones that they began with: 0.02; with noise of 0.01 added: 0.07.
NEAR = 0.3
# Share of equal lines where at least one of the two answers is wrong, and how many lines there must
# be. Other trainings: 0 to 6% of 27 to 39 lines. If one wrong answer in seven were the same by
# chance, one pair in 60,000 would be listed.
EQUAL, LEAST = 0.8, 8
KEPT = 2000  # numbers of each matrix
COMPARED = {
    job.writes
    for job in JOBS.values()
    if job.pretrained and (job.kind == "finetune" or job.split == "dev")
}


def read(source: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read the weights and predictions of a submission.

    Returns:
        A part of all matrices' numbers, and the lines of the dev predictions, by the file's name,
        without what is no zip archive of torch.save or no UTF-8; and hashes of all of its results,
        by their names, with a note where all predictions are the same.
    """
    found, digests = {}, {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        results = Path(folder, "results")
        with contextlib.suppress(Refused, OSError):  # none, or bad ones, which grading has reported
            take(source, results, result_limit)
        for path in sorted(results.glob("*")):
            content = path.read_bytes()
            text = path.suffix == ".predictions"
            lines = content.splitlines() if text else [content]  # line ends depend on the system
            always = ", always the same answer" * (text and len(set(lines)) < 2)
            if content:
                digests[path.name + always] = hashlib.sha256(b"\n".join(lines)).hexdigest()
            if path.name in COMPARED:
                with contextlib.suppress(Exception):  # whatever a forged file makes a reader raise
                    words = [line.decode("utf-8-sig").strip() for line in lines] if text else []
                    found[path.name] = np.array(words) if text else _numbers(path)
    return found, digests


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


def near(results: dict[str, dict[str, np.ndarray]], out: Path) -> list[tuple[str, str, list[str]]]:
    """Compare the results of all pairs of people.

    Args:
        results: of each person, as `read` returns them.
        out: where the class was graded.

    Returns:
        (person, person, files with a note) of those whose results are nearly equal, not wholly.
    """
    pairs = []
    answers = load_answers(out) if any(results.values()) else []
    for (one, mine), (other, theirs) in itertools.combinations(results.items(), 2):
        both = sorted(mine.keys() & theirs.keys())
        found = {name: _closeness(name, mine[name], theirs[name], answers) for name in both}
        if notes := [f"{name} ({note})" for name, note in found.items() if note]:
            pairs.append((one, other, notes))
    return pairs


def load_answers(out: Path) -> list[np.ndarray]:
    """The right answers of dev, of each preset, for a class that was graded in `out`."""
    setting = read_settings(out).for_checks()
    context = Context(out, setting.preset, setting.data, setting.answers, {})
    names = [setting.preset] if setting.preset else GRADED
    return [np.array([right for _, right in context.pairs(PRESETS[n], "dev")]) for n in names]


def _closeness(name, mine, theirs, answers):
    """What is nearly equal in two results, in words; "" otherwise."""
    if mine.shape != theirs.shape or (mine == theirs).all():
        return ""
    if name.endswith(".params"):
        distance = np.sqrt(((mine - theirs) ** 2).sum() / (mine**2 + theirs**2).sum())
        return f"distance {distance:.2g}" if distance < NEAR else ""
    for right in answers:
        if len(right) == len(mine):
            equal = (mine == theirs)[(mine != right) | (theirs != right)]
            if len(equal) >= LEAST and equal.mean() > EQUAL:
                return f"{equal.sum()} of {len(equal)} answers that are not both right are equal"
    return ""
