"""The time that a submission may take, in all."""

import dataclasses
import tempfile
from pathlib import Path

import pytest

from proof import CHECKS, MANIFEST, STAGED

from autograder import Allowance, Verdict, grade
from autograder.process import Reply
from checks.support.asked import by_reference
from checks.support.context import Context
from checks.support.session import Setting, grade_submission
from checks.support.staging import stage
from instructor.mistakes.patches import Text, changed, make


@pytest.fixture
def graded(tmp_path, process):
    """A function that grades the reference, with more code in one file, by its basic checks.

    Args:
        first, last: what stands before and behind the file's own code.
        seconds: the limit of each check.
        whole: the Allowance of all.
    """

    def run(file, ids, first="", last="", seconds=3, whole=None):
        changes = (Text(file, f"{first}\n{changed(())[file]}\n{last}\n"),)
        checks = [check for check in MANIFEST.select(ids) if check.kind == "basic"]
        checks = [dataclasses.replace(check, seconds=seconds) for check in checks]
        with tempfile.TemporaryDirectory(dir=STAGED.name) as folder:
            staged, _ = stage(make(changes, tmp_path / "submission"), Path(folder))
            context = Context(Path(folder), None, None, None, {})
            material = [CHECKS], process, staged, 1, context
            return grade(MANIFEST, checks, *material, whole=whole, default=by_reference)

    return run


ENDLESS = "while True: pass"
WORK = "import time\nend = time.process_time() + 1.3\nwhile time.process_time() < end: pass"


@pytest.mark.parametrize(
    "file, ids, right",
    [
        ("dataset.py", ["1c"], set()),
        # model.py imports it
        ("attention.py", ["1d", "1h-6", "5d-1"], {"5d-1-basic"}),
        ("problem5/encoder.py", ["5d", "6c-5"], {"6c-5-basic"}),
        # in a folder, and used through its module
        ("problem6/efficient_attention.py", ["6d-6", "6d-7", "6b-1"], {"6b-1-basic"}),
    ],
)
def test_an_endless_import_is_waited_for_once(file, ids, right, graded, process, monkeypatch):
    """Checks that need a file that never ends: one is waited for, and the import by itself. The
    others earn their points.
    """
    timeouts, call = [], process.call

    def counted(*arguments):
        reply = call(*arguments)
        timeouts.append(reply.ended == "timeout")
        return reply

    monkeypatch.setattr(process, "call", counted)
    report = graded(file, ids, first=ENDLESS * (file == "dataset.py"), last=ENDLESS, seconds=2)
    for id, outcome in report.outcomes.items():
        assert outcome.verdict is (Verdict.PASSED if id in right else Verdict.TIMEOUT)
        assert id in right or f"Importing {file} does not finish" in outcome.details
    assert sum(timeouts) == 1


@pytest.mark.parametrize("endless", [ENDLESS, "__import__('time').sleep(1000)"])
def test_endless_functions_leave_right_answers_their_time(graded, endless):
    """Checks of an endless function come first and may take longer than all checks together."""
    code = f"def endless(self, index):\n    {endless}\nCharCorruptionDataset.__getitem__ = endless"
    report = graded("dataset.py", ["1c", "5d-1"], last=code, whole=Allowance(6, clock=20))
    assert len(report.outcomes) > 3 and list(report.outcomes)[-1] == "5d-1-basic"
    *endless, right = report.outcomes.values()
    assert {outcome.verdict for outcome in endless} == {Verdict.TIMEOUT}
    assert right.verdict is Verdict.PASSED


def test_right_answers_may_use_all_the_time(graded):
    """Some need more than a fair share, and the others leave it to them."""
    ids, whole = ["6c-4", "6c-5", "6c-6", "5d-1", "5d-2", "5d-3"], Allowance(7)
    report = graded("problem5/encoder.py", ids, last=WORK, whole=whole)
    assert report.passed, [outcome.message for outcome in report.outcomes.values()]


@pytest.mark.parametrize("limit", ["seconds", pytest.param("clock", marks=pytest.mark.full)])
def test_all_checks_together_have_a_time(tmp_path, worker, limit):
    """What comes after its end is a timeout that says so; what came before keeps its points."""
    submission = make((), tmp_path / "submission")
    checks = MANIFEST.select(["1c-0-basic", "1h-2-basic", "1h-6-basic"])
    report = grade_submission(submission, checks[:2], Setting(**{limit: 0.0}), 1, worker=worker)
    assert report.score == 0
    for outcome in report.outcomes.values():
        assert "The time for all checks together" in outcome.message
    file, marker = submission / "attention.py", "START_CODE_HERE ###\n"
    text = file.read_text(encoding="utf-8")
    slow = text.replace(marker, f"{marker}    while True: pass\n", 1)
    file.write_text(slow, encoding="utf-8")
    worker.processes[0].start()
    limits = Setting(**{limit: 5 if limit == "seconds" else 12})
    report = grade_submission(submission, checks, limits, 1, worker=worker)
    passed, slow, late = report.outcomes.values()
    assert passed.verdict is Verdict.PASSED and {slow.verdict, late.verdict} == {Verdict.TIMEOUT}


@pytest.mark.parametrize("again", [True, False])
def test_a_timeout_on_a_busy_machine_is_tried_again_where_that_is_wanted(
    tmp_path, worker, monkeypatch, again
):
    finished, ids = [], ["1c-0-basic", "1c-1-basic"]
    call = worker.processes[0].call
    replies = iter([Reply("timeout", seconds=100, cpu=15)])

    def first_is_lost(*arguments):
        return next(replies, None) or call(*arguments)

    monkeypatch.setattr(worker.processes[0], "call", first_is_lost)
    given = make((), tmp_path / "submission"), MANIFEST.select(ids), Setting(again=again), 1
    report = grade_submission(*given, finished=finished.append, worker=worker)
    assert [outcome.id for outcome in finished] == ids + ids[:1] * again
    assert finished[0].busy and finished[0].verdict is Verdict.TIMEOUT and report.passed == again
