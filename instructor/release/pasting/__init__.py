"""Finds what could be pasted from a release: functions that answer a case, and code of a solution.

Pasting released code with mechanical edits must earn no points. `leaks` finds a solution's lines.
Here, `answers` calls every function outside src/submission with the inputs of solved cases; none
may return the right output. `fingerprints` compares the files with each piece of a solution; none
may share more than the starter has. Cases that give their arrays by a seed (the models of 1d and
1h, most of 6d and 6g) have no inputs for `answers`, so only `fingerprints` covers them.
"""

from pathlib import Path


def released(src: Path) -> list[Path]:
    """The Python files of a release that students do not write themselves."""
    own = {src / "submission", src / "checks" / "given"}
    return [path for path in sorted(src.rglob("*.py")) if not own & {*path.parents}]
