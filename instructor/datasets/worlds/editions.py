"""What ships in data/. For a new cohort, change the seeds and run `python -m instructor data`."""

import argparse
from pathlib import Path

from common.files import write_text
from instructor import ROOT

from .exercises import as_json, make_matrices, solve, write_exercises
from .world import SIZES, make_world, write_world

# size -> seed, folder under data/ and gold/
EDITIONS = {"full": (730291, "."), "laptop": (514423, "laptop")}
EXERCISES = 308117  # the seed of problem 5's data
TRACES = 961207  # and of the recorded traces of problem 6
PRACTICE = 31  # of those that students get, with their labels


def run(args: argparse.Namespace) -> int:
    """Rebuild data/ and the gold answers that belong to it; returns 0."""
    write_data()
    print("Wrote data/, the answers in instructor/gold/, and the solution of 5a")
    return 0


def write_data(root: Path = ROOT) -> None:
    """Write the worlds and the data of problem 5, what they are graded with, and the solution of
    5a, each to its place in the project.
    """
    data, gold = root / "data", root / "instructor" / "gold"
    for size, (seed, folder) in EDITIONS.items():
        write_world(*make_world(seed, SIZES[size]), data / folder, gold / folder)
    write_exercises(EXERCISES, data, gold)
    solution = root / "instructor" / "solution" / "problem5" / "hand_attention.json"
    write_text(solution, as_json(solve(make_matrices(EXERCISES))))
