"""Grades a hostile submission as the grader would, and looks for any harm afterwards."""

import dataclasses
import io
import secrets
import tempfile
import time
import unicodedata
from pathlib import Path

from proof import CHECKS, HIDDEN, MANIFEST, STAGED, context_of, open_folder

from autograder import Report, StudentProcess, Verdict, draw_seed, grade
from autograder.inside.watch import descendants
from autograder.report import Table, to_json, write_failures, write_summary
from checks.support.asked import by_reference
from checks.support.staging import stage
from hostile import traces
from hostile.attack import PRELUDE, Hostile
from hostile.scene import Scene
from instructor.mistakes.patches import make


class Recorder(StudentProcess):
    """A StudentProcess that records all its output, for all attacks at a level: so each also shows
    that the ones before it did no harm. `known` are the processes that may be there.
    """

    said = ""
    known = frozenset()
    started = None

    def start(self) -> None:
        """As StudentProcess.start."""
        super().start()
        if self._process is not self.started:  # it serves no submission yet
            self.started = self._process
            self.known |= {self._process.pid, *descendants(self._process.pid)}

    def call(self, *arguments, **named):
        """As StudentProcess.call."""
        reply = super().call(*arguments, **named)
        self.said += reply.output + reply.message.decode("utf-8", "replace")
        return reply


def contain(attack: Hostile, process: Recorder, scene: Scene) -> list[str]:
    """Grade an attack, and look for harm; returns the problems, none if it was contained."""
    mark = "h" + secrets.token_hex(6)
    process.start()
    process.known = {*descendants()}  # those of other levels, too
    before, started = traces.judge(), time.time()
    process.said, problems = "", []
    with open_folder() as folder, tempfile.TemporaryDirectory(dir=STAGED.name) as staged:
        submission = build(attack, mark, scene, folder / "submission")
        ready, notices = stage(submission, Path(staged))
        said = _grade(attack, process, Path(staged), ready, notices, problems)
        process.start()  # where it was ended
        problems += _look(mark, started, before, process.known, scene, folder)
    for what, token in (("a secret", scene.canary), ("loot", f"LOOT-{mark[::-1]}")):
        if token in said:
            problems.append(f"{what} came out: {said[said.index(token) :][:200]!r}")
    return problems


def build(attack: Hostile, mark: str, scene: Scene, folder: Path) -> Path:
    """Write the submission, and tell its code the names of places."""
    places = {**scene.places, "MARK": mark, "KEY": traces.key(mark), "FOLDER": str(folder)}
    make(attack.changes, folder)
    if attack.code:
        path = folder / attack.file
        names = "\n".join(f"{name} = {value!r}" for name, value in places.items())
        parts = PRELUDE, names, "begin()", attack.code, path.read_text(encoding="utf-8")
        path.write_text("\n".join(parts), encoding="utf-8")
    if attack.prepare:
        attack.prepare(folder, places)
    return folder


def _limited(attack):
    """Return the manifest with the attack's limits, and the attack's checks from it."""
    changes = {"seconds": attack.seconds} | ({"memory": attack.memory} if attack.memory else {})
    checks = {
        id: dataclasses.replace(check, **changes) if check.coded else check
        for id, check in MANIFEST.checks.items()
    }
    manifest = dataclasses.replace(MANIFEST, checks=checks)
    return manifest, [check for check in manifest.select(list(attack.checks)) if check.coded]


def _grade(attack, process, staged, ready, notices, problems) -> str:
    """Grade it, add to `problems`, and return everything shown to a person or the judge."""
    manifest, checks = _limited(attack)

    def finished(outcome):
        """Check that nothing of a check is alive before the next one."""
        problems.extend(f"after {outcome.id}: {found}" for found in traces.processes(process.known))

    material = [CHECKS, HIDDEN], process, ready, draw_seed(), context_of(staged), True, finished
    report = grade(manifest, checks, *material, default=by_reference)
    report.notices = notices
    if report.score > attack.points:
        problems.append(f"{report.score:g} points, where {attack.points:g} are deserved")
    for outcome in report.outcomes.values():
        if outcome.verdict is Verdict.GRADER_ERROR:
            problems.append(f"grader error: {outcome.details[-600:]}")
        elif attack.verdicts and outcome.verdict not in attack.verdicts:
            problems.append(f"{outcome.id} is {outcome.verdict.value}: {outcome.details[:300]}")
    texts = _written(report)
    for name, text in texts.items():
        controls = {each for each in text if unicodedata.category(each) in ("Cc", "Cf")}
        if found := controls - {"\n", "\t"}:
            problems.append(f"the {name} has raw control characters: {sorted(found)}")
    return process.said + "".join(texts.values())


def _written(report: Report) -> dict[str, str]:
    """Return what is written about a report."""
    stream = io.StringIO()
    table = Table(stream, report.manifest, color=False)
    for outcome in report.outcomes.values():
        table.line(outcome)
    write_failures(report, table, " ".join)
    write_summary(report, table)
    return {"table": stream.getvalue(), "JSON": to_json(report)}


def _look(mark, started, before, known, scene, folder):
    """Find problems that remain after grading."""
    problems = [f"left running: {process}" for process in traces.processes(known)]
    left = traces.files(mark, started, folder)
    traces.remove(left, mark)
    problems += [f"left behind: {path}" for path in left]
    problems += [f"left in the kernel: {name}" for name in traces.queues(mark)]
    problems += [f"somebody called the {name} socket" for name in scene.heard()]
    if scene.spoiled():
        problems.append("the secrets' folders were changed")
    after = traces.judge()
    problems += [
        f"the judge's {name} changed: {_differences(before[name], after[name])}"
        for name in before
        if before[name] != after[name]
    ]
    return problems


def _differences(before, after):
    if isinstance(before, dict):
        before, after = set(before.items()), set(after.items())
        return f"{sorted(before ^ after, key=str)}"[:300]
    return f"{before} to {after}"[:300]
