"""docs/site: the built handout, a sample feedback page and the page of a sample class.

Building the handout's PDF gives other bytes with another TeX, so what is compared is not the pages
but a hash of what each is made from, in sources.json.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from common.files import write_text, writing
from instructor import ROOT
from instructor.course import read_course
from instructor.documents.facts import as_tex, gather

SITE = ROOT / "docs" / "site"
HASHES = SITE / "sources.json"
SAMPLES = ("instructor/documents/*.py", "instructor/grading/pages/**/*")
HANDOUT = ("handout/*.tex", "handout/figures/*.py", "instructor/results/*")
SOURCES = {
    "handout.pdf": HANDOUT,
    "handout.html": (*HANDOUT, "handout/html/*"),
    "feedback.html": (*SAMPLES, "src/checks/**/*", "instructor/checks/**/*.py"),
    "class.html": (*SAMPLES, "src/checks/manifest.toml"),
}


def find_stale() -> list[str]:
    """The names of pages that are missing, or whose sources have changed since they were made."""
    made = json.loads(HASHES.read_text(encoding="utf-8")) if HASHES.exists() else {}
    return [
        f"docs/site/{name}"
        for name in SOURCES
        if made.get(name) != hash_of(name) or not (SITE / name).exists()
    ]


def write() -> None:
    """Make those pages anew that are stale.

    Raises:
        UserError: a tool for the handout is missing, or no isolation level works.
    """
    from instructor.release.handout import build_handout

    stale = [Path(name).name for name in find_stale()]
    SITE.mkdir(exist_ok=True)
    if any(name.startswith("handout") for name in stale):
        built = build_handout(read_course())
        for name in ("handout.pdf", "handout.html"):
            with writing(SITE / name) as temporary:
                temporary.write_bytes(built[name])
    if "feedback.html" in stale:
        write_text(SITE / "feedback.html", feedback())
    if "class.html" in stale:
        write_text(SITE / "class.html", class_page())
    write_text(HASHES, json.dumps({name: hash_of(name) for name in SOURCES}, indent=2) + "\n")


def feedback() -> str:
    """The page that a student gets."""
    from instructor.grading.pages import student_page

    from .sample_submission import graded

    return student_page.page(*graded())


def class_page() -> str:
    """The page of an invented class; the links of all its people lead to the sample feedback."""
    from instructor.grading.pages import class_page

    from .sample_class import make_class

    return re.sub(r'href="students/[^"]*"', 'href="feedback.html"', class_page.page(make_class()))


def hash_of(name: str) -> str:
    """A hash of what a page is made from."""
    digest = hashlib.sha256()
    if name.startswith("handout"):
        digest.update(as_tex(gather()).encode())
    for path in _sources(name):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _sources(name: str) -> Iterable[Path]:
    """The files that a page is made from, sorted."""
    found = {path for pattern in SOURCES[name] for path in ROOT.glob(pattern)}
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)
