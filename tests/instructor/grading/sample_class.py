"""An invented class of 200 people with grades, for the tests of pages and gradebooks."""

import json
import random
from datetime import UTC, datetime, timedelta

from autograder import read_manifest
from instructor import ROOT
from instructor.course import read_course
from instructor.grading.grades import Entry, GradedClass, Person

MANIFEST = read_manifest(ROOT / "src" / "checks" / "manifest.toml")
DUE = datetime(2026, 5, 12, 23, 59, tzinfo=UTC)
GIVEN = (
    "Ada Bilal Chiara Dmitri Elif Fatou Grace Hiroshi Inés Jürgen Kwame Linh María Nikolaus "
    "Olumide Priya Quentin Rosa Søren Thandiwe Uma Víctor Wei Yusuf Zoë"
).split()
FAMILY = (
    "Aalto Bhatt Castillo Diallo Eriksson Fischer García Haddad Ito Jansen Kowalski Lindqvist "
    "Mbeki Nguyen O'Neill Petrov Rossi Schmidt Takahashi Zhang"
).split()
OTHERS = ["李小龍", "محمد الفارسي", "שרה לוי", "Ελένη Παπαδοπούλου", "अनन्या शर्मा"]

# What goes wrong, how often, and which checks it costs, with what is said.
MISTAKES = (
    (
        0.16,
        ("1c-3-basic",),
        "wrong answer",
        "In all {n} examples the masked content has {k} characters. Its length should be random.",
    ),
    (
        0.12,
        ("1c-4-hidden",),
        "wrong answer",
        "A truncated length of {k} never came in {n} examples. Every length from 4 to 24 should.",
    ),
    (
        0.10,
        ("1c-11-basic", "1c-6-hidden"),
        "exception",
        "ValueError: empty range for randrange() (4, {k}, -1)\n"
        "In dataset.py, line 96, in __getitem__",
    ),
    (
        0.10,
        ("1c-2-basic",),
        "wrong answer",
        "x and y differ at position {k}: y is x shifted by one, so y[{k}] should be x[{n}].",
    ),
    (
        0.09,
        ("1d-1-basic", "1f-0-basic"),
        "wrong answer",
        "final_tokens is {n}000; it should be 650 times the corpus times the block: {n}500.",
    ),
    (
        0.13,
        ("1h-3-basic", "1h-5-hidden", "1h-7-hidden"),
        "wrong answer",
        "x of shape (2, 3, {k}, 8): 0.{n} off at [0, 0, 1, 0].\nExpected  0.5403\n"
        "got      -0.8415\nThis is what comes of rotating halves in place of adjacent pairs.",
    ),
    (0.06, ("1h-6-basic", "1h-7-hidden"), "timeout", "Nothing came in {k} seconds."),
    (
        0.05,
        ("1f-3-basic", "1f-5-hidden"),
        "exception",
        "RuntimeError: Error(s) in loading state_dict for GPT: size mismatch for 'pos_emb': {n} "
        "against {k}",
    ),
)


def outcome(check, rng, facts=None):
    """A check that was passed, as a report has it."""
    return {
        "id": check.id,
        "question": check.question,
        "title": check.title,
        "score": check.points,
        "max_score": check.points,
        "verdict": "passed",
        "message": "",
        "details": "",
        "hints": [],
        "facts": facts or {},
        "seconds": round(rng.uniform(0.02, 0.4), 4),
    }


def fail(report, id, verdict, details, share=0.0):
    """Make a check of a report fail, with a message such as the grader gives."""
    check = next(check for check in report["checks"] if check["id"] == id)
    check |= {
        "verdict": verdict,
        "score": share * check["max_score"],
        "details": details,
        "facts": {},
    }
    check["message"] = f"Hidden check: {check['title']}." if id.endswith("hidden") else details
    if verdict == "grader error":
        check["message"] = "The grader failed here, not your code. Please tell the staff."
    report["score"] = sum(check["score"] for check in report["checks"])


def full_report(rng):
    """The report of a submission that is right."""
    facts = {
        "1e-2-basic": {"accuracy vanilla.nopretrain.dev": round(rng.choice([0, 0, 0.01, 0.02]), 3)},
        "1f-0-basic": {"max_epochs": 650.0},
        "1f-6-basic": {
            "accuracy vanilla.pretrain.dev": round(min(1, max(0.2, rng.gauss(0.58, 0.11))), 2),
            "needed vanilla.pretrain.dev": 0.2,
        },
        "1h-8-basic": {
            "accuracy rope.pretrain.dev": round(min(1, max(0.2, rng.gauss(0.74, 0.12))), 2),
            "needed rope.pretrain.dev": 0.2,
        },
    }
    checks = [
        outcome(check, rng, facts.get(check.id))
        for check in MANIFEST.checks.values()
        if check.coded
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
        "seconds": round(rng.uniform(5, 9), 3),
        "checks": checks,
    }


def _report(rng):
    report = full_report(rng)
    for often, ids, verdict, text in MISTAKES:
        if rng.random() < often:
            said = text.format(n=rng.randrange(100, 900), k=rng.randrange(5, 30))
            for id in ids:
                fail(report, id, verdict, said)
    luck = rng.random()
    if luck < 0.08:  # a beginning
        for check in report["checks"]:
            if check["question"] in ("1f", "1h") or check["id"] in (
                "1e-0-hidden",
                "1e-1-hidden",
                "1e-2-basic",
            ):
                fail(report, check["id"], "not implemented", "helper.py:106  pretrain")
    elif luck < 0.22:  # trained for less than was asked for
        epochs = rng.choice([50, 100, 200, 300, 400])
        fail(
            report,
            "1f-0-basic",
            "wrong answer",
            f"max_epochs is {epochs}; the handout asks for 650.",
            0.75,
        )
        for check in report["checks"]:
            if check["id"] == "1f-0-basic":
                check["facts"] = {"max_epochs": float(epochs)}
            for fact in check["facts"]:
                if fact.startswith("accuracy"):
                    check["facts"][fact] = round(check["facts"][fact] * epochs / 650, 2)
    if rng.random() < 0.1:
        report["notices"] = [
            "model.py was changed outside the markers. That is allowed, and was graded as it is."
        ]
    if rng.random() < 0.1:
        report["checks"][0]["hints"] = [
            "2 of 300 masked spans are empty; the handout asks for at least one character."
        ]
    if rng.random() < 0.03:
        report["checks"][rng.randrange(len(report["checks"]))]["seconds"] = rng.uniform(15, 60)
    return report


def make_class(people=200, seed=1):
    """The class. The same seed gives the same class."""
    rng = random.Random(seed)
    entries = []
    for i in range(people):
        name = OTHERS[i] if i < len(OTHERS) else f"{rng.choice(GIVEN)} {rng.choice(FAMILY)}"
        person = Person(
            f"{100200 + i}",
            name,
            f"s{100200 + i}@uni.example",
            f"Section {1 + i % 4}",
            str(5000 + i),
            f"{100200 + i}",
            f"s{100200 + i}",
        )
        entry = Entry(person, f"s{100200 + i}")
        entries.append(entry)
        luck = rng.random()
        if luck < 0.03:
            continue
        entry.source = f"submissions/s{100200 + i}_submission.zip"
        entry.submitted = DUE - timedelta(
            minutes=rng.expovariate(1 / 900) - (2400 if luck > 0.93 else 0)
        )
        if luck < 0.05:
            entry.refused = (
                "submission.zip is an HTML page, not a zip file. Perhaps the download ended at a "
                "login."
            )
            continue
        entry.report = _report(rng)
        if entry.submitted > DUE:
            entry.days_late = (entry.submitted - DUE).days + 1
            entry.penalty = min(1.0, 0.1 * entry.days_late)
        if i % 3 == 0:
            entry.written = {
                check.id: check.points * rng.choice([0.5, 1, 1])
                for check in MANIFEST.checks.values()
                if not check.coded
            }
            entry.comments = {
                "3b-0-written": "A softmax never gives exactly one half: say how large the query "
                "has to be."
            }
    if people >= 20:
        fail(
            entries[15].report,
            "1c-7-hidden",
            "grader error",
            "ProcessError: the student's process could not be started: Cannot allocate memory",
        )
        entries[12].remarks = [
            "An earlier submission of the same person was not counted: s100212_first.zip."
        ]
    graded = GradedClass(MANIFEST, read_course().title, entries, DUE)
    if people > 30:
        _unusual(graded, rng)
    return graded


def _unusual(graded, rng):
    """Somebody excused, two who are not graded yet (one in part), a stranger, and parts marked
    twice.
    """
    excused, waiting, untouched, stranger = [e for e in graded.entries[20:] if e.report][:4]
    excused.excused = "Ill for two weeks."
    waiting.pending = ["1h-7-hidden"]
    kept = [check for check in waiting.report["checks"] if check["id"] not in waiting.pending]
    waiting.report["checks"] = kept
    untouched.report, untouched.written, untouched.comments = None, {}, {}
    untouched.pending = [check.id for check in MANIFEST.checks.values() if check.coded]
    stranger.person = Person("guest", "A. Guest", enrolled=False)
    for id in ("1g-0-written", "3c-1-written"):
        for entry in rng.sample(graded.entries, 12):
            points = rng.choice([0.5, 1, 1.5])
            other = rng.choice([points, points, points + 0.5])
            graded.marked_twice.append((id, points, other))
            if points != other:
                graded.conflicts.append(
                    f"{id} of {entry.person.name}: {points:g} by Kim, {other:g} by Lee."
                )


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
            if entry.source:
                id, submitted = entry.person.id, entry.submitted and entry.submitted.isoformat()
                handed.append(
                    Handed(
                        entry.source,
                        id,
                        b"",
                        "" if entry.refused else id,
                        submitted,
                        None,
                        entry.refused,
                    )
                )
            if entry.report:
                state.put_report(id, "", wanted, entry.report)
        state.put_found([entry.person for entry in graded.entries], handed)
