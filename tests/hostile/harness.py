"""Grades a hostile submission as the grader would, and looks for any harm afterwards."""

import dataclasses
import io
import re
import secrets
import time
import unicodedata
from pathlib import Path

from proof import CHECKS, HIDDEN, MANIFEST, context_of, open_folder

from autograder import Report, StudentProcess, Verdict, draw_seed, grade
from autograder.intake import Refused
from autograder.isolation import Isolation
from autograder.report import Table, to_json, write_failures, write_summary
from checks.support.asked import by_reference
from checks.support.session import modules_for
from checks.support.staging import stage
from common.files import UserError
from hostile import traces
from hostile.attack import PRELUDE, Hostile
from hostile.scene import Scene
from instructor.mistakes.patches import make

ZIP = "submission.zip"  # which an attack may put next to its files: then it is submitted
# seconds that a check may take beyond its limit, for a process that must be killed and restarted
GRACE = 12
BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


class Recorder(StudentProcess):
    """A StudentProcess that records all its output. `known` are the processes below this one right
    after its start.
    """

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.said = ""
        self.known = set()
        self.started = None

    def start(self) -> None:
        """As StudentProcess.start."""
        super().start()
        if self._process is not self.started:  # it serves no submission yet
            self.started, self.known = self._process, set(traces.descendants())

    def call(self, *arguments, **named):
        """As StudentProcess.call."""
        reply = super().call(*arguments, **named)
        self.said += reply.output + reply.message.decode("utf-8", "replace")
        return reply


def contain(attack: Hostile, isolation: Isolation, scene: Scene) -> list[str]:
    """Grade an attack at an isolation level, and look for harm; returns the problems, none if it
    was contained.
    """
    mark = "h" + secrets.token_hex(6)
    before = traces.judge()
    started = time.time()
    problems, said = [], ""
    with open_folder() as folder, open_folder() as staged:
        submission = build(attack, mark, scene, folder / "submission")
        try:
            ready, notices = stage(submission, staged)
        except (UserError, Refused) as error:
            said = str(error)
            if not attack.refused:
                problems.append(f"refused: {error}")
        else:
            if attack.refused:
                problems.append("the intake did not refuse it")
            said = _grade(attack, isolation, staged, ready, notices, problems)
        seconds = time.time() - started
        time.sleep(attack.waits)
        problems += _look(mark, started, before, scene, folder)
    allowed = 5 + sum(check.seconds + GRACE for check in _limited(attack)[1])
    if seconds > allowed:
        problems.append(f"took {seconds:.0f} s where {allowed:.0f} are enough")
    for what, token in (("a secret", scene.canary), ("loot", f"LOOT-{mark[::-1]}")):
        if token in said:
            problems.append(f"{what} came out: {said[said.index(token) :][:200]!r}")
    return problems


def build(attack: Hostile, mark: str, scene: Scene, folder: Path) -> Path:
    """Write the submission, with all names in it replaced."""
    places = {**scene.places, "MARK": mark, "KEY": str(traces.key(mark)), "FOLDER": str(folder)}

    def fill(text):
        return re.sub("@([A-Z]+)@", lambda match: places[match[1]], text)

    make(attack.changes, folder)
    for path in folder.glob("*.py"):
        path.write_text(fill(path.read_text(encoding="utf-8")), encoding="utf-8")
    if attack.code:
        path = folder / attack.file
        path.write_text(
            fill(PRELUDE + attack.code.strip("\n")) + "\n\n\n" + path.read_text(encoding="utf-8"),
            encoding="utf-8",
        )
    for name, content in attack.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(fill(content).encode() if isinstance(content, str) else content)
    if attack.prepare:
        attack.prepare(folder, places)
    archive = folder / ZIP
    return archive if archive.exists() else folder


def _limited(attack):
    """Return the manifest with the attack's limits, and the attack's checks from it."""
    changes = {"seconds": attack.seconds} | ({"memory": attack.memory} if attack.memory else {})
    checks = {
        id: dataclasses.replace(check, **changes) if check.coded else check
        for id, check in MANIFEST.checks.items()
    }
    manifest = dataclasses.replace(MANIFEST, checks=checks)
    return manifest, [check for check in manifest.select(list(attack.checks)) if check.coded]


def _grade(attack, isolation, staged, ready, notices, problems) -> str:
    """Grade it, add to `problems`, and return everything shown to a person or the judge."""
    manifest, checks = _limited(attack)
    context = context_of(staged)
    modules = modules_for({manifest.questions[check.question] for check in checks})
    left = []

    def finished(outcome):
        """Check that nothing of a check is alive before the next one."""
        left.extend(f"after {outcome.id}: {found}" for found in traces.processes(process.known))

    with Recorder(isolation, modules, (staged,)) as process:
        material = [CHECKS, HIDDEN], process, ready, draw_seed(), context, True, finished
        report = grade(manifest, checks, *material, default=by_reference)
    report.notices = notices
    problems += left
    if report.score > attack.points:
        problems.append(f"{report.score:g} points, where {attack.points:g} are deserved")
    for outcome in report.outcomes.values():
        if outcome.verdict is Verdict.GRADER_ERROR:
            problems.append(f"grader error: {outcome.details[-600:]}")
        elif attack.verdicts and outcome.verdict.value not in attack.verdicts:
            problems.append(
                f"{outcome.id} is {outcome.verdict.value}, not "
                f"{' or '.join(sorted(attack.verdicts))}: {outcome.details[:300]}"
            )
        elif outcome.verdict is not Verdict.PASSED and not re.search(attack.says, outcome.details):
            problems.append(f"{outcome.id} does not say {attack.says!r}: {outcome.details[:300]}")
    texts = _written(report)
    for name, text in texts.items():
        if found := {
            character
            for character in text
            if character in BIDIRECTIONAL
            or character not in "\n\t"
            and unicodedata.category(character) == "Cc"
        }:
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


def _look(mark, started, before, scene, folder):
    """Find problems that remain after grading."""
    problems = [
        f"left running: {process}" for process in traces.processes(set(before["processes"]))
    ]
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
        if name != "processes" and before[name] != after[name]
    ]
    return problems


def _differences(before, after):
    if isinstance(before, dict):
        before, after = set(before.items()), set(after.items())
        return f"{sorted(before ^ after, key=str)}"[:300]
    return f"{before} to {after}"[:300]
