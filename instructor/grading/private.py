"""Files with marks: their owner alone can read them, and they are written all or none."""

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
    """Write files, all or none: they get their names last, and their old content back if one of
    them cannot get its name. Files that already have the right content are left alone.

    Raises:
        UserError: as `writing`.
    """
    old = {path: path.read_bytes() if path.is_file() else None for path in contents}
    new = {path: content for path, content in contents.items() if content != old[path]}
    try:
        with private(), contextlib.ExitStack() as stack:
            for path, content in new.items():
                stack.enter_context(writing(path)).write_bytes(content)
    except BaseException:
        for path in filter(Path.is_file, new):
            if old[path] is None:
                path.unlink()
            elif path.read_bytes() != old[path]:
                path.write_bytes(old[path])
        raise
