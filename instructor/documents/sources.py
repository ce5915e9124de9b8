r"""`python -m instructor latex OUT.tex`: the handout of a course as one file, for TeX and pandoc;
or, with --sheet, the sheet for written answers.

Facts and the texts of the course's problems are put in: `\input`, `\solution`, `\fact{key}`,
`\iffact{key}{there}{otherwise}` and `\ifproblem{5}{there}{otherwise}` are replaced, and so are
`\problems` by the texts of the course's problems, and `\pieces{goals}` by what each of their files
in front/ has below `%% goals`. The commands of FACTS get facts as further arguments: `\q{1c}`
becomes `\q{1c}{1(c)}`.
"""

import argparse
import re
from pathlib import Path

from common.files import UserError, read_text, write_text
from instructor import ROOT
from instructor.course import Course, read_course
from instructor.documents.facts import Facts, escape, gather

HANDOUT = ROOT / "handout"
# The commands and environments whose first argument facts follow
FACTS = {
    "problem": ("problem {} worth",),
    "ungraded": ("question {} letter", "question {} name", "question {} worth"),
    "question": (
        *("question {} letter", "question {} name", "question {} worth"),
        "question {} title",
    ),
    "q": ("question {} name",),
    "hints": ("question {} name",),
    "maprow": ("question {} name", "question {} title", "question {} points"),
    "mapread": ("question {} name",),
    "subpart": ("check {} part", "check {} worth"),
    "step": ("step {} name", "step {} worth", "step {} checks"),
    "rubric": ("check {} name", "check {} worth", "check {} points"),
}
_NAMES = "|".join(FACTS)
_COMMAND = re.compile(
    r"(?<!\\)%[^\n]*"
    r"|\\(?:(?P<problems>problems)|pieces\{(?P<pieces>[^{}]*)\})\n"
    rf"|\\(?P<command>input|solution|fact|{_NAMES})\{{(?P<name>[^{{}}#]*)\}}"
    rf"|\\begin\{{(?P<environment>{_NAMES})\}}\{{(?P<id>[^{{}}#]*)\}}"
)
_BRACES = r"\{((?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*)\}"
# with the line's start and end, if it has nothing else
_CHOICE = re.compile(
    rf"(?m)(^[ \t]*)?\\if(fact|problem)\{{([^{{}}#]*)\}}{_BRACES}{_BRACES}([ \t]*\n)?"
)


class Sources:
    """The sources in a folder.

    Args:
        facts: those of facts.py and, for the whole handout, those of numbers.py.
        folder: the folder of main.tex.
        rubrics: the folder of answers and rubrics, for the edition that has them.
    """

    def __init__(self, facts: Facts, folder: Path = HANDOUT, rubrics: Path | None = None):
        self.facts, self.folder, self.rubrics = facts, folder, rubrics
        self.problems = [
            key.split()[1] for key in facts if re.fullmatch(r"problem \d+ chosen", key)
        ]

    def read(self) -> str:
        """The whole handout.

        Raises:
            UserError: a file or a fact is missing; the message names file and line.
        """
        text = self._file(self.folder / "main.tex", "")
        return "\\def\\withsolutions{}\n" * bool(self.rubrics) + text

    def pieces(self, name: str) -> list[str]:
        """What the problems' files in front/ have below a name, with its facts."""
        found = []
        for number in self.problems:
            path = self.folder / "front" / f"problem{number}.tex"
            text = read_text(path) if path.exists() else ""
            found += re.findall(rf"(?ms)^%% {re.escape(name)}\n(.*?)(?=^%% |\Z)", text)
        return [self._filled(piece) for piece in found]

    def find(self, what: str) -> str:
        """The file and line where something first occurs in the sources."""
        folders = (self.folder, self.folder / "front", self.rubrics or self.folder)
        for path in (path for folder in folders for path in sorted(folder.glob("*.tex"))):
            before, found, _ = read_text(path).partition(what)
            if found and path.name != "macros.tex":
                name = f"{'front/' * (path.parent.name == 'front')}{path.name}"
                return f"{name}, line {before.count(chr(10)) + 1}"
        return "macros.tex"

    def _file(self, path, named):
        if not path.exists():
            raise UserError(f"{self.find(named)}: {path} does not exist. Correct the name.")
        return self._filled(read_text(path).rstrip("\n"))

    def _filled(self, text):
        while (chosen := _CHOICE.sub(self._choice, text)) != text:  # one may have others in it
            text = chosen
        return _COMMAND.sub(self._command, text)

    def _choice(self, match):
        before, kind, key, there, otherwise, end = match.groups()
        known = self.facts.get(f"problem {key} chosen" if kind == "problem" else key)
        text = there if known else otherwise
        alone = before is not None and end is not None
        return "" if alone and not text else f"{before or ''}{text}{end or ''}"

    def _command(self, match):
        if match["problems"]:
            paths = (self.folder / f"problem{number}.tex" for number in self.problems)
            return "".join(self._file(path, match[0]) + "\n" for path in paths)
        if match["pieces"]:
            return "".join(self.pieces(match["pieces"]))
        name, key = match["command"] or match["environment"], match["name"] or match["id"]
        if name == "input":
            return self._file(self.folder / f"{key}.tex", match[0])
        if name == "solution":
            return self._file(self.rubrics / f"{key}.tex", match[0]) if self.rubrics else ""
        if name == "fact":
            return self._fact(key, match[0])
        facts = (self._fact(fact.format(key), match[0]) for fact in FACTS.get(name, ()))
        return match[0] + "".join(f"{{{fact}}}" for fact in facts)

    def _fact(self, key, named):
        if key not in self.facts:
            raise UserError(
                f"{self.find(named)}: there is no fact {key!r}. Correct the name, or add it to "
                "facts.py or numbers.py."
            )
        fact = self.facts[key]
        return " & ".join(map(escape, [fact] if isinstance(fact, str) else fact))


def answer_sheet(course: Course) -> str:
    """The boxes for written answers to a course's problems, as LaTeX that compiles anywhere."""
    paths = [HANDOUT / "answers" / f"problem{number}.tex" for number in course.handed_out]
    boxes = "\n\\clearpage\n".join(read_text(path) for path in paths if path.exists())
    return "\n".join((read_text(HANDOUT / "answers" / "head.tex"), boxes, "\\end{document}\n"))


def run(args: argparse.Namespace) -> int:
    """Write the file if its content has changed; returns the exit code.

    Raises:
        UserError: a source of facts, or the LaTeX, is wrong.
    """
    if args.sheet:
        text = answer_sheet(read_course(args.course))
    else:
        from instructor.documents.numbers import compute  # imports torch: others need no numbers

        text = Sources(gather(args.course) | compute(), rubrics=args.rubrics).read()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if not args.out.exists() or read_text(args.out) != text:
        write_text(args.out, text)
    return 0
