"""Read input files and write output files atomically, with helpful errors.

Programs print the message of a UserError, without a traceback, and exit with code 2.
"""

import codecs
import contextlib
import errno
import os
from pathlib import Path


class UserError(Exception):
    """What happened, where, and what to do next, in a sentence; exit_code: of the program."""

    exit_code = 2

    def __init__(self, message: str, exit_code: int | None = None):
        super().__init__(message)
        self.exit_code = exit_code or self.exit_code


class Interrupted(UserError):
    """The user pressed Ctrl-C; the message says how to continue."""

    exit_code = 130


def read_text(path: Path) -> str:
    """Read a UTF-8 text file; line endings of any system become newlines.

    Raises:
        UserError: the file is missing, empty, or not UTF-8.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist. Check --data (or --gold, for the test answers)."
        ) from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None
    if why := why_not_utf8(path, raw):
        raise UserError(why)
    text = raw.decode("utf-8")
    if text.startswith("\ufeff"):
        raise UserError(
            f"{path} starts with a byte order mark. Save the file as UTF-8 without one."
        )
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise UserError(f"{path} is empty.")
    return text


def why_not_utf8(name: str | Path, content: bytes) -> str:
    """Why a file is not UTF-8 text, in sentences that name it and its encoding; "" if it is."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content[:2]:
        return f"{name} is not UTF-8 but UTF-16. Save the file as UTF-8."
    try:
        content.decode("utf-8")
        bad = content.find(b"\0")
    except UnicodeDecodeError as error:
        bad = error.start
    if bad < 0:
        return ""
    line = content.count(b"\n", 0, bad) + 1
    return (
        f"{name}, line {line}: byte 0x{content[bad]:02x} is not UTF-8 text. Save the file as UTF-8."
    )


DISK_IS_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextlib.contextmanager
def writing(path: Path):
    """Yield a temporary path beside `path` to write to; it is renamed to `path` on success, and
    removed on failure. A device, such as /dev/stdout, is written to itself, and not replaced.

    Raises:
        UserError: the disk is full, or the folder is not writable. Other errors in the block
            propagate.
    """
    is_device = path.exists() and not path.is_file() and not path.is_dir()
    temporary = path if is_device else path.with_name(path.name + ".tmp")
    try:
        if not is_device:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.touch()  # now, before hours of work for a place that is not writable
            temporary.unlink()
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror}. Choose another folder with --out."
        ) from None
    try:
        yield temporary
        if not is_device:
            os.replace(temporary, path)
    except OSError as error:
        own = is_device or str(temporary) in (error.filename, error.filename2)
        if own or error.errno in DISK_IS_FULL:
            raise UserError(
                f"{path} could not be written: {error.strerror}. Nothing was changed. Check the "
                "disk and the permissions."
            ) from error
        raise
    finally:
        if not is_device:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically, with newlines as they are.

    Raises:
        UserError: as `writing`.
    """
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
