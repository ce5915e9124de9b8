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

from common.files import UserError, write_text
from instructor import ROOT
from launch import LOCKS

LEFT_OUT = re.compile(r"(torch|triton|(nvidia|cuda)-[\w-]+)==")
HEAD = """\
# Made from pyproject.toml: all packages but torch (see src/launch.py), with versions and hashes,
# for every system.
"""


def locked(uv: str, tables: tuple[str, ...], before: str, constraints: list[Path]) -> str:
    """The text of a lock file.

    Args:
        uv: the program.
        tables: the extra tables of pyproject.toml in it.
        before: the text until now, whose versions are kept; "" for new versions.
        constraints: files whose versions must be the same.

    Raises:
        UserError: uv failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lock"
        out.write_text(before, encoding="utf-8")
        command = [uv, "pip", "compile", "pyproject.toml", "--output-file", str(out), "--quiet"]
        command += ["--universal", "--generate-hashes", "--no-annotate", "--no-header"]
        command += ["--python-version", "3.11"]
        for table in tables:
            command += ["--extra", table]
        for path in constraints:
            command += ["--constraints", str(path)]
        if subprocess.run(command, cwd=ROOT).returncode:
            raise UserError("uv could not choose the packages; it says why above.")
        text = out.read_text(encoding="utf-8")
    packages = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    return HEAD + "".join(one for one in packages if not LEFT_OUT.match(one))


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command to `python -m instructor`."""
    command = commands.add_parser(
        "lock", help="make requirements*.lock anew from pyproject.toml; needs uv"
    )
    command.add_argument(
        "--upgrade", action="store_true", help="take the newest versions of what is not pinned"
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the lock files; returns the exit code.

    Raises:
        UserError: uv is not there, or failed.
    """
    uv = shutil.which("uv")
    if uv is None:
        raise UserError("uv, which makes the lock files, is not installed: pip install uv")
    made: list[Path] = []
    for name, tables in LOCKS.items():
        path = ROOT / name
        keep = path.exists() and not args.upgrade
        before = path.read_text(encoding="utf-8") if keep else ""
        write_text(path, text := locked(uv, tables, before, made))
        made.append(path)
        print(f"{path.relative_to(ROOT)}: {len(re.findall('==', text))} packages")
    return 0
