"""The measurements at full size in calls of some minutes: what is done is kept, what is interrupted
goes on.
"""

import json
import sys

import pytest

from conftest import ROOT, call

pytestmark = pytest.mark.usefixtures("steps")
RESUMED = """
import pathlib, sys, time
saved = pathlib.Path(sys.argv[1])
if saved.exists():
    print("Correct: 3 of 4, 75%")
else:
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        saved.touch()
        sys.exit(130)
"""


@pytest.fixture
def full_size(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import full_size

    return full_size


@pytest.fixture
def steps(full_size, tmp_path, monkeypatch):
    """Three jobs instead of all steps: one that works, one that fails, one that takes long."""
    python = [sys.executable, "-c"]
    steps = [
        full_size.Step("jobs", "quick", [*python, "print('Correct: 1 of 8, 12.5%')"], True),
        full_size.Step("jobs", "broken", [*python, "import sys; sys.exit('no such thing')"], True),
        full_size.Step("jobs", "long", [*python, RESUMED, str(tmp_path / "saved")], True),
    ]
    monkeypatch.setattr(full_size, "plan", lambda args: steps)
    monkeypatch.setattr(full_size, "GRACE", 20)
    monkeypatch.setattr(full_size.signal, "signal", lambda *handler: None)  # of the tests' process
    return steps


def measure(full_size, out, *words):
    return call(full_size.main, out, "--device", "cpu", "--preset", "smoke", *words)


def test_the_next_call_goes_on(full_size, tmp_path):
    out = tmp_path / "out"
    process = measure(full_size, out, "--minutes", 0.4)  # 24 seconds, 20 of them to end in
    assert process.returncode == 0 and "Next: long. The same command goes on" in process.stdout
    assert (tmp_path / "saved").exists()  # it was told in time
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "| quick | " in report and "12.5%" in report and "| long |" not in report
    assert "| broken | exit code 1: no such thing |" in report
    process = measure(full_size, out)
    assert "quick" not in process.stdout and "broken" not in process.stdout
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))["results"]
    assert results["long"]["right"] == [3, 4] and results["long"]["parts"] == 2
    assert "75.0%" in (out / "report.md").read_text(encoding="utf-8")


def test_steps_are_repeated_on_demand_alone(full_size, steps, tmp_path):
    (tmp_path / "saved").touch()
    measure(full_size, tmp_path / "out")
    steps[1].command[-1] = "print('Correct: 2 of 8')"  # mended
    assert "broken" not in measure(full_size, tmp_path / "out").stdout
    process = measure(full_size, tmp_path / "out", "--again", "brok")
    assert "broken" in process.stdout and "quick" not in process.stdout
    assert "25.0%" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


def test_results_of_other_settings_are_refused(full_size, tmp_path):
    (tmp_path / "saved").touch()
    measure(full_size, tmp_path / "out")
    process = measure(full_size, tmp_path / "out", "--preset", "laptop")
    assert process.returncode == 2 and "Choose another OUT" in process.stderr
    process = measure(full_size, tmp_path / "b", tmp_path)
    assert process.returncode == 2 and "no wiki.txt" in process.stderr
    assert not (tmp_path / "b").exists()


def test_all_jobs_are_planned_with_their_data(full_size, monkeypatch):
    monkeypatch.undo()
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.setattr(full_size.signal, "signal", lambda *handler: None)
    monkeypatch.setattr(sys, "argv", ["", "out", "--minutes", "9", str(ROOT / "data" / "laptop")])
    planned = []
    monkeypatch.setattr(full_size, "measure", lambda args: planned.extend(full_size.plan(args)))
    assert full_size.main() == 0
    names = [step.name for step in planned]
    assert len({*names}) == len(names)
    for folder in ("ours", "laptop"):
        assert sum(name.startswith(f"{folder} ") and "seed" not in name for name in names) == 11
        assert f"{folder} rope_pretrain seed 3" in names
    with_gold = [step.name for step in planned if step.is_job and "--gold" in step.command]
    assert with_gold and all(name.startswith("ours ") and "_test_" in name for name in with_gold)
