"""Grades a hostile submission as the grader would, and looks for any harm afterwards."""

import dataclasses
import io
import secrets
import unicodedata
from pathlib import Path
from unittest import mock

from proof import MANIFEST, grade_folder, open_folder

from autograder import Report, StudentProcess, Verdict
from autograder.inside.watch import descendants
from autograder.report import Table, to_json, write_failures, write_summary
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
    mark, problems = "h" + secrets.token_hex(6), []
    process.start()
    process.said, process.known = "", {*descendants()}  # those of other levels, too
    judge, state = traces.judge(), scene.state()

    def finished(outcome):
        """Check that nothing of a check is alive before the next one."""
        problems.extend(f"after {outcome.id}: {found}" for found in traces.processes(process.known))

    with open_folder() as folder, mock.patch("proof.MANIFEST", _limited(attack)):
        submission, names = build(attack, mark, scene, folder / "submission"), [*attack.checks]
        report = grade_folder(process, submission, names, artifacts=True, finished=finished)
        process.start()  # where it was ended
        problems += [f"left running: {found}" for found in traces.processes(process.known)]
        problems += [f"left behind: {found}" for found in traces.files(mark, folder)]
    if state != scene.state():
        problems.append("the secrets' folders were changed")
    if changed := judge ^ traces.judge():
        problems.append(f"the judge changed: {sorted(changed)}")
    problems += _misjudged(attack, report)
    shown = _written(report)
    controls = {each for each in shown if unicodedata.category(each) in ("Cc", "Cf")}
    if found := controls - {"\n", "\t"}:
        problems.append(f"raw control characters are shown: {sorted(found)}")
    said = process.said + shown  # to a person or the judge
    for token in (scene.canary, f"LOOT-{mark[::-1]}"):
        if token in said:
            problems.append(f"this came out: {said[said.index(token) :][:200]!r}")
    return problems


def build(attack: Hostile, mark: str, scene: Scene, folder: Path) -> Path:
    """Write the submission, and tell its code the names of places."""
    places = {**scene.places, "MARK": mark, "KEY": int(mark[1:8], 16), "FOLDER": str(folder)}
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
    """Return the manifest with the attack's limits."""
    changes = {"seconds": attack.seconds} | ({"memory": attack.memory} if attack.memory else {})
    checks = MANIFEST.checks.items()
    limited = {id: dataclasses.replace(check, **changes) for id, check in checks if check.coded}
    return dataclasses.replace(MANIFEST, checks={**MANIFEST.checks, **limited})


def _misjudged(attack, report):
    """Return points and verdicts that are not as they should be."""
    if report.score > attack.points:
        yield f"{report.score:g} points, where {attack.points:g} are deserved"
    for outcome in report.outcomes.values():
        if outcome.verdict is Verdict.GRADER_ERROR:
            yield f"grader error: {outcome.details[-600:]}"
        elif attack.verdicts and outcome.verdict not in attack.verdicts:
            yield f"{outcome.id} is {outcome.verdict.value}: {outcome.details[:300]}"


def _written(report: Report) -> str:
    """Return what is written about a report: the table, and JSON."""
    stream = io.StringIO()
    table = Table(stream, report.manifest, color=False)
    for outcome in report.outcomes.values():
        table.line(outcome)
    write_failures(report, table, " ".join)
    write_summary(report, table)
    return stream.getvalue() + to_json(report)
