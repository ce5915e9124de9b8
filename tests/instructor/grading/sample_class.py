"""An invented class of 200 people with grades, for the tests of pages and gradebooks."""

import json
import random
from datetime import UTC, datetime, timedelta

from autograder import read_manifest
from instructor import ROOT
from instructor.course import read_course
from instructor.grading.grades import Entry, GradedClass, Person

MANIFEST = read_manifest(ROOT / "src" / "checks" / "manifest.toml")
CODED = [check.id for check in MANIFEST.checks.values() if check.coded]
PARTS = [check.id for check in MANIFEST.checks.values() if not check.coded]
DUE = datetime(2026, 5, 12, 23, 59, tzinfo=UTC)
GIVEN = "Ada Bilal Chiara Dmitri Elif Fatou Grace Hiroshi Inés Jürgen".split()
FAMILY = "Aalto Bhatt Castillo Diallo Eriksson Fischer García Haddad O'Neill Zhang".split()
OTHERS = ["李小龍", "محمد الفارسي", "שרה לוי", "Ελένη Παπαδοπούλου", "अनन्या शर्मा"]

# What goes wrong, how often, and which checks it costs, with what is said.
MISTAKES = (
    (
        0.12,
        ("1c-4-hidden",),
        "wrong answer",
        "A truncated length of {k} never came in {n} examples. Every length from 4 to 24 should.",
    ),
    (0.13, ("1h-3-basic", "1h-5-hidden"), "wrong answer", "x: 0.{n} off at [0, 0, 1, 0]."),
    (0.06, ("1h-6-basic", "1h-7-hidden"), "timeout", "Nothing came in {k} seconds."),
    (0.08, ("1f-3-basic", "5e-0-basic"), "not implemented", "helper.py:106  pretrain"),
)


def fail(report, id, verdict, details, share=0.0):
    """Make a check of a report fail, with a message such as the grader gives."""
    check = next(check for check in report["checks"] if check["id"] == id)
    score = share * check["max_score"]
    check |= {"verdict": verdict, "score": score, "details": details, "facts": {}}
    check["message"] = f"Hidden check: {check['title']}." if id.endswith("hidden") else details
    if verdict == "grader error":
        check["message"] = "The grader failed here, not your code. Please tell the staff."
    report["score"] = sum(check["score"] for check in report["checks"])


def full_report(rng):
    """The report of a submission that is right."""
    facts = {
        "1e-2-basic": {"accuracy vanilla.nopretrain.dev": 0.01},
        "1f-0-basic": {"max_epochs": 650.0},
    }
    for id, name in (("1f-6-basic", "vanilla"), ("1h-8-basic", "rope")):
        accuracy = round(rng.uniform(0.3, 0.9), 2)
        facts[id] = {f"accuracy {name}.pretrain.dev": accuracy, f"needed {name}.pretrain.dev": 0.2}
    checks = [
        {
            "id": check.id,
            "question": check.question,
            "title": check.title,
            "score": check.points,
            "max_score": check.points,
            "verdict": "passed",
            "message": "",
            "details": "",
            "hints": [],
            "facts": facts.get(check.id, {}),
            "seconds": round(rng.uniform(0.02, 0.4), 4),
        }
        for check in map(MANIFEST.checks.get, CODED)
    ]
    most = sum(check["max_score"] for check in checks)
    return {
        "score": float(most),
        "max_score": most,
        "max_score_here": most,
        "seed": rng.randrange(2**62),
        "isolation": "bubblewrap",
        "isolation_reason": "",
        "notices": [],
        "seconds": 7.0,
        "checks": checks,
    }


def make_class(people=200, seed=1):
    """The class. The same seed gives the same class."""
    rng = random.Random(seed)
    graded = GradedClass(MANIFEST, read_course().title, [], DUE)
    for i in range(people):
        name = OTHERS[i] if i < len(OTHERS) else f"{rng.choice(GIVEN)} {rng.choice(FAMILY)}"
        id, login, section = str(100200 + i), f"s{100200 + i}", f"Section {1 + i % 4}"
        person = Person(id, name, f"{login}@uni.example", section, str(5000 + i), id, login)
        entry = Entry(person, login)
        graded.entries.append(entry)
        if i % 40 == 39:
            continue  # who handed nothing in
        entry.source = f"submissions/{login}_submission.zip"
        entry.submitted = DUE - timedelta(minutes=rng.randrange(-2000, 20000))
        if i % 40 == 38:
            entry.refused = "submission.zip is an HTML page, not a zip file."
            continue
        entry.report = full_report(rng)
        for often, ids, verdict, text in MISTAKES:
            if rng.random() < often:
                said = text.format(n=rng.randrange(100, 900), k=rng.randrange(5, 30))
                for id in ids:
                    fail(entry.report, id, verdict, said)
        entry.days_late = max(0, (entry.submitted - DUE).days + 1)
        entry.penalty = 0.1 * entry.days_late
        if i % 3 == 0:
            entry.written = {part: MANIFEST.checks[part].points / 2 for part in PARTS}
            entry.comments = {"3b-0-written": "Say how large the query has to be."}
    if people > 30:
        _unusual(graded)
    return graded


def _unusual(graded):
    """A fault of the grader, somebody excused, two who are not graded yet (one in part), a
    stranger, and a part marked twice.
    """
    failed, excused, waiting, untouched, stranger = graded.entries[20:25]
    fail(failed.report, "1c-7-hidden", "grader error", "ProcessError: Cannot allocate memory")
    excused.excused = "Ill for two weeks."
    waiting.pending = ["1h-7-hidden"]
    kept = [check for check in waiting.report["checks"] if check["id"] not in waiting.pending]
    waiting.report["checks"] = kept
    untouched.report, untouched.written, untouched.pending = None, {}, CODED
    stranger.person = Person("guest", "A. Guest", enrolled=False)
    graded.marked_twice.append(("1g-0-written", 1.5, 1))
    graded.conflicts.append("1g-0-written of Ada: 1.5 by Kim, 1 by Lee.")


def keep_class(graded, out):
    """Put a class into a state, as `grade` leaves it; marks, and what staff decided, are not in
    it.
    """
    from instructor.grading.fingerprint import Fingerprints
    from instructor.grading.graded_class import setting_of
    from instructor.grading.options import DEFAULTS, complete
    from instructor.grading.state import Handed, State

    with State(out, make=True) as state:
        given = {"title": graded.title, "due": graded.due and graded.due.isoformat()}
        options = complete(DEFAULTS | given, weak=False) | {"column": graded.column}
        wanted = Fingerprints(graded.manifest, setting_of(options)).wanted
        state.put(options=json.dumps(options), seed="1")
        handed = []
        for entry in graded.entries:
            id, digest = entry.person.id, "" if entry.refused else entry.person.id
            if entry.source:
                time = entry.submitted and entry.submitted.isoformat()
                handed.append(Handed(entry.source, id, b"", digest, time, None, entry.refused))
            if entry.report:
                state.put_report(digest, "", wanted, entry.report)
        state.put_found([entry.person for entry in graded.entries], handed)
