"""The settings of a course, in course.toml: what stands in the handout, in the README of a release
and on pages of grades.
"""

import json
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

from common.files import UserError, read_text

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ROOT / "course.toml"


@dataclass(frozen=True)
class Course:
    """title is the assignment's, course the course's, due its due date in words; all but the title
    may be empty.

    Raises:
        UserError: a value is no text of one line, or there is no title.
    """

    title: str
    course: str = ""
    due: str = ""

    def __post_init__(self):
        for name, value in asdict(self).items():
            if not isinstance(value, str) or not value.isprintable():
                raise UserError(
                    f"The {name} of the course should be a line of text, and is {value!r}. Check "
                    f"course.toml and --{name}."
                )
        if not self.title.strip():
            raise UserError("The assignment has no title. Check course.toml and --title.")

    def as_toml(self) -> str:
        """The text of a course.toml."""
        return "".join(
            f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
            for name, value in asdict(self).items()
        )


def read_course(path: Path = SETTINGS, **changes: str | None) -> Course:
    """Read course.toml.

    Args:
        path: the file.
        changes: values that count instead of the file's; None for those that don't.

    Raises:
        UserError: the file is missing or wrong.
    """
    try:
        values = tomllib.loads(read_text(path))
        return Course(
            **values | {name: value for name, value in changes.items() if value is not None}
        )
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise UserError(
            f"{path} should have a title, a course and a due date, and nothing else: {error}."
        ) from None
