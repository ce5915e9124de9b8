"""What the checks of results need to know: where they are, and which preset, data and answers they
belong to.
"""

from dataclasses import dataclass, field
from pathlib import Path

from checks.support.cases import Released
from common.files import UserError, read_text
from jobs.presets import PRESETS, Preset

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "data"
GRADED = ("laptop", "gpu")  # presets whose results can be graded
# the files of problem 5 that checks read: of the data,
EXERCISES = ("hand_attention.json", "occupations/train.tsv")
GOLD_EXERCISES = ("occupations/test.tsv",)  # and of the answers
GOLD_SHARED = ("traces/traces.json.gz",)  # of problem 6: the same for every cohort


@dataclass(frozen=True)
class Context:
    """Where results and answers are.

    artifacts: the folder of weights and predictions. preset: a name, or None to find it out by the
    number of predictions. data: the folder of the corpus and the questions, or None for that of the
    preset. gold: the folder of the test answers (with a folder for each preset's data in it, or of
    one preset), or None where they are not known. accuracy: the manifest's thresholds. cases: where
    checks get calls with their answers from.
    """

    artifacts: Path
    preset: str | None
    data: Path | None
    gold: Path | None
    accuracy: dict
    cases: object = field(default_factory=Released)

    def __post_init__(self):
        if self.data is not None and self.preset is None:
            raise UserError(
                "--data needs --preset, too: laptop or gpu, whichever the results were made with."
            )
        for option, folder in (("--data", self.data), ("--gold", self.gold)):
            if folder is not None and not folder.is_dir():
                raise UserError(f"{folder} is no folder. Check {option}.")
        if self.data is not None:
            for name in ("wiki.txt", "birth_dev.tsv"):
                read_text(self.data / name)

    def data_of(self, preset: Preset) -> Path:
        """The folder of the corpus and the questions."""
        return self.data or DATA / preset.data

    def pairs(self, preset: Preset, split: str) -> list[tuple[str, str]]:
        """Questions and right answers of "dev" or "test", in the order of the file.

        Raises:
            UserError: the file is not there, or has no answers.
        """
        path = self.data_of(preset) / "birth_dev.tsv"
        if split == "test":
            if self.gold is None:
                raise UserError(
                    "The answers of the test questions are not here. Give their folder: --gold DIR."
                )
            folder = self.gold / preset.data
            path = (
                folder if (folder / "birth_test.tsv").is_file() else self.gold
            ) / "birth_test.tsv"
        rows = [line.split("\t") for line in read_text(path).split("\n") if line.strip()]
        if any(len(row) != 2 for row in rows):
            raise UserError(f"{path} should have a question, a tab and a place in every line.")
        return [(question, place) for question, place in rows]

    def path(self, name: str) -> Path:
        """A file of problem 5: in the folder of the data (or above it, where that is a preset's),
        or ours.

        Raises:
            UserError: it is not there.
        """
        return _first(
            [self.data, self.data.resolve().parent] if self.data else [DATA], name, "--data"
        )

    def gold_path(self, name: str) -> Path:
        """A file that problem 5 or 6 is graded with: in the folder of the test answers, or above
        it; what cohorts share may be ours.

        Raises:
            UserError: it is not there.
        """
        folders = [self.gold, self.gold.resolve().parent] if self.gold else []
        if name in GOLD_SHARED:
            folders.append(ROOT / "instructor" / "gold")
        return _first(folders, name, "--gold")

    def preset_of(self, lines: int, split: str) -> Preset | None:
        """The preset that predictions belong to: the one asked for, or the one whose questions are
        as many.
        """
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
        else f"{name} is not here. Give its folder: {option} DIR."
    )
