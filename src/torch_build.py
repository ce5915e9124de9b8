"""Where the launcher's packages come from: which build of torch, with CUDA or without, from which
index; and whether indexes answer.
"""

import contextlib
import os
import re
import shutil
import ssl
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

TORCH_INDEX = "https://download.pytorch.org/whl/"  # for Linux and Windows, with CUDA and without
CUDA = "cu130"  # of torch 2.13.0 on PyPI for Linux; Windows needs the index for it
PYPI = "https://pypi.org/simple/tqdm/"
# Variables and files that give pip or uv another index.
ELSEWHERE = r"(PIP|UV)_(.*INDEX.*|FIND_LINKS|CONFIG_FILE)"
SETTINGS = ("/etc/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf", "~/pip/pip.ini")
SETTINGS += ("~/AppData/Roaming/pip/pip.ini", "~/.config/uv/uv.toml", "/etc/uv/uv.toml")
PATIENCE = 10.0  # seconds until a server counts as not answering


class Refused(Exception):
    """Why nothing runs, in words; the exit code is 2."""


class Source(NamedTuple):
    """Where torch comes from.

    Attributes:
        index: its address; None for PyPI.
        instead: the index that should have had it; "" if that is `index`.
    """

    index: str | None
    instead: str = ""

    def has_cuda(self, build: str) -> bool:
        """Whether the torch that comes from here as this build is one with CUDA."""
        if self.index is None:
            return sys.platform == "linux"
        return build != "cpu"

    def reason(self, build: str) -> str:
        """Which torch comes, and why, in words."""
        if sys.platform == "darwin":
            return "torch comes from PyPI."
        which = f"{'with' if self.has_cuda(build) else 'without'} CUDA"
        if self.instead:
            return f"torch comes from PyPI, {which}: {self.instead} can't be used from here."
        found, other = ("an", "cpu") if build == "cuda" else ("no", "cuda")
        return (
            f"torch comes {which}, since there is {found} NVIDIA GPU here. (The variable "
            f"TORCH_BUILD={other} chooses otherwise.)"
        )


def wanted_build() -> str:
    """The variable TORCH_BUILD: cpu, cuda, or a folder of PyTorch's index such as cu126; "" if it
    is not set.

    Raises:
        Refused: it can't be a name of a build.
    """
    wanted = os.environ.get("TORCH_BUILD", "")
    if wanted and not re.fullmatch(r"[a-z]+[0-9.]*", wanted):
        raise Refused(
            f"TORCH_BUILD is {wanted!r}. It can be cpu, cuda, or a folder of {TORCH_INDEX} such as "
            "cu126; without it, the launcher chooses."
        )
    return wanted


def has_nvidia_gpu() -> bool:
    """Whether this machine has NVIDIA's driver."""
    places = ("/proc/driver/nvidia/version", "/usr/lib/wsl/lib/nvidia-smi")
    return shutil.which("nvidia-smi") is not None or any(map(os.path.exists, places))


def index_of(build: str) -> str | None:
    """The index that has this build of torch; None for PyPI, which has CUDA for Linux only."""
    default = {"linux": "cuda", "win32": "cpu"}.get(sys.platform)
    if build == default or sys.platform == "darwin":
        return None
    return TORCH_INDEX + (CUDA if build == "cuda" else build)


def read_page(url: str) -> str | None:
    """The text at a URL; "" if this Python lacks the system's certificates (pip and uv bring
    theirs); None if there is none, or nobody answers in time.
    """
    answers = []

    def ask():
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as page:
                answers.append(page.read().decode("utf-8", errors="replace"))
        except urllib.error.URLError as error:
            answers.append("" if isinstance(error.reason, ssl.SSLError) else None)
        except OSError:
            answers.append(None)

    asking = threading.Thread(target=ask, daemon=True)  # looking up a name has no time limit
    asking.start()
    asking.join(PATIENCE)
    return answers[0] if answers else None


def find_torch(pin: str, build: str) -> Source:
    """Where torch in its pinned version, `torch==2.13.0`, is to be had as a build. PyPI replaces
    PyTorch's index for a build that nobody asked for by name.

    Raises:
        Refused: it can't be had.
    """
    index = index_of(build)
    if index is None:
        return Source(None)
    page = read_page(f"{index}/torch/")
    if page == "" or page and re.search(rf"\b{pin.replace('==', '-')}(?![.\d])", page):
        return Source(index)
    why = f"has no {pin}" if page else "does not answer, or does not exist"
    if wanted_build() or build not in ("cpu", "cuda"):
        raise Refused(
            f"torch can't be had as {build}: {index} {why}. Nothing was changed. Choose another "
            "TORCH_BUILD, or none."
        )
    return Source(None, instead=index)


def is_online() -> bool:
    """Whether PyPI answers, or pip or uv are set to take packages from elsewhere, too."""
    elsewhere = any(re.fullmatch(ELSEWHERE, name) for name in os.environ)
    for path in map(Path, map(os.path.expanduser, SETTINGS)):
        with contextlib.suppress(OSError):
            text = path.read_text(encoding="utf-8", errors="replace")
            elsewhere |= bool(re.search(r"^\W*(.*index|find-links)", text, re.MULTILINE))
    return elsewhere or read_page(PYPI) is not None
