"""Classes for tests: what is handed in, commands on it, clones, and an invented class."""

import csv
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from autograder import Outcome, Report, Verdict, read_manifest
from autograder.report import as_dict
from helpers import ROOT, SOLUTION, manifest_text
from instructor.commands import parse
from instructor.course import read_course
from instructor.grading.decision_files import COLUMNS
from instructor.grading.fingerprint import Fingerprints
from instructor.grading.graded_class import load_class
from instructor.grading.grades import Entry, GradedClass, Person

CODE = (SOLUTION / "model.py").read_text(encoding="utf-8")
HOME = "src/submission"  # where a clone has it
# the command line, with a stand-in for grading
QUICK = [sys.executable, str(ROOT / "tests" / "instructor" / "grading" / "batch_work.py")]


def hand_in(folder, *names):
    """Put folders of submissions that differ into a folder, which is returned."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "model.py").write_text(f"# {name}\n", encoding="utf-8")
    return folder


def students(folder, count, **special):
    """The same for so many; `special` names files to put into some of them."""
    hand_in(folder, *(f"student{n:02}" for n in range(count)))
    for name, which in special.items():
        for n in which:
            (folder / f"student{n:02}" / name.replace("_", "-")).touch()
    return folder


def set_up(out, **settings):
    """Write the settings of a class, whose folder is returned; others are the defaults."""
    # JSON's texts, numbers and lists are TOML's, too
    lines = [f"{name} = {json.dumps(settings[name], default=str)}\n" for name in settings]
    out.mkdir(exist_ok=True)
    (out / "settings.toml").write_text("".join(lines), encoding="utf-8")
    return out


PRINTS = {}


def fingerprints(manifest, setting):
    """The fingerprints, computed once: no test changes a check's files."""
    key = repr((manifest, setting))
    if key not in PRINTS:
        PRINTS[key] = Fingerprints(manifest, setting)
    return PRINTS[key]


def cli(*arguments):
    """Run a command of `python -m instructor` in this process; mistakes raise UserError."""
    args = parse([str(word) for word in arguments])
    return args.run(args)


def start(*arguments, program=QUICK, **environment):
    """A process that runs a command line, with worker processes."""
    words, pipe = [*program, *map(str, arguments)], subprocess.PIPE
    options = {"cwd": ROOT, "env": {**os.environ, **environment}, "encoding": "utf-8"}
    return subprocess.Popen(words, stdout=pipe, stderr=pipe, start_new_session=True, **options)


def entries(tmp_path):
    """The entries of the class in tmp_path/out, by the person's id."""
    return {entry.person.id: entry for entry in load_class(tmp_path / "out").entries}


def verdicts(out):
    """What was graded in the folder of a class: {person: {check: (verdict, score)}}."""
    return {
        entry.person.id: {check["id"]: (check["verdict"], check["score"]) for check in entry.checks}
        for entry in load_class(out).entries
    }


def rows(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def page_of(tmp_path, person):
    """The feedback that is kept in a folder of tmp_path/out/students."""
    return (tmp_path / "out" / "students" / person / "feedback.html").read_text(encoding="utf-8")


def decide(tmp_path, *lines, file="overrides.csv"):
    """Write lines that staff decided into a file of tmp_path/out; "written/eva.csv" has marks."""
    header = COLUMNS.get(file, ("id", "rubric", "points", "comment"))
    path = tmp_path / "out" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([",".join(header), *lines, ""]), encoding="utf-8")


def with_points(id, points):
    """The text of the manifest with other points for a check; with none, without the check."""
    check, text = MANIFEST.checks[id], manifest_text()
    if not points:
        text = re.sub(rf'(?s)\[\[check\]\]\nid = "{id}".*?(?=\n\[\[check\]\]|\Z)', "", text)
    of_question = MANIFEST.questions[check.question].points - check.points + points
    tables = {f'id = "{id}"': points, rf"\[questions.{check.question}\]": of_question}
    for table, value in tables.items():
        text = re.sub(rf"(?s)({table}.*?points = )[\d.]+", rf"\g<1>{value:g}", text, count=1)
    return text


def git(folder: Path, *words: str, when: str = "2026-02-10 12:00 +0000") -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    own |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    for who in ("GIT_AUTHOR", "GIT_COMMITTER"):
        own |= {f"{who}_NAME": "Ada", f"{who}_EMAIL": "ada@example.org", f"{who}_DATE": when}
    words = "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words
    options = {"cwd": folder, "env": own, "encoding": "utf-8"}
    done = subprocess.run(["git", *words], capture_output=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder: Path, when: str, files: dict[str, str] | None = None, *words: str) -> str:
    """Commit files, by default model.py with its time in it; returns the hash."""
    files = {f"{HOME}/model.py": f"# {when}\n{CODE}"} if files is None else files
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "work", *words, when=when)
    return git(folder, "rev-parse", "HEAD")


def student(folder: Path, *times: str) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    for when in times:
        commit(folder, when)
    return folder


def clone(origin: Path, to: Path, *options: str) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    git(to.parent, "clone", "--quiet", *options, origin.as_uri(), str(to))
    return to


MANIFEST = read_manifest(ROOT / "src" / "checks" / "manifest.toml")
CODED = [check.id for check in MANIFEST.checks.values() if check.coded]
PARTS = [check.id for check in MANIFEST.checks.values() if not check.coded]
DUE = datetime(2026, 5, 12, 23, 59, tzinfo=UTC)
GIVEN = "Ada Bilal Chiara Dmitri Elif Fatou Grace Hiroshi Inés Jürgen".split()
FAMILY = "Aalto Bhatt Castillo Diallo Eriksson Fischer García Haddad O'Neill Zhang".split()
OTHERS = ["李小龍", "محمد الفارسي", "שרה לוי", "Ελένη Παπαδοπούλου", "अनन्या शर्मा"]

MISTAKES = (  # one in how many makes it, which checks it costs, how they end, and what is said
    (8, "1c-4-hidden", "wrong answer", "A truncated length of {k} never came in {n} examples."),
    (7, "1h-3-basic 1h-5-hidden", "wrong answer", "x: 0.{n} off at [0, 0, 1, 0]."),
    (17, "1h-6-basic 1h-7-hidden", "timeout", "Nothing came in {k} seconds."),
    (11, "1f-3-basic 5e-0-basic", "not implemented", "helper.py:106  pretrain"),
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


def full_report():
    outcomes = {id: Outcome(id, Verdict.PASSED, MANIFEST.checks[id].points) for id in CODED}
    report = as_dict(Report(MANIFEST, outcomes, 1, ("bubblewrap", "")))
    accuracy = {"accuracy vanilla.pretrain.dev": 0.5, "needed vanilla.pretrain.dev": 0.2}
    for check in report["checks"]:
        check |= {"facts": accuracy if check["id"] == "1f-6-basic" else {}, "seconds": 0.1}
    return report


def make_class(people=200):
    graded = GradedClass(MANIFEST, read_course().title, [], DUE)
    for i in range(people):
        name = OTHERS[i] if i < len(OTHERS) else f"{GIVEN[i % 10]} {FAMILY[i // 10 % 10]}"
        id, login, section = str(100200 + i), f"s{100200 + i}", f"Section {1 + i % 4}"
        person = Person(id, name, f"{login}@uni.example", section, str(5000 + i), id, login)
        entry = Entry(person, login)
        graded.entries.append(entry)
        if i % 40 == 39:
            continue  # who handed nothing in
        entry.source = f"submissions/{login}_submission.zip"
        entry.submitted = DUE + timedelta(hours=i % 40 - 34)
        if i % 40 == 38:
            entry.refused = "submission.zip is an HTML page, not a zip file."
            continue
        entry.report = full_report()
        for often, ids, verdict, text in MISTAKES:
            for id in ids.split() if i % often == 0 else ():
                fail(entry.report, id, verdict, text.format(n=100 + i, k=5 + i % 25))
        entry.days_late = max(0, (entry.submitted - DUE).days + 1)
        entry.penalty = 0.1 * entry.days_late
        if i % 3 == 0:
            entry.written = {part: MANIFEST.checks[part].points / 2 for part in PARTS}
            entry.comments = {"3b-0-written": "Say how large the query has to be."}
    if people < 30:
        return graded
    failed, excused, waiting, untouched, stranger = graded.entries[20:25]
    fail(failed.report, "1c-7-hidden", "grader error", "ProcessError: Cannot allocate memory")
    excused.excused = "Ill for two weeks."
    waiting.pending = ["1h-7-hidden"]
    kept = [check for check in waiting.report["checks"] if check["id"] not in waiting.pending]
    waiting.report["checks"] = kept
    untouched.report, untouched.written, untouched.pending = None, {}, CODED
    stranger.person = Person("guest", "A. Guest", enrolled=False)
    graded.marked_twice += [("1g-0-written", 1.5, 1), ("1g-0-written", 1, 1)]
    graded.conflicts.append("1g-0-written of Ada: 1.5 by Kim, 1 by Lee.")
    return graded
