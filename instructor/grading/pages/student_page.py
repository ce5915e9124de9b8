"""The feedback for one person: what a student may see of a grading, as an HTML page and as
Markdown.
"""

from markupsafe import Markup

from autograder import Verdict
from instructor.grading.grades import GRADER_ERROR, Entry, GradedClass
from instructor.grading.text import percent

from .models import MODELS
from .plot import Bar, bars
from .render import HTML, MARKDOWN
from .tally import by_question, unmarked


def page(graded: GradedClass, entry: Entry) -> str:
    """The feedback as a self-contained HTML page."""
    return HTML.get_template("student.html.j2").render(_content(graded, entry))


def markdown(graded: GradedClass, entry: Entry) -> str:
    """The feedback as Markdown."""
    return MARKDOWN.get_template("student.md.j2").render(_content(graded, entry))


def accuracies(entry: Entry) -> list[Bar]:
    """The accuracy on the dev questions, by model, as the basic checks found it; and the accuracy
    needed, if they report it.
    """
    facts = {check["id"]: check["facts"] for check in entry.checks}
    return [
        Bar(
            label,
            facts.get(id, {}).get(f"accuracy {name}"),
            facts.get(id, {}).get(f"needed {name}"),
        )
        for id, name, label, _ in MODELS
    ]


def _content(graded, entry):
    """The variables of the templates."""
    tally = by_question(graded, entry)
    found = {check["id"]: check for check in entry.checks}
    models = accuracies(entry)
    before = round(sum(entry.scores.values()), 4)
    all_points = sum(question.points for question in graded.manifest.questions.values())
    sections = []
    for question in graded.manifest.questions.values():
        checks = [
            _check(check, found[check.id], entry.scores.get(check.id))
            for check in graded.manifest.checks.values()
            if check.question == question.id and check.id in found
        ]
        if checks:
            sections.append((question, checks))
    return {
        "title": graded.title,
        "entry": entry,
        "name": entry.person.name,
        "due": _time(graded.due),
        "submitted": _time(entry.submitted),
        # the folders above it are the staff's
        "source": entry.source.rstrip("/").rpartition("/")[2],
        "questions": [
            (question, tally[question.id]) for question in graded.manifest.questions.values()
        ],
        "sections": sections,
        "passed": sum(check["verdict"] == Verdict.PASSED.value for check in entry.checks),
        "written": [
            (check, entry.written.get(check.id), entry.comments.get(check.id, ""))
            for check in graded.manifest.checks.values()
            if not check.coded
        ],
        "before": before,
        "cost": round(before * entry.penalty, 4),
        "added": entry.manual.get(""),
        "regular": graded.regular_points,
        "extra": all_points - graded.regular_points,
        "unmarked": len(unmarked(graded, entry)),
        "notices": entry.report["notices"] if entry.report else [],
        "plot": bars("Right answers to the dev questions", models)
        if any(bar.value is not None for bar in models)
        else None,
        "needed": any(bar.needed for bar in models),
        "drawing": _drawing(models),
    }


def _check(check, found, score):
    """A check for the student. A hidden one shows its verdict, points and message, and nothing
    else.
    """
    verdict = found["verdict"]
    tone = {Verdict.PASSED.value: "good", GRADER_ERROR: "warn", None: "plain"}.get(verdict, "bad")
    return {
        "id": check.id,
        "kind": check.kind,
        "title": check.title,
        "score": score,
        "of": check.points,
        "verdict": verdict or "not run",
        "tone": tone,
        "mark": {"good": "✓", "bad": "✗", "warn": "!", "plain": "·"}[tone],
        "message": found["message"],
        "hints": found["hints"] if check.kind == "basic" else [],
    }


def _time(time):
    return f"{time:%Y-%m-%d %H:%M %Z}".strip() if time else ""


def _drawing(models):
    """The plot as text, for Markdown."""
    rows = []
    for bar in models:
        drawn = (
            "no result" if bar.value is None else "█" * round(30 * min(1, max(0, bar.value))) or "▏"
        )
        rows.append(
            f"{bar.label:<20}{drawn:<31}"
            + ("" if bar.value is None else f"{percent(bar.value):>6}")
            + (f"  needed {percent(bar.needed)}" if bar.needed else "")
        )
    return Markup("```\n{}\n```").format(Markup("\n".join(row.rstrip() for row in rows)))
