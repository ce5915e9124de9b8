"""docs/site: the built handout, and the page that a student gets, for people who browse the
repository.

Another version of TeX, pandoc or torch gives other bytes, so what readers see is compared.
"""

import re
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

from autograder import read_manifest
from autograder.report import as_dict
from checks.support.rounds import Rounds
from checks.support.session import MANIFEST, Setting, grade_submission
from common.files import writing
from instructor import ROOT
from instructor.course import read_course
from instructor.grading.grades import Entry, GradedClass, Person
from instructor.grading.pages import student_page
from instructor.release.handout import build_handout
from instructor.release.starter import KEPT_RESULTS, SOLUTION, STARTER

SITE = ROOT / "docs" / "site"
SEED = 20260512  # of the checks' random inputs
# Typical mistakes: file, what the reference has, what stands in its place
MISTAKES = (
    (
        "dataset.py",
        "        mean = max(1, math.floor(length / 4 + random.random()))\n"
        "        masked_length = random.randint(1, 2 * mean - 1)\n",
        "        masked_length = max(1, length // 4)\n",
    ),
    ("problem5/encoder.py", "math.sqrt(q.size(-1))", "math.sqrt(x.size(-1))"),
    ("problem6/fixes.py", "logits / temperature", "logits * temperature"),
)
NOT_WRITTEN = "problem6/diagnostics.py"  # as in the starter
WRITTEN = {"1g-0-written": 1.5, "3a-0-written": 1.0}
COMMENT = "Say why the rotation matrix of a difference is the product of the two."


class Sample(Setting):
    """A Setting in which basic checks draw released rounds: staff's are others in each copy."""

    def rounds(self, questions):
        """Rounds of basic and of hidden checks."""
        staff, released = super().rounds(questions), Rounds()
        return SimpleNamespace(
            draw=lambda id, rng: (staff if id.endswith("hidden") else released).draw(id, rng)
        )


def make_pages() -> dict[str, bytes]:
    """Make the pages of docs/site, a minute: name -> content.

    Raises:
        UserError: a tool for the handout is missing, or no strong isolation level works.
    """
    built = build_handout()
    return {name: built[name] for name in ("handout.pdf", "handout.html")} | {
        "feedback.html": feedback().encode()
    }


def feedback() -> str:
    """The page that a student gets for the reference with typical mistakes."""
    manifest, instructor = read_manifest(MANIFEST), ROOT / "instructor"
    setting = Sample(instructor / "checks", instructor / "gold", results=KEPT_RESULTS)
    checks = [check for check in manifest.checks.values() if check.coded]
    with tempfile.TemporaryDirectory() as scratch:
        folder = shutil.copytree(SOLUTION, Path(scratch) / "submission")
        for name, right, wrong in MISTAKES:
            text = (folder / name).read_text(encoding="utf-8")
            assert text.count(right) == 1, (name, right)
            (folder / name).write_text(text.replace(right, wrong), encoding="utf-8")
        shutil.copy(STARTER / NOT_WRITTEN, folder / NOT_WRITTEN)
        report = grade_submission(folder, checks, setting, SEED, manifest)
    entry = Entry(Person("100207", "Sam Sample", "sam@uni.example"), "sample")
    entry.report, entry.source = as_dict(report), "s100207_submission.zip"
    entry.submitted = datetime(2026, 5, 12, 21, 40, tzinfo=UTC)
    entry.written, entry.comments = dict(WRITTEN), {"1g-0-written": COMMENT}
    due = datetime(2026, 5, 12, 23, 59, tzinfo=UTC)
    title = read_course().title
    graded = GradedClass(manifest, title, [entry], due, handout="handout.html")
    return student_page.page(graded, entry)


def find_stale(pages: dict[str, bytes]) -> list[str]:
    """The pages that docs/site lacks, or has with another text."""
    return [
        name
        for name, content in pages.items()
        if not (SITE / name).exists()
        or _shown(name, (SITE / name).read_bytes()) != _shown(name, content)
    ]


def write(pages: dict[str, bytes]) -> None:
    """Write pages into docs/site."""
    SITE.mkdir(exist_ok=True)
    for name, content in pages.items():
        with writing(SITE / name) as temporary:
            temporary.write_bytes(content)


def _shown(name: str, content: bytes) -> list[str]:
    """The words of a page, but for measured numbers, which each machine rounds otherwise."""
    if name.endswith(".pdf"):
        command = ["pdftotext", "-", "-"]
        content = subprocess.run(command, input=content, capture_output=True, check=True).stdout
    text = content.decode("utf-8", errors="replace")
    text = re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    return re.sub(r"-?\d+\.\d{3,}(e-?\d+)?", "0.0", text).split()
