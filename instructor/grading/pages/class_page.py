"""The page of the whole class, for the staff: statistics, common mistakes and a table of all
people.
"""

import base64
import hashlib
import re
from collections import Counter
from pathlib import Path
from statistics import mean, median

from markupsafe import Markup

from autograder import Verdict
from instructor.grading.grades import Entry, GradedClass
from instructor.grading.text import line, moment, points

from .models import EPOCHS, MODELS
from .plot import histogram, scatter
from .render import HTML
from .statistics import FEWEST, LOW, MANY, agreement, counted, excused, items, sections
from .tally import by_question

MOST = 10  # entries of a list of the most common or the slowest
SCRIPT = Path(__file__).parent / "templates" / "class.js"


def page(graded: GradedClass) -> str:
    """The class as one self-contained HTML page; its links lead to students/FOLDER/feedback.html
    beside it.
    """
    script = SCRIPT.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    entries = sorted(
        graded.entries, key=lambda entry: (line(entry.person.name).casefold(), entry.person.id)
    )
    scores = [entry.total for entry in counted(entries)]
    pending = [entry for entry in entries if entry.pending and not excused(entry)]
    marked = any(entry.written for entry in entries)
    most = (
        sum(question.points for question in graded.manifest.questions.values())
        if marked
        else graded.automatic_points
    )
    return HTML.get_template("class.html.j2").render(
        script=Markup(script),
        digest=digest,
        title=graded.title,
        due=moment(graded.due),
        people=len(entries),
        graded=sum(entry.report is not None for entry in entries),
        pending=pending,
        refused=[entry for entry in entries if entry.refused and not entry.pending],
        missing=sum(_state(entry)[1] == "nothing" for entry in entries),
        excused=sum(map(excused, entries)),
        late=sum(entry.days_late > 0 for entry in entries),
        faults=[(entry, check) for entry in entries for check in entry.grader_errors],
        mean=mean(scores) if scores else None,
        median=median(scores) if scores else None,
        counted=len(scores),
        most=most,
        marked=marked,
        scores=histogram("Score distribution", scores, most),
        checks=_checks(graded, entries),
        items=items(graded),
        fewest=FEWEST,
        low=LOW,
        many=MANY,
        side_by_side=sections(graded),
        agreement=agreement(graded.marked_twice),
        conflicts=graded.conflicts,
        diagnoses=_diagnoses(entries)[:MOST],
        slowest=sorted(
            ((_seconds(entry), entry) for entry in entries if entry.report),
            key=lambda pair: -pair[0],
        )[:MOST],
        sections=sorted({line(entry.person.section) for entry in entries} - {""}),
        questions=list(graded.manifest.questions.values()),
        rows=[
            (entry, by_question(graded, entry), _total(entry), _state(entry)) for entry in entries
        ],
        epochs=_epochs(entries),
    )


def diagnosis(text: str) -> str:
    """The first line of a check's details, with numbers and quoted words replaced, so that equal
    mistakes read alike.
    """
    first = text.strip().split("\n")[0][:400]
    first = re.sub(r"(?<!\w)(['\"`])(?:(?!\1).)*\1(?!\w)", "‘…’", first)
    return line(
        re.sub(r"(?<![a-zA-Z\d])[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?(?![a-zA-Z\d])", "#", first)
    )


def _diagnoses(entries):
    """(people, checks, verdict, text, an example) of each group of equal mistakes, the most common
    first.
    """
    groups = {}
    for entry in entries:
        for check in entry.checks:
            if check["verdict"] not in (None, Verdict.PASSED.value):
                group = groups.setdefault(
                    (check["verdict"], diagnosis(check["details"])),
                    ({}, Counter(), check["details"]),
                )
                group[0][entry.person.id] = None
                group[1][check["id"]] += 1
    found = [
        (len(people), list(checks), verdict, text, example[:1500])
        for (verdict, text), (people, checks, example) in groups.items()
    ]
    return sorted(found, key=lambda group: (-group[0], group[1], group[3]))


def _checks(graded, entries):
    """(check, passed, run, the others' verdicts, the most common diagnosis and its count) of each
    automatic check, those that most submissions fail first.
    """
    found = {check.id: [] for check in graded.manifest.checks.values() if check.coded}
    for entry in entries:
        for check in entry.checks:
            if check["id"] in found and check["verdict"] is not None:
                found[check["id"]].append(check)
    rows = []
    for id, outcomes in found.items():
        failed = [check for check in outcomes if check["verdict"] != Verdict.PASSED.value]
        ends = Counter(check["verdict"] for check in failed).most_common()
        said = Counter(diagnosis(check["details"]) for check in failed).most_common(1)
        rows.append(
            (
                graded.manifest.checks[id],
                len(outcomes) - len(failed),
                len(outcomes),
                ends,
                said[0] if said else None,
            )
        )
    return sorted(rows, key=lambda row: row[1] - row[2])


def _epochs(entries):
    """The plot of accuracy against the epochs of the pretraining; None without any."""
    series = {label: [] for _, _, label, pretrained in MODELS if pretrained}
    for entry in entries:
        facts = {check["id"]: check["facts"] for check in entry.checks}
        epochs = facts.get(EPOCHS[0], {}).get(EPOCHS[1])
        for id, name, label, pretrained in MODELS:
            accuracy = facts.get(id, {}).get(f"accuracy {name}")
            if pretrained and None not in (epochs, accuracy):
                series[label].append(
                    (
                        epochs,
                        accuracy,
                        f"{line(entry.person.name)}: {points(100 * accuracy)}%, {epochs:g} epochs",
                    )
                )
    if not any(series.values()):
        return None
    return scatter(
        "Accuracy against epochs", series, "epochs of pretraining that the code asks for"
    )


def _state(entry: Entry):
    """(tone, text) for the state of a person's submission."""
    if excused(entry):
        return "plain", "excused"
    if entry.pending:
        return "warn", "not graded yet"
    if entry.grader_errors:
        return "warn", "grader error"
    if entry.report:
        return "plain", f"{entry.submitted:%Y-%m-%d %H:%M}" if entry.submitted else "yes"
    return ("bad", "refused") if entry.refused else ("plain", "nothing")


def _total(entry):
    return entry.total if (entry.report or entry.written) and not entry.pending else None


def _seconds(entry):
    return sum(check["seconds"] for check in entry.checks)
