"""Collect the deliverables into submission.zip: `./collect_submission.sh`. Needs only Python."""

import argparse
import ast
import json
import stat
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from common.command_line import use_utf8
from common.files import UserError, writing
from jobs.deliverables import (
    ANSWERS,
    CODE,
    DELIVERABLES,
    STUDENT_FILES,
    look_alike,
    unwritten,
    why_unusable,
)
from jobs.records import NEWER, changes
from jobs.targets import JOBS, MADE_BY
from jobs.weights import why_cut_off, why_other

ROOT = Path(__file__).resolve().parents[1]
ANSWERING = tuple(name for name in STUDENT_FILES if "/" not in name)  # predictions depend on these
# What the jobs need besides the student's files.
FOR_GPU = ("src/*.py", "src/common/**/*", "src/jobs/**/*", "src/submission/**/*.py", "data/**/*")
PARSERS = {".py": ast.parse, ".json": json.loads, ".toml": tomllib.loads}


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
    files, missing = {}, []
    for name in DELIVERABLES:
        made = "copy it from the starter, the assignment as you got it"
        if name in MADE_BY:
            made = f"./run.sh {MADE_BY[name].target}"
        if content := _read(submission / name):
            files[name] = content
        elif content is not None:
            missing.append(_line(name, f"{made} (it is empty)"))
        else:
            missing.append(_line(name, look_alike(submission, name).removeprefix("; ") or made))
    if not files:
        raise UserError(
            f"There is nothing to hand in: {submission} has none of the deliverables. Check "
            "--submission."
        )
    if missing and not allow_missing:
        older = f" The existing {out.name} is an older one: don't hand it in."
        raise UserError(
            _list(f"Missing in {submission}, and how to make it:", missing)
            + f"Nothing was written.{older if out.exists() else ''} To hand in without them, add "
            "--allow-missing."
        )
    write_zip(out, files.items())
    old = [
        _line(name, f"{why}: ./run.sh {MADE_BY[name].target}")
        for name, why in outdated(submission).items()
    ]
    print(
        _list("Left out, and how to make it:", missing)
        + _list("Warning: this cannot have full points yet:", unfinished(submission))
        + _list("Warning: these results are damaged:", damaged(submission))
        + _list("Warning: these results are not from the files that are there now:", old),
        end="",
    )
    if old:
        print(
            "If your changes don't affect them, ignore this. Otherwise run these again, in this "
            "order, and collect again."
        )
    print(f"Wrote {out}: {len(files)} files, {_size(out)}")


def _line(name, text):
    return f"{name:<{max(map(len, DELIVERABLES)) + 2}} {text}"


def _list(title, lines):
    """Indented lines below a title; "" if there are none."""
    return "\n  ".join([title, *lines]) + "\n" if lines else ""


def collect_for_gpu(submission: Path, out: Path) -> None:
    """Write the zip that train_on_gpu.ipynb unpacks, with all that training needs: the code and the
    data, without results.

    Raises:
        UserError: a student's file is not a regular one, or the zip cannot be written.
    """
    contents = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for pattern in FOR_GPU
        for path in ROOT.glob(pattern)
        if path.is_file() and path.parent.name != "__pycache__"
    }
    for name in (*CODE, *ANSWERS):
        if (content := _read(submission / name)) is not None:
            contents[f"src/submission/{name}"] = content
    write_zip(out, sorted(contents.items()))
    needed = [line for line in unfinished(submission) if line.startswith(ANSWERING)]
    print(_list("Warning: jobs that need these will stop:", needed), end="")
    print(f"Wrote {out}, {_size(out)}: train_on_gpu.ipynb trains with it")


def _size(path):
    size = path.stat().st_size
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"


def unfinished(submission: Path) -> list[str]:
    """A line for each place that is not filled in yet, and for each file that cannot be parsed."""
    lines = []
    for name in (*STUDENT_FILES, *ANSWERS):
        if why := why_unusable(submission, name):
            lines.append(why)
        elif content := _read(submission / name):
            try:
                PARSERS[Path(name).suffix](content.decode("utf-8-sig"))
            # not UTF-8, a number with thousands of digits; nested too deeply
            except (SyntaxError, ValueError, RecursionError) as error:
                place = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
                lines.append(f"{name}{place}: {getattr(error, 'msg', error)}")
            lines += [
                f"{name}, line {line}: not filled in ({question}: {what})"
                for line, question, what in unwritten(name, content)
            ]
    return lines


def damaged(submission: Path) -> list[str]:
    """A line for each result that is something else, or not whole."""
    lines = []
    for name, target in MADE_BY.items():
        content = _read(submission / name)
        why = why_other(content) if content else ""
        if content and not why and name.endswith(".params"):
            why = why_cut_off(content)
        lines += [f"{name}: {why} ./run.sh {target.target} makes it."] * bool(why)
    return lines


def outdated(submission: Path) -> dict[str, str]:
    """Results that were made from other files than there are now, in job order: name -> why.

    Predictions depend on weights and on the student's code, finetuned weights on pretrained ones.
    Weights that differ from the code prove nothing: students write code for one question after the
    trainings of another. Those of a target that is no job depend on a file of their own.
    """
    result = {}
    for name, target in MADE_BY.items():
        if not (submission / name).is_file():
            continue
        code = ANSWERING if name.endswith(".predictions") else ()
        made_from = [source for source in (target.reads, target.calls, *code) if source]
        files = {source: submission / source for source in made_from}
        files = {source: path for source, path in files.items() if path.is_file()}
        how, changed = changes(submission / name, files)
        if changed:
            told = "older than" if how == NEWER else "made from another"
            result[name] = f"{told} {', '.join(changed)}"
        elif old := [source for source in files if source in result]:
            result[name] = f"made from {old[0]}"
    return result


def _read(path: Path) -> bytes | None:
    """The content of a deliverable, or None if it is missing."""
    if path.is_symlink() or path.exists() and not path.is_file():
        kind = "a link" if path.is_symlink() else "a folder" if path.is_dir() else "no regular file"
        raise UserError(f"{path} is {kind}. Put the file itself there. Nothing was written.")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}. Nothing was written.") from None


def main() -> int:
    """Parse the command line; returns the exit code."""
    use_utf8()
    parser = argparse.ArgumentParser(
        prog="collect_submission.sh",
        allow_abbrev=False,
        description="Put the deliverables into submission.zip.",
    )
    add = parser.add_argument
    add(
        "--submission",
        type=Path,
        default=ROOT / "src" / "submission",
        help="the folder of your files (default: src/submission)",
    )
    add("--out", type=Path, help="the zip to write (default: submission.zip, or for_gpu.zip)")
    add("--allow-missing", action="store_true", help="leave out what is missing")
    if JOBS:
        add(
            "--for-gpu",
            action="store_true",
            help="write for_gpu.zip instead, to train with train_on_gpu.ipynb: your code and data/",
        )
    args = parser.parse_args()
    for_gpu = JOBS and args.for_gpu
    out = args.out or ROOT / ("for_gpu.zip" if for_gpu else "submission.zip")
    try:
        if not args.submission.is_dir():
            raise UserError(f"{args.submission} is not a folder. Check --submission.")
        if out.is_dir():
            zipped = out / "submission.zip"
            raise UserError(f"{out} is a folder. --out names the zip to write, such as {zipped}.")
        if for_gpu:
            collect_for_gpu(args.submission, out)
        else:
            collect(args.submission, out, args.allow_missing)
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
