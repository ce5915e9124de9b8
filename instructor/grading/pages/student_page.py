"""The feedback for one person: what a student may see of a grading, as an HTML page."""

import math

from autograder import Verdict
from instructor.grading.causes import root_causes
from instructor.grading.grades import GRADER_ERROR, Entry, GradedClass
from instructor.grading.text import percent, points

from .render import HTML
from .statistics import by_question, unmarked

# check, fact, the model's name, whether it was pretrained. All are basic checks: students may see
# what they report.
MODELS = (
    ("1e-2-basic", "vanilla.nopretrain.dev", "without pretraining", False),
    ("1f-6-basic", "vanilla.pretrain.dev", "learned positions", True),
    ("1h-8-basic", "rope.pretrain.dev", "RoPE", True),
)
TONES = {Verdict.PASSED.value: "good", GRADER_ERROR: "warn", None: "plain"}
MARKS = {"good": "✓", "bad": "✗", "warn": "!", "plain": "·"}


def page(graded: GradedClass, entry: Entry) -> str:
    """The feedback as a self-contained HTML page."""
    failed, passed = _sections(graded, entry)
    manifest = graded.manifest
    return HTML.get_template("student.html.j2").render(
        graded=graded,
        entry=entry,
        # the folders above it are the staff's
        source=entry.source.rstrip("/").rpartition("/")[2],
        score=_score(graded, entry),
        causes=[] if entry.excused else root_causes(manifest, entry.checks, entry.scores),
        tally=by_question(graded, entry),
        failed=failed,
        passed=passed,
        count=sum(check["verdict"] == Verdict.PASSED.value for check in entry.checks),
        written=[check for check in manifest.checks.values() if not check.coded],
        unmarked=len(unmarked(graded, entry)),
        before=round(sum(entry.scores.values()), 4),
        bars=_accuracies(entry),
    )


def _accuracies(entry):
    """(model, value, the value needed, words) of the accuracy on the dev questions, as far as the
    basic checks report them; [] without any. Claims that the weights did not reproduce have no
    value.
    """
    facts = {check["id"]: check["facts"] for check in entry.checks}
    found = []
    for id, name, label, _ in MODELS:
        of = facts.get(id, {})
        value, needed, claimed = (
            of.get(f"{fact} {name}") for fact in ("accuracy", "needed", "claimed")
        )
        words = "no result" if value is None else percent(value)
        if value is None and claimed is not None:
            words = "not reproduced"
            if needed and claimed < needed:
                words = f"not enough: {percent(claimed)} by your predictions"
        found.append((label, value, needed, words))
    return found if any(words != "no result" for *_, words in found) else []


def _score(graded, entry):
    """The points, and of how many they are: of all, or of those that are given so far."""
    left, so_far = unmarked(graded, entry), "" if entry.final else ", so far"
    if not left:
        extra = sum(question.points for question in graded.manifest.questions.values())
        extra -= graded.regular_points
        more = f", and up to {points(extra)} of extra credit" if extra else ""
        return points(entry.total), f"of {points(graded.regular_points)} points{more}{so_far}"
    worth = {check.id: check.points for check in graded.manifest.checks.values()}
    of = f"of {points(graded.automatic_points)} automatic points"
    if entry.written:
        most = sum(worth[id] for id in entry.written if id in worth)
        of += f" and {points(sum(entry.written.values()))} of {points(most)} written points"
    waiting = sum(worth[id] for id in left)
    are = "point is" if waiting == 1 else "points are"
    of += f"{so_far}; {points(waiting)} written {are} not marked yet"
    return points(max(0.0, entry.automatic)), of


def _sections(graded, entry):
    """The questions with something to read, as (question, groups of basic checks with the same
    message or hints, other basic checks, hidden checks); and (question, checks) of the others, all
    of them passed.
    """
    outcomes = {check["id"]: check for check in entry.checks}
    failed, passed = [], []
    for question in graded.manifest.questions.values():
        checks = [
            _shown(check, outcomes[check.id], entry.scores.get(check.id))
            for check in graded.manifest.checks.values()
            if check.question == question.id and check.id in outcomes
        ]
        hidden = [check for check in checks if check["kind"] == "hidden"]
        groups, fine = {}, []
        for check in (check for check in checks if check["kind"] == "basic"):
            same = check["verdict"], check["message"], *check["hints"]
            (groups.setdefault(same, []) if check["tells"] else fine).append(check)
        if any(check["tells"] for check in checks):
            failed.append((question, list(groups.values()), fine, hidden))
        elif checks:
            passed.append((question, checks))
    return failed, passed


def _shown(check, outcome, score):
    """A check for the student, and whether there is more to read than that it passed. A hidden one
    shows its verdict, points and message, and nothing else.
    """
    tone, basic = TONES.get(outcome["verdict"], "bad"), check.kind == "basic"
    hints = outcome["hints"] if basic else []
    known = {"id": check.id, "kind": check.kind, "title": check.title, "of": check.points}
    told = {"verdict": outcome["verdict"] or "not run", "message": outcome["message"]}
    told |= {"score": score, "hints": hints}
    look = {"tone": tone, "mark": MARKS[tone], "tells": tone != "good" or bool(hints)}
    return known | told | look | {"compared": _compared(outcome.get("compared") if basic else None)}


def _compared(compared):
    """(caption, rows) of the expected numbers and the student's, around the first wrong one; a
    number as its text, whether it is wrong, and its shade, from -50 to 50 percent of the color of
    its sign: the largest expected number has the deepest.
    """
    if not compared:
        return []
    expected = [abs(float(text)) for row in compared["expected"] for text in row]
    largest = max(filter(math.isfinite, expected), default=0.0)
    places = 2 - math.floor(math.log10(largest)) if 1e-2 <= largest < 1e6 else 9

    def number(text, wrong):
        value = float(text)
        if not math.isfinite(value):
            return str(value), wrong, 0
        shade = round(50 * max(-1.0, min(1.0, value / largest))) if largest else 0
        text = f"{value:.{max(0, places)}f}"
        short = text if len(text) <= 7 else f"{value:.0e}"  # in about six characters
        return short.replace("-", "−"), wrong, shade

    return [
        (
            f"{name} {compared['place']}",
            [[*map(number, *rows)] for rows in zip(compared[key], compared["wrong"])],
        )
        for name, key in (("Expected", "expected"), ("Yours", "got"))
    ]
