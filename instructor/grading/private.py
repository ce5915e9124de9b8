"""Files with marks: their owner alone can read them, and they get their names together."""

import contextlib
import os
from pathlib import Path

from common.files import writing


@contextlib.contextmanager
def private():
    """Make files and folders that are created in the block unreadable for other users."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def write_all(contents: dict[Path, bytes]) -> None:
    """Write files: none of them gets its name before all are written. Files that already have the
    right content are left alone.

    Raises:
        UserError: as `writing`.
    """
    with private(), contextlib.ExitStack() as stack:
        for path, content in contents.items():
            if not path.is_file() or path.read_bytes() != content:
                stack.enter_context(writing(path)).write_bytes(content)
