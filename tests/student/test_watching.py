"""python src/grader.py --watch: what it notices, and what it writes."""

import io
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from autograder import Outcome, Report, Verdict, read_manifest
from autograder.report import Table
from checks.support.session import MANIFEST
from checks.support.watching import Files, watch
from common.files import UserError
from helpers import ROOT
from instructor.mistakes.patches import make

COURSE = read_manifest(MANIFEST)
IDS = ("1h-2-basic", "1h-3-basic", "1h-9-basic")


def report(wrong=(), seed=7, text="off by one"):
    """A grading in which some checks failed."""
    outcomes = {
        id: Outcome(id, Verdict.WRONG_ANSWER, 0.0, text, text)
        if id in wrong
        else Outcome(id, Verdict.PASSED, COURSE.checks[id].points)
        for id in IDS
    }
    return Report(COURSE, outcomes, seed, ("none", ""))


def interrupt():
    raise KeyboardInterrupt


class Watched:
    """A submission that is watched: `saves` happen one by one, each between two looks, then
    Ctrl-C. `gradings` are returned, or raised, one after another.
    """

    def __init__(self, folder):
        self.folder = folder
        self.seeds, self.graded = [], []  # of each grading: its seed, the content of attention.py
        self.meanwhile = []  # what happens after a save, at each look until nothing changes

    def save(self, text, name="attention.py"):
        new = self.folder.parent / "new"
        new.write_text(text, encoding="utf-8")
        new.replace(self.folder / name)

    def run(self, first, saves, gradings=()):
        saves, gradings, stream = iter(saves), iter(gradings), io.StringIO()

        def sleep(seconds):
            if self.meanwhile:
                self.meanwhile.pop(0)()
            else:
                next(saves, interrupt)()
                self.meanwhile.append(lambda: None)

        def grade(seed, finished):
            self.seeds.append(seed)
            file = self.folder / "attention.py"
            self.graded.append(file.read_text(encoding="utf-8") if file.exists() else None)
            given = next(gradings)
            if callable(given):
                given = given(finished)
            if isinstance(given, Exception):
                raise given
            given.seed = seed
            return given

        self.last = watch(
            self.files,
            first,
            grade,
            lambda ids, seed: f"again {ids} {seed}",
            Table(stream, COURSE, False),
            sleep=sleep,
        )
        return stream.getvalue()


@pytest.fixture
def watched(tmp_path):
    """A watched submission of one file."""
    (tmp_path / "code").mkdir()
    one = Watched(tmp_path / "code")
    one.save("x = 0\n")
    one.files = Files(one.folder)
    return one


def test_what_a_save_changed_is_written(watched):
    first = report(["1h-2-basic", "1h-9-basic"])
    second = report(["1h-3-basic", "1h-9-basic"])
    shown = watched.run(first, [lambda: watched.save("x = 1\n")], [second])
    before, after, total = (
        sum(COURSE.checks[id].points for id in ids) for ids in (["1h-3-basic"], ["1h-2-basic"], IDS)
    )
    assert "attention.py changed" in shown and f"{before:g} -> {after:g} of {total:g}" in shown
    assert "Now passing: 1h-2-basic\n" in shown and "Now failing: 1h-3-basic\n" in shown
    assert "Still failing: 1h-9-basic\n" in shown
    assert "wrong answer: 1h-3-basic\n" in shown and "    off by one\n" in shown
    assert "Again: again ['1h-3-basic'] 7" in shown
    assert shown.count("1h-9-basic") == 1, "its failure is the same as before"
    assert "\nNext: mend 1h-3-basic; " in shown
    assert watched.seeds == [7] and watched.last is second


def test_only_a_change_of_the_submission_is_graded(watched):
    """Also of new, deleted and renamed files, of any folder."""
    code, other = watched.folder / "attention.py", watched.folder / "problem5"
    other.mkdir()

    def rename():
        watched.save("x = 3\n", "attention.py.tmp")
        os.replace(watched.folder / "attention.py.tmp", code)

    others = [
        lambda: None,
        lambda: os.utime(code, (1, 1)),
        lambda: watched.save("x = 0\n"),
        lambda: watched.save("a plan", "notes.txt"),
        lambda: (watched.folder / "__pycache__").mkdir(),
        lambda: watched.save("old", "attention.py~"),
    ]
    saves = [
        lambda: watched.save("y = 0\n", "problem5/encoder.py"),
        (other / "encoder.py").unlink,
        lambda: watched.save("{}", "problem5/hand_attention.json"),
        rename,
        code.unlink,
    ]
    shown = watched.run(report(IDS), [*others, *saves], [report(IDS) for _ in saves])
    assert shown.count("problem5/encoder.py changed") == 2
    assert shown.count("problem5/hand_attention.json changed") == 1
    assert watched.graded == ["x = 0\n"] * 3 + ["x = 3\n", None]


def test_a_file_is_graded_when_it_is_complete(watched):
    def save():
        watched.save("")
        watched.meanwhile += [lambda: watched.save("x ="), lambda: watched.save("x = 1\n")]

    watched.run(report(IDS), [save], [report(IDS)])
    assert watched.graded == ["x = 1\n"]


def test_what_cannot_be_graded_does_not_end_it(watched):
    """Ctrl-C does; in a grading, the one before is the last."""
    last = report(IDS[:1])
    saves = [lambda n=n: watched.save(f"x = {n}\n") for n in (1, 22, 333)]
    gradings = [UserError("It is a link."), last, lambda finished: interrupt()]
    shown = watched.run(report(IDS), saves, gradings)
    assert "  It is a link.\n" in shown and "Now passing: 1h-3-basic, 1h-9-basic" in shown
    assert watched.last is last


def test_when_all_pass_it_grades_with_new_inputs_and_stays_with_those_that_fail(watched):
    saves = [lambda n=n: watched.save(f"x = {n}\n") for n in (1, 22)]
    gradings = [report(), report(IDS[1:2]), report(IDS[1:2])]
    shown = watched.run(report(IDS), saves, gradings)
    assert "new random inputs" in shown and "Now failing: 1h-3-basic\n" in shown
    assert watched.seeds[0] == 7 != watched.seeds[1] == watched.seeds[2]
    assert f"Again: again ['1h-3-basic'] {watched.seeds[1]}" in shown and not watched.last.passed


def test_a_save_during_a_grading_ends_it(watched):
    def save(finished):
        finished(None)
        watched.save("x = 2\n")
        finished(None)
        raise AssertionError("it went on with the next check")

    saves = [lambda: watched.save("x = 1\n"), lambda: None]
    shown = watched.run(report(IDS), saves, [save, report(IDS[:1])])
    assert watched.graded == ["x = 1\n", "x = 2\n"]
    assert "  Saved again before the grading had ended.\n" in shown
    assert "Now passing: 1h-3-basic, 1h-9-basic" in shown


def test_a_session(tmp_path):
    """Real gradings, ended by Ctrl-C."""
    folder = make((), tmp_path / "code")
    answers = folder / "problem5" / "hand_attention.json"
    content = json.loads(answers.read_text(encoding="utf-8"))
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "src" / "grader.py"), "5a-0", "--watch"]
        + ["--submission", str(folder), "--allow-weak-isolation"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    late = threading.Timer(100, process.kill)
    late.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Watching"):
                content["output"][0][0] += 1
                answers.write_text(json.dumps(content), encoding="utf-8")
            elif " -> " in line:
                break
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate()
    finally:
        late.cancel()
        process.kill()
    shown = "".join(lines)
    assert "Ctrl-C" in shown
    assert "problem5/hand_attention.json changed" in shown and "output[0] is off" in shown
    assert "Now failing: 5a-0-basic" in shown and "grader error" not in shown
    assert process.returncode == 1 and errors == "" and "Traceback" not in rest
