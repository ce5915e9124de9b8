"""The pytest plugin that runs verdicts: `check` marks a test, fixtures give it the student, and its
result becomes an Outcome.
"""

import contextlib
import re
import time
import zlib
from collections import Counter

import numpy as np
import pytest

from .endless_imports import Stuck
from .process import ProcessError
from .student import Student
from .verdicts import GRADER_FAILED, Failed, Outcome, Verdict

DETAILS_LIMIT = 20_000  # characters; a submission may have written them


def check(id: str):
    """Decorator: this test is the verdict of the manifest's check `id`."""
    return pytest.mark.check(id)


class Judge:
    """A pytest plugin for one grading; `outcomes` has an Outcome for every check that ran.

    Args:
        checks: the manifest's checks to run, by id.
        process: where probes run.
        submission: the student.Submission.
        seed: of all that checks draw; a check's draws depend only on it and on the check's id.
        context: anything else that this course's checks need; they get it as the fixture
            `context`.
        finished: called with each Outcome.
        whole: the time for all checks together.
        board: where several judges share the checks; None for this one alone.
    """

    def __init__(self, checks, process, submission, seed, context, finished, whole, board=None):
        self.checks = checks
        self.process = process
        self.submission = submission
        self.seed = seed
        self.course = context
        self.finished = finished
        self.whole = whole
        self.board = board
        self.outcomes: dict[str, Outcome] = {}
        self.errors: list[str] = []  # check files that could not be read
        self.students: dict[str, Student] = {}
        self.quarter = whole.rest / 4
        self.lost = 0.0  # seconds, to timeouts
        self.cut_short: dict[str, pytest.Item] = {}
        self.repeats = False
        self.stuck = Stuck(process, submission, whole)

    @property
    def helps(self) -> bool:
        """Whether another judge runs what this one doesn't."""
        return self.board is not None and not self.board.leads

    # Fixtures of verdicts

    @pytest.fixture
    def student(self, request):
        """The submission; see student.Student."""
        check = self.checks[_id(request.node)]
        arguments = self.process, self.submission, check, self.seed, self.whole, self.stuck
        student = self.students[check.id] = Student(*arguments, self._seconds(check))
        return student

    @pytest.fixture
    def rng(self, request):
        """A NumPy Generator that is the same for the same seed and check."""
        return np.random.default_rng([self.seed, zlib.crc32(_id(request.node).encode())])

    @pytest.fixture
    def cases(self, request, rng):
        """Calls with their answers, drawn for this check by `context.cases.draw(id, rng)`."""
        return self.course.cases.draw(_id(request.node), rng)

    @pytest.fixture
    def context(self):
        """What this course's grader passed to grade()."""
        return self.course

    # Hooks

    def pytest_configure(self, config):
        """Register the marker."""
        # nobody reads pytest's own account of a failure, and its usual one takes long to write
        config.option.tbstyle = "native"
        config.addinivalue_line(
            "markers", "check(id): this test is the verdict of a check of the manifest"
        )

    def pytest_collectreport(self, report):
        """Note a check file that cannot be read."""
        if report.failed:
            self.errors.append(f"{report.nodeid}: {str(report.longrepr)[-1500:]}")

    def pytest_collection_modifyitems(self, items):
        """Keep what should run; a check claimed by two tests is a grader error."""
        items[:] = [item for item in items if _id(item) in self.checks]
        for id, count in Counter(map(_id, items)).items():
            if count > 1:
                self.errors.append(f"{count} tests are marked as {id}")
        items[:] = [
            item
            for item in items
            if not any(error.endswith(f"marked as {_id(item)}") for error in self.errors)
        ]
        order = list(self.checks)
        items.sort(key=lambda item: order.index(_id(item)))

    def pytest_runtestloop(self, session):
        """Wait for the student's process, which has been starting meanwhile; then run what no other
        judge has taken, and what was cut short (see `_seconds`) again.
        """
        with contextlib.suppress(ProcessError):  # each check then reports it
            self.process.start()
        self._run(session.items)
        self.repeats = True
        self._run(list(self.cut_short.values()))
        return True

    def _seconds(self, check):
        """How long a check may take now, so that endless loops in some functions leave the answers
        in others their time, and a second grading, where a fault costs points only once, its own.

        A quarter of the time for all checks may be lost to timeouts. From then on, each check gets
        its fair share of the rest, in proportion to its limit. Checks that this cuts short run
        again at the end, until only a quarter is left.
        """
        rest = self.whole.rest
        if self.repeats:
            return min(check.seconds, rest - self.quarter)
        waiting = sum(
            other.seconds
            for other in self.checks.values()
            if other.id not in self.outcomes and other.id not in self.cut_short
        )
        return min(check.seconds, max(rest * check.seconds / waiting, self.quarter - self.lost))

    def _run(self, items):
        waiting = list(items)
        while waiting:
            for item in waiting:
                if self._take(item):
                    break
            else:  # others are running them
                if self.helps:
                    return
                item = waiting[0]
                self._take(item, wait=True)
            waiting.remove(item)

    def _take(self, item, wait=False):
        """Run a check, or get its outcome from another judge; returns whether that was possible."""
        id = _id(item)
        with self.board.take(id, wait) if self.board else contextlib.nullcontext() as place:
            if self.board and place is None:
                return False
            if place and place.outcome:
                self.outcomes[id] = place.outcome
                self.whole.spent_elsewhere(place.outcome.cpu_seconds)
                self.finished(place.outcome)
                return True
            before = self.whole.counted
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            outcome = self.outcomes.get(id)
            if outcome is None:
                self.cut_short[id] = item
            elif place:
                place.post(outcome)
            if outcome is None or outcome.verdict is Verdict.TIMEOUT:
                self.lost += self.whole.counted - before
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Start a check's timer."""
        self.started = time.perf_counter()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Turn the result of a test, or of its set-up, into an Outcome."""
        report = yield
        if call.when == "call" or (call.when == "setup" and call.excinfo):
            self._record(self.checks[_id(item)], call.excinfo)
        return report

    def _record(self, check, excinfo):
        student = self.students.get(check.id)
        outcome = Outcome(
            check.id,
            Verdict.PASSED,
            check.points,
            seconds=time.perf_counter() - self.started,
            hints=student.hints if student else [],
            facts=student.facts if student else {},
        )
        error = excinfo.value if excinfo else None
        if isinstance(error, KeyboardInterrupt):
            return
        if error and student and student.cut_short and not self.repeats:
            return
        if isinstance(error, (Failed, AssertionError)):
            # A plain assert is also a wrong answer; its text is written for the student.
            outcome.verdict = error.verdict if isinstance(error, Failed) else Verdict.WRONG_ANSWER
            fraction = error.fraction if isinstance(error, Failed) and check.partial else 0.0
            outcome.score = check.points * min(1.0, max(0.0, fraction))
            outcome.compared = _compared(error) if check.kind == "basic" else None
            outcome.details = str(error).strip() or "wrong"
            if student and outcome.verdict is not Verdict.NOT_IMPLEMENTED:
                outcome.details += "".join(
                    line
                    for pattern, line in student.causes
                    if re.search(pattern, outcome.details, re.IGNORECASE)
                )
            if student and student.output.strip():
                outcome.details += "\nThe code printed:\n" + student.output.strip()[-1000:]
        elif error is not None:
            outcome.verdict, outcome.score = Verdict.GRADER_ERROR, 0.0
            outcome.details = str(error)
            if not isinstance(error, ProcessError):
                outcome.details = (
                    f"{type(error).__name__}: {error}\n{excinfo.getrepr(style='short')}"
                )
        outcome.cpu_seconds = student.cpu_seconds if student else 0.0
        outcome.busy = outcome.verdict is Verdict.TIMEOUT and student.busy
        outcome.details = (
            "" if outcome.verdict is Verdict.PASSED else outcome.details[:DETAILS_LIMIT]
        )
        outcome.message = _for_student(check, outcome)
        self.outcomes[check.id] = outcome
        self.finished(outcome)


def _id(item):
    mark = item.get_closest_marker("check")
    return mark.args[0] if mark else None


def _compared(error):
    """What a check compared last; it may have raised another error to add to the message."""
    while error and not getattr(error, "compared", None):
        error = error.__context__
    return error and error.compared


def _for_student(check, outcome):
    """What a student may read: for a hidden check, only its title."""
    if outcome.verdict is Verdict.PASSED:
        return ""
    if outcome.verdict is Verdict.GRADER_ERROR:
        return GRADER_FAILED
    if check.kind != "hidden":
        return outcome.details
    # No text that the submission could have written: it could leak the check's inputs.
    missing = (
        " Something that it needs is not implemented yet."
        if outcome.verdict is Verdict.NOT_IMPLEMENTED
        else ""
    )
    return f"Hidden check: {check.title}.{missing}"
