"""Grades the checks of submissions that have no result yet, and stores each as it comes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tqdm import tqdm

from autograder import Manifest, Outcome, Report, Verdict
from autograder.report import as_dict
from autograder.verdicts import GRADER_FAILED
from common.files import Interrupted, UserError

from .database import State
from .work import Task


def grade_missing(
    state: State, manifest: Manifest, wanted: dict[str, str], tasks: list[Task], results
) -> int:
    """Grade, and store what comes.

    Args:
        state: of the class.
        manifest: of the assignment.
        wanted: the fingerprints of the checks.
        tasks: what is missing.
        results: runs tasks: an iterator of them -> an iterator of (task, result), as
            engine.run_all.

    Returns:
        The number of submissions with a timeout.

    Raises:
        Interrupted: by Ctrl-C. What was graded is kept.
        UserError: grading can't continue for any submission.
    """
    verdicts, slow, done = Counter(), set(), set()
    options = {"unit": "submission", "desc": "Grading", "dynamic_ncols": True}
    with tqdm(total=len(tasks), disable=not tasks, **options) as bar:
        try:
            for task, report in _reports(manifest, tasks, results):
                state.put_report(task.digest, wanted, report)
                ends = Counter(check["verdict"] for check in report["checks"])
                verdicts.update(ends or ["refused"])
                slow |= {task.digest} if ends[Verdict.TIMEOUT.value] else set()
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
    return len(slow)


def _reports(manifest, tasks, results) -> Iterator[tuple[Task, dict]]:
    """Yield the report of each task. A check that timed out while the machine was busy is left out;
    it runs again when nothing else does, and is yielded with its own task.
    """
    again = []
    for task, result in results(tasks):
        report = _report(manifest, task, result)
        busy = tuple(check["id"] for check in report["checks"] if check.get("busy"))
        if busy:
            report["checks"] = [check for check in report["checks"] if check["id"] not in busy]
            again.append(replace(task, checks=busy))
        yield task, report
    for task in again:
        for _, result in results([task]):
            yield task, _report(manifest, task, result)


def _report(manifest, task, result):
    """The report of a result: without checks if the submission was refused, and with grader errors
    alone if grading failed.

    Raises:
        UserError: nothing can be graded.
    """
    if "stop" in result:
        raise UserError(
            f"Stopped: {result['stop']} What was graded is kept. Fix this, then run it again."
        )
    if "report" in result:
        return result["report"] | {"refused": ""}
    outcomes = {
        id: Outcome(
            id, Verdict.GRADER_ERROR, message=GRADER_FAILED, details=result.get("error", "")
        )
        for id in task.checks
    }
    report = as_dict(Report(manifest, outcomes, task.seed, ("", "")))
    refused = result.get("refused", "")
    return report | {"refused": refused} | ({"checks": []} if refused else {})
