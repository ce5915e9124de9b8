"""What ships in data/. For a new cohort, change the seeds and run `python -m instructor data`."""

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


def write_edition(
    size: str, data: Path = ROOT / "data", gold: Path = ROOT / "instructor" / "gold"
) -> None:
    """Write the world of one size into its folder under `data`, and its test answers into the one
    under `gold`.
    """
    seed, folder = EDITIONS[size]
    write_world(*make_world(seed, SIZES[size]), data / folder, gold / folder)


def write_data(
    data: Path = ROOT / "data",
    gold: Path = ROOT / "instructor" / "gold",
    solution: Path = ROOT / "instructor" / "solution",
) -> None:
    """Write the data of problem 5 into `data`, what it is graded with into `gold`, and the solution
    of 5a into `solution`.
    """
    write_exercises(EXERCISES, data, gold)
    write_text(
        solution / "problem5" / "hand_attention.json", as_json(solve(make_matrices(EXERCISES)))
    )
