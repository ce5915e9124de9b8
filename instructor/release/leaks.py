"""Finds what students must not get in the files of a release, by name and by content."""

import contextlib
import html
import io
import json
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from common.files import UserError
from instructor.datasets.worlds.exercises import ANSWERS as BY_HAND

from .known_secrets import PHRASE, SHORTEST, Secrets, normalized, runs_of, words_of

# words in file names: .git, q1cHidden.py
NAMES = {"instructor", "test", "benchmark", "gold", "git", "ci", "hidden", "solution", "answer"}
FILES = {"birth_test.tsv", "traces.json.gz", "__pycache__"}
SUFFIXES = {".params", ".predictions", ".ckpt", ".pyc"}
SHORT = 10_000  # smaller seeds are like any other number
# in the engine; decoding for ./run.sh; questions without answers
ALLOWED = {"answer.py", "answers.py", "birth_test_inputs.tsv"}
CORPUS = {"wiki.txt", "birth_places_train.tsv", "birth_dev.tsv"}  # where names and places belong


def find_leaks(files: dict[str, bytes], secrets: Secrets) -> list[str]:
    """Search files for secrets.

    Args:
        files: name in the release, with slashes -> content.
        secrets: what to look for.

    Returns:
        A sentence for each leak, with the file and, in texts, the line; [] if there are none.
    """
    leaks = []
    for name, content in sorted(files.items()):
        leaks += [f"{name}: {problem}" for problem in _in_name(name)]
        text = text_of(name, content)
        for look in (_code, _numbers, _prose, _answers, _seeds, _machine, _history):
            leaks += [f"{name}{problem}" for problem in look(name, text, secrets)]
    return leaks


def read_zip(path: Path) -> tuple[dict[str, bytes], list[str]]:
    """The files of a zip, and a sentence for each comment, extra field or duplicate name in it."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        problems = [f"{path.name} has a comment."] if archive.comment else []
        problems += [
            f"{path.name}: {entry.filename} has a comment or an extra field."
            for entry in entries
            if entry.comment or entry.extra
        ]
        files = {entry.filename: archive.read(entry) for entry in entries}
    if len(files) < len(entries):
        problems.append(f"{path.name} has a duplicate name.")
    return files, problems


# The searches. Each yields the ends of sentences.


def _in_name(name: str) -> Iterable[str]:
    for part in PurePosixPath(name).parts:
        found = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", part)
        words = {word.lower().removesuffix("s") for word in found}
        unwanted = part in FILES or PurePosixPath(part).suffix in SUFFIXES
        if unwanted or words & NAMES and part not in ALLOWED:
            yield f"'{part}' is the name of something that students don't get."


def _code(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    plain = normalized(text)
    known = secrets.lines_by_word
    there = {
        line
        for word in known.keys() & {"", *words_of(plain)}
        for line in known[word]
        if line in plain
    }
    for line, whose in secrets.lines.items():
        if line in there:
            yield f"{_line(plain, plain.find(line))}: a line of {whose}: {line}"
    # this also finds a function of which each line is allowed, since basic checks have it
    for function, lines in secrets.functions.items():
        if len(lines & there) >= 0.75 * len(lines):
            yield f": {function}"


def _numbers(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    if PurePosixPath(name).name == "hand_attention.json":  # for any matrices
        try:
            filled = json.loads(text)
        except ValueError:
            filled = {}
            yield ": it is not valid JSON"
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
    # printed lines end with hyphenated words
    words = [word.casefold() for word in words_of(re.sub(r"-\n(?=[a-z])", "", text))]
    if found := next((run for run in runs_of(words, PHRASE) if run in secrets.phrases), None):
        yield f": a worked answer or a rubric: {' '.join(found)}"


def _answers(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    words = words_of(text)
    for number, word in enumerate(words):
        # Where was FIRST LAST born PLACE, with anything between the words; a place has one to five
        if word == "born":
            rows = {
                " ".join(words[max(number - 4, 0) : number + 1 + length]) for length in range(1, 6)
            }
            yield from (f": the answer to a test question: {row}" for row in rows & secrets.answers)
    letters = [word.casefold() for word in words if not word.isdigit()]  # numbered answers, too
    if found := next((run for run in runs_of(letters) if run in secrets.blocks), None):
        yield f": answers to test questions, in their order: {' '.join(found)}"
    if PurePosixPath(name).name not in CORPUS:
        for number, line in enumerate(text.casefold().splitlines(), start=1):
            there = set(words_of(line))
            if any(row <= there for word in there for row in secrets.facts.get(word, ())):
                yield (
                    f", line {number}: the name and the birth place of a person in the test "
                    "questions"
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
        for spelled in {place, place.replace("\\", "/"), place.replace("\\", "\\\\")}:
            yield from _matches(
                rf"(?<![\w.~}}]){re.escape(spelled)}(?![\w.-])",
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
        r"(?:/home|/Users|[A-Za-z]:(?:\\{1,2})Users)[/\\]+\w+", text, "a user's folder"
    )
    yield from _matches(
        r"\binstructor[./\\]\w+|(?:-m|from|import) instructor\b",
        text,
        "a place under instructor/, which students don't have",
    )


def _history(name: str, text: str, secrets: Secrets) -> Iterable[str]:
    hashes = rf"(?<![0-9a-zA-Z])[0-9a-f]{{{SHORTEST},40}}(?![0-9a-zA-Z])"
    for match in re.finditer(hashes, text):
        if match[0][:SHORTEST] in secrets.short_commits and any(
            commit.startswith(match[0]) for commit in secrets.commits
        ):
            yield f"{_line(text, match.start())}: a commit of this repository, {match[0]}"


# Texts


def text_of(name: str, content: bytes) -> str:
    """A file's text: of a notebook all its strings, outputs included; of a PDF what it shows; of a
    zip that of all its entries.

    Raises:
        UserError: it is a PDF, and pdftotext is not installed.
    """
    if name.endswith(".pdf"):
        if not shutil.which("pdftotext"):
            raise UserError(f"{name} cannot be searched without pdftotext. Install poppler-utils.")
        return "\n".join(_pdf_text(content))
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            return "\n".join(text_of(entry, file.read(entry)) for entry in file.namelist())
    text = content.decode(
        "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8", errors="replace"
    )
    if name.endswith(".html"):  # the source, and what a reader sees
        text += html.unescape(re.sub(r"<[^>]*>", " ", text))
    if name.endswith(".ipynb"):
        with contextlib.suppress(ValueError):
            text = "\n".join(_strings(json.loads(text)))
    return text


def _pdf_text(content: bytes) -> Iterable[str]:
    """A PDF's text, its metadata and the list of its attachments."""
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(content)
        file.flush()
        for command in ("pdftotext {} -", "pdfinfo {}", "pdfdetach -list {}"):
            words = [word.format(file.name) for word in command.split()]
            done = subprocess.run(words, capture_output=True, check=True)
            yield done.stdout.decode("utf-8", errors="replace")


def _strings(value) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        if isinstance(value, dict):
            yield from value
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


def _matches(pattern: str, text: str, what: str) -> Iterable[str]:
    return (f"{_line(text, match.start())}: {what}" for match in re.finditer(pattern, text))


def _line(text: str, at: int) -> str:
    return f", line {text.count(chr(10), 0, at) + 1}"
