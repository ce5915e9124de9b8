"""Whether the Python that runs this has the packages that it needs."""

import importlib.util
import shlex
import sys
from pathlib import Path

from common.files import UserError

ROOT = Path(__file__).resolve().parents[2]


def require_packages(*names: str, install: str = "") -> None:
    """Check that packages are there, by the names under which they are imported.

    Args:
        install: the extra of pyproject.toml that has them, such as "[instructor]".

    Raises:
        UserError: some are missing; says how to get them.
    """
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if not missing:
        return
    if (ROOT / ".venv").is_dir():
        windows = ROOT / ".venv" / "Scripts"
        folder = windows if windows.is_dir() else ROOT / ".venv" / "bin"
        activate = f"source {shlex.quote(str(folder / 'activate'))}"
        if folder == windows:
            activate += f" (in PowerShell: & {shlex.quote(str(folder / 'Activate.ps1'))})"
        advice = f"Activate the environment of ./run.sh first: {activate}"
    else:
        advice = (
            "Activate your environment, or install them: pip install -e "
            f"{shlex.quote(str(ROOT) + install)}"
        )
    raise UserError(
        f"The Python that runs this, {sys.executable}, lacks {', '.join(missing)}. {advice}"
    )
