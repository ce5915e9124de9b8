"""Prints the attacks as a Markdown table: `python tests/hostile/table.py`."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "checks"), str(TESTS.parent / "src")]
from proof import collect  # noqa: E402

print("| attack | tries | seen instead |\n| --- | --- | --- |")
for attack in collect("hostile.attacks", "HOSTILE"):
    print(f"| `{attack.name}` | {attack.tries} | {attack.seen} |")
