"""A pretraining or finetuning: the student's functions with the preset's values."""

import contextlib
import math
import shutil
import sys
import tempfile
import time
from pathlib import Path

from common.files import Interrupted, UserError, writing
from jobs.options import ROOT
from jobs.parallel import is_first, workers
from jobs.problem1.data import SPLITS
from jobs.problem1.knowledge import knowledge_of
from jobs.problem1.models import read_params, returned_wrongly
from jobs.records import checkpoint_of, forget, write_record
from jobs.targets import LOOK, TARGETS
from jobs.training_log import RunLog

# What the reference solution reached: the mean of the last tenth of the training, from seed 0.
REFERENCE_LOSSES = {
    ("laptop", "vanilla_pretrain"): 0.76,
    ("laptop", "rope_pretrain"): 0.78,
    ("laptop", "vanilla_finetune_without_pretrain"): 1.13,
}


def train(job, options, device, submission, dataset, model, data, record, resume) -> list[dict]:
    """Train a model, and write its weights to the job's file when they are complete.

    Args:
        job: a pretraining or finetuning.
        options: of this run; device: its own, if several processes train.
        submission: the student's package.
        dataset: the CharCorruptionDataset of the corpus.
        model: as it was initialized.
        data: a Data, for what the model knows, which a log says.
        record: what the weights will have been made from, which is kept with a checkpoint.
        resume: continue the checkpoint, which is there.

    Returns:
        The Trainer's history.

    Raises:
        UserError: a function returned something else than it should, no weights were saved, they
            don't fit the model, or the disk is full.
        Interrupted: Ctrl-C; the message says how to continue.
    """
    preset, checkpoint = options.preset, checkpoint_of(job, options)
    with contextlib.ExitStack() as stack:
        # of several processes, the first writes the results
        elsewhere = None if is_first() else stack.enter_context(tempfile.TemporaryDirectory())
        out = Path(elsewhere or options.out) / job.writes
        log = options.log and is_first()
        writer = losses = _Losses(out.parent / "runs" / job.target)
        if log:
            writer = RunLog(out.parent / "runs" / f"{job.target}.jsonl", losses, resume)
        stack.callback(writer.close)
        if job.kind == "pretrain":
            stage, function = preset.pretrain, submission.pretrain
            made = function(dataset, preset.block_size, model, writer=writer)
        else:
            stage = preset.finetune_pretrained if job.reads else preset.finetune_from_scratch
            function, rows = submission.finetune, str(options.data / SPLITS["train"])
            weights = str(options.out / job.reads) if job.reads else None
            made = function(weights, rows, dataset, preset.block_size, model, writer=writer)
        try:
            config, trainer = made
            fits = trainer.config is config  # else the preset's values would change nothing
        except (TypeError, ValueError, AttributeError):
            fits = False
        if not fits:
            raise returned_wrongly(function, made)
        stage.apply(config, len(trainer.train_dataset), preset.block_size)
        for name, value in {
            "device": device,
            "seed": options.seed,
            "graphs": options.graphs,
            "precision": options.precision,
            "resume": resume,
            "ckpt_path": str(checkpoint),
            "num_workers": workers(preset.num_workers),
        }.items():
            setattr(config, name, value)
        if log:
            steps = config.max_epochs * math.ceil(len(trainer.train_dataset) / config.batch_size)
            header = {
                "run": job.target,
                "preset": preset.name,
                "seed": options.seed,
                "total_steps": steps,
                "reference_loss": REFERENCE_LOSSES.get((preset.name, job.target)),
            }
            knowledge = knowledge_of(job, data, dataset)
            records = steps // config.log_every
            writer.begin(header, model, trainer.train_dataset, records, knowledge)
        temporary = stack.enter_context(writing(out))
        _require_disk_space(out.parent, model)
        if is_first() and not resume:
            forget(checkpoint)  # of a run that is now restarted
            write_record(checkpoint, record)
        try:
            submission.train(model, str(temporary), trainer)
        except KeyboardInterrupt:
            advice = "It was too early for a checkpoint."
            if checkpoint.exists():
                advice = "The same command with --resume continues."
            raise Interrupted(
                f"{job.target} was interrupted; {out} was not written. {advice}"
            ) from None
        except RuntimeError as error:
            _explain(error, job, out, trainer)
            raise
        finally:
            if is_first() and not checkpoint.exists():
                forget(checkpoint)  # its record
            if told := how(trainer, losses.kept):
                print(told, flush=True)
        if not temporary.exists():
            raise UserError(
                f"train() in helper.py saved no weights. It should write them to {temporary}."
            )
        read_params(temporary, model, job.target, job.target)
    print(f"Wrote {out}")
    has_run_sh = (ROOT / "run.sh").exists()  # not so in what train_on_gpu.ipynb unpacks
    if job.kind == "finetune" and has_run_sh:
        print(f"Where does it look? A page to play with: {options.command(LOOK.target)}")
    if log:
        shown = [f": ./run.sh {name} shows it" for name, one in TARGETS.items() if one.log]
        print(f"Wrote {writer.path}{''.join(shown) if has_run_sh else ''}")
    return getattr(trainer, "history", [])


def how(trainer, losses: list[tuple[float, int, float]]) -> str:
    """How a training ran, in a line: precision, recorded steps, rate, loss; "" if it has logged
    nothing.

    Args:
        trainer: the student's, which may be changed.
        losses: (time in seconds, step, loss) of each entry of its log.
    """
    if not losses:
        return ""
    (before, first, _), (after, last, loss) = losses[0], losses[-1]
    rate = f"{(last - first) / (after - before):.1f} steps/s, " if last > first else ""
    recorded = ", recorded steps" if getattr(trainer, "graphs", False) else ""
    precision = getattr(trainer, "precision", "unknown precision")
    return f"Trained in {precision}{recorded}: {rate}loss {loss:.3f} after {last:,} steps"


def _explain(error, job, out, trainer):
    """Raise UserError for a RuntimeError of a training that says what to do."""
    if isinstance(error, getattr(sys.modules.get("submission.trainer"), "TrainingError", ())):
        raise UserError(f"{job.target}: {error}") from None
    # raised by torch.save
    if "PytorchStreamWriter" in str(error) or "inline_container" in str(error):
        raise UserError(
            f"{out} could not be written: is the disk full? Nothing was changed."
        ) from None
    if "without overflow" in str(error) and getattr(trainer, "precision", "") == "fp16":
        error.add_note("float16 has numbers up to 65,504 only. --precision fp32 has others.")


def _require_disk_space(folder, model):
    """Refuse to start a long training whose weights won't fit on the disk; a checkpoint is three
    times as large.
    """
    needed = 4 * sum(value.nbytes for value in model.state_dict().values())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UserError(
            f"{folder} has {free / 2**20:.1f} MiB free; the weights and a checkpoint need "
            f"{needed / 2**20:.1f} MiB. Free some space, or choose another folder with --out."
        )


class _Losses:
    """A writer that keeps (time, step, loss). It passes all scalars on to TensorBoard, if that is
    installed; its folder is created with the first of them.
    """

    def __init__(self, folder):
        self.folder, self.writer, self.installed, self.kept = folder, None, True, []

    def add_scalar(self, name, value, step):
        if name == "loss":
            self.kept.append((time.perf_counter(), step, value))
        if self.writer is None and self.installed:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                self.installed = False
            else:
                self.writer = SummaryWriter(str(self.folder))
        if self.writer is not None:
            self.writer.add_scalar(name, value, step)

    def close(self):
        if self.writer is not None:
            self.writer.close()
