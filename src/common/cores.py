"""How many cores this process may use: often fewer than the machine has."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def cores(system: Path = Path("/")) -> int:
    """How many cores this process may use, at least 1: the cores in its affinity mask, capped by
    the quotas of its control groups (cgroup v2), rounded down.

    Args:
        system: the folder that contains proc and sys.
    """
    everywhere = not hasattr(os, "sched_getaffinity")
    bound = os.cpu_count() or 1 if everywhere else len(os.sched_getaffinity(0))
    return max(1, min([bound, *map(int, _quotas(system))]))


def load() -> float:
    """How many cores of this machine were busy in the last minute; 0 on Windows, which doesn't
    count.
    """
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0


def _quotas(system: Path) -> Iterator[float]:
    """The quotas of all control groups that this process is in, at every level, in cores."""
    top = system / "sys/fs/cgroup"
    with contextlib.suppress(OSError):
        for line in (system / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers:  # of cgroup v1
                continue
            # The path may be the host's, of which a container sees only the last folder, as its
            # top. So every part of it that exists counts.
            names = [name for name in path.split("/") if name not in ("", "..")]
            folders = [top.joinpath(*names[:n]) for n in range(len(names) + 1)]
            yield from filter(None, map(_quota, folders))


def _quota(folder: Path) -> float | None:
    """The cores that a control group may use, or None for no limit, "max PERIOD"."""
    with contextlib.suppress(OSError, ValueError):
        words = (folder / "cpu.max").read_text(encoding="utf-8").split()
        quota, period = map(int, words)
        return quota / period
    return None
