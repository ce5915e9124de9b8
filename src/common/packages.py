"""Whether the Python that runs this has the packages that it needs."""

import importlib.util
import os
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
        folder = "Scripts" if os.name == "nt" else "bin"
        activate = shlex.quote(str(ROOT / ".venv" / folder / "activate"))
        command = activate if os.name == "nt" else f"source {activate}"
        advice = f"Activate the environment of ./run.sh first: {command}"
    else:
        advice = (
            "Activate your environment, or install them: pip install -e "
            f"{shlex.quote(str(ROOT) + install)}"
        )
    raise UserError(
        f"The Python that runs this, {sys.executable}, lacks {', '.join(missing)}. {advice}"
    )
