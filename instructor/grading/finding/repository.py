"""Reads a clone without trusting it: the configuration, hooks and filters of a stranger's
repository can make git run programs.

Git gets a folder of ours, with our configuration, and of the clone its objects alone: no work tree,
no checkout, no filter, no network. refs.py reads HEAD, branches and logs as text.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .places import AGAIN, TooLarge, Unreadable, git_folder, require_plain
from .refs import HASH, Refs

LARGEST_TREES = 16 << 20  # bytes of the folders that are read at once
MOST_ENTRIES = 50_000  # of all folders that are read
MOST_COMMITS = 100_000
SECONDS, MEMORY = 60, 2 << 30  # for one run of git
CONFIG = """[core]
    repositoryformatversion = {version}
    bare = true
    commitGraph = false
    multiPackIndex = false
    packedGitWindowSize = 32m
    packedGitLimit = 256m
[extensions]
    {extension}
"""


@dataclass(frozen=True)
class Commit:
    """A commit: its hash, when its author says that it was made, in seconds since 1970, and the
    hashes of its parents.
    """

    hash: str
    time: int
    parents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A file in a commit: its mode, which is that of a file system, and the hash of its content."""

    mode: int
    hash: str


@contextlib.contextmanager
def reading(path: Path) -> Iterator["Repository"]:
    """Open a clone.

    Raises:
        Unreadable: it is damaged, or needs something outside of it; git is missing.
    """
    if not shutil.which("git"):
        raise Unreadable("git is not installed on this machine (apt install git).")
    folder = git_folder(path)
    try:
        require_plain(folder)
        with tempfile.TemporaryDirectory(prefix="clone-") as ours:
            yield Repository(folder, Path(ours))
    except OSError as error:
        raise Unreadable(f"{error.strerror}. {AGAIN}") from None


class Repository(Refs):
    """An open clone; see `reading`.

    Args:
        git: the clone's own folder.
        ours: an empty folder.
    """

    def __init__(self, git: Path, ours: Path):
        super().__init__(git)
        self.ours, self._entries_left = ours, MOST_ENTRIES
        if self.branch == ".invalid" or os.path.lexists(git / "reftable"):
            raise Unreadable(
                "It keeps its branches in a form that is not read here (reftable). Clone it again, "
                "with --ref-format=files."
            )
        self.shallow = self.text("shallow").split()
        if not all(map(HASH.fullmatch, self.shallow)):
            raise Unreadable(f"Its file shallow is damaged. {AGAIN}")
        hashes = map(self.resolve, ("HEAD", *self.refs()))
        self.width = next((len(hash) for hash in hashes if hash), 40)
        extension = "objectFormat = sha256" if self.width == 64 else ""
        config = CONFIG.format(version=int(bool(extension)), extension=extension)
        for name in ("objects", "refs"):
            (ours / name).mkdir()
        (ours / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
        (ours / "config").write_text(config, encoding="utf-8")
        if self.shallow:
            (ours / "shallow").write_text(
                "".join(f"{name}\n" for name in self.shallow), encoding="utf-8"
            )

    @property
    def has_objects(self) -> bool:
        """Whether anything was ever stored or fetched."""
        return any(path.is_file() for path in (self.git / "objects").glob("[!i]*/*"))

    # What git reads

    def _words(self, *words):
        return ["git", "--no-pager", f"--git-dir={self.ours}", *words]

    @property
    def _options(self):
        """How git is started: with nothing of the user's, the system's or the clone's settings."""
        settings = {
            "GIT_OBJECT_DIRECTORY": str(self.git.absolute() / "objects"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "",
            "HOME": str(self.ours),
            "LC_ALL": "C",
            "PATH": os.environ.get("PATH", os.defpath),
        }
        return {"cwd": self.ours, "env": settings, "stderr": subprocess.DEVNULL, **LIMITED}

    def _ask(self, *words, text=""):
        """Run git; returns its exit code and its output, which is short."""
        try:
            process = subprocess.run(
                self._words(*words),
                input=text.encode(),
                stdout=subprocess.PIPE,
                timeout=SECONDS,
                **self._options,
            )
        except subprocess.TimeoutExpired:
            raise Unreadable(f"git took over {SECONDS} s to read it. {AGAIN}") from None
        return process.returncode, process.stdout

    def history(self, tip: str, without: str | None = None) -> list[Commit]:
        """All commits that a branch contains, none after one of its parents, else newest first.

        Args:
            without: leaves out what this other commit contains, too.

        Raises:
            Unreadable: commits are missing.
            TooLarge: there are too many.
        """
        words = ["--date-order", "--timestamp", "--parents", f"--max-count={MOST_COMMITS + 1}", tip]
        code, text = self._ask("rev-list", *words, *([f"^{without}"] if without else []))
        rows = [line.split() for line in text.decode("ascii", "replace").splitlines()]
        if code or not (rows or without):
            raise Unreadable(f"It is damaged, or lacks commits. {AGAIN}")
        if len(rows) > MOST_COMMITS:
            raise TooLarge(f"It has more than {MOST_COMMITS} commits.")
        return [Commit(hash, int(time), tuple(parents)) for time, hash, *parents in rows]

    def contains(self, tip: str, commit: str) -> bool | None:
        """Whether a commit is in the history of another one, or the same; None if git cannot tell,
        since one of them is not in the clone.
        """
        return {0: True, 1: False}.get(self._ask("merge-base", "--is-ancestor", commit, tip)[0])

    def trees(self, names: list[str]) -> list[dict[str, Entry]]:
        """The entries of folders. Hidden ones and names that no submission has are left out.

        Raises:
            Unreadable: they are damaged or missing.
            TooLarge: all that were read have too many.
        """
        return [self._entries(one) for one in self.contents(names, LARGEST_TREES, "tree")]

    def _entries(self, tree):
        """The entries of a folder, {name: Entry}."""
        entries, at = {}, 0
        try:
            while at < len(tree):
                self._entries_left -= 1
                if self._entries_left < 0:
                    raise TooLarge(
                        f"It has more than {MOST_ENTRIES} files near its top: it is too large for "
                        "a submission."
                    )
                space = tree.index(b" ", at)
                end = tree.index(b"\0", space)
                name = tree[space + 1 : end].decode("utf-8", "replace")
                if name in entries:
                    raise Unreadable(f"A folder in it has two entries of one name. {AGAIN}")
                mode, at = int(tree[at:space], 8), end + 1 + self.width // 2
                if not name.startswith(".") and not {*name} & {*"/\\\ufffd"}:
                    entries[name] = Entry(mode, tree[end + 1 : at].hex())
        except ValueError:
            raise Unreadable(f"A folder in it is damaged. {AGAIN}") from None
        return entries

    def sizes(self, names: list[str]) -> list[int]:
        """The sizes of objects in bytes, without reading them.

        Raises:
            Unreadable: one is missing.
        """
        _, text = self._ask("cat-file", "--batch-check", text="".join(f"{x}\n" for x in names))
        rows = [line.split() for line in text.decode("ascii", "replace").splitlines()]
        if len(rows) != len(names) or any(row[1:2] != ["blob"] for row in rows):
            raise _lacking()
        return [int(row[2]) for row in rows]

    def contents(self, names: list[str], most: int, kind: str = "blob") -> Iterator[bytes]:
        """The contents of objects, one after the other.

        Args:
            most: bytes in all.
            kind: blob or tree.

        Raises:
            Unreadable: one is missing, damaged or of another kind.
            TooLarge: they are larger than `most`.
        """
        with tempfile.TemporaryFile() as asked, contextlib.ExitStack() as stack:
            asked.write("".join(f"{name}\n" for name in names).encode())
            asked.seek(0)
            words = self._words("cat-file", "--batch")
            process = stack.enter_context(
                subprocess.Popen(words, stdin=asked, stdout=subprocess.PIPE, **self._options)
            )
            stack.callback(process.kill)
            for _ in names:
                header = process.stdout.readline(1000).split()
                if header[1:2] != [kind.encode()]:
                    raise _lacking()
                most -= (size := int(header[2]))
                if most < 0:
                    raise TooLarge("It is too large for a submission.")
                content = process.stdout.read(size + 1)
                if len(content) != size + 1:
                    raise _lacking()
                yield content[:-1]


def _lacking():
    return Unreadable(
        "It is damaged, or lacks files of its commits. Clone it again, without --filter."
    )


def _limit():
    """Limit what git may use: a small file of objects can unpack to any size."""
    import resource

    for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, SECONDS)):
        soft, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))


LIMITED = {"preexec_fn": _limit} if os.name == "posix" else {}  # Windows has no such thing
