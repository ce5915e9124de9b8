"""`python -m instructor canvas` uploads the grades in grades.csv to Canvas."""

import argparse
import contextlib
import os
import re
import time
from pathlib import Path

from common.files import UserError
from instructor.grading.pages.gradebook import canvas_knows, grade
from instructor.grading.text import line, points

PAUSE, PATIENCE = 1, 600  # seconds, while Canvas enters grades
AGAIN = "Then run this again, which is safe."


def add_parser(commands) -> None:
    """Add `canvas` to the commands of `python -m instructor`."""
    about = "upload the grades in grades.csv to Canvas"
    command = commands.add_parser("canvas", help=about, epilog="Set CANVAS_TOKEN to your token.")
    command.add_argument("out", type=Path, help="the folder that `grade` wrote")
    command.add_argument("--url", required=True, help="such as https://canvas.example.edu")
    for name in ("course", "assignment"):
        about = f"the number after {name}s/ in the assignment's URL"
        command.add_argument(f"--{name}", type=int, required=True, metavar="ID", help=about)
    command.add_argument("--dry-run", action="store_true", help="only show who would get what")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Upload the grades of a class to Canvas, and wait until they are entered.

    Raises:
        UserError: no grading, package, token or such assignment; Canvas refuses or can't be
            reached.
    """
    from instructor.grading.graded_class import load_class

    graded = load_class(args.out)
    rows = [(_address(entry.person), grade(entry), entry.person) for entry in graded.entries]
    sent = [(address, given) for address, given, _ in rows if address and given]
    if len(dict(sent)) < len(sent):
        raise UserError(
            "Two people in the roster have the same Canvas number or login. Correct the roster, "
            "run grade with it, then run this again."
        )
    with _sentences(args):
        assignment = _find(args)
        theirs, ours = points(assignment.points_possible), points(graded.regular_points)
        print(f"{line(assignment.name)}: {theirs} points in Canvas, {ours} here.")
        if sent and not args.dry_run:
            _send(assignment, dict(sent))
    if args.dry_run:
        for address, given, person in rows:
            print(f"{given or '-':>8}  {line(person.name)} ({address or 'unknown to Canvas'})")
        return 0
    print(f"{len(sent)} grades entered, {sum(given == 'EX' for _, given in sent)} of them EX.")
    if left_out := [line(person.id) for address, given, person in rows if not (address and given)]:
        print(f"Left out, without a grade yet or unknown to Canvas: {', '.join(left_out)}.")
    return 0


def _address(person):
    """The person's id in Canvas' API; "" if there is none."""
    kinds = {"": person.canvas_id, "sis_user_id:": person.sis_id, "sis_login_id:": person.sis_login}
    names = (kind + line(id) for kind, id in kinds.items() if line(id))
    return next(names, "") if canvas_knows(person) else ""


def _find(args):
    """The assignment, as a canvasapi object."""
    from canvasapi import Canvas

    token = os.environ.get("CANVAS_TOKEN", "").strip()
    if not token:
        raise UserError(
            "CANVAS_TOKEN is not set. Create an access token in Canvas (Account, Settings), and "
            "set this environment variable to it."
        )
    if not re.match(r"https://|http://(localhost|127\.0\.0\.1)(:\d+)?/?$", args.url):
        raise UserError(f"--url {args.url} lacks https://, so others could read the token.")
    return Canvas(args.url, token).get_course(args.course).get_assignment(args.assignment)


def _send(assignment, grades):
    """Send grades by address, and wait for the job in which Canvas enters them."""
    job = assignment.submissions_bulk_update(
        grade_data={
            address: {"excuse": True} if given == "EX" else {"posted_grade": given}
            for address, given in grades.items()
        }
    )
    end = time.monotonic() + PATIENCE
    while job.workflow_state not in ("completed", "failed"):
        if time.monotonic() > end:
            raise UserError(
                f"Canvas is still entering grades. Wait, then check its gradebook. {AGAIN}"
            )
        time.sleep(PAUSE)
        job = job.query()
    if job.workflow_state == "failed":
        said = line(str(getattr(job, "message", "")))[:400]
        raise UserError(f"Canvas could not enter all grades: {said}. Fix that. {AGAIN}")


@contextlib.contextmanager
def _sentences(args):
    """Turn errors of Canvas and the network into UserErrors."""
    try:
        from canvasapi import exceptions as no
        from requests import RequestException
    except ImportError:
        raise UserError("canvasapi is not installed: pip install -e '.[instructor]'") from None
    try:
        yield
    except no.CanvasException as error:
        raise UserError(
            f"{args.url} refuses course {args.course}, assignment {args.assignment}: "
            f"{line(str(error))[:200]}. Check both numbers and CANVAS_TOKEN. {AGAIN}"
        ) from None
    except RequestException as error:
        raise UserError(
            f"{args.url} cannot be reached, or is not Canvas ({type(error).__name__}). Check "
            f"--url and the network. {AGAIN}"
        ) from None
