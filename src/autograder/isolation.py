"""How the student's process is kept apart. Stronger kinds (namespaces, Landlock) take their place in `choose`."""
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Isolation:
    """A way to start the student's process.

    Args:
        name: as it stands in reports.
        reason: why nothing stronger was chosen.
    """
    name: str
    reason: str

    def command(self, arguments: list[str], readable: list[Path]) -> list[str]:
        """The command line that runs `arguments` apart, with the folders `readable` visible to it (read-only)."""
        return arguments


def choose() -> Isolation:
    """The strongest kind that works here."""
    return Isolation("process", "nothing stronger is built in yet")
