"""`python -m instructor grade`: a folder of submissions becomes grades, and can be stopped and repeated at any time."""
import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from cores import cores
from files import Interrupted, UserError

from ..arguments import number

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = "grading-"        # how folders of temporary files begin
SHOWN = 20                  # submissions with errors of the grader that are listed


def add_parser(commands) -> None:
    """Add the command to the parser of `python -m instructor`."""
    from run import seed

    from .klass import KEEP
    parser = commands.add_parser("grade", help="grade a folder of submissions", description="Grade a folder of submissions: zips or folders, as "
                                 "Gradescope, Canvas and GitHub Classroom export them. Interrupted and run again, it goes on.")
    parser.add_argument("submissions", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="the folder for grades and pages; not among the submissions")
    parser.add_argument("--roster", type=Path, help="a CSV file of the class: id, name, email, ...; or a gradebook exported from Canvas")
    parser.add_argument("--engine", choices=("local", "dask"), default="local")
    parser.add_argument("--workers", type=number(1, kind=int), default=cores(), help="submissions at a time on this machine (default: one for each core)")
    parser.add_argument("--scheduler", help="of --engine dask: tcp://HOST:PORT, or a scheduler file")
    late = parser.add_argument_group("late work")
    late.add_argument("--due", help="such as '2026-12-01 23:59' (in this machine's time zone) or with +01:00 behind it")
    late.add_argument("--grace", type=number(0), default=0, metavar="MINUTES", help="after the due date that are not late")
    late.add_argument("--late-percent", type=number(0, 100), default=0, metavar="P", help="of the automatic points lost with each day begun")
    late.add_argument("--late-cap", type=number(0, 100), default=100, metavar="P", help="the most that is lost so")
    late.add_argument("--free-days", type=number(0, kind=int), default=0, metavar="N", help="days late that cost nothing")
    late.add_argument("--keep", choices=KEEP, default="latest", help="which of several submissions of a person counts")
    grading = parser.add_argument_group("grading")
    grading.add_argument("--title", help="of the assignment (default: that of course.toml)")
    grading.add_argument("--preset", choices=("laptop", "gpu"), help="which preset the results are of (default: found out)")
    grading.add_argument("--data", type=Path, help="the corpus and the questions, of another cohort")
    grading.add_argument("--gold", type=Path, help="the answers of the test questions")
    grading.add_argument("--seconds", type=number(1), default=300, metavar="N", help="of all checks of a submission together (default: 300)")
    grading.add_argument("--seed", type=seed, help="repeat the draws of a grading with that seed (default: a new one)")
    grading.add_argument("--allow-weak-isolation", action="store_true", help="grade though nothing keeps the code apart (docs/security.md)")
    grading.add_argument("--apart", action="store_true", help="run each submission in a process of its own, in which torch is imported anew: "
                         "slower, and one wall more (docs/security.md)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Grade, and write pages and gradebooks.

    Returns:
        0; or 3 if some checks failed for a fault of the grader, after a list of these.

    Raises:
        UserError: a mistake on the command line, another run with the same --out, a full disk. What was graded is kept.
    """
    from checks.support.context import Context
    from instructor.report import write_reports

    from .find import find_submissions
    from .klass import class_of, setting_of
    from .roster import Roster, read_roster
    from .state import State
    if args.engine == "dask" and not args.scheduler:
        raise UserError("--engine dask needs --scheduler: tcp://HOST:PORT, or a scheduler file.")
    if args.out.resolve().is_relative_to(args.submissions.resolve()):
        raise UserError("--out lies among the submissions. Choose a folder elsewhere.")
    options = _options(args)
    setting = setting_of(options)
    setting.isolation()
    Context(args.submissions, setting.preset, setting.data, setting.gold, {})       # which looks at the folders
    roster = read_roster(args.roster) if args.roster else Roster()
    found = find_submissions(args.submissions)
    with State(args.out, make=True) as state:
        seed = _seed(state, args.seed)
        state.put(options=json.dumps(options))
        _keep_found(state, found, roster)
        _add_written(class_of(state), args.out)         # a mistake there should not wait for hours of grading
        with _scratch(state) as scratch:
            setting.require_hidden([Path(scratch)])
            counts = _grade(state, setting, seed, make_engine(args, scratch), args.apart)
        klass = class_of(state)
        _add_written(klass, args.out)
        left_out = write_reports(klass, args.out)
    return _summary(klass, counts, args.out, left_out)


def _options(args):
    """What pages and a replay need to know later, as data."""
    from instructor.course import read_course

    from .late import parse_due
    return {"title": read_course(title=args.title).title, "due": parse_due(args.due).isoformat() if args.due is not None else None, "grace": args.grace,
            "late_percent": args.late_percent, "late_cap": args.late_cap, "free_days": args.free_days, "keep": args.keep,
            "hidden": str(ROOT / "instructor" / "checks"),
            "gold": str((args.gold or ROOT / "instructor" / "gold").resolve()), "data": args.data and str(args.data.resolve()),
            "preset": args.preset, "seconds": args.seconds, "weak": args.allow_weak_isolation}


def _seed(state, wanted):
    from autograder import draw_seed
    there = state.get("seed")
    if there is None:
        there = str(draw_seed() if wanted is None else wanted)
        state.put(seed=there)
    elif wanted is not None and str(wanted) != there:
        raise UserError(f"This --out was graded with the seed {there}. Leave --seed out, or choose another folder.")
    return int(there)


def _keep_found(state, found, roster):
    """Tell the state who there is, and what they handed in."""
    from .fingerprint import digest_submission
    from .state import Handed
    people, handed = {person.id: person for person in roster.people}, []
    for one in found:
        person, remark = roster.match(one)
        if one.paper and not (roster.people and person.enrolled):
            continue
        people.setdefault(person.id, person)
        try:
            digest = "" if one.problem else digest_submission(one.source)
        except OSError as error:
            digest, remark = "", f"It cannot be read: {error.strerror}."
        label = one.label.encode("utf-8", "backslashreplace").decode()
        handed.append(Handed(label, person.id, os.fsencode(one.source), digest, one.submitted and one.submitted.isoformat(), one.late,
                             one.problem or remark))
    state.put_found(list(people.values()), handed)


@contextlib.contextmanager
def _scratch(state):
    """A folder for temporary files. What a run that was killed has left is removed."""
    before = state.get("scratch")
    if before and Path(before).name.startswith(SCRATCH):
        shutil.rmtree(before, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=SCRATCH)
    os.chmod(folder, 0o711)     # the code that is graded may run as another user
    state.put(scratch=folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_engine(args, scratch):
    """The engine that the command line asks for."""
    from .cluster import Cluster
    from .local import Local
    return Cluster(args.scheduler) if args.engine == "dask" else Local(args.workers, scratch)


def _grade(state, setting, seed, engine, apart):
    """Grade what is not graded yet; how many submissions were, and how many had been before."""
    from tqdm import tqdm

    from autograder import read_manifest
    from checks.support.session import MANIFEST

    from .fingerprint import Fingerprints, seed_for
    from .work import Task
    manifest = read_manifest(MANIFEST)
    fingerprints = Fingerprints(manifest, setting)
    wanted = {check.id: fingerprints.of(check) for check in manifest.checks.values() if check.coded}
    source = {one.digest: os.fsdecode(one.source) for one in state.handed() if one.digest}      # equal ones are graded once
    missing = {digest: state.missing(digest, wanted, fingerprints.intake) for digest in source}
    tasks = [Task(digest, source[digest], tuple(ids), seed_for(seed, digest), setting, apart) for digest, ids in missing.items() if ids]
    verdicts = Counter()
    done = 0
    with _one_thread_each(), tqdm(total=len(tasks), unit="submission", desc="Grading", disable=not tasks, dynamic_ncols=True) as bar:
        try:
            for task, result in engine.results(tasks):
                if "stop" in result:
                    raise UserError(f"Stopped: {result['stop']} {done} submissions were graded, and are kept. Mend that, then run it again.")
                if "refused" in result:
                    state.put_refused(task.digest, fingerprints.intake, result["refused"])
                    verdicts["refused"] += 1
                else:
                    report = result["report"] if "report" in result else _failed(manifest, task, result["error"])
                    state.put_report(task.digest, fingerprints.intake, wanted, report)
                    verdicts.update(check["verdict"] for check in report["checks"])
                done += 1
                bar.set_postfix_str(", ".join(f"{verdict} {count}" for verdict, count in verdicts.most_common()), refresh=False)
                bar.update()
        except KeyboardInterrupt:
            raise Interrupted(f"Interrupted: {done} of {len(tasks)} submissions were graded, and are kept. The same command goes on.") from None
    return {"now": len(tasks), "before": len(source) - len(tasks)}


def _failed(manifest, task, error):
    """The report of a grading that the grader failed in: each check is a grader error."""
    from autograder import Outcome, Report, Verdict
    from autograder.report import as_dict
    from autograder.verdicts import GRADER_FAILED
    return as_dict(Report(manifest, {id: Outcome(id, Verdict.GRADER_ERROR, message=GRADER_FAILED, details=error) for id in task.checks}, task.seed, ("", "")))


@contextlib.contextmanager
def _one_thread_each():
    """Workers start with one thread for arithmetic: there are as many of them as cores."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _add_written(klass, out):
    """The points that a person has filled in, if any."""
    from instructor.report import written
    path = out / "written.csv"
    if path.is_file():
        written.apply(klass, written.read(path, klass))


def _summary(klass, counts, out, left_out):
    """Say what there is now, and return the exit code."""
    entries = klass.entries
    graded = [entry for entry in entries if entry.report]
    print(f"{len(entries)} people: {len(graded)} graded, {sum(bool(entry.refused) for entry in entries)} refused, "
          f"{sum(not entry.source for entry in entries)} handed nothing in. "
          f"Submissions graded now: {counts['now']}, in earlier runs: {counts['before']}.")
    for entry in entries:
        if entry.refused:
            print(f"  refused, {entry.person.id!r}: {entry.refused}")
        for remark in entry.remarks:
            print(f"  {entry.person.id!r}: {remark}")
    unknown = sum(entry.source != "" and entry.submitted is None and not entry.days_late for entry in entries)
    if unknown and klass.due:
        print(f"{unknown} submissions don't tell when they were handed in, and count as in time.")
    print(f"Pages: {out / 'class.html'}, {out / 'students'}; gradebooks: {out / 'grades.csv'} (for Canvas), {out / 'grades-plain.csv'}; "
          f"to fill in: {out / 'written.csv'}")
    if left_out:
        print(f"{len(left_out)} people are not in grades.csv: nothing is known that Canvas knows them by. A roster would tell (--roster).")
    return _say_errors([entry for entry in entries if entry.grader_errors], out)


def _say_errors(entries, out):
    """List the grader's own errors, and return the exit code."""
    if not entries:
        return 0
    count = sum(len(entry.grader_errors) for entry in entries)
    print(f"\n{count} checks of {len(entries)} submissions failed for a fault of the grader, which is no student's fault; those grades are not "
          f"final. Mend it and run the same command: it grades only these again. {out / 'class.html'} has the details.", file=sys.stderr)
    for entry in entries[:SHOWN]:
        reasons = {}
        for check in entry.grader_errors:
            lines = check["details"].strip().splitlines() or ["no reason given"]
            reasons.setdefault(lines[-1 if lines[0].startswith(("Traceback", "This check did not run")) else 0][:200], []).append(check["id"])
        for reason, ids in reasons.items():
            print(f"  {entry.person.id!r}, {', '.join(ids[:3])}{f' and {len(ids) - 3} more' if len(ids) > 3 else ''}: {reason}", file=sys.stderr)
    if len(entries) > SHOWN:
        print(f"  and {len(entries) - SHOWN} more submissions", file=sys.stderr)
    return 3
