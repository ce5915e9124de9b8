"""The gradebooks, and the written parts that people fill in."""

import csv
import io
import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from classes import CODED, MANIFEST, PARTS, cli, fail, full_report, keep_class, make_class, rows
from instructor.grading.written import forms

from common.files import UserError
from instructor.grading import overrides
from instructor.grading.grades import Entry, GradedClass, Person
from instructor.grading.pages import gradebook, write_reports
from instructor.grading.sheet import cell

# Blanks, tabs, quotes and unseen characters before what a spreadsheet takes for a formula.
STARTS = ["", "\t", "\n", "  ", "\u00a0", "\u200b", "\u200d ", "\ufeff", "'", '"', "\0", "Ann;"]
FORMULAS = [
    *(f"{start}=1" for start in STARTS),
    *("+1+1", "-1+1", "@SUM(A1)", "＝1+1", "＋1+a", "－1a", "＠x", "=cmd|' /C calc'!A0"),
    *("\tx", "\rx", "Ann,@x", 'Ann; \t=HYPERLINK("http://evil")'),
]
MOST = MANIFEST.checks["1g-0-written"].points
REQUIRED = cell(GradedClass(MANIFEST, "", []).regular_points)


def rows_of(text):
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


@pytest.fixture
def graded():
    """A class of six, nothing marked by hand yet."""
    graded = make_class(6)
    for entry in graded.entries:
        entry.written, entry.comments = {}, {}
    return graded


@pytest.fixture
def out(graded, tmp_path):
    """Its folder, as `grade` left it."""
    keep_class(graded, tmp_path)
    write_reports(graded, tmp_path)
    (tmp_path / "overrides.csv").write_text(",".join(overrides.COLUMNS) + "\n", encoding="utf-8")
    return tmp_path


def fill(path, marks, comment="", encoding="utf-8-sig", delimiter=","):
    """Fill in points by (id, rubric), as a spreadsheet would save it."""
    lines = rows(path)
    for row in lines:
        row["points"] = marks.pop((row["id"], row["rubric"]), row["points"])
        row["comment"] = comment if row["points"] else row["comment"]
    assert not marks
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(lines[0]), delimiter=delimiter, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(lines)
    path.write_bytes(stream.getvalue().encode(encoding))


def merge(out, *options):
    return cli("merge", out, *options)


def contents(folder):
    """The bytes of all files in a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Cells


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((text, text) for text in ("-5", "+49123", "3.25", "00123", "O'Neill", "Smith-Jones")),
        *((text, text) for text in ("李小龍", "محمد", "a@b.example", "x = 1")),
        *((0.0, "0"), (60.0, "60"), (51.3, "51.3"), (1 / 3, "0.3333"), (-2, "-2"), (None, "")),
        *((text, "'x") for text in ("\tx", "\rx", "\0\nx")),
    ],
)
def test_cells_keep_numbers_and_names(value, text):
    assert cell(value) == text


# Gradebooks


def test_canvas_has_its_columns_and_points_and_who_it_knows(graded):
    graded.entries[2].penalty, graded.entries[2].written = 0.5, {"1g-0-written": 1.5}
    rows = rows_of(gradebook.canvas(graded)[0])
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", graded.title]
    assert rows[1] == ["    Points Possible", "", "", "", "", REQUIRED]
    assert rows[4][:5] == ["שרה לוי", "5002", "100202", "s100202", "Section 3"]
    assert float(rows[4][5]) == pytest.approx(
        0.5 * sum(check["score"] for check in graded.entries[2].checks) + 1.5, abs=1e-4
    )
    assert len(rows) == 2 + len(graded.entries)
    graded.entries[0].person = Person("new", "A Guest", enrolled=False, canvas_id="5")
    graded.entries[1].person = Person("100201", "No Identity", "a@b.example")
    graded.entries[3].person = Person("100203", "Login only", sis_login="me")
    text, left_out = gradebook.canvas(graded)
    assert [person.name for person in left_out] == ["A Guest", "No Identity"]
    assert len(rows_of(text)) == 2 + 4 and "Login only" in text and "Guest" not in text


@pytest.mark.parametrize("column", ["HW 5 (98765)", '  Unit; -2:  =Attention, "x" (98765) '])
def test_canvas_finds_its_column_again(graded, column):
    graded.column = column
    assert rows_of(gradebook.canvas(graded)[0])[0][5] == column
    graded.column, graded.title = "", column
    assert rows_of(gradebook.canvas(graded)[0])[0][5] == column


def grades(graded):
    """By person: the cell of grades.csv and the row of grades-plain.csv."""
    cells = [row[5] for row in rows_of(gradebook.canvas(graded)[0])[2:]]
    plain = csv.DictReader(io.StringIO(gradebook.plain(graded).removeprefix("\ufeff")))
    return [(cell, row, row["remarks"].split("; ")) for cell, row in zip(cells, plain, strict=True)]


def test_an_excused_person_is_not_overwritten(graded):
    graded.entries[1].excused = "illness"
    graded.entries[1].report = None
    graded.entries[2].excused, graded.entries[2].pending = "left", ["1c-0-basic"]
    (_, first, _), ill, left, *_ = grades(graded)
    assert first["total"] and (ill[0], ill[1]["total"]) == (left[0], left[1]["total"]) == ("EX", "")
    assert "excused: illness" in ill[2] and "excused: left" in left[2]


def test_what_is_not_graded_is_an_empty_cell(graded):
    some, none, refused, failed, nobody = graded.entries[1:]
    fail(failed.report, "1c-0-basic", "grader error", "x")
    nobody.report, nobody.source, nobody.written = None, "", {}
    some.report = full_report(random.Random(0))
    some.report["checks"] = [one for one in some.report["checks"] if one["id"] not in CODED[1:5]]
    some.pending = CODED[1:5]
    none.report, none.source, none.pending = None, "x.zip", CODED
    refused.report, refused.refused, refused.pending = None, "no zip", []
    found = grades(graded)[1:]
    cells = [(cell, row["automatic"], row["total"]) for cell, row, _ in found]
    assert cells == [*[("", "", "")] * 2, ("0", "", "0"), ("", "", ""), ("0", "", "0")]
    said = [remarks for *_, remarks in found]
    assert f"not graded yet: 4 checks ({', '.join(CODED[1:4])} and 1 more)" in said[0]
    assert "not graded yet" in said[1] and "nothing was handed in" not in said[1]
    assert "refused: no zip" in said[2] and "not graded yet" not in said[2]
    assert "no grade: the grader failed: 1 check (1c-0-basic)" in said[3]
    assert said[4] == ["nothing was handed in"]
    questions = {MANIFEST.checks[id].question for id in CODED[1:5]}
    assert all(found[0][1][id] == "" for id in questions) and found[0][1]["1h"]
    assert all(found[1][1][id] == "" for id in MANIFEST.questions)


def test_manual_points_count_in_their_question_and_have_a_reason(graded):
    mended, given = graded.entries[1:3]
    mended.report, mended.penalty = full_report(random.Random(0)), 0
    fail(mended.report, "1c-0-basic", "grader error", "x")
    fail(mended.report, "1h-3-basic", "wrong answer", "x")
    before = float(grades(graded)[1][1]["1h"])
    mended.manual = {"1c-0-basic": 1.25, "1h-3-basic": 0.5, "": 2}
    mended.reasons = ["1c-0-basic: 1.25 points, for a fault of ours."]
    given.report, given.manual = None, {"1c-0-basic": 3, "": 1}
    (cell, row, remarks), (other, sparse, _) = grades(graded)[1:3]
    rest = sum(one.points for one in MANIFEST.checks.values() if one.coded and one.question == "1c")
    assert float(row["1c"]) == rest - MANIFEST.checks["1c-0-basic"].points + 1.25
    assert float(row["1h"]) == before + 0.5 and row["total"] == cell
    assert float(cell) == sum(float(row[id] or 0) for id in MANIFEST.questions) + 2
    assert mended.reasons[0] in remarks
    assert (other, sparse["1c"], sparse["1h"], sparse["automatic"]) == ("4", "3", "", "4")


def test_plain_gradebook_has_everything(graded):
    entry = graded.entries[1]
    entry.report = full_report(random.Random(0))
    fail(entry.report, "1c-1-basic", "wrong answer", "x")
    entry.submitted = datetime(2026, 5, 14, 1, 2, tzinfo=UTC)
    entry.days_late, entry.penalty = 2, 0.25
    entry.written = {"1g-0-written": 2, "1g-1-written": 1.5, "3a-1-written": 1}
    entry.remarks = ["two submissions\nby one person"]
    assert gradebook.plain(graded).startswith("\ufeff")  # or Excel spoils the names
    _, row, remarks = grades(graded)[1]
    coded = dict.fromkeys(MANIFEST.questions, 0)
    for check in map(MANIFEST.checks.get, CODED):
        coded[check.question] += check.points
    coded["1c"] -= MANIFEST.checks["1c-1-basic"].points
    automatic = 0.75 * sum(coded.values())
    expected = dict.fromkeys(MANIFEST.questions, "") | {"1g": "3.5", "3a": "1"}
    expected |= {id: cell(points) for id, points in coded.items() if points}
    expected |= {"id": "100201", "name": "محمد الفارسي", "email": "s100201@uni.example"}
    expected |= {"section": "Section 2", "source": entry.source, "days late": "2"}
    expected |= {"submitted": "2026-05-14T01:02:00+00:00", "penalty": "0.25"}
    expected |= {"automatic": cell(automatic), "written": "4.5", "total": cell(automatic + 4.5)}
    expected |= {"max": REQUIRED, "remarks": row["remarks"]}
    assert row == expected
    unmarked = f"{len(PARTS) - 3} written parts are not marked yet"
    assert remarks == [unmarked, "two submissions by one person"]


# Written parts

HEAD = "id,rubric,points,comment\n"


def test_the_sheet_has_a_row_for_everybody_and_every_part(graded, out):
    sheet = rows(out / "written.csv")
    expected = [(entry.person.id, part) for entry in graded.entries for part in PARTS]
    assert [(row["id"], row["rubric"]) for row in sheet] == expected
    assert sheet[0]["points"] == sheet[0]["comment"] == "" and sheet[0]["question"] == "1g"
    assert sheet[0]["max points"] == str(MOST)


def test_what_is_filled_in_stays_when_people_come(graded, out):
    path = out / "written.csv"
    fill(path, {("100200", "1g-0-written"): "1,5"}, 'so-so; "quoted"', "utf-16", ";")
    before = path.read_bytes()
    write_reports(graded, out)
    assert path.read_bytes() == before
    more = replace(graded, entries=graded.entries[2:] + [Entry(Person("new", "=New"), "new")])
    write_reports(replace(more, entries=graded.entries + more.entries[-1:]), out)
    rows = list(
        csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""), delimiter=";")
    )
    assert rows[0]["points"] == "1,5" and rows[0]["comment"] == 'so-so; "quoted"'
    assert len(rows) == 7 * len(PARTS) and rows[-1]["name"] == "'=New" and rows[-1]["id"] == "new"


def test_columns_of_a_persons_own_stay(graded, out):
    path = out / "written.csv"
    path.write_text("rubric,points,marked by,ID\n1g-0-written,2,me,100200\n", encoding="utf-8")
    write_reports(graded, out)
    sheet = rows(path)
    assert sheet[0] == {"rubric": "1g-0-written", "points": "2", "marked by": "me", "ID": "100200"}
    assert len(sheet) == 6 * len(PARTS) and sheet[1]["marked by"] == ""


@pytest.mark.parametrize(
    ("encoding", "delimiter"), [("utf-8", ","), ("utf-8-sig", ";"), ("utf-16", "\t")]
)
def test_merge_understands_what_spreadsheets_write(out, capsys, encoding, delimiter):
    path, comment = out / "written.csv", "väl, gjort;"
    marks = {("100200", "1g-0-written"): "1,5", ("100201", "3c-0-written"): "0"}
    fill(path, marks, comment, encoding, delimiter)
    assert merge(out) == 0
    said, parts = capsys.readouterr().out, 6 * len(PARTS)
    assert "2 new marks for 2 people" in said
    assert f"Of {parts} written parts, {parts - 2} are not marked yet" in said
    plain = {row["id"]: row for row in rows(out / "grades-plain.csv")}
    one, other, third = (plain[f"10020{n}"] for n in range(3))
    assert (one["1g"], one["written"], other["3c"], third["written"]) == ("1.5", "1.5", "0", "")
    assert float(one["total"]) == float(one["automatic"]) + 1.5
    page = (out / "students" / "100200" / "feedback.html").read_text(encoding="utf-8")
    assert comment in page and f"{len(PARTS) - 1} parts are not marked yet" in page


def test_merge_of_copies_keeps_what_others_gave(out, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("copies")
    copies = {
        "a.csv": "100200,1g-0-written,2,again\n100203,4a-0-written,,\n",
        "b.csv": "100200,1g-0-written,,\n100203,4a-0-written,1.5,=1\n",
    }
    for name, lines in copies.items():
        (elsewhere / name).write_text(HEAD + lines, encoding="utf-8")
        assert merge(out, "--written", elsewhere / name) == 0
    assert merge(out) == 0  # all is kept
    plain = {row["id"]: row for row in rows(out / "grades-plain.csv")}
    assert (plain["100200"]["1g"], plain["100203"]["4a"]) == ("2", "1.5")
    form = {(row["id"], row["rubric"]): row["counts"] for row in rows(out / "written.csv")}
    assert form["100200", "1g-0-written"] == "2" and len(form) == 6 * len(PARTS)
    with pytest.raises(UserError, match="does not exist"):
        merge(out, "--written", out / "none.csv")


def test_ids_that_look_like_formulas_and_people_who_left(graded, tmp_path):
    graded = replace(graded, entries=[Entry(Person("=2+3", "A"), "a")])
    text = forms.form(graded, tmp_path / "w.csv")
    assert "\n'=2+3," in text
    (tmp_path / "w.csv").write_text(
        "id,rubric,points\n'=2+3,1g-0-written,1\n=2+3,3a-0-written,1.\ngone,3a-0-written,\n\n",
        encoding="utf-8",
    )
    marks = forms.read(tmp_path / "w.csv", graded)
    found = [(mark.id, mark.rubric, mark.points) for mark in marks]
    assert found == [("=2+3", "1g-0-written", 1), ("=2+3", "3a-0-written", 1)]


ADA = "100200,1g-0-written,"
BAD = {  # what is said, and the lines below the header, or the whole file
    "line 3: '1002' is not in this class": f"{ADA}1,\n1002,1g-0-written,1,\n",
    "line 2: '1c-0-basic' is not a written part": "100200,1c-0-basic,1,\n",
    **{
        f"line 2: the points '{points}' are not a number": f"{ADA}{points},\n"
        for points in ("good", "nan", "1e1", "٣")
    },
    "line 2: the points -1 are negative": f"{ADA}-1,\n",
    f"line 2: {MOST + 0.5} points, but there are at most {MOST}": f"{ADA}{MOST + 0.5},\n",
    "line 5: 1g-0-written of '100200' is already in line 2": f'{ADA}1,"two\nlines"\n\n{ADA}1,\n',
    "line 2: 6 cells, but the header has 4": f"{ADA}1,so,so,so\n",
    "line 2: only 2 cells": "100200,1g-0-written\n",
    "line 3: this is not CSV: unexpected end of data": f'{ADA}1,\n100201,1g-0-written,1,"open\n',
    "line 2: this is not CSV: field larger than field limit": f"{ADA}1,{'x' * 200_000}\n",
    "line 1: no column 'points'": f"id,rubric,comment\n{ADA}\n".encode(),
    "line 1: two columns 'points'": f"id,rubric,points,Points\n{ADA}1,2\n".encode(),
    "line 3: this is not UTF-8": f"{HEAD}{ADA}1,\n{ADA}1,Müller".encode("cp1252"),
    "line 1: a NUL": HEAD.encode("utf-16-le"),
    "this is not UTF-16": HEAD.encode("utf-16") + b"x",
    "is a spreadsheet": b"PK\x03\x04",
    "no column 'id'": b"",
}


@pytest.mark.parametrize("said", BAD)
def test_merge_refuses_whole_and_names_the_line(out, said):
    path = out / "written.csv"
    path.write_bytes((HEAD + BAD[said]).encode() if isinstance(BAD[said], str) else BAD[said])
    before = contents(out)
    with pytest.raises(UserError) as error:
        merge(out)
    assert said in str(error.value) and "written.csv" in str(error.value)
    assert contents(out) == before
