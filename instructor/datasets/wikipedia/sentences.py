"""Splits text into sentences, and cleans up what removed templates leave in them."""

import functools
import re
from collections.abc import Iterator

_END = re.compile(r"[.!?][\"'”’»]*(?=\s)")
_OPENERS = "\"'“‘«([{"
_WORD = re.compile(r"[^\s(\[|]*\Z")
_INITIALS = re.compile(r"(?:\w\.)+\w")
_LITTER = [
    (re.compile(pattern), by)
    for pattern, by in (
        (r"\(\s*[;,:/\s]*\)|\[\s*\]", ""),  # ( ; ) where pronunciations stood
        (r"([(\[])\s*(?:[;,:]\s*)+", r"\1"),  # (; born
        (r"\s*(?:[;,:]\s*)+([)\]])", r"\1"),  # 1901, )
        (r"([;,])(?:\s*[;,])+", r"\1"),
        (r"\s+([,.;:)\]])", r"\1"),
        (r"(\()\s+", r"\1"),
        (r" {2,}", " "),
    )
]


def tidy(text: str) -> str:
    """A sentence without empty brackets, doubled commas and blanks before punctuation."""
    for pattern, by in _LITTER:
        text = pattern.sub(by, text)
    return text.strip()


@functools.cache
def _words(abbreviations):
    return frozenset(abbreviations.split())


def split(paragraph: str, abbreviations: str) -> Iterator[str]:
    """The sentences of a paragraph, wikitext or plain.

    A full stop ends one if a capital letter, a digit, a link or a quotation mark follows, unless it
    is in brackets, after an initial or after an abbreviation.
    """
    known, start = _words(abbreviations), 0
    for end in _END.finditer(paragraph):
        follows = paragraph[end.end() : end.end() + 8].lstrip()[:1]
        if not (follows.isupper() or follows.isdigit() or follows in _OPENERS):
            continue
        before = paragraph[start : end.start()]
        word = _WORD.search(before, max(0, len(before) - 20))[0]
        is_short = end.group()[0] == "." and (
            word in known or (len(word) == 1 and word.isupper()) or _INITIALS.fullmatch(word)
        )
        if not is_short and _is_balanced(paragraph[start : end.end()]):
            yield paragraph[start : end.end()].strip()
            start = end.end()
    if paragraph[start:].strip():
        yield paragraph[start:].strip()


def _is_balanced(text):
    opened, closed = ("„", "“") if "„" in text else ("“", "”")
    if text.count('"') % 2 or text.count(opened) > text.count(closed):
        return False
    return (
        text.count("(") <= text.count(")")
        and text.count("[[") <= text.count("]]")
        and text.count("{{") <= text.count("}}")
    )
