"""Reads a clone without trusting it: the configuration, hooks and filters of a stranger's
repository can make git run programs.

Git gets a folder of ours with our configuration, and of the clone its objects and branches alone:
no work tree, no checkout, no filter, no network.
"""

import functools
import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from autograder.intake import Refused
from instructor.grading.text import clean

LARGEST = 16 << 20  # bytes of a list of branches or files
MOST_OBJECTS = 200_000  # files of objects and branches
SECONDS, MEMORY = 60, 2 << 30  # for one run of git
USED = ("HEAD", "config", "packed-refs", "objects", "refs")  # of a clone; nothing else is looked at
ELSEWHERE = {  # files that show that parts are missing or cannot be read, and what to do
    "objects/info/alternates": "It borrows objects. Clone it without --shared and --reference.",
    "shallow": "It lacks older commits. Fetch them: git fetch --unshallow.",
    "reftable": "Its branches are in a reftable. Clone it with --ref-format=files.",
}
LOCAL, PUSHED = "refs/heads/", "refs/remotes/origin/"
# fetched or not, without the one that staff pushes
EVERY_BRANCH = ("--exclude=feedback", "--branches", "--exclude=origin/feedback", "--remotes=origin")
HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
AGAIN = "Clone it again: git clone URL FOLDER, with no option but --branch, --bare or --mirror."
CONFIG = """[core]
    repositoryformatversion = 1
    bare = true
    commitGraph = false
    multiPackIndex = false
    packedGitWindowSize = 32m
    packedGitLimit = 256m
[extensions]
    objectFormat = {format}
"""


class Unreadable(Exception):
    """The clone cannot be read now, for a reason that may be the staff's; the message says it."""


class Commit(NamedTuple):
    """A commit: its hash, and when its author says that it was made, in seconds since 1970."""

    hash: str
    time: int


class Blob(NamedTuple):
    """A file in a commit: its mode, which is that of a file system, the hash of its content, and
    its size in bytes; None if the clone lacks it.
    """

    mode: int
    hash: str
    size: int | None


def git_folder(path: Path) -> Path | None:
    """Where the repository of a folder is: in .git, or the folder itself if the clone is bare; None
    if it is no clone.
    """
    if os.path.lexists(path / ".git"):
        return path / ".git"
    bare = (path / "HEAD").is_file() and all((path / name).is_dir() for name in ("objects", "refs"))
    return path if bare else None


class Repository:
    """A clone.

    Args:
        path: the clone.
        ours: an empty folder.

    Attributes:
        head: the branch or hash that HEAD names; "" if it is damaged.
        branches: the hash of each branch by its name: as it was fetched, if it was.

    Raises:
        Unreadable: it is damaged, or needs something outside of it; git is missing.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, ours: Path):
        if not shutil.which("git"):
            raise Unreadable("git is not installed on this machine (apt install git).")
        self.git, self.ours = git_folder(path).absolute(), ours
        self._require_whole()
        sha256 = re.search(r"(?im)^\s*objectformat\s*=\s*sha256\s*$", self._text("config"))
        config = CONFIG.format(format="sha256" if sha256 else "sha1")
        (ours / "config").write_text(config, encoding="utf-8")
        (ours / "HEAD").write_text(f"ref: {LOCAL}none\n", encoding="utf-8")
        for name in ("packed-refs", "refs"):
            (ours / name).symlink_to(self.git / name)
        head = self._text("HEAD").strip()
        is_valid = head.startswith(f"ref: {LOCAL}") or HASH.fullmatch(head)
        self.head = clean(head.removeprefix(f"ref: {LOCAL}")) if is_valid else ""
        self.branches = {}
        for kind in (LOCAL, PUSHED):
            rows = self._git("for-each-ref", "--format=%(objectname) %(refname)", kind)
            for row in rows.decode("utf-8", "surrogateescape").split("\n")[:-1]:
                hash, _, ref = row.partition(" ")
                if ref != f"{PUSHED}HEAD":
                    self.branches[clean(ref.removeprefix(kind))] = hash

    def _require_whole(self):
        """Raise Unreadable unless all of the clone's objects and branches are in its own folder."""
        if self.git.is_symlink() or not self.git.is_dir():
            raise Unreadable(f"Its .git is no folder, but names a repository elsewhere. {AGAIN}")
        for name, advice in ELSEWHERE.items():
            if os.path.lexists(self.git / name):
                raise Unreadable(advice)
        paths = [self.git / name for name in USED if os.path.lexists(self.git / name)]
        for number, path in enumerate(paths):
            mode = os.lstat(path).st_mode
            if stat.S_ISDIR(mode):
                paths += path.iterdir()
            elif not stat.S_ISREG(mode) or number > MOST_OBJECTS:
                raise Unreadable(f"It has links, devices, or too many files of objects. {AGAIN}")

    def _text(self, name):
        """The beginning of a small file of the clone."""
        with open(self.git / name, "rb") as file:
            return file.read(LARGEST).decode("utf-8", "surrogateescape")

    @property
    def has_objects(self) -> bool:
        """Whether anything was ever stored or fetched."""
        return any(path.is_file() for path in (self.git / "objects").glob("[!i]*/*"))

    def last(self, *starts: str, before: float | None = None) -> Commit | None:
        """The newest commit, of those that no other one on time descends from; None if there is
        none.

        Args:
            starts: the hashes of the commits whose history is searched, or EVERY_BRANCH; what a
                hash after ^ contains is left out.
            before: the last time that is on time, in seconds since 1970; by default, all are.

        Raises:
            Unreadable: commits are missing or damaged.
        """
        words = ["--date-order", "--timestamp", "--max-count=1"]
        words += [] if before is None else [f"--min-age={int(before)}"]
        row = self._git("rev-list", *words, *starts).decode("ascii").split()
        return Commit(row[1], int(row[0])) if row else None

    def files(self, commit: str) -> dict[PurePosixPath, Blob]:
        """The files and links in a commit, by path. Hidden ones, and names that no submission has,
        are left out. A submodule is a file without a size.

        Raises:
            Unreadable: folders are damaged or missing.
            Refused: there are too many files.
        """
        found = {}
        for row in self._git("ls-tree", "-rlz", "--full-tree", commit).split(b"\0")[:-1]:
            about, _, name = row.partition(b"\t")
            mode, _, hash, size = about.decode("ascii").split()
            name = name.decode("utf-8", "replace")
            path = PurePosixPath(name)
            if path in found:
                raise Unreadable(f"A folder in it has two entries of one name. {AGAIN}")
            if not {*name} & {*"\\\ufffd"} and not re.search(r"(^|/)(\.|/|$)", name):
                found[path] = Blob(int(mode, 8), hash, int(size) if size.isdigit() else None)
        return found

    def content(self, blob: Blob) -> bytes:
        """The content of a file.

        Raises:
            Unreadable: it is missing or damaged.
        """
        return self._git("cat-file", "blob", blob.hash, most=blob.size + 1)

    def _git(self, *words, most=LARGEST):
        """Run git with nothing of the user's, the system's or the clone's settings. Returns its
        output, less than `most` bytes.
        """
        settings = {
            "GIT_OBJECT_DIRECTORY": str(self.git / "objects"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "",
            "HOME": str(self.ours),
            "LC_ALL": "C",
            "PATH": os.environ.get("PATH", os.defpath),
        }
        with tempfile.TemporaryFile() as output:
            try:
                process = subprocess.run(
                    ["git", "--no-pager", f"--git-dir={self.ours}", *words],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.DEVNULL,
                    timeout=SECONDS,
                    cwd=self.ours,
                    env=settings,
                    preexec_fn=functools.partial(_limit, most) if os.name == "posix" else None,
                )
            except subprocess.TimeoutExpired:
                raise Unreadable(f"git took over {SECONDS} s to read it. {AGAIN}") from None
            if output.seek(0, os.SEEK_END) >= most:
                raise Refused("It is too large for a submission.")
            if process.returncode:
                raise Unreadable(f"It is damaged, or lacks commits or files. {AGAIN}")
            output.seek(0)
            return output.read()


def _limit(most):
    """Limit what git may use and write: a small file of objects can unpack to any size."""
    import resource

    for kind, wanted in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, most)):
        _, hard = resource.getrlimit(kind)
        wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (wanted, hard))
