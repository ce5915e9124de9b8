"""The feedback for one person: what a student may see of a grading, as an HTML page."""

from autograder import Verdict
from instructor.grading.causes import root_causes
from instructor.grading.grades import GRADER_ERROR, Entry, GradedClass
from instructor.grading.text import moment, percent, points

from .models import MODELS
from .plot import Bar, numbers
from .render import HTML
from .tally import by_question, unmarked


def page(graded: GradedClass, entry: Entry) -> str:
    """The feedback as a self-contained HTML page."""
    return HTML.get_template("student.html.j2").render(_content(graded, entry))


def accuracies(entry: Entry) -> list[Bar]:
    """The accuracy on the dev questions, by model, as the basic checks found it, and the accuracy
    needed, if they report it. Claims that the weights did not reproduce have no value.
    """
    facts = {check["id"]: check["facts"] for check in entry.checks}
    found = []
    for id, name, label, _ in MODELS:
        value, needed, claimed = (
            facts.get(id, {}).get(f"{fact} {name}") for fact in ("accuracy", "needed", "claimed")
        )
        refused = "not reproduced" if value is None and claimed is not None else ""
        if refused and needed and claimed < needed:
            refused = f"not enough: {percent(claimed)} by your predictions"
        found.append(Bar(label, value, needed, refused))
    return found


def score(graded: GradedClass, entry: Entry) -> tuple[str, str]:
    """The points, and of how many they are: of all, or of those that are given so far."""
    left = unmarked(graded, entry)
    if not left:
        extra = sum(question.points for question in graded.manifest.questions.values())
        extra -= graded.regular_points
        more = f", and up to {points(extra)} of extra credit" if extra else ""
        so_far = "" if entry.final else ", so far"
        return points(entry.total), f"of {points(graded.regular_points)} points{more}{so_far}"
    worth = {check.id: check.points for check in graded.manifest.checks.values()}
    marked = sum(worth[id] for id in entry.written if id in worth)
    written = (
        f" and {points(sum(entry.written.values()))} of {points(marked)} written points"
        if entry.written
        else ""
    )
    waiting = sum(worth[id] for id in left)
    return points(max(0.0, entry.automatic)), (
        f"of {points(graded.automatic_points)} automatic points{written}"
        f"{'' if entry.final else ', so far'}; {points(waiting)} written "
        f"{'point is' if waiting == 1 else 'points are'} not marked yet"
    )


def _content(graded, entry):
    """The variables of the template."""
    tally = by_question(graded, entry)
    models = accuracies(entry)
    before = round(sum(entry.scores.values()), 4)
    failed, passed = _sections(graded, entry)
    return {
        "title": graded.title,
        "entry": entry,
        "name": entry.person.name,
        "due": moment(graded.due),
        "submitted": moment(entry.submitted),
        # the folders above it are the staff's
        "source": entry.source.rstrip("/").rpartition("/")[2],
        "score": score(graded, entry),
        "causes": [] if entry.excused else root_causes(graded.manifest, entry.checks, entry.scores),
        "handout": graded.handout,
        "questions": [
            (question, tally[question.id]) for question in graded.manifest.questions.values()
        ],
        "failed": failed,
        "passed": passed,
        "count": sum(check["verdict"] == Verdict.PASSED.value for check in entry.checks),
        "written": [
            (check, entry.written.get(check.id), entry.comments.get(check.id, ""))
            for check in graded.manifest.checks.values()
            if not check.coded
        ],
        "before": before,
        "cost": round(before * entry.penalty, 4),
        "added": entry.manual.get(""),
        "regular": graded.regular_points,
        "unmarked": len(unmarked(graded, entry)),
        "notices": entry.report["notices"] if entry.report else [],
        "bars": models if any(bar.value is not None or bar.refused for bar in models) else [],
        "needed": any(bar.needed for bar in models),
    }


def _sections(graded, entry):
    """The questions with something to read, as (question, groups of basic checks with the same
    message or hints, other basic checks, hidden checks); and (question, checks) of the others, all
    of them passed.
    """
    found = {check["id"]: check for check in entry.checks}
    failed, passed = [], []
    for question in graded.manifest.questions.values():
        checks = [
            _check(check, found[check.id], entry.scores.get(check.id))
            for check in graded.manifest.checks.values()
            if check.question == question.id and check.id in found
        ]
        if not any(map(_tells, checks)):
            passed += [(question, checks)] if checks else []
            continue
        groups = {}
        basic = [check for check in checks if check["kind"] == "basic"]
        for check in filter(_tells, basic):
            same = check["verdict"], check["message"], *check["hints"]
            groups.setdefault(same, []).append(check)
        fine = [check for check in basic if not _tells(check)]
        hidden = [check for check in checks if check["kind"] == "hidden"]
        failed.append((question, list(groups.values()), fine, hidden))
    return failed, passed


def _tells(check):
    """Whether there is more to read than that it passed."""
    return check["tone"] != "good" or bool(check["hints"])


def _check(check, found, score):
    """A check for the student. A hidden one shows its verdict, points and message, and nothing
    else.
    """
    verdict = found["verdict"]
    tone = {Verdict.PASSED.value: "good", GRADER_ERROR: "warn", None: "plain"}.get(verdict, "bad")
    basic = check.kind == "basic"
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
        "hints": found["hints"] if basic else [],
        "compared": _compared(found.get("compared") if basic else None),
    }


def _compared(numbers_of):
    """(caption, numbers) of the expected numbers and the student's, around the first wrong one."""
    if not numbers_of:
        return []
    finite = [abs(float(text)) for row in numbers_of["expected"] for text in row]
    largest = max((value for value in finite if value < float("inf")), default=0.0)
    return [
        (f"{name} {numbers_of['place']}", numbers(numbers_of[key], numbers_of["wrong"], largest))
        for name, key in (("Expected", "expected"), ("Yours", "got"))
    ]
