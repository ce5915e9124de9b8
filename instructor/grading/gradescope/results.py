"""Gradescope's results.json, from a report. results.schema.json describes it."""

from autograder.manifest import Manifest
from autograder.report import harmless
from autograder.verdicts import Verdict
from instructor.grading.causes import root_causes
from instructor.grading.feedback import Feedback, feedback_on

TEXT_LIMIT = 8_000  # characters of one text
MODELS = {  # by their facts of basic checks
    "accuracy rope.pretrain.dev": "RoPE",
    "accuracy vanilla.pretrain.dev": "Learned positions",
    "accuracy vanilla.nopretrain.dev": "No pretraining",
}
GRADER_FAILED = "The autograder failed, not your submission. Please tell the staff."
NOT_RUN = "This hidden check could not run, whatever your code. The staff's output says why."


def graded(report: dict, manifest: Manifest, settings: dict) -> dict:
    """The results of a grading.

    Args:
        report: as autograder.report.as_dict makes it.
        manifest: gives the checks.
        settings: as build.py writes them.
    """
    found = feedback_on(manifest, report["checks"])
    remarks = [*_lead(found, manifest, settings), *report["notices"]]
    for_staff = []
    if errors := [item.check.id for item in found if item.verdict == Verdict.GRADER_ERROR]:
        remarks.insert(
            0,
            f"{len(errors)} of {len(found)} checks failed because of the autograder, not your "
            "code: this is not a grade yet. Please tell the staff.",
        )
        text = f"{', '.join(errors)}. The details are in the autograder's output."
        for_staff.append(_for_staff("checks failed because of the autograder", text))
    if any(item.verdict is None for item in found):
        remarks.insert(0, "Only basic checks could run: this is not a grade yet.")
        reasons = report["isolation_reason"].replace("; ", "\n")
        text = (
            "No isolation that works in this container can hide them from the graded "
            f"code:\n{reasons}\nThe score is that of the basic checks. Export the submissions and "
            "grade them on your own machine: python -m instructor grade."
        )
        for_staff.append(_for_staff("hidden checks did not run", text))
    results = _results(found, manifest, remarks, settings, "graded")
    results["tests"] += for_staff
    results["extra_data"] |= {"seed": report["seed"], "isolation": report["isolation"]}
    return results


def ungraded(manifest: Manifest, settings: dict, why: str, state: str) -> dict:
    """The results if nothing was graded: 0 points everywhere.

    Args:
        why: for the student.
        state: "refused" (something is wrong with the submission) or "failed" (with the autograder).
    """
    coded = [check for check in manifest.checks.values() if check.coded]
    nothing = [Feedback(check, None, 0, "Not graded.") for check in coded]
    return _results(nothing, manifest, [why], settings, state)


def _lead(found, manifest, settings):
    """The points, and where to start: of checks whose results students see at once."""
    kinds = ("basic", "hidden") if settings["hidden_visibility"] == "visible" else ("basic",)
    shown = [item for item in found if item.verdict and item.check.kind in kinds]
    whole = any(item.check.kind == "hidden" for item in shown)
    which = "automatic points" if whole else "points of basic checks"
    most = sum(item.check.points for item in shown)
    written = sum(check.points for check in manifest.checks.values() if not check.coded)
    more = f"; {written:g} written points are not marked yet" if written else ""
    yield f"{round(sum(item.score for item in shown), 4):g} of {most:g} {which}{more}."
    if causes := root_causes(manifest, shown):
        lines = [
            f"- {cause.question}: {cause.text} ({cause.points:g} point{'s' * (cause.points != 1)}; "
            f"handout, question {cause.question})"
            for cause in causes
        ]
        yield "\n".join(["Start here:", *lines])


def _results(found, manifest, remarks, settings, state):
    """results.json without entries for the staff."""
    results = {
        "score": round(sum(item.score for item in found), 4),
        "output": _text("\n\n".join(remarks)),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": [_test(item, manifest, settings) for item in found],
        "extra_data": {"version": settings["version"], "state": state},
    }
    if settings["leaderboard"]:  # dev accuracies that the submitted weights reproduced; 0 if none
        # facts of a failed check may be mere claims
        facts = {fact: v for item in found if item.passed for fact, v in item.facts.items()}
        results["leaderboard"] = [
            {
                "name": f"{model}, dev accuracy (%)",
                "value": round(100 * facts.get(fact, 0), 1),
                "order": "desc",
            }
            for fact, model in MODELS.items()
        ]
    return results


def _test(item, manifest, settings):
    check, hidden = item.check, item.check.kind == "hidden"
    extra = " (extra credit)" if manifest.questions[check.question].extra_credit else ""
    message = item.message or ("Passed." if item.verdict else NOT_RUN)
    return _entry(
        f"{check.id}: {check.title}{extra}",
        "\n\n".join([message, *(f"Hint: {hint}" for hint in item.hints)]),
        [check.question, check.kind, item.verdict or "not run"],
        number=f"{check.question}.{check.id.split('-')[1]}",
        score=round(item.score, 4),
        max_score=check.points,
        status="passed" if item.passed else "failed",
        visibility=settings["hidden_visibility"] if hidden else "visible",
    )


def _for_staff(title, text):
    """An entry without points that no student sees. While there is one, Gradescope hides the total
    from students, too.
    """
    return _entry(f"For the staff: {title}", text, ["staff"])


def _entry(name, output, tags, **more):
    nothing = {"number": "0", "score": 0, "max_score": 0, "status": "failed"}
    text = {"name": name, "output": _text(output), "output_format": "text", "tags": tags}
    return text | {"visibility": "hidden"} | nothing | more


def _text(text):
    """Text that a submission may have written, without control characters or lone surrogates, cut
    to TEXT_LIMIT.
    """
    text = harmless(text)
    return text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT] + "\n… (cut off)"
