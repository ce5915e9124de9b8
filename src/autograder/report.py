"""Write a Report as text and Markdown for people, and as JSON for programs."""

import json
import re
import shutil
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from itertools import groupby
from typing import TextIO

from .grade import Report
from .manifest import Check
from .verdicts import Outcome, Verdict

GREEN, RED, YELLOW, BOLD, DIM, PLAIN = (f"\033[{code}m" for code in (32, 31, 33, 1, 2, 0))
WIDTH = 15  # of the column of verdicts


def harmless(text: str) -> str:
    """Text that is safe to print in a terminal and to write as UTF-8: control characters other than
    newline and tab, bidirectional overrides, line separators and lone surrogates are escaped.
    """
    return re.sub(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
        r"\ud800-\udfff]",
        lambda match: match[0].encode("unicode_escape").decode(),
        text.replace("\r\n", "\n"),
    )


class Table:
    """Writes the table while the checks run, a row for each; checks that meet the same unwritten
    part share one at the end of their question.

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
        self.unwritten = {}  # message -> the outcomes of this question with it
        self.width = max(60, shutil.get_terminal_size().columns) if stream.isatty() else 10_000

    def paint(self, text: str, *colors: str) -> str:
        """The text in a color, if colors are on."""
        return "".join(colors) + text + PLAIN if self.color else text

    def write(self, text: str, hanging: int = 2, color: str = "") -> None:
        """Write text, a line too long for the terminal wrapped at words and indented by so much
        more.
        """
        for line in harmless(text).split("\n"):
            indent = " " * (len(line) - len(line.lstrip()) + hanging)
            for part in _wrap(line, self.width, indent):
                print(self.paint(part, color) if color else part, file=self.stream)
        self.stream.flush()

    def row(self, state: str, color: str, text: str, hanging: int = 0) -> None:
        """Write a row of the table: a verdict in its color, and text, wrapped."""
        state = state if len(state) <= WIDTH else state.split()[0]
        lines = _wrap(text, self.width - WIDTH - 4, " " * hanging)
        rest = f"\n{'':<{WIDTH + 4}}".join(lines)
        print(f"  {self.paint(f'{state:<{WIDTH}}', color)}  {rest}", file=self.stream, flush=True)

    def end_question(self) -> None:
        """Write the rows of a question that have waited for its end."""
        for place, outcomes in self.unwritten.items():
            checks = [self.manifest.checks[outcome.id] for outcome in outcomes]
            ids, points = ", ".join(check.id for check in checks), sum(c.points for c in checks)
            self.row(Verdict.NOT_IMPLEMENTED.value, RED, harmless(place))
            self.row("", RED, f"0/{_points(points)}: {ids}")
        self.unwritten = {}

    def line(self, outcome: Outcome) -> None:
        """Write the row of one check, after a heading if it is the first of its question; later, if
        it met an unwritten part.
        """
        check = self.manifest.checks[outcome.id]
        if check.question != self.question:
            self.end_question()
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
        if outcome.verdict is Verdict.NOT_IMPLEMENTED and outcome.message == outcome.details:
            self.unwritten.setdefault(outcome.message.split("\n")[0], []).append(outcome)
            return
        if outcome.verdict is None:
            state = check.kind if check.coded else "graded by hand"
            color, points = DIM, f"-/{_points(check.points)}"
        else:
            state = outcome.verdict.value
            color = GREEN if outcome.verdict is Verdict.PASSED else RED
            points = f"{_points(outcome.score)}/{_points(check.points)}"
        slow = f" ({outcome.seconds:.0f} s)" if outcome.seconds >= 1 else ""
        self.row(state, color, f"{check.id:<12} {points:>8}  {harmless(check.title)}{slow}", 23)


def _wrap(line, width, indent):
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [line]


def write_failures(report: Report, table: Table, repeat: Callable[[list[str]], str]) -> None:
    """Write the failures in full (equal ones once), the hints and the notices.

    Args:
        repeat: returns the command that repeats the checks with the given ids.
    """
    table.end_question()
    failed = []
    for check in report.checks:
        outcome = report.outcomes[check.id]
        if outcome.verdict in (None, Verdict.PASSED):
            continue
        if outcome.verdict is Verdict.NOT_IMPLEMENTED and "\n" not in outcome.details:
            continue  # the table has said it already
        failed.append(check)
    for checks in _same(report, failed):
        ids = [check.id for check in checks]
        first = report.outcomes[ids[0]]
        staff = "For staff: " if first.details != first.message else ""
        table.stream.write("\n")
        table.write(f"{first.verdict.value}: {', '.join(ids)}", color=RED)
        if len(checks) == 1:
            table.write(f"  {checks[0].title}")
        table.write(textwrap.indent(staff + first.details, "    "))
        table.write("  Again: " + repeat(ids))
    hints = {}
    for check in report.checks:
        for hint in report.outcomes[check.id].hints:
            hints.setdefault(hint, []).append(check.id)
    remarks = [(f"Hint ({', '.join(ids)}):", hint) for hint, ids in hints.items()]
    for name, text in remarks + [("Notice:", notice) for notice in report.notices]:
        print(f"\n{table.paint(name, YELLOW)}", file=table.stream)
        table.write(textwrap.indent(text, "  "))


def _same(report, failed):
    """Failed checks in groups of equal failures."""
    groups = {}
    for check in failed:
        outcome = report.outcomes[check.id]
        groups.setdefault((outcome.verdict, _cause(outcome)), []).append(check)
    return groups.values()


def _cause(outcome):
    """What equal failures share: of exceptions, the place and the type; random inputs may make
    their texts differ.
    """
    place = re.match(r".*?, line \d+: \w+:", outcome.details)
    return place[0] if place and outcome.verdict is Verdict.EXCEPTION else outcome.details


def write_summary(report: Report, table: Table) -> None:
    """Write the points of every question and the total."""
    print("", file=table.stream)
    for question, checks in groupby(report.checks, key=lambda check: check.question):
        checks = [check for check in checks if check.coded]
        if checks:
            print(f"  {question:<4} {_sum(report, checks)}", file=table.stream)
    coded = [check for check in report.checks if check.coded]
    print(table.paint(f"  all  {_sum(report, coded)}", BOLD), file=table.stream)
    how = f"in {report.seconds:.1f} s, seed {report.seed}, isolation: {report.isolation[0]}"
    print(table.paint(f"  {how}", DIM), file=table.stream)
    name, reason = report.isolation
    if reason and any(
        check.kind == "hidden" and report.outcomes[check.id].verdict for check in report.checks
    ):
        table.write(f"  No isolation stronger than {name} works here: {reason}")
    parts = groupby(
        (check for check in report.checks if not check.coded), key=lambda check: check.question
    )
    written = [
        f"{question} {_points(sum(check.points for check in checks))}" for question, checks in parts
    ]
    if written:
        table.write(f"  Graded by hand, points: {', '.join(written)}")
    errors = sum(outcome.verdict is Verdict.GRADER_ERROR for outcome in report.outcomes.values())
    if errors:
        print(
            f"  Checks that failed because of a grader error: {errors}. This is not a grade.",
            file=table.stream,
        )


def to_markdown(report: Report) -> str:
    """The points of every question, and the first line of each failure (equal ones once), in
    Markdown.
    """
    coded = [check for check in report.checks if check.coded]
    lines = [
        f"## Points: {_sum(report, coded)}",
        "",
        "| question | points | checks |",
        "|---|---|---|",
    ]
    for question, of in groupby(coded, key=lambda check: check.question):
        checks, title = [*of], report.manifest.questions[question].title
        ends = Counter(report.outcomes[check.id].verdict for check in checks)
        told = ", ".join(f"{count} {end.value}" for end, count in ends.items() if end)
        lines.append(f"| {question} {title} | {_sum(report, checks)} | {told} |")
    fine = (None, Verdict.PASSED, Verdict.NOT_IMPLEMENTED)
    failed = [check for check in coded if report.outcomes[check.id].verdict not in fine]
    lines += ["", "### Failed", ""] if failed else []
    for checks in _same(report, failed):
        outcome = report.outcomes[checks[0].id]
        title = f" {checks[0].title}" * (len(checks) == 1)
        ids = ", ".join(check.id for check in checks)
        lines.append(f"- **{ids}**{title}: {outcome.verdict.value}.")
        lines.append(f"  {code_span(outcome.message)}")
    return "\n".join(lines) + "\n"


def code_span(text: str) -> str:
    """The first line of a text in Markdown, where nothing in it is a link, a mention or HTML."""
    first = harmless(text).strip().partition("\n")[0][:300].replace("`", "'")
    return f"`{first or '-'}`"


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
    checks = [
        _plain(asdict(report.outcomes[check.id]))
        | {"question": check.question, "title": check.title, "max_score": check.points}
        for check in report.checks
        if check.coded
    ]
    return {
        "score": report.score,
        "max_score": report.max_score,
        "max_score_here": report.max_score_here,
        "seed": report.seed,
        "isolation": report.isolation[0],
        "isolation_reason": report.isolation[1],
        "notices": _plain(report.notices),
        "seconds": round(report.seconds, 3),
        "checks": checks,
    }


def _plain(value):
    """A value for JSON, with texts that are harmless."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Verdict):
        return value.value
    return harmless(value) if isinstance(value, str) else value
