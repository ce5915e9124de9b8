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


def report(*wrong):
    """A grading in which some checks failed."""
    outcomes = {id: Outcome(id, Verdict.PASSED, COURSE.checks[id].points) for id in IDS}
    for id in wrong:
        outcomes[id] = Outcome(id, Verdict.WRONG_ANSWER, 0.0, "off by one", "off by one")
    return Report(COURSE, outcomes, 7, ("none", ""))


def interrupt(*_):
    raise KeyboardInterrupt


class Watched:
    """A submission of one file that is watched: `saves` happen one by one, each between two looks,
    then Ctrl-C. `gradings` are returned, or called, one after another.
    """

    def __init__(self, folder):
        self.folder = folder
        self.seeds, self.graded = [], []  # of each grading: its seed, the content of attention.py
        self.meanwhile = []  # what happens after a save, at each look until nothing changes
        folder.mkdir()
        self.save("x = 0\n")
        self.files = Files(folder)

    def save(self, text, name="attention.py"):
        new = self.folder.parent / "new"
        new.write_text(text, encoding="utf-8")
        new.replace(self.folder / name)

    def run(self, first, saves, *gradings):
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
            given = given(finished) if callable(given) else given
            given.seed = seed
            return given

        def again(ids, seed):
            return f"again {ids} {seed}"

        table = Table(stream, COURSE, False)
        self.last = watch(self.files, first, grade, again, table, sleep=sleep)
        return stream.getvalue()


@pytest.fixture
def watched(tmp_path):
    return Watched(tmp_path / "code")


def test_what_a_save_changed_is_written(watched):
    first, second = report("1h-2-basic", "1h-9-basic"), report("1h-3-basic", "1h-9-basic")
    shown = watched.run(first, [lambda: watched.save("x = 1\n")], second)
    before, after, total = (
        sum(COURSE.checks[id].points for id in ids) for ids in (["1h-3-basic"], ["1h-2-basic"], IDS)
    )
    for part in (
        "attention.py changed",
        f"{before:g} -> {after:g} of {total:g}",
        "Now passing: 1h-2-basic\n",
        "Now failing: 1h-3-basic\n",
        "Still failing: 1h-9-basic\n",
        "wrong answer: 1h-3-basic\n",
        "    off by one\n",
        "Again: again ['1h-3-basic'] 7",
        "\nNext: mend 1h-3-basic; ",
    ):
        assert part in shown
    assert shown.count("1h-9-basic") == 1, "its failure is the same as before"
    assert watched.seeds == [7] and watched.last is second


def test_only_a_change_of_the_submission_is_graded(watched):
    """Also of new, deleted and renamed files, of any folder."""
    code, other = watched.folder / "attention.py", watched.folder / "problem5"
    other.mkdir()

    def rename():
        watched.save("x = 3\n", "attention.py.tmp")
        os.replace(watched.folder / "attention.py.tmp", code)

    others = [
        lambda: os.utime(code, (1, 1)),
        lambda: watched.save("x = 0\n"),
        lambda: watched.save("a plan", "notes.txt"),
        lambda: watched.save("old", "attention.py~"),
    ]
    saves = [
        lambda: watched.save("y = 0\n", "problem5/encoder.py"),
        (other / "encoder.py").unlink,
        rename,
        code.unlink,
    ]
    wrong = report(*IDS)
    shown = watched.run(wrong, [*others, *saves], *len(saves) * [wrong])
    assert shown.count("encoder.py changed") == 2
    assert watched.graded == ["x = 0\n", "x = 0\n", "x = 3\n", None]


def test_what_cannot_be_graded_does_not_end_it(watched):
    """Ctrl-C does; in a grading, the one before is the last. A file is graded when complete."""

    def save():
        watched.save("")
        watched.meanwhile += [lambda: watched.save("x ="), lambda: watched.save("x = 1\n")]

    def refuse(finished):
        raise UserError("It is a link.")

    last, saves = report(IDS[0]), [lambda n=n: watched.save(f"x = {n}\n") for n in (22, 333)]
    shown = watched.run(report(*IDS), [save, *saves], refuse, last, interrupt)
    assert "  It is a link.\n" in shown and "passing: 1h-3-basic, 1h-9-basic" in shown
    assert watched.last is last and watched.graded == ["x = 1\n", "x = 22\n", "x = 333\n"]


def test_when_all_pass_it_grades_with_new_inputs_and_stays_with_those_that_fail(watched):
    saves = [lambda n=n: watched.save(f"x = {n}\n") for n in (1, 22)]
    shown = watched.run(report(*IDS), saves, report(), report(IDS[1]), report(IDS[1]))
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
    shown = watched.run(report(*IDS), saves, save, report(IDS[0]))
    assert watched.graded == ["x = 1\n", "x = 2\n"]
    assert "  Saved again before " in shown
    assert "passing: 1h-3-basic, 1h-9-basic" in shown


def test_a_session(tmp_path):
    """Real gradings, ended by Ctrl-C."""
    folder = make((), tmp_path / "code")
    answers = folder / "problem5" / "hand_attention.json"
    content, shown = json.loads(answers.read_text(encoding="utf-8")), ""
    content["output"][0][0] += 1
    words = ["5a-0", "--watch", "--submission", folder, "--allow-weak-isolation"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    process = subprocess.Popen([sys.executable, ROOT / "src" / "grader.py", *words], **pipes)
    late = threading.Timer(100, process.kill)
    late.start()
    for line in process.stdout:
        shown += line
        if line.startswith("Watching"):
            answers.write_text(json.dumps(content), encoding="utf-8")
        elif " -> " in line:
            process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    late.cancel()
    assert process.returncode == 1 and errors == "" and "Traceback" not in shown
    assert "Ctrl-C" in shown and "hand_attention.json changed" in shown
    assert "output[0] is off" in shown and "Now failing: 5a-0-basic" in shown
