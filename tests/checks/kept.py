"""Keeps what wrong submissions lost, so that they are graded again only after a change.

A result is kept under the hash of the submission, of the checks and of the engine, as when a class
is graded. It is then from a seed of an earlier run; with `-p no:cacheprovider`, all seeds are new.
"""

import hashlib
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from proof import HIDDEN, MANIFEST, ROOT

from checks.support.session import Setting
from common.files import write_text
from instructor.grading.fingerprint import Fingerprints, digest_submission
from variants import make


class Kept:
    """Results in a folder, a file each.

    Args:
        folder: None to keep nothing.
        level: the isolation level of all gradings.
    """

    def __init__(self, folder: Path | None, level: str):
        self.folder = folder
        self.grader = [level, sys.version, version("torch"), version("numpy")]
        prints = Fingerprints(MANIFEST, Setting(HIDDEN, ROOT / "instructor" / "gold"))
        self.checks = {
            check.id: [check.question, check.points, prints.wanted[check.id]]
            for check in (MANIFEST.checks.values() if folder else ())
            if check.coded
        }

    def get(self, wrong) -> dict[str, float] | None:
        """The points that a wrong submission lost, by check; None if that is not known."""
        path = self.folder and self._path(wrong)
        return json.loads(path.read_text(encoding="utf-8")) if path and path.is_file() else None

    def put(self, wrong, taken: dict[str, float]) -> None:
        """Keep the points that it lost."""
        if self.folder:
            write_text(self._path(wrong), json.dumps(taken))

    def _path(self, wrong):
        questions = {MANIFEST.checks[id].question for id in wrong.caught_by}
        checks = {id: of for id, of in self.checks.items() if of[0] in questions}
        with tempfile.TemporaryDirectory() as folder:
            digest = digest_submission(make(wrong.changes, Path(folder) / "submission"))
        key = [self.grader, checks, wrong.kind, wrong.caught_by, digest]
        return self.folder / hashlib.sha256(json.dumps(key).encode()).hexdigest()
