"""How many processors may be used, in control groups of both versions."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cores
from cores import cores as count

GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture(autouse=True)
def sixteen(monkeypatch):
    """A machine with 16 processors, all of which this process may use."""
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)


V2, V1 = "0::/user/job\n", "5:memory:/elsewhere\n3:cpu,cpuacct:/docker/abc\n0::/\n"
TREES = {
    "nothing": ("", {}, 16),
    "version 2": (V2, {"user/job/cpu.max": "400000 100000\n"}, 4),
    "version 2, no quota": (V2, {"user/job/cpu.max": "max 100000\n", "user/cpu.max": "max 100000\n"}, 16),
    "a parent's": (V2, {"user/job/cpu.max": "max 100000\n", "user/cpu.max": "250000 100000\n"}, 2),
    "the smallest": (V2, {"user/job/cpu.max": "300000 100000\n", "user/cpu.max": "600000 100000\n"}, 3),
    "another's": (V2, {"user/other/cpu.max": "100000 100000\n", "user/job/cpu.max": "500000 100000\n"}, 5),
    "in a container": ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
    "a path of the host": (V2, {"cpu.max": "700000 100000\n"}, 7),
    "a path above the container": ("0::/../job\n", {"cpu.max": "200000 100000\n", "job/cpu.max": "300000 100000\n"}, 2),
    "beside version 1": (V2, {"unified/user/job/cpu.max": "200000 100000\n"}, 2),
    "half": (V2, {"user/job/cpu.max": "50000 100000\n"}, 1),
    "one and a half": (V2, {"user/job/cpu.max": "150000 100000\n"}, 1),
    "more than there are": (V2, {"user/job/cpu.max": "9900000 100000\n"}, 16),
    "nonsense": (V2, {"user/job/cpu.max": "none\n"}, 16),
    "version 1": (V1, {"cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "300000\n", "cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n"}, 3),
    "version 1, no quota": (V1, {"cpu/docker/abc/cpu.cfs_quota_us": "-1\n", "cpu/docker/abc/cpu.cfs_period_us": "100000\n"}, 16),
    "version 1, a parent's": (V1, {"cpu/docker/cpu.cfs_quota_us": "200000\n", "cpu/docker/cpu.cfs_period_us": "100000\n"}, 2),
    "version 1 in a container": (V1, {"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "50000\n"}, 4),
}


@pytest.mark.parametrize("name", TREES)
def test_quotas_are_found(tmp_path, name):
    groups, files, expected = TREES[name]
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups)
    for path, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
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
        (group / "cpu.cfs_quota_us").write_text("100000")
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        code = "import os, sys\nopen(sys.argv[1], 'w').write(str(os.getpid()))\nfrom cores import cores\nprint(cores())"
        found = subprocess.run([sys.executable, "-c", code, group / "cgroup.procs"], cwd=Path(cores.__file__).parent, capture_output=True, text=True)
    finally:
        group.rmdir()
    assert found.stdout == "1\n", found.stderr
