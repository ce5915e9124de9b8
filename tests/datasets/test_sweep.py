"""benchmarks/sweep.py runs what is missing."""

import subprocess
import sys

from conftest import ROOT


def test_runs_that_are_kept_are_shown_and_not_made_again(tmp_path):
    fields = ["preset", "seed", "no pretraining, dev", "no pretraining, test"]
    fields += ["learned positions, dev", "learned positions, test", "RoPE, dev", "RoPE, test"]
    rows = [[*fields, "most common", "seconds", "machine"]]
    for seed, accuracy in ((1, 0.31), (2, 0.35), (3, 1)):
        rows.append(["laptop", seed, *[0.25] * 4, accuracy, 0.25, 0.05, 99.5, "machine"])
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "runs.tsv").write_text(text, encoding="utf-8")
    command = [sys.executable, str(ROOT / "benchmarks" / "sweep.py"), "--out", str(tmp_path)]
    process = subprocess.run(
        [*command, "--seeds", "1", "2"], capture_output=True, encoding="utf-8", check=True
    )
    assert "31.0% to 35.0%, mean 33.0%" in process.stdout and "100.0%" not in process.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["runs.tsv"]
