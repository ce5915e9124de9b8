"""The settings of a class, in CLASS/settings.toml; its template beside this file has the defaults
and says what each is.
"""

import math
import tomllib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder import draw_seed
from checks.support.session import Setting
from common.command_line import did_you_mean
from common.cores import cores
from common.files import UserError, read_text
from instructor import ROOT
from instructor.course import read_course

from .finding.late import parse_due

NAME = "settings.toml"
TEMPLATE = Path(__file__).with_name(NAME)
CHOICES = {"keep": ("latest", "best"), "preset": ("", "laptop", "gpu")}
MOST = {"late_percent": 100, "late_cap": 100, "grace_minutes": 10**6, "seed": 2**63 - 1}
WHOLE = ("free_days", "canvas_late_days", "workers", "seed")


@dataclass(frozen=True)
class Settings:
    """What settings.toml says, with its paths and times read. None stands for what is not given."""

    submissions: tuple[Path, ...]
    roster: Path | None
    title: str
    due: datetime | None
    grace_minutes: float
    late_percent: float
    late_cap: float
    free_days: int
    canvas_late_days: int
    keep: str
    at: datetime | None
    branch: str
    preset: str | None
    data: Path | None
    gold: Path
    seconds: float
    workers: int
    apart: bool
    seed: int | None
    handout: str

    def for_checks(self, weak: bool = False) -> Setting:
        """What the checks need of it.

        Args:
            weak: grade even where nothing isolates the code.
        """
        return Setting(
            hidden=True,
            gold=self.gold,
            data=self.data,
            preset=self.preset,
            weak=weak,
            seconds=self.seconds,
            problems=read_course().numbers,
        )


def read_settings(folder: Path) -> Settings:
    """Read and check CLASS/settings.toml.

    Raises:
        UserError: the file is missing, is not TOML, or a value is wrong; the message names it.
    """
    path = folder / NAME
    if not path.is_file():
        raise UserError(
            f"{folder} is not the folder of a class: it has no {NAME}. First: python -m instructor "
            f"grade {folder}"
        )
    defaults = tomllib.loads(TEMPLATE.read_text(encoding="utf-8"))
    try:
        given = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not TOML: {error}. Correct it. Nothing was graded.") from None
    for name, value in given.items():
        if name not in defaults:
            hint = did_you_mean(name, defaults, f"The settings are {', '.join(defaults)}.")
            raise UserError(f"{path}: there is no setting {name!r}. {hint}")
        if fault := _fault(name, value, defaults[name]):
            raise UserError(f"{path}: {name} should be {fault}, but is {value!r}.")
    values = defaults | given

    def place(text):
        return folder.resolve() / Path(text).expanduser() if text else None

    def time(name):
        try:
            return parse_due(values[name]) if values[name] else None
        except UserError as error:
            raise UserError(f"{path}: {name}: {error}") from None

    return Settings(
        **values
        | {name: place(values[name]) for name in ("roster", "data")}
        | {
            "submissions": tuple(map(place, filter(None, values["submissions"]))),
            "gold": place(values["gold"]) or ROOT / "instructor" / "gold",
            "title": read_course(title=values["title"] or None).title,
            "due": time("due"),
            "at": time("at"),
            "preset": values["preset"] or None,
            "workers": values["workers"] or cores(),
            "seed": None if values["seed"] == "" else values["seed"],
        }
    )


def _fault(name, value, default):
    """What a value should be; "" if it is that."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "submissions":
        right = isinstance(value, list) and all(isinstance(path, str) for path in value)
        return "" if right else 'a list of folders, such as ["submissions"]'
    if name in CHOICES:
        return "" if value in CHOICES[name] else " or ".join(map(repr, CHOICES[name]))
    if name == "seed" and value == "":
        return ""
    if name == "seed" or isinstance(default, int) and not isinstance(default, bool):
        most, whole = MOST.get(name, math.inf), name in WHOLE
        limits = f"from 0 to {most}" if name in MOST else "of at least 0 (seconds: 1)"
        least = 1 if name == "seconds" else 0
        right = number and least <= value <= most and value < math.inf
        right = right and not (whole and isinstance(value, float))
        return "" if right else f"a {'whole ' * whole}number {limits}"
    if type(value) is not type(default):
        return "true or false" if isinstance(default, bool) else "text in quotes"
    return ""


def seed_of(state, settings: Settings) -> int:
    """The seed of the class: the settings', or one that the first run draws and keeps.

    Raises:
        UserError: the settings name another than the class was graded with.
    """
    kept = state.get("seed")
    if kept is None:
        kept = str(draw_seed() if settings.seed is None else settings.seed)
        state.put(seed=kept)
    if settings.seed not in (None, int(kept)):
        raise UserError(
            f"This class was graded with another seed than {settings.seed}. Write "
            'seed = "" into settings.toml, or use a new folder.'
        )
    return int(kept)
