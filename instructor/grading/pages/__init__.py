"""Pages and gradebooks of a graded class: for each person, the staff, Canvas and Moodle."""

import contextlib
import dataclasses
import io
import json
import os
import re
import zipfile
from pathlib import Path

from instructor.grading.explain import explanation
from instructor.grading.forms import blank_form
from instructor.grading.grades import Entry, GradedClass, Submission
from instructor.grading.private import write_all
from instructor.grading.sheet import MARK, table

from . import class_page, gradebook, student_page
from .render import HTML

PAGES = ("feedback.html", "grading.json")
HISTORY = ("when", "who", "what", "id", "check or part", "before", "after", "why")


def write_reports(graded: GradedClass, folder: Path) -> None:
    """Write the results of grading a class, all of them or nothing. Only their owner can read them.

    CLASS/students/NAME has feedback.html for the student, and grading.json for the staff. CLASS has
    class.html, requests.html, grades.csv (for Canvas), grades-plain.csv, history.csv, blank forms
    for markers, and for Canvas and Moodle a zip that brings each student the feedback.

    Raises:
        UserError: a file can't be written; then nothing was changed.
    """
    texts = {
        "class.html": class_page.page(graded),
        "requests.html": _requests(graded),
        "grades.csv": gradebook.canvas(graded)[0],
        "grades-plain.csv": gradebook.plain(graded),
        "history.csv": MARK + table([HISTORY, *graded.history]),
        "written-form.csv": blank_form(graded),
        "written-form-anonymous.csv": blank_form(graded, anonymous=True),
    }
    zips = {"canvas": {}, "moodle": {}}
    for entry in graded.entries:
        place = f"students/{entry.folder}"
        page = texts[f"{place}/feedback.html"] = student_page.page(graded, entry)
        texts[f"{place}/grading.json"] = _grading(entry)
        submission = graded.submissions.get(entry.person.id)
        if submission and submission.system in zips and entry.final:
            name, content = feedback_file(submission, page.encode())
            zips[submission.system][name] = content
    contents = {folder / name: text.encode() for name, text in texts.items()}
    for system, files in zips.items():
        if files:
            contents[folder / f"feedback-{system}.zip"] = zip_of(files)
    write_all(contents)
    for system, files in zips.items():
        if not files:  # an older one has pages that no longer count
            (folder / f"feedback-{system}.zip").unlink(missing_ok=True)
    _remove_others(folder / "students", {entry.folder for entry in graded.entries})


def feedback_file(submission: Submission, page: bytes) -> tuple[str, bytes]:
    """The name and the content under which a system takes back a person's feedback.

    Canvas finds the student and the submitted file by the numbers in the name of the download, and
    shows the feedback under the submitted file's own name: so a page that stands for a zip has to
    be in one. Moodle needs the name up to "assignsubmission_file" alone.
    """
    name = os.fsdecode(submission.entry)
    if submission.system == "moodle":
        start, _, rest = name.rpartition("_assignsubmission_")
        return f"{start}_assignsubmission_{re.split('[_.]', rest)[0]}_feedback.html", page
    if name.lower().endswith(".zip"):
        return name, zip_of({"feedback.html": page})
    return f"{name}.html", page


def zip_of(files: dict[str, bytes]) -> bytes:
    """A zip of files, with the same bytes in every run."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            # a name that is no valid text was not uploaded by a browser
            archive.writestr(zipfile.ZipInfo(name.encode(errors="replace").decode()), files[name])
    return stream.getvalue()


def _requests(graded):
    """The page of open requests, with what the grader found."""
    entries = {entry.person.id: entry for entry in graded.entries}
    rows = [
        (entry := entries[request.person], request, explanation(graded, entry, request.check))
        for request in graded.decisions.requests
        if not request.answer
    ]
    return HTML.get_template("requests.html.j2").render(title=graded.title, requests=rows)


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
