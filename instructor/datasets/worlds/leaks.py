"""Test answers in a folder that students get, whatever their file is called and however it is
written.
"""

import zlib
from pathlib import Path

from .folder import QUESTION, SPLITS, documents_about, find_word

CORPUS = {"wiki.txt", "ATTRIBUTION.tsv"}  # they name the people of the test, and should
KNOWN = CORPUS | {
    *SPLITS.values(),
    "README.md",
    "hand_attention.json",
    "occupations/train.tsv",
    "occupations/dev.tsv",
}
MOST = 8 << 20  # bytes of a file that is looked into
# of the test's places in the lines of a file, in their order: a model's predictions are worse
RIGHT = 0.5


def other_files(data: Path) -> list[Path]:
    """All files below a folder but the four of the folder itself, which have checks of their
    own.
    """
    ours = {data / name for name in (*SPLITS.values(), "wiki.txt")}
    return [path for path in sorted(data.rglob("*")) if path.is_file() and path not in ours]


def is_known(path: Path) -> bool:
    """Whether a file belongs to the assignment, in the folder or in one below it, such as
    data/laptop.
    """
    return path.name in KNOWN or f"{path.parent.name}/{path.name}" in KNOWN


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
    # or a heading
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
    """A file's text, unpacked if gzip packed it; nothing of a binary file."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST)
        if raw.startswith(b"\x1f\x8b"):
            raw = zlib.decompressobj(wbits=31).decompress(raw, MOST)
    except (OSError, zlib.error):
        return ""
    return "" if b"\0" in raw[: 1 << 13] else raw.decode("utf-8", "replace")
