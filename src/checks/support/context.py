"""Context for the checks of results: where they are, and their preset, data and answers."""

from dataclasses import dataclass, field
from pathlib import Path

from autograder import Probe
from checks.support.rounds import Rounds
from common.files import UserError, read_text
from jobs.presets import PRESETS, Preset
from jobs.targets import PROBLEMS

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "data"
GRADED = ("laptop", "gpu")  # presets whose results can be graded
# Files that checks read: data, answers, and answers that are the same for every cohort.
EXERCISES, GOLD_EXERCISES, GOLD_SHARED = (
    tuple(name for problem in PROBLEMS.values() for name in getattr(problem, kind))
    for kind in ("exercises", "gold", "gold_shared")
)


@dataclass(frozen=True)
class Context:
    """Locations of results and answers.

    artifacts: the folder of weights and predictions. preset: a name, or None to infer it from the
    number of predictions. data: the folder of the corpus and the questions, or None for the
    preset's. gold: the folder of the test answers (with a folder for each preset's data, or for one
    preset), or None if they are not available. accuracy: the manifest's thresholds. rounds: the
    source of calls with the reference's replies. answer_alone: the probe with which staff ask
    weights; None where students grade themselves.
    """

    artifacts: Path
    preset: str | None
    data: Path | None
    gold: Path | None
    accuracy: dict
    rounds: Rounds = field(default_factory=Rounds)
    answer_alone: Probe | None = None

    def __post_init__(self):
        if self.data is not None and self.preset is None:
            raise UserError(
                "--data also needs --preset: laptop or gpu, the one that produced the results."
            )
        for option, folder in (("--data", self.data), ("--gold", self.gold)):
            if folder is not None and not folder.is_dir():
                raise UserError(f"{folder} is not a folder. Check {option}.")
        if self.data is not None:
            for name in ("wiki.txt", "birth_dev.tsv"):
                read_text(self.data / name)

    def data_of(self, preset: Preset) -> Path:
        """The folder of the corpus and the questions."""
        return self.data or DATA / preset.data

    def pairs(self, preset: Preset, split: str) -> list[tuple[str, str]]:
        """Questions and correct answers of "dev" or "test", in file order.

        Raises:
            UserError: the file doesn't exist, or has no answers.
        """
        path = self.data_of(preset) / "birth_dev.tsv"
        if split == "test":
            if self.gold is None:
                raise UserError(
                    "The answers to the test questions are missing. Give their folder: --gold DIR."
                )
            folder = self.gold / preset.data
            path = (
                folder if (folder / "birth_test.tsv").is_file() else self.gold
            ) / "birth_test.tsv"
        rows = [line.split("\t") for line in read_text(path).split("\n") if line.strip()]
        if any(len(row) != 2 for row in rows):
            raise UserError(f"{path} should have a question, a tab and a place on every line.")
        return [(question, place) for question, place in rows]

    def path(self, name: str) -> Path:
        """The path of a data file of an exercise: in the folder given with --data or its parent;
        without --data, in our data folder.

        Raises:
            UserError: it doesn't exist.
        """
        return _first(
            [self.data, self.data.resolve().parent] if self.data else [DATA], name, "--data"
        )

    def gold_path(self, name: str) -> Path:
        """The path of a file with an exercise's answers: in the folder of the test answers, or
        above it; files shared by all cohorts may be ours.

        Raises:
            UserError: it doesn't exist.
        """
        folders = [self.gold, self.gold.resolve().parent] if self.gold else []
        if name in GOLD_SHARED:
            folders.append(ROOT / "instructor" / "gold")
        return _first(folders, name, "--gold")

    def preset_of(self, lines: int, split: str) -> Preset | None:
        """The preset of predictions: the one asked for, or the one with that many questions."""
        if self.preset is not None:
            return PRESETS[self.preset]
        names = [name for name in GRADED if len(self.pairs(PRESETS[name], split)) == lines]
        return PRESETS[names[0]] if names else None


def _first(folders, name, option):
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise UserError(
        f"{name} is neither in {folders[0]} nor above it. Check {option}."
        if folders
        else f"{name} is missing. Give its folder: {option} DIR."
    )
