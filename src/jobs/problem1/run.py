"""Runs a job, all of them, the demo, or a page of problem 1."""

import argparse
import signal
from pathlib import Path

from common.processes import end_with_parent
from jobs.options import choose_options
from jobs.parallel import is_first
from jobs.records import require_same_preset
from jobs.targets import JOBS, LOOK, TARGETS


def run(args: argparse.Namespace, student, out: Path) -> None:
    """Run `show_corruption` on the student's dataset.py, a module; out: the folder for results."""
    from jobs.problem1.corruption import show_corruption

    show_corruption(student, args.data, out / TARGETS[args.target].writes)


def run_jobs(args: argparse.Namespace) -> None:
    """Run the job that the command line names; `all`, `demo` or `look`."""
    if args.target == "demo":
        from jobs.problem1.demo import run_demo

        run_demo(args)
        return
    if args.target == LOOK.target:
        from jobs.problem1.look.command import run_look

        run_look(args)
        return
    if args.part:  # of `all`, which sends SIGTERM for Ctrl-C, so that a job says what is kept
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        end_with_parent()
    options = choose_options(args, quiet=bool(args.part) or not is_first())
    if args.resume and not args.preset:
        require_same_preset(options)
    if args.target == "all":
        from jobs.problem1.together import Together, jobs_at_once

        Together([*JOBS.values()], options, jobs_at_once(args.jobs, options)).run()
        return
    from jobs.problem1.run_job import run_job

    if not args.part:
        print(f"\n{args.target}", flush=True)
    run_job(JOBS[args.target], options, args.part)
