"""Copy a hand-in, a folder or a zip file, without trusting anything in it.

Every copied file is a regular file with a harmless name and a size that was counted, not read from
a header, so code that uses the copies need not check them again. From a zip, only the wanted files
are unpacked, as streams. Everything else is left out, unless it shows that the zip is an attack or
damaged.
"""

import contextlib
import errno
import io
import os
import re
import stat
import struct
import sys
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, pairwise
from os.path import commonprefix
from pathlib import Path, PurePosixPath

CHUNK = 1 << 20  # bytes in memory at once
TABLE = 2 << 20  # the same for a zip's table of contents
OPEN_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC")
)
# in zips: what systems and tools add on their own
PASSED_OVER = {"__MACOSX", "__pycache__", ".git", ".DS_Store"}
# paths that lead out of the folder a zip is unpacked into
LEADS_OUT = re.compile(r"/|[a-z]:|(.*/)?\.\.(/|\Z)", re.IGNORECASE | re.ASCII | re.DOTALL)
# Control characters, bidirectional overrides, lone surrogates, and what Windows treats as part of
# a path.
BAD_CHARACTER = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\\:]"
)
DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE)
UNREADABLE = 0x2041  # a zip entry's flags for the kinds of encryption
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
)
ZIP_AGAIN = "Make a new zip with your system's own program."
RENAME = "Rename the file, or leave it out."


class Refused(ValueError):
    """Nothing was copied; the message says what is wrong, where, and what to do."""


@dataclass(frozen=True)
class Limits:
    """How much is accepted.

    files: number of wanted files. total: their bytes in all. entries: files and folders in a zip,
    wanted or not, except those passed over. ratio: how many times its own size a zip may unpack
    to, if that is more than `small` bytes.
    """

    files: int = 64
    total: int = 1 << 30
    entries: int = 10_000
    ratio: int = 100
    small: int = 16 << 20


def take(
    source: Path,
    into: Path,
    wanted: dict[str, int] | Callable[[str], int | None],
    limits: Limits = Limits(),
    folders: tuple[str, ...] = (),
) -> list[str]:
    """Copy the wanted files of a submission into a new folder: all of them, or nothing.

    Args:
        source: a folder, of which only the files at its top and in `folders` are examined, or a
            zip, whose wanted files may be inside one folder.
        into: the folder to create; missing parents are created.
        wanted: the maximum size in bytes of each file, by name, such as "a.py", or "part/b.py" in
            one of `folders`; or a function that returns it, or None to leave the file out.
        limits: how much is accepted.
        folders: names of a submission's subfolders that may also contain wanted files.

    Returns:
        Sentences for the person who handed it in: what was left out of a zip.

    Raises:
        Refused: there are no wanted files, or something is wrong.
        OSError: `into` exists, or cannot be written.
    """
    if os.path.lexists(into):
        raise FileExistsError(f"{into} exists already")
    limit_of = wanted if callable(wanted) else wanted.get
    name = source.name or str(source)
    with contextlib.ExitStack() as stack:
        with _reading(name):
            # a link is fine here: the grader's user chooses the source
            status = os.stat(source)
        if stat.S_ISDIR(status.st_mode):
            files, left_out, most = (
                _in_folder(source, name, limit_of, limits, folders),
                [],
                limits.total,
            )
        elif stat.S_ISREG(status.st_mode):
            with _reading(name):
                file = stack.enter_context(
                    _Sparing(io.FileIO(_open(Path(os.path.realpath(source)))))
                )
            files, left_out = _in_zip(file, name, limit_of, limits, folders)
            most = min(limits.total, max(limits.small, limits.ratio * status.st_size))
        else:
            raise Refused(f"{name} is neither a folder nor a zip file. Give one of them.")
        if not files:
            there = f" It has {_few(left_out)}." if left_out else ""
            raise Refused(
                f"{name} has none of the required files.{there} Put them directly into it."
            )
        if len(files) > limits.files:
            raise Refused(
                f"{name} has more than {limits.files} of the required files. Hand in only what is "
                "needed."
            )
        into.parent.mkdir(parents=True, exist_ok=True)
        scratch = stack.enter_context(
            tempfile.TemporaryDirectory(
                prefix=".intake-", dir=into.parent, ignore_cleanup_errors=True
            )
        )
        copies, room = Path(scratch) / "copies", most
        for folder in ("", *folders):
            (copies / folder).mkdir()
            # whatever the umask: a process with fewer rights than this one must be able to read it
            (copies / folder).chmod(0o755)
        for target, limit, chunks in files:
            room -= _copy(
                chunks,
                copies / target,
                limit,
                room,
                f"The files in {name} have more than {most >> 20} MiB in total",
            )
        for folder in folders:
            if not any((copies / folder).iterdir()):
                (copies / folder).rmdir()
        copies.rename(into)
    return [f"Left out because it is not needed: {_few(left_out)}."] if left_out else []


def _copy(chunks, target, limit, room, too_much):
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
                raise Refused(
                    f"{too_much}, too much for a submission. Hand in only what is needed."
                )
            file.write(chunk)
    target.chmod(0o644)
    return size


@contextlib.contextmanager
def _reading(name, broken="is not a zip file, or is damaged"):
    """Turn a read error in the block into Refused: the input is at fault."""
    try:
        yield
    except Refused:
        raise
    except (FileNotFoundError, NotADirectoryError):
        raise Refused(f"{_shown(name)} does not exist. Check the name.") from None
    except (OSError, *BROKEN) as error:
        # EINVAL: a zip that points before its beginning
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise Refused(
                f"{_shown(name)} cannot be read: {error.strerror}. Put an intact copy there."
            ) from None
        raise Refused(f"{_shown(name)} {broken}. {ZIP_AGAIN}") from None


def _open(path):
    """A descriptor of a regular file: opened without blocking on a FIFO, and refused if the file
    was replaced in the meantime.
    """
    before = os.lstat(path)
    if not stat.S_ISREG(before.st_mode):
        kind = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder"}.get(
            stat.S_IFMT(before.st_mode), "not a regular file"
        )
        raise Refused(f"{path.name} is {kind}. Put the file itself there.")
    descriptor = os.open(path, OPEN_FLAGS)
    if not os.path.samestat(before, now := os.fstat(descriptor)) or not stat.S_ISREG(now.st_mode):
        os.close(descriptor)
        raise Refused(f"{path.name} was replaced while it was read. Hand it in again.")
    return descriptor


# Names


def _check_names(names):
    """Raise Refused for a file name that some system would treat as something else, and for two
    names that are the same on some system.
    """
    seen = {}
    for name in names:
        if bad := BAD_CHARACTER.search(name):
            raise Refused(f"The name {name[:60]!r} has the character {ascii(bad[0])}. {RENAME}")
        if len(PurePosixPath(name).name.encode()) > 255:
            raise Refused(f"The name {name[:60]!r} is too long. {RENAME}")
        if DEVICE.fullmatch(PurePosixPath(name).name):
            raise Refused(f"The name {name[:60]!r} is a device name on Windows. {RENAME}")
        key = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).rstrip(
            " ."
        )
        if key in seen:
            raise Refused(
                f"{_shown(seen[key])} and {_shown(name)} are the same name on some systems. Hand "
                "in only one of them."
            )
        seen[key] = name


def _shown(name):
    return name if len(name) <= 60 and name.isprintable() else repr(name[:60])


def _few(names):
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(map(_shown, names[:4])) + more


# Folders


def _in_folder(source, name, limit_of, limits, folders):
    """The wanted files: their names, limits, and contents in chunks."""
    found = []
    for folder in ("", *folders):
        if folder and not os.path.lexists(source / folder):
            continue
        if folder and not stat.S_ISDIR(os.lstat(source / folder).st_mode):
            raise Refused(f"{folder} in {_shown(name)} is not a folder. Put a folder there.")
        with _reading(name), os.scandir(source / folder) as entries:
            names = (f"{folder}/{entry.name}" if folder else entry.name for entry in entries)
            wanted = ((entry, limit_of(entry)) for entry in names)
            found += islice(
                ((entry, limit) for entry, limit in wanted if limit is not None), limits.files + 1
            )
    found.sort()
    _check_names(entry for entry, _ in found)
    return [(entry, limit, _file_chunks(source / entry)) for entry, limit in found]


def _file_chunks(path):
    with _reading(path.name), open(_open(path), "rb") as file:
        if os.fstat(file.fileno()).st_nlink > 1:
            raise Refused(
                f"{path.name} is a hard link: the same file has another name. Put a copy there."
            )
        while chunk := file.read(CHUNK):
            yield chunk


# Zip files


class _Sparing(io.BufferedReader):
    """A file that refuses large reads: zipfile would read a table of contents of any size."""

    def read(self, size=-1):
        if size is not None and size > TABLE:
            raise Refused(f"The zip's table of contents is too large. {ZIP_AGAIN}")
        return super().read(size)


def _in_zip(file, name, limit_of, limits, folders):
    """As _in_folder; and the names of what is left out."""
    with _reading(name):
        archive = zipfile.ZipFile(file)
        _check_overlaps(archive)
    entries = []
    for info in archive.filelist:
        path = info.orig_filename.replace("\\", "/")  # written by old Windows programs
        if LEADS_OUT.match(path):
            raise Refused(f"The name {path[:60]!r} in {name} leads out of its folder. {ZIP_AGAIN}")
        parts = PurePosixPath(path).parts
        if not PASSED_OVER.intersection(parts):
            entries.append((parts, path.endswith("/"), info))
    if len(entries) > limits.entries:
        raise Refused(
            f"{name} has more than {limits.entries} files and folders. Hand in only what is needed."
        )
    files = []  # of each: the submission's folder that it may be in, its name there, its limit
    for parts, is_folder, info in entries:
        if parts and not is_folder:
            inner = 2 if parts[-2:-1] and parts[-2] in folders else 1
            files.append((parts, parts[:-inner], "/".join(parts[-inner:]), info))
    top = commonprefix([folder for _, folder, _, _ in files])
    files = [(parts, folder, entry, limit_of(entry), info) for parts, folder, entry, info in files]
    home = _home([folder for _, folder, _, limit, _ in files if limit is not None], top, name)
    found, left_out = [], {}
    for parts, folder, entry, limit, info in files:
        if limit is None or folder != home:
            fork = len(commonprefix([parts[:-1], home])) + 1
            left_out["/".join(parts[len(top) : fork]) + "/" * (fork < len(parts))] = True
        elif stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise Refused(
                f"{_shown(entry)} in {name} is a link or a device. Put the file itself there."
            )
        elif info.flag_bits & UNREADABLE:
            raise Refused(
                f"{_shown(entry)} in {name} is encrypted. Make the zip without a password."
            )
        # other methods could unpack to any size at once
        elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refused(f"{_shown(entry)} in {name} uses an unsupported compression. {ZIP_AGAIN}")
        else:
            found.append((entry, limit, _entry_chunks(archive, info, f"{entry} in {name}")))
    _check_names(entry for entry, _, _ in found)
    return found, list(left_out)


def _home(folders, top, name):
    """Which of the folders with wanted files is the submission: the top, the only one named
    `submission`, or the one that contains the others.
    """
    folders = sorted(set(folders), key=lambda parts: (len(parts), parts))
    called = [folder for folder in folders if folder[-1:] == ("submission",)]
    for home in (top, called[0] if len(called) == 1 else None, commonprefix(folders)):
        if home in folders or not folders:
            return home
    one, other = (_shown("/".join(folder)) for folder in folders[:2])
    raise Refused(
        f"{name} has the required files in several folders, {one} and {other}. Make a zip with "
        "only the right files."
    )


def _check_overlaps(archive):
    """Raise BadZipFile if entries share bytes, with which a small zip can have any number of large
    files, or if a name contains a NUL.
    """
    spans = []
    for info in archive.filelist:
        archive.fp.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", archive.fp.read(4))
        spans.append(
            (info.header_offset, info.header_offset + 30 + name + extra + info.compress_size)
        )
        if "\0" in info.orig_filename:  # `filename` ends there
            raise zipfile.BadZipFile
    spans.append((archive.start_dir, archive.start_dir))
    if any(end > start for (_, end), (start, _) in pairwise(sorted(spans))):
        raise zipfile.BadZipFile


def _entry_chunks(archive, info, where):
    size, declared = 0, info.file_size
    # so that zipfile returns all data, not just as much as the header says
    info.file_size = sys.maxsize
    with _reading(where, "is damaged"), archive.open(info) as stream:
        while chunk := stream.read(CHUNK):
            size += len(chunk)
            yield chunk
        if size != declared:
            raise zipfile.BadZipFile
