"""Folders as systems export them, rosters, and the times of commits, for tests of finding."""

import zipfile

from classes import CODE

from instructor.grading.finding.late import parse_due
from instructor.grading.finding.roster import read_roster

DAYS = "01 12:00", "10 12:00", "12 22:00", "14 12:00"
START, EARLY, LAST_MINUTE, LATE = (f"2026-02-{day} +0000" for day in DAYS)
AT = "2026-02-12 23:59 +00:00"
DEADLINE = parse_due(AT)


def lay(folder, names):
    """Put files with code into a folder, by names with " | " between; "a -> b" is a link."""
    for name in names.split(" | "):
        path = folder / name.partition(" -> ")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        if "->" in name:
            path.symlink_to(name.partition(" -> ")[2])
        elif name.endswith("/"):
            path.mkdir()
        elif path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("model.py", CODE)
        else:
            path.write_text(CODE, encoding="utf-8")
    return folder


def roster(tmp_path, text, encoding="utf-8", **options):
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode(encoding, "surrogateescape"))
    return read_roster(path, **options)
