"""Runs a job, all of them, the demo, or a page of problem 1."""

import argparse
from pathlib import Path

from jobs.made_from import require_same_preset
from jobs.options import choose_options
from jobs.parallel import world_size
from jobs.targets import JOBS, LOOK, SMALL


def run(args: argparse.Namespace, student, out: Path) -> None:
    """Run `show_corruption` on the student's dataset.py, a module; out: the folder for results."""
    from jobs.problem1.corruption import show_corruption

    show_corruption(student, args.data, out / SMALL[args.target].writes)


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
    from jobs.problem1.schedule import jobs_at_once, run_all, run_one

    options = choose_options(args, quiet=world_size() > 1)
    if args.resume and not args.preset:
        require_same_preset(options)
    if args.target != "all":
        run_one(JOBS[args.target], options, args.nproc)
        return
    at_once = jobs_at_once(args.jobs, options, args.nproc)
    run_all(list(JOBS.values()), options, at_once, args.nproc)
