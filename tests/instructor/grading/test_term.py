"""A term that is disturbed at random moments ends with the grades of one that is not."""

import os
import random
import signal
import threading
import traceback

import batch_work
import pytest
from classes import cli, decide, entries, hand_in, rows, set_up, with_points
from tqdm import tqdm

from autograder import read_manifest
from checks.support import session
from instructor.grading import command, graded_class
from instructor.grading.fingerprint import Fingerprints

# imported before forking
from instructor.grading.pages import class_page, student_page  # noqa: F401

FULL = session.MANIFEST
# the check that is added during the term, and one that a slow machine fails, so it is repeated
ADDED, AGAIN = "6f-0-basic", "5f-0-basic"
PART = next(id for id, check in read_manifest(FULL).checks.items() if not check.coded)
NAMES = [f"s{n:02}" for n in range(16)]
ENDS = (0, 3)  # the exit codes of a completed command
LONGEST = 1.5  # seconds until a command is disturbed, at most


def slowly(task):
    result = batch_work.run(task)
    for check in result["report"]["checks"] if "report" in result else ():
        if check["id"] == AGAIN and task.digest[0] in "02468ace":
            check |= {"verdict": "timeout", "score": 0.0}
    return result


def play(folder, disturbed=0):
    """The result of a term, in an empty folder; each command is disturbed at most so often."""
    _hand_in(folder)
    less = folder / "manifest.toml"
    less.write_text(with_points(ADDED, 0), encoding="utf-8")
    settings = {"due": "2026-05-12 23:59 UTC", "late_percent": 10, "seed": 5}
    settings |= {"submissions": ["../first"], "roster": "../roster.csv"}

    def grade(*words, manifest=FULL, work=batch_work.run, **changes):
        settings.update(changes)
        words = "grade", set_up(folder / "out", **settings), *words
        for _ in range(random.randint(0, disturbed)):
            number = random.choice((signal.SIGKILL, signal.SIGINT))
            pid = _start(words, manifest, work)
            disturb = threading.Timer(random.uniform(0, LONGEST), os.kill, (pid, number))
            disturb.start()
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # its number stays taken
            disturb.cancel()
            disturb.join()
            _code(pid)
        code = _code(_start(words, manifest, work))
        assert code in ENDS, f"{words} ended with {code}"

    def mark(marker, points, people):
        lines = [f"{person},{PART},{points},by {marker}" for person in people]
        decide(folder, *lines, file=f"written/{marker}.csv")

    grade(manifest=less, work=slowly)
    mark("eva", 1, NAMES)
    grade(manifest=less, submissions=["../first", "../second"], work=slowly)
    grade("--again", AGAIN, manifest=less)
    grade()  # with one more check
    decide(folder, "s12,2,,,,ill", "s13,,yes,,,left", "s04,,,,1,found a fault")
    mark("tom", 0.5, NAMES[4:9])
    grade()
    mark("decided", 0.75, NAMES[4:6])
    decide(folder, f"s05,{AGAIN},it is right,1,yes", file="requests.csv")
    grade(late_percent=20)
    return _result(folder, folder / "out")


def _hand_in(folder):
    """Two folders as Canvas exports them, with the same content in every play; and a roster."""
    lines = ["id,name,canvas_id,section"]
    for n, name in enumerate(NAMES):
        lines.append(f"{name},Person {n},{1000 + n},{'AB'[n % 2]}")
        if n != 10:  # who hands nothing in
            part, late = ("second", "_LATE") if n >= 11 else ("first", "")
            hand_in(folder / part, f"{name}{late}_{1000 + n}_{n}_a.zip")
    (folder / "first" / "s03_1003_3_a.zip" / "refuse").touch()
    hand_in(folder / "second", "s02_LATE_1002_70_a-1.zip")  # a second try
    hand_in(folder / "first", "stranger_4711_80_a.zip")
    (folder / "roster.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _result(folder, out):
    """All that people see at the end, by the name of the file; and the state of the class."""
    files = [path for path in out.rglob("*") if path.suffix in (".csv", ".html", ".toml")]
    files = [path for path in files if "versions" not in path.parts]
    texts = {str(path.relative_to(out)): path.read_text("utf-8") for path in files}
    texts["leftovers"] = str(sorted(path.name for path in out.rglob("*.tmp")))
    # The time of a change differs in every play, and a killed run asks again.
    shown = "{what} {id} {check or part} {before} {after}"
    changes = [row for row in rows(out / "history.csv") if row["what"] != "again"]
    texts["history.csv"] = "\n".join(sorted({shown.format(**row) for row in changes}))
    people = entries(folder).items()
    return texts | {"class": str([(id, one.total, one.final, one.excused) for id, one in people])}


def _code(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _start(words, manifest, work):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        # one that was killed holds the lock that forks share
        tqdm.set_lock(threading.RLock())
        signal.signal(signal.SIGINT, signal.default_int_handler)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        session.MANIFEST = graded_class.MANIFEST = manifest
        session.Setting.isolation = session.Setting.require_hidden = lambda *_: None
        command.make_engine = lambda *_: batch_work.Here(work)
        errors = os.dup(2)
        os.dup2(quiet, 2)
        code = cli(*words)
    except BaseException as error:
        code = getattr(error, "exit_code", 1)
        os.write(errors, traceback.format_exc().encode())
    finally:
        os._exit(code)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    # once what every fork would repeat: what checks depend on is hashed
    Fingerprints(read_manifest(FULL), session.Setting(hidden=True))
    return play(tmp_path_factory.mktemp("term"))


@pytest.mark.full
@pytest.mark.parametrize("number", range(12))
def test_a_disturbed_term_ends_with_the_same_grades(expected, tmp_path, number):
    result = play(tmp_path, disturbed=3)
    differ = [name for name in expected | result if expected.get(name) != result.get(name)]
    assert not differ, [(expected.get(name), result.get(name)) for name in differ[:2]]
