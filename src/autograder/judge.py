"""Run verdicts: `check` names a function after a check of the manifest, and a Judge calls it with
what its parameters ask for. Each of several student's processes has a thread of its own.
"""

import contextlib
import importlib.util
import inspect
import re
import sys
import threading
import time
import traceback
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from .process import ProcessError
from .student import Student
from .verdicts import GRADER_FAILED, Failed, Outcome, Verdict

DETAILS_LIMIT = 20_000  # characters; a submission may have written them


def check(*ids: str) -> Callable:
    """Decorator: this function is the verdict of these checks of the manifest.

    It is called with those of these arguments that it names: `student`, the Student to run probes
    on; `rng`, a NumPy Generator that is the same for the same seed and check; `calls`, with the
    right replies, drawn by `context.rounds.draw(id, rng)`; `context`, what was given to `grade`.
    """

    def mark(function):
        function.checks = ids
        return function

    return mark


class Verdicts:
    """The verdicts in check files.

    Args:
        folders: where the files (q*.py) are, at any depth.
        ids: of the checks that are needed; a file that mentions none of them is not imported.
        default: the verdict of checks that no function is marked as.

    Attributes:
        functions: id -> its verdict.
        errors: what is wrong with the files.
    """

    def __init__(
        self, folders: Iterable[Path], ids: Iterable[str], default: Callable | None = None
    ):
        self.functions: dict[str, Callable] = {}
        self.errors: list[str] = []
        twice = set()
        for path in [path for folder in folders for path in sorted(folder.rglob("q*.py"))]:
            text = path.read_text(encoding="utf-8", errors="replace")
            if not any(id in text for id in ids):
                continue
            try:
                verdicts = _verdicts_in(path)
            except Exception:
                self.errors.append(f"{path}: {traceback.format_exc()[-1500:]}")
                continue
            for id, function in verdicts:
                if id in self.functions:
                    twice.add(id)
                self.functions[id] = function
        for id in twice:
            self.errors.append(f"Several functions are marked as {id}.")
            del self.functions[id]
        if default and not self.errors:  # else one could be in a file that cannot be read
            self.functions = dict.fromkeys(ids, default) | self.functions


def _verdicts_in(path):
    """Import a check file; returns (id, function) of each verdict that it defines."""
    name = f"verdicts_{zlib.crc32(str(path.resolve()).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = [value for value in vars(module).values() if inspect.isfunction(value)]
    return [(id, value) for value in functions for id in getattr(value, "checks", ())]


class Judge:
    """Runs the checks of one submission; `outcomes` has an Outcome for each that ran.

    Args:
        checks: the manifest's checks to run, by id.
        verdicts: their functions, by id.
        submission: the student.Submission.
        seed: of all that checks draw; a check's draws depend only on it and on the check's id.
        context: anything else that this course's checks need.
        finished: called with each Outcome, by one thread at a time.
        whole: the time for all checks together.
    """

    def __init__(self, checks, verdicts, submission, seed, context, finished, whole):
        self.checks = checks
        self.verdicts = verdicts
        self.submission = submission
        self.seed = seed
        self.context = context
        self.finished = finished
        self.whole = whole
        self.outcomes: dict[str, Outcome] = {}
        self.lock = threading.Lock()
        self.quarter = whole.rest / 4
        self.lost = 0.0  # seconds, to timeouts
        self.cut_short: list[str] = []  # checks
        self.repeats = False
        self.stopped = False
        # files whose import does not end; basic checks must not learn what hidden ones found
        self.endless: dict[str, set[str]] = {"basic": set(), "hidden": set()}

    def run(self, processes: list) -> None:
        """Run all checks, in their order, and then those that were cut short (see `_seconds`)
        again.

        Args:
            processes: StudentProcesses, or one SameProcess; each runs one check at a time.
        """
        self._share([id for id in self.checks if id in self.verdicts], processes)
        self.repeats = True
        self._share(self.cut_short, processes)

    def _share(self, ids, processes):
        """Let each process take the next check until none is left."""
        waiting = deque(ids)
        first, *others = processes

        def work(process):
            try:
                process.start()
            except ProcessError:
                if process is not first:
                    return  # and leave the checks to the others; each of the first's reports it
            while waiting and not self.stopped:
                with contextlib.suppress(IndexError):  # another thread took the last one
                    self._run(waiting.popleft(), process)

        threads = [threading.Thread(target=work, args=(process,)) for process in others]
        try:
            for thread in threads:
                thread.start()
            work(first)
            for thread in threads:
                thread.join()
        except BaseException:  # Ctrl-C
            self.stopped = True
            for process in others:
                process.stop()
            for thread in filter(threading.Thread.is_alive, threads):
                thread.join()
            raise

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

    def _run(self, id, process):
        """Run a check, and note its outcome, unless it was cut short."""
        check = self.checks[id]
        with self.lock:
            seconds = self._seconds(check)
        limits = self.whole, self.endless[check.kind], seconds
        student = Student(process, self.submission, check, self.seed, *limits)
        started = time.perf_counter()
        error = None
        try:
            self._call(id, student)
        except Exception as raised:
            error = raised
        outcome = _outcome(check, student, error)
        outcome.seconds = time.perf_counter() - started
        with self.lock:
            self.endless["hidden"] |= self.endless["basic"]
            if outcome.verdict is Verdict.TIMEOUT or student.cut_short:
                self.lost += student.counted
            if error and student.cut_short and not self.repeats:
                self.cut_short.append(id)
            elif not self.stopped:
                self.outcomes[id] = outcome
                self.finished(outcome)

    def _call(self, id, student):
        """Call a verdict with the arguments that it names."""
        rng = student.generator()
        verdict = self.verdicts[id]
        given = {"student": student, "rng": rng, "context": self.context}
        names = inspect.signature(verdict).parameters
        if "calls" in names:
            given["calls"] = self.context.rounds.draw(id, rng)
        verdict(**{name: given[name] for name in names})


def _outcome(check, student, error):
    """The Outcome of a check whose verdict raised an error, or None."""
    outcome = Outcome(
        check.id, Verdict.PASSED, check.points, hints=student.hints, facts=student.facts
    )
    if isinstance(error, (Failed, AssertionError)):
        # A plain assert is also a wrong answer; its text is written for the student.
        outcome.verdict = error.verdict if isinstance(error, Failed) else Verdict.WRONG_ANSWER
        fraction = error.fraction if isinstance(error, Failed) and check.partial else 0.0
        outcome.score = check.points * min(1.0, max(0.0, fraction))
        outcome.compared = _compared(error) if check.kind == "basic" else None
        outcome.details = str(error).strip() or "wrong"
        if outcome.verdict is not Verdict.NOT_IMPLEMENTED:
            outcome.details += "".join(
                line
                for pattern, line in student.causes
                if re.search(pattern, outcome.details, re.IGNORECASE)
            )
        if student.output.strip():
            outcome.details += "\nThe code printed:\n" + student.output.strip()[-1000:]
    elif error is not None:
        outcome.verdict, outcome.score = Verdict.GRADER_ERROR, 0.0
        outcome.details = str(error)
        if not isinstance(error, ProcessError):
            outcome.details = "".join(traceback.format_exception(error))
    outcome.cpu_seconds = student.cpu_seconds
    outcome.busy = outcome.verdict is Verdict.TIMEOUT and student.busy
    outcome.details = outcome.details[:DETAILS_LIMIT]
    outcome.message = _for_student(check, outcome)
    return outcome


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
