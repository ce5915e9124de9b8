"""Write a Report as text for people and as JSON for programs."""

import json
import re
import shutil
from collections.abc import Callable
from itertools import groupby
from typing import TextIO

from .grade import Report
from .manifest import Check
from .verdicts import Outcome, Verdict

GREEN, RED, YELLOW, BOLD, PLAIN = "\033[32m", "\033[31m", "\033[33m", "\033[1m", "\033[0m"


def harmless(text: str) -> str:
    """Text that is safe to print in a terminal: control characters other than newline and tab,
    bidirectional overrides and line separators are escaped.
    """
    return re.sub(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]",
        lambda match: f"\\x{ord(match[0]):02x}",
        text.replace("\r\n", "\n"),
    )


class Table:
    """Writes the table line by line while the checks run.

    Args:
        stream: where to write.
        manifest: the source of titles and points.
        color: whether the stream is a terminal that shows colors.
    """

    def __init__(self, stream: TextIO, manifest, color: bool):
        self.stream = stream
        self.manifest = manifest
        self.color = color
        self.question = None
        self.width = max(60, shutil.get_terminal_size().columns) if stream.isatty() else 10_000

    def paint(self, text: str, *colors: str) -> str:
        """The text in a color, if colors are on."""
        return "".join(colors) + text + PLAIN if self.color else text

    def line(self, outcome: Outcome) -> None:
        """Write the line of one check, after a heading if it is the first of its question."""
        check = self.manifest.checks[outcome.id]
        if check.question != self.question:
            self.question = check.question
            question = self.manifest.questions[check.question]
            extra = ", extra credit" if question.extra_credit else ""
            unit = "point" if question.points == 1 else "points"
            print(
                self.paint(
                    f"\n{question.id}  {question.title} ({_points(question.points)} {unit}{extra})",
                    BOLD,
                ),
                file=self.stream,
            )
        if outcome.verdict is None:
            state, color, points, seconds = (
                check.kind if check.coded else "graded by hand",
                YELLOW,
                f"-/{_points(check.points)}",
                "",
            )
        else:
            state, color = (
                outcome.verdict.value,
                GREEN if outcome.verdict is Verdict.PASSED else RED,
            )
            points, seconds = (
                f"{_points(outcome.score)}/{_points(check.points)}",
                f"{outcome.seconds:.1f} s",
            )
        feedback = harmless(outcome.message.split("\n")[0] or check.title)
        if outcome.verdict is Verdict.PASSED and outcome.hints:
            feedback += f" (hint: {outcome.hints[0]})"
        text = f"{check.id:<13} {points:>5} {seconds:>7}  {feedback}"
        room = self.width - 26
        text = text if len(text) <= room else text[: room - 1] + "…"
        print(f"  {self.paint(f'{state:<22}', color)} {text}", file=self.stream, flush=True)


def write_failures(report: Report, table: Table, repeat: Callable[[list[str]], str]) -> None:
    """Write the failures in full (identical ones together), the hints and the notices.

    Args:
        repeat: returns the command that repeats the checks with the given ids.
    """
    groups = {}
    for check in report.checks:
        outcome = report.outcomes[check.id]
        if outcome.verdict in (None, Verdict.PASSED):
            continue
        text = outcome.message
        if outcome.details != text:
            text += f"\nFor staff: {outcome.details}"
        if outcome.verdict is Verdict.NOT_IMPLEMENTED and "\n" not in outcome.details:
            continue  # the table has said it already
        groups.setdefault((outcome.verdict, text), []).append(check)
    for (verdict, text), checks in groups.items():
        ids = [check.id for check in checks]
        print(f"\n{table.paint(f'{verdict.value}: ' + ', '.join(ids), RED)}", file=table.stream)
        if len(checks) == 1:
            print(f"  {checks[0].title}", file=table.stream)
        print("\n".join("    " + line for line in harmless(text).split("\n")), file=table.stream)
        print("  Again: " + repeat(ids), file=table.stream)
    hints = {}
    for check in report.checks:
        for hint in report.outcomes[check.id].hints:
            hints.setdefault(hint, []).append(check.id)
    for hint, ids in hints.items():
        print(
            f"\n{table.paint('Hint (' + ', '.join(ids) + '):', YELLOW)} {harmless(hint)}",
            file=table.stream,
        )
    for notice in report.notices:
        print(f"\n{table.paint('Notice:', YELLOW)} {harmless(notice)}", file=table.stream)


def write_summary(report: Report, table: Table) -> None:
    """Write the points of every question and the total."""
    print("", file=table.stream)
    for question, checks in groupby(report.checks, key=lambda check: check.question):
        checks = [check for check in checks if check.coded]
        if checks:
            print(f"  {question:<4} {_sum(report, checks)}", file=table.stream)
    coded = [check for check in report.checks if check.coded]
    print(
        table.paint(f"  all  {_sum(report, coded)}", BOLD)
        + f"   in {report.seconds:.1f} s, seed {report.seed}, "
        f"isolation: {report.isolation[0]}",
        file=table.stream,
    )
    name, reason = report.isolation
    if reason and any(
        check.kind == "hidden" and report.outcomes[check.id].verdict for check in report.checks
    ):
        print(f"  No isolation stronger than {name}: {harmless(reason)}", file=table.stream)
    parts = groupby(
        (check for check in report.checks if not check.coded), key=lambda check: check.question
    )
    written = [
        f"{question} {_points(sum(check.points for check in checks))}" for question, checks in parts
    ]
    if written:
        print(f"  Graded by hand, points: {', '.join(written)}", file=table.stream)
    errors = sum(outcome.verdict is Verdict.GRADER_ERROR for outcome in report.outcomes.values())
    if errors:
        print(
            f"  Checks that failed because of a grader error: {errors}. This is not a grade.",
            file=table.stream,
        )


def _sum(report: Report, checks: list[Check]) -> str:
    """The points of some checks: "7 of 10, and 10 more in hidden checks"."""
    here = [check for check in checks if report.outcomes[check.id].verdict is not None]
    elsewhere = sum(check.points for check in checks) - sum(check.points for check in here)
    text = (
        f"{_points(sum(report.outcomes[check.id].score for check in here))} of "
        f"{_points(sum(check.points for check in here))}"
    )
    return text + (f", and {_points(elsewhere)} more in hidden checks" if elsewhere else "")


def _points(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def to_json(report: Report) -> str:
    """The report as JSON."""
    return json.dumps(as_dict(report), indent=2, ensure_ascii=False) + "\n"


def as_dict(report: Report) -> dict:
    """The report as plain data.

    `message` is for the student; `details` of hidden checks is for staff. verdict is null for a
    check that was not meant to run here.
    """
    checks = []
    for check in report.checks:
        if check.coded:
            outcome = report.outcomes[check.id]
            checks.append(
                {
                    "id": check.id,
                    "question": check.question,
                    "title": check.title,
                    "score": outcome.score,
                    "max_score": check.points,
                    "verdict": outcome.verdict.value if outcome.verdict else None,
                    "message": harmless(outcome.message),
                    "details": harmless(outcome.details),
                    "hints": [harmless(hint) for hint in outcome.hints],
                    "facts": outcome.facts,
                    "seconds": round(outcome.seconds, 4),
                    "cpu_seconds": round(outcome.cpu_seconds, 4),
                    "busy": outcome.busy,
                }
            )
    return {
        "score": report.score,
        "max_score": report.max_score,
        "max_score_here": report.max_score_here,
        "seed": report.seed,
        "isolation": report.isolation[0],
        "isolation_reason": report.isolation[1],
        "notices": [harmless(n) for n in report.notices],
        "seconds": round(report.seconds, 3),
        "checks": checks,
    }
