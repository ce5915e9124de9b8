"""HEAD, branches and logs of a clone, read as text: git, which would read the clone's configuration
with them, has no part in it.
"""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from autograder.intake import OPEN_FLAGS

from .contents import MOST_FOLDERS

HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
REF = re.compile(r"HEAD|refs(/(?!\.)[^\x00-\x20\x7f/\\:?*\[~^]+)+")
LOGGED = re.compile(r"(\w+) (\w+) .*> (\d{1,12}) [+-]\d{4}\t(.*)")
KINDS = ("refs/heads/", "refs/remotes/origin/")  # a clone's own branches, and those it fetched
LARGEST = 16 << 20  # bytes of a file
ROWS = 200  # of a log: the last ones


@dataclass(frozen=True)
class Moved:
    """A row of a branch's log in the clone: what it named before and after, when, and why."""

    old: str
    new: str
    time: int
    why: str


class Refs:
    """The refs of a clone.

    Args:
        git: its folder .git, or the bare clone.
    """

    def __init__(self, git: Path):
        self.git = git
        packed = re.findall(r"(?m)^([0-9a-f]+) (refs/\S+)$", self.text("packed-refs"))
        self.packed = {name: hash for hash, name in packed if HASH.fullmatch(hash)}

    def text(self, name: str) -> str:
        """A text file of the clone; "" if there is none."""
        try:
            descriptor = os.open(self.git / name, OPEN_FLAGS)
        except OSError:
            return ""
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            return file.read(LARGEST).decode("utf-8", "replace")

    @property
    def branch(self) -> str:
        """The branch that HEAD names; "" if it names a commit."""
        return (re.match(r"ref: refs/heads/(.+)\n?\Z", self.text("HEAD")) or [""] * 2)[1]

    def refs(self) -> list[str]:
        """The branches of the clone and of where it came from, as refs/heads/main."""
        found = {*self.packed}
        for kind in KINDS:
            paths = sorted((self.git / kind).rglob("*"))[:MOST_FOLDERS]
            found |= {path.relative_to(self.git).as_posix() for path in paths if path.is_file()}
        return sorted(
            name for name in found if name.startswith(KINDS) and not name.endswith("/HEAD")
        )

    def resolve(self, name: str, depth: int = 5) -> str | None:
        """The hash that a ref names; None if it doesn't exist."""
        if not REF.fullmatch(name) or not depth:
            return None
        text = self.text(name).strip()
        if text.startswith("ref: "):
            return self.resolve(text[5:].strip(), depth - 1)
        if HASH.fullmatch(text):
            return text
        # branches that git has put into one file
        return self.packed.get(name)

    def log(self, name: str) -> list[Moved]:
        """The log of a ref in this clone, oldest first: whoever cloned it wrote it, by fetching."""
        rows = map(LOGGED.fullmatch, self.text(f"logs/{name}").splitlines())
        return [Moved(row[1], row[2], int(row[3]), row[4]) for row in rows if row][-ROWS:]
