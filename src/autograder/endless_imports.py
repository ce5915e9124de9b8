"""Detect files of a submission whose import never ends. They are found at the first timeout, so
that later checks that need them fail immediately, and one endless loop doesn't delay a class by
minutes.
"""

import re

from .allowance import Allowance
from .manifest import Check
from .probe import Probe, probe

IMPORT_SECONDS = 10  # far more than any reasonable import takes


@probe
def import_file(module):
    """Import a file of the submission, and nothing else."""
    import importlib

    importlib.import_module(module)


class Stuck:
    """What is known about the imports of one submission.

    Args:
        process: where probes run.
        submission: the student.Submission.
        whole: the time for all checks together.
    """

    def __init__(self, process, submission, whole: Allowance):
        self.process = process
        self.submission = submission
        self.whole = whole
        self.ends: dict[str, bool] = {}

    def file(self, probe: Probe) -> str | None:
        """A file that the probe imports and that is known to be stuck, or None."""
        return next(
            (f"{module}.py" for module in self._needed(probe) if not self.ends.get(module, True)),
            None,
        )

    def look(self, probe: Probe, request: dict, check: Check) -> None:
        """After a timeout of `probe`, find out which of the files that it imports are stuck.

        Args:
            request: the one that timed out; its folders and seed are reused.
            check: the source of the limits.
        """
        for module in self._needed(probe):
            if module not in self.ends:
                again = {
                    **request,
                    "source": import_file.source,
                    "name": import_file.name,
                    "inputs": {"module": f"{self.submission.package}.{module}"},
                }
                seconds = min(IMPORT_SECONDS, check.seconds)
                time = Allowance(seconds, within=self.whole)
                reply = time.call(self.process, again, check.memory)
                cut_short = reply.counted < seconds  # that proves nothing
                self.ends[module] = reply.ended != "timeout" or cut_short

    def _needed(self, probe):
        """The submission's modules that the source of a probe imports."""
        found = re.findall(
            rf"\b(?:from|import) {self.submission.package}(?:\.(\w+)| import ([\w, ]+))",
            probe.source,
        )
        names = [name.strip() for module, names in found for name in (module or names).split(",")]
        return [name for name in names if (self.submission.root / f"{name}.py").is_file()]
