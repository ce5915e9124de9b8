"""The settings of a course, in course.toml: title, course and due date, for the handout, the README
of a release and the pages of grades; how AI assistants should help, for AGENTS.md; and the problems
that it hands out and grades.
"""

import functools
import json
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.files import UserError, read_text
from instructor import ROOT

if TYPE_CHECKING:
    from autograder.manifest import Manifest

SETTINGS = ROOT / "course.toml"
DISCUSSES = {"2": "1"}  # a problem without code -> the one whose results it is about
MANIFEST = ROOT / "src" / "checks" / "manifest.toml"
LISTS = {"problems": (int, "[1, 3, 4]"), "given": (str, '["1h"]')}


@dataclass(frozen=True)
class Course:
    """The assignment's title, the course's name, the due date in words, and the Markdown of the
    release's AGENTS.md and CLAUDE.md. All but the title may be empty.

    Attributes:
        problems: the numbers of those that are handed out and graded; () for all.
        given: the questions of other problems on whose code these build: their solution is given.

    Raises:
        UserError: a value is not text (one line, but for `assistants`) or not a list, or there is
            no title.
    """

    title: str
    course: str = ""
    due: str = ""
    assistants: str = ""
    problems: tuple[int, ...] = ()
    given: tuple[str, ...] = ()

    def __post_init__(self):
        for name in ("title", "course", "due", "assistants"):
            value, long = getattr(self, name), name == "assistants"
            if not isinstance(value, str) or not (long or value.isprintable()):
                kind = "text" if long else "one line of text"
                raise UserError(
                    f"The setting {name} should be {kind}, but is {value!r}. Correct course.toml."
                )
        if not self.title.strip():
            raise UserError("The assignment has no title. Write one into course.toml.")
        for name, (kind, example) in LISTS.items():
            value = getattr(self, name)
            if not isinstance(value, (list, tuple)) or {*map(type, value)} - {kind}:
                raise UserError(
                    f"The setting {name} should be a list such as {example}, but is {value!r}. "
                    "Correct course.toml."
                )
            object.__setattr__(self, name, tuple(sorted({*value})))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The problems as the manifest names them; () for all."""
        return tuple(map(str, self.problems))

    @property
    def handed_out(self) -> tuple[str, ...]:
        """The problems of the course, named one by one."""
        return self.numbers or _all_problems()

    @property
    def others(self) -> tuple[str, ...]:
        """The problems that the course leaves out."""
        return tuple(number for number in _all_problems() if number not in self.handed_out)

    def manifest(self, path: Path = MANIFEST) -> "Manifest":
        """What this course grades.

        Args:
            path: of the whole manifest.

        Raises:
            UserError: a problem doesn't exist, is about one that isn't there, or builds on a
                question that is neither among them nor given.
            ManifestError: the manifest is wrong.
        """
        from autograder.manifest import problem_of, read_manifest  # imports pytest

        whole = read_manifest(path)
        for number in self.numbers:
            if number not in _all_problems():
                raise UserError(
                    f"There is no problem {number}: the problems are {', '.join(_all_problems())}. "
                    "Correct course.toml."
                )
            if (other := DISCUSSES.get(number, number)) not in self.numbers:
                raise UserError(
                    f"Problem {number} is about results of problem {other}. Add problem {other} in "
                    f"course.toml, or take problem {number} out."
                )
        mine = whole.only(self.numbers)
        builders = {base: id for id in mine.questions for base in whole.bases(id)}
        outside = [base for base in builders if base not in mine.questions]
        if missing := [base for base in outside if base not in self.given]:
            raise UserError(
                f"Question {builders[missing[0]]} builds on {missing[0]}. In course.toml, add "
                f"problem {problem_of(missing[0])}, or write given = {json.dumps(missing)}: then "
                f"students get our solution of {', '.join(missing)}, so that must no longer be "
                "open to anybody."
            )
        for question in self.given:
            if question not in outside:
                raise UserError(
                    f"{question} should be given, but none of these problems builds on it from "
                    "outside. Take it out of course.toml."
                )
        return mine

    def as_toml(self) -> str:
        """The text of a course.toml."""
        return "".join(
            f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
            for name, value in asdict(self).items()
            if value or isinstance(value, str)
        )


@functools.cache
def _all_problems():
    """The numbers of all problems: those in the manifest, and those that discuss one of them."""
    from autograder.manifest import read_manifest  # imports pytest

    return tuple(sorted({*read_manifest(MANIFEST).problems, *DISCUSSES}, key=int))


def read_course(path: Path | None = None, title: str | None = None) -> Course:
    """Read course.toml.

    Args:
        path: the file; by default the project's.
        title: instead of the file's.

    Raises:
        UserError: the file is missing or wrong.
    """
    path = path or SETTINGS
    if not path.is_file():
        raise UserError(f"{path} is no file. Name a course.toml, or restore it.")
    try:
        values = tomllib.loads(read_text(path))
        return Course(**values | ({} if title is None else {"title": title}))
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise UserError(
            f"{path} should be TOML with a title, perhaps a course, a due date, problems, what is "
            f"given and a text for assistants, and nothing else: {error}."
        ) from None
