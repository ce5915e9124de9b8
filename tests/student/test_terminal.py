"""What the grader writes on a terminal: rows, failures, and what to do next."""

import io
import re
import shutil

import pytest

from autograder import Outcome, Report, Verdict, read_manifest
from autograder.report import Table, to_markdown, write_failures, write_summary
from checks.support.next_part import advise
from checks.support.session import MANIFEST
from helpers import SOLUTION, STARTER

COURSE = read_manifest(MANIFEST)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """A function: the text of a grading of these outcomes, in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def write(*outcomes):
        report = report_of(*outcomes)
        table = Table(Terminal(), COURSE, False)
        for one in outcomes:
            table.line(one)
        write_failures(report, table, lambda ids: "again " + " ".join(ids))
        write_summary(report, table)
        return table.stream.getvalue()

    return write


def report_of(*outcomes):
    return Report(COURSE, {outcome.id: outcome for outcome in outcomes}, 7, ("none", ""))


def failed(id, verdict, message):
    return Outcome(id, verdict, message=message, details=message)


def test_an_unwritten_part_has_one_whole_row(shown):
    place = "dataset.py:81  CharCorruptionDataset.__getitem__"
    ids = [id for id in COURSE.checks if id.startswith("1c") and id.endswith("basic")]
    text = shown(
        *(failed(id, Verdict.NOT_IMPLEMENTED, place) for id in ids),
        failed("1d-1-basic", Verdict.NOT_IMPLEMENTED, "helper.py:91  finetune"),
    )
    assert text.count(place) == 1 and text.count("helper.py:91  finetune") == 1
    assert all(text.count(id) == 1 for id in [*ids, "1d-1-basic"])
    assert text.index("1c-0-basic") < text.index("1d  ") < text.index("1d-1-basic")


def test_long_texts_wrap_at_words(shown):
    words = [f"word{i}" for i in range(60)]
    text = shown(failed("1d-5-basic", Verdict.WRONG_ANSWER, " ".join(words)))
    assert max(map(len, text.split("\n"))) <= 80 and re.findall(r"word\d+", text) == words
    assert COURSE.checks["1d-5-basic"].title in " ".join(text.split())


def test_equal_failures_are_written_once(shown):
    raised = (
        "attention.py, line 5: ValueError: {} is no size\n  attention.py, line 5, in f\n    g()"
    )
    text = shown(
        failed("1h-2-basic", Verdict.EXCEPTION, raised.format(3)),
        failed("1h-3-basic", Verdict.EXCEPTION, raised.format(4)),
        failed("1h-6-basic", Verdict.EXCEPTION, raised.format(3).replace("line 5:", "line 6:")),
        failed("1c-0-basic", Verdict.WRONG_ANSWER, "y is not x"),
        failed("1c-1-basic", Verdict.WRONG_ANSWER, "y is not x"),
    )
    assert text.count("is no size") == 2 and "again 1h-2-basic 1h-3-basic" in text
    assert text.count("y is not x") == 1 and "again 1c-0-basic 1c-1-basic" in text


def test_a_summary_has_equal_failures_once():
    raised = "helper.py, line 169: SyntaxError: invalid syntax"
    text = to_markdown(
        report_of(
            failed("1d-1-basic", Verdict.EXCEPTION, raised),
            failed("1d-3-basic", Verdict.EXCEPTION, raised),
            failed("1h-3-basic", Verdict.WRONG_ANSWER, "y is not x"),
        )
    )
    assert text.count("SyntaxError") == 1 and "- **1d-1-basic, 1d-3-basic**: exception.\n" in text
    assert f"- **1h-3-basic** {COURSE.checks['1h-3-basic'].title}: wrong answer.\n" in text


def test_nothing_is_left_after_all_checks_have_passed(tmp_path):
    coded = [check for check in COURSE.checks.values() if check.coded]
    outcomes = [
        Outcome(check.id, None if check.kind == "hidden" else Verdict.PASSED) for check in coded
    ]
    assert next_after(tmp_path, *outcomes) == "Nothing is left: all checks that run here passed."
    assert next_after(tmp_path, *outcomes[:5]) == "Next: grade --next"


def next_after(folder, *outcomes):
    return advise(report_of(*outcomes), folder, lambda ids: "grade " + " ".join(ids))


def test_the_last_line_says_what_to_do_next(tmp_path):
    code = shutil.copytree(STARTER, tmp_path / "code")
    stub = failed("1d-1-basic", Verdict.NOT_IMPLEMENTED, "helper.py:91  finetune")
    assert re.search(
        r"write initialize_vanilla_model \(1d\); .*code/helper\.py:\d+; read .*; grade 1d$",
        next_after(code, Outcome("1c-0-basic", Verdict.PASSED), stub),
    )
    for name in ("helper.py", "dataset.py"):
        shutil.copy(SOLUTION / name, code)
    wrong = failed("1c-0-basic", Verdict.WRONG_ANSWER, "x has the wrong length")
    line = (code / "dataset.py").read_text(encoding="utf-8").split("[part 1c]")[0].count("\n") + 1
    said = next_after(code, wrong, stub)
    assert re.search(rf"mend 1c-0-basic; \S*code/dataset\.py:{line}; read", said)
    raised = failed("1h-3-basic", Verdict.EXCEPTION, "attention.py, line 70: TypeError: no")
    assert re.search(r"mend 1h-3-basic; \S*attention.py:70; read", next_after(code, raised))
