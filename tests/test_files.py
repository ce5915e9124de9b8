"""Files are written all or none."""

import pytest

from common.files import UserError
from instructor.grading.private import write_all


def test_all_files_are_written_or_none(tmp_path):
    new, changed = tmp_path / "new.csv", tmp_path / "changed.csv"
    changed.write_text("old\n", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be written"):
        write_all(dict.fromkeys([new, changed, changed / "no folder.csv"], b"text\n"))
    assert changed.read_text(encoding="utf-8") == "old\n" and not new.exists()
    assert [*tmp_path.iterdir()] == [changed]
    write_all({new: b"text\n", changed: b"text\n"})
    assert new.read_bytes() == changed.read_bytes() == b"text\n"
