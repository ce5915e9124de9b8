"""Files are written all or none."""

import pytest

from common.files import UserError
from instructor.grading.private import writing_all


@pytest.mark.parametrize("fault", ["a folder of that name", "an error in the block"])
def test_all_files_are_written_or_none(tmp_path, fault):
    new, changed, last = (tmp_path / name for name in ("new.csv", "changed.csv", "last.csv"))
    changed.write_text("old\n", encoding="utf-8")
    texts = dict.fromkeys([last, new, changed], "text\n")  # the first gets its name last
    with pytest.raises((UserError, OSError, KeyError)), writing_all(texts):
        if fault == "a folder of that name":
            last.mkdir()
        else:
            raise KeyError
    assert changed.read_text(encoding="utf-8") == "old\n"
    left = {path.name for path in tmp_path.iterdir()}
    assert left - {"last.csv"} == {"changed.csv"} and not last.is_file()
    with writing_all({new: "text\n", changed: "text\n"}):
        assert changed.read_text(encoding="utf-8") == "old\n" and not new.exists()
    assert new.read_bytes() == changed.read_bytes() == b"text\n"
