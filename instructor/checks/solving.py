"""Makes rounds: draws inputs, and runs the probes on the reference and on the question's known
mistakes.
"""

import hashlib
import multiprocessing
import os
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from autograder import Check, Failed, Student, StudentProcess
from autograder.trial import choose
from checks.support.rounds import MADE_FROM, Call, Sketch, pack
from checks.support.session import modules_for
from checks.support.staging import stage
from common.files import UserError, writing
from instructor import ROOT
from instructor.checks.drawing import all_draws, draw_round
from instructor.mistakes import all_mistakes
from instructor.mistakes.patches import changed
from instructor.release.starter import SOLUTION
from jobs.deliverables import STUDENT_FILES

LIMITS = Check("", "", "basic", "", 0, seconds=600, memory=4096, partial=False, artifacts=())
RAISED = ("ValueError", "TypeError", "IndexError")  # that a student's code must raise, too
PATIENCE = 10  # seconds for a mistake: there are some whose fault is that they take long
# Rounds of a check that known mistakes are asked. Where staff draw another, a student is told no
# likely cause, which is a help and no verdict; asking all thirty would take three times as long.
EXPLAINED = 12
# What rounds depend on, besides the question's own files and the solution.
SHARED = (
    "src/autograder/compare.py",
    "src/autograder/inside/wire.py",
    "src/checks/support/asked.py",
    "src/checks/support/gradients.py",
    "src/checks/support/rounds.py",
    "src/checks/support/unchanged.py",
    "src/checks/support/weights.py",
    "instructor/checks/drawing.py",
    "instructor/checks/solving.py",
    "instructor/mistakes/patches.py",
)
IMPORTED = re.compile(r"^from ((?:instructor\.)?checks\.problem\d[\w.]*) import", re.MULTILINE)
DATE = (1980, 1, 1, 0, 0, 0)  # of every entry, so that the same rounds are the same bytes


class Broken(UserError):
    """The reference cannot answer a call: a fault of the course, not of a student."""


@dataclass(frozen=True)
class Plan:
    """Which rounds are made.

    Attributes:
        seed: of the inputs.
        rounds: of a check, at least.
        calls: of all rounds of a check together, at least.
        hidden: also of hidden checks.
    """

    seed: int
    rounds: int
    calls: int = 0
    hidden: bool = False

    def draw(self, question: str) -> dict[str, list[list[Call]]]:
        """The rounds of a question's checks, by id, without replies."""
        found = {}
        for id in all_draws():
            if id.startswith(f"{question}-") and (self.hidden or not id.endswith("hidden")):
                rounds = found[id] = []
                while len(rounds) < self.rounds or sum(map(len, rounds)) < self.calls:
                    rounds.append(draw_round(id, len(rounds), self.seed))
        return found


def all_questions() -> list[str]:
    """The questions whose checks have rounds."""
    return sorted({id.split("-")[0] for id in all_draws()})


def made_from(question: str, plan: Plan) -> str:
    """A hash of what a question's rounds are made from."""
    solution = ROOT / "instructor" / "solution"
    files = [ROOT / name for name in SHARED]
    files += [*solution.glob("*.py"), *solution.glob(f"problem{question[:-1]}/*.py")]
    for folder in ("src/checks", "instructor/checks", "instructor/mistakes"):
        files += (ROOT / folder).rglob(f"q{question}*.py")
    content = {}
    for path in files:  # which grows by what they import of other checks
        content[path.relative_to(ROOT).as_posix()] = text = path.read_bytes()
        for name in IMPORTED.findall(text.decode("utf-8")):
            folder = ROOT if name.startswith("instructor.") else ROOT / "src"
            file = folder.joinpath(*name.split(".")).with_suffix(".py")
            if file.is_file() and file not in files:  # else a folder
                files.append(file)
    return hashlib.sha256(repr([plan, sorted(content.items())]).encode()).hexdigest()


def _draws_of(question):
    """The draws of all checks of a question."""
    drawn = [draws for id, draws in all_draws().items() if id.startswith(f"{question}-")]
    return [draw for draws in drawn for draw in draws]


def find_stale(folder: Path, questions: Iterable[str], plan: Plan) -> dict[str, str]:
    """Those of the questions whose file in a folder is missing, or made from something else; with
    what `made_from` says now.
    """

    def origin(question):
        try:
            with zipfile.ZipFile(folder / f"{question}.zip") as file:
                return file.read(MADE_FROM).decode()
        except (OSError, KeyError, zipfile.BadZipFile):
            return None

    wanted = {question: made_from(question, plan) for question in questions}
    return {question: made for question, made in wanted.items() if origin(question) != made}


def renew(folder: Path, questions: Iterable[str], plan: Plan) -> None:
    """Make the rounds of those questions that `find_stale` finds, with a progress bar on stderr.

    Raises:
        Broken: the reference could not answer a call.
    """
    stale = find_stale(folder, questions, plan)  # files may be edited while rounds are made
    for question, rounds in solve(stale, plan) if stale else ():
        save(folder / f"{question}.zip", rounds, stale[question])


def save(path: Path, rounds: dict[str, list[list[Call]]], origin: str) -> None:
    """Write the rounds of a question's checks into a zip file.

    Args:
        origin: what `made_from` said.
    """
    entries = {MADE_FROM: origin.encode()}
    for id, listed in rounds.items():
        entries |= {f"{id}/{number}": pack(calls) for number, calls in enumerate(listed)}
    with writing(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
        for name, content in entries.items():
            file.writestr(zipfile.ZipInfo(name, DATE), content, zipfile.ZIP_DEFLATED, 9)


def solve(
    questions: Iterable[str], plan: Plan
) -> Iterator[tuple[str, dict[str, list[list[Call]]]]]:
    """Yield each question with its checks' rounds, replies included; with a progress bar on stderr.

    Raises:
        Broken: the reference could not answer a call.
    """
    mistakes = {question: mistakes_of(question) for question in questions}
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(os.cpu_count() or 1, 8), context, _start)
    try:
        total = sum(1 + len(known) for known in mistakes.values())
        bar = {"desc": "Rounds", "unit": "mistake", "leave": False, "disable": None}
        with tqdm(total=total, **bar) as progress:

            def submit(*work):
                future = pool.submit(*work)
                future.add_done_callback(lambda _: progress.update())
                return future

            right = {q: submit(_right, q, plan.draw(q)) for q in mistakes}
            solved, asked = {}, {}
            for q, known in mistakes.items():
                solved[q] = right[q].result()
                runs = [_runs(q, solved[q], mistake) for mistake in known]
                wrong = [submit(_wrong, q, *work) for work in zip(runs, known)]
                asked[q] = list(zip(known, runs, wrong))
            for question, rounds in solved.items():
                for mistake, runs, faults in asked[question]:
                    _add(runs, mistake.why, faults.result())
                yield question, rounds
    finally:
        pool.shutdown(cancel_futures=True)


def mistakes_of(question: str) -> list:
    """The mistakes that a check of the question that has rounds must see."""
    ids = {id for id in all_draws() if id.startswith(f"{question}-")}
    return [mistake for mistake in all_mistakes() if ids.intersection(mistake.caught_by)]


def _runs(question, rounds, mistake):
    """What a mistake is asked: pairs of a check's id and calls of one probe, in a basic check that
    must see it. (Of a hidden check, a student reads nothing but its title.)
    """
    slow = {draw.asked.name for draw in _draws_of(question) if not draw.asked.causes}
    return [
        (id, [call for call in calls if call.asked == name])
        for id in mistake.caught_by
        if id.endswith("basic")
        for calls in rounds.get(id, ())[:EXPLAINED]
        for name in dict.fromkeys(call.asked for call in calls if call.asked not in slow)
    ]


def _add(runs, sentence, faults):
    """Note which call of each run a mistake gets wrong first, and how; not if another mistake's
    reply is the same.
    """
    for (_, calls), fault in zip(runs, faults):
        if fault:
            number, key, sketch = fault
            wrong = calls[number].wrong
            if not any(of == key and sketch.matches(other) for _, of, other in wrong):
                wrong.append((sentence, key, sketch))


# In each worker: a student's process, and the reference where that may read it.


def _start():
    global _FOLDER, _PROCESS, _SUBMISSION
    _FOLDER = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    folder = Path(_FOLDER.name)
    _SUBMISSION, _ = stage(SOLUTION, folder)
    _PROCESS = StudentProcess(choose(), modules_for(), (folder,))


def _replies(question, calls, changes, seconds):
    """What the reference with some changes replies to each call."""
    files = changed(changes)
    for name in STUDENT_FILES:
        path = _SUBMISSION.root / name
        if path.read_text(encoding="utf-8") != files[name]:
            path.write_text(files[name], encoding="utf-8", newline="\n")
    probes = {draw.asked.name: draw.asked.probe for draw in _draws_of(question)}
    replies = [None] * len(calls)
    for probe in dict.fromkeys(probes.values()):
        mine = [number for number, call in enumerate(calls) if probes[call.asked] == probe]
        limits = replace(LIMITS, id=question, seconds=seconds)
        student = Student(_PROCESS, _SUBMISSION, limits, seed=0)
        found = student.each(probe, [calls[number].inputs for number in mine]) if mine else []
        for number, reply in zip(mine, found):
            replies[number] = reply
    return replies


def _right(question, rounds):
    """The rounds of each check with the reference's replies."""
    calls = [call for listed in rounds.values() for calls in listed for call in calls]
    replies = iter(_replies(question, calls, (), LIMITS.seconds))

    def solved(id, call):
        reply = next(replies)
        if not isinstance(reply, Failed):
            call = replace(call, right=reply.value, wrong=[])
        elif reply.error and reply.error.type in RAISED:
            call = replace(call, raises=reply.error.type, wrong=[])
        else:
            raise Broken(f"{id}: {call.asked} with {call.inputs}: {reply.message}")
        try:
            fault = _rules(id)[call.asked].fault(call, reply)
        except Exception as error:
            raise Broken(
                f"{id}: the rules for {call.asked} cannot judge the solution's reply "
                f"({type(error).__name__}: {error}). Are all keys and inputs that they name there?"
            ) from error
        if fault:
            raise Broken(f"{id}: {call.asked} refuses the solution: {fault.failed.message}")
        return call

    return {
        id: [[solved(id, call) for call in calls] for calls in listed]
        for id, listed in rounds.items()
    }


def _wrong(question, runs, mistake):
    """For each run, the first call that the reference with a known mistake gets wrong: its number,
    the key of the wrong part of the reply, and its sketch. None if all are right.
    """
    faults = [None] * len(runs)
    for shortest, length in ((1, 1), (2, None)):  # most are wrong at once: that saves most calls
        left = [n for n, (_, calls) in enumerate(runs) if not faults[n] and len(calls) >= shortest]
        calls = [call for n in left for call in runs[n][1][:length]]
        try:
            replies = iter(_replies(question, calls, mistake.changes, PATIENCE) if calls else [])
        except Failed:  # it hangs, or needs too much memory
            return faults
        for n in left:
            id, run = runs[n]
            faults[n] = _first_fault(id, run[:length], [next(replies) for _ in run[:length]])
    return faults


def _rules(id):
    """How the calls of a check are judged, by the name of their Asked."""
    return {draw.asked.name: draw.asked for draw in all_draws()[id]}


def _first_fault(id, calls, replies):
    """See `_wrong`."""
    rules = _rules(id)
    for number, (call, reply) in enumerate(zip(calls, replies)):
        try:
            if fault := rules[call.asked].fault(call, reply):
                return number, fault.key, Sketch.of(fault.value)
        except Failed:  # not implemented, which says enough
            return None
    return None
