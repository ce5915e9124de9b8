"""Grades a submission again whenever one of its files is saved, and writes what changed."""

import contextlib
import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from autograder import Report, Verdict, draw_seed
from autograder.report import BOLD, GREEN, RED, Table, write_failures
from checks.support.next_part import advise
from checks.support.staging import limit_of
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
        names, found = [], {}
        with contextlib.suppress(OSError):
            names = names_in(self.folder)
        for name in (name for name in names if limit_of(name)):
            with contextlib.suppress(OSError):
                status = (self.folder / name).stat()
                stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
                if self.read.get(name, (None,))[0] != stamp:
                    content = (self.folder / name).read_bytes()
                    self.read[name] = (stamp, hashlib.sha256(content).hexdigest())
                found[name] = self.read[name][1]
        return found

    def settle(self, sleep: Callable[[float], None]) -> None:
        """Look until nothing changes any more, since a file may be half written; that is seen."""
        self.seen, before = self.look(), None
        while self.seen != before:
            sleep(POLL)
            before, self.seen = self.seen, self.look()


def watch(
    files: Files,
    report: Report,
    grade: Callable[[int, Callable], Report],
    repeat: Callable[[list[str], int], str],
    table: Table,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Grade a submission again after each change until Ctrl-C, with the same random inputs each
    time; when all passes, once more with new ones. A change during a grading ends it with the check
    that is running, and starts it again.

    Args:
        files: of the submission, as they were before the last grading.
        report: of the grading before.
        grade: grades the submission with a seed, and calls a function after each check.
        repeat: returns the command that repeats checks with the given ids and seed.
        table: where to write.
        sleep: waits for some seconds.

    Returns:
        The Report of the last grading.
    """

    def grade_this(seed):
        total = sum(outcome.verdict is not None for outcome in report.outcomes.values())
        bar = {"total": total, "desc": "  grading", "unit": "check", "leave": False, "delay": 1}
        with tqdm(**bar, disable=None) as progress:

            def finished(_):
                progress.update()
                if files.look() != files.seen:
                    raise Outdated

            return grade(seed, finished)

    try:
        table.write(f"\nWatching {files.folder}. Ctrl-C ends it.")
        while True:
            if files.look() == files.seen:
                sleep(POLL)
                continue
            before = files.seen
            files.settle(sleep)
            both = sorted({*before, *files.seen})
            names = [name for name in both if before.get(name) != files.seen.get(name)]
            if not names:
                continue
            table.write(f"\n{time.strftime('%H:%M:%S')}  {', '.join(names)} changed", color=BOLD)
            try:
                last, report = report, grade_this(report.seed)
                write_changes(last, report, repeat, table)
                if report.passed:
                    table.write("  All pass. Once more with new random inputs:")
                    again = grade_this(draw_seed(secret=report.hidden))
                    if again.passed:
                        table.write("  They pass, too.")
                    else:  # from now on, these are the inputs, so that failures stay
                        write_changes(report, again, repeat, table)
                        report = again
                table.write("")
                table.write(advise(report, files.folder, lambda ids: repeat(ids, None)))
            except UserError as error:  # no longer a submission
                table.write(f"  {error}")
            except Outdated:
                files.seen = before  # the changes still count
                table.write("  Saved again before the grading had ended.")
    except KeyboardInterrupt:
        table.write("")
        return report


def write_changes(
    last: Report, report: Report, repeat: Callable[[list[str], int], str], table: Table
) -> None:
    """Write how a grading differs from the one before: the checks whose outcome changed, their
    failures in full, new notices, and the scores.
    """

    def essence(outcome):
        """What a student would call another outcome."""
        return outcome.verdict, outcome.score, outcome.message, outcome.details, outcome.hints

    def failing(report):
        fine = (None, Verdict.PASSED)
        return {id for id, outcome in report.outcomes.items() if outcome.verdict not in fine}

    changed = {
        id: outcome
        for id, outcome in report.outcomes.items()
        if essence(outcome) != essence(last.outcomes[id])
    }
    table.question = None  # the heading again
    for outcome in changed.values():
        table.line(outcome)
    news = [notice for notice in report.notices if notice not in last.notices]
    shown = replace(report, outcomes=changed, notices=news)
    write_failures(shown, table, lambda ids: repeat(ids, report.seed))
    if changed or news:
        table.write("")
    for label, ids, color in (
        ("Now passing", failing(last) - failing(report), GREEN),
        ("Now failing", failing(report) - failing(last), RED),
        ("Still failing", failing(report) & failing(last), RED),
    ):
        if ids:
            ordered = ", ".join(id for id in report.outcomes if id in ids)
            table.write(f"  {label}: {ordered}", color=color)
    before = f"{last.score:g} ->" if changed else "Nothing changed:"
    scores = f"  {before} {report.score:g} of {report.max_score_here:g}"
    table.write(f"{scores}   in {report.seconds:.1f} s", color=BOLD)
