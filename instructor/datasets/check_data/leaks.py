"""Finds test answers in a folder that students get, in files of any name and format."""

import zlib
from pathlib import Path

from instructor.datasets.folder import QUESTION, SPLITS, documents_about, find_word

CORPUS = {"wiki.txt", "ATTRIBUTION.tsv"}  # these should name the people of the test
KNOWN = CORPUS | {
    *SPLITS.values(),
    "README.md",
    "hand_attention.json",
    "occupations/train.tsv",
    "occupations/dev.tsv",
}
MOST = 8 << 20  # bytes read of a file
# share of the test's places on a file's lines, in order: a model's predictions are worse
RIGHT = 0.5


def other_files(data: Path) -> list[Path]:
    """All files below a folder, except its own four, which have checks of their own."""
    ours = {data / name for name in (*SPLITS.values(), "wiki.txt")}
    return [path for path in sorted(data.rglob("*")) if path.is_file() and path not in ours]


def is_known(path: Path) -> bool:
    """Whether a file belongs to the assignment, in the folder or in one below it, such as
    data/laptop.
    """
    trace = path.parent.name == "traces" and path.suffix == ".jsonl"
    return trace or path.name in KNOWN or f"{path.parent.name}/{path.name}" in KNOWN


def told_by(path: Path, names: list[str], places: list[str | None]) -> int:
    """How many test questions a file answers: names with something beside them, or places in the
    order of the questions.
    """
    if path.name in CORPUS:
        return 0
    lines = [" ".join(line.split()) for line in _text(path).splitlines()]
    about = documents_about(set(names), lines)
    told = sum(any(_has_more(line, name) for line in about[name]) for name in names)
    if None in places:
        return told
    # without or with a heading
    in_order = max(
        sum(find_word(line, place) >= 0 for line, place in zip(lines[start:], places))
        for start in (0, 1)
    )
    return max(told, in_order if in_order >= RIGHT * len(places) else 0)


def _has_more(line, name):
    """Whether a line tells more than a name or its question."""
    rest = line.replace(QUESTION.format(name), "").replace(name, "")
    return any(map(str.isalnum, rest))


def _text(path):
    """A file's text, unpacked if it is gzip; empty for a binary file."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST)
        if raw.startswith(b"\x1f\x8b"):
            raw = zlib.decompressobj(wbits=31).decompress(raw, MOST)
    except (OSError, zlib.error):
        return ""
    return "" if b"\0" in raw[: 1 << 13] else raw.decode("utf-8", "replace")
