"""Run one job: from the student's package, data and a preset to weights or predictions."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from common.cores import cores, load
from common.files import UserError, read_documents, read_questions
from jobs.made_from import checkpoint_of, forget, ingredients, keep
from jobs.options import Options
from jobs.package import load_submission, seed_everything
from jobs.parallel import is_first
from jobs.presets import Preset
from jobs.problem1.evaluation import evaluate
from jobs.problem1.params import read_params
from jobs.problem1.training import initialize, train
from jobs.targets import WRITTEN_BY, Job


@dataclass
class Result:
    """What a job did: its time in seconds (since it was last resumed); for a training the Trainer's
    history; for an evaluation the number of correct answers, and `baseline`, that of always
    answering the most common place of the training set (total is 0 without answers).
    """

    job: Job
    seconds: float = 0.0
    history: list = field(default_factory=list)
    total: int = 0
    correct: int = 0
    baseline: int = 0


def run_job(
    job: Job, options: Options, progress: Callable[[float], None] = lambda share: None
) -> Result:
    """Run one job; its output file appears only when it is complete.

    Args:
        progress: called during a training with the part that is done, from 0 to 1.

    Raises:
        UserError: something is wrong with the input; nothing was written.
        NotImplementedError: the submission lacks a part that the job needs.
    """
    started = time.monotonic()
    result = Result(job)
    reads = _find_input(job, options)
    made_from = ingredients(job, options)
    seed_everything(options.seed)
    submission = load_submission(options.submission)
    preset = options.preset

    corpus = read_documents(options.data / "wiki.txt")
    dataset = submission.CharCorruptionDataset(corpus, preset.block_size)
    if job.kind == "finetune":
        read_questions(
            options.data / "birth_places_train.tsv", dataset.stoi, preset.block_size, answers=True
        )
    config = sizes(submission, dataset.vocab_size, preset)
    model = initialize(submission, job.variant, config)
    # Before a finetuning, the weights are only checked: loading them is the student's task.
    state = (
        read_params(reads, model, job, WRITTEN_BY[job.reads].target) if reads is not None else None
    )

    if preset.threads:
        _choose_threads(preset.threads)
    if job.kind != "evaluate":
        result.history = train(job, options, submission, dataset, model, reads, made_from, progress)
    elif is_first():
        model.load_state_dict(state)
        result.total, result.correct, result.baseline = evaluate(
            job, options, submission, dataset, model
        )
    if is_first():
        keep(options.out / job.writes, made_from)
        forget(checkpoint_of(job, options))  # the result is complete
    result.seconds = time.monotonic() - started
    return result


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
    """Have torch use as many threads as there are cores without load, from one to `most`: threads
    that other programs hold up make each other wait after every product.
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
    torch.set_num_threads(threads)


def _find_input(job, options):
    """The path of the weights that a job reads, or None."""
    if job.reads is None:
        return None
    path = options.out / job.reads
    if not path.exists():
        raise UserError(
            f"{job.target} reads {path}, which is not there. First run: ./run.sh "
            f"{WRITTEN_BY[job.reads].target}"
        )
    return path
