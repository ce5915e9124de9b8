"""Traces that attacks leave: processes and files; and the judge's state, which none may change."""

import contextlib
import os
import re
import site
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from proof import ROOT

from helpers import command_of, descendants, is_running, wait_until

# below which a submission might leave a file, each without other file systems
PLACES = "/", "/run", "/dev/shm", "/var/tmp", tempfile.gettempdir(), Path.home(), os.getcwd(), ROOT
DEPTH = "4"  # of folders below these
STATUS = "Uid", "Umask", "SigBlk", "SigIgn", "SigCgt", "Cpus_allowed:"


def processes(known: set[int]) -> list[str]:
    """Return the unknown processes below this one, after giving them a moment to end."""

    def unknown():
        return [pid for pid in {*descendants()} - known if is_running(pid)]

    with contextlib.suppress(AssertionError):
        wait_until(lambda: not unknown(), 5)
    return [f"process {pid} ({command_of(pid)})" for pid in unknown()]


def files(mark: str, folder: Path) -> list[str]:
    """Return the files with a mark in their name, which are removed, or (small ones, changed in the
    last minutes, but none in `folder`, the submission's) in their text.
    """
    find = ["find", *PLACES, *site.getsitepackages(), "-xdev", "-maxdepth", DEPTH]
    find += ["-name", f"*{mark}*", "-print", "-o", "-path", folder, "-prune"]
    find += ["-o", "-cmin", "-9", "-type", "f", "-size", "-65k"]
    find += ["-exec", "grep", "-lF", mark, "{}", "+"]
    found = subprocess.run(find, capture_output=True, encoding="utf-8", errors="surrogateescape")
    paths = {*found.stdout.splitlines()}
    subprocess.run(["rm", "-rf", *(path for path in paths if mark in path)])
    return sorted(paths)


def judge() -> set[str]:
    """Return facts about this process that no attack may change."""
    facts = {f"{name}: {hash(value)}" for name, value in os.environ.items()}  # it may be secret
    facts |= {f"module {name}" for name in sys.modules if name.split(".")[0] == "submission"}
    facts |= {f"folder {os.getcwd()}", f"priority {os.getpriority(os.PRIO_PROCESS, 0)}"}
    status, limits, score = (
        Path("/proc/self", name).read_text(encoding="utf-8")
        for name in ("status", "limits", "oom_score_adj")
    )
    facts |= {limits, score, *(line for line in status.splitlines() if line.startswith(STATUS))}
    opened = Counter()  # by kind: a student's process that was replaced has others
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the folder's own
            opened[re.split("[:#]", os.readlink(f"/proc/self/fd/{number}"))[0]] += 1
    # matplotlib keeps fonts open, and closes them when it likes
    files = (path for path in opened if not path.endswith((".otf", ".ttf")))
    return facts | {f"{opened[path]} open: {path}" for path in files}
