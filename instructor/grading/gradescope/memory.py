"""How much memory a check may take in a container that has little."""

from dataclasses import replace
from pathlib import Path

from autograder.manifest import Check

# MiB for the judge, the process that forks for each check, and what else the kernel counts
RESERVED = 350
LEAST = 128  # MiB that a check always gets
CGROUP = Path("/sys/fs/cgroup/memory.max")


def container_memory() -> int:
    """MiB that this container may use: the minimum of its cgroup's and the machine's limit."""
    total = next(
        line
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("MemTotal:")
    )
    machine = int(total.split()[1]) << 10
    try:
        return min(machine, int(CGROUP.read_text(encoding="utf-8"))) >> 20
    except (OSError, ValueError):  # there is none; "max" stands for no limit
        return machine >> 20


def within(check: Check, memory: int) -> Check:
    """The check with no more memory than a container of `memory` MiB can give it."""
    return replace(check, memory=min(check.memory, max(LEAST, memory - RESERVED)))
