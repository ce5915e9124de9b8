"""A submission as a check sees it: something to run probes on. Failures become verdicts."""

import hashlib
import math
import os
import re
import signal
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .allowance import Allowance, by_the_clock
from .answer import Answer
from .explain import RemoteError, explain
from .inside import wire
from .manifest import Check
from .probe import Probe
from .process import LIMITS, Reply
from .verdicts import Failed, Verdict, WrongAnswer

BROKEN = {  # messages for limits that are the same for all checks
    "processes": f"The code ran more than {LIMITS['processes']} processes and threads at once.",
    "output": f"The code printed more than {LIMITS['output']} MiB.",
    "disk": f"The code wrote more than {LIMITS['disk']} MiB, or {LIMITS['disk_files']} files.",
}


DISTURBED = "The code interfered with the channel that answers are sent on."
WORKED = 0.1  # of its CPU seconds: code that waits uses fewer
IMPORT_SECONDS = 20  # far more than any reasonable import takes, and what most checks may take
FRAME = re.compile(r'File "([^"\n]+)", line (\d+) in (.+)')  # of faulthandler, innermost first


@dataclass(frozen=True)
class Submission:
    """Where a submission is, ready to be imported.

    path: folders to import from. root: the folder whose frames in a traceback are the student's.
    package: the name under which it is imported. offered: what else may be imported, for advice.
    unusable: file -> why it was left out, in sentences that say what to do. asked: see
    `Student.once`.
    """

    path: tuple[Path, ...]
    root: Path
    package: str
    offered: str = "the standard library"
    unusable: dict[str, str] = field(default_factory=dict)
    asked: dict[str, object] = field(default_factory=dict, compare=False, repr=False)


class Student:
    """Runs probes on one submission, for one check.

    Args:
        process: a StudentProcess or SameProcess.
        submission: what to import.
        check: the source of the limits; its time is for all its probes together.
        seed: the judge's. The student's process gets another one, which reveals nothing about it.
        whole: the time for all checks together; no limit by default.
        endless: files of the submission whose import does not end, as other checks have found, and
            the line where it was; what this one finds is added. Later checks of these are told of
            it, so those of hidden checks must not get to basic ones, whose messages students read.
        seconds: of CPU time for all its probes; by default the check's limit.
        clock: of time by the clock; by default CLOCK times the check's limit.
    """

    def __init__(
        self,
        process,
        submission: Submission,
        check: Check,
        seed: int,
        whole: Allowance | None = None,
        endless: dict[str, int] | None = None,
        seconds: float | None = None,
        clock: float | None = None,
    ):
        self.process = process
        self.submission = submission
        self.check = check
        self.seed = seed
        self.name = check.id  # what its draws depend on, besides the seed
        self.calls = 0
        self.hints: list[str] = []
        self.facts: dict[str, float] = {}
        self.output = ""
        self.whole = whole or Allowance()
        self.endless = {} if endless is None else endless
        self.failed_at_once = False  # by what other checks found
        self.seconds = check.seconds if seconds is None else seconds
        self.clock = by_the_clock(check.seconds) if clock is None else clock
        self.time: Allowance | None = None  # this check's, starting with its first call

    @property
    def cpu_seconds(self) -> float:
        """The CPU seconds of its calls."""
        return self.time.used if self.time else 0.0

    @property
    def busy(self) -> bool:
        """Whether a timeout proves little: by the clock, of code that worked."""
        worked = self.cpu_seconds > WORKED * self.seconds
        return worked and self.time.left > 0 and not self.failed_at_once

    def hint(self, sentence: str) -> None:
        """Add a remark that costs no points."""
        if sentence not in self.hints:
            self.hints.append(sentence)

    def note(self, fact: str, value: float) -> None:
        """Keep a number for the report, whatever the verdict; non-finite numbers are ignored."""
        if math.isfinite(value):
            self.facts[fact] = float(value)

    def generator(self) -> np.random.Generator:
        """What the judge draws with: the same for the same seed and `name`."""
        return np.random.default_rng([self.seed, zlib.crc32(self.name.encode())])

    def once(self, name: str, ask: Callable[[np.random.Generator], object]):
        """What `ask(rng)` returns, asked by the first of the submission's checks that give this
        name. What is drawn there depends on the name, so it is the same whichever check is first.
        """
        asked = self.submission.asked
        if name not in asked:
            kept = self.name, self.calls
            self.name, self.calls = name, 0
            try:
                asked[name] = ask(self.generator())
            finally:
                self.name, self.calls = kept[0], kept[1] + self.calls
        return asked[name]

    def run(self, probe: Probe, **inputs) -> Answer:
        """Run a probe in the student's process.

        Args:
            inputs: its keyword arguments, as data (see wire.py); NumPy arrays stay NumPy arrays.

        Raises:
            Failed: with the verdict for whatever went wrong.
        """
        return Answer(self._call(probe, {"inputs": inputs}), "the result")

    def each(self, probe: Probe, calls: list[dict]) -> list[Answer | Failed]:
        """Run a probe with each of several inputs, one after the other in one process.

        Args:
            calls: the keyword arguments of each.

        Returns:
            For each its Answer; or if it raised an exception, the Failed for it.

        Raises:
            Failed: the process ended before it could answer.
        """
        replies = Answer(self._call(probe, {"calls": calls}), "the result").items(len(calls))
        return [self._result(reply.value) for reply in replies]

    def _call(self, probe, inputs):
        """Run a probe; returns its value. inputs: a request's `inputs` or `calls`."""
        self.calls += 1
        if not self.whole.rest:
            raise self._too_late()
        self.process.start()  # before the clock starts: importing torch is not the student's time
        self.time = self.time or Allowance(self.seconds, self.clock, self.whole)
        if not self.time.rest:
            raise self._timeout(probe, inputs, Reply("timeout"))
        digest = hashlib.sha256(f"{self.seed} {self.name} {self.calls}".encode()).digest()
        request = {
            "source": probe.source,
            "name": probe.name,
            **inputs,
            "root": str(self.submission.root),
            "path": [str(folder) for folder in self.submission.path],
            "endless": [self._module(file) for file in sorted(self.endless.copy())],
            "seed": int.from_bytes(digest[:8], "little") >> 1,
        }
        reply = self.time.call(self.process, request, self.check.memory)
        self.output = reply.output
        if reply.ended == "timeout":
            raise self._timeout(probe, inputs, reply)
        if reply.ended == "too large":
            raise WrongAnswer("What the code returned is too large to be correct.")
        if reply.ended == "memory":
            raise Failed(
                Verdict.OUT_OF_MEMORY,
                f"The code and all its processes used more than {self.check.memory} MiB of memory.",
            )
        if reply.ended in BROKEN:
            raise Failed(Verdict.BLOCKED, BROKEN[reply.ended])
        if reply.ended != "answered" or not reply.message:
            raise Failed(
                Verdict.CRASHED, f"Python ended before it could answer: {_reason(reply.code)}."
            )
        return self._read(reply.message)

    def _too_late(self):
        return Failed(
            Verdict.TIMEOUT,
            "The time for all checks together was used up. Look at the slowest checks, and run "
            "this one alone.",
        )

    def _endless(self, file):
        return Failed(
            Verdict.TIMEOUT,
            f"Importing {file} does not finish. Where it was: {file}, line {self.endless[file]}. "
            "Is there an infinite loop, or a long computation, outside its functions?",
        )

    def _module(self, file):
        return ".".join([self.submission.package, *file.removesuffix(".py").split("/")])

    def _timeout(self, probe, inputs, reply):
        frames = self._frames(reply.stack)
        importing = [(file, line) for file, line, function in frames if function == "<module>"]
        enough = 0.9 * min(IMPORT_SECONDS, self.check.seconds)  # a shorter call proves nothing
        if importing and (reply.cpu >= enough or reply.seconds >= by_the_clock(enough)):
            self.endless |= importing[:1]
            return self._endless(importing[0][0])
        own = self.check.seconds
        shortened = self.seconds < own or self.clock < by_the_clock(own)
        if not self.whole.rest or shortened:
            return self._too_late()
        calls = "for all its calls together" if self.calls > 1 else "in total"
        says = f"No answer within {self.seconds:g} seconds, the limit of {self.check.id} {calls}."
        advice = "Is there an infinite loop, or much more work than needed?"
        if self.time.left > 0:
            says = (
                f"No answer within {self.clock:g} seconds by the clock, the longest that "
                f"{self.check.id} may take {calls}. The code worked for {self.time.used:.1f} of "
                "them."
            )
            advice = "Does it wait for something? Or is the machine busy with something else?"
        says += f"\nWhat was running: {_what(probe, inputs)}"
        if frames:
            file, line, function = frames[0]
            says += f"\nWhere it was: {file}, line {line}, in {function}."
        return Failed(Verdict.TIMEOUT, f"{says}\n{advice}")

    def _frames(self, stack):
        """The submission's frames, innermost first: its file, the line, and the function. The
        submission may have written them: other names than those of its files are left out.
        """
        root = self.submission.root
        names = {path.as_posix(): path for path in root.rglob("*.py")}
        return [
            (names[path].relative_to(root).as_posix(), line, function[:100])
            for path, line, function in FRAME.findall(stack.replace(os.sep, "/"))
            if path in names
        ]

    def _read(self, message):
        try:
            value = wire.decode(message)
        except Exception:  # anything that a forged message makes the reader raise
            raise Failed(Verdict.CRASHED, DISTURBED) from None
        result = self._result(value)
        if isinstance(result, Failed):
            raise result
        return result.value

    def _result(self, value):
        """The Answer of a message, or the Failed for its exception."""
        try:
            if "value" in value:
                return Answer(value["value"], "the result")
            error = RemoteError.read(value["error"])
            stuck = [file for file in self.endless.copy() if self._module(file) == error.name]
        except Exception:  # as above
            return Failed(Verdict.CRASHED, DISTURBED)
        if error.type == "EndlessImport" and stuck:
            self.failed_at_once = True
            return self._endless(stuck[0])
        return explain(error, self.submission, self.check.memory)


def _what(probe, inputs):
    """A probe in words: its docstring's first paragraph, and its inputs."""
    says = (probe.function.__doc__ or probe.name).strip().split("\n\n")[0]
    inputs = inputs.get("inputs", inputs)
    return f"{' '.join(says.split()).rstrip('.')}. Its inputs: {_shown(inputs)[:400]}."


def _shown(value):
    """A short form of inputs: arrays by their shape, lists by their first item."""
    if isinstance(value, dict):
        return ", ".join(
            f"{key} = {_shown(item)}" for key, item in value.items() if item is not None
        )
    if isinstance(value, (list, tuple)) and len(str(value)) > 60:
        more = f" and {len(value) - 1} more" if len(value) > 1 else ""
        return f"[({_shown(value[0])}){more}]"
    if hasattr(value, "shape"):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    return repr(value)[:60]


def _reason(code):
    """Words for an exit code."""
    if code >= 1 << 31:  # such as 0xc0000005, a memory access that is not allowed
        return f"Windows ended it with code {code:#x}"
    if code >= 0:
        return f"exit code {code}, as after os._exit"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
