"""benchmarks/sweep.py runs what is missing, and the documents say what its runs show."""

import random
import subprocess
import sys

from conftest import ROOT
from instructor.documents import evidence


def kept(path, accuracies):
    """A file of runs with these dev accuracies of RoPE, by phrasings, order and seed."""
    lines = [("preset", "people", "phrasings", "order", "seed", *evidence.RESULTS, "seconds")]
    for (phrasings, order, seed), accuracy in accuracies.items():
        results = {name: 0.25 for name in evidence.RESULTS} | {"RoPE, dev": accuracy}
        lines.append(("laptop", 220, phrasings, order, seed, *results.values(), 99.5))
    text = "".join("\t".join(map(str, (*line, "machine"))) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")


def test_runs_that_are_kept_are_shown_and_not_made_again(tmp_path):
    kept(tmp_path / "runs.tsv", {(2, "fixed", 1): 0.31, (2, "fixed", 2): 0.35, (6, "fixed", 1): 1})
    command = [sys.executable, str(ROOT / "benchmarks" / "sweep.py"), "--out", str(tmp_path)]
    options = ["--seeds", "1", "2", "--phrasings", "2", "--orders", "fixed"]
    said = subprocess.run([*command, *options], capture_output=True, encoding="utf-8").stdout
    assert "220 people, 2 phrasings, order fixed" in said
    assert "31.0% to 35.0%, mean 33.0%" in said and "100.0%" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["runs.tsv"]


def test_documents_have_means_and_ranges(tmp_path, monkeypatch):
    accuracies = {
        (phrasings, order, seed): random.random()
        for phrasings in (3, 1)
        for order in ("changed", "fixed")
        for seed in range(1, phrasings + 1)
    }
    kept(tmp_path / "runs.tsv", accuracies)
    monkeypatch.setattr(evidence, "RUNS", tmp_path / "runs.tsv")
    head, *rows = evidence.rows()
    assert [row[1:4] for row in rows] == [
        ["1", "changed", "1"], ["1", "fixed", "1"], ["3", "changed", "3"], ["3", "fixed", "3"],
    ]  # fmt: skip
    shares = [accuracies[3, "fixed", seed] for seed in (1, 2, 3)]
    mean = f"{sum(shares) / 3:.0%}"
    assert head[-1] == "RoPE, dev"
    assert rows[-1][-1] == f"{mean} ({min(shares):.0%} to {max(shares):.0%})"
    assert rows[0][-1] == f"{accuracies[1, 'changed', 1]:.0%}"
    assert evidence.facts()["runs 220 3 fixed RoPE"] == mean
