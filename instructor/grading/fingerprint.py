"""Hashes of what a grade depends on, so that a run grades again only what has changed.

A check's hash covers its file, the maker of its cases and all that they import, its limits, its
data and answers, and what it builds on. Points and the names of students' files are left out: a
question in a new file regrades no other checks.
"""

import ast
import functools
import hashlib
import hmac
import json
import os
import stat
from pathlib import Path

from autograder import Check, Manifest
from autograder.intake import Limits
from checks.support.cases import RELEASED
from checks.support.context import EXERCISES, GOLD_EXERCISES, GOLD_SHARED, Context
from checks.support.regrade import places
from checks.support.session import CHECKS, Setting
from checks.support.staging import DECODER, GIVEN, code_limit, result_limit
from common.files import UserError
from instructor import ROOT
from jobs.deliverables import ANSWERS, FOLDERS, MADE_BY, STUDENT_FILES, SUPPLIED, lent

# Imports of these are not followed: a new name in the lists concerns no other check, and
# `submission` is the student's, except for the given files.
JOBS = ROOT / "src" / "jobs"
APART = (JOBS / "deliverables.py", JOBS / "problems.py", ROOT / "src" / "submission")
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
        wanted: the hash of each automatic check, by id.
    """

    def __init__(self, manifest: Manifest, setting: Setting):
        given = [_digest_tree(GIVEN, name) for name in ("__init__.py", *SUPPLIED)]
        given.append(_digest_tree(DECODER.parent, DECODER.name))
        if setting.reference:
            given += [_digest_tree(setting.reference, name) for name in lent(manifest.problems)]
        self._session = _hash([_digest_modules(CHECKS / "support" / "session.py"), given])
        self.intake = _hash([self._session, STUDENT_FILES, ANSWERS, MADE_BY])
        self._manifest = manifest
        self._files = _files_of_checks([CHECKS] + ([setting.hidden] if setting.hidden else []))
        self._makers = _files_of_makers(setting.staff or setting.hidden)
        names = STUDENT_FILES if setting.reference else []
        self._places = {name: places(name, setting.reference) for name in names}
        self._seconds = setting.seconds
        # Results are judged with the data and the answers, too.
        folders = [folder for folder in (setting.data or ROOT / "data", setting.gold) if folder]
        self._results = _hash(
            [
                setting.preset,
                manifest.settings["accuracy"],
                [_digest_tree(folder, "**/*.t*") for folder in folders],
            ]
        )
        context = Context(ROOT, setting.preset, setting.data, setting.gold, {})
        self._exercises = {name: _digest_of(context.path, name) for name in EXERCISES} | {
            name: _digest_of(context.gold_path, name) for name in GOLD_EXERCISES + GOLD_SHARED
        }

        coded = (check for check in manifest.checks.values() if check.coded)
        self.wanted = {check.id: self.of(check) for check in coded}

    def of(self, check: Check) -> str:
        """The hash for one check; "" if it has no file, which will be a grader error."""
        if check.id not in self._files:
            return ""
        # Checks may be graded again with the reference's code for what their question builds on.
        bases = self._manifest.bases(check.question) if self._places and not check.artifacts else []
        others = [
            other
            for other in self._manifest.checks.values()
            if other.question in bases and other.coded and not other.artifacts
        ]
        others = [self._own(other) for other in others]
        return _hash([self._own(check), others, self._grafted(bases)])

    def _grafted(self, bases):
        """The reference's code for some questions: for each file with such a place, the question of
        every place, and the code of theirs.
        """
        found = {
            name: [(question, body if question in bases else "") for question, body in of]
            for name, of in self._places.items()
        }
        return {name: of for name, of in found.items() if any(body for _, body in of)}

    def _kept(self, check):
        """The hash of the released cases, if their makers are not here."""
        return "" if self._makers else _digest_tree(RELEASED, f"{check.question}.*")

    def _own(self, check):
        """What the check itself depends on."""
        if check.id not in self._files:
            return ""
        path, asks = self._files[check.id]
        maker = self._makers.get(check.id)
        entry = {name: getattr(check, name) for name in SHIPPED}
        texts = (_texts(path) if asks else set()) | (_texts(maker) if maker else set())
        read = {name: digest for name, digest in self._exercises.items() if name in texts}
        taken = [sorted(_texts(path) & {*ANSWERS}), [MADE_BY.get(name) for name in check.artifacts]]
        cases = _digest_modules(maker) if maker else self._kept(check)
        return _hash(
            [
                self._session,
                self._seconds,
                _digest_modules(path),
                cases,
                entry,
                self._results if check.artifacts else "",
                read,
                taken,
            ]
        )


def _hash(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _digest_tree(folder, pattern):
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


def _files_of_checks(folders):
    """The file of each check, and whether it takes the context, through which it can read more
    files; by id.
    """
    files = {}
    for path in (path for folder in folders for path in sorted(folder.rglob("q*.py"))):
        for function in ast.walk(_parse(path)):
            for node in getattr(function, "decorator_list", ()):
                if (
                    isinstance(node, ast.Call)
                    and getattr(node.func, "id", "") == "check"
                    and node.args
                    and isinstance(node.args[0], ast.Constant)
                ):
                    files[node.args[0].value] = (
                        path,
                        any(argument.arg == "context" for argument in function.args.args),
                    )
    return files


def _files_of_makers(folder):
    """The file of the maker of each check's cases, by the check's id."""
    found = {}
    for path in sorted(folder.rglob("cases.py")) if folder else ():
        for function in ast.walk(_parse(path)):
            for node in getattr(function, "decorator_list", ()):
                if (
                    isinstance(node, ast.Call)
                    and getattr(node.func, "id", "") == "makes"
                    and isinstance(node.args[0], ast.Constant)
                ):
                    found[node.args[0].value] = path
    return found


@functools.cache
def _parse(path):
    try:
        return ast.parse(path.read_bytes())
    except SyntaxError:  # grading reports it as a grader error
        return ast.Module([], [])


@functools.cache
def _digest_modules(path):
    """A hash of a Python file and of all files of this project that it imports, directly or not."""
    return _hash(
        sorted(
            (os.path.relpath(path, ROOT), hashlib.sha256(path.read_bytes()).hexdigest())
            for path in _modules(path)
        )
    )


@functools.cache
def _texts(path):
    """The strings in a file of checks and in those that it imports, including the names of the
    files that they read. context.py is left out, since it has all names.
    """
    files = [
        file for file in _modules(path) if "checks" in file.parts and file.name != "context.py"
    ]
    return set().union(*map(_strings, files))


@functools.cache
def _strings(file):
    return {
        node.value
        for node in ast.walk(_parse(file))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _modules(path):
    """A Python file, and all files of this project that it imports, directly or not."""
    seen, waiting = set(), [path]
    while waiting:
        path = waiting.pop()
        if path not in seen and not {path, *path.parents} & {*APART}:
            seen.add(path)
            waiting += _imports(path)
    return seen


@functools.cache
def _imports(path):
    """The files of this project that a file imports directly."""
    found = []
    for node in ast.walk(_parse(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [".".join(filter(None, [node.module, alias.name])) for alias in node.names] + [
                node.module or ""
            ]
        else:
            continue
        level = getattr(node, "level", 0)
        bases = [path.parents[level - 1]] if level else [ROOT / "src", ROOT]
        for base in bases:
            for name in names:
                target = base.joinpath(*name.split(".")) if name else base
                found += [
                    file
                    for file in (target.with_suffix(".py"), target / "__init__.py")
                    if file.is_file()
                ]
    return found
