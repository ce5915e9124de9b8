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


@contextlib.contextmanager
def writing_all(texts: dict[Path, str]):
    """Write UTF-8 text files, all or none: they get their names when the block ends without an
    error, and their old content back if one of them cannot get its name. Files that already have
    the right content are left alone. The block is `private`.

    Raises:
        UserError: as `writing`.
    """
    old = {path: path.read_bytes() if path.is_file() else None for path in texts}
    new = {path: text.encode("utf-8") for path, text in texts.items()}
    try:
        with private(), contextlib.ExitStack() as stack:
            for path in new:
                if new[path] != old[path]:
                    stack.enter_context(writing(path)).write_bytes(new[path])
            yield
    except BaseException:
        for path in filter(Path.is_file, new):
            if old[path] is None:
                path.unlink()
            elif path.read_bytes() != old[path]:
                path.write_bytes(old[path])
        raise
