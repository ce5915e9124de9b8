"""The results of a comparison, as pages for the staff and as CSV. The pages load nothing and show
students' code as text.
"""

import os
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

from jinja2 import ChoiceLoader, FileSystemLoader

from common.files import private
from instructor.grading.pages.render import HTML
from instructor.grading.sheet import MARK, table

from .compare import Pair
from .own import Own

FOLDER = "similar"
MOST_PAGES = 500  # of pairs; similar.csv has them all
PAGES = HTML.overlay(
    loader=ChoiceLoader([FileSystemLoader(Path(__file__).parent / "templates"), HTML.loader])
)


def write_pages(
    out: Path,
    everybody: list[Own],
    pairs: list[Pair],
    not_compared: dict[str, str],
    equal: list[tuple[list[str], list[str]]],
    threshold: float,
    files: list[Own] = (),
    pasted: list[Pair] = (),
) -> Path:
    """Write OUT/similar: index.html, similar.csv and a page for each pair, replacing earlier ones.

    Args:
        everybody, pairs, not_compared: of the comparison.
        equal: (files, people) with equal files.
        threshold: the least similarity of the pairs.
        files, pasted: the released files, and pairs of a person and one of them.

    Returns:
        The path of index.html.

    Raises:
        OSError: it cannot be written.
    """
    texts = {own.person: own.text for own in [*everybody, *files]}
    shown = [
        (pair, f"pair-{number:03d}.html") for number, pair in enumerate(pairs[:MOST_PAGES], start=1)
    ]
    released = [
        (pair, f"released-{number:03d}.html")
        for number, pair in enumerate(pasted[:MOST_PAGES], start=1)
    ]
    with (
        private(),
        tempfile.TemporaryDirectory(
            dir=out, prefix=".similar-", ignore_cleanup_errors=True
        ) as scratch,
    ):
        fresh = Path(scratch) / FOLDER
        fresh.mkdir()
        for pair, name in shown + released:
            sides = [
                (person, share, _pieces(texts[person], spans))
                for person, share, spans in zip((pair.first, pair.second), pair.shares, pair.spans)
            ]
            _write(
                fresh / name,
                PAGES.get_template("pair.html.j2").render(sides=sides, similarity=pair.similarity),
            )
        page = PAGES.get_template("index.html.j2").render(
            shown=shown,
            released=released,
            more=len(pairs) - len(shown),
            equal=equal,
            threshold=threshold,
            compared=len(everybody) - len(not_compared),
            not_compared=[
                (why, sorted(person for person in not_compared if not_compared[person] == why))
                for why in sorted(set(not_compared.values()))
            ],
            made=datetime.now().strftime("%Y-%m-%d %H:%M"),
        )
        _write(fresh / "index.html", page)
        rows = [(pair.similarity, pair.first, pair.second, *pair.shares) for pair in pairs]
        _write(
            fresh / "similar.csv",
            MARK
            + table(
                [
                    ("similarity", "first", "second", "share of the first", "share of the second"),
                    *rows,
                ]
            ),
        )
        target = out / FOLDER
        if target.exists():
            os.replace(target, Path(scratch) / "before")
        try:
            os.replace(fresh, target)
        except OSError:
            if (before := Path(scratch) / "before").exists():
                shutil.move(before, target)
            raise
    return target / "index.html"


def _write(path, text):
    path.write_text(text, encoding="utf-8", newline="\n")


def _pieces(text, spans):
    """A text cut into (piece, whether it matches the other)."""
    agrees = bytearray(len(text))
    for start, end in spans:
        agrees[start:end] = b"\1" * len(agrees[start:end])
    cuts = [0] + [i for i in range(1, len(text)) if agrees[i] != agrees[i - 1]] + [len(text)]
    return [
        (text[start:end], bool(agrees[start])) for start, end in zip(cuts, cuts[1:]) if start < end
    ]
