"""A pretraining or finetuning: the student's functions with the preset's values."""

import math
import shutil
import sys
import tempfile
import time
from pathlib import Path

from common.files import Interrupted, UserError, writing
from jobs.made_from import checkpoint_of, forget, is_useless, keep
from jobs.options import ROOT
from jobs.parallel import is_first, joined, workers
from jobs.problem1.knowledge import knowledge_of
from jobs.problem1.params import read_params
from jobs.targets import LOOK, TARGETS
from jobs.training_log import RunLog

# What the reference solution reached: the mean of the last tenth of the training, from seed 0.
REFERENCE_LOSSES = {
    ("laptop", "vanilla_pretrain"): 0.75,
    ("laptop", "rope_pretrain"): 0.77,
    ("laptop", "vanilla_finetune_without_pretrain"): 1.12,
}


def initialize(submission, variant, config):
    """The student's new model, a variant of the jobs.

    Raises:
        UserError: the student's function returned None.
    """
    function = {
        "vanilla": submission.initialize_vanilla_model,
        "rope": submission.initialize_rope_model,
    }[variant]
    return _not_none(function(config), function)


def train(job, options, submission, dataset, model, reads, made_from, progress) -> list[dict]:
    """Train a model, and write its weights to the job's file when they are complete.

    Args:
        job: a pretraining or finetuning.
        options: of this run.
        submission: the student's package.
        dataset: the CharCorruptionDataset of the corpus.
        model: as it was initialized.
        reads: the file of pretrained weights, or None.
        made_from: what the weights will have been made from.
        progress: called with the part that is done, from 0 to 1.

    Returns:
        The Trainer's history.

    Raises:
        UserError: no weights were saved, they don't fit the model, or the disk is full.
        Interrupted: Ctrl-C; the message says how to continue.
    """
    if is_first() and is_useless(job, options):
        forget(checkpoint_of(job, options))  # before any other process looks for it
    with joined(options.device) as device, tempfile.TemporaryDirectory() as elsewhere:
        # of several processes, the first writes the results
        folder = options.out if is_first() else Path(elsewhere)
        try:
            return _train(
                job, options, device, folder, submission, dataset, model, reads, made_from, progress
            )
        except BaseException:
            if is_first() and not (checkpoint := checkpoint_of(job, options)).exists():
                forget(checkpoint)
            raise


def _train(job, options, device, folder, submission, dataset, model, reads, made_from, progress):
    preset, out, runs = options.preset, folder / job.writes, folder / "runs"
    log = options.log and is_first()
    writer = scalars = _Scalars(runs / job.target)
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
    checkpoint = checkpoint_of(job, options)
    for name, value in {
        "device": device,
        "seed": options.seed,
        "graphs": options.graphs,
        "precision": options.precision,
        "resume": options.resume,
        "ckpt_path": str(checkpoint),
        "num_workers": workers(preset.num_workers),
    }.items():
        setattr(config, name, value)
    if options.resume and not checkpoint.exists():
        print(f"There is no {checkpoint} to resume from: starting from scratch.")
    steps = config.max_epochs * math.ceil(len(trainer.train_dataset) / config.batch_size)
    scalars.progress = lambda step: progress(min(1.0, step / steps))
    if log:
        header = {
            "run": job.target,
            "preset": preset.name,
            "seed": options.seed,
            "total_steps": steps,
            "reference_loss": REFERENCE_LOSSES.get((preset.name, job.target)),
        }
        records = steps // config.log_every
        knowledge = knowledge_of(job, options.data, dataset)
        writer.begin(header, model, trainer.train_dataset, records, knowledge)

    try:
        with writing(out) as temporary:
            _require_disk_space(out.parent, model)
            if is_first() and not (options.resume and checkpoint.exists()):
                forget(checkpoint)  # of a run that is now restarted
                keep(checkpoint, made_from)
            submission.train(model, str(temporary), trainer)
            if not temporary.exists():
                raise UserError(
                    f"train() in helper.py saved no weights. It should write them to {temporary}."
                )
            read_params(temporary, model, job, job.target)
    except KeyboardInterrupt:
        advice = (
            "The same command with --resume continues."
            if checkpoint.exists()
            else "It was too early for a checkpoint."
        )
        raise Interrupted(
            f"{job.target} was interrupted; {out} was not written. {advice}"
        ) from None
    except RuntimeError as error:
        if isinstance(error, getattr(sys.modules.get("submission.trainer"), "TrainingError", ())):
            raise UserError(f"{job.target}: {error}") from None
        # raised by torch.save
        if "PytorchStreamWriter" in str(error) or "inline_container" in str(error):
            raise UserError(
                f"{out} could not be written: is the disk full? Nothing was changed."
            ) from None
        raise
    finally:
        writer.close()
        if told := how(trainer, scalars.losses):
            print(told, flush=True)
    print(f"Wrote {out}")
    has_run_sh = (ROOT / "run.sh").exists()  # not so in what train_on_gpu.ipynb unpacks
    if job.kind == "finetune" and has_run_sh:
        print(f"Where does it look? A page to play with: {options.command(LOOK.target)}")
    if log:
        shown = [f": ./run.sh {name} shows it" for name, one in TARGETS.items() if one.log]
        print(f"Wrote {writer.path}{''.join(shown) if has_run_sh else ''}")
    return getattr(trainer, "history", [])


def how(trainer, losses: list[tuple[float, int, float]]) -> str:
    """How a training ran, in a line: precision, recorded steps or why there are none, rate, loss;
    "" if it has logged nothing.

    Args:
        trainer: the student's, which may be changed.
        losses: (time in seconds, step, loss) of each entry of its log.
    """
    if not losses:
        return ""
    (before, first, _), (after, last, loss) = losses[0], losses[-1]
    rate = f"{(last - first) / (after - before):.1f} steps/s, " if last > first else ""
    recorded, ways = getattr(trainer, "one_step", None), []
    if shapes := len(getattr(recorded, "replays", ())):
        ways.append(f"steps of {shapes} shapes recorded")
    if failed := getattr(recorded, "failed", ""):
        ways.append(f"not recorded since {failed}")
    precision = getattr(getattr(trainer, "hardware", None), "precision", "unknown precision")
    return f"Trained in {', '.join([precision, *ways])}: {rate}loss {loss:.3f} after {last:,} steps"


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


def _not_none(returned, function):
    """Return what a student's function returned; raise UserError if it is or contains None."""
    if returned is None or (isinstance(returned, tuple) and any(part is None for part in returned)):
        raise UserError(
            f"{function.__name__} in helper.py returned {returned}. Its docstring says what it "
            "should return."
        )
    return returned


class _Scalars:
    """A TensorBoard writer that creates its folder with the first scalar, and writes nothing if
    TensorBoard is not installed. It tells `progress` the step, and keeps (time, step, loss).
    """

    def __init__(self, folder):
        self.folder, self.writer, self.installed, self.losses = folder, None, True, []
        self.progress = lambda step: None

    def add_scalar(self, name, value, step):
        self.progress(step)
        if name == "loss":
            self.losses.append((time.perf_counter(), step, value))
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
