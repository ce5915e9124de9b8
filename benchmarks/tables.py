"""What the benchmarks share: writing a table into benchmarks/README.md."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "benchmarks" / "README.md"
sys.path.insert(0, str(ROOT / "src"))

from common.files import write_text  # noqa: E402


def markdown(head: list[str], rows: list[list]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def publish(name: str, device: str, text: str) -> None:
    """Print a text, and write it into benchmarks/README.md between <!-- NAME DEVICE --> and <!--
    end -->; each kind of device has its own place.

    Raises:
        ValueError: README.md has no such place.
    """
    print(text)
    begin, end = f"<!-- {name} {device.split(':')[0]} -->\n", "<!-- end -->"
    before, found, after = README.read_text(encoding="utf-8").partition(begin)
    if not found or end not in after:
        raise ValueError(f"{README} has no place for {name} on {device}")
    write_text(README, f"{before}{begin}\n{text.strip()}\n\n{end}{after.partition(end)[2]}")
    print(f"Written into {README}")
