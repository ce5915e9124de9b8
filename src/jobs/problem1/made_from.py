"""What a job's result was made from, so that `--resume` knows whether it still holds."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from common.files import write_text
from jobs.options import Options
from jobs.targets import Job


def sources(job: Job, options: Options) -> Iterable[Path]:
    """The files that a job's result depends on: code, data, and the weights that it reads."""
    yield from sorted(options.submission.glob("*.py"))
    yield from sorted(options.submission.glob("given/*.py"))
    yield from sorted(options.data.glob("*.t*"))
    if job.reads:
        yield options.out / job.reads


def ingredients(job: Job, options: Options) -> dict[str, str | int]:
    """All that a result is made from: preset, seed, and the contents of its sources."""
    return {
        "preset": options.preset.name,
        "seed": options.seed,
        "sources": _hash(*sources(job, options)),
    }


def keep(job: Job, options: Options, found: dict[str, str | int]) -> None:
    """Keep what a new result was made from."""
    result = _hash(options.out / job.writes)
    write_text(_record(job, options), json.dumps({"result": result} | found) + "\n")


def is_done(job: Job, options: Options) -> bool:
    """Whether a job's result exists, was made from what is there now, and has no checkpoint (left
    by a job that was started again and interrupted).

    A result whose ingredients nobody kept, such as one that comes from another machine, must be
    newer than its sources.
    """
    result = options.out / job.writes
    there = all(path.exists() for path in (result, *sources(job, options)))
    if not there or result.with_suffix(".ckpt").exists():
        return False
    try:
        kept = json.loads(_record(job, options).read_bytes())
    except (OSError, ValueError):
        kept = None
    if isinstance(kept, dict) and kept.get("result") == _hash(result):
        return {"result": kept["result"]} | ingredients(job, options) == kept
    return not newer(result, sources(job, options))


def earlier(job: Job, options: Options) -> str:
    """What comes of an earlier run of a job that is resumed, in a sentence; "" if it left nothing
    that matters.
    """
    result = options.out / job.writes
    checkpoint = result.with_suffix(".ckpt")
    if checkpoint.exists():
        changed = ", ".join(path.name for path in newer(checkpoint, sources(job, options)))
        told = f"{job.target} continues from {checkpoint}."
        if changed:
            told += (
                f" Since then, {changed} changed, and counts as it is now; to start again, delete "
                "the checkpoint."
            )
        return told
    if result.exists() and not is_done(job, options):
        return (
            f"{job.target} is done again: since {result} was made, preset, seed, code, data or "
            "weights have changed."
        )
    return ""


def newer(result: Path, files: Iterable[Path]) -> list[Path]:
    """Those of the files that are newer than a result."""
    when = result.stat().st_mtime
    return [path for path in files if path.exists() and path.stat().st_mtime > when]


def _hash(*paths):
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _record(job, options):
    return options.out / "runs" / f"{job.target}.made.json"
