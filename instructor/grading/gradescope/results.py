"""Gradescope's results.json, from a report. results.schema.json describes it.

Decides what students may read: of a hidden check only its title, whatever its visibility.
"""

from autograder.manifest import Check, Manifest
from autograder.report import harmless
from autograder.verdicts import Verdict
from instructor.grading.causes import root_causes

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
    entries, for_staff = report["checks"], []
    remarks = [*_lead(entries, manifest, settings), *report["notices"]]
    errors = [entry["id"] for entry in entries if entry["verdict"] == Verdict.GRADER_ERROR]
    if errors:
        remarks.insert(
            0,
            f"{len(errors)} of {len(entries)} checks failed because of the autograder, not your "
            "code: this is not a grade yet. Please tell the staff.",
        )
        for_staff.append(
            (
                "checks failed because of the autograder",
                f"{', '.join(errors)}. The details are in the autograder's output.",
            )
        )
    if any(entry["verdict"] is None for entry in entries):
        remarks.insert(0, "Only basic checks could run: this is not a grade yet.")
        reasons = report["isolation_reason"].replace("; ", "\n")
        for_staff.append(
            (
                "hidden checks did not run",
                "No isolation that works in this container can hide them from the graded "
                f"code:\n{reasons}\nThe score is that of the basic checks. Grade with python -m "
                "instructor grade on your own machine, or build the zip with "
                "--allow-weak-isolation if you trust the code.",
            )
        )
    results = _results(entries, remarks, manifest, settings, "graded")
    results["tests"] += [_for_staff(title, text) for title, text in for_staff]
    results["extra_data"] |= {
        "seed": report["seed"],
        "isolation": report["isolation"],
        "isolation_reason": _text(report["isolation_reason"]),
    }
    return results


def ungraded(manifest: Manifest, settings: dict, why: str, state: str) -> dict:
    """The results if nothing was graded: 0 points everywhere.

    Args:
        why: for the student.
        state: "refused" (something is wrong with the submission) or "failed" (with the autograder).
    """
    nothing = {"score": 0, "verdict": None, "message": "Not graded.", "hints": [], "seconds": 0}
    entries = [
        {"id": check.id, "facts": {}, **nothing}
        for check in manifest.checks.values()
        if check.coded
    ]
    return _results(entries, [why], manifest, settings, state)


def _lead(entries, manifest, settings):
    """The points, and where to start: of checks whose results students see at once."""
    kinds = {id: check.kind for id, check in manifest.checks.items()}
    seen = [kind for kind, when in settings["visibility"].items() if when == "visible"]
    shown = [entry for entry in entries if kinds[entry["id"]] in seen and entry["verdict"]]
    if not shown:
        return
    scores = {entry["id"]: entry["score"] for entry in shown}
    most = sum(manifest.checks[id].points for id in scores)
    there = {kinds[id] for id in scores}
    which = "automatic points" if len(there) == 2 else f"points of {min(there)} checks"
    written = sum(check.points for check in manifest.checks.values() if not check.coded)
    more = f"; {written:g} written points are not marked yet" if written else ""
    yield f"{round(sum(scores.values()), 4):g} of {most:g} {which}{more}."
    if causes := root_causes(manifest, shown, scores):
        lines = [
            f"- {cause.question}: {cause.text} ({cause.points:g} point{'s' * (cause.points != 1)}; "
            f"handout, question {cause.question})"
            for cause in causes
        ]
        yield "\n".join(["Start here:", *lines])


def _results(entries, remarks, manifest, settings, state):
    """results.json without entries for the staff."""
    results = {
        "score": round(sum(entry["score"] for entry in entries), 4),
        "output": _text("\n\n".join(remarks)),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": [
            _test(manifest, manifest.checks[entry["id"]], entry, settings) for entry in entries
        ],
        "extra_data": {"version": settings["version"], "title": settings["title"], "state": state},
    }
    if settings["leaderboard"]:  # dev accuracies that the submitted weights reproduced; 0 if none
        known = {}
        for entry in entries:  # facts of a failed check may be mere claims
            if entry["verdict"] == Verdict.PASSED and entry["id"].endswith("-basic"):
                known |= entry["facts"]
        results["leaderboard"] = [
            {
                "name": f"{model}, dev accuracy (%)",
                "value": round(100 * known.get(fact, 0), 1),
                "order": "desc",
            }
            for fact, model in MODELS.items()
        ]
    return results


def _test(manifest: Manifest, check: Check, entry, settings):
    basic, verdict = check.kind == "basic", entry["verdict"]
    lines = [entry["message"] or ("Passed." if verdict else NOT_RUN)]
    if basic:
        lines += [f"Hint: {hint}" for hint in entry["hints"]]
    number = check.id.split("-")[1]
    extra = " (extra credit)" if manifest.questions[check.question].extra_credit else ""
    return {
        "name": f"{check.id}: {check.title}{extra}",
        "number": f"{check.question}.{number}",
        "score": round(entry["score"], 4),
        "max_score": check.points,
        "status": "passed" if verdict == Verdict.PASSED else "failed",
        "output": _text("\n\n".join(lines)),
        "output_format": "text",
        "visibility": settings["visibility"][check.kind],
        "tags": [check.question, check.kind, verdict or "not run"],
        "extra_data": {
            "verdict": verdict,
            "seconds": round(entry["seconds"], 2),
            **({"facts": entry["facts"]} if basic else {}),
        },
    }


def _for_staff(title, text):
    """An entry without points that no student sees. While there is one, Gradescope hides the total
    from students, too.
    """
    return {
        "name": f"For the staff: {title}",
        "number": "0",
        "score": 0,
        "max_score": 0,
        "status": "failed",
        "output": _text(text),
        "output_format": "text",
        "visibility": "hidden",
        "tags": ["staff"],
    }


def _text(text):
    """Text that a submission may have written, without control characters or lone surrogates, cut
    to TEXT_LIMIT.
    """
    text = harmless(text)
    return text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT] + "\n… (cut off)"
