"""How many cores this process may use: often fewer than the machine has."""

import contextlib
import os
import re
from pathlib import Path, PurePosixPath


def cores(system: Path = Path("/")) -> int:
    """How many cores this process may use, at least 1: the cores in its affinity mask, capped by
    the quotas of its control groups (cgroup v2), at every level, rounded down.

    Args:
        system: the folder that contains proc and sys.
    """
    everywhere = not hasattr(os, "sched_getaffinity")
    limits = [os.cpu_count() or 1 if everywhere else len(os.sched_getaffinity(0))]
    with contextlib.suppress(OSError):
        groups = (system / "proc/self/cgroup").read_text(encoding="utf-8")
        # The path may be the host's, of which a container sees only the last folder, as its top. So
        # every part of it that exists counts.
        for path in re.findall(r"(?m)^0::/(.*)", groups):
            place = PurePosixPath(path.replace("../", ""))
            for folder in (place, *place.parents):
                file = system / "sys/fs/cgroup" / folder / "cpu.max"
                text = file.read_text(encoding="utf-8") if file.is_file() else ""
                if quota := re.match(r"(\d+) (\d+)", text):  # else there is no limit: "max PERIOD"
                    limits.append(int(quota[1]) // int(quota[2]))
    return max(1, min(limits))
