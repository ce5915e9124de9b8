"""Prints the attacks as a Markdown table: `python -m hostile.table [OUTCOMES]`, in the folder
tests.

OUTCOMES is what a run of the tests wrote to the file that HOSTILE_OUTCOMES names; from it come the
verdicts of each kind of walls.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from proof import collect  # noqa: E402

RUNGS = ("bubblewrap", "landlock")


def outcomes(path: Path) -> dict[tuple[str, str], str]:
    """What each attack ended with, in a few words, by rung and name; of several runs, the last."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        ended = ", ".join(dict.fromkeys(run["verdicts"].values()))
        found[run["rung"], run["name"]] = "**not contained**" if run["problems"] else ended
    return found


def table(found: dict[tuple[str, str], str]) -> str:
    """The table, with a column for each rung that was run."""
    rungs = [rung for rung in RUNGS if any(key[0] == rung for key in found)]
    rows = [["attack", "tries", "seen instead", *rungs], ["---"] * (3 + len(rungs))]
    for attack in collect("hostile", "HOSTILE"):
        rows.append(
            [
                f"`{attack.name}`",
                attack.tries,
                attack.seen,
                *(found.get((rung, attack.name), "") for rung in rungs),
            ]
        )
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows
    )


if __name__ == "__main__":
    print(table(outcomes(Path(sys.argv[1])) if len(sys.argv) > 1 else {}))
