"""The settings of a course, in course.toml: title, course and due date, for the handout, the README
of a release and the pages of grades; how AI assistants should help, for AGENTS.md.
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
    """The assignment's title, the course's name, the due date in words, and the Markdown of the
    release's AGENTS.md. All but the title may be empty.

    Raises:
        UserError: a value is not text (one line, but for `assistants`), or there is no title.
    """

    title: str
    course: str = ""
    due: str = ""
    assistants: str = ""

    def __post_init__(self):
        for name, value in asdict(self).items():
            if name == "assistants":
                right, kind, advice = isinstance(value, str), "text", ""
            else:
                right = isinstance(value, str) and value.isprintable()
                kind, advice = "one line of text", f", or give --{name}"
            if not right:
                raise UserError(
                    f"The setting {name} should be {kind}, but is {value!r}. Correct it in "
                    f"course.toml{advice}."
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
            f"{path} should be TOML with a title, perhaps a course, a due date and a text for "
            f"assistants, and nothing else: {error}."
        ) from None
