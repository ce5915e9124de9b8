"""How many processors may be used, in control groups of both versions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common import cores
from common.cores import cores as count

GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture(autouse=True)
def sixteen(monkeypatch):
    """A machine with 16 processors, all of which this process may use."""
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)


V2 = "0::/user/job\n"
V1 = "5:memory:/elsewhere\n3:cpu,cpuacct:/docker/abc\n0::/\n"
TREES = {  # /proc/self/cgroup; by folder, quota and period; the processors
    "nothing": ("", {}, 16),
    "version 2": (V2, {"user/job": "400000 100000"}, 4),
    "version 2, no quota": (V2, {"user/job": "max 100000", "user": "max 100000"}, 16),
    "a parent's": (V2, {"user/job": "max 100000", "user": "250000 100000"}, 2),
    "the smallest": (V2, {"user/job": "300000 100000", "user": "600000 100000"}, 3),
    "another's": (V2, {"user/other": "100000 100000", "user/job": "500000 100000"}, 5),
    "in a container": ("0::/\n", {".": "200000 100000"}, 2),
    "a path of the host": (V2, {".": "700000 100000"}, 7),
    "a path above the container": ("0::/../job\n", {".": "200000 100000"}, 2),
    "beside version 1": (V2, {"unified/user/job": "200000 100000"}, 2),
    "half": (V2, {"user/job": "50000 100000"}, 1),
    "one and a half": (V2, {"user/job": "150000 100000"}, 1),
    "more than there are": (V2, {"user/job": "9900000 100000"}, 16),
    "nonsense": (V2, {"user/job": "none"}, 16),
    "version 1": (V1, {"cpu,cpuacct/docker/abc": "300000 100000"}, 3),
    "version 1, no quota": (V1, {"cpu/docker/abc": "-1 100000"}, 16),
    "version 1, a parent's": (V1, {"cpu/docker": "200000 100000"}, 2),
    "version 1 in a container": (V1, {"cpu": "200000 50000"}, 4),
}


@pytest.mark.parametrize("name", TREES)
def test_quotas_are_found(tmp_path, name):
    groups, files, expected = TREES[name]
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups, encoding="utf-8")
    for path, text in files.items():
        folder = tmp_path / "sys/fs/cgroup" / path
        folder.mkdir(parents=True, exist_ok=True)
        if groups == V1:
            for name, number in zip(("quota", "period"), text.split()):
                (folder / f"cpu.cfs_{name}_us").write_text(number + "\n", encoding="utf-8")
        else:
            (folder / "cpu.max").write_text(text + "\n", encoding="utf-8")
    assert count(tmp_path) == expected


def test_no_control_groups(tmp_path):
    assert count(tmp_path) == 16


def test_what_it_is_bound_to(tmp_path, monkeypatch):
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda pid: {3, 5})
    assert count(tmp_path) == 2
    monkeypatch.delattr(cores.os, "sched_getaffinity")
    assert count(tmp_path) == (os.cpu_count() or 1)


def test_a_real_quota():
    """In a control group of version 1, where one can be made here."""
    group = GROUPS / "cpu" / f"test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "cpu.cfs_quota_us").write_text("100000", encoding="utf-8")
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        code = "open(sys.argv[1], 'w').write(str(os.getpid()))\nprint(cores.cores())"
        command = [sys.executable, "-c", f"import cores, os, sys\n{code}", group / "cgroup.procs"]
        folder = Path(cores.__file__).parent
        found = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")
    finally:
        group.rmdir()
    assert found.stdout == "1\n", found.stderr
