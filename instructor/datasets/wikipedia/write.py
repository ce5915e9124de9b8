"""Writes the files of an edition: corpus, questions, answers, attribution and report."""

import contextlib
import csv
import io
from collections import Counter
from pathlib import Path
from urllib.parse import quote

from common.files import UserError, writing
from instructor.datasets.folder import QUESTION, SPLITS, Corpus, Rows

from .archive import Archive, Site
from .report import LICENSE, NOTICE_TITLE, REPORT_TITLE, write_notice, write_report
from .selection import Edition, Wishes

NOTICE, REPORT = "README.md", "report.md"
COLUMNS = ("name", "page_id", "revision_id", "title", "url", "license")


def write_edition(
    edition: Edition,
    wishes: Wishes,
    archive: Archive,
    pages: Counter,
    compared: tuple[str, Corpus] | None,
    out: Path,
    gold: Path,
) -> None:
    """Write what students get into `out`, and the answers of the test questions and the report into
    `gold`: all of it, or nothing.

    Args:
        edition: what was made.
        wishes, archive, pages, compared: as `report.write_report`.
        out: the folder that students get.
        gold: the folder of the test answers.

    Raises:
        UserError: the disk is full, or a folder cannot be written to; earlier files are unchanged.
    """
    rows = rows_of(edition)
    texts = {
        out / "wiki.txt": edition.documents,
        out / "ATTRIBUTION.tsv": attribution(edition, archive.site),
        gold / "birth_test.tsv": ["\t".join(row) for row in rows["test"]],
    }
    for split, name in SPLITS.items():
        texts[out / name] = [
            question if split == "test" else f"{question}\t{place}"
            for question, place in rows[split]
        ]
    texts[gold / REPORT] = write_report(edition, rows, wishes, archive, pages, compared)
    texts[out / NOTICE] = write_notice(edition, wishes, archive)
    # on exit they get their names, last one first: first those that identify the others
    with contextlib.ExitStack() as files:
        for path, lines in texts.items():
            files.enter_context(writing(path)).write_text(
                "".join(line + "\n" for line in lines), encoding="utf-8", newline="\n"
            )


def refuse_occupied(out: Path, gold: Path) -> None:
    """Refuse folders with files that would be overwritten, unless these are an earlier edition.

    Raises:
        UserError: there are such files.
    """
    for option, folder, names, mark, title in (
        ("--out", out, ("wiki.txt", "ATTRIBUTION.tsv", *SPLITS.values()), NOTICE, NOTICE_TITLE),
        ("--gold", gold, ("birth_test.tsv",), REPORT, REPORT_TITLE),
    ):
        there = [name for name in (mark, *names) if (folder / name).exists()]
        if there and not _begins_with(folder / mark, title):
            raise UserError(
                f"{folder} has files that are not an earlier edition from Wikipedia, and would be "
                f"overwritten: {', '.join(there)}. Give another folder with {option}, or move them "
                "away. Nothing was written."
            )


def _begins_with(path, title):
    try:
        with open(path, "rb") as file:
            return file.readline().decode("utf-8", "replace").rstrip() == title
    except OSError:
        return False


def rows_of(edition: Edition) -> dict[str, Rows]:
    """The questions of each split, with their places."""
    return {
        split: [(QUESTION.format(one.candidate.name), one.candidate.place) for one in chosen]
        for split, chosen in edition.splits.items()
    }


def attribution(edition: Edition, site: Site) -> list[str]:
    """The lines of ATTRIBUTION.tsv, by the pages' ids: for everyone the page and the revision that
    is quoted, with a link.
    """
    everyone = sorted(
        (one.candidate for split in edition.splits.values() for one in split),
        key=lambda one: one.id,
    )
    text = io.StringIO()
    table = csv.writer(text, delimiter="\t", lineterminator="\n")
    table.writerow(COLUMNS)
    for one in everyone:
        title = quote(one.title.replace(" ", "_"))
        url = f"{site.address}/w/index.php?title={title}&oldid={one.revision}"
        table.writerow((one.name, one.id, one.revision, one.title, url, LICENSE))
    return text.getvalue().splitlines()
