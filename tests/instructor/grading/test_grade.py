"""Grading a class: nothing is lost or graded twice, and no bad submission stops another one's."""

import os
import pickle
import random
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import zipfile
from dataclasses import replace
from unittest import mock

import pytest
from batch_work import Here, run
from classes import (
    MANIFEST,
    cli,
    decide,
    entries,
    hand_in,
    page_of,
    rows,
    set_up,
    start,
    students,
    verdicts,
)

from checks.support import session
from common.files import UserError
from helpers import ROOT, SOLUTION, STARTER, copy_reference, descendants, is_running, wait_until
from instructor.course import Course
from instructor.grading import work
from instructor.grading.database import State
from instructor.grading.fingerprint import digest_submission
from instructor.grading.graded_class import load_class

CHECKS = MANIFEST.checks
CODED = sum(check.coded for check in CHECKS.values())


def totals(tmp_path):
    return {row["id"]: row["total"] for row in rows(tmp_path / "out" / "grades-plain.csv")}


@pytest.mark.full
def test_a_run_that_is_killed_goes_on(tmp_path, grade):
    students(tmp_path / "class", 12)
    grade(seed=5)
    out, kills = set_up(tmp_path / "killed", submissions=["../class"], seed=5, workers=2), 0
    for attempt in range(40):
        process = start("grade", out, BATCH_WORK=str(tmp_path / "log"))
        try:
            process.wait(timeout=random.uniform(0.3, 3.5) if attempt < 6 else 120)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGSTOP)  # it starts no more
            workers = descendants(process.pid)
            process.kill()  # the parent alone: its workers must notice
            process.wait()
            kills += 1
            wait_until(lambda: not any(map(is_running, workers)))  # noqa: B023  now
    assert verdicts(out) == verdicts(tmp_path / "out")
    # Nothing that was kept was graded again: at most the two that were under way at each kill.
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert log.count("\n") <= 12 + 2 * kills


def test_what_fails_stops_nobody_else(tmp_path, grade):
    """All others are graded once, or again if they were in progress with a killed one."""
    folder, log = students(tmp_path / "class", 12), tmp_path / "log"
    grade(seed=5)
    expected = verdicts(tmp_path / "out")
    for name, number in {"kill-once": "02", "kill": "04", "error": "07", "refuse": "09"}.items():
        (folder / f"student{number}" / name).touch()
    out = set_up(tmp_path / "new", submissions=[folder], seed=5, workers=2)
    process = start("grade", out, BATCH_WORK=str(log))
    said, errors = process.communicate(timeout=120)
    assert process.returncode == 3 and "Traceback" not in said
    for part in ("'student04'", "killed", "'student07'", "a fault of the grader"):
        assert part in errors
    found = verdicts(out)
    for person in expected.keys() - {"student04", "student07", "student09"}:
        assert found[person] == expected[person]
    assert {verdict for verdict, _ in found["student04"].values()} == {"grader error"}
    refused = [entry.source for entry in load_class(out).entries if entry.refused]
    graded = log.read_text(encoding="utf-8").count("\n")
    assert refused == ["student09"] and 12 <= graded <= 12 + 8
    (folder / "student07" / "error").unlink()
    process = start("grade", out)
    _, errors = process.communicate(timeout=120)  # what failed is tried again
    assert process.returncode == 3 and "student07" not in errors and "student04" in errors
    assert verdicts(out)["student07"] == expected["student07"]


def test_two_runs_at_once(tmp_path):
    students(tmp_path / "class", 2, slow=[0])
    out = set_up(tmp_path / "out", submissions=["../class"])
    first = start("grade", out, BATCH_WORK=str(tmp_path / "log"))
    try:
        wait_until((tmp_path / "log").exists)  # until it has begun to grade
        with pytest.raises(UserError, match="Another run"):
            cli("grade", out)
        first.send_signal(signal.SIGINT)
        assert first.wait(timeout=30) == 130 and "Interrupted: " in first.stderr.read()
    finally:
        first.kill()
        first.wait()


def test_a_full_disk_of_a_worker_stops_with_a_sentence(tmp_path, grade):
    students(tmp_path / "class", 3, full=[1])
    with pytest.raises(UserError, match="Stopped: No space left on device"):
        grade()
    (tmp_path / "class" / "student01" / "full").unlink()
    assert grade() == 0


def test_a_full_disk_for_pages_changes_nothing(tmp_path, grade):
    students(tmp_path / "class", 2)
    grade()
    decide(tmp_path, "student00,3a-0-written,1,so", file="written/eva.csv")
    decide(tmp_path, "student01,2,,,,ill")

    def contents():
        files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
        return {path: path.read_bytes() for path in files if "versions" not in path.parts}

    before = {path: text for path, text in contents().items() if path.suffix != ".sqlite"}
    size = max(len(content) for path, content in before.items() if path.suffix == ".html")
    pid = os.fork()  # where no file can grow as large as a page
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))
        try:
            grade()
        except UserError as error:
            os._exit(7 if "Nothing was changed" in str(error) or "safe" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    after = contents()
    assert {path: after[path] for path in before} == before
    assert grade() == 0 and entries(tmp_path)["student00"].written


def test_a_state_that_cannot_be_used_is_left_as_it_is(tmp_path, graded, grade):
    path = tmp_path / "out" / "grades.sqlite"
    with sqlite3.connect(path) as state:
        state.execute("UPDATE meta SET value = '0' WHERE key = 'version'")
    other = path.read_bytes()
    for content, message in ((other, "version 0"), (b"no database" * 1000, "not a grading state")):
        path.write_bytes(content)
        with pytest.raises(UserError, match=message):
            grade()
        assert path.read_bytes() == content


def test_a_first_run_makes_files_that_people_edit_and_others_cannot_read(tmp_path, grade, capsys):
    assert cli("grade", tmp_path / "new" / "folder") == 0
    assert str(tmp_path / "new" / "folder" / "settings.toml") in capsys.readouterr().out
    hand_in(tmp_path / "class", "ada_11_1_a.zip")
    before, out = os.umask(0), tmp_path / "out"
    try:
        assert cli("grade", out) == 0
        made = {path.name for path in out.iterdir()}
        assert made == {"settings.toml", "overrides.csv", "requests.csv", "written"}
        with pytest.raises(UserError, match="submissions does not exist"):
            cli("grade", out)
        grade()
    finally:
        os.umask(before)
    for path in (out, *out.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    out.chmod(0o750)
    grade()
    assert stat.S_IMODE(out.stat().st_mode) == 0o750, "a folder that was there keeps its mode"
    (tmp_path / "submission.zip").touch()
    with pytest.raises(UserError, match="looks like the submissions"):
        cli("grade", tmp_path)
    assert not (tmp_path / "settings.toml").exists()


def test_names_of_any_kind(tmp_path, grade, capsys, monkeypatch):
    monkeypatch.undo()  # a zip is taken in as always
    names = ["José Ñandú", "李雷", "a'b\"c", "two\nlines", "<b>bold", "=1+2", "A", "a", "x" * 200]
    folder = students(tmp_path / "class", 2)
    for name in [*names, "\udce9", "blatt/old", "blatt/L\udcf6sung"]:
        shutil.copytree(folder / "student00", folder / name)
    for name in ("x.\udcff", "y.\x1b]0;title\x07"):
        (folder / name).touch()
    with zipfile.ZipFile(folder / "L\udcf6sung.zip", "w") as archive:
        archive.writestr("notes.txt", "no code")

    def grade_zips(task):
        if task.source.endswith("student01"):
            return {"refused": "It has \x1b[31m."}
        return (work.run if task.source.endswith(".zip") else run)(task)

    assert grade("--allow-weak-isolation", engine=Here(grade_zips)) == 0
    said = capsys.readouterr().out
    assert f"{len(names) + 2} graded, 5 refused" in said and "\x1b" not in said
    for part in ("a single", "It has \\x1b[31m.", "in several folders", "none of the required"):
        assert part in said
    folders = [entry.folder for entry in load_class(tmp_path / "out").entries]
    assert len({folder.lower() for folder in folders}) == len(names) + 7
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,60}", folder) for folder in folders)
    assert {path.name for path in (tmp_path / "out" / "students").iterdir()} == set(folders)


@pytest.mark.parametrize("name", ["ada", "lovelaceada_11_100_hw.zip", "hw5-ada/.git"])
def test_a_roster_with_nobody_of_the_submissions_is_refused(tmp_path, grade, name):
    (tmp_path / "class" / name).mkdir(parents=True)
    with pytest.raises(UserError) as error:
        grade(people="id,name\nu1,Cy Day\nu2,Eve\n")
    for part in (name.partition("/")[0], "Cy Day (u1)", "Eve (u2)", "full name"):
        assert part in str(error.value)


def test_what_is_no_fault_of_a_submission_does_not_refuse_it(tmp_path):
    """It is changed or away while it is graded, or there is no room for a copy of it."""
    folder = students(tmp_path, 1) / "student00"
    task = work.Task(digest_submission(folder), str(folder), ("1c-0-basic",), 1, session.Setting())
    (folder / "model.py").write_text("# changed\n", encoding="utf-8")
    assert "changed or removed" in work.run(task)["error"]
    folder.rename(tmp_path / "away")
    assert "changed or removed" in work.run(task)["error"]
    shutil.copytree(SOLUTION, folder, ignore=shutil.ignore_patterns("__pycache__"))
    task = replace(task, digest=digest_submission(folder))
    limited = f"""
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
sys.path.insert(0, {str(ROOT)!r})
import instructor, pickle
from instructor.grading import work
print(work.run(pickle.loads({pickle.dumps(task)!r})))"""
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, encoding="utf-8")
    assert "'stop'" in done.stdout and "File too large" in done.stdout, done.stdout + done.stderr


@pytest.mark.full
def test_real_submissions(tmp_path):
    (tmp_path / "class").mkdir()
    reference = copy_reference(tmp_path / "reference")
    shutil.make_archive(tmp_path / "class" / "good", "zip", reference)
    shutil.copytree(STARTER, tmp_path / "class" / "starter" / "src" / "submission")
    (tmp_path / "class" / "page.zip").write_text("<html></html>", encoding="utf-8")
    out = set_up(tmp_path / "out", submissions=["../class"], workers=2)
    real = [sys.executable, "-m", "instructor"]
    process = start("grade", out, "--allow-weak-isolation", program=real)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    most = sum(check.points for check in CHECKS.values() if check.coded)
    found = entries(tmp_path)
    assert found["good"].total == found["good"].report["max_score"] == most
    assert "not a zip" in found["page"].refused
    assert f"{most:g}" in page_of(tmp_path, "good") and float(totals(tmp_path)["good"]) == most
    assert float(totals(tmp_path)["starter"]) == found["starter"].total == 0


def test_a_class_is_graded_by_the_problems_of_the_course(tmp_path, graded, grade, monkeypatch):
    course = tmp_path / "course.toml"
    course.write_text(Course("Two", problems=(5, 6), given=("1h",)).as_toml(), encoding="utf-8")
    monkeypatch.setattr("instructor.course.SETTINGS", course)
    grade()
    columns = rows(tmp_path / "out" / "grades-plain.csv")[0]
    asked = [name for name in columns if re.fullmatch(r"\d[a-z]", name)]
    assert asked == [id for id in MANIFEST.questions if id[0] in "56"]
    pages = [page.read_text(encoding="utf-8") for page in (tmp_path / "out").rglob("*.html")]
    assert len(pages) == 4 and not re.search(r"\b1[c-h]\b", "".join(pages))


def test_the_latest_or_the_best_of_several_submissions_counts(tmp_path, grade):
    hand_in(tmp_path / "class", "ada_11_100_a.zip", "ada_11_101_a-1.zip", "alan_LATE_12_102_a.zip")
    late = {"late_percent": 10, "due": "2026-12-01 23:59 UTC"}
    # a seed with which the substitute's two scores differ
    grade(people="id,canvas_id\nada,11\nalan,12\ngrace,13\n", seed=1, **late)
    ada, alan, grace = (entries(tmp_path)[id] for id in ("ada", "alan", "grace"))
    assert ada.source.endswith("a-1.zip") and "2 submissions" in ada.remarks[0]
    assert (alan.days_late, alan.penalty) == (1, 0.1)
    assert alan.automatic == pytest.approx(0.9 * alan.report["score"])
    assert not grace.source and grace.total == 0 and len(load_class(tmp_path / "out").sources) == 2
    grade(keep="best", engine=(engine := Here()))
    assert not engine.tasks
    with State(tmp_path / "out") as state:
        hers = [item.digest for item in state.submissions() if item.person == "ada"]
        outcomes = [state.outcomes(digest).values() for digest in hers]
    scores = [sum(found.get("score", 0) for found in each) for each in outcomes]
    assert entries(tmp_path)["ada"].automatic == max(scores) > min(scores)
    # the best is not known where the grader failed
    (tmp_path / "class" / "ada_11_100_a.zip" / "error").touch()
    assert grade("--again", "ada") == 3 and entries(tmp_path)["ada"].grader_errors


def test_whoever_has_lost_the_submission_is_no_zero(tmp_path, graded, grade, capsys):
    before = totals(tmp_path)
    hand_in(tmp_path / "late", "cy")
    with pytest.raises(UserError, match="2 people.*ada, ben.*--only"):
        grade(submissions=["../late"])
    assert totals(tmp_path) == before
    grade(submissions=["../class", "../late"])
    assert totals(tmp_path).items() >= before.items() and totals(tmp_path)["cy"]
    (tmp_path / "out" / "students" / "ada" / "mine.txt").touch()
    capsys.readouterr()
    grade("--only", submissions=["../late"])
    assert entries(tmp_path).keys() == {"cy"}
    assert f"'ben': {before['ben']}, now none" in capsys.readouterr().out
    pages = sorted(path.name for path in (tmp_path / "out" / "students").rglob("*"))
    assert pages == ["ada", "cy", "feedback.html", "grading.json", "mine.txt"]


def test_of_two_folders_the_later_one_is_newer(tmp_path, graded, grade):
    before, late = entries(tmp_path)["ada"].report, hand_in(tmp_path / "late", "ada") / "ada"
    (late / "model.py").write_text("# another\n", encoding="utf-8")
    (late / "refuse").touch()
    grade(submissions=["../class", "../late"])
    entry = entries(tmp_path)["ada"]
    assert entry.report == before and any("2 submissions" in remark for remark in entry.remarks)
    (late / "refuse").unlink()
    (late / "model.py").write_text("# a third\n", encoding="utf-8")
    grade()
    assert entries(tmp_path)["ada"].source == "../late/ada"


def test_what_cannot_be_read_for_a_moment_keeps_its_grade(tmp_path, graded, grade, monkeypatch):
    before = entries(tmp_path)["ada"].total
    hand_in(tmp_path / "class", "cy")
    with monkeypatch.context() as patch:
        broken = mock.Mock(side_effect=OSError(5, "Input/output error"))
        patch.setattr("instructor.grading.finding.found.digest_submission", broken)
        assert grade() == 3
    ada, cy = (entries(tmp_path)[id] for id in ("ada", "cy"))
    assert ada.total == before and ada.final and cy.pending and not cy.refused
    assert "Not graded yet" in page_of(tmp_path, "cy")
    assert grade() == 0 and entries(tmp_path)["cy"].final
