"""The toy course of tests/engine/toy, in which a submission is a toy.py: grading one."""

import dataclasses
from pathlib import Path

from autograder import Submission, grade, read_manifest

TOY = Path(__file__).parent / "toy"
MANIFEST = read_manifest(TOY / "manifest.toml")  # its limits: 2 seconds, 300 MiB
DOUBLE = "return 2 * __import__('torch').from_numpy(x)"


def answers(*lines, before=""):
    """The source of a toy.py: the lines of answer(x), and what stands before it."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{before}\ndef answer(x):\n{body}".lstrip()


RIGHT = answers(DOUBLE)
WRONG = answers(DOUBLE.replace("2 *", "3 *"))


def grade_toy(process, folder, source, *ids, seed=1, hidden=True, seconds=None, checks=(), **more):
    """Grade `source`, which becomes a toy.py in `folder`; returns the Report.

    Args:
        ids: of checks or questions; all, if there are none.
        seconds: in place of the manifest's limit.
        checks: folders of check files, in place of the toy course's own.
        more: for grade().
    """
    (folder / "toy.py").write_text(source, encoding="utf-8")
    selected = MANIFEST.select(list(ids))
    if seconds:
        selected = [dataclasses.replace(check, seconds=seconds) for check in selected]
    submission = Submission((folder,), folder, "toy")
    folders = list(checks) or [TOY / "checks"]
    context = "the context"
    return grade(MANIFEST, selected, folders, process, submission, seed, context, hidden, **more)


def outcome_of(process, folder, source, **options):
    """Grade it with 9a-0-basic alone, the check of answer(x); returns the Outcome."""
    report = grade_toy(process, folder, source, "9a-0-basic", **options)
    return report.outcomes["9a-0-basic"]
