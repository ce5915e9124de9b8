"""The feedback for one person, as an HTML page."""

import math

from instructor.grading.causes import root_causes
from instructor.grading.feedback import Feedback, feedback_on
from instructor.grading.grades import Entry, GradedClass
from instructor.grading.statistics import by_question, unmarked

from .render import HTML


def page(graded: GradedClass, entry: Entry) -> str:
    """The feedback as a self-contained HTML page."""
    manifest = graded.manifest
    found = feedback_on(manifest, entry.checks, entry.scores)
    return HTML.get_template("student.html.j2").render(
        graded=graded,
        entry=entry,
        # the folders above it are the staff's
        source=entry.source.rstrip("/").rpartition("/")[2],
        causes=[] if entry.excused else root_causes(manifest, found),
        tally=by_question(graded, entry),
        found=found,
        questions=[*_questions(manifest, found)],
        marked=[check for check in manifest.checks.values() if check.id in entry.written],
        unmarked=unmarked(graded, entry),
        most=sum(question.points for question in manifest.questions.values()),
        before=round(sum(entry.scores.values()), 4),
        pictures=pictures,
    )


def _questions(manifest, found):
    """Yield (question, groups of basic checks with something to read, which is equal in a group;
    all its other checks).
    """
    for question in manifest.questions.values():
        groups, others = {}, []
        own = [item for item in found if item.check.question == question.id]
        for item in own:
            if item.check.kind == "basic" and (item.hints or not item.passed):
                groups.setdefault((item.verdict, item.message, *item.hints), []).append(item)
            else:
                others.append(item)
        if own:
            yield question, [*groups.values()], others


def pictures(item: Feedback) -> list[tuple[str, list]]:
    """(caption, rows) of the expected numbers and the student's, around the first wrong one; a
    number as its text, whether it is wrong, and its shade, from -50 to 50 percent of the color of
    its sign: the largest expected number has the deepest.
    """
    compared = item.compared
    if not compared:
        return []
    expected = [abs(float(text)) for row in compared["expected"] for text in row]
    largest = max(filter(math.isfinite, expected), default=0.0) or 1.0

    def number(text, wrong):
        value = float(text)
        share = value / largest if math.isfinite(value) else 0
        return f"{value:.3g}".replace("-", "−"), wrong, round(50 * max(-1.0, min(1.0, share)))

    return [
        (
            f"{name} {compared['place']}",
            [[*map(number, *rows)] for rows in zip(compared[key], compared["wrong"])],
        )
        for name, key in (("Expected", "expected"), ("Yours", "got"))
    ]
