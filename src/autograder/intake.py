"""Copy a hand-in, a folder or a zip file, without trusting anything in it.

Only wanted files with plain names are copied, as regular files; their bytes are counted while they
are read, whatever a header says. So code that uses the copies need not check them again. All else
is left out.
"""

import contextlib
import errno
import io
import os
import re
import stat
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from os.path import commonprefix
from pathlib import Path, PurePosixPath

CHUNK = 1 << 20  # bytes in memory at once
TABLE = 2 << 20  # the same for a zip's table of contents
OPEN_FLAGS = os.O_RDONLY | sum(  # neither follows a link nor waits for a pipe
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC")
)
# in zips: what systems and tools add on their own
PASSED_OVER = {"__MACOSX", "__pycache__", ".git", ".DS_Store"}
HIDDEN = re.compile(r"(^|/)(\.[^./]|__MACOSX/|__pycache__/)")
UNSAFE = set('\\:*?"<>|')  # in a file's name, to some system
ENCRYPTED = 0x2041  # a zip entry's flags for the kinds of encryption
COPY = "Put an intact copy there."
AGAIN = "Make a new zip with your system's own program."


class Refused(ValueError):
    """Nothing was copied; the message says what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Limits:
    """How many files are accepted, and how many bytes they may have in total."""

    files: int = 64
    total: int = 1 << 30


def take(
    source: Path,
    into: Path,
    limit_of: Callable[[str], int | None],
    limits: Limits = Limits(),
    folders: tuple[str, ...] = (),
    known: Collection[str] = (),
) -> list[str]:
    """Copy the wanted files of a submission into a new folder: all of them, or nothing.

    Args:
        source: a folder, of which only the files at its top and in `folders` are examined, or a
            zip, whose wanted files may be inside one folder.
        into: the folder to create; missing parents are created.
        limit_of: the most bytes that a file may have, by its name, such as "a.py", or "part/b.py"
            in one of `folders`; None to leave the file out.
        limits: how much is accepted.
        folders: names of a submission's subfolders that may also contain wanted files.
        known: names that tell which folder of a zip is the submission, if it has any of them.

    Returns:
        Sentences for the person who handed it in: what was left out of a zip.

    Raises:
        Refused: there are no wanted files, or something is wrong.
        OSError: `into` exists, or cannot be written.
    """
    if os.path.lexists(into):
        raise FileExistsError(f"{into} exists already")
    name, left_out = source.name or str(source), []
    with contextlib.ExitStack() as stack:
        if source.is_dir():
            found = _in_folder(source, limit_of, limits, folders)
        elif source.is_file():
            with _reading(name, "is not a zip file, or is damaged"):
                file = stack.enter_context(_Sparing(io.FileIO(source)))
                archive = zipfile.ZipFile(file)
            found, left_out = _in_zip(archive, name, limit_of, folders, known)
        else:
            raise Refused(
                f"{_shown(name)} does not exist, or is neither a folder nor a zip file. Check the "
                "name."
            )
        if not found:
            there = f" It has {_few(left_out)}." if left_out else ""
            raise Refused(
                f"{name} has none of the required files.{there} Put them directly into it."
            )
        if len(found) > limits.files:
            raise Refused(
                f"{name} has more than {limits.files} of the required files. Hand in only what is "
                "needed."
            )
        _check_names([file for file, _ in found])
        into.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(
            prefix=".intake-", dir=into.parent, ignore_cleanup_errors=True
        )
        copies, room = Path(stack.enter_context(scratch), "copies"), limits.total
        for file, chunks in found:
            (copies / file).parent.mkdir(parents=True, exist_ok=True)
            room -= _copy(chunks, copies / file, limit_of(file), room)
        copies.rename(into)
    return [f"Left out because it is not needed: {_few(left_out)}."] if left_out else []


def _copy(chunks, target, limit, room):
    """Write a file and return its size."""
    size = 0
    with open(target, "xb") as file:
        for chunk in chunks:
            size += len(chunk)
            if size > limit:
                raise Refused(
                    f"{target.name} is larger than the limit of {limit} bytes. Is it the right "
                    "file?"
                )
            if size > room:
                raise Refused("The files are too large in total. Hand in only what is needed.")
            file.write(chunk)
    return size


@contextlib.contextmanager
def _reading(name, broken=""):
    """Turn an error in the block into Refused: the input is at fault."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:  # whatever forged bytes make zipfile raise
        disk = isinstance(error, OSError) and error.errno != errno.EINVAL  # that is a forged place
        why = str(error) or type(error).__name__
        if isinstance(error, OSError):
            why = error.strerror if disk else "it is damaged"
        says = broken if broken and not disk else f"cannot be read: {_shown(why, 200)}"
        raise Refused(f"{_shown(name)} {says}. {COPY if disk else AGAIN}") from None


def _check_names(names):
    """Raise Refused for a name that is not plain, and for two that are the same on some system."""
    seen = {}
    for name in names:
        if not name.isprintable() or UNSAFE & {*name} or len(name) > 100:
            raise Refused(
                f"The name {_shown(ascii(name))} is too long or has characters that no file name "
                "should have. Rename the file, or leave it out."
            )
        key = unicodedata.normalize("NFKC", name).casefold()
        if seen.get(key) == name:
            raise Refused(f"{_shown(name)} is there twice. Hand in only one of them.")
        if key in seen:
            raise Refused(
                f"{_shown(seen[key])} and {_shown(name)} are the same name on some systems. Hand "
                "in only one of them."
            )
        seen[key] = name


def _shown(text, length=60):
    return text if len(text) <= length and text.isprintable() else ascii(text[:length])


def _few(names):
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(map(_shown, names[:4])) + more


def _in_folder(source, limit_of, limits, folders):
    """The wanted files: their names, and contents in chunks."""
    found = []
    for folder in ("", *folders):
        if os.path.islink(source / folder) and folder:
            raise Refused(f"{folder} in {_shown(source.name)} is a link. Put a folder there.")
        if os.path.isdir(source / folder):
            with _reading(source.name):
                with os.scandir(source / folder) as entries:
                    names = (PurePosixPath(folder, entry.name).as_posix() for entry in entries)
                    wanted = (name for name in names if limit_of(name) is not None)
                    found += islice(wanted, limits.files + 1)
    return [(name, _file_chunks(source / name)) for name in sorted(found)]


def _file_chunks(path) -> Iterator[bytes]:
    with _reading(path.name):
        _require_file(path.name, os.lstat(path).st_mode)
        with open(path, "rb", opener=lambda name, _: os.open(name, OPEN_FLAGS)) as file:
            status = os.fstat(file.fileno())
            _require_file(path.name, status.st_mode)  # in case it was exchanged
            if status.st_nlink > 1:
                raise Refused(
                    f"{path.name} is a hard link: the same file has another name. Put a copy there."
                )
            while chunk := file.read(CHUNK):
                yield chunk


def _require_file(name, mode):
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder"}
        kind = kinds.get(stat.S_IFMT(mode), "not a regular file")
        raise Refused(f"{_shown(name)} is {kind}. Put the file itself there.")


class _Sparing(io.BufferedReader):
    """A file that refuses large reads: zipfile would read a table of contents of any size."""

    def read(self, size=-1):
        if size is not None and size > TABLE:
            raise Refused(f"The zip's table of contents is too large. {AGAIN}")
        return super().read(size)


def _in_zip(archive, name, limit_of, folders, known):
    """As _in_folder; and the names of what is left out."""
    files = []  # of each: its path, the folder of its submission, its name in that, its entry
    for info in archive.filelist:
        text = info.filename.replace("\\", "/")  # written by old Windows programs
        path = PurePosixPath(text)
        if path.name and not text.endswith("/") and not PASSED_OVER.intersection(path.parts):
            folder = _home(path, folders)
            files.append((path, folder, path.relative_to(folder).as_posix(), info))
    wanted = [path for path, _, file, _ in files if limit_of(file) is not None]
    home = home_of(wanted, known, folders) or home_of(wanted, wanted, folders)
    top = commonprefix([folder.parts for _, folder, _, _ in files])
    found, left_out = [], {}
    for path, folder, file, info in files:
        if folder == home and limit_of(file) is not None:
            found.append((file, _entry_chunks(archive, info, f"{file} in {name}")))
        else:  # what is named: a file, or the highest folder that has none of the wanted ones
            fork = len(commonprefix([path.parent.parts, home.parts if home else top])) + 1
            shown = "/".join(path.parts[len(top) : fork])
            left_out[shown + "/" * (fork < len(path.parts))] = True
    return found, list(left_out)


def home_of(
    files: Iterable[PurePosixPath],
    known: Iterable[str | PurePosixPath],
    folders: Collection[str] = (),
) -> PurePosixPath | None:
    """Which folder of a hand-in is the submission: `src/submission`, where a release has it; else
    the one that contains the others; else the only one named `submission`.

    Args:
        files: paths in the hand-in.
        known: the files that tell a submission; those of this name count, but in hidden folders.
        folders: names of a submission's subfolders.

    Returns:
        The folder, or None if no file is known.

    Raises:
        Refused: several folders may be the submission.
    """
    names = {PurePosixPath(path).name for path in known}
    known = [path for path in files if path.name in names and not HIDDEN.search(path.as_posix())]
    homes = sorted(
        {_home(path, folders).parts for path in known}, key=lambda home: (len(home), home)
    )
    in_place = [home for home in homes if home[-2:] == ("src", "submission")]
    for choice in (
        [home for home in in_place if len(home) == len(in_place[0])],
        [home for home in homes[:1] if home == commonprefix(homes)],
        [home for home in homes if home[-1:] == ("submission",)],
    ):
        if len(choice) == 1:
            return PurePosixPath(*choice[0])
    if not homes:
        return None
    one, other = (_shown("/".join(home)) for home in homes[:2])
    raise Refused(
        f"It has the required files in several folders, {one} and {other}. Make a zip with only "
        "the right files."
    )


def _home(path, folders):
    """The folder of the submission that has this file: its own, or that above one of `folders`."""
    return path.parents[path.parent.name in folders]


def _entry_chunks(archive, info, where) -> Iterator[bytes]:
    with _reading(where):
        if mode := stat.S_IFMT(info.external_attr >> 16):  # systems without modes give none
            _require_file(where, mode)
        if info.flag_bits & ENCRYPTED:
            raise Refused(f"{_shown(where)} is encrypted. Make the zip without a password.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NotImplementedError("of its compression")  # others unpack to any size at once
        with archive.open(info) as stream:
            while chunk := stream.read(CHUNK):
                yield chunk
