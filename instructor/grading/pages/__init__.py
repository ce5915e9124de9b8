"""Pages and gradebooks of a graded class: for each person, the staff and Canvas."""

import contextlib
import dataclasses
import json
from pathlib import Path

from instructor.grading.grades import Entry, GradedClass
from instructor.grading.private import writing_all
from instructor.grading.sheet import MARK, table
from instructor.grading.written import forms

from . import gradebook

PAGES = ("feedback.html", "grading.json")
HISTORY = ("when", "who", "what", "id", "check or part", "before", "after", "why")


def write_reports(graded: GradedClass, out: Path) -> None:
    """Write the results of grading a class, all of them or nothing.

    OUT/students/FOLDER has feedback.html for the student, and grading.json for the staff. OUT has
    class.html, grades.csv (for Canvas), grades-plain.csv, history.csv, and written.csv, which keeps
    what people filled in.

    Raises:
        UserError: a file can't be written, or written.csv can't be read; then nothing was changed.
    """
    with writing_reports(graded, out):
        pass


@contextlib.contextmanager
def writing_reports(graded: GradedClass, out: Path):
    """Like write_reports, but the files appear when the block ends without an error. Only their
    owner can read them.
    """
    with writing_all(_texts(graded, out)):
        yield
    _remove_others(out / "students", {entry.folder for entry in graded.entries})


def _texts(graded, out):
    """The text of each file."""
    from . import (
        class_page,  # Jinja2, which other commands don't need
        student_page,
    )

    texts = {
        out / "class.html": class_page.page(graded),
        out / "grades.csv": gradebook.canvas(graded)[0],
        out / "grades-plain.csv": gradebook.plain(graded),
        out / "history.csv": MARK + table([HISTORY, *graded.history]),
        out / forms.NAME: forms.form(graded, out / forms.NAME),
    }
    for entry in graded.entries:
        folder = out / "students" / entry.folder
        texts[folder / "feedback.html"] = student_page.page(graded, entry)
        texts[folder / "grading.json"] = _grading(entry)
    return {path: text for path, text in texts.items() if text is not None}


def _remove_others(students: Path, folders: set[str]) -> None:
    """Remove the pages of people who are no longer in the class, so that nobody hands them out.
    Other files stay.
    """
    for folder in students.iterdir() if students.is_dir() else ():
        if folder.name not in folders and folder.is_dir() and not folder.is_symlink():
            for name in PAGES:
                (folder / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                folder.rmdir()


def _grading(entry: Entry) -> str:
    """All that is known of a person's grading, as JSON in ASCII."""
    content = dataclasses.asdict(entry) | {
        "submitted": entry.submitted and entry.submitted.isoformat(),
        "automatic": entry.automatic,
        "total": entry.total,
        "final": entry.final,
    }
    return json.dumps(content, indent=2) + "\n"
