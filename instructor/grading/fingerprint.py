"""Hashes of what a grade depends on, so that a run grades again only what has changed.

A check's hash covers the files of its question, all code that no question has for itself, its
limits, its data and answers, and what it builds on. Points and the names of students' files are
left out: a question in new files regrades no other checks.
"""

import hashlib
import hmac
import inspect
import json
import os
import re
import stat
from pathlib import Path

from autograder import Manifest
from autograder.intake import Limits
from autograder.judge import verdicts_in
from checks.support.asked import by_reference
from checks.support.context import EXERCISES, GOLD_EXERCISES, GOLD_SHARED, Context
from checks.support.regrade import places
from checks.support.rounds import Rounds
from checks.support.session import Setting
from checks.support.staging import DECODER, GIVEN, code_limit, result_limit
from common.files import UserError
from instructor import ROOT
from jobs.deliverables import ANSWERS, FOLDERS, STUDENT_FILES, lent, supplied_to
from jobs.targets import MADE_BY, PROBLEMS

# What checks share besides their own folders. A new name in the lists of files
# (jobs/deliverables.py and what it reads) concerns no other check.
SHARED = (
    "src/autograder/**/*.py",
    "src/common/*.py",
    *(f"src/jobs/{name}.py" for name in ("presets", "target", "targets", "weights")),
    "src/jobs/problem1/data.py",
    "instructor/datasets/worlds/*.*",
)
QUESTION = re.compile(r"q(\d+[a-z])(_\w+)?(\.py)?")  # a file or folder that belongs to one question
# fields of a manifest's entry; title and points don't change a check's outcome
SHIPPED = ("seconds", "memory", "partial", "artifacts")


def digest_submission(source: Path) -> str:
    """A hash of a submission: of the zip itself, or of the files in a folder that grading uses.
    Links are not followed. Of a file above the size limit only the size counts: it will be refused.

    Raises:
        OSError: it cannot be read.
    """
    total = hashlib.sha256()
    if source.is_dir():
        names = sorted(
            Path(folder, entry.name).as_posix()
            for folder in ("", *FOLDERS)
            if (source / folder).is_dir()
            for entry in os.scandir(source / folder)
        )
        files = [(name, source / name, code_limit(name) or result_limit(name)) for name in names]
    else:
        files = [(source.name, source, Limits().total)]
    for name, path, limit in files:
        if limit is not None:
            total.update(json.dumps([name, _digest_file(path, limit)]).encode())
    return total.hexdigest()


def _digest_file(path, limit):
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        return f"no file {stat.S_IFMT(status.st_mode)}"
    if status.st_size > limit:
        return f"large {status.st_size}"
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seed_for(seed: int, digest: str) -> int:
    """The seed of one submission: the same in every run, and unpredictable without the class's
    seed.
    """
    return (
        int.from_bytes(hmac.digest(str(seed).encode(), digest.encode(), "sha256")[:8], "little")
        >> 2
    )


class Fingerprints:
    """Hashes of all that the checks of a manifest depend on besides the submission.

    Args:
        manifest: of the assignment.
        setting: what submissions are graded with.

    Attributes:
        intake: hash of how submissions are taken in: refused ones are tried again when it changes.
        wanted: the hash of each automatic check, by id; "" if it has no verdict, which will be a
            grader error.
    """

    def __init__(self, manifest: Manifest, setting: Setting):
        self._manifest = manifest
        self._files = {}  # by question; "" for what all share
        for folder in sorted(setting.checks):
            for name, digest in _digests(folder, "**/*.py"):
                questions = filter(None, map(QUESTION.fullmatch, name.split("/")))
                question = next((match[1] for match in questions), "")
                self._files.setdefault(question, []).append([name, digest])
        # staff's checks have rounds of their own
        rounds = setting.rounds(manifest.questions) if setting.hidden else Rounds()
        for path in sorted(rounds.folder.glob("*.zip")):
            self._files.setdefault(path.stem, []).append(rounds.digest(path.stem))
        given = [_digests(GIVEN, name) for name in supplied_to(PROBLEMS)]
        given.append(_digests(DECODER.parent, DECODER.name))
        if setting.reference:
            given += [_digests(setting.reference, name) for name in lent(manifest.problems)]
        shared = [_digests(ROOT, pattern) for pattern in SHARED]
        self._session = _hash([self._files.pop("", []), shared, given, setting.seconds])
        self.intake = _hash([self._session, STUDENT_FILES, ANSWERS, [*MADE_BY]])
        self._reference = {}  # question -> the files in which the reference answers it
        for name in STUDENT_FILES if setting.reference else ():
            file = _digests(setting.reference, name)
            for question in {question for question, _ in places(name, setting.reference)}:
                self._reference.setdefault(question, []).append(file)
        # Results are judged with the data and the answers, too.
        folders = [folder for folder in (setting.data or ROOT / "data", setting.answers) if folder]
        accuracy = manifest.settings["accuracy"]
        self._results = _hash(
            [setting.preset, accuracy, [_digests(folder, "**/*.t*") for folder in folders]]
        )
        context = Context(ROOT, setting.preset, setting.data, setting.answers, {})
        self._exercises = [_digest_of(context.path, name) for name in EXERCISES]
        self._exercises += [
            _digest_of(context.gold_path, name) for name in GOLD_EXERCISES + GOLD_SHARED
        ]
        coded = [check for check in manifest.checks.values() if check.coded]
        ids = [check.id for check in coded]
        self._verdicts = verdicts_in(setting.checks, ids, by_reference)[0]
        self.wanted = {check.id: self._of(check) for check in coded}

    def _of(self, check):
        """The hash for one check."""
        if check.id not in self._verdicts:
            return ""
        # Checks may be graded again with the reference's code for what their question builds on,
        # and import what that question's checks have.
        bases = [] if check.artifacts else self._manifest.bases(check.question)
        others = [
            self._own(other)
            for other in self._manifest.checks.values()
            if other.question in bases and other.coded and not other.artifacts
        ]
        return _hash([self._own(check), others, [self._reference.get(base) for base in bases]])

    def _own(self, check):
        """What the check itself depends on."""
        if check.id not in self._verdicts:
            return ""
        takes_context = "context" in inspect.signature(self._verdicts[check.id]).parameters
        return _hash(
            [
                self._session,
                self._files.get(check.question),
                {name: getattr(check, name) for name in SHIPPED},
                [MADE_BY[name].target for name in check.artifacts if name in MADE_BY],
                self._results if check.artifacts else "",
                self._exercises if takes_context else "",
            ]
        )


def _hash(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _digests(folder, pattern):
    return [
        [path.relative_to(folder).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]
        for path in sorted(folder.glob(pattern))
        if path.is_file()
    ]


def _digest_of(find, name):
    """The hash of a file that a Context finds; "" where there is none."""
    try:
        return hashlib.sha256(find(name).read_bytes()).hexdigest()
    except UserError:
        return ""
