"""How many processors may be used."""

import os

import pytest

from common import cores
from common.cores import cores as count


@pytest.fixture(autouse=True)
def sixteen(monkeypatch):
    """A machine with 16 processors, all of which this process may use."""
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)


JOB = "0::/user/job\n"
TREES = {  # /proc/self/cgroup; cpu.max by folder; the processors
    "nothing": ("", {}, 16),
    "a quota": (JOB, {"user/job": "400000 100000"}, 4),
    "a parent's": (JOB, {"user/job": "max 100000", "user": "250000 100000"}, 2),
    "the smallest": (JOB, {"user/job": "300000 100000", "user": "600000 100000"}, 3),
    "another's": (JOB, {"user/other": "100000 100000", "user/job": "500000 100000"}, 5),
    "in a container": ("0::/\n", {".": "200000 100000"}, 2),
    "a path of the host": (JOB, {".": "700000 100000"}, 7),
    "a path above the container": ("0::/../job\n", {".": "200000 100000"}, 2),
    "beside other controllers": ("5:memory:/a\n" + JOB, {"user/job": "200000 100000"}, 2),
    "half": (JOB, {"user/job": "50000 100000"}, 1),
    "more than there are": (JOB, {"user/job": "9900000 100000"}, 16),
    "nonsense": (JOB, {"user/job": "none"}, 16),
}


@pytest.mark.parametrize("name", TREES)
def test_quotas_are_found(tmp_path, name):
    groups, files, expected = TREES[name]
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups, encoding="utf-8")
    for path, text in files.items():
        folder = tmp_path / "sys/fs/cgroup" / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.max").write_text(text + "\n", encoding="utf-8")
    assert count(tmp_path) == expected


def test_what_it_is_bound_to(tmp_path, monkeypatch):
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda pid: {3, 5})
    assert count(tmp_path) == 2
    monkeypatch.delattr(cores.os, "sched_getaffinity")
    assert count(tmp_path) == (os.cpu_count() or 1)
