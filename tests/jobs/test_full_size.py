"""The measurements on a GPU, without one."""

import tarfile

import pytest

from helpers import DATA, ROOT, call


@pytest.fixture
def full_size(monkeypatch):
    """benchmarks/full_size.py, which leaves the tests' signals alone."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import full_size

    monkeypatch.setattr(full_size.signal, "signal", lambda *handler: None)
    return full_size


def test_what_fails_is_repeated_in_a_slower_and_safer_way(full_size, tmp_path, monkeypatch):
    """Without recorded steps, then in float32; the steps after it begin that way."""
    begun = []

    def attempt(command, log, seconds):
        _, step, _, made, *way = command[command.index("--step") :]
        begun.append((step, way))
        log.write_text("Trained in bf16: 9 steps/s\nsome\rbar\nCUDA error\n", encoding="utf-8")
        if step == "canary":
            (tmp_path / made).write_text("50", encoding="utf-8")
        failed = step == "public" and "fp32" not in way or step == "rates"
        return f"{'failed with exit code 1' if failed else 'done'} after 1 s"

    monkeypatch.setattr(full_size, "attempt", attempt)
    assert call(full_size.main, tmp_path / "out", DATA).returncode == 0
    graphs, slow, safe = [], ["--no-graphs"], ["--no-graphs", "--precision", "fp32"]
    assert begun == [
        ("canary", graphs),
        *(("public", way) for way in (graphs, slow, safe)),
        *((step, safe) for step in ("rates", "ours", "long")),
    ]
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "## public: failed with exit code 1 after 1 s --no-graphs\n" in report
    assert report.count("\nCUDA error\n") == 3, "the reason of each failure"
    with tarfile.open(tmp_path / "out" / "logs.tar.gz") as logs:
        assert len(logs.getnames()) == len(begun)
