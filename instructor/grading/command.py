"""`python -m instructor grade` grades a folder of submissions. It can be stopped and run again at
any time.
"""

import argparse
import contextlib
import json
import os
import shutil
import tempfile
from datetime import UTC
from pathlib import Path

from common.command_line import number
from common.cores import cores
from common.files import UserError

from .options import add_arguments, choose_options, choose_roster, complete, differences

SCRATCH = "grading-"  # prefix of the folders of temporary files


def add_parser(commands) -> None:
    """Add the command to the parser of `python -m instructor`."""
    from common.command_line import seed

    parser = commands.add_parser(
        "grade",
        help="grade a folder of submissions",
        description="Grade a folder of submissions: zips or folders, as Gradescope and Canvas "
        "export them, or cloned repositories. If interrupted, run it again to continue. Options "
        "that affect points (roster, late work, grading) are remembered from run to run.",
    )
    parser.add_argument(
        "submissions", type=Path, nargs="?", help="the folder (default: that of the previous run)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="the folder for grades and pages, outside the submissions",
    )
    parser.add_argument(
        "--roster",
        type=Path,
        help="a CSV file of the class: id, name, email, ...; or a gradebook exported from Canvas",
    )
    parser.add_argument(
        "--only-these",
        action="store_true",
        help="forget people and submissions that are no longer in the roster or the folder",
    )
    parser.add_argument(
        "--forget", action="store_true", help="don't reuse the roster and options of earlier runs"
    )
    parser.add_argument(
        "--again",
        nargs="*",
        metavar="PERSON CHECK",
        help="grade again: everybody, one person, one check or question, or both",
    )
    parser.add_argument("--why", help="with --again: the reason, for the history")
    parser.add_argument(
        "--engine",
        choices=("local", "dask"),
        default="local",
        help="where to grade: on this machine, or on a Dask cluster (default: local)",
    )
    parser.add_argument(
        "--workers",
        type=number(1, kind=int),
        default=cores(),
        help="submissions graded at once on this machine (default: one per core)",
    )
    parser.add_argument(
        "--scheduler",
        help="for --engine dask: tls://HOST:PORT, tcp://HOST:PORT, or a scheduler file",
    )
    add_arguments(parser)
    parser.add_argument(
        "--seed",
        type=seed,
        help="draw the same inputs as a grading with this seed (default: a new seed)",
    )
    parser.add_argument(
        "--allow-weak-isolation",
        action="store_true",
        help="grade even without isolation (docs/security.md)",
    )
    parser.add_argument(
        "--apart",
        action="store_true",
        help="run each submission in a fresh process that imports torch again: slower, but "
        "better isolated (docs/security.md)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Grade, and write pages and gradebooks.

    Returns:
        0; or 3, after listing them, if people have no grade yet or a grade to look at.

    Raises:
        UserError: a mistake on the command line, another run with the same --out, a full disk. What
            was graded is kept.
    """
    from autograder.isolation import LEVELS
    from checks.support.context import Context
    from instructor.grading.finding.find import find_submissions
    from instructor.grading.finding.found import Commits, keep_found
    from instructor.grading.finding.late import parse_due
    from instructor.grading.pages import write_reports

    from .grade_missing import grade_missing
    from .graded_class import class_of, setting_of
    from .overrides import taking_overrides
    from .state import State
    from .summary import say_summary
    from .text import moment

    if args.engine == "dask" and not args.scheduler:
        raise UserError("--engine dask needs --scheduler: tcp://HOST:PORT, or a scheduler file.")
    if (args.again is None) != (args.why is None):
        raise UserError("--again and --why go together: what to grade again, and the reason.")
    if args.submissions and args.out.resolve().is_relative_to(args.submissions.resolve()):
        raise UserError("--out is inside the submissions. Choose a folder elsewhere.")
    with State(args.out, make=True) as state:
        previous = _loaded(state, "remembered") or {}
        remembered = choose_options(args, {} if args.forget else previous)
        if remembered["submissions"] is None:
            raise UserError(
                "Which submissions? Give their folder: python -m instructor grade SUBMISSIONS "
                "--out OUT"
            )
        for name, words in (("due", "Due"), ("at", "What counts is the last commit before")):
            if remembered[name]:
                time = parse_due(remembered[name])
                print(f"{words} {moment(time)}.")
                if time.tzinfo != UTC and not hasattr(time.tzinfo, "key"):
                    print(
                        "  Clock changes of that zone are not known. If it has any, write its "
                        f"name: --{name} '{time:%Y-%m-%d %H:%M} America/Los_Angeles'."
                    )
        options = complete(remembered, args.allow_weak_isolation)
        roster, kept = choose_roster(
            args, None if args.forget else _loaded(state, "roster"), options["title"]
        )
        options["column"] = roster.column
        setting = setting_of(options)
        folder = Path(remembered["submissions"])
        # checks the folders
        Context(folder, setting.preset, setting.data, setting.answers, {})
        found = find_submissions(folder)
        if args.at and not any(one.repository for one in found):
            raise UserError(
                f"--at chooses commits, and {folder} has no clones. Leave it out, or use --due."
            )
        commits = Commits(state, folder, remembered["at"], remembered["branch"])
        seed = _seed(state, args.seed)
        with _scratch(state) as scratch:
            setting.require_hidden([Path(scratch)])
            engine = make_engine(args, scratch)
            level = engine.level()
            if level == LEVELS[-1] and args.engine == "local":
                setting.isolation()  # which says what is missing, unless that is allowed
            elif level == LEVELS[-1] and not args.allow_weak_isolation:
                raise UserError(
                    f"Some grading machines only have isolation level {level}: code could read "
                    "hidden checks there. Fix that, or add --allow-weak-isolation if you trust "
                    "the code."
                )
            # What an interrupted run began stays as it is until a run ends: what the grades were,
            # and what --again has marked.
            begun = _loaded(state, "begun") or {
                "options": previous,
                "totals": _totals(class_of(state, stale=True)) if previous else {},
                "history": len(state.history()),
                "again": [],
            }
            with state.transaction():
                for sentence in differences(previous, remembered):
                    state.log("option", "", "", "", "", sentence)
                state.put(
                    options=json.dumps(options),
                    remembered=json.dumps(remembered),
                    roster=json.dumps(kept),
                )
                extensions = commits.extensions()
                keep_found(state, found, roster, args.only_these, commits)
                with taking_overrides(state, args.out):
                    if commits.at and extensions != commits.extensions():
                        keep_found(state, found, roster, args.only_these, commits)
                    if args.again is not None and [args.again, args.why] not in begun["again"]:
                        _again(state, args.again, args.why)
                        begun["again"].append([args.again, args.why])
                    state.put(begun=json.dumps(begun))
            counts = grade_missing(state, setting, seed, engine, level, args.apart)
        graded = class_of(state)
        write_reports(graded, args.out)
        gone = [one for one in state.handed() if one.gone]
        state.put(begun="null")
    changes = differences(begun["options"], remembered)
    if roster.is_gradebook and not roster.column:
        changes.append(
            f"The gradebook has no column {options['title']!r}, or several: grades.csv would add "
            "a new one, and nobody counts as excused. Give its name with the number: --title "
            "'NAME (12345)'."
        )
    return say_summary(graded, counts, begun, args.out, changes, gone)


def _loaded(state, key):
    text = state.get(key)
    return None if text is None else json.loads(text)


def _seed(state, wanted):
    from autograder import draw_seed

    there = state.get("seed")
    if there is None:
        there = str(draw_seed() if wanted is None else wanted)
        state.put(seed=there)
    elif wanted is not None and str(wanted) != there:
        raise UserError(
            f"This --out was graded with seed {there}. Omit --seed, or choose another folder."
        )
    return int(there)


def _totals(graded):
    """The grade of everybody who has one, by id."""
    return {
        entry.person.id: entry.total
        for entry in graded.entries
        if entry.final and (entry.report or entry.written or entry.manual)
    }


def _again(state, words, why):
    """Mark what the words name for regrading: a person, checks, or everything."""
    from instructor.grading.finding.found import to_grade
    from instructor.grading.finding.people import find_entry

    from .graded_class import class_of

    graded, checks, person = class_of(state, stale=True), set(), None
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
    digests = {one.digest for one in state.handed() if person in (None, one.person)} & to_grade(
        state
    ).keys()
    if not digests:
        raise UserError(
            "There is nothing to grade again: the submission is not where it was found. Give the "
            "folder that it is in now."
        )
    state.log("again", person or "", " ".join(sorted(checks)) or "all checks", "", "", why)
    state.grade_again(digests, checks or graded.manifest.checks.keys(), why)


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


def make_engine(args, scratch):
    """The engine that the command line asks for."""
    from instructor.grading.engines.cluster import Cluster
    from instructor.grading.engines.local import Local

    return Cluster(args.scheduler) if args.engine == "dask" else Local(args.workers, scratch)
