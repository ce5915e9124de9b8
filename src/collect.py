"""Collect the deliverables into submission.zip: `./collect_submission.sh`. Needs only Python."""

import argparse
import ast
import json
import os
import re
import stat
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from common.files import UserError, writing
from common.streams import use_utf8
from jobs.deliverables import (
    ANSWERING,
    ANSWERS,
    CODE,
    DELIVERABLES,
    MADE_BY,
    STUDENT_FILES,
    TRAINED,
    look_alike,
    why_unusable,
)
from jobs.targets import JOBS
from jobs.weights import why_other

ROOT = Path(__file__).resolve().parents[1]
WIDTH = max(map(len, DELIVERABLES)) + 2
# What the jobs need besides the student's files.
FOR_GPU = ("src/*.py", "src/common/**/*", "src/jobs/**/*", "src/submission/**/*.py", "data/**/*")


def write_zip(
    path: Path, files: Iterable[tuple[str, bytes]], compression: int = zipfile.ZIP_DEFLATED
) -> None:
    """Write a reproducible zip: it depends only on its files, not on the time, umask or system.

    Args:
        path: the zip.
        files: names and contents, in the order in which they are written. Files named *.sh become
            executable.
        compression: zipfile.ZIP_STORED gives the same bytes with every version of zlib.

    Raises:
        UserError: the zip cannot be written; nothing was changed.
    """
    with writing(path) as temporary, zipfile.ZipFile(temporary, "w", compression) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name)  # dated 1980
            entry.create_system = 3  # Unix, so that the permissions below count
            entry.external_attr = (stat.S_IFREG | (0o755 if name.endswith(".sh") else 0o644)) << 16
            entry.compress_type = compression
            archive.writestr(entry, content)


def collect(submission: Path, out: Path, allow_missing: bool) -> None:
    """Write the zip, and report what is left out and what looks outdated.

    Args:
        submission: the folder of the student's files.
        out: the zip to write.
        allow_missing: leave out missing files instead of refusing.

    Raises:
        UserError: a file is missing (the message says which command makes it) or not a regular
            file. Nothing was written.
    """
    _check(submission, out)
    files = {name: _read(submission / name) for name in DELIVERABLES}
    missing = [name for name, content in files.items() if not content]
    lines = [
        f"  {name:<{WIDTH}} "
        + (
            f"{_remedy(name)} (it is empty)"
            if files[name] == b""
            else look_alike(submission, name).removeprefix("; ") or _remedy(name)
        )
        for name in missing
    ]
    if len(missing) == len(DELIVERABLES):
        raise UserError(
            f"There is nothing to hand in: {submission} has none of the deliverables. Check "
            "--submission."
        )
    if missing and not allow_missing:
        older = (
            f" The existing {out.name} is an older one: don't hand it in." if out.exists() else ""
        )
        raise UserError(
            "\n".join(
                [
                    f"Missing in {submission}, and how to make it:",
                    *lines,
                    f"Nothing was written.{older} To hand in without them, add --allow-missing.",
                ]
            )
        )
    present = [(name, content) for name, content in files.items() if content]
    write_zip(out, present)
    if missing:
        print("\n".join(["Left out, and how to make it:", *lines]))
    if open_ := unfinished(submission):
        print(
            "\n".join(
                ["Warning: this cannot have full points yet:", *(f"  {line}" for line in open_)]
            )
        )
    if old := outdated(submission):
        print(
            "\n".join(
                [
                    "Warning: these results are older than the files that they were made from:",
                    *(f"  {name:<{WIDTH}} {why}: {_remedy(name)}" for name, why in old.items()),
                    "If your changes don't affect them, ignore this. Otherwise run these again, in "
                    "this order, and collect again.",
                ]
            )
        )
    print(f"Wrote {out}: {len(present)} files, {_size(out)}")


def collect_for_gpu(submission: Path, out: Path) -> None:
    """Write the zip that train_on_gpu.ipynb unpacks, with all that training needs: the code and the
    data, without results.

    Raises:
        UserError: a student's file is not a regular one, or the zip cannot be written.
    """
    _check(submission, out)
    files = {
        path.relative_to(ROOT).as_posix(): path
        for pattern in FOR_GPU
        for path in ROOT.glob(pattern)
        if path.is_file() and path.parent.name != "__pycache__"
    }
    contents = {name: path.read_bytes() for name, path in files.items()}
    for name in (*CODE, *ANSWERS):
        if (content := _read(submission / name)) is not None:
            contents[f"src/submission/{name}"] = content
    write_zip(out, sorted(contents.items()))
    if open_ := [line for line in unfinished(submission) if line.startswith(ANSWERING)]:
        print("\n".join(["Warning: jobs that need these will stop:", *(f"  {x}" for x in open_)]))
    print(f"Wrote {out}, {_size(out)}: train_on_gpu.ipynb trains with it")


def _check(submission, out):
    if not submission.is_dir():
        raise UserError(f"{submission} is not a folder. Check --submission.")
    if out.is_dir():
        raise UserError(
            f"{out} is a folder. --out names the zip to write, such as {out / 'submission.zip'}."
        )


def _size(path):
    size = path.stat().st_size
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"


def unfinished(submission: Path) -> list[str]:
    """A line for each place that is not filled in yet, for each file that cannot be parsed,
    including the answer files, and for each result that is something else.
    """
    lines = []
    for name in (*STUDENT_FILES, *ANSWERS):
        content = _read(submission / name) or b""
        if why := why_unusable(submission, name):
            lines.append(why)
            continue
        if name in ANSWERS:
            lines += _blanks(name, content) if content else []
            continue
        text = content.decode("utf-8", errors="replace")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError) as error:  # ValueError: a NUL
            lines.append(
                f"{name}, line {getattr(error, 'lineno', None) or 1}: "
                f"{getattr(error, 'msg', error)}"
            )
        lines += [
            f"{name}, line {number}: not filled in ({stub[1]})"
            for number, line in enumerate(text.splitlines(), start=1)
            if (stub := re.match(r'\s*raise NotImplementedError\("(\w+: \S+)"', line))
        ]
    return lines + [
        f"{name}: {why}" for name in MADE_BY if (why := why_other(_read(submission / name) or b""))
    ]


def _blanks(name, content):
    """A line for each entry of an answer file that still contains a null (JSON) or "" (TOML), or a
    line on why the file cannot be parsed.
    """
    try:
        entries = (
            tomllib.loads(content.decode("utf-8-sig"))
            if name.endswith(".toml")
            else json.loads(content)
        )
        open_ = (
            [key for key, value in entries.items() if _has_blank(value)]
            if isinstance(entries, dict)
            else []
        )
    except json.JSONDecodeError as error:
        return [f"{name}, line {error.lineno}: {error.msg}"]
    # not UTF-8, not TOML, a number with thousands of digits; nested too deeply
    except (ValueError, RecursionError) as error:
        return [f"{name}: {error}"]
    return [f"{name}: not filled in ({key})" for key in open_]


def _has_blank(value):
    parts = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return value is None or value == "" or any(map(_has_blank, parts))


def outdated(submission: Path) -> dict[str, str]:
    """Results that are older than what they were made from, in job order: name -> why.

    Predictions depend on weights and on the student's code, finetuned weights on pretrained ones.
    Weights older than the code prove nothing: students write code for one question after the
    trainings of another. TRAINED has weights that depend on a file of their own.
    """
    times = {
        name: (submission / name).stat().st_mtime_ns
        for name in DELIVERABLES
        if (submission / name).is_file()
    }
    sources = {
        job.writes: (job.reads, *(ANSWERING if job.kind == "evaluate" else ()))
        for job in JOBS.values()
    } | TRAINED
    result = {}
    for name, made_from in sources.items():
        if name not in times:
            continue
        if newer := [source for source in made_from if times.get(source, 0) > times[name]]:
            result[name] = f"older than {', '.join(newer)}"
        elif old := [source for source in made_from if source in result]:
            result[name] = f"made from {old[0]}"
    return result


def _read(path: Path) -> bytes | None:
    """The content of a deliverable, or None if it is missing."""
    try:
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode):
            kind = (
                "a link"
                if stat.S_ISLNK(mode)
                else "a folder"
                if stat.S_ISDIR(mode)
                else "not a regular file"
            )
            raise UserError(f"{path} is {kind}. Put the file itself there. Nothing was written.")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}. Nothing was written.") from None


def _remedy(name: str) -> str:
    return f"./run.sh {MADE_BY[name]}" if name in MADE_BY else "copy it from the starter"


def main() -> int:
    """Parse the command line; returns the exit code."""
    use_utf8()
    parser = argparse.ArgumentParser(
        prog="collect_submission.sh",
        allow_abbrev=False,
        description="Put the deliverables into submission.zip.",
    )
    parser.add_argument(
        "--submission",
        type=Path,
        default=ROOT / "src" / "submission",
        help="the folder of your files (default: src/submission)",
    )
    parser.add_argument(
        "--out", type=Path, help="the zip to write (default: submission.zip, or for_gpu.zip)"
    )
    parser.add_argument("--allow-missing", action="store_true", help="leave out what is missing")
    if JOBS:
        parser.add_argument(
            "--for-gpu",
            action="store_true",
            help="write for_gpu.zip instead, to train with train_on_gpu.ipynb: your code and data/",
        )
    args = parser.parse_args()
    try:
        if JOBS and args.for_gpu:
            collect_for_gpu(args.submission, args.out or ROOT / "for_gpu.zip")
        else:
            collect(args.submission, args.out or ROOT / "submission.zip", args.allow_missing)
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
