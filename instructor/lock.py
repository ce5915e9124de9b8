"""Makes the files of all versions and hashes anew: `python -m instructor lock` (it needs uv).

They hold for Linux, macOS and Windows and every Python from 3.11 on: the pins of pyproject.toml and
all that these need. Versions that still fit are kept; `--upgrade` takes the newest. torch and what
it alone needs on Linux for CUDA are left out: builds with and without CUDA come from several
indexes and have other hashes, so src/launch.py installs torch by its version.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from common.files import UserError, read_text, write_text
from instructor import ROOT
from launch import LOCKS

LEFT_OUT = re.compile(r"(torch|triton|(nvidia|cuda)-[\w-]+)==")
HEAD = """\
# Made from pyproject.toml: all packages but torch (see src/launch.py), with versions and hashes,
# for every system.
"""


def run(args: argparse.Namespace) -> int:
    """Write the lock files; returns the exit code.

    Raises:
        UserError: uv is not there, or failed.
    """
    if not shutil.which("uv"):
        raise UserError("uv, which makes the lock files, is not installed: pip install uv")
    command = ["uv", "pip", "compile", "pyproject.toml", "--quiet", "--universal"]
    command += ["--generate-hashes", "--no-annotate", "--no-header", "--python-version", "3.11"]
    for name, tables in LOCKS.items():
        command += [word for table in tables for word in ("--extra", table)]
        with tempfile.TemporaryDirectory() as folder:
            out, path = Path(folder) / "lock", ROOT / name
            if path.exists() and not args.upgrade:
                shutil.copy(path, out)  # uv keeps its versions
            if subprocess.run([*command, "--output-file", str(out)], cwd=ROOT).returncode:
                raise UserError("uv could not choose the packages; it says why above.")
            packages = re.split(r"^(?=\S)", read_text(out), flags=re.MULTILINE)
        kept = [text for text in packages if "==" in text and not LEFT_OUT.match(text)]
        write_text(path, HEAD + "".join(kept))
        command += ["--constraints", str(path)]  # the same versions in the next file
        print(f"{name}: {len(kept)} packages")
    return 0
