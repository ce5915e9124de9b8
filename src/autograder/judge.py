"""Run verdicts: `check` names a function after a check of the manifest, and a Judge calls it with
what its parameters ask for. Each of several student's processes has a thread of its own.
"""

import importlib.util
import inspect
import sys
import threading
import time
import traceback
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .allowance import by_the_clock
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


def verdicts_in(
    folders: Iterable[Path], ids: Iterable[str], default: Callable | None = None
) -> tuple[dict[str, Callable], list[str]]:
    """The verdicts in check files, by id, and what is wrong with the files.

    Args:
        folders: where the files (q*.py) are, at any depth.
        ids: of the checks that are needed; a file that mentions none of them is not imported.
        default: the verdict of checks that no function is marked as.
    """
    found, errors = {}, []
    for path in [path for folder in folders for path in sorted(folder.rglob("q*.py"))]:
        text = path.read_text(encoding="utf-8", errors="replace")
        if not any(id in text for id in ids):
            continue
        try:
            functions = filter(inspect.isfunction, vars(_imported(path)).values())
        except Exception:
            errors.append(f"{path}: {traceback.format_exc()[-1500:]}")
            continue
        for id, function in ((id, f) for f in functions for id in getattr(f, "checks", ())):
            if found.setdefault(id, function) is not function:
                errors.append(f"Several functions are marked as {id}.")
                found[id] = None
    found = {id: function for id, function in found.items() if function}
    if default and not errors:  # else one could be in a file that cannot be read
        found = dict.fromkeys(ids, default) | found
    return found, errors


def _imported(path):
    name = f"verdicts_{zlib.crc32(str(path.resolve()).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Judge:
    """Runs the checks of one submission; `outcomes` has an Outcome for each that ran.

    Args:
        verdicts: the checks' functions, by id.
        submission: the student.Submission.
        seed: of all that checks draw; a check's draws depend only on it and on the check's id.
        context: anything else that this course's checks need.
        finished: called with each Outcome, by one thread at a time.
        whole: the time for all checks together.
    """

    def __init__(self, verdicts, submission, seed, context, finished, whole):
        self.verdicts = verdicts
        self.submission = submission
        self.seed = seed
        self.context = context
        self.finished = finished
        self.whole = whole
        self.outcomes: dict[str, Outcome] = {}
        self.lock = threading.Lock()
        self.times = whole.left, whole.end - time.monotonic()  # of CPU time and by the clock
        self.lost = [0.0, 0.0]  # of these, to timeouts
        self.stopped = False
        # files whose import does not end; basic checks must not learn what hidden ones found
        self.endless: dict[str, dict[str, int]] = {"basic": {}, "hidden": {}}

    def run(self, checks: list, processes: list) -> None:
        """Run checks of the manifest, each on the next StudentProcess (or SameProcess) that is
        free.
        """
        # basic ones first: their messages are read, so they must not find what hidden ones left
        waiting = deque(sorted(checks, key=lambda check: check.kind == "hidden"))
        first, *others = processes

        def work(process):
            try:
                process.start()
            except ProcessError:
                if process is not first:
                    return  # and leave the checks to the others; each of the first's reports it
            while waiting and not self.stopped:
                try:
                    check = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                self._run(check, process, *self._limits(check, waiting))

        with ThreadPoolExecutor(max(1, len(others))) as pool:
            try:
                threads = [pool.submit(work, process) for process in others]
                work(first)
                for thread in threads:
                    thread.result()
            except BaseException:  # Ctrl-C
                self.stopped = True
                for process in others:
                    process.stop()
                raise

    def _limits(self, check, waiting):
        """How long a check may take, of CPU time and by the clock, so that endless loops in some
        functions leave the answers in others their time. A quarter of the time for all checks may
        be lost to timeouts. From then on, each gets its share of the rest, in proportion to its
        limit.
        """
        part = check.seconds / (check.seconds + sum(other.seconds for other in tuple(waiting)))
        own = check.seconds, by_the_clock(check.seconds)
        left = self.whole.left, self.whole.end - time.monotonic()
        return [
            min(limit, max(part * rest, whole / 4 - lost))
            for limit, rest, whole, lost in zip(own, left, self.times, self.lost)
        ]

    def _run(self, check, process, seconds, clock):
        """Run a check, and note its outcome."""
        limits = self.whole, self.endless[check.kind], seconds, clock
        student = Student(process, self.submission, check, self.seed, *limits)
        started, error = time.perf_counter(), None
        try:
            self._call(check.id, student)
        except Exception as raised:
            error = raised
        outcome = _outcome(check, student, error)
        outcome.seconds = round(time.perf_counter() - started, 4)
        with self.lock:
            self.endless["hidden"] |= self.endless["basic"]
            if outcome.verdict is Verdict.TIMEOUT:
                self.lost[0] += student.cpu_seconds
                self.lost[1] += outcome.seconds
            if not self.stopped:
                self.outcomes[check.id] = outcome
                self.finished(outcome)

    def _call(self, id, student):
        """Call a verdict with the arguments that it names."""
        rng = student.generator()
        given = {"student": student, "rng": rng, "context": self.context}
        names = inspect.signature(self.verdicts[id]).parameters
        if "calls" in names:
            given["calls"] = self.context.rounds.draw(id, rng)
        self.verdicts[id](**{name: given[name] for name in names})


def _outcome(check, student, error):
    """The Outcome of a check whose verdict raised an error, or None."""
    outcome = Outcome(
        check.id,
        Verdict.PASSED,
        check.points,
        hints=student.hints,
        facts=student.facts,
        cpu_seconds=round(student.cpu_seconds, 4),
    )
    if isinstance(error, (Failed, AssertionError)):
        # A plain assert is also a wrong answer; its text is written for the student.
        outcome.verdict = error.verdict if isinstance(error, Failed) else Verdict.WRONG_ANSWER
        fraction = error.fraction if isinstance(error, Failed) and check.partial else 0.0
        outcome.score = check.points * min(1.0, max(0.0, fraction))
        outcome.compared = _compared(error) if check.kind == "basic" else None
        outcome.details = str(error).strip() or "wrong"
        if student.output.strip():
            outcome.details += "\nThe code printed:\n" + student.output.strip()[-1000:]
    elif error is not None:
        outcome.verdict, outcome.score = Verdict.GRADER_ERROR, 0.0
        outcome.details = str(error)
        if not isinstance(error, ProcessError):
            outcome.details = "".join(traceback.format_exception(error))
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
