"""Grades a submission again whenever one of its files is saved, and writes what changed."""

import _thread
import contextlib
import hashlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from autograder import Report, Verdict, draw_seed
from autograder.report import BOLD, GREEN, RED, Table, harmless, write_failures
from checks.support.next_part import advise
from checks.support.staging import code_limit, result_limit
from common.files import UserError
from jobs.deliverables import names_in

POLL = 0.05  # seconds between two looks at the files; a look takes less than 1 ms


class Outdated(Exception):
    """A file was saved while it was graded."""


class Files:
    """What is in the files of a submission. A file is only read when its time or size changes.

    seen: the hashes of the version that is graded; at first, of now.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.read: dict[str, tuple[tuple, str]] = {}  # name -> when and how long, content's hash
        self.seen = self.look()

    def look(self) -> dict[str, str]:
        """Hashes of the files, by name. What vanishes while it is read isn't there."""
        found = {}
        for name in self._names():
            try:
                status = (self.folder / name).stat()
                stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
                if self.read.get(name, (None,))[0] != stamp:
                    content = (self.folder / name).read_bytes()
                    self.read[name] = (stamp, hashlib.sha256(content).hexdigest())
                found[name] = self.read[name][1]
            except OSError:
                continue
        return found

    def settled(self, sleep: Callable[[float], None]) -> dict[str, str]:
        """As `look`, when nothing changes any more: a file may be half written."""
        found = self.look()
        while True:
            sleep(POLL)
            before, found = found, self.look()
            if found == before:
                return found

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """A context that a saved file ends early.

        Raises:
            Outdated: a file was saved.
        """
        over, saved = threading.Event(), threading.Event()

        def look():
            while not over.wait(POLL):
                if self.look() != self.seen:
                    saved.set()
                    interrupt()  # as Ctrl-C does
                    return

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            try:
                yield
            finally:
                over.set()
                thread.join()
                time.sleep(0)  # an interrupt that is under way arrives here
        except KeyboardInterrupt:
            if saved.is_set():
                raise Outdated from None
            raise

    def _names(self):
        try:
            return [
                name for name in names_in(self.folder) if code_limit(name) or result_limit(name)
            ]
        except OSError:  # a folder vanished
            return []


def interrupt() -> None:
    """Interrupt the main thread; on Windows, once it no longer waits for something."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    else:
        _thread.interrupt_main()


def watch(
    files: Files,
    report: Report,
    grade: Callable[[int], Report],
    repeat: Callable[[list[str], int], str],
    table: Table,
    ready: Callable[[], None] = lambda: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Grade a submission again after each change until Ctrl-C, with the same random inputs each
    time; when all passes, once more with new ones. A change during a grading starts it again.

    Args:
        files: of the submission, as they were before the last grading.
        report: of the grading before.
        grade: grades the submission with a seed.
        repeat: returns the command that repeats checks with the given ids and seed.
        table: where to write.
        ready: called while nothing happens, to prepare the next grading.
        sleep: waits for some seconds.

    Returns:
        The Report of the last grading.
    """

    def grade_this(seed):
        with files.unchanged():
            return grade(seed)

    try:
        _say(table, f"\nWatching {harmless(str(files.folder))}. Ctrl-C ends it.")
        while True:
            if files.look() == files.seen:
                ready()
                sleep(POLL)
                continue
            before, files.seen = files.seen, files.settled(sleep)
            names = [
                name
                for name in sorted({*before, *files.seen})
                if before.get(name) != files.seen.get(name)
            ]
            if not names:
                continue
            heading = f"\n{time.strftime('%H:%M:%S')}  {harmless(', '.join(names))} changed"
            _say(table, table.paint(heading, BOLD))
            try:
                last, report = report, grade_this(report.seed)
                write_changes(last, report, repeat, table)
                if report.passed:
                    report = _with_new_inputs(report, grade_this, repeat, table)
                _say(table, "")
                table.write(advise(report, files.folder, lambda ids: repeat(ids, None)))
            except UserError as error:  # no longer a submission
                _say(table, f"  {error}")
            except Outdated:
                files.seen = before  # the changes still count
                _say(table, "  Saved again before the grading had ended.")
    except KeyboardInterrupt:
        _say(table, "")
        return report


def write_changes(
    last: Report, report: Report, repeat: Callable[[list[str], int], str], table: Table
) -> None:
    """Write how a grading differs from the one before: the checks whose outcome changed, their
    failures in full, new notices, and the scores.
    """
    changed = {
        id: outcome
        for id, outcome in report.outcomes.items()
        if _essence(outcome) != _essence(last.outcomes[id])
    }
    table.question = None  # the heading again
    for outcome in changed.values():
        table.line(outcome)
    news = [notice for notice in report.notices if notice not in last.notices]
    write_failures(
        replace(report, outcomes=changed, notices=news), table, lambda ids: repeat(ids, report.seed)
    )
    if changed or news:
        _say(table, "")
    failing = _failing(report)
    for label, ids, color in (
        ("Now passing", _failing(last) - failing, GREEN),
        ("Now failing", failing - _failing(last), RED),
        ("Still failing", failing & _failing(last), RED),
    ):
        if ids:
            ordered = ", ".join(id for id in report.outcomes if id in ids)
            table.write(f"  {label}: {ordered}", color=color)
    scores = f"{report.score:g} of {report.max_score_here:g}"
    if changed:
        scores = f"{last.score:g} -> {scores}"
    else:
        scores = f"Nothing changed: {scores}"
    _say(table, table.paint(f"  {scores}", BOLD) + f"   in {report.seconds:.1f} s")


def _with_new_inputs(report, grade, repeat, table):
    """The Report of a grading with a new seed, if it doesn't pass; from then on that is the seed,
    so that its failures stay.
    """
    _say(table, "  All pass. Once more with new random inputs:")
    again = grade(draw_seed(secret=report.hidden))
    if again.passed:
        _say(table, "  They pass, too.")
        return report
    write_changes(report, again, repeat, table)
    return again


def _essence(outcome):
    """What a student would call another outcome."""
    return outcome.verdict, outcome.score, outcome.message, outcome.details, outcome.hints


def _failing(report):
    """The ids of the checks that ran and did not pass."""
    return {
        id
        for id, outcome in report.outcomes.items()
        if outcome.verdict not in (None, Verdict.PASSED)
    }


def _say(table, text):
    print(text, file=table.stream, flush=True)
