"""Runs in Gradescope's container: grades /autograder/submission and writes
/autograder/results/results.json.

run_autograder calls it. What it prints is for the staff. If anything fails here, the results say
so, and that it is no student's fault.
"""

import hmac
import json
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

from autograder import draw_seed
from autograder.manifest import Check, Manifest, read_manifest
from autograder.report import Table, as_dict, write_failures, write_summary
from autograder.trial import choose
from checks.support.session import MANIFEST, Setting, grade_submission
from common.command_line import use_utf8
from common.files import UserError, write_text
from instructor.grading.finding.contents import locate

from .results import GRADER_FAILED, graded, ungraded
from .unprivileged import grade_as_nobody

AUTOGRADER = Path("/autograder")
SOURCE = Path(__file__).resolve().parents[3]  # what the zip was unpacked to
SECRETS = [SOURCE / "instructor", SOURCE / "settings.json"]
CGROUP = Path("/sys/fs/cgroup/memory.max")
# MiB for the judge, the process that forks for each check, and what else the kernel counts
RESERVED = 350
LEAST = 128  # MiB that a check always gets


def grade_upload(upload: Path, settings: dict, seed: int, manifest: Manifest) -> dict:
    """Grade what was uploaded; returns the report as autograder.report.as_dict does.

    Where no isolation works, the hidden checks don't run, and the code is graded as a user who
    can't read them.

    Raises:
        UserError: the submission is refused.
    """
    isolation, memory = choose(), container_memory()
    weaker = f" (no stronger level works: {isolation.reason})" if isolation.reason else ""
    print(f"Version {settings['version']}. Isolation: {isolation.name}{weaker}")
    print(f"{memory} MiB of memory, {settings['seconds']} seconds for all checks, seed {seed}")
    source, problem = locate(upload.resolve())
    if problem:
        raise UserError(problem)
    setting = Setting(
        hidden=isolation.strong,
        preset=settings["preset"],
        problems=tuple(settings["problems"]),
        staff=True,
        clock=settings["seconds"],
        again=True,
    )
    checks = [within(check, memory) for check in manifest.checks.values() if check.coded]
    try:
        setting.require_hidden([])
        if not isolation.strong:  # read now what is locked away then
            _ = setting.answer_alone
            rounds = setting.rounds({check.question for check in checks})
            rounds.keep(check.id for check in checks if check.kind == "basic")
    except UserError as error:
        raise RuntimeError(f"the container is not set up correctly: {error}") from None

    def again(ids):
        return f"python src/grader.py {' '.join(ids)} --seed {seed} --submission FOLDER_OR_ZIP"

    def grade(submission: Path) -> dict:
        table = Table(sys.stdout, manifest, color=False)
        report = grade_submission(submission, checks, setting, seed, manifest, table.line)
        write_failures(report, table, again)
        write_summary(report, table)
        sys.stdout.flush()
        return as_dict(report)

    sys.stdout.flush()
    return grade(source) if isolation.strong else grade_as_nobody(source, SECRETS, grade)


def container_memory() -> int:
    """MiB that this container may use: the minimum of its cgroup's and the machine's limit."""
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    total = next(line for line in lines if line.startswith("MemTotal:"))
    machine = int(total.split()[1]) << 10
    try:
        return min(machine, int(CGROUP.read_text(encoding="utf-8"))) >> 20
    except (OSError, ValueError):  # there is none; "max" stands for no limit
        return machine >> 20


def within(check: Check, memory: int) -> Check:
    """The check with no more memory than a container of `memory` MiB can give it."""
    return replace(check, memory=min(check.memory, max(LEAST, memory - RESERVED)))


def choose_seed(metadata: Path, secret: str) -> int:
    """The seed of a submission: the same whenever it is graded again, and unpredictable for its
    author.

    Args:
        metadata: submission_metadata.json. If it has no id, the seed is a new one.
        secret: the zip's.
    """
    try:
        id = json.loads(metadata.read_text(encoding="utf-8"))["id"]
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return draw_seed()
    if not isinstance(id, (int, str)):
        return draw_seed()
    digest = hmac.digest(bytes.fromhex(secret), str(id).encode("utf-8", "replace"), "sha256")
    return int.from_bytes(digest[:8], "little") >> 2


def main() -> int:
    """Grade, or only check that all that grading needs is here (--check); returns the exit code."""
    started = time.monotonic()
    use_utf8()
    settings = json.loads((SOURCE / "settings.json").read_text(encoding="utf-8"))
    manifest = read_manifest(MANIFEST).only(settings["problems"])
    if sys.argv[1:] == ["--check"]:
        import torch

        level, version = choose(), sys.version.split()[0]
        print(f"Python {version}, torch {torch.__version__}, isolation: {level.name}")
        if level.reason:
            print(level.reason)
        return 0
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


if __name__ == "__main__":
    sys.exit(main())
