"""Run one job: from the student's package, data and a preset to weights or predictions, and their
record.
"""

import os
import time

import torch

from common.cores import cores, load
from common.files import UserError
from jobs.corpus import read_documents, read_questions
from jobs.options import Options
from jobs.package import load_submission, seed_everything
from jobs.parallel import is_first, joined
from jobs.presets import Preset
from jobs.problem1.evaluation import evaluate
from jobs.problem1.params import read_params
from jobs.problem1.training import initialize, train
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
    reads = _find_input(job, options)
    record = Record(ingredients(job, options))
    seed_everything(options.seed)
    submission = load_submission(options.submission)
    preset = options.preset

    corpus = read_documents(options.data / "wiki.txt")
    dataset = submission.CharCorruptionDataset(corpus, preset.block_size)
    if job.kind == "finetune":
        read_questions(
            options.data / "birth_places_train.tsv", dataset.stoi, preset.block_size, answers=True
        )
    model = initialize(submission, job.variant, sizes(submission, dataset.vocab_size, preset))
    if reads is not None:
        weights = read_params(reads, model, job, MADE_BY[job.reads].target)
    if threads or preset.threads:
        torch.set_num_threads(threads or _choose_threads(preset.threads))

    if job.kind == "evaluate":
        model.load_state_dict(weights)
        figures = evaluate(job, options, submission, dataset, model)
        record.total, record.correct, record.baseline = figures
    else:  # loading the weights of a pretraining is the student's task
        with joined(options.device, state) as device:
            resume = state == "unfinished"
            record.history = train(
                job, options, device, submission, dataset, model, reads, record, resume
            )
    if is_first():
        record.seconds = time.monotonic() - started
        write_record(options.out / job.writes, record)
        forget(checkpoint_of(job, options))  # the result is complete


def sizes(submission, vocab_size: int, preset: Preset):
    """The GPTConfig of a preset's models."""
    return submission.GPTConfig(
        vocab_size,
        preset.block_size,
        n_layer=preset.n_layer,
        n_head=preset.n_head,
        n_embd=preset.n_embd,
        embd_pdrop=preset.dropout,
        resid_pdrop=preset.dropout,
        attn_pdrop=preset.dropout,
    )


def _choose_threads(most):
    """As many threads as there are cores without load, from one to `most`: threads that other
    programs hold up make each other wait after every product.
    """
    most = min(most, cores(), torch.get_num_threads())
    busy, there = load(), os.cpu_count() or 1
    threads = max(1, min(most, round(there - busy)))
    if most > 1:  # there is a choice
        print(
            f"{threads} thread{'s' * (threads > 1)}: in the last minute, {busy:.1f} of {there} "
            "cores were busy",
            flush=True,
        )
    return threads


def _find_input(job, options):
    """The path of the weights that a job reads, or None."""
    if job.reads is None:
        return None
    path = options.out / job.reads
    if not path.is_file():
        raise UserError(
            f"{job.target} reads {path}, which is not there. First run: ./run.sh "
            f"{MADE_BY[job.reads].target}"
        )
    return path
