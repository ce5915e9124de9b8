"""Writes attacks.md, the table of all attacks: `python tests/hostile/table.py [OUTCOMES]`.

OUTCOMES is the file that a test run on this machine wrote with HOSTILE_OUTCOMES; it has the
verdicts at each isolation level, the machine and the date. Without OUTCOMES, those in attacks.md
are kept.
"""

import json
import platform
import re
import sys
from contextlib import suppress
from datetime import date
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "checks"), str(TESTS.parent / "src")]
from proof import collect  # noqa: E402

from common.cores import cores  # noqa: E402
from common.files import write_text  # noqa: E402

LEVELS = ("bubblewrap", "landlock")
PAGE = Path(__file__).with_name("attacks.md")
SEEN = "Outcomes seen "  # how the line with the machine and the date begins
HEAD = """# The attacks of tests/hostile

Generated: `HOSTILE_OUTCOMES=FILE pytest tests/hostile`, then `python tests/hostile/table.py FILE`.
Without `FILE`, only names and sentences are updated, and the outcomes stay.
{seen}

The last columns are what the attacked checks ended with; "passed" is of checks whose honest part was right.
An attack that doesn't depend on the isolation level runs at one level only.

{table}
"""


def outcomes(path: Path) -> dict[tuple[str, str], str]:
    """Return each attack's outcome in a few words, by level and name; for several runs, the
    last.
    """
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        ended = ", ".join(dict.fromkeys(run["verdicts"].values()))
        found[run["level"], run["name"]] = "**not contained**" if run["problems"] else ended
    return found


def kept(text: str) -> tuple[dict[tuple[str, str], str], str]:
    """Return a page's outcomes, as `outcomes` does, and its line with machine and date."""
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    found = {
        (level, row[0].strip("`")): outcome
        for row in rows[2:]
        for level, outcome in zip(rows[0][3:], row[3:])
    }
    return found, next(line for line in text.splitlines() if line.startswith(SEEN))


def seen(path: Path) -> str:
    """Return the line with this machine and the date of an outcomes file."""
    processor = platform.machine()
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        processor = (re.findall(r"(?m)^model name\s*: (.*)", text) or [processor])[0]
    linux = ".".join(platform.release().split(".")[:2])
    day = date.fromtimestamp(path.stat().st_mtime).isoformat()
    return f"{SEEN}on {day}, with {cores()} cores of {processor}, {platform.system()} {linux}."


def table(found: dict[tuple[str, str], str]) -> str:
    """Return the table, with a column for each level that was run."""
    levels = [level for level in LEVELS if any(key[0] == level for key in found)]
    rows = [["attack", "tries", "seen instead", *levels], ["---"] * (3 + len(levels))]
    for attack in collect("hostile.attacks", "HOSTILE"):
        rows.append(
            [
                f"`{attack.name}`",
                attack.tries,
                attack.seen,
                *(found.get((level, attack.name), "") for level in levels),
            ]
        )
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        given = Path(sys.argv[1])
        found, line = outcomes(given), seen(given)
    else:
        found, line = kept(PAGE.read_text(encoding="utf-8"))
    write_text(PAGE, HEAD.format(seen=line, table=table(found)))
    print(f"Wrote {PAGE}")
