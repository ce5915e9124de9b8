"""Running one job: the student's package, given data and a preset in; weights or predictions
out.
"""

import math
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import torch

from common.cores import cores
from common.files import Interrupted, UserError, read_documents, read_questions, write_text, writing
from jobs.options import Options
from jobs.package import load_submission, seed_everything
from jobs.problem1.answers import predict_places
from jobs.problem1.parallel import is_first, joined, workers
from jobs.problem1.params import read_params
from jobs.problem6.log import REFERENCE_LOSSES, RunLog
from jobs.targets import WRITTEN_BY, Job


@dataclass
class Result:
    """What a job did: its time in seconds (since it was last resumed); for a training the Trainer's
    history; for an evaluation how many of the answers were right, and how many would be if the most
    common place of the training set were always the answer (total is 0 where there are no answers).
    """

    job: Job
    seconds: float = 0.0
    history: list = field(default_factory=list)
    total: int = 0
    correct: int = 0
    baseline: int = 0


def run_job(job: Job, options: Options) -> Result:
    """Run one job; the file that it writes appears when it is complete.

    Raises:
        UserError: something is wrong with the input; nothing was written.
        NotImplementedError: the submission lacks a part that the job needs.
    """
    started = time.monotonic()
    result = Result(job)
    reads = _find_input(job, options)
    seed_everything(options.seed)
    submission = load_submission(options.submission)
    preset = options.preset
    if preset.threads:
        torch.set_num_threads(min(preset.threads, cores(), torch.get_num_threads()))

    corpus = read_documents(options.data / "wiki.txt")
    dataset = submission.CharCorruptionDataset(corpus, preset.block_size)
    if job.kind == "finetune":
        read_questions(
            options.data / "birth_places_train.tsv", dataset.stoi, preset.block_size, answers=True
        )
    config = submission.GPTConfig(
        dataset.vocab_size,
        preset.block_size,
        n_layer=preset.n_layer,
        n_head=preset.n_head,
        n_embd=preset.n_embd,
        embd_pdrop=preset.dropout,
        resid_pdrop=preset.dropout,
        attn_pdrop=preset.dropout,
    )
    initialize = {
        "vanilla": submission.initialize_vanilla_model,
        "rope": submission.initialize_rope_model,
    }[job.variant]
    model = _not_none(initialize(config), initialize)
    # Before a finetuning, the weights are only checked: loading them is the student's work.
    state = (
        read_params(reads, model, job, WRITTEN_BY[job.reads].target) if reads is not None else None
    )

    if job.kind != "evaluate":
        with joined(options.device) as device, tempfile.TemporaryDirectory() as elsewhere:
            out = options.out if is_first() else Path(elsewhere)
            _train(job, options, device, out, submission, dataset, model, reads, result)
    elif is_first():
        model.load_state_dict(state)
        _evaluate(job, options, submission, dataset, model, result)
    result.seconds = time.monotonic() - started
    return result


def _not_none(returned, function):
    """What a student's function returned, unless that is None or has a None in it: then it is
    unfinished.
    """
    if returned is None or (isinstance(returned, tuple) and any(part is None for part in returned)):
        raise UserError(
            f"{function.__name__} in helper.py returned {returned}. Its docstring says what it "
            "should return."
        )
    return returned


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


def _train(job, options, device, folder, submission, dataset, model, reads, result):
    preset, out, runs = options.preset, folder / job.writes, folder / "runs"
    log = options.log and is_first()
    writer = _Scalars(runs / job.target)
    if log:
        writer = RunLog(runs / f"{job.target}.jsonl", writer, options.resume)
    if job.kind == "pretrain":
        stage = preset.pretrain
        config, trainer = _not_none(
            submission.pretrain(dataset, preset.block_size, model, writer=writer),
            submission.pretrain,
        )
    else:
        stage = preset.finetune_from_scratch if reads is None else preset.finetune_pretrained
        config, trainer = _not_none(
            submission.finetune(
                str(reads) if reads else None,
                str(options.data / "birth_places_train.tsv"),
                dataset,
                preset.block_size,
                model,
                writer=writer,
            ),
            submission.finetune,
        )
    stage.apply(config, len(trainer.train_dataset), preset.block_size)
    checkpoint = (options.out / job.writes).with_suffix(".ckpt")
    for name, value in {
        "device": device,
        "seed": options.seed,
        "compile": options.compile,
        "graphs": options.graphs,
        "resume": options.resume,
        "ckpt_path": str(checkpoint),
        "num_workers": workers(preset.num_workers),
    }.items():
        setattr(config, name, value)
    if options.resume and not checkpoint.exists():
        print(f"There is no {checkpoint} to resume from: starting at the beginning.")
    if log:
        steps = config.max_epochs * math.ceil(len(trainer.train_dataset) / config.batch_size)
        header = {
            "run": job.target,
            "preset": preset.name,
            "seed": options.seed,
            "total_steps": steps,
            "reference_loss": REFERENCE_LOSSES.get((preset.name, job.target)),
        }
        writer.begin(header, model, trainer.train_dataset, steps // config.log_every)

    try:
        with writing(out) as temporary:
            _require_disk_space(out.parent, model)
            if not options.resume and is_first():
                checkpoint.unlink(missing_ok=True)  # of a run that is now begun again
            submission.train(model, str(temporary), trainer)
            if not temporary.exists():
                raise UserError(
                    f"train() in helper.py saved no weights: it should write them to {temporary}."
                )
            read_params(temporary, model, job, job.target)
    except KeyboardInterrupt:
        advice = (
            "The same command with --resume goes on."
            if checkpoint.exists()
            else "It was too early for a checkpoint."
        )
        raise Interrupted(
            f"{job.target} was interrupted; {out} was not written. {advice}"
        ) from None
    except RuntimeError as error:
        if isinstance(error, getattr(sys.modules.get("submission.trainer"), "TrainingError", ())):
            raise UserError(f"{job.target}: {error}") from None
        # what torch.save raises
        if "PytorchStreamWriter" in str(error) or "inline_container" in str(error):
            raise UserError(
                f"{out} could not be written: is the disk full? Nothing was changed."
            ) from None
        raise
    finally:
        writer.close()
    if is_first():  # the weights are there
        checkpoint.unlink(missing_ok=True)
    result.history = getattr(trainer, "history", [])
    print(f"Wrote {out}")
    if log:
        print(f"Wrote {writer.path}: ./run.sh dashboard shows it")


def _require_disk_space(folder, model):
    """Refuse to begin a long training whose weights would not fit; a checkpoint is three times as
    large.
    """
    needed = 4 * sum(value.nbytes for value in model.state_dict().values())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UserError(
            f"{folder} has {free / 2**20:.1f} MiB free; the weights and a checkpoint need "
            f"{needed / 2**20:.1f} MiB."
        )


def _evaluate(job, options, submission, dataset, model, result):
    preset, out = options.preset, options.out / job.writes
    name = "birth_dev.tsv" if job.split == "dev" else "birth_test_inputs.tsv"
    questions = read_questions(
        options.data / name, dataset.stoi, preset.block_size, answers=job.split == "dev"
    )
    gold = options.data / name
    if job.split == "test" and options.gold is not None:
        gold = options.gold / "birth_test.tsv"
        if [q for q, _ in read_questions(gold, dataset.stoi, preset.block_size, answers=True)] != [
            q for q, _ in questions
        ]:
            raise UserError(
                f"{gold} does not answer the questions of {options.data / name}. Check --gold and "
                "--data."
            )

    places = predict_places(model, [question for question, _ in questions], dataset, options.device)
    write_text(out, "".join(place + "\n" for place in places))
    print(f"Wrote {out}")
    result.total, result.correct = submission.evaluate_places(str(gold), places)
    if not result.total:
        print(f"{len(places)} predictions. The answers are not here, so there is no accuracy.")
        return
    train = read_questions(
        options.data / "birth_places_train.tsv", dataset.stoi, preset.block_size, answers=True
    )
    common = Counter(place for _, place in train).most_common(1)[0][0]
    _, result.baseline = submission.evaluate_places(str(gold), [common] * result.total)
    print(
        f"Correct: {result.correct} of {result.total}, {result.correct / result.total:.1%}. "
        f"Always answering {common!r} gets {result.baseline}, {result.baseline / result.total:.1%}."
    )


class _Scalars:
    """A TensorBoard writer that makes its folder with the first scalar, and does nothing without
    TensorBoard.
    """

    def __init__(self, folder):
        self.folder, self.writer = folder, None

    def add_scalar(self, name, value, step):
        if self.writer is None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                self.add_scalar = lambda *args: None
                return
            self.writer = SummaryWriter(str(self.folder))
        self.writer.add_scalar(name, value, step)

    def close(self):
        if self.writer is not None:
            self.writer.close()
