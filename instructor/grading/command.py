"""`python -m instructor grade CLASS` grades a class. It can be stopped and repeated at any time."""

import argparse
import contextlib
import functools
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple
from datetime import UTC
from pathlib import Path

from common.files import UserError, write_text

from .text import moment, zone_of

SCRATCH = "grading-"  # prefix of the folders of temporary files


def run(args: argparse.Namespace) -> int:
    """Grade, and write pages and gradebooks.

    Returns:
        0; or 3, after listing them, if people have no grade yet.

    Raises:
        UserError: a mistake in the files of the class, another run on it, a full disk. What was
            graded is kept.
    """
    from autograder import read_manifest
    from checks.support import session
    from checks.support.context import Context

    from .changes import compare, snapshot
    from .database import TAKEN_IN, State
    from .decision_files import keep_versions
    from .finding.found import keep_found, match_submissions, to_grade
    from .finding.roster import Roster, read_roster
    from .fingerprint import Fingerprints, seed_for
    from .grade_missing import grade_missing
    from .graded_class import class_of, decisions_of
    from .pages import write_reports
    from .settings import NAME as SETTINGS
    from .settings import read_settings, seed_of
    from .summary import print_summary
    from .work import Task

    folder = args.folder
    if _make_class(folder):
        return 0
    settings = read_settings(folder)
    _print_times(settings)
    setting = settings.for_checks(weak=args.allow_weak_isolation)
    try:
        Context(folder, setting.preset, setting.data, setting.answers, {})  # checks the folders
    except UserError as error:  # settings have the names of the options
        said = re.sub(r"(^| |\()--(?=(?:data|gold|preset)\b)", r"\1", str(error))
        raise UserError(f"{folder / SETTINGS}: {said}") from None
    roster = read_roster(settings.roster, settings.title) if settings.roster else Roster()
    matched = match_submissions(folder, settings, roster)
    people = {person.id: person for person in (*roster.people, *(who for _, who, _ in matched))}
    people = [*people.values()]
    with State(folder, make=True) as state, _scratch(state) as scratch:
        if not args.cluster:  # whose workers look for themselves
            setting.isolation()
            setting.require_hidden([Path(scratch)])
        seed = seed_of(state, settings)
        keep_versions(folder, settings.roster)
        decisions = decisions_of(state, folder, people)
        with state.transaction():
            keep_found(state, settings, matched, roster, people, decisions.extensions, args.only)
        _mark_again(state, settings, decisions, args.again)
        manifest = read_manifest(session.MANIFEST).only(setting.problems)
        fingerprints = Fingerprints(manifest, setting)
        wanted = {TAKEN_IN: fingerprints.intake, **fingerprints.wanted}
        tasks = [
            Task(digest, source, tuple(ids), seed_for(seed, digest), setting, settings.apart)
            for digest, source in to_grade(state).items()
            if (ids := state.missing(digest, wanted, args.allow_weak_isolation))
        ]
        results = make_engine(args, settings, scratch)
        slow = grade_missing(state, manifest, wanted, tasks, results)
        graded = class_of(state, settings, decisions, wanted)
        graded.column = roster.column
        before, after = json.loads(state.get("snapshot") or "{}"), snapshot(graded, wanted)
        changes = compare(before, after)
        with state.transaction():
            for change in changes:
                state.log(*astuple(change))
            state.put(snapshot=json.dumps(after), again="null")
            graded.history = state.history()
            write_reports(graded, folder)
    if roster.is_gradebook and not roster.column:
        print(
            f"The gradebook has no column {settings.title!r}, or several: grades.csv would add a "
            "new one, and nobody counts as excused. Write its name with the number into "
            'settings.toml: title = "NAME (12345)".'
        )
    return print_summary(graded, folder, changes, len(tasks), slow)


def _make_class(folder: Path) -> bool:
    """Make the files that people edit, where they are missing.

    Returns:
        Whether these are the first, and somebody has to say where the submissions are.

    Raises:
        UserError: it looks like the folder of submissions; it cannot be written.
    """
    from .database import NAME, State
    from .decision_files import make_files
    from .private import private
    from .settings import NAME as SETTINGS
    from .settings import TEMPLATE

    settings = folder / SETTINGS
    if (folder / NAME).is_file():
        with State(folder):  # an older program's is converted
            pass
        if not settings.exists():
            raise UserError(
                f"{settings} is missing. {folder / 'versions' / 'settings'} has what was read "
                "last: copy it back."
            )
    if first := not settings.exists():
        if any(folder.glob("*.zip")):
            raise UserError(
                f"{folder} has zip files, so it looks like the submissions. Name a new folder for "
                "the class; the first run makes it, and the submissions are named in its "
                f"{SETTINGS}."
            )
        paths = (folder, *folder.absolute().parents)
        if not (there := next(filter(os.path.lexists, paths))).is_dir():
            raise UserError(f"{there} is no folder. Name a new one for the class.")
        with private():
            folder.mkdir(parents=True, exist_ok=True)
            write_text(settings, TEMPLATE.read_text(encoding="utf-8"))
    make_files(folder)
    if first and not (folder / "submissions").is_dir():
        print(
            f"Made {folder}. Write into {settings} where the submissions are, and what else "
            "applies. Then run the same command again."
        )
        return True
    return False


def _print_times(settings):
    """Print the times that count, and warn where a zone's clock changes are not known."""
    for name, words in (("due", "Due"), ("at", "What counts is the last commit before")):
        if time := getattr(settings, name):
            print(f"{words} {moment(time)}.")
            if time.tzinfo != UTC and not zone_of(time):
                print(
                    "  Clock changes of that zone are not known. If it has any, write its name: "
                    f'{name} = "{time:%Y-%m-%d %H:%M} America/Los_Angeles".'
                )


def _mark_again(state, settings, decisions, words):
    """Mark what the words name for regrading: a person, checks, or everything. With the words of an
    interrupted run, that one goes on.
    """
    from .finding.found import to_grade
    from .finding.people import find_entry
    from .graded_class import class_of

    if words is None or state.get("again") == json.dumps(words):
        return
    graded, checks, person = class_of(state, settings, decisions), set(), None
    ids = {entry.person.id for entry in graded.entries}
    for word in words:
        try:
            found = {check.id for check in graded.manifest.select([word]) if check.coded}
            if not found:
                raise UserError(f"{word} has no automatic checks: a person marks it.")
            if word in ids:
                raise UserError(
                    f"{word!r} is both a person and a question. Give the person's full name, or "
                    "the ids of checks."
                )
            checks |= found
        except KeyError:
            if person is not None:
                raise UserError(
                    f"{word!r} is not a check or question, and --again takes one person."
                ) from None
            person = find_entry(graded, word).person.id
    digests = {item.digest for item in state.submissions() if person in (None, item.person)}
    digests &= to_grade(state).keys()
    if not digests:
        raise UserError("There is nothing to grade again: nothing was handed in.")
    named = " ".join(sorted(checks)) or "all checks"
    checks = checks or {check.id for check in graded.manifest.checks.values() if check.coded}
    with state.transaction():
        state.log("again", person or "", named, "", "", "")
        state.grade_again(digests, checks)
        state.put(again=json.dumps(words))


@contextlib.contextmanager
def _scratch(state):
    """A folder for temporary files. Removes what a killed run left behind."""
    before = state.get("scratch")
    if before and Path(before).name.startswith(SCRATCH):
        shutil.rmtree(before, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=SCRATCH)
    os.chmod(folder, 0o711)  # the code that is graded may run as another user
    state.put(scratch=folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_engine(args, settings, scratch) -> Callable[[Iterable], Iterator]:
    """What runs tasks, here or on a cluster: tasks -> (task, result)."""
    from . import engine, work

    executors = (
        functools.partial(engine.cluster, args.cluster)
        if args.cluster
        else functools.partial(engine.here, settings.workers, scratch)
    )
    return functools.partial(engine.run_all, executors, work.run)
