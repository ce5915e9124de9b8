"""The worlds that ship in data/. Change the seeds for a new cohort, then `python -m instructor data`."""
from pathlib import Path

from .world import SIZES, make_world, write_world

ROOT = Path(__file__).resolve().parents[2]
EDITIONS = {"full": (730291, "."), "laptop": (514423, "laptop")}     # size -> seed, folder under data/ and gold/


def write_edition(size: str, data: Path = ROOT / "data", gold: Path = ROOT / "instructor" / "gold") -> None:
    """Write the world of one size into its folder under `data`, and its test answers into the one under `gold`."""
    seed, folder = EDITIONS[size]
    write_world(*make_world(seed, SIZES[size]), data / folder, gold / folder)
