"""Finds the part of a submission to write next, and where the handout asks for it."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder import Manifest, Report, Verdict
from checks.support.staging import END, GIVEN, START
from jobs.deliverables import ANSWERS, STUDENT_FILES, place_of, unwritten, why_unusable

HANDOUT = Path(__file__).resolve().parents[3] / "handout"
PAGES = HANDOUT / "pages.json"  # question -> page of handout.pdf; a release has it


@dataclass(frozen=True)
class Part:
    """A part that is not written: its question, what it is, and where it belongs."""

    question: str
    what: str
    file: Path
    line: int


def unwritten_parts(folder: Path) -> list[Part]:
    """The parts of a submission that are stubs or blanks, file by file; those of a missing file are
    where the starter has them.
    """
    found = []
    for name in (*STUDENT_FILES, *ANSWERS):
        file = _file(folder, name)
        source = file if file.is_file() else GIVEN / name
        content = source.read_bytes() if source.is_file() else b""
        for line, question, what in unwritten(name, content):
            found.append(Part(question, what, file, line))
    return found


def next_part(folder: Path, manifest: Manifest, questions: set[str]) -> Part | None:
    """The first unwritten part of these questions, and of those that they build on, in the order of
    the manifest, which is the handout's. None if all are written.
    """
    needed = questions.union(*map(manifest.bases, questions))
    order = [id for id in manifest.questions if id in needed]
    parts = [part for part in unwritten_parts(folder) if part.question in order]
    return min(parts, key=lambda part: order.index(part.question), default=None)


def describe(part: Part, manifest: Manifest, command: str) -> str:
    """Five lines: the question, what to write, where, what to read, and the command that checks
    it.
    """
    question = manifest.questions[part.question]
    points = f"{question.points:g} point{'s' * (question.points != 1)}"
    extra = ", extra credit" if question.extra_credit else ""
    missing = "" if part.file.is_file() else " (the file is missing)"
    return (
        f"Next: {question.id}  {question.title} ({points}{extra})\n"
        f"  write  {part.what}\n"
        f"  in     {_from_here(part.file)}, line {part.line}{missing}\n"
        f"  read   {_where_to_read(question.id)}\n"
        f"  check  {command}"
    )


def advise(report: Report, folder: Path, repeat: Callable[[list[str]], str]) -> str:
    """One line after a grading: the first part that is not written or not right, its file and line,
    its page, and the command that checks it.

    Args:
        report: of the grading.
        folder: the submission; without a folder (a zip), files have no lines.
        repeat: returns the command that grades the questions or checks with the given ids.
    """
    failed = [
        check
        for check in report.checks
        if report.outcomes[check.id].verdict not in (None, Verdict.PASSED, Verdict.GRADER_ERROR)
    ]
    coded = {check.id for check in report.manifest.checks.values() if check.coded}
    if not failed and report.passed_so_far and coded <= report.outcomes.keys():
        return "Nothing is left: all checks that run here passed."
    if not failed:
        return f"Next: {repeat(['--next'] if folder.is_dir() else [])}"
    first = failed[0]
    question = first.question
    unwritten = report.outcomes[first.id].verdict is Verdict.NOT_IMPLEMENTED and folder.is_dir()
    part = next_part(folder, report.manifest, {question}) if unwritten else None
    if part:
        todo, place = f"write {part.what} ({part.question})", _place(part.file, part.line)
    else:
        todo, place = f"mend {first.id}", _mend_at(first, report, folder)
        graded = {check.question for check in report.checks}
        if bases := {*report.manifest.questions[question].builds_on} - graded:
            todo += f" ({question} uses your {' and '.join(sorted(bases))}: grade that, too)"
    steps = [todo, place, f"read {_where_to_read(question)}", repeat([question])]
    return "Next: " + "; ".join(filter(None, steps))


def _mend_at(check, report, folder):
    """A file that cannot be read; else where a failed check's message points to, first of all in a
    part that students write; else the part of its question that message or title name first; else
    its file. None if it is about results, or for a zip.
    """
    if check.artifacts or not folder.is_dir():
        return None
    for name in STUDENT_FILES:
        if (folder / name).is_file() and why_unusable(folder, name):
            return _from_here(folder / name)
    message = report.outcomes[check.id].message
    frames = re.findall(r"(?m)(?:^\s*|Where it was: )([\w/]+\.py), line (\d+)", message)
    frames = [(place_of(name), int(line)) for name, line in frames]
    frames = [(name, line) for name, line in frames if name in STUDENT_FILES]
    if frames:
        written = [(name, line) for name, line in frames if _is_written(folder, name, line)]
        name, line = written[-1] if written else frames[0]
        return _place(_file(folder, name), line)
    parts = [part for part in unwritten_parts(GIVEN) if part.question == check.question]
    files = {part.what.split(".")[0]: part.file.relative_to(GIVEN).as_posix() for part in parts}
    words = re.findall(r"\w+", f"{message} {check.title}")
    named = [word for word in words if word in files] or [*files][: len(files) == 1]
    if not named:
        return _from_here(_file(folder, [*files.values()][0])) if files else None
    file = _file(folder, files[named[0]])
    text = _text(file)
    found = re.search(rf"(?ms)^(?:def|class) {named[0]}\b.*?(?=^(?:def|class) |\Z)", text)
    if not found:
        return _from_here(file)
    begin = found.start() + max(0, found[0].find(f"[part {check.question}]"))
    return _place(file, 1 + text.count("\n", 0, begin))


def _file(folder, name):
    """A student's file, in its problem's folder or at the top."""
    top = folder / PurePosixPath(name).name
    return top if top.is_file() and not (folder / name).is_file() else folder / name


def _text(file):
    """A file as text, whatever its bytes are; "" if it is missing."""
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _is_written(folder, name, line):
    """Whether a line of a student's file is between the markers of a part."""
    before = "\n".join(_text(_file(folder, name)).split("\n")[:line])
    return before.count(START) > before.count(END)


def _place(file, line):
    return f"{_from_here(file)}:{line}"


def _where_to_read(question):
    """The page on which a question starts; in a copy without the built handout, its section."""
    try:
        page = json.loads(PAGES.read_text(encoding="utf-8"))[question]
        return f"{_from_here(PAGES.with_name('handout.pdf'))}, page {page}"
    except (OSError, ValueError, KeyError):
        return f"the handout, problem {question[:-1]}, question ({question[-1]})"


def _from_here(path):
    """A path relative to the current folder, or as it is on another drive of Windows."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:
        return str(path)
