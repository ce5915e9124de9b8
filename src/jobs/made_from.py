"""What a job's result was made from, so that `--resume` and collect.py know whether it still holds.

A result has a record in OUT/runs, NAME.made.json, with all that it was made from. A training that
begins, and has not ended, has one for its checkpoint.
"""

import contextlib
import hashlib
import json
from pathlib import Path

from common.files import UserError, write_text
from jobs.deliverables import GIVEN
from jobs.options import STARTER, Options
from jobs.problems import PROBLEMS
from jobs.targets import JOBS, Job

CHANGED, NEWER = "Changed since", "Newer than when"  # by what was kept, or by dates


def ingredients(job: Job, options: Options) -> dict[str, str | int]:
    """All that a result is made from: preset, seed, and a digest of each file of code, of data and
    of weights, by its name.
    """
    return _settings(options) | _hashes(_sources(job, options))


def checkpoint_of(job: Job, options: Options) -> Path:
    """The path of a training's checkpoint, which is there while it is unfinished."""
    return (options.out / job.writes).with_suffix(".ckpt")


def keep(made: Path, found: dict[str, str | int]) -> None:
    """Keep what a result was made from; or, when a training begins, what its checkpoint will be."""
    write_text(_record(made), json.dumps(_digest(made) | found, indent=0) + "\n")


def forget(checkpoint: Path) -> None:
    """Delete a checkpoint, if there is one, and what is kept of it."""
    with contextlib.suppress(NotADirectoryError):  # the results' folder, as will be told
        checkpoint.unlink(missing_ok=True)
        _record(checkpoint).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # there is more in it
        _record(checkpoint).parent.rmdir()


def earlier(job: Job, options: Options) -> tuple[bool, str]:
    """What an earlier run of a job left that counts now: nothing without `--resume`.

    Returns:
        Whether the job is done: its result exists, nothing that it was made from has changed, and
        there is no checkpoint (left by a job that was started again and interrupted). And what to
        print of it, sentences; "" if nothing is left.
    """
    if not options.resume:
        return False, ""
    result, checkpoint = options.out / job.writes, checkpoint_of(job, options)
    again = f"{job.target} is done again."
    if is_useless(job, options):
        return False, f"{again} {CHANGED} {checkpoint} began: {job.reads}."
    if checkpoint.exists():
        how, names = _changed(checkpoint, job, options)
        told = f"{job.target} continues from {checkpoint}."
        # the trainer refuses other settings or data
        if code := [name for name in names if name.endswith(".py")]:
            told += (
                f" {how} it began: {', '.join(code)}. The code counts as it is now; to start "
                "again, delete the checkpoint."
            )
        return False, told
    if not result.is_file():
        return False, ""
    how, names = _changed(result, job, options)
    if names:
        return False, f"{again} {how} {result} was made: {', '.join(names)}."
    return True, f"{job.target} is done: {result} is there"


def is_useless(job: Job, options: Options) -> bool:
    """Whether a job's checkpoint is of a finetuning that began with other pretrained weights than
    there are now: nothing can continue it.
    """
    checkpoint = checkpoint_of(job, options)
    how, names = _changed(checkpoint, job, options) if checkpoint.exists() else (None, [])
    return how == CHANGED and job.reads in names


def changes(
    made: Path, sources: dict[str, Path], settings: dict | None = None
) -> tuple[str, list[str]]:
    """What has changed since a result or checkpoint was made: how that is known, CHANGED or NEWER,
    and names.

    One whose ingredients nobody kept, such as one that comes from another machine, must be newer
    than its sources.

    Args:
        sources: files that it depends on.
        settings: if these are given, then sources are all that there are: what is gone counts, too.
    """
    if kept := _kept(made):
        now = (settings or {}) | _hashes(sources)
        names = now if settings is None else now | kept
        return CHANGED, [name for name in names if now.get(name) != kept.get(name)]
    when = made.stat().st_mtime
    return NEWER, [name for name, path in sources.items() if path.stat().st_mtime > when]


def require_same_preset(options: Options) -> None:
    """Refuse to resume in a folder whose results were made with another preset, which is not the
    one that the user asked for.

    Raises:
        UserError: there is such a result.
    """
    for job in JOBS.values():
        result = options.out / job.writes
        kept = _kept(result).get("preset", options.preset.name)
        if kept != options.preset.name:
            raise UserError(
                f"{result} was made with the preset {kept}, and this run's would "
                f"be {options.preset.name}. Say which you want: --preset {kept} continues, "
                f"--preset {options.preset.name} makes all anew."
            )


def _changed(made, job, options):
    return changes(made, _sources(job, options), _settings(options))


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


def _kept(made):
    """The ingredients of a result or checkpoint; {} if they are not known."""
    try:
        kept, digest = json.loads(_record(made).read_bytes()), _digest(made)
        known = kept.items() >= digest.items()
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
    return {name: value for name, value in kept.items() if name not in digest} if known else {}


def _digest(made):
    """Tells a result from another one of the same name; a checkpoint changes as it goes."""
    return {made.name: _hash(made)} if made.suffix != ".ckpt" else {}


def _hashes(sources):
    return {name: _hash(path) for name, path in sources.items()}


def _hash(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _record(made):
    return made.parent / "runs" / f"{made.name}.made.json"
