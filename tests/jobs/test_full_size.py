"""The measurements on a GPU, without one."""

import json
import tarfile

import pytest

from conftest import DATA, ROOT, call


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


def test_steps_that_would_take_too_long_do_not_begin(full_size, tmp_path, monkeypatch):
    def attempt(command, log, seconds):
        log.touch()
        (log.parent / "canary-auto").write_text("3000", encoding="utf-8")
        return "done after 1 s"

    monkeypatch.setattr(full_size, "attempt", attempt)
    assert call(full_size.main, tmp_path, DATA).returncode == 0
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "## ours: not begun, with 5" in report and "## long: done" in report
    refused = call(full_size.main, tmp_path / "new", tmp_path).returncode
    assert "has no wiki.txt. Name a folder" in refused and not (tmp_path / "new").exists()


@pytest.mark.full
def test_the_rehearsal(full_size, tmp_path, monkeypatch):
    """All steps on a CPU, at the size of smoke; the last ends when the time is over."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    words = [tmp_path / "out", DATA, "--preset", "smoke", "--device", "cpu"]
    process = call(full_size.main, *words, "--seconds", 400)
    assert process.returncode == 0 and "failed" not in process.stdout, process.stdout
    jobs = json.loads((tmp_path / "out" / "jobs.json").read_text(encoding="utf-8"))
    assert len(jobs["public"]) == len(jobs["ours"]) == 11
    assert (tmp_path / "out" / "accuracy-public.png").stat().st_size > 10_000
    assert "vanilla, our trainer" in process.stdout and "Trained in fp32: " in process.stdout
    assert not [path for path in (tmp_path / "out").iterdir() if path.is_dir()], "it is flat"
