"""Looking for what students must not get in what they do get: by name and by content, whatever way
it came in.
"""

import ast
import contextlib
import getpass
import html
import json
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from checks.support.cases import RELEASED
from common.files import UserError
from instructor.datasets.worlds.editions import EDITIONS, EXERCISES, TRACES
from instructor.datasets.worlds.exercises import ANSWERS as BY_HAND

from .starter import END, SOLUTION, START, starter_tree

ROOT = Path(__file__).resolve().parents[2]
GOLD = ROOT / "instructor" / "gold"
WRITTEN_ANSWERS = ROOT / "instructor" / "rubrics"
# words of a name: .git, q1cHidden.py
NAMES = {"instructor", "test", "benchmark", "gold", "git", "ci", "hidden", "solution", "answer"}
FILES = {"birth_test.tsv", "traces.json.gz", ".last_grading", "__pycache__"}
SUFFIXES = {".params", ".predictions", ".ckpt", ".pyc"}
# characters of a line of code that says something; shorter ones are in every program
SUBSTANTIAL = 25
BLOCK = 10  # words of answers in a row: no accident
PHRASE = 7  # words of a worked answer in a row: the handout itself has to be worded otherwise
SHORT = 10_000  # smaller seeds are numbers like any other
# of the engine; decoding as ./run.sh does it; questions alone
ALLOWED = {"answer.py", "answers.py", "birth_test_inputs.tsv"}
CORPUS = {"wiki.txt", "birth_places_train.tsv", "birth_dev.tsv"}  # where names and places belong


@dataclass(frozen=True)
class Secrets:
    """What to look for.

    Attributes:
        lines: of solutions and hidden checks, and sentences kept for grading, with blanks made one
            -> whose.
        phrases: PHRASE words in a row from worked answers and rubrics, without case.
        functions: of hidden checks: the name -> its lines, those that basic checks share included.
        answers: rows of questions and answers, as words.
        blocks: BLOCK words of answers in a row, without case.
        facts: the words of a name and its place, without case, by the last word of the name.
        seeds: of worlds.
        places: folders of this machine; user: whose it is.
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


def gather_secrets(seeds: Iterable[int] = (), gold: Iterable[Path] = ()) -> Secrets:
    """The secrets of this repository, and of a cohort besides.

    Args:
        seeds: more seeds of worlds.
        gold: more files of test answers.
    """
    # Lines that stand outside the markers, too, are in the starter. Lines that hidden checks share
    # with basic ones tell nothing.
    given = _plain(
        "\n".join(
            [
                re.sub(f"{START}.*?{END}", "", _sources(SOLUTION), flags=re.DOTALL),
                *starter_tree().values(),
            ]
        )
    )
    # the sentences on known mistakes are in the cases
    basic = _plain(
        "\n".join(
            [
                _sources(ROOT / "src"),
                *(path.read_text(encoding="utf-8") for path in sorted(RELEASED.glob("*.json"))),
            ]
        )
    )
    lines, functions = {}, {}
    for path in sorted(SOLUTION.rglob("*.py")):
        for body in re.findall(f"{START}(.*?){END}", path.read_text(encoding="utf-8"), re.DOTALL):
            lines |= {
                line: f"the solution in {path.name}"
                for line in _substantial(body)
                if line not in given
            }
    for path in sorted((ROOT / "instructor" / "checks").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines |= {
            line: f"the hidden checks in {path.name}"
            for line in _substantial(text)
            if line not in basic
        }
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                own = frozenset(_substantial(ast.get_source_segment(text, node)))
                if len(own) >= 3 and not all(line in given for line in own):
                    functions[f"{node.name} of the hidden checks in {path.name}"] = own
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
        answers |= {" ".join(_words("\t".join(row))) for row in rows}
        blocks |= set(_runs([word.casefold() for row in rows for word in _words(row[-1])]))
        for row in rows:
            name = row[0].casefold().removeprefix("where was ").removesuffix(" born?")
            facts.setdefault(_words(name)[-1], []).append(
                frozenset(_words(f"{name} {row[-1].casefold()}"))
            )
    phrases = _phrases(WRITTEN_ANSWERS)
    user = ""
    with contextlib.suppress(OSError, KeyError, ImportError):  # somebody without a name
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


def find_leaks(files: dict[str, bytes], secrets: Secrets) -> list[str]:
    """Look through files.

    Args:
        files: name in the release, with slashes -> content.
        secrets: what to look for.

    Returns:
        A sentence for each leak, with the file and, where there are lines, the line; [] if all is
        well.
    """
    leaks = []
    for name, content in sorted(files.items()):
        leaks += [f"{name}: {problem}" for problem in _in_name(name)]
        text = _text(name, content)
        for look in (_code, _numbers, _prose, _answers, _seeds, _machine, _history):
            leaks += [f"{name}{problem}" for problem in look(name, text, secrets)]
    return leaks


def read_zip(path: Path) -> tuple[dict[str, bytes], list[str]]:
    """The files of a zip, and a sentence for everything in it that is no file: comments, additions,
    names twice.
    """
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        problems = [f"{path.name} has a comment."] if archive.comment else []
        problems += [
            f"{path.name}: {entry.filename} has a comment or an addition."
            for entry in entries
            if entry.comment or entry.extra
        ]
        files = {entry.filename: archive.read(entry) for entry in entries}
    if len(files) < len(entries):
        problems.append(f"{path.name} has a name twice.")
    return files, problems


# What is looked for. Each gives the ends of sentences.


def _in_name(name: str) -> Iterable[str]:
    for part in PurePosixPath(name).parts:
        words = {
            word.lower().removesuffix("s") for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", part)
        }
        if (
            words & NAMES
            and part not in ALLOWED
            or part in FILES
            or PurePosixPath(part).suffix in SUFFIXES
        ):
            yield f"'{part}' is the name of something that students don't get."


def _code(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    plain = _plain(text)
    for line, whose in secrets.lines.items():
        if (at := plain.find(line)) >= 0:
            yield f"{_line(plain, at)}: a line of {whose}: {line}"
    # which finds it among basic checks, too, where each of its lines would do
    for function, lines in secrets.functions.items():
        if sum(line in plain for line in lines) >= 0.75 * len(lines):
            yield f": {function}"


def _numbers(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    if PurePosixPath(name).name == "hand_attention.json":  # whatever the matrices
        try:
            filled = json.loads(text)
        except ValueError:
            filled = {}
            yield ": no JSON can be read"
        yield from (
            f": numbers in {key}, which is for students to fill in"
            for key in BY_HAND
            if re.search(r"\d", json.dumps(filled.get(key)))
        )
    if PurePosixPath(name).name == "choices.toml":
        yield from _matches(
            r'(?m)^\s*(architecture|objective|modification)\s*=(?![ \t]*""\s*$)',
            text,
            "a choice, which is for students to make",
        )


def _prose(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    # words are broken at the ends of printed lines
    words = [word.casefold() for word in _words(re.sub(r"-\n(?=[a-z])", "", text))]
    if found := next((run for run in _runs(words, PHRASE) if run in secrets.phrases), None):
        yield f": a worked answer or a rubric: {' '.join(found)}"


def _answers(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    words = _words(text)
    for number, word in enumerate(words):
        # Where was FIRST LAST born PLACE, whatever stands between the words; a place has one to
        # five of them
        if word == "born":
            rows = {
                " ".join(words[max(number - 4, 0) : number + 1 + length]) for length in range(1, 6)
            }
            yield from (f": the answer to a test question: {row}" for row in rows & secrets.answers)
    letters = [word.casefold() for word in words if not word.isdigit()]  # numbered ones, too
    if found := next((run for run in _runs(letters) if run in secrets.blocks), None):
        yield f": answers to test questions, in their order: {' '.join(found)}"
    if PurePosixPath(name).name not in CORPUS:
        for number, line in enumerate(text.casefold().splitlines(), start=1):
            there = set(_words(line))
            if any(row <= there for word in there for row in secrets.facts.get(word, ())):
                yield (
                    f", line {number}: the name and the birth place of somebody whom test "
                    "questions ask about"
                )


def _seeds(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    for seed in secrets.seeds:
        digits = "_?".join(str(abs(seed)))
        if abs(seed) >= SHORT:
            pattern = rf"(?<!\d){digits}(?!\d)"
        # programs set the seeds of other things to small numbers
        elif not name.endswith((".py", ".ipynb")):
            pattern = rf"(?i)(seed|cohort)\W{{0,4}}{digits}(?!\d)"
        else:
            continue
        yield from _matches(pattern, text, f"the seed of a world, {seed}")


def _machine(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    for place in secrets.places:
        for spelt in {place, place.replace("\\", "/"), place.replace("\\", "\\\\")}:
            yield from _matches(
                rf"(?<![\w.~}}]){re.escape(spelt)}(?![\w.-])",
                text,
                f"a folder of this machine, {place}",
            )
    if secrets.user:
        user = re.escape(secrets.user)
        yield from _matches(
            rf"(?i:home|users)[/\\]+{user}\b|\b{user}@",
            text,
            f"the user of this machine, {secrets.user}",
        )
    yield from _matches(
        r"(?:/home|/Users|[A-Za-z]:(?:\\{1,2})Users)[/\\]+\w+", text, "a folder of somebody's"
    )
    yield from _matches(
        r"\binstructor[./\\]\w+|(?:-m|from|import) instructor\b",
        text,
        "a place under instructor/, which students don't have",
    )


def _history(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    for match in re.finditer(r"(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])", text):
        if any(commit.startswith(match[0]) for commit in secrets.commits):
            yield f"{_line(text, match.start())}: a commit of this repository, {match[0]}"


# Texts


def _text(name: str, content: bytes) -> str:
    """A file's text; of a notebook all its texts, outputs included, as they were before JSON; of a
    PDF what it shows.

    Raises:
        UserError: there is a PDF, and no program that reads it.
    """
    if name.endswith(".pdf"):
        if not shutil.which("pdftotext"):
            raise UserError(
                f"{name} cannot be looked through without pdftotext. Install poppler-utils."
            )
        return "\n".join(_pdf_text(content))
    text = content.decode(
        "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8", errors="replace"
    )
    if name.endswith(".html"):  # as it is, and what a reader sees
        text += html.unescape(re.sub(r"<[^>]*>", " ", text))
    if name.endswith(".ipynb"):
        with contextlib.suppress(ValueError):
            text = "\n".join(_strings(json.loads(text)))
    return text


def _pdf_text(content: bytes) -> Iterable[str]:
    """What a PDF shows, says of itself, and has attached."""
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(content)
        file.flush()
        for words in (
            ["pdftotext", file.name, "-"],
            ["pdfinfo", file.name],
            ["pdfdetach", "-list", file.name],
        ):
            yield subprocess.run(words, capture_output=True, check=True).stdout.decode(
                "utf-8", errors="replace"
            )


def _strings(value) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        if isinstance(value, dict):
            yield from value
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


def _plain(text: str) -> str:
    """The text with every run of blanks made one, line by line."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def _substantial(code: str) -> list[str]:
    """The lines that say something: not imports, nor the mere beginning of a call."""
    return [
        line
        for line in _plain(code).split("\n")
        if len(line) >= SUBSTANTIAL
        and not line.startswith(("import ", "from "))
        and not line.endswith("(")
    ]


def _sources(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _runs(words: list[str], length: int = BLOCK) -> Iterable[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(length)))


def _phrases(folder: Path) -> set[tuple[str, ...]]:
    """All PHRASE words in a row from the texts between formulas and commands in a folder's .tex
    files.
    """
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.tex")))
    pieces = (
        piece
        for text in texts
        for piece in re.split(
            r"\$[^$]*\$|\\\[.*?\\\]|\\[A-Za-z]+\*?|[{}&\\]", text, flags=re.DOTALL
        )
    )
    return {
        run
        for piece in pieces
        for run in _runs([word.casefold() for word in _words(piece)], PHRASE)
    }


def _matches(pattern: str, text: str, what: str) -> Iterable[str]:
    return (f"{_line(text, match.start())}: {what}" for match in re.finditer(pattern, text))


def _line(text: str, at: int) -> str:
    return f", line {text.count(chr(10), 0, at) + 1}"


def _commits() -> frozenset[str]:
    """The hashes of all commits here; none where there is no git."""
    try:
        process = subprocess.run(
            ["git", "-C", str(ROOT), "rev-list", "--all"], capture_output=True, text=True
        )
    except OSError:
        return frozenset()
    return frozenset(process.stdout.split())
