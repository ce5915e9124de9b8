"""A submission with typical mistakes, for the sample feedback page: the reference with a few
changes.
"""

import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from autograder import read_manifest
from autograder.report import as_dict
from checks.support.session import MANIFEST, Setting, grade_submission
from instructor import ROOT
from instructor.course import read_course
from instructor.grading.grades import Entry, GradedClass, Person
from instructor.release.starter import KEPT_RESULTS, SOLUTION, STARTER

SEED = 20260512  # of the checks' random inputs: the same seed gives the same page
# file, what the reference has, what stands in its place
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


def graded() -> tuple[GradedClass, Entry]:
    """Grade it by basic and hidden checks, some 30 seconds; a class of one, and its entry.

    Raises:
        UserError: no strong isolation level works on this machine.
    """
    manifest = read_manifest(MANIFEST)
    instructor = ROOT / "instructor"
    setting = Setting(instructor / "checks", instructor / "gold", results=KEPT_RESULTS)
    checks = [check for check in manifest.checks.values() if check.coded]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "submission"
        shutil.copytree(SOLUTION, folder)
        for name, right, wrong in MISTAKES:
            text = (folder / name).read_text(encoding="utf-8")
            assert text.count(right) == 1, (name, right)
            (folder / name).write_text(text.replace(right, wrong), encoding="utf-8")
        shutil.copy(STARTER / NOT_WRITTEN, folder / NOT_WRITTEN)
        report = grade_submission(folder, checks, setting, SEED, manifest)
    entry = Entry(Person("100207", "Sam Sample", "sam@uni.example"), "sample")
    entry.report = as_dict(report)
    entry.source = "s100207_submission.zip"
    entry.submitted = datetime(2026, 5, 12, 21, 40, tzinfo=UTC)
    entry.written, entry.comments = dict(WRITTEN), {"1g-0-written": COMMENT}
    due = datetime(2026, 5, 12, 23, 59, tzinfo=UTC)
    title = read_course().title
    return GradedClass(manifest, title, [entry], due, handout="handout.html"), entry
