"""Hashes of what a grade depends on, so that a run grades again only what has changed.

A check's hash covers its limits, the files of its question and of those that this builds on, all
code that no question has for itself, and its problem's data and answers. Points and the names of
students' files are left out: a question in new files regrades no other checks.
"""

import contextlib
import hashlib
import hmac
import json
import os
import re
import stat
from pathlib import Path

from autograder import Manifest
from autograder.intake import Limits
from autograder.manifest import problem_of
from checks.support.context import Context
from checks.support.rounds import Rounds
from checks.support.session import Setting
from checks.support.staging import DECODER, GIVEN, limit_of
from common.files import UserError
from instructor import ROOT
from jobs.deliverables import ANSWERS, FOLDERS, STUDENT_FILES, lent, supplied_to
from jobs.targets import MADE_BY, PROBLEMS, chosen

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
        files = [(name, source / name, limit_of(name)) for name in names]
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
        wanted: the hash of each automatic check, by id.
    """

    def __init__(self, manifest: Manifest, setting: Setting):
        questions = {}  # the files of each; "" for what all share
        for folder in sorted(setting.checks):
            for name, digest in _digests(folder, "**/*.py"):
                matches = filter(None, map(QUESTION.fullmatch, name.split("/")))
                question = next((match[1] for match in matches), "")
                questions.setdefault(question, []).append([name, digest])
        # staff's checks have rounds of their own
        rounds = setting.rounds(manifest.questions) if setting.hidden else Rounds()
        for path in sorted(rounds.folder.glob("*.zip")):
            questions.setdefault(path.stem, []).append(rounds.digest(path.stem))
        shared = [questions.pop("", []), setting.seconds]
        shared += [_digests(ROOT, pattern) for pattern in SHARED]
        shared += [_digests(GIVEN, name) for name in supplied_to(PROBLEMS)]
        shared += [_digests(DECODER.parent, DECODER.name)]
        if setting.reference:
            shared += [_digests(setting.reference, name) for name in lent(manifest.problems)]
            reference = {
                number: [_digests(setting.reference, name) for name in problem.code]
                for number, problem in PROBLEMS.items()
            }
        self.intake = _hash([shared, STUDENT_FILES, ANSWERS, [*MADE_BY]])
        coded = [check for check in manifest.checks.values() if check.coded]
        handed_out = {problem: _handed_out(problem, setting) for problem in manifest.problems}
        results = [setting.preset, manifest.settings["accuracy"]]
        folders = filter(None, (setting.data or ROOT / "data", setting.answers))
        results += [_digests(folder, "**/*.t*") for folder in folders]
        self.wanted = {}
        for check in coded:
            # Checks may be graded again with the reference's code for what their question builds
            # on, and import what that question's checks have.
            bases = manifest.bases(check.question)
            parts = [shared, handed_out[problem_of(check.question)]]
            parts += [questions.get(question) for question in (check.question, *bases)]
            parts += [reference[problem_of(base)] for base in bases if setting.reference]
            parts += [
                [other.id, other.seconds, other.memory, other.partial, other.artifacts]
                for other in coded
                if other is check or other.question in bases
            ]
            if check.artifacts:
                targets = [MADE_BY[name].target for name in check.artifacts if name in MADE_BY]
                parts += [results, targets]
            self.wanted[check.id] = _hash(parts)


def _handed_out(number, setting):
    """The data and answers of a problem's exercises, as far as there are any."""
    context = Context(ROOT, setting.preset, setting.data, setting.answers, {})
    found = []
    for problem in chosen([number]):
        for name in (*problem.exercises, *problem.gold, *problem.gold_shared):
            with contextlib.suppress(UserError):
                find = context.path if name in problem.exercises else context.gold_path
                found.append(_digests(find(name).parent, Path(name).name))
    return found


def _hash(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _digests(folder, pattern):
    return [
        [path.relative_to(folder).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]
        for path in sorted(folder.glob(pattern))
        if path.is_file()
    ]
