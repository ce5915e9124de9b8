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
from instructor.datasets.worlds.exercises import ANSWERS as BY_HAND

from .starter import END, SOLUTION, START, bodies, starter_tree

CHECKS = ROOT / "instructor" / "checks"
GOLD = ROOT / "instructor" / "gold"
RUBRICS = ROOT / "instructor" / "rubrics"
SUBSTANTIAL = 25  # characters of a telling line of code; shorter ones are in every program
FEWEST = 5  # words and signs of a run
PHRASE = 7  # consecutive words of a worked answer; the handout must use others
ORDER = 10  # consecutive words of answers: no coincidence
TOKEN = re.compile(r"\w+|[^\w\s]")  # a word, a number or a sign

# Consecutive words and signs of code, or words of prose in lower case, without numbers
Run = tuple[str, ...]


@dataclass(frozen=True)
class Secrets:
    """What to look for.

    Attributes:
        runs: of lines of solutions and hidden checks, rows of questions and answers, sentences kept
            for grading, PHRASE words of worked answers, and ORDER words of answers; each with what
            it is.
        functions: of hidden checks: the runs of their lines, those that basic checks share, too.
        facts: the words of a name and its place, by the name's last word.
        patterns: the name of a file (in any folder; "" for all files), what must not be in it, and
            what that is.
        commits: hashes of this repository, each after a line break.
    """

    runs: dict[Run, str]
    functions: dict[str, frozenset[Run]]
    facts: dict[str, list[frozenset[str]]]
    patterns: list[tuple[str, str, str]]
    commits: str

    @functools.cached_property
    def by_start(self) -> dict[Run, list[Run]]:
        """All runs by their first FEWEST words."""
        found = {}
        for run in {*self.runs}.union(*self.functions.values()):
            found.setdefault(run[:FEWEST], []).append(run)
        return found


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
    handed_out = _joined(code_words(outside + "\n".join(starter_tree().values())))
    basic = _joined(code_words(_sources(ROOT / "src")))
    runs, functions, facts = {}, {}, {}
    for place, body in bodies(SOLUTION):
        if place.question not in given:
            lines = (line for line in _lines(body) if _joined(line) not in handed_out)
            runs |= dict.fromkeys(lines, f"a line of the solution in {Path(place.file).name}")
    for path in sorted(CHECKS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        what = f"the hidden checks in {path.name}"
        lines = (line for line in _lines(text) if _joined(line) not in basic)
        runs |= dict.fromkeys(lines, f"a line of {what}")
        for node in ast.parse(text).body:
            lines = _lines(ast.get_source_segment(text, node))
            if isinstance(node, ast.FunctionDef) and len(lines) > 3:
                functions[f"{node.name} of {what}"] = lines
    solved = json.loads((SOLUTION / "problem5" / "hand_attention.json").read_text(encoding="utf-8"))
    for row in solved["weights"] + solved["output"]:
        runs[code_words(json.dumps(row)[1:-1])] = "a row of the solution in hand_attention.json"
    for path in sorted(RUBRICS.glob("*.tex")):
        for piece in _prose(path.read_text(encoding="utf-8")):
            runs |= dict.fromkeys(_parts(words(piece), PHRASE), "a worked answer or a rubric")
    for path in [*GOLD.rglob("*.tsv"), *gold]:
        rows = path.read_text(encoding="utf-8").splitlines()
        answers = [row.split("\t")[-1] for row in rows]
        if path.name != "birth_test.tsv":
            sentences = (words(row.split("\t")[0]) for row in rows)
            runs |= dict.fromkeys(sentences, "the sentences that are kept for grading")
            continue
        runs |= dict.fromkeys(map(words, rows), "the answer to a test question")
        what = "answers to test questions, in their order"
        runs |= dict.fromkeys(_parts(words("\n".join(answers)), ORDER), what)
        for row in rows:
            name, place = re.fullmatch(r"Where was (.*) born\?\t(.*)", row).groups()
            facts.setdefault(words(name)[-1], []).append(frozenset(words(f"{name} {place}")))
    seeds = (*(seed for seed, _ in EDITIONS.values()), EXERCISES, TRACES, *seeds)
    return Secrets(runs, functions, facts, [*_patterns(seeds)], _commits())


def code_words(text: str) -> Run:
    """The words, numbers and signs of a text."""
    return tuple(TOKEN.findall(text))


def words(text: str) -> Run:
    """The words of a text, in lower case."""
    return tuple(re.findall(r"\b[^\W\d]\w*", text.casefold()))


def _joined(run: Run) -> str:
    return f" {' '.join(run)} "


def _parts(run: Run, length: int) -> Iterable[Run]:
    """All runs of so many words."""
    return zip(*(run[start:] for start in range(length)))


def _lines(code: str) -> frozenset[Run]:
    """The telling lines: not short, no imports, not the first line of a call."""
    lines = (" ".join(line.split()) for line in code.splitlines())
    runs = (
        code_words(line)
        for line in lines
        if len(line) >= SUBSTANTIAL
        and not line.startswith(("import ", "from "))
        and not line.endswith("(")
    )
    return frozenset(run for run in runs if len(run) >= FEWEST)


def _sources(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))


def _prose(tex: str) -> list[str]:
    """The texts between formulas and commands; facts, which are numbers, end none."""
    tex = re.sub(r"\\fact\{[^{}]*\}", "", tex)
    return re.split(r"(?s)\$[^$]*\$|\\\[.*?\\\]|\\[A-Za-z]+\*?|[{}&\\]", tex)


def _patterns(seeds: Iterable[int]) -> Iterable[tuple[str, str, str]]:
    numbers = rf'"(?:{"|".join(BY_HAND)})": [^"]*\d'
    yield "hand_attention.json", numbers, "numbers that are for students to fill in"
    chosen = r'(?m)^\s*(architecture|objective|modification)\s*=(?![ \t]*""\s*$)'
    yield "choices.toml", chosen, "a choice, which is for students to make"
    for seed in seeds:
        yield "", rf"(?<!\d){'_?'.join(str(seed))}(?!\d)", f"the seed of a world, {seed}"
    for folder in (ROOT, Path.home()):
        if len(folder.parts) > 1:
            parts = r"[/\\]+".join(map(re.escape, re.split(r"[/\\]", str(folder))))
            yield "", rf"(?<![\w.~}}]){parts}(?![\w.-])", f"a folder of this machine, {folder}"
    with contextlib.suppress(OSError, KeyError, ImportError):  # a user without a name
        user = re.escape(getpass.getuser())
        pattern = rf"(?i:home|users)[/\\]+{user}\b|\b{user}@"
        yield "", pattern, f"the user of this machine, {getpass.getuser()}"
    yield "", r"(?:/home|/Users|[A-Za-z]:(?:\\{1,2})Users)[/\\]+\w+", "a user's folder"
    ours = r"\binstructor[./\\]\w+|(?:-m|from|import) instructor\b"
    yield "", ours, "a place under instructor/, which students don't have"


def _commits() -> str:
    """The hashes of all commits here, each after a line break; "" without git."""
    command = ["git", "-C", str(ROOT), "rev-list", "--all"]
    with contextlib.suppress(OSError):
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
        return "".join(f"\n{commit}" for commit in done.stdout.split())
    return ""
