"""Makes the data of problem 5: sentences about teachers to classify, and matrices to compute with
by hand.
"""

import json
import math
import random
from pathlib import Path

from common.files import write_text

from .cities import CITIES
from .world import CODAS, ONSETS, VOWELS

# The class of a sentence is the group of its teacher's occupation.
GROUPS = (
    ("painter", "poet"),
    ("singer", "actor"),
    ("baker", "farmer"),
    ("pilot", "sailor"),
    ("judge", "chemist"),
)
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
    people = [(_name(rng), rng.choice([f" from {rng.choice(CITIES[:30])}", ""])) for _ in jobs]
    opening = rng.choice(["", "", f"In {rng.randint(1800, 1950)}, "])
    passive = rng.random() < 0.5
    verb = rng.choice(VERBS)[passive]
    for order in ((0, 1), (1, 0)):
        first, second = (
            f"{name}, {'an' if jobs[k][0] in 'aeiou' else 'a'} {jobs[k]}{home}"
            for (name, home), k in zip(people, order)
        )
        yield f"{opening}{first}, {verb} {second}.", groups[order[1] if passive else order[0]]


def _name(rng):
    return " ".join(
        "".join(rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(syllables)).capitalize()
        + rng.choice(CODAS)
        for syllables in (1, 2)
    )


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
        scores = [[sum(a * b for a, b in zip(q, k)) for k in drawn["K"]] for q in drawn["Q"]]
        spread = [max(row) - min(row) for row in scores]
        columns = all(a != b for a, b in zip(*scores))
        if (
            all(2 <= width <= 6 and len(set(row)) == 3 for width, row in zip(spread, scores))
            and columns
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
        name: [[None] * columns for _ in range(rows)] for name, (rows, columns) in ANSWERS.items()
    }


def solve(matrices: dict[str, list[list]]) -> dict[str, list[list]]:
    """The matrices with the right answers: attention by its formula, weights and output rounded to
    4 decimals.
    """
    Q, K, V = (matrices[name] for name in SHAPES)
    scores = [[sum(a * b for a, b in zip(q, k)) for k in K] for q in Q]
    scaled = [[score / math.sqrt(len(K[0])) for score in row] for row in scores]
    weights = [[math.exp(score) / sum(map(math.exp, row)) for score in row] for row in scaled]
    output = [
        [sum(weight * v[column] for weight, v in zip(row, V)) for column in range(len(V[0]))]
        for row in weights
    ]
    answers = {
        "scores": scores,
        "scaled_scores": scaled,
        "weights": _rounded(weights),
        "output": _rounded(output),
    }
    return {name: matrices[name] for name in SHAPES} | answers


def _rounded(rows):
    return [[round(value, 4) for value in row] for row in rows]


def write_exercises(seed: int, data: Path, gold: Path) -> None:
    """Write the files of problem 5 into `data`, and the sentences for grading into `gold`."""
    for split, rows in make_occupations(seed).items():
        folder = gold if split == "test" else data
        write_text(
            folder / "occupations" / f"{split}.tsv",
            "".join(f"{sentence}\t{group}\n" for sentence, group in rows),
        )
    write_text(data / "hand_attention.json", as_json(make_matrices(seed)))
