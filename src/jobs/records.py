"""The record of a result: what it was made from, so that `--resume` and collect.py know whether it
still holds, and the figures of the job that made it.

It is in OUT/runs, as NAME.json. A training that has begun, and not ended, has one for its
checkpoint.
"""

import contextlib
import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from common.files import UserError, write_text
from jobs.deliverables import GIVEN
from jobs.options import STARTER, Options
from jobs.targets import JOBS, PROBLEMS, Job

CHANGED, NEWER = "Changed since", "Newer than when"  # by what was kept, or by dates


@dataclass
class Record:
    """What is known of a result.

    Attributes:
        made_from: preset, seed, and a digest of each file of code, of data and of weights, by its
            name.
        result: a digest of the result itself, which tells it from another of the same name; "" for
            a checkpoint, which changes as it goes.
        seconds: that the job took, since it was last resumed.
        history: the Trainer's, of a training.
        total, correct, baseline: of an evaluation, the number of questions whose answers are known,
            of right answers, and of those if the most common place is always given.
    """

    made_from: dict[str, str | int]
    result: str = ""
    seconds: float = 0.0
    history: list[dict] = field(default_factory=list)
    total: int = 0
    correct: int = 0
    baseline: int = 0

    @property
    def accuracy(self) -> float | None:
        """The share of right answers, from 0 to 1; None if no answer is known."""
        return self.correct / self.total if self.total else None


def ingredients(job: Job, options: Options) -> dict[str, str | int]:
    """All that a job's result is made from, as Record.made_from."""
    return _settings(options) | _digests(_sources(job, options))


def checkpoint_of(job: Job, options: Options) -> Path:
    """The path of a training's checkpoint, which is there while it is unfinished."""
    return (options.out / job.writes).with_suffix(".ckpt")


def path_of(made: Path) -> Path:
    """Where the record of a result or checkpoint is."""
    return made.parent / "runs" / f"{made.name}.json"


def write_record(made: Path, record: Record) -> None:
    """Write the record of a result that was just made, or of the checkpoint of a training that
    begins.
    """
    record.result = "" if made.suffix == ".ckpt" else _digest(made)
    write_text(path_of(made), json.dumps(asdict(record)) + "\n")


def read_record(made: Path) -> Record | None:
    """The record of a result or checkpoint; None if there is none, or if it is of another one."""
    try:
        record = Record(**json.loads(path_of(made).read_bytes()))
        known = isinstance(record.made_from, dict) and (
            made.suffix == ".ckpt" or record.result == _digest(made)
        )
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return record if known else None


def forget(checkpoint: Path) -> None:
    """Delete a checkpoint, if there is one, and its record."""
    with contextlib.suppress(NotADirectoryError):  # the results' folder, as will be told
        checkpoint.unlink(missing_ok=True)
        path_of(checkpoint).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # there is more in it
        path_of(checkpoint).parent.rmdir()


def earlier(job: Job, options: Options) -> tuple[str, str]:
    """What an earlier run of a job left that counts now: nothing without `--resume`.

    Returns:
        "done" if the result is there, and nothing that it was made from has changed; "unfinished"
        if there is a checkpoint, and nothing but code has changed since the training began; else
        "". And what to print of it, sentences; "" if nothing is left.

    Raises:
        UserError: there is a checkpoint without a record.
    """
    result, checkpoint = options.out / job.writes, checkpoint_of(job, options)
    made = checkpoint if checkpoint.exists() else result
    if not options.resume:
        return "", ""
    if not made.is_file():
        told = f"There is no {checkpoint} to resume from: starting from scratch."
        return "", told if job.kind != "evaluate" else ""
    if made == checkpoint and read_record(made) is None:
        raise UserError(
            f"{path_of(checkpoint)}, which says what {checkpoint} was made from, is missing or "
            "damaged. Copy it along, or delete the checkpoint to start this training again."
        )
    how, names = changes(made, _sources(job, options), _settings(options))
    changed = f"{how} {made} {'began' if made == checkpoint else 'was made'}: {', '.join(names)}."
    if made == result and not names:
        record = read_record(result)
        if job.split == "test" and options.gold and record and not record.total:
            return "", f"{job.target} is done again, since its answers are there now."
        return "done", f"{job.target} is done: {result} is there"
    if made == result or not all(name.endswith(".py") for name in names):
        return "", f"{job.target} {'is done' if made == result else 'begins'} again. {changed}"
    told = f"{job.target} continues from {checkpoint}."
    if names:
        told += f" {changed} The code counts as it is now; to start again, delete the checkpoint."
    return "unfinished", told


def changes(
    made: Path, sources: dict[str, Path], settings: dict | None = None
) -> tuple[str, list[str]]:
    """What has changed since a result or checkpoint was made: how that is known, CHANGED or NEWER,
    and names.

    One without a record, such as a result of another machine, must be newer than its sources.

    Args:
        sources: files that it depends on.
        settings: if these are given, then sources are all that there are: what is gone counts, too.
    """
    if record := read_record(made):
        before, now = record.made_from, (settings or {}) | _digests(sources)
        names = now if settings is None else now | before
        return CHANGED, [name for name in names if now.get(name) != before.get(name)]
    when = made.stat().st_mtime
    return NEWER, [name for name, path in sources.items() if path.stat().st_mtime > when]


def require_same_preset(options: Options) -> None:
    """Refuse to resume in a folder whose results were made with another preset, for which the user
    has not asked.

    Raises:
        UserError: there is such a result, or the checkpoint of one.
    """
    results = [options.out / job.writes for job in JOBS.values()]
    checkpoints = [checkpoint_of(job, options) for job in JOBS.values()]
    for made in filter(Path.exists, results + checkpoints):
        record = read_record(made)
        preset = record.made_from.get("preset") if record else None
        if preset not in (None, options.preset.name):
            raise UserError(
                f"{made} was made with the preset {preset}, and this run's "
                f"would be {options.preset.name}. Say which you want: --preset {preset} continues, "
                f"--preset {options.preset.name} makes all anew."
            )


def _settings(options):
    return {"preset": options.preset.name, "seed": options.seed}


def _sources(job, options) -> dict[str, Path]:
    """The files that a job's result depends on, by name: code without that of other problems,
    data, and the weights that it reads.
    """
    code = {name: STARTER / name for name in GIVEN}  # what a submission lacks
    for path in sorted(options.submission.rglob("*.py")):
        code[path.relative_to(options.submission).as_posix()] = path
    data = {path.name: path for kind in ("txt", "tsv") for path in options.data.glob(f"*.{kind}")}
    weights = {job.reads: options.out / job.reads} if job.reads else {}
    others = [f"problem{number}" for number in PROBLEMS]
    return {
        name: path
        for name, path in (code | dict(sorted(data.items())) | weights).items()
        # editors keep files of their own, such as .#name.py
        if path.is_file()
        and not name.startswith(".")
        and "/." not in name
        and name.partition("/")[0] not in others
    }


def _digests(sources):
    return {name: _digest(path) for name, path in sources.items()}


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
