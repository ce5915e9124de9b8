"""What a job's result was made from, so that `--resume` knows whether it still holds."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from common.files import write_text
from jobs.options import Options
from jobs.targets import Job


def ingredients(job: Job, options: Options) -> dict[str, str | int]:
    """All that a result is made from: preset, seed, and a digest of each file of code, of data and
    of weights, by its name.
    """
    settings = {"preset": options.preset.name, "seed": options.seed}
    return settings | {_name(path, options): _hash(path) for path in _sources(job, options)}


def checkpoint_of(job: Job, options: Options) -> Path:
    """The path of a training's checkpoint, which is there while it is unfinished."""
    return (options.out / job.writes).with_suffix(".ckpt")


def keep(made: Path, found: dict[str, str | int]) -> None:
    """Keep what a result was made from; or, when a training begins, what its checkpoint will be."""
    write_text(_record(made), json.dumps(_digest(made) | found, indent=0) + "\n")


def forget(checkpoint: Path) -> None:
    """Delete a checkpoint, and what is kept of it."""
    checkpoint.unlink(missing_ok=True)
    _record(checkpoint).unlink(missing_ok=True)


def earlier(job: Job, options: Options) -> tuple[bool, str]:
    """What an earlier run of a job left that counts now: nothing without `--resume`.

    Returns:
        Whether the job is done: its result exists, nothing that it was made from has changed, and
        there is no checkpoint (left by a job that was started again and interrupted). And what to
        print of it, a sentence; "" if nothing is left.
    """
    if not options.resume:
        return False, ""
    result, checkpoint = options.out / job.writes, checkpoint_of(job, options)
    if checkpoint.exists():
        told = f"{job.target} continues from {checkpoint}."
        # the trainer refuses other settings or data
        if code := [name for name in _changed(checkpoint, job, options) if name.endswith(".py")]:
            told += (
                f" Since it began, {', '.join(code)} changed, and counts as it is now; to start "
                "again, delete the checkpoint."
            )
        return False, told
    if not result.exists():
        return False, ""
    if changed := _changed(result, job, options):
        names = ", ".join(changed)
        return False, f"{job.target} is done again: since {result} was made, {names} changed."
    return True, f"{job.target} is done: {result} is there"


def _changed(made, job, options):
    """Names of what has changed since a result or checkpoint was made.

    One whose ingredients nobody kept, such as one that comes from another machine, must be newer
    than its sources.
    """
    try:
        kept = json.loads(_record(made).read_bytes())
        known = kept.items() >= _digest(made).items()
    except (OSError, ValueError, AttributeError):
        known = False
    if known:
        now = ingredients(job, options) | _digest(made)
        return [name for name in now | kept if now.get(name) != kept.get(name)]
    when, sources = made.stat().st_mtime, _sources(job, options)
    return [_name(path, options) for path in sources if path.stat().st_mtime > when]


def _digest(made):
    """Tells a result from another one of the same name; a checkpoint changes as it goes."""
    return {made.name: _hash(made)} if made.suffix != ".ckpt" else {}


def _sources(job, options) -> Iterable[Path]:
    """The files that a job's result depends on: code, data, and the weights that it reads."""
    yield from sorted(options.submission.glob("*.py"))
    yield from sorted(options.submission.glob("given/*.py"))
    yield from sorted(options.data.glob("*.t*"))
    if job.reads and (options.out / job.reads).exists():
        yield options.out / job.reads


def _name(path, options):
    inside = path.is_relative_to(options.submission)
    return path.relative_to(options.submission).as_posix() if inside else path.name


def _hash(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _record(made):
    return made.parent / "runs" / f"{made.name}.made.json"
