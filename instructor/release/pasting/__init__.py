"""What could be pasted from a release: functions that answer a case, and code that a solution
shares.

A reader who does not think, and only pastes from the released files with mechanical edits, must
earn nothing by it. The scan of `leaks` finds a solution's lines; this finds its work: `answers`
calls every function outside src/submission with the inputs of solved cases, and none may return the
right output; `fingerprints` compares the files with each piece of a solution, and none may share
more than the starter has. Cases that give their arrays by a seed (the models of 1d and 1h, most of
6d and 6g) leave `answers` nothing to call with, so only `fingerprints` looks there.
"""

from pathlib import Path


def released(src: Path) -> list[Path]:
    """The Python files of a release that students do not write themselves."""
    own = {src / "submission", src / "checks" / "given"}
    return [path for path in sorted(src.rglob("*.py")) if not own & {*path.parents}]
