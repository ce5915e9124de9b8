"""Grades stay right when a run was interrupted, is repeated with other options, or people
decide.
"""

import dataclasses
import json
import os
import re
import resource
import shutil
import signal
import stat

import pytest
from batch_work import Here
from batch_work import run as quick
from classes import MANIFEST, cli, entries, grade, hand_in, merge, override, page_of, rows

from checks.support import session
from common.files import Interrupted, UserError
from instructor.grading.engines.work import Task
from instructor.grading.graded_class import load_class
from instructor.grading.marks import Given, keep_new, resolve
from instructor.grading.state import State

# ruff: noqa: F401, F811
CHECKS = MANIFEST.checks
TEXT = session.MANIFEST.read_text(encoding="utf-8")
PART = next(id for id, check in CHECKS.items() if not check.coded)
DUE = ("--due", "2026-05-12 23:59 UTC")
LATE = ("--late-percent", "10", "--canvas-late-days", "2")


@pytest.fixture
def graded(tmp_path, grade):
    """Submissions of ada and ben are graded."""
    hand_in(tmp_path / "class", "ada", "ben")
    grade()


def canvas(folder, *people, late=""):
    """Submissions as Canvas names them, of (login, number)."""
    for login, number in people:
        hand_in(folder, f"{login}{late}_{number}_{number}_a.zip")


def roster(tmp_path, text):
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    return "--roster", tmp_path / "roster.csv"


def plain(tmp_path):
    """The rows of the gradebook with everything, by the person's id."""
    return {row["id"]: row for row in rows(tmp_path / "out" / "grades-plain.csv")}


def history(tmp_path, **of):
    """The rows of the history with these values."""
    found = rows(tmp_path / "out" / "history.csv")
    return [row for row in found if all(row[name] == value for name, value in of.items())]


def write_marks(path, *marks):
    """A form with marks: (person, points), of the first written part."""
    lines = [f"{person},{PART},{points},so\n" for person, points in marks]
    path.write_text("id,rubric,points,comment\n" + "".join(lines), encoding="utf-8")
    return path


# What is not graded


def test_whoever_is_not_graded_yet_has_no_grade(tmp_path, grade, merge, capsys):
    hand_in(tmp_path / "class", "ada", "ben", "cy")
    people = roster(tmp_path, "id,sis_id\nada,1\nben,2\ncy,3\ndan,4\n")
    with pytest.raises(UserError, match="nothing was graded there"):
        merge()
    with pytest.raises(Interrupted):
        grade(*people, engine=Here(stop=2))
    assert merge() == 3
    assert "1 people have checks that are not graded yet" in capsys.readouterr().err
    cells = {row["SIS User ID"]: row for row in rows(tmp_path / "out" / "grades.csv")[1:]}
    title = list(cells["1"])[-1]
    assert cells["1"][title] and cells["3"][title] == "" and cells["4"][title] == "0"
    cy = plain(tmp_path)["cy"]
    assert cy["total"] == "" and "not graded yet" in cy["remarks"]
    page = page_of(tmp_path, "cy")
    assert "Not graded yet" in page and "collect_submission" not in page
    assert grade() == 0 and entries(tmp_path)["cy"].final


# Options


def test_options_are_remembered_and_others_are_told(tmp_path, grade, capsys):
    """Those of an interrupted run, too."""
    folder = tmp_path / "class"
    hand_in(folder, "lovelaceada_LATE_11_100_a.zip", "turingalan_12_101_a.zip")
    grade(*roster(tmp_path, "id,name,canvas_id\nada,Ada,11\nalan,Alan,12\n"), *DUE, *LATE)
    before = entries(tmp_path)["ada"].total
    assert entries(tmp_path)["ada"].penalty == 0.2 and "without a time" in page_of(tmp_path, "ada")
    capsys.readouterr()
    grade(folder=None)  # with nothing said again
    assert entries(tmp_path)["ada"].total == before and "was" not in capsys.readouterr().out
    assert entries(tmp_path)["ada"].person.enrolled
    hand_in(folder, "cy_13_9_a.zip")
    with pytest.raises(Interrupted):
        grade("--late-percent", "0", engine=Here(stop=0))
    for told in (True, False):
        capsys.readouterr()
        grade()
        said = capsys.readouterr().out
        assert ("--late-percent is 0" in said and "was 10" in said) is told
        assert (f"'ada': {before:g} points before" in said) is told and "'alan'" not in said
    assert history(tmp_path, what="option")
    grade("--late-percent", "10")
    grade("--forget")
    assert not any(entry.penalty for entry in entries(tmp_path).values())


def test_whoever_has_vanished_keeps_the_grade(tmp_path, graded, grade, capsys):
    before = {id: entry.total for id, entry in entries(tmp_path).items()}
    hand_in(tmp_path / "late", "cy")
    assert grade(folder="late") == 0
    after = entries(tmp_path)
    assert {id: after[id].total for id in before} == before and after["cy"].report
    said = capsys.readouterr().err
    assert "2 submissions that an earlier run found" in said and "'ada'" in said
    grade("--only-these", folder="late")
    assert entries(tmp_path).keys() == {"cy"}
    assert f"'ben' had {before['ben']:g} points" in capsys.readouterr().out


def test_marks_and_submissions_of_ids_that_a_later_roster_lacks_are_listed(
    tmp_path, graded, grade, merge, capsys
):
    merge("--written", write_marks(tmp_path / "eva.csv", ("ben", 1)))
    hand_in(tmp_path / "late", "Ada1")
    capsys.readouterr()
    assert grade(*roster(tmp_path, "id\nAda1\ndan\n"), folder="late") == 0
    after = entries(tmp_path)
    assert after.keys() == {"Ada1", "ada", "ben", "dan"} and after["ben"].written == {PART: 1}
    assert after["ada"].report and not after["ada"].person.enrolled
    said = capsys.readouterr().out
    assert [id for id in after if f"  {id!r}: Not in the roster." in said] == ["ada", "ben"]
    remarks = {id: row["remarks"] for id, row in plain(tmp_path).items()}
    assert "Not in the roster" in remarks["ben"] and "roster" not in remarks["Ada1"]


def test_a_folder_of_the_same_names_replaces_nothing(tmp_path, grade):
    hand_in(tmp_path / "class", "ada")
    grade()
    before, late = entries(tmp_path)["ada"].report, hand_in(tmp_path / "late", "ada") / "ada"
    (late / "model.py").write_text("# another\n", encoding="utf-8")
    (late / "refuse").touch()
    grade(folder="late")
    entry = entries(tmp_path)["ada"]
    assert entry.report == before and any("2 submissions" in remark for remark in entry.remarks)
    (late / "refuse").unlink()
    (late / "model.py").write_text("# a third\n", encoding="utf-8")
    # whichever was graded last, the one found last is the latest
    for folder in ("late", "class", "late"):
        grade(folder=folder)
        entry = entries(tmp_path)["ada"]
        assert entry.source.endswith("late/ada" if folder == "class" else "ada")
        kept = (tmp_path / "out" / "students" / "ada" / "grading.json").read_text(encoding="utf-8")
        assert json.loads(kept)["total"] == entry.total and entry.report != before


def test_what_cannot_be_read_for_a_moment_keeps_its_grade(tmp_path, grade, monkeypatch):
    hand_in(tmp_path / "class", "ada")
    grade()
    before = entries(tmp_path)["ada"].total
    hand_in(tmp_path / "class", "ben")

    def broken(source):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("instructor.grading.finding.found.digest_submission", broken)
        assert grade() == 3
    after = entries(tmp_path)
    assert after["ada"].total == before and after["ada"].final
    assert not after["ben"].refused and after["ben"].pending
    assert "Not graded yet" in page_of(tmp_path, "ben")
    assert grade() == 0 and entries(tmp_path)["ben"].final


def test_a_gradebook_is_asked_again_for_another_title(tmp_path, grade, capsys):
    canvas(tmp_path / "class", ("ada", 11), ("alan", 12))
    book = (
        "Student,ID,SIS User ID,SIS Login ID,Section,HW 5 (98765),HW 5 (11)\n"
        "Ada,11,s1,ada,A,,\nAlan,12,s2,alan,A,EX,\n"
    )
    grade(*roster(tmp_path, book), "--title", "HW 5")
    assert "no column 'HW 5', or several" in capsys.readouterr().out
    grade("--title", "HW 5 (98765)")
    assert entries(tmp_path)["alan"].excused and not entries(tmp_path)["ada"].excused
    assert load_class(tmp_path / "out").column == "HW 5 (98765)"
    grade("--title", "Quiz")
    assert not entries(tmp_path)["alan"].excused and load_class(tmp_path / "out").column == ""


# Again


def other_results(task):
    """The result of each check is the opposite of what it was."""
    result = quick(task)
    for check in result["report"]["checks"] if "report" in result else ():
        passed = check["verdict"] != "passed"
        check |= {
            "verdict": "passed" if passed else "timeout",
            "score": passed * check["max_score"],
        }
    return result


def test_grading_again_keeps_what_was_and_why(tmp_path, graded, grade, capsys):
    before, engine = entries(tmp_path), Here(other_results)
    capsys.readouterr()
    grade("--again", "ada", "5f-0-basic", "--why", "the machine was slow", engine=engine)
    (task,) = engine.tasks
    assert task.checks == ("5f-0-basic",) and task.source.endswith("/ada")
    after = entries(tmp_path)
    assert after["ben"].scores == before["ben"].scores
    scores, old = after["ada"].scores, before["ada"].scores
    assert [id for id in scores if scores[id] != old[id]] == ["5f-0-basic"]
    assert "'ada', 5f-0-basic" in capsys.readouterr().out
    (row,) = history(tmp_path, what="graded again", why="the machine was slow")
    assert row["before"].startswith(f"{old['5f-0-basic']:g} of ")
    assert row["after"].startswith(f"{scores['5f-0-basic']:g} of ")
    for words, ids, people in ((("5f",), {"5f"}, 2), (("ben",), None, 1), ((), None, 2)):
        engine = Here()
        grade("--again", *words, "--why", "once more", engine=engine)
        assert len(engine.tasks) == people
        questions = {CHECKS[id].question for task in engine.tasks for id in task.checks}
        assert questions == (ids or {check.question for check in CHECKS.values() if check.coded})


def other_manifest(tmp_path, monkeypatch, text):
    (tmp_path / "manifest.toml").write_text(text, encoding="utf-8")
    for place in ("instructor.grading.graded_class.MANIFEST", "checks.support.session.MANIFEST"):
        monkeypatch.setattr(place, tmp_path / "manifest.toml")


@pytest.mark.parametrize("words", [("--again", "5c", "--why", "a fault"), ()])
def test_an_interrupted_regrading_gives_no_mixed_grades_and_goes_on(
    tmp_path, grade, merge, monkeypatch, capsys, words
):
    """--again, and another limit in the manifest."""

    def totals():
        return {id: row["total"] for id, row in plain(tmp_path).items()}

    hand_in(tmp_path / "class", "ada", "ben", "cy")
    (tmp_path / "class" / "cy" / "refuse").touch()
    grade("--seed", "5")
    before = totals()
    if not words:
        other_manifest(tmp_path, monkeypatch, TEXT.replace("\nseconds = 20\n", "\nseconds = 19\n"))
        assert merge() == 3 and totals() == {"ada": "", "ben": "", "cy": "0"}
    with pytest.raises(Interrupted, match="Run the same command to continue"):
        grade(*words, engine=Here(other_results, stop=1))
    capsys.readouterr()
    assert merge() == 3
    half = totals()
    assert half["ada"] not in ("", before["ada"]) and half["ben"] == ""
    assert "not a grade yet" in page_of(tmp_path, "ben")
    assert "'ben'" in capsys.readouterr().err
    engine = Here(other_results)
    assert grade(*words, engine=engine) == 0
    left = ["ben", "cy"] if words else ["ben"]  # --again looks at what was refused, too
    assert [task.source.rpartition("/")[2] for task in engine.tasks] == left
    printed = capsys.readouterr().out
    for person in ("ada", "ben"):
        change = f"'{person}': {before[person]} points before, {totals()[person]} now"
        assert change in printed and (not words or f"'{person}', 5c-" in printed)
    assert merge() == 0 and "" not in totals().values()
    engine = Here(other_results)
    grade(*words, engine=engine)  # a new run
    assert len(engine.tasks) == (3 if words else 0)


@pytest.mark.parametrize(
    "words",
    [
        *("--again", "--why x"),
        *(f"--again {who} --why x" for who in ("nobody", "1g", "ada 1g", "5", "gone")),
    ],
)
def test_mistakes_in_grading_again(tmp_path, grade, words):
    """A question that people mark; a person whose id is a problem; one whose folder is away."""
    hand_in(tmp_path / "elsewhere", "gone")
    grade(folder="elsewhere")
    (tmp_path / "elsewhere").rename(tmp_path / "away")
    hand_in(tmp_path / "class", "ada", "5")
    grade()
    before = entries(tmp_path)
    with pytest.raises(UserError):
        grade(*words.split())
    assert entries(tmp_path) == before


def test_better_isolation_grades_again_what_ran_behind_less(tmp_path, grade):
    hand_in(tmp_path / "class", "ada")
    levels = "landlock 4", "landlock 6", "bubblewrap 0.8.0", "bubblewrap 0.11.0", "landlock 7"
    for number, level in enumerate(levels):
        engine = Here()
        engine.level = lambda level=level: level
        grade(engine=engine)
        assert len(engine.tasks) == (number < 4)


def test_a_timeout_on_a_busy_machine_counts_only_when_it_comes_again_alone(tmp_path, grade):
    hand_in(tmp_path / "class", "ada", "ben")
    under_way = []

    def busy(task):
        result = quick(task)
        under_way.append(len(task.checks))
        for check in result["report"]["checks"]:
            if check["id"] == "5f-0-basic" and len(task.checks) > 1:
                check |= {"verdict": "timeout", "score": 0.0, "busy": True}
        return result

    with pytest.raises(Interrupted):  # after all, and before those alone
        grade(engine=Here(busy, stop=2))
    assert entries(tmp_path)["ada"].pending == ["5f-0-basic"]
    under_way.clear()
    grade("--again", "--why", "from the beginning", engine=Here(busy))
    assert under_way[-2:] == [1, 1] and len(under_way) == 4
    checks = [check for entry in entries(tmp_path).values() for check in entry.checks]
    assert len(checks) == 2 * sum(check.coded for check in CHECKS.values())
    assert "timeout" not in {check["verdict"] for check in checks}


def test_many_timeouts_are_said(tmp_path, grade, capsys):
    hand_in(tmp_path / "class", *(f"s{n}" for n in range(8)))

    def slow(task):
        result = quick(task)
        if task.source.endswith(("1", "2", "3")):
            result["report"]["checks"][0] |= {"verdict": "timeout", "score": 0.0}
        return result

    assert grade(engine=Here(slow)) == 3
    assert "3 of 8 submissions hit a time limit" in capsys.readouterr().err


# Marks


def test_marks_outlive_their_file(tmp_path, graded, grade, merge):
    form = tmp_path / "out" / "written.csv"
    write_marks(form, ("ada", 1), ("ben", 0.5))
    merge()
    form.unlink()
    grade()
    written = {id: entry.written for id, entry in entries(tmp_path).items()}
    assert written == {"ada": {PART: 1}, "ben": {PART: 0.5}}
    filled = {row["id"]: row for row in rows(form) if row["rubric"] == PART}
    assert filled["ada"]["counts"] == "1" and filled["ada"]["points"] == ""
    assert len(history(tmp_path, what="marked")) == 2


def test_a_second_markers_other_mark_is_shown_and_no_overwrite(tmp_path, graded, merge, capsys):
    def marked(marker, *marks, options=()):
        merge("--written", write_marks(tmp_path / f"{marker}.csv", *marks), *options)
        return capsys.readouterr(), entries(tmp_path)["ada"].written[PART]

    marked("eva", ("ada", 1), ("ben", 1))
    printed, points = marked("tom", ("ada", 2), ("ben", 1))
    assert f"{PART} of ada: tom gives 2, eva 1, which counts" in printed.err and points == 1
    assert "ben" not in printed.err
    assert sorted(load_class(tmp_path / "out").marked_twice) == [(PART, 1, 1), (PART, 1, 2)]
    merge()  # the class's own form shows eva's marks: they are not somebody else's now
    assert len(load_class(tmp_path / "out").marked_twice) == 2
    assert marked("eva", ("ada", 0.5))[1] == 0.5  # her own mark, mended
    marked("head", ("ada", 1.5), options=["--decide"])
    merge()
    printed = capsys.readouterr()
    assert "Markers differ" not in printed.err and "not merged" not in printed.out
    assert entries(tmp_path)["ada"].written[PART] == 1.5


def test_a_comment_without_points_decides_nothing():
    eva, tom = Given("ada", PART, "eva", 2.0, "good"), Given("ada", PART, "tom", 1.0)
    blank = Given("ada", PART, "eva", None, "better")
    assert keep_new([eva], [eva]) == []
    assert keep_new([eva], [blank]) == [Given("ada", PART, "eva", 2.0, "better")]
    words = Given("ada", PART, "eva", None, "see 2"), Given("ada", PART, "head", None, "yes", True)
    part = resolve([words[0], tom, Given("ada", PART, "eva", 0.5), words[1]])["ada", PART]
    assert part.counts is tom and part.comment == "yes"
    assert [other.marker for other in part.others] == ["eva"]


def test_a_file_of_the_same_name_is_no_marker_again(tmp_path, graded, merge):
    write_marks(tmp_path / "out" / "written.csv", ("ada", 2))
    merge()
    (tmp_path / "bob").mkdir()
    theirs = write_marks(tmp_path / "bob" / "written.csv", ("ada", 0))
    with pytest.raises(UserError, match="--marker"):
        merge("--written", theirs)
    merge("--written", theirs, "--marker", "bob")
    assert entries(tmp_path)["ada"].written == {PART: 2} and load_class(tmp_path / "out").conflicts


def test_marks_follow_the_points_of_their_part(tmp_path, graded, merge, monkeypatch):
    """Half the points, then no such part, then as before: nothing is lost."""
    most, question = CHECKS[PART].points, CHECKS[PART].question
    write_marks(tmp_path / "out" / "written.csv", ("ada", most), ("ben", most / 2))
    merge()
    total = MANIFEST.questions[question].points
    half = re.sub(rf'(?s)(id = "{PART}".*?points = )[\d.]+', rf"\g<1>{most / 2:g}", TEXT, count=1)
    half = re.sub(rf"(?m)^({question} = .*points = )[\d.]+", rf"\g<1>{total - most / 2:g}", half)
    without = TEXT.replace(PART, f"{question}-9-written")
    for changed, expected in ((half, most / 2), (without, None), (TEXT, most)):
        other_manifest(tmp_path, monkeypatch, changed)
        assert merge() == 0
        assert entries(tmp_path)["ada"].written == ({PART: expected} if expected else {})
    assert entries(tmp_path)["ben"].written == {PART: most / 2}


def test_anonymous_forms_have_codes(tmp_path, grade, merge):
    hand_in(tmp_path / "class", *(names := ("ada lovelace", "ben", "cy")))
    grade()
    form = tmp_path / "tom.csv"
    cli("written", tmp_path / "out", form, "--anonymous", "--question", CHECKS[PART].question)
    text = form.read_text(encoding="utf-8-sig")
    assert not any(name in text for name in names) and PART in text
    codes = load_class(tmp_path / "out").codes
    lines = [f"{codes[name]},{PART},{n / 2},\n" for n, name in enumerate(names)]
    form.write_text("code,rubric,points,comment\n" + "".join(lines), encoding="utf-8")
    merge("--written", form)
    assert [entries(tmp_path)[name].written for name in names] == [{PART: n / 2} for n in range(3)]
    with pytest.raises(UserError, match="already"):
        cli("written", tmp_path / "out", form)


def test_a_full_disk_during_merge_changes_nothing(tmp_path, graded, merge):
    write_marks(tmp_path / "out" / "written.csv", ("ada", 1), ("ben", 1))
    # which is made anew, but not by a merge that fails
    (tmp_path / "out" / "overrides.csv").unlink()
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    size = max(len(content) for path, content in before.items() if path.suffix == ".html")
    pid = os.fork()  # where no file can grow as large as a page
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))
        try:
            merge()
        except UserError as error:
            os._exit(7 if "Nothing was changed" in str(error) or "safe" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    after = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert after == before and entries(tmp_path)["ada"].written == {}


def test_somebody_who_has_left_stops_neither_grade_nor_merge(tmp_path, graded, grade, merge):
    write_marks(tmp_path / "out" / "written.csv", ("ada", 1), ("ben", 1))
    override(tmp_path, "ben,2,,,,ill")
    merge()
    shutil.rmtree(tmp_path / "class" / "ben")
    assert grade("--only-these") == 0 and merge() == 0 and entries(tmp_path).keys() == {"ada"}
    assert entries(tmp_path)["ada"].written == {PART: 1}


# What staff decides


def test_overrides_count_are_shown_and_are_kept(tmp_path, grade, merge):
    names = "ada_LATE_11_1_a.zip ben_12_2_a.zip cy_13_3_a.zip dan_14_4_a.zip"
    hand_in(tmp_path / "class", *names.split())
    people = roster(tmp_path, "id,canvas_id\nada,11\nben,12\ncy,13\ndan,14\n")
    most = CHECKS["5f-0-basic"].points
    grade(*people, *LATE, *DUE)
    before = entries(tmp_path)
    assert before["ada"].penalty == 0.2
    reasons = {"ada": "ill", "ben": "left", "cy": "a slow disk", "dan": "copied 3a"}
    decisions = "ada,2,,,", "ben,,yes,,", f"cy,,,5f-0-basic,{most}", "dan,,,,-1.5"
    override(tmp_path, *map(",".join, zip(decisions, reasons.values())))
    for run in (merge, grade):
        run()
        after = entries(tmp_path)
        assert after["ada"].penalty == 0 and after["ada"].days_late == 0
        assert after["cy"].scores["5f-0-basic"] == most
        assert after["dan"].total == before["dan"].total - 1.5
        ben = plain(tmp_path)["ben"]
        assert ben["total"] == "" and "left" in ben["remarks"]
        for person, reason in reasons.items():
            assert reason in page_of(tmp_path, after[person].folder)
    (tmp_path / "out" / "overrides.csv").unlink()
    grade()
    assert entries(tmp_path)["dan"].total == before["dan"].total - 1.5
    assert [row["id"] for row in rows(tmp_path / "out" / "overrides.csv")] == list(reasons)
    override(tmp_path, "ben,,yes,,,left")
    merge()
    assert entries(tmp_path)["dan"].total == before["dan"].total
    changes = [(row["after"], row["why"]) for row in history(tmp_path, id="dan")]
    assert changes == [("points added: -1.5", "copied 3a"), ("", "withdrawn")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("eve,1,,,,ill", "not in this class"),
        ("ada,1,,,,", "reason"),
        ("ada,,,,,why", "neither"),
        ("ada,,,,x,why", "not a number"),
        ("ada,1.5,,,,why", "whole number"),
        ("ada,,maybe,,,why", "yes or blank"),
        ("ada,,,9z-0-basic,1,why", "not an automatic check"),
        (f"ada,,,{PART},1,why", "not an automatic check"),
        (",2,,,,ill", "not in this class"),
        ("ada,,,5f-0-basic,99,why", "gives 0 to"),
        ("ada,,,5f-0-basic,,why", "neither"),
        ("ada,1,,,,a\nada,2,,,,b", "two lines"),
    ],
)
def test_overrides_that_are_wrong_are_refused_whole(tmp_path, graded, grade, merge, line, message):
    grade("--free-days", "1")  # a row of the history that is nobody's
    override(tmp_path, line)
    before = entries(tmp_path)
    for run in (merge, grade):
        with pytest.raises(UserError, match=message) as error:
            run()
        assert "line " in str(error.value) and entries(tmp_path) == before


# The files


def test_nobody_else_may_read_grades(tmp_path, grade, merge):
    """A folder that was there keeps its mode."""
    hand_in(tmp_path / "class", "ada")
    before = os.umask(0)
    try:
        grade()
        merge()
    finally:
        os.umask(before)
    for path in (tmp_path / "out", *(tmp_path / "out").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    (tmp_path / "out").chmod(0o750)
    grade()
    merge()
    with pytest.raises(UserError):
        cli("explain", tmp_path / "out", "nobody", "1c")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o750


def test_a_partial_run_keeps_the_notices(tmp_path):
    with State(tmp_path, make=True) as state:
        task = Task("d", str(tmp_path), ("1c-0-basic", "1c-1-basic"), 1, session.Setting())
        report = quick(task)["report"] | {"notices": ["Not written yet: 1c and 5f."]}
        wanted = dict.fromkeys(task.checks, "f")
        state.put_report("d", "i", wanted, report)
        again = quick(dataclasses.replace(task, checks=("1c-0-basic",)))["report"]
        state.put_report("d", "i", wanted, again)
        assert state.grading("d")[0]["notices"] == ["Not written yet: 1c and 5f."]
        assert state.missing("d", wanted, "i") == []
