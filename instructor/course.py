"""The settings of a course, in course.toml: title, course and due date, for the handout, the README
of a release and the pages of grades.
"""

import json
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

from common.files import UserError, read_text
from instructor import ROOT

SETTINGS = ROOT / "course.toml"


@dataclass(frozen=True)
class Course:
    """The assignment's title, the course's name, and the due date in words. All but the title may
    be empty.

    Raises:
        UserError: a value is not one line of text, or there is no title.
    """

    title: str
    course: str = ""
    due: str = ""

    def __post_init__(self):
        for name, value in asdict(self).items():
            if not isinstance(value, str) or not value.isprintable():
                raise UserError(
                    f"The setting {name} should be one line of text, but is {value!r}. Correct it "
                    f"in course.toml, or give --{name}."
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
        changes: values that replace the file's; None leaves the file's value.

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
            f"{path} should be TOML with a title, perhaps a course and a due date, and nothing "
            f"else: {error}."
        ) from None
