"""Grading a class: nothing is lost, nothing is graded twice, and one bad submission stops nobody
else's.
"""

import os
import pickle
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from batch_work import Here, run
from classes import entries, hand_in, page_of, rows

from autograder import read_manifest
from checks.support.rounds import RELEASED, Rounds
from checks.support.session import MANIFEST, Setting
from conftest import ROOT, SOLUTION, STARTER, call, copy_reference
from instructor import __main__ as program
from instructor.grading.engines import work
from instructor.grading.fingerprint import SHARED, Fingerprints, digest_submission, seed_for
from instructor.grading.graded_class import load_class, load_sources
from instructor.grading.state import State
from jobs.deliverables import DELIVERABLES

CHECKS = read_manifest(MANIFEST).checks
QUICK = [sys.executable, str(ROOT / "tests" / "instructor" / "grading" / "batch_work.py")]
REAL = [sys.executable, "-m", "instructor"]


def command(*arguments, engine=None, **environment):
    """Run a command line in this process, where `grade` grades with a quick substitute."""
    with mock.patch("instructor.grading.command.make_engine", lambda *_: engine or Here()):
        return call(program.main, *arguments, **environment)


def start(*arguments, program=QUICK, **environment):
    """Run a command line in a process of its own, with workers, to its end."""
    return subprocess.run(
        [*program, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


def submissions(folder, count, **special):
    """Folders of submissions that differ; `special` names files to put into some of them."""
    hand_in(folder, *(f"student{n:02}" for n in range(count)))
    for name, which in special.items():
        for n in which:
            (folder / f"student{n:02}" / name.replace("_", "-")).touch()
    return folder


def verdicts(out):
    """What was graded: {person: {check: (verdict, score)}}."""
    return {
        entry.person.id: {check["id"]: (check["verdict"], check["score"]) for check in entry.checks}
        for entry in load_class(out).entries
    }


def log_of(path):
    """What the workers did: pairs of submission and number of checks."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [(line.split()[0], line.count(",") + 1) for line in lines]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A folder of 24 submissions, and what grading them gives."""
    folder = tmp_path_factory.mktemp("undisturbed")
    submissions(folder / "class", 24)
    done = command("grade", folder / "class", "--out", folder / "out", "--seed", 5, "--workers", 2)
    assert done.returncode == 0, done.stderr
    return folder / "class", verdicts(folder / "out")


@pytest.mark.full
def test_a_run_that_is_killed_goes_on(undisturbed, tmp_path):
    folder, expected = undisturbed
    log, kills = tmp_path / "log", 0
    for attempt in range(40):
        process = subprocess.Popen(
            [*QUICK, "grade", folder, "--out", tmp_path / "out", "--seed", "5", "--workers", "2"],
            cwd=ROOT,
            env={**os.environ, "BATCH_WORK": str(log)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(timeout=random.uniform(0.3, 3.5) if attempt < 6 else 120)
            break
        except subprocess.TimeoutExpired:
            process.kill()  # the parent alone: its workers must notice
            process.wait()
            kills += 1
            deadline = time.monotonic() + 20
            while (left := session(process.pid)) and time.monotonic() < deadline:
                time.sleep(0.1)
            assert not left
    assert verdicts(tmp_path / "out") == expected
    # Nothing that was kept was graded again: at most the two that were under way at each kill.
    assert len(log_of(log)) <= 24 + 2 * kills


def session(leader):
    """The processes of a session that still live."""
    return subprocess.run(
        ["pgrep", "-r", "R,S,D", "-s", str(leader)], capture_output=True, encoding="utf-8"
    ).stdout.split()


def test_what_fails_stops_nobody_else(undisturbed, tmp_path):
    """One submission kills its worker once, one always; the grader fails on one, and one is
    refused. All others are graded once, or again if they were in progress with such a one.
    """
    special = {"kill_once": [2], "kill": [4], "error": [7], "refuse": [9]}
    folder, log = submissions(tmp_path / "class", 24, **special), tmp_path / "log"
    options = "--out", tmp_path / "out", "--seed", 5, "--workers", 2
    done = start("grade", folder, *options, BATCH_WORK=str(log))
    assert done.returncode == 3 and "Traceback" not in done.stdout
    for part in ("'student04'", "killed", "'student07'", "a fault of the grader"):
        assert part in done.stderr
    got, expected = verdicts(tmp_path / "out"), undisturbed[1]
    for person in expected.keys() - {"student04", "student07", "student09"}:
        assert got[person] == expected[person]
    assert {verdict for verdict, _ in got["student04"].values()} == {"grader error"}
    refused = [entry.source for entry in load_class(tmp_path / "out").entries if entry.refused]
    assert refused == ["student09"] and 24 <= len(log_of(log)) <= 24 + 8
    (folder / "student07" / "error").unlink()
    again = start("grade", folder, "--out", tmp_path / "out", "--workers", 2)
    # what failed is tried again
    assert again.returncode == 3 and "student07" not in again.stderr and "student04" in again.stderr
    assert verdicts(tmp_path / "out")["student07"] == expected["student07"]


def test_only_what_changed_is_graded_again(tmp_path):
    folder, log = submissions(tmp_path / "class", 6), tmp_path / "log"

    def run():
        log.unlink(missing_ok=True)
        done = command("grade", folder, "--out", tmp_path / "out", BATCH_WORK=str(log))
        assert done.returncode == 0, done.stderr
        return sorted(log_of(log))

    everything = sum(check.coded for check in CHECKS.values())
    assert run() == [(f"student{n:02}", everything) for n in range(6)]
    assert run() == []
    (folder / "student02" / "model.py").write_text("# changed\n", encoding="utf-8")
    assert run() == [("student02", everything)]
    shutil.copytree(folder / "student04", folder / "student06")  # equal content
    assert run() == []
    # as after a change of one check
    with sqlite3.connect(tmp_path / "out" / "grades.sqlite") as connection:
        connection.execute("UPDATE outcomes SET fingerprint = 'old' WHERE id = '1h-5-hidden'")
    assert [checks for _, checks in run()] == [1] * 6  # one of the two that are equal
    assert run() == []


def test_new_points_need_no_grading(undisturbed, monkeypatch, tmp_path):
    shutil.copytree(undisturbed[0].parent / "out", tmp_path / "out")
    text, check = MANIFEST.read_text(encoding="utf-8"), CHECKS["1h-5-hidden"]
    of_question = read_manifest(MANIFEST).questions["1h"].points
    for entry, points in (('id = "1h-5-hidden".*?', check.points), ("\n1h = {.*?", of_question)):
        text = re.sub(rf"(?s)({entry}points =) [0-9.]+", rf"\g<1> {points + 2}", text, count=1)
    (tmp_path / "manifest.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr("instructor.grading.graded_class.MANIFEST", tmp_path / "manifest.toml")
    for person, checks in verdicts(tmp_path / "out").items():
        verdict, score = undisturbed[1][person][check.id]
        more = {check.id: (verdict, score / check.points * (check.points + 2))}
        assert checks == undisturbed[1][person] | more


def test_two_runs_at_once(tmp_path):
    folder = submissions(tmp_path / "class", 2, slow=[0])
    first = subprocess.Popen(
        [*QUICK, "grade", str(folder), "--out", str(tmp_path / "out")],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "BATCH_WORK": str(tmp_path / "log")},
    )
    try:
        deadline = time.monotonic() + 60
        # until it has begun to grade
        while not (tmp_path / "log").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        second = command("grade", folder, "--out", tmp_path / "out")
        assert second.returncode == 2 and "Another run" in second.stderr
        first.send_signal(signal.SIGINT)
        assert first.wait(timeout=30) == 130 and "Interrupted: " in first.stderr.read()
    finally:
        first.kill()
        first.wait()


def test_a_full_disk_stops_with_a_sentence(tmp_path):
    folder = submissions(tmp_path / "class", 3, full=[1])
    done = command("grade", folder, "--out", tmp_path / "out", "--workers", 1)
    assert done.returncode == 2 and "Stopped: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    (folder / "student01" / "full").unlink()
    assert command("grade", folder, "--out", tmp_path / "out").returncode == 0


def of_other_version(path):
    with sqlite3.connect(path) as state:
        state.execute("UPDATE meta SET value = '0' WHERE key = 'version'")


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (of_other_version, "version 0"),
        (lambda path: path.write_bytes(b"no database" * 1000), "not a grading state"),
    ],
)
def test_a_state_that_cannot_be_used(tmp_path, break_it, message):
    folder, path = submissions(tmp_path / "class", 1), tmp_path / "out" / "grades.sqlite"
    assert command("grade", folder, "--out", tmp_path / "out").returncode == 0
    break_it(path)
    before = path.read_bytes()
    done = command("grade", folder, "--out", tmp_path / "out")
    assert done.returncode == 2 and message in done.stderr and path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("missing --out OUT", "does not exist"),
        ("EMPTY --out OUT", "no submissions"),
        ("CLASS --out CLASS/out", "inside the submissions"),
        ("CLASS --out OUT --engine dask", "--scheduler"),
        ("CLASS --out OUT --due soon", "not a due date"),
        ("CLASS --out OUT --roster nobody.csv", "nobody.csv"),
        ("CLASS --out OUT --workers 0", "at least 1"),
        ("CLASS --out OUT --late-cap nan", "from 0 to 100"),
        ("CLASS --out OUT --gold nowhere", "nowhere is not a folder"),
    ],
)
def test_mistakes_on_the_command_line(tmp_path, arguments, message):
    (tmp_path / "EMPTY").mkdir()
    submissions(tmp_path / "CLASS", 1)
    done = command("grade", *arguments.split(), cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "OUT").exists()


def test_names_of_any_kind(tmp_path):
    """Each is graded, and none becomes a path or controls a terminal; what is no text or no
    submission is refused alone, with a name that can be read.
    """
    names = ["José Ñandú", "李雷", "a'b\"c", "two\nlines", "<b>bold", "=1+2", "A", "a", "x" * 200]
    folder = submissions(tmp_path / "class", 2)
    for name in [*names, "\udce9", "blatt/old", "blatt/L\udcf6sung"]:
        shutil.copytree(folder / "student00", folder / name)
    for name in ("x.\udcff", "y.\x1b]0;title\x07"):
        (folder / name).touch()
    with zipfile.ZipFile(folder / "L\udcf6sung.zip", "w") as archive:
        archive.writestr("notes.txt", "no code")

    def grade(task):
        if task.source.endswith("student01"):
            return {"refused": "It has \x1b[31m."}
        return (work.run if task.source.endswith(".zip") else run)(task)

    options = "--out", tmp_path / "out", "--allow-weak-isolation"
    done = command("grade", folder, *options, engine=Here(grade))
    assert done.returncode == 0, done.stderr
    assert f"{len(names) + 2} graded, 5 refused" in done.stdout
    for part in (
        "a single .\\udcff file",
        "a single .\\x1b]0;title\\x07 file",
        "It has \\x1b[31m.",
        "in several folders, L\\udcf6sung and old",
        r"'L\\udcf6sung': It has none of the required files",
    ):
        assert part in done.stdout
    folders = [entry.folder for entry in load_class(tmp_path / "out").entries]
    assert len({folder.lower() for folder in folders}) == len(names) + 7
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,60}", folder) for folder in folders)
    assert {path.name for path in (tmp_path / "out" / "students").iterdir()} == set(folders)


def test_the_latest_or_the_best_of_several_submissions_counts(tmp_path):
    names = ("11_100_a", "11_101_a-1", "LATE_12_102_a")
    folder = hand_in(tmp_path / "class", *(f"ada_{name}.zip" for name in names[:2]))
    hand_in(folder, f"alan_{names[2]}.zip")
    (tmp_path / "roster.csv").write_text("id,canvas_id\nada,11\nalan,12\ngrace,13\n", "utf-8")
    late = "--late-percent", 10, "--due", "2026-12-01 23:59 UTC"
    options = "--out", tmp_path / "out", "--roster", tmp_path / "roster.csv", *late
    # a seed with which the substitute's two scores differ
    assert command("grade", folder, *options, "--seed", 1).returncode == 0
    found = entries(tmp_path)
    ada, alan, grace = (found[id] for id in ("ada", "alan", "grace"))
    assert ada.source.endswith("a-1.zip") and "2 submissions" in ada.remarks[0]
    assert (alan.days_late, alan.penalty) == (1, 0.1)
    assert alan.automatic == pytest.approx(0.9 * alan.report["score"])
    assert not grace.source and grace.total == 0 and len(load_sources(tmp_path / "out")) == 2
    best = command("grade", folder, *options, "--keep", "best")
    assert "Submissions graded now: 0" in best.stdout
    with State(tmp_path / "out") as state:
        graded = [state.grading(one.digest)[1] for one in state.handed() if one.person == "ada"]
    scores = [sum(outcome["score"] for outcome in outcomes.values()) for outcomes in graded]
    assert entries(tmp_path)["ada"].automatic == max(scores) > min(scores)


def test_the_best_is_not_known_where_the_grader_failed(tmp_path):
    folder = submissions(tmp_path / "class", 2, error=[0])
    for number, one in enumerate(sorted(folder.iterdir())):
        one.rename(folder / f"lovelaceada_11_{number}_x.zip")
    done = command("grade", folder, "--out", tmp_path / "out", "--keep", "best")
    (entry,) = load_class(tmp_path / "out").entries
    assert done.returncode == 3 and entry.grader_errors


def test_pages_of_people_who_have_left_are_removed(tmp_path):
    folder, students = submissions(tmp_path / "class", 2), tmp_path / "out" / "students"
    command("grade", folder, "--out", tmp_path / "out")
    (students / "student01" / "mine.txt").touch()
    (folder / "student00").rename(folder / "zoe")
    (folder / "student01").rename(folder / "yan")
    command("grade", folder, "--out", tmp_path / "out", "--only-these")
    assert sorted(path.name for path in students.iterdir()) == ["student01", "yan", "zoe"]
    assert [path.name for path in (students / "student01").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["ada", "lovelaceada_11_100_hw.zip", "hw5-ada/.git"])
def test_a_roster_with_nobody_of_the_submissions_is_refused(tmp_path, name):
    (tmp_path / "class" / name).mkdir(parents=True)
    (tmp_path / "roster.csv").write_text("id,name\nu1,Cy Day\nu2,Eve\n", encoding="utf-8")
    options = "--out", tmp_path / "out", "--roster", tmp_path / "roster.csv"
    done = command("grade", tmp_path / "class", *options)
    assert done.returncode == 2 and not (tmp_path / "out").exists(), done.stdout
    for part in (name.partition("/")[0], "Cy Day (u1)", "Eve (u2)", "full name"):
        assert part in done.stderr


def test_fingerprints_have_all_that_checks_import():
    """In a process that imports the checks and nothing else."""
    script = """if True:
        import sys, instructor
        from pathlib import Path
        from autograder import read_manifest
        from autograder.judge import verdicts_in
        from checks.support.session import CHECKS, MANIFEST
        from instructor.checks.drawing import all_draws
        all_draws()
        verdicts_in([CHECKS, CHECKS.parents[1] / "instructor" / "checks"], read_manifest(MANIFEST).checks)
        print(*filter(None, (getattr(m, "__file__", "") for m in [*sys.modules.values()])), sep="\\n")
    """
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    ours = [Path(line) for line in done.stdout.splitlines() if Path(line).is_relative_to(ROOT)]
    names = {path.relative_to(ROOT).as_posix() for path in ours if ".venv" not in path.parts}
    shared = {
        path.relative_to(ROOT).as_posix() for pattern in SHARED for path in ROOT.glob(pattern)
    }
    of_checks = {name for name in names if name.startswith(("src/checks/", "instructor/checks/"))}
    lists = re.compile(r"src/jobs/(deliverables|.*contents).py|.*/__init__.py")
    left = names - shared - of_checks
    assert len(of_checks) > 60 and not [name for name in left if not lists.fullmatch(name)]
    manifest = read_manifest(MANIFEST)
    for name in of_checks:  # of another question, only those on which the own one builds
        own = re.search(r"/q(\d[a-z])", name)
        text = (ROOT / name).read_text(encoding="utf-8")
        for other in re.findall(r"checks\.problem\d\.q(\d[a-z])", text) if own else ():
            assert other in {own[1], *manifest.bases(own[1])}, name


def test_fingerprints_have_what_released_checks_compare_with(tmp_path, monkeypatch):
    """Released rounds count for their question, where no staff's checks are."""
    shutil.copytree(RELEASED, tmp_path / "cases")
    monkeypatch.setattr("instructor.grading.fingerprint.Rounds", lambda: Rounds(tmp_path / "cases"))
    manifest = read_manifest(MANIFEST)
    before = Fingerprints(manifest, Setting()).wanted
    for question in ("6a", "6e"):
        content = (RELEASED / f"{question}.zip").read_bytes()
        path = tmp_path / "cases" / f"{question}.zip"
        with zipfile.ZipFile(path, "a") as file:
            file.writestr(f"{question}-0-basic/99", b"another round")
        after = Fingerprints(manifest, Setting()).wanted
        path.write_bytes(content)
        changed = {CHECKS[id].question for id in before if before[id] != after[id]}
        assert question in changed and changed <= {
            id for id in manifest.questions if question in {id, *manifest.bases(id)}
        }


@pytest.mark.full
def test_seeds_and_fingerprints(tmp_path, monkeypatch):
    digest = digest_submission(submissions(tmp_path, 1) / "student00")
    assert seed_for(1, digest) == seed_for(1, digest) != seed_for(2, digest)
    manifest = read_manifest(MANIFEST)

    def fingerprints(gold=ROOT / "instructor" / "gold", **settings):
        changed = replace(manifest, settings=manifest.settings | settings)
        return Fingerprints(changed, Setting(hidden=True, gold=gold)).wanted

    before = fingerprints()
    assert all(before.values()) and before["1c-0-basic"] != before["1h-2-basic"]
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.setattr("checks.support.context.DATA", tmp_path / "data")
    of_results = {id for id in before if CHECKS[id].artifacts}
    reading = of_results | {"5a-0-basic", "5a-1-hidden", "6f-2-hidden", "6f-3-hidden"}
    changes = [
        (fingerprints(), set()),
        (fingerprints(tmp_path), reading),  # other answers
        (fingerprints(accuracy={}), of_results),
        (fingerprints(nothing={}), set()),
    ]
    for name in ("hand_attention.json", "occupations/train.tsv"):
        with open(tmp_path / "data" / name, "a", encoding="utf-8") as file:
            file.write("\n")
        changes.append((fingerprints(), reading))
        shutil.copy(ROOT / "data" / name, tmp_path / "data" / name)
    for after, touched in changes:
        assert {id for id in before if after[id] != before[id]} == touched


@pytest.mark.full
def test_real_submissions(tmp_path):
    """The reference, the starter in a whole repository, and a broken zip."""
    (tmp_path / "class").mkdir()
    with zipfile.ZipFile(tmp_path / "class" / "good.zip", "w") as archive:
        reference = copy_reference(tmp_path / "reference")
        for name in DELIVERABLES:
            if (reference / name).is_file():
                archive.write(reference / name, name)
    starter, unused = tmp_path / "class" / "starter" / "src" / "submission", ("mingpt*", "*.p*a*")
    shutil.copytree(STARTER, starter, ignore=shutil.ignore_patterns("__pycache__", *unused))
    (tmp_path / "class" / "page.zip").write_text("<html></html>", encoding="utf-8")
    options = "--out", tmp_path / "out", "--workers", 2, "--allow-weak-isolation"
    done = start("grade", tmp_path / "class", *options, program=REAL)
    assert done.returncode == 0, done.stderr
    most = sum(check.points for check in CHECKS.values() if check.coded)
    found = entries(tmp_path)
    assert found["good"].total == found["good"].report["max_score"] == most
    refused = found["page"].refused
    assert refused.startswith("It is not a zip file") and "page" not in refused
    assert f"{most:g}" in page_of(tmp_path, "good")
    book = {row["id"]: row["total"] for row in rows(tmp_path / "out" / "grades-plain.csv")}
    assert float(book["good"]) == most and float(book["starter"]) == found["starter"].total == 0


def test_what_is_no_fault_of_a_submission_does_not_refuse_it(tmp_path):
    """It is changed or away while it is graded, or there is no room for a copy of it."""
    folder = submissions(tmp_path, 1) / "student00"
    task = work.Task(digest_submission(folder), str(folder), ("1c-0-basic",), 1, Setting())
    (folder / "model.py").write_text("# changed\n", encoding="utf-8")
    assert "changed or removed" in work.run(task)["error"]
    folder.rename(tmp_path / "away")
    assert "changed or removed" in work.run(task)["error"]
    shutil.copytree(SOLUTION, folder, ignore=shutil.ignore_patterns("__pycache__"))
    task = work.Task(digest_submission(folder), str(folder), ("1c-0-basic",), 1, Setting())
    limited = f"""
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
sys.path.insert(0, {str(ROOT)!r})
import instructor, pickle
from instructor.grading.engines import work
print(work.run(pickle.loads({pickle.dumps(task)!r})))"""
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, encoding="utf-8")
    assert "'stop'" in done.stdout and "File too large" in done.stdout, done.stdout + done.stderr
