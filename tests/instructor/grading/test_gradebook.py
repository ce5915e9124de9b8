"""The gradebooks."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from classes import CODED, MANIFEST, PARTS, fail, full_report, make_class

from instructor.grading.grades import GradedClass, Person
from instructor.grading.pages import gradebook
from instructor.grading.sheet import cell

# Blanks, tabs, quotes and unseen characters before what a spreadsheet takes for a formula.
STARTS = ["", "\t", "\n", "  ", "\u00a0", "\u200b", "\u200d ", "\ufeff", "'", '"', "\0", "Ann;"]
FORMULAS = [
    *(f"{start}=1" for start in STARTS),
    *("+1+1", "-1+1", "@SUM(A1)", "＝1+1", "＋1+a", "－1a", "＠x", "=cmd|' /C calc'!A0"),
    *("\tx", "\rx", "Ann,@x", 'Ann; \t=HYPERLINK("http://evil")'),
]
REQUIRED = cell(GradedClass(MANIFEST, "", []).regular_points)


def rows_of(text):
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


@pytest.fixture
def graded():
    graded = make_class(6)
    for entry in graded.entries:
        entry.written, entry.comments = {}, {}
    return graded


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_is_a_formula(text):
    graded = make_class(2)
    graded.entries[1].person = Person("007", text, text, text, text, text, text, text)
    graded.entries[1].remarks, graded.entries[1].source = [text], text
    for made, lines in ((gradebook.canvas(graded)[0], 4), (gradebook.plain(graded), 3)):
        assert "\0" not in made and made.count("\n") == lines
        stream = made.removeprefix("\ufeff")
        for separator in ",;\t":  # whichever the spreadsheet splits at
            for value in sum(csv.reader(io.StringIO(stream, newline=""), delimiter=separator), []):
                bare = value.lstrip(' \t\u00a0\u200b\u200c\u200d\ufeff"')
                number = bare[:1] == "-" and bare[1:2].isdigit()
                assert number or not bare.startswith(tuple("=+-@＝＋－＠")), value
                assert not value.startswith(("\t", "\r")), value


CELLS = [
    *((text, text) for text in ("-5", "+49123", "3.25", "00123", "O'Neill", "Smith-Jones")),
    *((text, text) for text in ("李小龍", "محمد", "a@b.example", "x = 1")),
    *((0.0, "0"), (60.0, "60"), (51.3, "51.3"), (1 / 3, "0.3333"), (-2, "-2"), (None, "")),
    *((text, "'x") for text in ("\tx", "\rx", "\0\nx")),
]


def test_cells_keep_numbers_and_names():
    assert [cell(value) for value, _ in CELLS] == [text for _, text in CELLS]


def test_canvas_has_its_columns_and_points_and_who_it_knows(graded):
    third = graded.entries[2]
    third.penalty, third.written = 0.5, {"1g-0-written": 1.5}
    earned = 0.5 * sum(check["score"] for check in third.checks) + 1.5
    graded.entries[0].person = Person("new", "A Guest", enrolled=False, canvas_id="5")
    graded.entries[1].person = Person("100201", "No Identity", "a@b.example")
    graded.entries[3].person = Person("100203", "Login only", sis_login="me")
    text, left_out = gradebook.canvas(graded)
    head, possible, *rows = rows_of(text)
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", graded.title]
    assert possible == ["    Points Possible", "", "", "", "", REQUIRED]
    assert rows[0][:5] == ["שרה לוי", "5002", "100202", "s100202", "Section 3"]
    assert float(rows[0][5]) == pytest.approx(earned, abs=1e-4)
    assert [person.name for person in left_out] == ["A Guest", "No Identity"]
    assert len(rows) == 4 and rows[1][:4] == ["Login only", "", "", "me"]


@pytest.mark.parametrize("column", ["HW 5 (98765)", '  Unit; -2:  =Attention, "x" (98765) '])
def test_canvas_finds_its_column_again(graded, column):
    for named in (replace(graded, column=column), replace(graded, title=column)):
        assert rows_of(gradebook.canvas(named)[0])[0][5] == column


def grades(graded):
    cells = [row[5] for row in rows_of(gradebook.canvas(graded)[0])[2:]]
    plain = csv.DictReader(io.StringIO(gradebook.plain(graded).removeprefix("\ufeff")))
    return [(cell, row) for cell, row in zip(cells, plain, strict=True)]


def test_manual_points_count_in_their_question_and_have_a_reason(graded):
    mended, given = graded.entries[1:3]
    mended.report, mended.penalty = full_report(), 0
    fail(mended.report, "1c-0-basic", "grader error", "x")
    fail(mended.report, "1h-3-basic", "wrong answer", "x")
    before = float(grades(graded)[1][1]["1h"])
    mended.manual = {"1c-0-basic": 1.25, "1h-3-basic": 0.5, "": 2}
    mended.reasons = ["1c-0-basic: 1.25 points, for a fault of ours."]
    given.report, given.manual = None, {"1c-0-basic": 3, "": 1}
    (cell, row), (other, sparse) = grades(graded)[1:3]
    rest = [id for id in CODED if id.startswith("1c-") and id != "1c-0-basic"]
    assert float(row["1c"]) == sum(MANIFEST.checks[id].points for id in rest) + 1.25
    assert float(row["1h"]) == before + 0.5 and row["total"] == cell
    assert float(cell) == sum(float(row[id] or 0) for id in MANIFEST.questions) + 2
    assert mended.reasons[0] in row["remarks"]
    assert (other, sparse["1c"], sparse["1h"], sparse["automatic"]) == ("4", "3", "", "4")


def test_plain_gradebook_has_everything(graded):
    entry = graded.entries[1]
    entry.report = full_report()
    fail(entry.report, "1c-1-basic", "wrong answer", "x")
    entry.submitted = datetime(2026, 5, 14, 1, 2, tzinfo=UTC)
    entry.days_late, entry.penalty = 2, 0.25
    entry.written = {"1g-0-written": 2, "1g-1-written": 1.5, "3a-1-written": 1}
    entry.remarks = ["two submissions\nby one person"]
    assert gradebook.plain(graded).startswith("\ufeff")  # or Excel spoils the names
    _, row = grades(graded)[1]
    coded = dict.fromkeys(MANIFEST.questions, 0)
    for check in map(MANIFEST.checks.get, CODED):
        coded[check.question] += check.points * (check.id != "1c-1-basic")
    automatic = 0.75 * sum(coded.values())
    questions = {id: cell(points) if points else "" for id, points in coded.items()}
    person = {"id": "100201", "name": "محمد الفارسي", "email": "s100201@uni.example"}
    handed_in = {"section": "Section 2", "source": entry.source, "days late": "2"}
    handed_in |= {"submitted": "2026-05-14T01:02:00+00:00", "penalty": "0.25"}
    sums = {"automatic": cell(automatic), "written": "4.5", "total": cell(automatic + 4.5)}
    rest = {"1g": "3.5", "3a": "1", "max": REQUIRED}
    unmarked = f"{len(PARTS) - 3} written parts are not marked yet"
    rest["remarks"] = f"{unmarked}; two submissions by one person"
    assert row == person | handed_in | questions | sums | rest
