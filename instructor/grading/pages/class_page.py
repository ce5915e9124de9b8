"""The page of the whole class, for the staff."""

import base64
import hashlib
from pathlib import Path

from markupsafe import Markup

from instructor.grading import statistics
from instructor.grading.grades import Entry, GradedClass

from .render import HTML

SCRIPT = Path(__file__).parent / "templates" / "class.js"


def page(graded: GradedClass) -> str:
    """The class as one self-contained HTML page; its links lead to students/FOLDER/feedback.html
    beside it.
    """
    script = SCRIPT.read_text(encoding="utf-8")
    entries = sorted(graded.entries, key=lambda entry: (entry.person.name.casefold(), entry.folder))
    totals = [entry.total for entry in statistics.counted(entries)]
    most = sum(question.points for question in graded.manifest.questions.values())
    return HTML.get_template("class.html.j2").render(
        script=Markup(script),
        # the only script that a browser may run in the page
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        graded=graded,
        statistics=statistics,
        rows=[(e, statistics.by_question(graded, e), *_state(e)) for e in entries],
        pending=[e for e in entries if e.pending and not e.excused],
        faults=[(entry, check) for entry in entries for check in entry.grader_errors],
        most=most,
        histogram=statistics.histogram(totals, most) if totals else [],
        by_section=statistics.sections(graded),
        checks=statistics.items(graded),
        agreement=statistics.agreement(graded.marked_twice),
        mistakes=statistics.mistakes(graded),
        sections=sorted({entry.person.section for entry in entries} - {""}),
    )


def _state(entry: Entry):
    """The total to show, and (tone, text) for the state of a person's submission."""
    total = entry.total if (entry.report or entry.written) and not entry.pending else None
    if entry.excused:
        return total, "plain", "excused"
    if entry.pending:
        return total, "warn", "not graded yet"
    if entry.grader_errors:
        return total, "warn", "grader error"
    if entry.report:
        return total, "plain", f"{entry.submitted:%Y-%m-%d %H:%M}" if entry.submitted else "yes"
    return (total, "bad", "refused") if entry.refused else (total, "plain", "nothing")
