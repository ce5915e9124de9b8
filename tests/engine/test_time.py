"""The time that a submission may take, in all."""

import dataclasses
import tempfile
from pathlib import Path

import pytest

from proof import CHECKS, HIDDEN, MANIFEST, STAGED, start_process

from autograder import Verdict, grade
from checks.support.session import GradingWorker, Setting, grade_submission
from checks.support.staging import stage
from variants import make


def test_an_endless_import_is_waited_for_once(tmp_path):
    """Each check of question 1c imports dataset.py, which never ends: one is waited for, and the
    import by itself.
    """
    submission = make((), tmp_path / "submission")
    text = (submission / "dataset.py").read_text(encoding="utf-8")
    (submission / "dataset.py").write_text("while True: pass\n" + text, encoding="utf-8")
    checks = [dataclasses.replace(check, seconds=2) for check in MANIFEST.select(["1c"])]
    timeouts = []
    with start_process() as process, tempfile.TemporaryDirectory(dir=STAGED.name) as folder:
        call = process.call

        def counted(*arguments):
            reply = call(*arguments)
            timeouts.append(reply.ended == "timeout")
            return reply

        process.call = counted
        staged, _ = stage(submission, Path(folder))
        report = grade(MANIFEST, checks, [CHECKS, HIDDEN], process, staged, 1, None, hidden=True)
    assert {outcome.verdict for outcome in report.outcomes.values()} == {Verdict.TIMEOUT}
    assert all(
        "Importing dataset.py does not finish" in outcome.details
        for outcome in report.outcomes.values()
    )
    assert sum(timeouts) == 2


@pytest.mark.parametrize("limit", ["seconds", pytest.param("wall", marks=pytest.mark.full)])
def test_all_checks_together_have_a_time(tmp_path, limit):
    """What comes after its end is a timeout that says so; what came before keeps its points."""
    submission = make((), tmp_path / "submission")
    checks = MANIFEST.select(["1c-0-basic", "1h-2-basic", "1h-6-basic"])
    report = grade_submission(submission, checks[:2], Setting(**{limit: 0.0}), 1)
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
    setting = Setting(**{limit: 12})
    with GradingWorker(setting) as worker:
        worker.process.start()
        report = grade_submission(submission, checks, setting, 1, worker=worker)
    passed, slow, late = report.outcomes.values()
    assert passed.verdict is Verdict.PASSED and {slow.verdict, late.verdict} == {Verdict.TIMEOUT}
