"""What people decide in files counts, is kept, and is told."""

import csv
import io
import json
import re
import shutil
import sqlite3
from dataclasses import replace

import pytest
from batch_work import Here, run
from classes import MANIFEST, cli, decide, entries, hand_in, page_of, rows, with_points

from common.files import UserError
from helpers import manifest_text
from instructor.grading.graded_class import load_class
from instructor.grading.grades import Submission
from instructor.grading.pages import feedback_file
from instructor.grading.settings import read_settings
from instructor.grading.text import points

CHECKS = MANIFEST.checks
PART = next(id for id, check in CHECKS.items() if not check.coded)
MOST = CHECKS[PART].points


def marks(tmp_path, marker, *given):
    lines = [f"{person},{PART},{points},by {marker}" for person, points in given]
    decide(tmp_path, *lines, file=f"written/{marker}.csv")


def written(tmp_path):
    return {id: entry.written.get(PART) for id, entry in entries(tmp_path).items()}


def write(tmp_path, name, content):
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "out" / name).write_bytes(content)


def history(tmp_path, **of):
    found = rows(tmp_path / "out" / "history.csv")
    return [row for row in found if all(row[name] == value for name, value in of.items())]


def test_marks_count_are_missed_and_each_version_is_kept(tmp_path, graded, grade, capsys):
    before = entries(tmp_path)["ada"].total
    both = ("ada", '"1,5"'), ("ben", 0.5)
    marks(tmp_path, "eva", *both)
    grade()
    assert written(tmp_path) == {"ada": 1.5, "ben": 0.5} and "by eva" in page_of(tmp_path, "ada")
    totals = f"{points(before)}, now {points(before + 1.5)}"
    assert f"'ada': {totals}: mark {PART}: 1.5 (by eva)" in capsys.readouterr().out
    marks(tmp_path, "eva", ("ada", 1.5))
    grade()
    assert written(tmp_path) == {"ada": 1.5, "ben": None}
    said = capsys.readouterr().out
    assert f"{PART}: none, was 0.5" in said and "written/eva.csv" in said
    (row,) = history(tmp_path, what="mark", id="ben", before="0.5")
    assert row["after"] == "" and "no longer" in row["why"]
    grade()
    assert "have changed" not in capsys.readouterr().out
    marks(tmp_path, "eva", *both)
    grade()
    kept = sorted((tmp_path / "out" / "versions" / "written" / "eva").iterdir())
    assert [len(rows(path)) for path in kept] == [2, 1, 2]
    hashes = [path.stem.split()[-1] for path in kept]
    assert hashes[0] == hashes[2] != hashes[1]


def test_markers_who_differ_leave_a_part_unmarked(tmp_path, graded, grade, capsys):
    """Until it is decided; a comment without points decides nothing."""
    marks(tmp_path, "eva", ("ada", 1), ("ben", 1))
    marks(tmp_path, "tom", ("ada", 2), ("ben", 1))
    marks(tmp_path, "kim", ("ben", ""))
    marks(tmp_path, "decided", ("ada", ""))
    grade()
    assert written(tmp_path) == {"ada": None, "ben": 1}
    errors = capsys.readouterr().err
    for part in (f"{PART} of ada", "eva gives 1", "tom gives 2", "decided.csv"):
        assert part in errors
    assert "of ben" not in errors
    assert sorted(load_class(tmp_path / "out").marked_twice) == [(PART, 1, 1), (PART, 1, 2)]
    marks(tmp_path, "decided", ("ada", 1.5))
    grade()
    assert written(tmp_path) == {"ada": 1.5, "ben": 1} and "differ" not in capsys.readouterr().err


def test_marks_follow_the_points_of_their_part(tmp_path, graded, grade, use_manifest):
    form = rows(tmp_path / "out" / "written-form.csv")
    assert {row["id"] for row in form} == {"ada", "ben"}
    row = next(row for row in form if row["rubric"] == PART)
    assert row["max points"] == f"{MOST:g}" and row["points"] == row["comment"] == ""
    lines = [f"ada,{PART},{MOST:g},{MOST:g}\n", f"ben,{PART},{MOST:g},{MOST / 2:g}\n"]
    write(tmp_path, "written/eva.csv", "id,rubric,max points,points\n" + "".join(lines))
    for manifest, share in ((with_points(PART, MOST / 2), 0.5), (manifest_text(), 1)):
        use_manifest(manifest)
        grade()
        assert written(tmp_path) == {"ada": share * MOST, "ben": share * MOST / 2}


def test_anonymous_forms_have_codes(tmp_path, grade):
    hand_in(tmp_path / "class", *(names := ("ada lovelace", "ben", "cy")))
    grade()
    form = tmp_path / "out" / "written-form-anonymous.csv"
    assert not any(name in form.read_text(encoding="utf-8-sig") for name in names)
    shown = [row["code"] for row in rows(form) if row["rubric"] == PART]
    assert len(shown) == 3 and shown == sorted(shown)
    codes = load_class(tmp_path / "out").codes
    lines = [f"{codes[name]},{PART},{n / 2}\n" for n, name in enumerate(names)]
    write(tmp_path, "written/tom.csv", "code,rubric,points\n" + "".join(lines))
    assert [written(tmp_path)[name] for name in names] == [0, 0.5, 1]


@pytest.mark.parametrize("encoding, delimiter", zip(("utf-8", "utf-8-sig", "utf-16"), ",;\t"))
def test_forms_are_read_as_spreadsheets_save_them(tmp_path, graded, grade, encoding, delimiter):
    form = rows(tmp_path / "out" / "written-form.csv")
    for row, given in zip(form, ("1,5", "0")):
        row |= {"points": given, "comment": 'väl, "gjort";', "marked by": "me"}
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*form[0]], delimiter=delimiter, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(form)
    write(tmp_path, "written/eva.csv", stream.getvalue().encode(encoding))
    grade()
    assert entries(tmp_path)["ada"].written == {PART: 1.5}
    assert entries(tmp_path)["ben"].written == {PART: 0} and "väl" in page_of(tmp_path, "ada")


FILES = {  # for each kind of file, lines of which one is wrong (tests/faults.py has all faults)
    "written/eva.csv": f"ada,{PART},1,\nad,{PART},1,",
    "overrides.csv": "ada,2,,,,ill\neve,1,,,,ill",
    "requests.csv": "ada,5f-0-basic,why,1,so\nada,9z-0-basic,why,,",
    "written/eva.xlsx": b"PK\x03\x04",
}


@pytest.mark.parametrize("file, content", FILES.items(), ids=FILES)
def test_a_file_that_is_wrong_is_refused_whole(tmp_path, graded, grade, file, content):
    write(tmp_path, "written/.~lock.eva.csv#", "")  # is no file of marks
    grade()
    before = entries(tmp_path)
    if isinstance(content, bytes):
        write(tmp_path, file, content)
    else:
        decide(tmp_path, content, file=file)
    with pytest.raises(UserError, match=file.rpartition("/")[2]):
        grade()
    (tmp_path / "out" / file).unlink() if "xlsx" in file else decide(tmp_path, file=file)
    assert entries(tmp_path) == before


def test_ids_that_look_like_formulas(tmp_path, grade):
    hand_in(tmp_path / "class", "=2+3", "ben")
    grade()
    assert {row["id"] for row in rows(tmp_path / "out" / "written-form.csv")} == {"'=2+3", "ben"}
    for id in ("'=2+3", "=2+3"):
        decide(tmp_path, f"{id},{PART},1.,", file="written/eva.csv")
        assert written(tmp_path)["=2+3"] == 1


def test_overrides_count_are_shown_and_can_be_withdrawn(tmp_path, grade):
    names = "ada_LATE_11_1_a.zip ben_12_2_a.zip cy_13_3_a.zip dan_14_4_a.zip"
    hand_in(tmp_path / "class", *names.split())
    late = {"due": "2026-05-12 23:59 UTC", "late_percent": 10, "canvas_late_days": 2}
    most = CHECKS["5f-0-basic"].points
    grade(people="id,canvas_id\nada,11\nben,12\ncy,13\ndan,14\n", **late)
    before = entries(tmp_path)
    assert before["ada"].penalty == 0.2 and "without a time" in page_of(tmp_path, "ada")
    reasons = {"ada": "ill", "ben": "left", "cy": "a slow disk", "dan": "copied 3a"}
    lines = "ada,2,,,", "ben,,yes,,", f"cy,,,5f-0-basic,{most}", "dan,,,,-1.5"
    decide(tmp_path, *map(",".join, zip(lines, reasons.values())))
    for _ in range(2):
        grade()
        after = entries(tmp_path)
        assert after["ada"].penalty == 0 and after["ada"].days_late == 0
        assert after["cy"].scores["5f-0-basic"] == most
        assert after["dan"].total == before["dan"].total - 1.5
        ben = rows(tmp_path / "out" / "grades-plain.csv")[1]
        assert ben["id"] == "ben" and ben["total"] == "" and "left" in ben["remarks"]
        for person, reason in reasons.items():
            assert reason in page_of(tmp_path, after[person].folder)
    decide(tmp_path, "ben,,yes,,,left")
    grade()
    assert entries(tmp_path)["dan"].total == before["dan"].total
    changes = [(row["after"], row["why"]) for row in history(tmp_path, id="dan", what="override")]
    assert changes == [("1.5 points less", "copied 3a"), ("", "withdrawn")]


def test_somebody_who_has_left_stops_nothing(tmp_path, graded, grade, capsys):
    marks(tmp_path, "eva", ("ada", 1), ("ben", 1))
    decide(tmp_path, "ben,2,,,,ill")
    grade()
    shutil.rmtree(tmp_path / "class" / "ben")
    assert grade("--only") == 0 and written(tmp_path) == {"ada": 1}
    assert "eva.csv, line 3: 'ben'" in capsys.readouterr().out


def test_requests_have_a_page_and_an_answer_is_an_override(tmp_path, graded, grade, capsys):
    failed = next(check for check in entries(tmp_path)["ada"].checks if not check["score"])
    id, most = failed["id"], failed["max_score"]
    ask = f'ada,{id},"I think, <b>mine</b> is right",'
    decide(tmp_path, f"{ask},", f"ben,{id},And mine?,,", file="requests.csv")
    grade()

    def page_text():
        return (tmp_path / "out" / "requests.html").read_text(encoding="utf-8")

    assert "I think, &lt;b&gt;mine" in page_text() and page_text().count(id) >= 2
    assert "Open requests: 2" in capsys.readouterr().out
    before = entries(tmp_path)
    lines = f"{ask}{most:g},You are right.", f"ben,{id},And mine?,,See the handout."
    decide(tmp_path, *lines, file="requests.csv")
    grade()
    after = entries(tmp_path)
    assert after["ada"].total == before["ada"].total + most
    assert after["ben"].total == before["ben"].total
    assert "You are right." in page_of(tmp_path, "ada")
    assert f"Your question about {id}: See the handout." in page_of(tmp_path, "ben")
    assert "And mine?" not in page_text() and "None." in page_text()
    decide(tmp_path, "ada,5f,And in all of it?,,", "ben,,Why so few?,,", file="requests.csv")
    grade()
    assert "5f-1-hidden" in page_text() and "In all: " in page_text()


MOODLE = "Grace Hopper_47_assignsubmission_"
TAKEN_BACK = [  # the system, what was handed in, and the feedback's name
    ("canvas", "hoppergrace_LATE_13_503_hw-1.zip", "hoppergrace_LATE_13_503_hw-1.zip"),
    ("canvas", "hoppergrace_13_503_model.py", "hoppergrace_13_503_model.py.html"),
    ("moodle", f"{MOODLE}file_hw.zip", f"{MOODLE}file_feedback.html"),
    ("moodle", f"{MOODLE}file", f"{MOODLE}file_feedback.html"),
    ("moodle", f"{MOODLE}file_", f"{MOODLE}file_feedback.html"),
    ("moodle", f"{MOODLE}onlinetext.html", f"{MOODLE}onlinetext_feedback.html"),
]


def test_feedback_has_the_name_that_its_system_takes_back():
    for system, entry, name in TAKEN_BACK:
        submission = Submission("", "", b"", "", entry=entry.encode(), system=system)
        assert feedback_file(submission, b"page")[0] == name


def test_a_folder_of_version_2_becomes_files(tmp_path, grade):
    hand_in(tmp_path / "class", "ada", "ben", "cy")
    grade(seed=5)
    total, out = entries(tmp_path)["ada"].total, tmp_path / "out"
    out.rename(tmp_path / "new")
    (out / "written").mkdir(parents=True)
    _write_version_2(out / "grades.sqlite", tmp_path / "new/grades.sqlite", tmp_path / "class")
    decide(tmp_path)  # a form without lines is in nobody's way
    for path in (out / "settings.toml", out / "roster.csv", out / "written/eva.csv"):
        path.write_text("mine = 1\n", encoding="utf-8")
        with pytest.raises(UserError, match=f"{path} is in the way"):
            cli("grade", out)
        assert path.read_text(encoding="utf-8") == "mine = 1\n"
        path.unlink()
    assert cli("grade", out) == 0
    settings = read_settings(out)
    assert settings.late_percent == 10 and settings.roster == (out / "roster.csv").resolve()
    assert settings.grace_minutes == 5 and settings.submissions == (tmp_path / "class",)
    assert f"{settings.due:%Y-%m-%d %H:%M %Z}" == "2026-05-12 23:59 CEST"
    assert {path.stem for path in (out / "written").iterdir()} == {"decided", "eva", "tom"}
    assert written(tmp_path) == {"ada": 1.5, "ben": 1, "cy": None}
    after = entries(tmp_path)
    assert after["ada"].comments[PART] == "well, done" and after["cy"].excused == "ill"
    assert after["ben"].scores["5f-0-basic"] == CHECKS["5f-0-basic"].points
    assert after["ada"].total == total + 1.5
    assert [row["why"] for row in history(tmp_path, what="option")] == ["grace is 5"]
    before = {path: path.read_bytes() for path in out.rglob("*.csv")}
    assert cli("grade", out) == 0
    assert {path: path.read_bytes() for path in before} == before


def _write_version_2(path, new, folder):
    options = {"due": "2026-05-12T23:59:00 Europe/Berlin", "submissions": str(folder), "grace": 5}
    options |= {"late_percent": 10, "canvas_late_days": 1, "keep": "latest", "branch": None}
    roster = {"file": "id\nada\nben\ncy\n"}
    with sqlite3.connect(path) as old:
        old.executescript(f"""
        ATTACH '{new}' AS new;
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        INSERT INTO meta VALUES ('version', '2'), ('seed', '5'),
            ('remembered', '{json.dumps(options)}'), ('roster', '{json.dumps(roster)}');
        CREATE TABLE people AS SELECT id, person FROM new.people;
        CREATE TABLE handed AS
            SELECT label, person, source, digest, submitted, late, remark, 0 FROM new.submissions;
        CREATE TABLE gradings AS
            SELECT digest, fingerprint, '', '[]', 'bubblewrap', '' FROM new.outcomes WHERE id = '';
        CREATE TABLE outcomes AS SELECT digest, id, fingerprint, outcome, 'bubblewrap 0.8.0', ''
            FROM new.outcomes WHERE id != '';
        CREATE TABLE overrides AS VALUES ('cy', 'excused', '', 1, 'ill'),
            ('ben', 'points', '5f-0-basic', {CHECKS["5f-0-basic"].points}, 'by hand');
        CREATE TABLE marks AS VALUES ('ada', '{PART}', 'eva', 1, 'so', 0, {MOST}, 'eva.csv', ''),
            ('ada', '{PART}', 'tom', 2, '', 0, {MOST}, 'tom.csv', ''),
            ('ben', '{PART}', 'eva', 0.5, '', 0, {MOST}, 'eva.csv', ''),
            ('ben', '{PART}', 'eva', 1, '', 0, {MOST}, 'eva.csv', ''),
            ('ada', '{PART}', 'head', 1.5, 'well, done', 1, {MOST}, 'head.csv', ''),
            ('dan', '{PART}', 'eva', 1, '', 0, {MOST}, 'eva.csv', '');
        CREATE TABLE history AS VALUES ('2026', 'kim', 'option', '', '', '', '', 'grace is 5');
        """)


def test_totals_that_change_with_more_than_checks_have_a_reason(tmp_path, grade, capsys):
    folder = hand_in(tmp_path / "class", "ada_11_1_a.zip", "ben_12_2_a.zip")
    (folder / "ada_11_1_a.zip" / "refuse").touch()
    (folder / "ben_12_2_a.zip" / "error").touch()
    book = "Student,ID,SIS User ID,SIS Login ID,Section,HW (5)\nA,11,,ada,,{}\nB,12,,ben,,\n"
    book += "C,13,,cy,,\n"
    grade("--again", people=book.format(""), title="HW")
    assert "and why:" not in capsys.readouterr().out
    grade("--again", engine=Here(lambda task: run(replace(task, source=str(tmp_path)))))
    said = capsys.readouterr().out.partition("and why:")[2]
    assert "refused: none, was " in said
    assert "more checks" in said and "grader had failed" in said and len(said) < 2500
    hand_in(folder, "cy_13_3_a.zip")
    grade(people=book.format("EX"))
    said = capsys.readouterr().out
    assert "now excused" in said and "EX (in the gradebook)" in said
    assert re.search("'cy': none, now [0-9.]+: a submission", said)


def test_a_form_that_is_missing_is_not_made_blank(tmp_path, graded, grade):
    decide(tmp_path, "ada,2,,,,ill")
    grade()
    (tmp_path / "out" / "overrides.csv").unlink()
    with pytest.raises(UserError, match="overrides.csv is missing. Its last version is .*versions"):
        grade()
    decide(tmp_path)
    grade()
    (tmp_path / "out" / "settings.toml").unlink()
    with pytest.raises(UserError, match="settings.toml is missing"):
        cli("grade", tmp_path / "out")
