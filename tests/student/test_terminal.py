"""What the grader writes on a terminal: rows and failures."""

import io
import re

import pytest

from autograder import Outcome, Report, Verdict, read_manifest
from autograder.report import Table, to_markdown, write_failures, write_summary
from checks.support.session import MANIFEST

COURSE = read_manifest(MANIFEST)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def shown(*outcomes):
    """What is written of a grading of these outcomes in a terminal of 80 columns."""
    report = Report(COURSE, {outcome.id: outcome for outcome in outcomes}, 7, ("none", ""))
    table = Table(Terminal(), COURSE, False)
    for outcome in outcomes:
        table.line(outcome)
    write_failures(report, table, lambda ids: "again " + " ".join(ids))
    write_summary(report, table)
    return table.stream.getvalue(), to_markdown(report)


@pytest.fixture(autouse=True)
def columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def failed(id, verdict, message):
    return Outcome(id, verdict, message=message, details=message)


def test_an_unwritten_part_has_one_whole_row():
    place = "dataset.py:81  CharCorruptionDataset.__getitem__"
    ids = [id for id in COURSE.checks if id.startswith("1c") and id.endswith("basic")]
    text, _ = shown(
        *(failed(id, Verdict.NOT_IMPLEMENTED, place) for id in ids),
        failed("1d-1-basic", Verdict.NOT_IMPLEMENTED, "helper.py:91  finetune"),
    )
    assert text.count(place) == 1 and text.count("helper.py:91  finetune") == 1
    assert all(text.count(id) == 1 for id in [*ids, "1d-1-basic"])
    assert text.index("1c-0-basic") < text.index("1d  ") < text.index("1d-1-basic")


def test_long_texts_wrap_at_words():
    words = [f"word{i}" for i in range(60)]
    text, _ = shown(failed("1d-5-basic", Verdict.WRONG_ANSWER, " ".join(words)))
    assert max(map(len, text.split("\n"))) <= 80 and re.findall(r"word\d+", text) == words
    assert COURSE.checks["1d-5-basic"].title in " ".join(text.split())


def test_equal_failures_are_written_once():
    """In a summary for a git host, too."""
    raised = (
        "attention.py, line 5: ValueError: {} is no size\n  attention.py, line 5, in f\n    g()"
    )
    text, summary = shown(
        failed("1h-2-basic", Verdict.EXCEPTION, raised.format(3)),
        failed("1h-3-basic", Verdict.EXCEPTION, raised.format(4)),
        failed("1h-6-basic", Verdict.EXCEPTION, raised.format(3).replace("line 5:", "line 6:")),
        failed("1c-0-basic", Verdict.WRONG_ANSWER, "y is not x"),
        failed("1c-1-basic", Verdict.WRONG_ANSWER, "y is not x"),
    )
    assert text.count("is no size") == 2 and "again 1h-2-basic 1h-3-basic" in text
    assert text.count("y is not x") == summary.count("y is not x") == 1
    assert "again 1c-0-basic 1c-1-basic" in text
    assert "- **1c-0-basic, 1c-1-basic**: wrong answer.\n" in summary
