"""Makes editions from Wikipedia in this process, and reads the result."""

import csv
import sys

from instructor.__main__ import main

PEOPLE = 150


def run(monkeypatch, *arguments):
    """Run `python -m instructor` in this process; returns the exit code."""
    monkeypatch.setattr(sys, "argv", ["instructor", *map(str, arguments)])
    return main()


def wikipedia(monkeypatch, articles, out, *options, people=PEOPLE, workers=1):
    """Make an edition."""
    return run(
        monkeypatch,
        "wikipedia",
        "--articles",
        articles,
        "--people",
        people,
        "--out",
        out,
        "--workers",
        workers,
        *options,
    )


def lines(path):
    """The lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def dropped(text):
    """The table of dropped pages in a text: the number for each reason."""
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    return {
        reason: int(count.replace(",", ""))
        for reason, count in cells
        if count.replace(",", "").isdigit()
    }


def attributed(edition):
    """The rows of ATTRIBUTION.tsv."""
    return list(csv.DictReader(lines(edition / "ATTRIBUTION.tsv"), delimiter="\t"))


def contents(out):
    """All files of an edition and its gold, by name."""
    return {
        path.name: path.read_bytes()
        for folder in (out, out.with_name(out.name + "-gold"))
        for path in folder.iterdir()
    }
