"""How many processors this process may use: fewer than the machine has, in a container or on a cluster."""
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def cores(system: Path = Path("/")) -> int:
    """How many processors this process may use, at least 1: those that it is bound to, and whole ones of its control groups' quotas.

    Args:
        system: where proc and sys are.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([bound, *map(int, _quotas(system))]))


def _quotas(system: Path) -> Iterator[float]:
    """The quota of each control group that this process is in, however far up, as processors."""
    top = system / "sys/fs/cgroup"
    with contextlib.suppress(OSError):
        for line in (system / "proc/self/cgroup").read_text().splitlines():
            _, kind, path = line.split(":", 2)
            mounts = (top / kind, top / "cpu") if "cpu" in kind.split(",") else () if kind else (top, top / "unified")
            # In a container, the path may be the host's, and only its last folder be mounted here, as the topmost one.
            names = [name for name in path.split("/") if name not in ("", "..")]
            folders = {mount.joinpath(*names[:n]) for mount in mounts for n in range(len(names) + 1)}
            yield from filter(None, map(_quota, folders))


def _quota(folder: Path) -> float | None:
    """The processors that a control group may use, or None if it may use all: version 2 says "QUOTA PERIOD" or "max PERIOD", version 1 has
    two files and -1."""
    with contextlib.suppress(OSError, ValueError):
        if (folder / "cpu.max").exists():
            quota, period = map(int, (folder / "cpu.max").read_text().split())
        else:
            quota, period = (int((folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
        return quota / period if quota > 0 else None
    return None
