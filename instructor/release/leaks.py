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
from pathlib import PurePosixPath

from common.files import UserError

from .known_secrets import FEWEST, TOKEN, Secrets, words

# words in file names: .git, q1cHidden.py
NAMES = {"instructor", "test", "benchmark", "gold", "git", "ci", "hidden", "solution", "answer"}
FILES = {"birth_test.tsv", "traces.json.gz", "__pycache__"}
SUFFIXES = {".params", ".predictions", ".ckpt", ".pyc"}
# in the engine; decoding for ./run.sh; questions without answers
ALLOWED = {"answer.py", "answers.py", "birth_test_inputs.tsv"}
CORPUS = {"wiki.txt", "birth_places_train.tsv", "birth_dev.tsv"}  # where names and places belong
COPIED = 0.75  # of a hidden check's lines, which basic checks share

Found = Iterable[tuple[int, str]]  # where in a text, and what


def find_leaks(texts: dict[str, str], secrets: Secrets) -> list[str]:
    """Search the texts of files for secrets.

    Args:
        texts: name in the release, with slashes -> text, as `text_of` gives it.
        secrets: what to look for.

    Returns:
        A sentence for each secret in each file, with its first line there; [] if there are none.
    """
    leaks = []
    for name, text in sorted(texts.items()):
        leaks += _in_name(name)
        tokens = [(match[0], match.start()) for match in TOKEN.finditer(text)]
        first = {}
        for look in (
            _runs(tokens, secrets),
            _facts(name, text, secrets),
            _patterns(name, text, secrets),
            _commits(text, secrets),
        ):
            for at, what in look:
                first.setdefault(what, at)
        leaks += [
            f"{name}, line {text.count(chr(10), 0, first[what]) + 1}: {what}" for what in first
        ]
    return leaks


def _in_name(name: str) -> Iterable[str]:
    for part in PurePosixPath(name).parts:
        found = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", part)
        words = {word.lower().removesuffix("s") for word in found}
        unwanted = part in FILES or PurePosixPath(part).suffix in SUFFIXES
        if unwanted or words & NAMES and part not in ALLOWED:
            yield f"{name}: '{part}' is the name of something that students don't get."


def _runs(tokens: list[tuple[str, int]], secrets: Secrets) -> Found:
    there = {}
    prose = [(word.casefold(), at) for word, at in tokens if re.match(r"[^\W\d]", word)]
    for part in (tokens, prose):
        plain = tuple(word for word, _ in part)
        for number, start in enumerate(zip(*(plain[skipped:] for skipped in range(FEWEST)))):
            for run in secrets.by_start.get(start, ()):
                if plain[number : number + len(run)] == run:
                    there.setdefault(run, part[number][1])
    for run, at in there.items():
        if run in secrets.runs:
            yield at, f"{secrets.runs[run]}: {' '.join(run)}"
    for function, lines in secrets.functions.items():
        if len(lines & there.keys()) >= COPIED * len(lines):
            yield min(there[line] for line in lines & there.keys()), function


def _facts(name: str, text: str, secrets: Secrets) -> Found:
    if PurePosixPath(name).name not in CORPUS:
        for line in re.finditer(r".+", text.casefold()):
            there = {*words(line[0])}
            if any(fact <= there for word in there for fact in secrets.facts.get(word, ())):
                yield line.start(), "the name and the birth place of a person in the test questions"


def _patterns(name: str, text: str, secrets: Secrets) -> Found:
    for file, pattern, what in secrets.patterns:
        if file in ("", PurePosixPath(name).name):
            yield from ((match.start(), what) for match in re.finditer(pattern, text))


def _commits(text: str, secrets: Secrets) -> Found:
    for match in re.finditer(r"(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])", text):
        if f"\n{match[0]}" in secrets.commits:
            yield match.start(), f"a commit of this repository, {match[0]}"


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
        # printed lines end with hyphenated words
        return re.sub(r"-\n(?=[a-z])", "", "\n".join(_pdf_text(content)))
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
