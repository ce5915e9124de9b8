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
            value = getattr(self, name)
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
        for name, kind, example in (("problems", int, "[1, 3, 4]"), ("given", str, '["1h"]')):
            value = getattr(self, name)
            if not isinstance(value, (list, tuple)) or any(
                type(item) is not kind for item in value
            ):
                raise UserError(
                    f"The setting {name} should be a list such as {example}, but is {value!r}. "
                    f"Correct it in course.toml, or give --{name}."
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
            UserError: a problem doesn't exist, none has a graded question, or one builds on a
                question that is neither among them nor given.
            ManifestError: the manifest is wrong.
        """
        from autograder.manifest import problem_of, read_manifest  # imports pytest

        whole = read_manifest(path)
        if unknown := [number for number in self.numbers if number not in _all_problems()]:
            raise UserError(
                f"There is no problem {unknown[0]}: the problems are {_listed(_all_problems())}. "
                "Correct course.toml or --problems."
            )
        for number, other in DISCUSSES.items():
            if number in self.numbers and other not in self.numbers:
                raise UserError(
                    f"Problem {number} is about results of problem {other}. Add problem {other} to "
                    f"course.toml or --problems, or take problem {number} out."
                )
        mine = whole.only(self.numbers)
        if not mine.questions:
            raise UserError(
                f"Nothing in problem {_listed(self.handed_out)} is graded. Add a problem in "
                "course.toml or with --problems."
            )
        builders: dict[str, list[str]] = {}
        for id in mine.questions:
            for base in whole.bases(id):
                if base not in mine.questions:
                    builders.setdefault(base, []).append(id)
        missing = [base for base in builders if base not in self.given]
        if missing:
            told = "; ".join(f"{_listed(builders[base])} on {base}" for base in missing)
            problems = {problem_of(base) for base in missing}
            raise UserError(
                f"Some questions build on others that problem{'s' * (len(self.numbers) > 1)} "
                f"{_listed(self.numbers)} {'lack' if len(self.numbers) > 1 else 'lacks'}: {told}. "
                f"Add problem {_listed(sorted(problems))}, or --given {' '.join(missing)}: then "
                f"students get our solution of {_listed(missing)}, so that must no longer be open "
                "to anybody."
            )
        if idle := [question for question in self.given if question not in builders]:
            raise UserError(
                f"{_listed(idle)} should be given, but none of the problems "
                f"{_listed(self.handed_out)} builds on it from outside. Take it out of course.toml "
                "or --given."
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


def _listed(names):
    """1, 3 and 4"""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def read_course(path: Path | None = None, **changes: object) -> Course:
    """Read course.toml.

    Args:
        path: the file; by default the project's.
        changes: values that replace the file's; None leaves the file's value.

    Raises:
        UserError: the file is missing or wrong.
    """
    path = path or SETTINGS
    try:
        values = tomllib.loads(read_text(path))
        return Course(
            **values | {name: value for name, value in changes.items() if value is not None}
        )
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise UserError(
            f"{path} should be TOML with a title, perhaps a course, a due date, problems, what is "
            f"given and a text for assistants, and nothing else: {error}."
        ) from None
