"""Runs in Gradescope's container: grades /autograder/submission and writes
/autograder/results/results.json.

run_autograder calls it. What it prints is for the staff. If anything fails here, the results say
so, and that it is no student's fault.
"""

import json
import sys
import time
import traceback
from pathlib import Path

from autograder.manifest import Manifest, read_manifest
from autograder.report import Table, as_dict, write_failures, write_summary
from autograder.trial import choose
from checks.support.session import MANIFEST, Setting, grade_submission
from common.command_line import use_utf8
from common.files import UserError, write_text

from .memory import container_memory, within
from .results import GRADER_FAILED, graded, ungraded
from .unprivileged import grade_as_nobody
from .upload import choose_seed, find_submission

AUTOGRADER = Path("/autograder")
SOURCE = Path(__file__).resolve().parents[3]  # what the zip was unpacked to
INSTRUCTOR = SOURCE / "instructor"
SECRETS = [INSTRUCTOR, SOURCE / "settings.json"]


def grade_upload(upload: Path, settings: dict, seed: int, manifest: Manifest) -> dict:
    """Grade what was uploaded; returns the report as autograder.report.as_dict does.

    Raises:
        UserError: the submission is refused.
    """
    isolation, memory = choose(), container_memory()
    print(f"{settings['title']}, version {settings['version']}")
    print(
        f"Isolation: {isolation.name}"
        + (f" (no stronger level works: {isolation.reason})" if isolation.reason else "")
    )
    print(
        f"{memory} MiB of memory, {settings['seconds']} seconds for all checks, seed {seed}",
        flush=True,
    )
    source = find_submission(upload)
    with_hidden = isolation.strong or settings["allow_weak_isolation"]
    setting = Setting(
        hidden=with_hidden,
        preset=settings["preset"],
        problems=tuple(settings["problems"]),
        weak=settings["allow_weak_isolation"],
        staff=True,
        clock=settings["seconds"],
        again=True,
    )
    checks = [within(check, memory) for check in manifest.checks.values() if check.coded]
    try:
        setting.require_hidden([])
        # Read them now: a weak container locks them away.
        _ = setting.answer_alone
        if not isolation.strong:
            rounds = setting.rounds({check.question for check in checks})
            rounds.keep(check.id for check in checks if check.kind == "basic")
    except UserError as error:
        raise RuntimeError(f"the container is not set up correctly: {error}") from None

    def grade(submission: Path) -> dict:
        table = Table(sys.stdout, manifest, color=False)
        report = grade_submission(submission, checks, setting, seed, manifest, table.line)
        write_failures(
            report,
            table,
            lambda ids: (
                f"python src/grader.py {' '.join(ids)} --seed {seed} --submission FOLDER_OR_ZIP"
            ),
        )
        write_summary(report, table)
        sys.stdout.flush()
        return as_dict(report)

    # Without isolation, the code runs with the grader's rights: so grade as an unprivileged user
    # who can't read what isn't needed.
    return (
        grade(source)
        if isolation.strong
        else grade_as_nobody(source, SECRETS[1:] if with_hidden else SECRETS, grade)
    )


def main() -> int:
    """Grade, or only check that all that grading needs is here (--check); returns the exit code."""
    started = time.monotonic()
    use_utf8()
    settings = json.loads((SOURCE / "settings.json").read_text(encoding="utf-8"))
    manifest = read_manifest(MANIFEST).only(settings["problems"])
    if sys.argv[1:] == ["--check"]:
        return check()
    try:
        seed = choose_seed(AUTOGRADER / "submission_metadata.json", settings["secret"])
        report = grade_upload(AUTOGRADER / "submission", settings, seed, manifest)
        results = graded(report, manifest, settings)
    except UserError as error:
        print(f"\nRefused: {error}")
        results = ungraded(manifest, settings, str(error), "refused")
    except Exception:
        traceback.print_exc(file=sys.stdout)
        results = ungraded(manifest, settings, GRADER_FAILED, "failed")
    results["execution_time"] = round(time.monotonic() - started)
    write_text(AUTOGRADER / "results" / "results.json", json.dumps(results, indent=1) + "\n")
    return 0


def check() -> int:
    """Import all that grading needs, and print the isolation available here."""
    import numpy  # noqa: E401, F401
    import torch

    isolation = choose()
    print(
        f"Python {sys.version.split()[0]}, torch {torch.__version__}, isolation: {isolation.name}"
    )
    if isolation.reason:
        print(isolation.reason)
    return 0


if __name__ == "__main__":
    sys.exit(main())
