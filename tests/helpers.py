"""Functions that tests share: paths, command lines, processes, pages, a small dataset."""

import contextlib
import io
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import pytest
import torch
from torch.utils.data import Dataset

from autograder.inside.watch import descendants  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = ROOT / "instructor" / "solution"
RESULTS = ROOT / "instructor" / "results"
STARTER = ROOT / "src" / "submission"
DATA = ROOT / "data" / "laptop"


def manifest_text():
    """The manifest and its parts as one file."""
    paths = (ROOT / "src" / "checks").rglob("manifest.toml")
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(paths))


def lack(what, how, required):
    """Skip a test for want of something that comes from outside Python, or fail it where CI says
    that it is there.

    Args:
        what: what it needs. how: why that is not here, and how to get it.
    """
    (pytest.fail if required else pytest.skip)(f"needs {what}: {how}")


def require_level(name=None):
    """The isolation level of that name, or the strongest. If it doesn't work, the test is skipped,
    or fails if the variable REQUIRE_LEVELS lists the level.
    """
    from autograder.trial import Unavailable, choose

    required = os.environ.get("REQUIRE_LEVELS", "").split()
    try:
        isolation = choose(name)
        if name is None and not isolation.strong:
            raise Unavailable(isolation.reason)
        return isolation
    except Unavailable as error:
        what, how = name or "a strong isolation level", str(error).removeprefix(f"{name}: ")
        lack(what, how, name in required or not name and required)


def require_tools(*names):
    """Skip a test if a program is missing, or fail it if REQUIRE_TEX says that all are there."""
    if missing := [name for name in names if not shutil.which(name)]:
        how = "handout/README.md lists the packages"
        lack(", ".join(missing), how, os.environ.get("REQUIRE_TEX"))


def replace(path, old, new):
    """Replace a text that a file has."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def pdftotext(pdf, *options):
    """The text of a PDF."""
    command = ["pdftotext", *map(str, options), str(pdf), "-"]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


def copy_reference(folder):
    """Copy the reference with its results into a new folder, like a submission; returns it."""
    shutil.copytree(SOLUTION, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return shutil.copytree(RESULTS, folder, dirs_exist_ok=True)


def run_cli(*args, cwd=ROOT):
    """Run src/run.py with one thread, in a fork of this process, which has imported torch; returns
    the finished process, its output as text.
    """
    words = [*map(str, args)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        fork = multiprocessing.get_context("fork").Process(
            target=_run_in_fork, args=(words, cwd, out.fileno(), err.fileno())
        )
        fork.start()
        fork.join()
        for file in (out, err):
            file.seek(0)
        texts = (file.read().decode().replace("\r\n", "\n") for file in (out, err))
        return subprocess.CompletedProcess(words, fork.exitcode, *texts)


def _run_in_fork(words, cwd, out, err):
    """Replace the output of this process by files, and end as run.main() does."""
    import run

    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdout, sys.stderr = (open(fd, "w", encoding="utf-8", closefd=False) for fd in (1, 2))
    torch.set_num_threads(1)
    os.chdir(cwd)
    sys.argv = [str(ROOT / "src" / "run.py"), *words]
    sys.exit(run.main())


def call(main, *arguments, cwd=ROOT, **environment):
    """Run a command line's main() in this process, which has imported torch; returns what a process
    of its own would: exit code and output.
    """
    words = [*map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "argv", ["", *words]),
        mock.patch.object(sys, "path", [*sys.path]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main()
        except SystemExit as exit:
            code = exit.code
    return subprocess.CompletedProcess(words, code or 0, out.getvalue(), err.getvalue())


def command_of(pid):
    """The command line of a process; "" if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""


def is_running(pid):
    """Whether a process is there, and no zombie."""
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(condition, seconds=60):
    """Wait until a function returns something true; fail after that time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


class Page(HTMLParser):
    """A page, or a part of one.

    Attributes:
        tags: each with its attributes, a dict.
        text: all of it, as it is; words: without styles and scripts, one space between two.
        links: what href and src lead to.
        tree: an element with the page in it, to be searched as XML is.
        balanced: whether all tags are closed in their order, and have no attribute twice.
    """

    def __init__(self, text):
        super().__init__()
        self.tree = ElementTree.Element("page")
        self.tags, self.open, self.links, self.balanced = [], [self.tree], [], True
        self.text = self.words = ""
        self.feed(text)
        self.close()
        self.words = " ".join(self.words.split())
        self.balanced = self.balanced and self.open == [self.tree]

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in ("meta", "link", "br", "input", "img", "hr", "col"):
            self.open.append(self.open[-1][-1])

    def handle_startendtag(self, tag, attrs):
        self.words += " "
        self.tags.append((tag, dict(attrs)))
        self.links += [value for name, value in attrs if name in ("href", "src")]
        self.balanced = self.balanced and len(dict(attrs)) == len(attrs)
        ElementTree.SubElement(self.open[-1], tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag):
        self.words += " "
        if self.open == [self.tree] or self.open.pop().tag != tag:
            self.balanced = False

    def handle_data(self, data):
        self.text += data
        last = self.open[-1]
        if len(last):
            last[-1].tail = (last[-1].tail or "") + data
        else:
            last.text = (last.text or "") + data
        if last.tag not in ("style", "script"):
            self.words += data


class Counting(Dataset):
    """Rows that count up, of different lengths drawn from torch's generator, so no two epochs are
    alike.
    """

    def __init__(self, n=37, width=14):
        self.data = list(range(n))
        self.width = width

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        length = int(torch.randint(3, self.width, ()))
        row = (torch.arange(self.width + 1) + idx) % 10 + 1
        row[length + 1 :] = 0
        return row[:-1], row[1:]
