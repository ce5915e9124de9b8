"""Grades the checks of submissions that have no result yet, and stores each as it comes."""

import contextlib
import os
from collections import Counter
from dataclasses import replace

from checks.support import session
from checks.support.session import Setting
from common.files import Interrupted, UserError

from .state import State


def grade_missing(
    state: State, setting: Setting, seed: int, engine, level: str, apart: bool
) -> dict[str, int]:
    """Grade what is not graded yet.

    Args:
        state: of the class.
        setting: what checks depend on: data, answers, preset.
        seed: of the class; each submission's follows from it.
        engine: engines.local.Local or engines.cluster.Cluster.
        level: the isolation level; what ran at a weaker one runs again.
        apart: give each submission a process that imports torch again.

    Returns:
        The numbers of submissions graded "now" and "before" and of those with a timeout ("late").

    Raises:
        Interrupted: by Ctrl-C. What was graded is kept.
        UserError: grading can't continue for any submission.
    """
    from tqdm import tqdm

    from autograder import Verdict, read_manifest
    from instructor.grading.engines.work import Task
    from instructor.grading.finding.found import to_grade

    from .fingerprint import Fingerprints, seed_for

    manifest = read_manifest(session.MANIFEST).only(setting.problems)
    fingerprints = Fingerprints(manifest, setting)
    wanted = fingerprints.wanted
    source = to_grade(state)
    missing = {
        digest: state.missing(digest, wanted, fingerprints.intake, level) for digest in source
    }
    tasks = [
        Task(digest, source[digest], tuple(ids), seed_for(seed, digest), setting, apart)
        for digest, ids in missing.items()
        if ids
    ]
    verdicts, late, done = Counter(), set(), set()
    with (
        _one_thread_each(),
        tqdm(
            total=len(tasks),
            unit="submission",
            desc="Grading",
            disable=not tasks,
            dynamic_ncols=True,
        ) as bar,
    ):
        try:
            for task, report, refused in _reports(engine, manifest, tasks):
                if refused:
                    state.put_refused(task.digest, fingerprints.intake, refused)
                    verdicts["refused"] += 1
                else:
                    state.put_report(task.digest, fingerprints.intake, wanted, report, level)
                    ends = Counter(check["verdict"] for check in report["checks"])
                    verdicts.update(ends)
                    late |= {task.digest} if ends[Verdict.TIMEOUT.value] else set()
                bar.set_postfix_str(
                    ", ".join(f"{verdict} {count}" for verdict, count in verdicts.most_common()),
                    refresh=False,
                )
                bar.update(task.digest not in done)
                done.add(task.digest)
        except KeyboardInterrupt:
            raise Interrupted(
                f"Interrupted: {len(done)} of {len(tasks)} submissions were graded and are kept. "
                "Run the same command to continue."
            ) from None
        except Stopped as error:
            raise UserError(
                f"Stopped: {error} {len(done)} submissions were graded and are kept. Fix this, "
                "then run it again."
            ) from None
    return {"now": len(tasks), "before": len(source) - len(tasks), "late": len(late)}


class Stopped(Exception):
    """Grading can't continue for any submission; the message says why."""


def _reports(engine, manifest, tasks):
    """Yield (task, report, why it was refused) for each task. A check that timed out while the
    machine was busy is left out; it runs again when nothing else does, and is yielded with its own
    task.
    """
    again = []
    for task, result in engine.results(tasks):
        report = _report(manifest, task, result)
        if report and (
            busy := tuple(check["id"] for check in report["checks"] if check.get("busy"))
        ):
            report["checks"] = [check for check in report["checks"] if check["id"] not in busy]
            again.append(replace(task, checks=busy))
        yield task, report, result.get("refused")
    for task in again:
        for _, result in engine.results([task]):
            yield task, _report(manifest, task, result), result.get("refused")


def _report(manifest, task, result):
    """The report of a result; None if the submission was refused."""
    if "stop" in result:
        raise Stopped(result["stop"])
    return (
        None
        if "refused" in result
        else result.get("report") or _failed(manifest, task, result["error"])
    )


def _failed(manifest, task, error):
    """The report when grading itself failed: every check is a grader error."""
    from autograder import Outcome, Report, Verdict
    from autograder.report import as_dict
    from autograder.verdicts import GRADER_FAILED

    return as_dict(
        Report(
            manifest,
            {
                id: Outcome(id, Verdict.GRADER_ERROR, message=GRADER_FAILED, details=error)
                for id in task.checks
            },
            task.seed,
            ("", ""),
        )
    )


@contextlib.contextmanager
def _one_thread_each():
    """Let workers compute with one thread each: there is one worker per core."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
