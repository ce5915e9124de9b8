"""Detect files of a submission whose import never ends. They are found at the first timeout, so
that later checks that need them fail immediately, and one endless loop doesn't delay a class by
minutes, or use up the time of right answers in other files.
"""

import threading

from .allowance import Allowance
from .inside import wire
from .probe import Probe, probe

IMPORT_SECONDS = 20  # far more than any reasonable import takes, and what most checks may take


@probe
def needed_files(source, root, package):
    """List the package's files that a source imports, each after those that it imports itself as
    soon as it is executed. Nothing is imported to find out.
    """
    import ast
    import contextlib
    from pathlib import Path

    found = []
    seen = set()

    def visit(statements, folder):
        for node in statements:
            names = []
            if isinstance(node, (ast.Try, ast.With)):
                visit(node.body, folder)
            if isinstance(node, ast.Import):
                names = [alias.name.split(".") for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = [package, *folder][: len(folder) + 2 - node.level] if node.level else []
                base += node.module.split(".") if node.module else []
                names = [[*base, alias.name] for alias in node.names]
            for first, *rest in names:
                for end in range(1, len(rest) + 1):
                    path = Path(root, *rest[:end]).with_suffix(".py")
                    if first == package and path not in seen and path.is_file():
                        seen.add(path)
                        with contextlib.suppress(Exception):  # what can't be parsed isn't stuck
                            visit(ast.parse(path.read_bytes()).body, rest[: end - 1])
                        found.append("/".join(rest[:end]) + ".py")

    visit(ast.walk(ast.parse(source)), [])
    return found


@probe
def import_file(module):
    """Import a file of the submission, and nothing else."""
    import importlib

    importlib.import_module(module)


class Stuck:
    """What is known about the imports of one submission; all its checks share it.

    Args:
        submission: the student.Submission.
    """

    def __init__(self, submission):
        self.submission = submission
        self.ends: dict[str, bool] = {}
        self._needed: dict[str, list[str]] = {}
        self._looking = threading.Lock()  # one check finds out, and the others know

    def file(self, probe: Probe, request: dict, student) -> str | None:
        """A file that the probe imports and that is known to be stuck, or None.

        Args:
            request: the probe's; its folders and seed are reused.
            student: the student.Student that runs it, with its process, its time and its limits.
        """
        if all(list(self.ends.values())):
            return None
        needed = self._files(probe, request, student)
        return next((file for file in needed if not self.ends.get(file, True)), None)

    def look(self, probe: Probe, request: dict, student) -> str | None:
        """After a timeout of `probe`, find out which of the files that it imports is stuck, if any.
        The arguments are those of `file`.
        """
        with self._looking:
            for file in self._files(probe, request, student):
                if file not in self.ends:
                    module = [self.submission.package, *file.removesuffix(".py").split("/")]
                    inputs = {"module": ".".join(module)}
                    reply = self._call(import_file, inputs, request, student)
                    longest = min(IMPORT_SECONDS, student.check.seconds)
                    # cut short, it proves nothing
                    self.ends[file] = reply.ended != "timeout" or reply.counted < longest
                if not self.ends[file]:
                    return file
        return None

    def _files(self, probe, request, student):
        """The submission's files that a probe needs, in the order in which they are executed."""
        if probe.source not in self._needed:
            inputs = {
                "source": probe.source,
                "root": str(self.submission.root),
                "package": self.submission.package,
            }
            self._needed[probe.source] = []
            reply = self._call(needed_files, inputs, request, student)
            if reply.ended == "answered" and reply.message:
                self._needed[probe.source] = wire.decode(reply.message).get("value", [])
        return self._needed[probe.source]

    @staticmethod
    def _call(probe, inputs, request, student):
        again = {**request, "source": probe.source, "name": probe.name, "inputs": inputs}
        time = Allowance(min(IMPORT_SECONDS, student.check.seconds), within=student.total)
        return time.call(student.process, again, student.check.memory)
