"""The page of the whole class, for the staff: statistics, common mistakes and a table of all
people.
"""

import base64
import hashlib
import re
from collections import Counter, defaultdict
from pathlib import Path

from markupsafe import Markup

from autograder import Verdict
from instructor.grading.grades import Entry, GradedClass
from instructor.grading.text import line, points

from . import statistics
from .plot import histogram, scatter
from .render import HTML
from .statistics import by_question, counted, excused
from .student_page import MODELS

EPOCHS = ("1f-0-basic", "max_epochs")  # the check and the fact that tell those of the pretraining
MOST = 10  # entries of a list of the most common or the slowest
SCRIPT = Path(__file__).parent / "templates" / "class.js"


def page(graded: GradedClass) -> str:
    """The class as one self-contained HTML page; its links lead to students/FOLDER/feedback.html
    beside it.
    """
    script = SCRIPT.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    entries = sorted(graded.entries, key=lambda entry: (entry.person.name.casefold(), entry.folder))
    scores = [entry.total for entry in counted(entries)]
    marked = any(entry.written for entry in entries)
    most = sum(question.points for question in graded.manifest.questions.values())
    most = most if marked else graded.automatic_points
    run = [entry for entry in entries if entry.report]
    seconds = [(sum(check["seconds"] for check in entry.checks), entry) for entry in run]
    return HTML.get_template("class.html.j2").render(
        script=Markup(script),
        digest=digest,
        graded=graded,
        rows=[(entry, by_question(graded, entry), *_state(entry)) for entry in entries],
        run=run,
        pending=[entry for entry in entries if entry.pending and not excused(entry)],
        refused=[entry for entry in entries if entry.refused and not entry.pending],
        excused=sum(map(excused, entries)),
        faults=[(entry, check) for entry in entries for check in entry.grader_errors],
        average=statistics.average(scores),
        scores=scores,
        most=most,
        marked=marked,
        histogram=histogram("Score distribution", scores, most),
        checks=_checks(graded),
        statistics=statistics,
        side_by_side=statistics.sections(graded),
        problems=dict.fromkeys(question[:-1] for question in graded.manifest.questions),
        agreement=statistics.agreement(graded.marked_twice),
        diagnoses=_diagnoses(entries)[:MOST],
        slowest=sorted(seconds, key=lambda pair: -pair[0])[:MOST],
        sections=sorted({entry.person.section for entry in entries} - {""}),
        epochs=_epochs(entries),
    )


def diagnosis(text: str) -> str:
    """The first line of a check's details, with numbers and quoted words replaced, so that equal
    mistakes read alike.
    """
    first = text.strip().split("\n")[0][:400]
    first = re.sub(r"(?<!\w)(['\"`])(?:(?!\1).)*\1(?!\w)", "‘…’", first)
    number = r"(?<![a-zA-Z\d])[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?(?![a-zA-Z\d])"
    return line(re.sub(number, "#", first))


def _diagnoses(entries):
    """(people, checks, verdict, text, an example) of each group of equal mistakes, the most common
    first.
    """
    groups = defaultdict(list)
    for entry in entries:
        for check in entry.checks:
            if check["verdict"] not in (None, Verdict.PASSED.value):
                groups[check["verdict"], diagnosis(check["details"])].append((entry.folder, check))
    found = []
    for (verdict, text), members in groups.items():
        ids = list(dict.fromkeys(check["id"] for _, check in members))
        example = members[0][1]["details"][:1500]
        found.append((len({folder for folder, _ in members}), ids, verdict, text, example))
    return sorted(found, key=lambda group: (-group[0], group[1], group[3]))


def _checks(graded):
    """(check, statistics.items, passed, run, the others' verdicts, the most common diagnosis and
    its count) of each automatic check, those that most submissions fail first.
    """
    rows = []
    for id, item in statistics.items(graded).items():
        outcomes = [c for entry in graded.entries for c in entry.checks if c["id"] == id]
        outcomes = [check for check in outcomes if check["verdict"] is not None]
        failed = [check for check in outcomes if check["verdict"] != Verdict.PASSED.value]
        ends = Counter(check["verdict"] for check in failed).most_common()
        told = Counter(diagnosis(check["details"]) for check in failed).most_common(1)
        passed = len(outcomes) - len(failed)
        rows.append((graded.manifest.checks[id], item, passed, len(outcomes), ends, told))
    return sorted(rows, key=lambda row: row[2] - row[3])


def _epochs(entries):
    """The plot of accuracy against the epochs of the pretraining; None without any."""
    series = {label: [] for _, _, label, pretrained in MODELS if pretrained}
    for entry in entries:
        facts = {check["id"]: check["facts"] for check in entry.checks}
        epochs = facts.get(EPOCHS[0], {}).get(EPOCHS[1])
        for id, name, label, _ in MODELS:
            accuracy = facts.get(id, {}).get(f"accuracy {name}")
            if label in series and None not in (epochs, accuracy):
                said = f"{entry.person.name}: {points(100 * accuracy)}%, {epochs:g} epochs"
                series[label].append((epochs, accuracy, line(said)))
    across = "epochs of pretraining that the code asks for"
    return scatter("Accuracy against epochs", series, across) if any(series.values()) else None


def _state(entry: Entry):
    """The total to show, and (tone, text) for the state of a person's submission."""
    total = entry.total if (entry.report or entry.written) and not entry.pending else None
    if excused(entry):
        return total, "plain", "excused"
    if entry.pending:
        return total, "warn", "not graded yet"
    if entry.grader_errors:
        return total, "warn", "grader error"
    if entry.report:
        return total, "plain", f"{entry.submitted:%Y-%m-%d %H:%M}" if entry.submitted else "yes"
    return (total, "bad", "refused") if entry.refused else (total, "plain", "nothing")
