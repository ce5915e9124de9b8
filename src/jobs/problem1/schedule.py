"""In which order the jobs of problem 1 run, and how many at the same time: `all` and `demo`.

Threads of one small training wait for each other after every product, so two trainings of one
thread each get more done than one with two threads. In `all` and `demo`, a job of the preset laptop
therefore has one thread, whatever --jobs is: several would sum in another order. So the results are
the same to the bit for every --jobs.
"""

import sys
from collections.abc import Callable

import torch

from common.cores import cores
from common.files import UserError
from jobs.made_from import earlier
from jobs.options import Options
from jobs.parallel import launch
from jobs.problem1.run_job import Result, run_job
from jobs.targets import JOBS, Job

# How long a job takes, in hundredths of a pretraining of the preset laptop.
LENGTHS = {"pretrain": 100, "finetune": 2, "evaluate": 1}


def jobs_at_once(wanted: int | None, options: Options, nproc: int = 1) -> int:
    """How many jobs run at the same time: if the user doesn't say, as many as there are cores, or
    one where a job uses several cores or the GPU.

    Raises:
        UserError: both --jobs and --nproc are above 1.
    """
    if nproc > 1 and (wanted or 1) > 1:
        raise UserError("--jobs and --nproc don't go together. Leave one of them out.")
    alone = nproc > 1 or options.device != "cpu" or options.preset.threads is None
    return wanted or (1 if alone else cores())


def run_all(
    jobs: list[Job],
    options: Options,
    at_once: int,
    nproc: int = 1,
    title: Callable[[Job], str] = lambda job: job.target,
    may_skip: Callable[[Job], bool] = lambda job: True,
    finished: Callable[[Result], None] = lambda result: None,
) -> None:
    """Run jobs, up to `at_once` at the same time.

    Args:
        jobs: in the order in which they run one after the other.
        options: of all of them.
        nproc: the processes of each training; above 1 only with at_once = 1.
        title: what is printed above a job's output.
        may_skip: whether --resume skips a job if it is done.
        finished: called with the result of each job.

    Raises:
        UserError, NotImplementedError: as the first job that fails.
    """
    threads = 1 if options.preset.threads else max(1, torch.get_num_threads() // at_once)
    if at_once > 1 and len(jobs) > 1:
        from jobs.problem1.side_by_side import SideBySide

        SideBySide(jobs, options, at_once, threads, title, may_skip, finished).run()
        return
    torch.set_num_threads(threads)
    for job in jobs:
        run_one(job, options, nproc, title, may_skip, finished)


def run_one(
    job,
    options,
    nproc=1,
    title=lambda job: job.target,
    may_skip=lambda job: True,
    finished=lambda result: None,
):
    """Run one job, in this process or in nproc; the arguments are those of run_all."""
    done, told = earlier(job, options)
    if done and may_skip(job):
        print(f"\n{told}", flush=True)
    elif nproc > 1 and job.kind != "evaluate":
        if code := launch(nproc, [job.target, *options.as_arguments()]):
            sys.exit(code)  # the process has printed why
    else:
        print(f"\n{title(job)}", flush=True)
        if told and not done:
            print(told, flush=True)
        finished(run_job(job, options))


def longest_first(jobs: list[Job]) -> list[Job]:
    """The jobs, those first after which the most is left to do."""

    def length(job):
        after = [length(other) for other in JOBS.values() if other.reads == job.writes]
        return LENGTHS[job.kind] + max(after, default=0)

    return sorted(jobs, key=length, reverse=True)


def first_ready(waiting: list[Job], running: list[Job]) -> Job | None:
    """The first of the waiting jobs whose input none of the others is still to write."""
    unwritten = {job.writes for job in (*waiting, *running)}
    return next((job for job in waiting if job.reads not in unwritten), None)
