"""The time that a submission may take, in all."""

import dataclasses

import pytest

from proof import MANIFEST

from autograder import Verdict
from autograder.process import Reply
from checks.support.session import Setting, grade_submission
from instructor.mistakes.patches import Text, changed, make


@pytest.fixture
def graded(tmp_path_factory, worker, monkeypatch):
    """A function that grades the reference, with more code before and behind that of one file, by
    basic checks with a limit of `each` seconds; setting: fields of the Setting.
    """
    monkeypatch.setattr(worker, "after", lambda verdicts: None)  # the process serves the next test

    def run(file, ids, first="", last="", each=30, finished=lambda outcome: None, **setting):
        changes = (Text(file, f"{first}\n{changed(())[file]}\n{last}\n"),)
        checks = [check for check in MANIFEST.select(ids) if check.kind == "basic"]
        checks = [dataclasses.replace(check, seconds=each) for check in checks]
        folder = tmp_path_factory.mktemp("graded") / "submission"
        worker.processes[0].start()
        given = make(changes, folder), checks, Setting(**setting), 1
        return grade_submission(*given, finished=finished, worker=worker)

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
def test_an_endless_import_is_waited_for_once(file, ids, right, graded):
    """Checks that need a file that never ends: one is waited for, and the import by itself. The
    others earn their points.
    """
    report = graded(file, ids, first=ENDLESS * (file == "dataset.py"), last=ENDLESS, each=2)
    for id, outcome in report.outcomes.items():
        assert outcome.verdict is (Verdict.PASSED if id in right else Verdict.TIMEOUT)
        assert id in right or f"Importing {file} does not finish" in outcome.details
    late = [outcome for id, outcome in report.outcomes.items() if id not in right]
    assert sum(outcome.cpu_seconds > 1 for outcome in late) == 1


SLEEPS = pytest.param("__import__('time').sleep(1000)", marks=pytest.mark.full)


@pytest.mark.parametrize("endless", [ENDLESS, SLEEPS])
def test_endless_functions_leave_right_answers_their_time(graded, endless):
    """Checks of an endless function come first and may take longer than all checks together."""
    code = f"def endless(self, index):\n    {endless}\nCharCorruptionDataset.__getitem__ = endless"
    report = graded("dataset.py", ["1c", "5d-1"], last=code, each=3, seconds=6, clock=20)
    assert len(report.outcomes) > 3 and list(report.outcomes)[-1] == "5d-1-basic"
    *endless, right = report.outcomes.values()
    assert {outcome.verdict for outcome in endless} == {Verdict.TIMEOUT}
    assert right.verdict is Verdict.PASSED


def test_right_answers_may_use_all_the_time(graded):
    """Some need more than a fair share, and the others leave it to them."""
    ids = ["6c-4", "6c-5", "6c-6", "5d-1", "5d-2", "5d-3"]
    report = graded("problem5/encoder.py", ids, last=WORK, each=3, seconds=7)
    assert report.passed, [outcome.message for outcome in report.outcomes.values()]


@pytest.mark.parametrize("limit", ["seconds", pytest.param("clock", marks=pytest.mark.full)])
def test_all_checks_together_have_a_time(graded, limit):
    """What comes after its end is a timeout that says so; what came before keeps its points."""
    ids = ["1c-0-basic", "1h-2-basic", "1h-6-basic"]
    report = graded("attention.py", ids[:2], **{limit: 0.0})
    assert report.score == 0
    for outcome in report.outcomes.values():
        assert "The time for all checks together" in outcome.message
    slow = f"def precompute_rotary_emb(*arguments):\n    {ENDLESS}"
    report = graded("attention.py", ids, last=slow, **{limit: 5 if limit == "seconds" else 12})
    passed, slow, late = report.outcomes.values()
    assert passed.verdict is Verdict.PASSED and {slow.verdict, late.verdict} == {Verdict.TIMEOUT}


@pytest.mark.parametrize("again", [True, False])
def test_a_timeout_on_a_busy_machine_is_tried_again_where_that_is_wanted(
    graded, process, monkeypatch, again
):
    finished, ids, call = [], ["1c-0-basic", "1c-1-basic"], process.call
    replies = iter([Reply("timeout", seconds=100, cpu=15)])
    monkeypatch.setattr(process, "call", lambda *given: next(replies, None) or call(*given))
    report = graded("dataset.py", ids, finished=finished.append, again=again)
    assert [outcome.id for outcome in finished] == ids + ids[:1] * again
    assert finished[0].busy and finished[0].verdict is Verdict.TIMEOUT and report.passed == again
