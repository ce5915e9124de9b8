"""Makes the data of problem 5: sentences about teachers to classify, and matrices to compute with
by hand.
"""

import json
import random
from pathlib import Path

import numpy as np

from common.files import write_text

from .names import WORLDS, draw_word

GROUPS = WORLDS["groups"]  # the class of a sentence is the group of its teacher's occupation
CITIES = WORLDS["cities"][:30]
SPLITS = {"train": 2000, "dev": 500, "test": 500}
VERBS = (("taught", "was taught by"), ("trained", "was trained by"))  # active and passive
SHAPES = {"Q": (2, 4), "K": (3, 4), "V": (3, 2)}
ANSWERS = {"scores": (2, 3), "scaled_scores": (2, 3), "weights": (2, 3), "output": (2, 2)}


def make_occupations(seed: int) -> dict[str, list[tuple[str, int]]]:
    """Draw the sentences and classes of each split.

    Sentences come in pairs, within a split, that differ only in that the two occupations are
    swapped. So the classes of a pair differ, and a model that ignores word order is right about at
    most one.
    """
    rng = random.Random(seed)
    splits = {}
    for split, count in SPLITS.items():
        rows = [row for _ in range(count // 2) for row in _pair(rng)]
        rng.shuffle(rows)
        splits[split] = rows
    return splits


def _pair(rng):
    groups = rng.sample(range(len(GROUPS)), 2)
    jobs = [rng.choice(GROUPS[group]) for group in groups]
    people = [
        (
            f"{draw_word(rng, 1)} {draw_word(rng, 2)}",
            rng.choice([f" from {rng.choice(CITIES)}", ""]),
        )
        for _ in jobs
    ]
    opening = rng.choice(["", "", f"In {rng.randint(1800, 1950)}, "])
    passive = rng.random() < 0.5
    verb = rng.choice(VERBS)[passive]
    for order in ((0, 1), (1, 0)):
        first, second = (
            f"{name}, {'an' if jobs[k][0] in 'aeiou' else 'a'} {jobs[k]}{home}"
            for (name, home), k in zip(people, order)
        )
        yield f"{opening}{first}, {verb} {second}.", groups[order[1] if passive else order[0]]


def make_matrices(seed: int) -> dict[str, list[list[int]]]:
    """Draw Q, K and V: integers from -2 to 2, such that scores differ within rows and columns, and
    no weight is nearly 0 or 1.
    """
    rng = random.Random(seed)
    while True:
        drawn = {
            name: [[rng.randint(-2, 2) for _ in range(columns)] for _ in range(rows)]
            for name, (rows, columns) in SHAPES.items()
        }
        scores = np.array(drawn["Q"]) @ np.array(drawn["K"]).T
        steps, spread = np.diff(np.sort(scores)), np.ptp(scores, axis=1)
        if (
            steps.all()
            and (scores[0] != scores[1]).all()
            and 2 <= spread.min() <= spread.max() <= 6
        ):
            return drawn


def as_json(matrices: dict[str, list[list]]) -> str:
    """Matrices as JSON: each with its name, one row per line."""
    blocks = (
        f'  "{name}": [\n' + ",\n".join(f"    {json.dumps(row)}" for row in rows) + "\n  ]"
        for name, rows in matrices.items()
    )
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def blank(matrices: dict[str, list[list]]) -> dict[str, list[list]]:
    """The matrices as students get them, with null in place of the answers."""
    return {name: matrices[name] for name in SHAPES} | {
        name: np.full(shape, None).tolist() for name, shape in ANSWERS.items()
    }


def solve(matrices: dict[str, list[list]]) -> dict[str, list[list]]:
    """The matrices with the right answers: attention by its formula, weights and output rounded to
    4 decimals.
    """
    Q, K, V = (np.array(matrices[name]) for name in SHAPES)
    scores = Q @ K.T
    scaled = scores / np.sqrt(K.shape[1])
    weights = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
    answers = (scores, scaled, weights.round(4), (weights @ V).round(4))
    return {name: matrices[name] for name in SHAPES} | {
        name: matrix.tolist() for name, matrix in zip(ANSWERS, answers)
    }


def write_exercises(seed: int, data: Path, gold: Path) -> None:
    """Write the files of problem 5 into `data`, and the sentences for grading into `gold`."""
    for split, rows in make_occupations(seed).items():
        folder = gold if split == "test" else data
        write_text(
            folder / "occupations" / f"{split}.tsv",
            "".join(f"{sentence}\t{group}\n" for sentence, group in rows),
        )
    write_text(data / "hand_attention.json", as_json(make_matrices(seed)))
