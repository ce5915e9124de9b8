"""Writes the report on an edition: figures beside those of another, dropped pages, samples."""

from collections import Counter

from instructor.datasets.folder import (
    Corpus,
    Rows,
    documents_about,
    figures,
    longest_truncation,
    name_in,
    place_positions,
)

from .archive import Archive
from .selection import Edition, Wishes

LICENSE = "CC BY-SA 4.0"
NOTICE_TITLE = "# Data from Wikipedia"
REPORT_TITLE = "# An edition from Wikipedia"
SAMPLES = 12


def drop_table(dropped: Counter) -> list[str]:
    """The lines of a Markdown table: how many pages were dropped for each reason, the most frequent
    first.
    """
    rows = sorted(
        ((count, reason) for reason, count in dropped.items() if count),
        key=lambda row: (-row[0], row[1]),
    )
    if not rows:
        return ["(There are no others.)"]
    width = max(len(reason) for _, reason in rows)
    return [
        f"| {'dropped':<{width}} | {'pages':>10} |",
        f"| {'-' * width} | {'-' * 9}: |",
        *(f"| {reason:<{width}} | {count:>10,} |" for count, reason in rows),
    ]


def write_notice(edition: Edition, wishes: Wishes, archive: Archive) -> list[str]:
    """The lines of the data's README, in Markdown: their source, their license, and what was
    changed.
    """
    return [NOTICE_TITLE, "", *_notice(edition, wishes, archive)]


def write_report(
    edition: Edition,
    rows: dict[str, Rows],
    wishes: Wishes,
    archive: Archive,
    pages: Counter,
    compared: tuple[str, Corpus] | None,
) -> list[str]:
    """The lines of the report, in Markdown.

    Args:
        edition: what was made.
        rows: its questions, with their places.
        wishes: what was asked for.
        archive: the dump.
        pages: how many of its pages were dropped while it was read, by reason.
        compared: another corpus to show figures of, and its name.
    """
    everyone = [one for split in edition.splits.values() for one in split]
    sources = Counter(one.candidate.source for one in everyone)
    lines = [
        REPORT_TITLE,
        "",
        *_notice(edition, wishes, archive),
        "",
        f"Seed {wishes.seed}: anyone who knows it and has the dump can make the same edition, "
        "answers included.",
        "",
        "## Figures",
        "",
        *_figures(edition, rows, wishes, compared),
        "",
        "## Where the birthplace was found",
        "",
        "| source | people |",
        "| --- | ---: |",
        *(f"| {source} | {sources[source]:,} |" for source in sorted(sources)),
        "",
        "## Dropped pages",
        "",
        f"Chosen: {len(everyone):,}. All others, by the first reason found:",
        "",
        *drop_table(pages + edition.dropped),
        "",
    ]
    if edition.unmatched:
        lines += [
            "On the exclusion list, but matching nobody who was considered: "
            f"{', '.join(edition.unmatched)}. Check the spelling.",
            "",
        ]
    lines += ["## Samples", "", "People of the training split.", ""]
    for one in edition.splits["train"][:SAMPLES]:
        lines.append(f"- **{_escaped(one.candidate.name)}**, {_escaped(one.candidate.place)}")
        lines += [f"  - {_escaped(text)}" for text in one.documents]
    return lines


def _notice(edition, wishes, archive):
    quoted = sum(one.quoted for split in edition.splits.values() for one in split)
    ours = len(edition.documents) - quoted
    return [
        f"Source: `{archive.path.name}`, a dump of {archive.site.database} "
        f"({archive.site.address}).",
        "",
        f"License: the sentences are by the authors of the articles, under {LICENSE} "
        "(https://creativecommons.org/licenses/by-sa/4.0/), and so are these data; "
        "`ATTRIBUTION.tsv` lists the pages and revisions, whose histories name their authors.",
        "",
        "Changed: sentences were taken out of their articles; markup, references and notes were "
        "removed; a name and a full stop were put in front where a sentence lacks the name"
        + ("; letters were transliterated to ASCII" if wishes.transliterate else "")
        + "."
        + (
            f" Documents made so: {quoted:,}; in words of ours, with no more than a name and a "
            f"place: {ours:,}."
            if ours
            else ""
        ),
    ]


def _figures(edition, rows, wishes, compared):
    columns = {"this edition": (edition.documents, rows)}
    if compared:
        columns[compared[0]] = (compared[1].documents, compared[1].splits)
    tables = [
        figures(*column) | {"place within what a model reads": _within(*column, wishes.block_size)}
        for column in columns.values()
    ]
    lines = ["| | " + " | ".join(columns) + " |", "| --- |" + " --- |" * len(columns)]
    for row in tables[0]:
        lines.append(
            f"| {row} | "
            + " | ".join(
                f"{table[row]:,}" if isinstance(table[row], int) else table[row] for table in tables
            )
            + " |"
        )
    return lines


def _within(documents, splits, block_size):
    rows = [row for split in splits.values() for row in split]
    about = documents_about({name_in(question) for question, _ in rows}, documents)
    ends = place_positions(rows, about)
    longest = longest_truncation(block_size)
    return f"{sum(end is not None and end <= longest for end in ends) / len(ends):.1%}"


def _escaped(text):
    """Text that Markdown shows as it is."""
    return "".join(
        "\\" + character if character in r"\`*_[]<>#|" else character for character in text
    )
