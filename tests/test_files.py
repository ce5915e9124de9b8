"""Files are written all or none."""

import pytest

from common.files import UserError
from instructor.grading.private import write_all


def test_all_files_are_written_or_none(tmp_path):
    new, changed, last = (tmp_path / name for name in ("new.csv", "changed.csv", "last.csv"))
    changed.write_text("old\n", encoding="utf-8")
    last.mkdir()  # so that a file of this name cannot be written
    with pytest.raises((UserError, OSError)):
        write_all(dict.fromkeys([last, new, changed], b"text\n"))  # the first gets its name last
    assert changed.read_text(encoding="utf-8") == "old\n"
    assert {*tmp_path.iterdir()} == {changed, last}
    write_all({new: b"text\n", changed: b"text\n"})
    assert new.read_bytes() == changed.read_bytes() == b"text\n"
