"""Gathers what students must not get: solutions, answers, seeds and names of this machine."""

import ast
import contextlib
import functools
import getpass
import json
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from instructor import ROOT
from instructor.datasets.worlds.editions import EDITIONS, EXERCISES, TRACES

from .starter import END, SOLUTION, START, bodies, starter_tree

GOLD = ROOT / "instructor" / "gold"
WRITTEN_ANSWERS = ROOT / "instructor" / "rubrics"
# characters of a telling line of code; shorter ones are in every program
SUBSTANTIAL = 25
BLOCK = 10  # consecutive words of answers: no coincidence
SHORTEST = 7  # characters of a commit's hash
PHRASE = 7  # consecutive words of a worked answer; the handout must use others


@dataclass(frozen=True)
class Secrets:
    """What to look for.

    Attributes:
        lines: of solutions, hidden checks and sentences kept for grading, with single blanks ->
            source.
        phrases: PHRASE consecutive words of worked answers and rubrics, in lower case.
        functions: of hidden checks: name -> lines, including those that basic checks share.
        answers: rows of questions and answers, as words.
        blocks: BLOCK consecutive words of answers, in lower case.
        facts: the words of a name and its place, in lower case, by the name's last word.
        seeds: of worlds.
        places: folders of this machine; user: its user.
        commits: hashes of this repository.
    """

    lines: dict[str, str]
    phrases: frozenset[tuple[str, ...]]
    functions: dict[str, frozenset[str]]
    answers: frozenset[str]
    blocks: frozenset[tuple[str, ...]]
    facts: dict[str, list[frozenset[str]]]
    seeds: tuple[int, ...]
    places: tuple[str, ...]
    user: str
    commits: frozenset[str]

    @functools.cached_property
    def lines_by_word(self) -> dict[str, list[str]]:
        """The lines, those of functions too, by a word in each: "" where none is sure to be whole.

        In most files most of these words are missing, and so the lines.
        """
        found = {}
        for line in {*self.lines}.union(*self.functions.values()):
            inner = re.findall(r"(?<=\W)\w+(?=\W)", line)
            found.setdefault(max(inner, key=len, default=""), []).append(line)
        return found

    @functools.cached_property
    def short_commits(self) -> frozenset[str]:
        """The first SHORTEST characters of the commits."""
        return frozenset(commit[:SHORTEST] for commit in self.commits)


def gather_secrets(
    seeds: Iterable[int] = (), gold: Iterable[Path] = (), given: Iterable[str] = ()
) -> Secrets:
    """Collect the secrets of this repository, and of a cohort if given.

    Args:
        seeds: more seeds of worlds.
        gold: more files of test answers.
        given: questions whose solution students get.
    """
    # Lines that also occur outside the markers are in the starter. Lines that hidden checks share
    # with basic ones give nothing away.
    outside = re.sub(f"{START}.*?{END}", "", _sources(SOLUTION), flags=re.DOTALL)
    handed_out = normalized("\n".join([outside, *starter_tree().values()]))
    basic = normalized(_sources(ROOT / "src"))
    lines, functions = {}, {}
    for place, body in bodies(SOLUTION):
        if place.question not in given:
            lines |= {
                line: f"the solution in {Path(place.file).name}"
                for line in _substantial(body)
                if line not in handed_out
            }
    released = [own for _, own, _ in _functions(ROOT / "src" / "checks")]
    for path in sorted((ROOT / "instructor" / "checks").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines |= {
            line: f"the hidden checks in {path.name}"
            for line in _substantial(text)
            if line not in basic
        }
    for name, own, body in _functions(ROOT / "instructor" / "checks"):
        # a hidden check may be a basic one on other inputs
        known = any(body <= function for function in released)
        if len(own) >= 3 and not known and not all(line in handed_out for line in own):
            functions[name] = own
    solved = json.loads((SOLUTION / "problem5" / "hand_attention.json").read_text(encoding="utf-8"))
    lines |= {
        json.dumps(row)[1:-1]: "the solution in hand_attention.json"
        for name in ("weights", "output")
        for row in solved[name]
    }
    answers, blocks, facts = set(), set(), {}
    for path in [*GOLD.rglob("*.tsv"), *gold]:
        rows = [row.split("\t") for row in path.read_text(encoding="utf-8").splitlines()]
        if path.name != "birth_test.tsv":
            lines |= {sentence: "the sentences that are kept for grading" for sentence, _ in rows}
            continue
        answers |= {" ".join(words_of("\t".join(row))) for row in rows}
        blocks |= set(runs_of([word.casefold() for row in rows for word in words_of(row[-1])]))
        for row in rows:
            name = row[0].casefold().removeprefix("where was ").removesuffix(" born?")
            facts.setdefault(words_of(name)[-1], []).append(
                frozenset(words_of(f"{name} {row[-1].casefold()}"))
            )
    phrases = _phrases(WRITTEN_ANSWERS)
    user = ""
    with contextlib.suppress(OSError, KeyError, ImportError):  # a user without a name
        user = getpass.getuser()
    places = tuple(str(folder) for folder in (ROOT, Path.home()) if len(folder.parts) > 1)
    return Secrets(
        lines,
        phrases,
        functions,
        frozenset(answers),
        frozenset(blocks),
        facts,
        (*(seed for seed, _ in EDITIONS.values()), EXERCISES, TRACES, *seeds),
        places,
        user,
        _commits(),
    )


def normalized(text: str) -> str:
    """The text with every run of blanks as one, line by line."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def words_of(text: str) -> list[str]:
    """The words of a text, without punctuation."""
    return re.findall(r"\w+", text)


def runs_of(words: list[str], length: int = BLOCK) -> Iterable[tuple[str, ...]]:
    """All runs of so many consecutive words."""
    return zip(*(words[start:] for start in range(length)))


def _functions(folder):
    """Yield a folder's functions: their names, their lines, and those without the docstring."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                own = frozenset(_substantial(ast.get_source_segment(text, node)))
                docstring = _substantial(ast.get_docstring(node, clean=False) or "")
                words = " ".join(docstring)
                body = frozenset(line for line in own if line.strip('" ') not in words)
                yield f"{node.name} of the hidden checks in {path.name}", own, body


def _substantial(code: str) -> list[str]:
    """The telling lines: not short, no imports, not the first line of a call."""
    return [
        line
        for line in normalized(code).split("\n")
        if len(line) >= SUBSTANTIAL
        and not line.startswith(("import ", "from "))
        and not line.endswith("(")
    ]


def _sources(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))


def _phrases(folder: Path) -> set[tuple[str, ...]]:
    """All runs of PHRASE words in a folder's .tex files, between formulas and commands."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.tex")))
    other = re.compile(r"\$[^$]*\$|\\\[.*?\\\]|\\[A-Za-z]+\*?|[{}&\\]", re.DOTALL)
    pieces = (words_of(piece.casefold()) for text in texts for piece in other.split(text))
    return {run for words in pieces for run in runs_of(words, PHRASE)}


def _commits() -> frozenset[str]:
    """The hashes of all commits here; none without git."""
    try:
        process = subprocess.run(
            ["git", "-C", str(ROOT), "rev-list", "--all"], capture_output=True, encoding="utf-8"
        )
    except OSError:
        return frozenset()
    return frozenset(process.stdout.split())
