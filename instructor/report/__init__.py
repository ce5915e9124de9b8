"""Pages and gradebooks of a class that was graded: for each person, for the staff, for the university's system."""
import contextlib
import dataclasses
import json
from pathlib import Path

from ..grades import Class, Entry
from . import gradebook, written
from .text import write_if_new

PAGES = ("feedback.html", "feedback.md", "grading.json")
__all__ = ["write_reports", "gradebook", "written"]


def write_reports(klass: Class, out: Path, changed: set[str] | None = None) -> list[str]:
    """Write what the grading of a class has found out; a file that would not change is left alone.

    OUT/students/FOLDER has feedback.html and feedback.md for the student, and grading.json for the staff. OUT has class.html, grades.csv
    (for Canvas), grades-plain.csv, and written.csv, in which points that people filled in stay.

    Args:
        out: the folder.
        changed: the ids of the persons whose pages are to be made; None for all. The files of the class are always made.

    Returns:
        The ids of the persons who are not in grades.csv, because Canvas would not know them.

    Raises:
        UserError: a file can't be written, or written.csv can't be read (then all others are made).
    """
    from . import klass as class_page       # Jinja2, which other commands can do without
    from . import student
    for entry in klass.entries:
        if changed is None or entry.person.id in changed:
            folder = out / "students" / entry.folder
            write_if_new(folder / "feedback.html", student.page(klass, entry))
            write_if_new(folder / "feedback.md", student.markdown(klass, entry))
            write_if_new(folder / "grading.json", _grading(entry))
    _remove_others(out / "students", {entry.folder for entry in klass.entries})
    write_if_new(out / "class.html", class_page.page(klass))
    left_out = gradebook.write_canvas(klass, out / "grades.csv")
    gradebook.write_plain(klass, out / "grades-plain.csv")
    written.update(out / written.NAME, klass)
    return [person.id for person in left_out]


def _remove_others(students: Path, folders: set[str]) -> None:
    """Remove the pages of people who are no longer in the class: nobody should hand them out. Other files stay."""
    for folder in students.iterdir() if students.is_dir() else ():
        if folder.name not in folders and folder.is_dir() and not folder.is_symlink():
            for name in PAGES:
                (folder / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                folder.rmdir()


def _grading(entry: Entry) -> str:
    """All that is known of a person's grading, as JSON in ASCII."""
    content = dataclasses.asdict(entry) | {"submitted": entry.submitted and entry.submitted.isoformat(),
                                           "automatic": entry.automatic, "total": entry.total}
    return json.dumps(content, indent=2) + "\n"
