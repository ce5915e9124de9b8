"""The time that a submission may take, in all."""

import dataclasses
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from proof import CHECKS, MANIFEST, STAGED

from autograder import Allowance, Verdict, grade
from autograder.process import Reply
from checks.support.cases import Released
from checks.support.session import Setting, grade_submission
from checks.support.staging import stage
from variants import make


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
def test_an_endless_import_is_waited_for_once(file, ids, right, tmp_path, process, monkeypatch):
    """Checks that need a file that never ends: one is waited for, and the import by itself. The
    others earn their points.
    """
    submission = make((), tmp_path / "submission")
    text = (submission / file).read_text(encoding="utf-8")
    if file == "dataset.py":
        text = "while True: pass\n" + text
    (submission / file).write_text(text + "\nwhile True: pass\n", encoding="utf-8")
    checks = [
        dataclasses.replace(check, seconds=2)
        for check in MANIFEST.select(ids)
        if check.kind == "basic"
    ]
    context = SimpleNamespace(cases=Released())
    timeouts = []
    call = process.call

    def counted(*arguments):
        reply = call(*arguments)
        timeouts.append(reply.ended == "timeout")
        return reply

    monkeypatch.setattr(process, "call", counted)
    with tempfile.TemporaryDirectory(dir=STAGED.name) as folder:
        staged, _ = stage(submission, Path(folder))
        report = grade(MANIFEST, checks, [CHECKS], process, staged, 1, context)
    passed = {id for id, outcome in report.outcomes.items() if outcome.verdict is Verdict.PASSED}
    assert passed == right
    for id in report.outcomes.keys() - right:
        assert report.outcomes[id].verdict is Verdict.TIMEOUT
        assert f"Importing {file} does not finish" in report.outcomes[id].details
    assert sum(timeouts) == 1


def test_endless_functions_leave_right_answers_their_time(tmp_path, process):
    """Checks of an endless function come first and may take longer than all checks together."""
    submission = make((), tmp_path / "submission")
    text = (submission / "dataset.py").read_text(encoding="utf-8")
    text += "\ndef endless(self, index):\n    while True: pass\n"
    text += "CharCorruptionDataset.__getitem__ = endless\n"
    (submission / "dataset.py").write_text(text, encoding="utf-8")
    checks = [
        dataclasses.replace(check, seconds=3)
        for check in MANIFEST.select(["1c", "5d-1"])
        if check.kind == "basic"
    ]
    assert len(checks) > 3 and checks[-1].id == "5d-1-basic"
    with tempfile.TemporaryDirectory(dir=STAGED.name) as folder:
        staged, _ = stage(submission, Path(folder))
        context = SimpleNamespace(cases=Released())
        whole = Allowance(6)
        report = grade(MANIFEST, checks, [CHECKS], process, staged, 1, context, whole=whole)
    *endless, right = report.outcomes.values()
    assert {outcome.verdict for outcome in endless} == {Verdict.TIMEOUT}
    assert right.verdict is Verdict.PASSED


def test_right_answers_may_use_all_the_time(tmp_path, process):
    """Some need more than a fair share, and the others leave it to them."""
    submission = make((), tmp_path / "submission")
    file = submission / "problem5" / "encoder.py"
    text = file.read_text(encoding="utf-8")
    file.write_text(text + "\nimport time\ntime.sleep(1.3)\n", encoding="utf-8")
    checks = [
        dataclasses.replace(check, seconds=3)
        for check in MANIFEST.select(["6c-4", "6c-5", "6c-6", "5d-1", "5d-2", "5d-3"])
    ]
    with tempfile.TemporaryDirectory(dir=STAGED.name) as folder:
        staged, _ = stage(submission, Path(folder))
        context = SimpleNamespace(cases=Released())
        whole = Allowance(6)
        report = grade(MANIFEST, checks, [CHECKS], process, staged, 1, context, whole=whole)
    assert report.passed, [outcome.message for outcome in report.outcomes.values()]
    assert whole.counted > 3 * 1.3


@pytest.mark.parametrize("limit", ["seconds", pytest.param("wall", marks=pytest.mark.full)])
def test_all_checks_together_have_a_time(tmp_path, worker, limit):
    """What comes after its end is a timeout that says so; what came before keeps its points."""
    submission = make((), tmp_path / "submission")
    checks = MANIFEST.select(["1c-0-basic", "1h-2-basic", "1h-6-basic"])
    report = grade_submission(submission, checks[:2], Setting(**{limit: 0.0}), 1, worker=worker)
    assert report.score == 0 and all(
        "The time for all checks together" in outcome.message
        for outcome in report.outcomes.values()
    )
    text = (submission / "attention.py").read_text(encoding="utf-8")
    (submission / "attention.py").write_text(
        text.replace(
            "START_CODE_HERE ###\n", "START_CODE_HERE ###\n    import time; time.sleep(30)\n", 1
        ),
        encoding="utf-8",
    )
    worker.processes[0].start()
    limits = Setting(**{limit: 5 if limit == "seconds" else 12})  # wall time needs more room
    report = grade_submission(submission, checks, limits, 1, worker=worker)
    passed, slow, late = report.outcomes.values()
    assert passed.verdict is Verdict.PASSED and {slow.verdict, late.verdict} == {Verdict.TIMEOUT}


@pytest.mark.parametrize("again", [True, False])
def test_a_timeout_on_a_busy_machine_is_tried_again_where_that_is_wanted(
    tmp_path, worker, monkeypatch, again
):
    setting, finished = Setting(again=again), []
    submission = make((), tmp_path / "submission")
    ids = ["1c-0-basic", "1c-1-basic"]
    call = worker.processes[0].call
    replies = iter([Reply("timeout", seconds=60, cpu=15, waited=45)])

    def first_is_lost(*arguments):
        return next(replies, None) or call(*arguments)

    monkeypatch.setattr(worker.processes[0], "call", first_is_lost)
    report = grade_submission(
        submission, MANIFEST.select(ids), setting, 1, finished=finished.append, worker=worker
    )
    assert [outcome.id for outcome in finished] == ids + ids[:1] * again
    assert finished[0].busy and finished[0].verdict is Verdict.TIMEOUT and report.passed == again
