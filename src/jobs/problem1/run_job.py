"""Run one job: from the student's package, data and a preset to weights or predictions, and their
record.
"""

import os
import time
from dataclasses import replace

import torch

from common.cores import cores
from jobs.options import Options
from jobs.package import load_submission, seed_everything
from jobs.parallel import is_first, joined
from jobs.problem1.data import Data
from jobs.problem1.evaluation import evaluate
from jobs.problem1.models import new_model, read_params
from jobs.problem1.training import train
from jobs.records import Record, checkpoint_of, earlier, forget, ingredients, write_record
from jobs.targets import MADE_BY, Job


def run_job(job: Job, options: Options, threads: int | None = None) -> None:
    """Run one job; its result appears only when it is complete. With `--resume`, a job that is done
    is not run again, and an unfinished training continues.

    Args:
        threads: of torch; None chooses.

    Raises:
        UserError: something is wrong with the input; nothing was written.
        NotImplementedError: the submission lacks a part that the job needs.
    """
    started = time.monotonic()
    state, told = earlier(job, options)
    if told:
        print(told, flush=True)
    if state == "done":
        return
    record = Record(ingredients(job, options))
    preset, out = options.preset, options.out / job.writes
    data = Data(options.data, preset.block_size, options.gold)
    if job.kind == "finetune":
        data.questions("train")  # the student's code reads them without checks

    seed_everything(options.seed)
    submission = load_submission(options.submission)
    dataset = submission.CharCorruptionDataset(data.corpus, preset.block_size)
    model = new_model(submission, job.variant, dataset.vocab_size, preset)
    if job.reads:
        made_by = MADE_BY[job.reads].target
        weights = read_params(options.out / job.reads, model, job.target, made_by)
    if threads or preset.threads:
        torch.set_num_threads(threads or _choose_threads(preset.threads))

    if job.kind == "evaluate":
        model.load_state_dict(weights)
        figures = evaluate(model, dataset, data, job.split, options.device, out)
        record = replace(record, **figures)
    else:  # loading the weights of a pretraining is the student's task
        with joined(options.device, state) as device:
            resume = state == "unfinished"
            record.history = train(
                job, options, device, submission, dataset, model, data, record, resume
            )
    if is_first():
        record.seconds = time.monotonic() - started
        write_record(out, record)
        forget(checkpoint_of(job, options))  # the result is complete


def _choose_threads(most):
    """As many threads as there are cores without load, from one to `most`: threads that other
    programs hold up make each other wait after every product.
    """
    most = min(most, cores(), torch.get_num_threads())
    there = os.cpu_count() or 1
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0  # Windows doesn't count it
    threads = max(1, min(most, round(there - busy)))
    if most > 1:  # there is a choice
        print(
            f"{threads} thread{'s' * (threads > 1)}: in the last minute, {busy:.1f} of {there} "
            "cores were busy",
            flush=True,
        )
    return threads
