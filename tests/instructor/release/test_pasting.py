"""What could be pasted from a release is found: functions that answer a case, and a solution's
code.
"""

import contextlib
import re
import signal
import sys
import warnings

import pytest

from conftest import ROOT
from instructor.release.pasting import calls, fingerprints
from instructor.release.pasting.answers import answering, find_answering
from instructor.release.starter import SOLUTION, bodies

PIECES = bodies(SOLUTION)
REPEATED = {f"{place.function} {place.question}": body for place, body in PIECES}


@pytest.fixture
def tree(tmp_path):
    """A release with one file outside src/submission: a function that puts text there."""

    def write(name, text):
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return tmp_path / "src"

    return write


def answering_here(src, ids):
    """As find_answering, without a process of its own: for functions that do no harm."""
    before = {*sys.modules}
    with warnings.catch_warnings(action="ignore"):
        found, _ = answering(src, ids)
    for name in {*sys.modules} - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(src)):
            del sys.modules[name]
    return found


def test_nothing_released_repeats_a_solution():
    assert fingerprints.find_repeated(ROOT / "src") == []


# That nothing released answers a question is a part of test_release.py's
# test_a_release_proves_itself: it takes minutes.

ANSWERING = {
    "a reference, as the checks had one": (
        "checks/softmax.py",
        """
import numpy as np

def attend(Q, K, V, mask=None, scale=None):
    scores = Q @ np.swapaxes(K, -1, -2) / np.sqrt(K.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ V
""",
        "5c-0-basic",
    ),
    "for tensors, in another order": (
        "jobs.py",
        """
import torch

def work(v, q, k):
    return {"a": [1, torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=-1) @ v]}
""",
        "5c-0-basic",
    ),
    "a static method": (
        "debugging/x.py",
        """
import torch

class Attention:
    @staticmethod
    def run(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)
""",
        "5c-0-basic",
    ),
    "a method that uses nothing of its object": (
        "debugging/y.py",
        """
import torch

class Attention:
    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)
""",
        "5c-0-basic",
    ),
    "a probe": (
        "checks/problem5/q5c/other.py",
        """
from autograder import probe

@probe
def attend(q, k, v):
    import torch
    return torch.nn.functional.scaled_dot_product_attention(*map(torch.from_numpy, (q, k, v)))
""",
        "5c-0-basic",
    ),
    "a dict of dicts": (
        "checks/scaling.py",
        """
import numpy as np

def measure(d_k, n_query, n_key, seed):
    rng, result = np.random.default_rng(seed), {}
    q, k = rng.standard_normal((n_query, d_k)), rng.standard_normal((n_key, d_k))
    for name, factor in (("unscaled", 1), ("scaled", d_k ** 0.5)):
        scores = q @ k.T / factor
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        entropy = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1).mean()
        norms = [np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in p]
        result[name] = {"variance": scores.var(), "entropy": entropy, "saturation": (p.max(axis=1) > 0.9).mean(),
                        "gradient_norm": np.median(norms)}
    return result
""",
        "5b-1-basic",
    ),
    "a list of arrays": (
        "debugging/clipping.py",
        """
def clip(gradients, limit):
    norm = sum((g ** 2).sum() for g in gradients if g is not None) ** 0.5
    return [g if g is None or norm <= limit else g * (limit / norm) for g in gradients]
""",
        "6e-3-basic",
    ),
    "weights apart, in another order": (
        "checks/bag.py",
        """
import numpy as np

def bag(tokens, weight, bias):
    there = (tokens != 0)[..., None]
    return (weight[tokens] * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1) + bias
""",
        "5g-1-basic",
    ),
}


@pytest.mark.parametrize("seed", ANSWERING)
def test_functions_that_answer_are_found(tree, seed):
    name, text, id = ANSWERING[seed]
    found = answering_here(tree(name, text), [id])
    assert any(f"src/{name}: " in line and f"answers {id}" in line for line in found), found


LEAKED = {  # modules that were once released, and what they answer
    "problem5/attention_formula.py": (("attend", "5c-0-basic"), ("attend", "5c-1-basic")),
    "problem5/encoder.py": (
        ("layer_norm", "5e-1-basic"),
        ("sinusoids", "5e-0-basic"),
        ("multi_head", "5d-1-basic"),
        ("layer", "5e-2-basic"),
        ("encode", "5e-3-basic"),
    ),
    "reference.py": (("rope_table", "1h-2-basic"),),
    "problem6/q6a/counting.py": (("model_parameters", "6a-1-basic"), ("model_flops", "6a-2-basic")),
    "problem6/q6c/formulas.py": (("alibi", "6c-7-basic"), ("shift", "6c-5-basic")),
    "problem6/q6e/logits.py": (("top_p", "6e-4-basic"), ("top_k", "6e-4-basic")),
    "problem6/q6e/clipping.py": (("scores_case", "6e-3-basic"), ("clipping_case", "6e-3-basic")),
    "problem6/q6d/global_positions.py": (("kth_case", "6d-5-basic"),),
}


@pytest.mark.parametrize("name", LEAKED)
def test_references_that_are_released_are_found(tree, name):
    text = (ROOT / "instructor" / "checks" / name).read_text(encoding="utf-8")
    found = answering_here(tree("checks/leaked.py", text), sorted({id for _, id in LEAKED[name]}))
    for function, id in LEAKED[name]:
        assert any(f"leaked.py: {function} answers {id}" in line for line in found), found


REPEATING = {  # code that once was released outside the checks, and whose solution it repeats
    "a pre-norm stack": (
        "problem6/fixes.py",
        "PreNormStack.forward",
        """
class Model(nn.Module):
    def forward(self, idx):
        x = self.token(idx) + self.position.weight
        for part, norm in zip(self.parts, self.norms):
            x = x + part(norm(x))
        return self.head(self.final(x))
""",
    )
}


@pytest.mark.parametrize("name", REPEATING)
def test_code_that_was_released_is_found(tree, name):
    file, function, text = REPEATING[name]
    found = fingerprints.find_repeated(tree("jobs/leaked.py", text))
    assert any(f"{function} in {file}" in line for line in found), found


def test_what_a_function_changes_is_not_what_the_next_one_gets(tree):
    src = tree(
        "jobs.py",
        """
import torch

def _forget(Q, K, V):
    for array in (Q, K, V):
        array[...] = 0

def attend(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(*map(torch.as_tensor, (q, k, v)))
""",
    )
    assert any("attend answers 5c-0-basic" in line for line in answering_here(src, ["5c-0-basic"]))


def test_functions_that_answer_nothing_are_not(tree):
    src = tree(
        "jobs.py",
        """
import os, sys, time

def first(Q, K, V): return Q
def product(q, k, v): return q @ k.T
def forever(q, k, v):
    while True: pass
def ends(q, k, v): sys.exit(3)
def fails(q, k, v): raise KeyboardInterrupt
def many(*arguments): return list(arguments)
""",
    )
    assert find_answering(src, ["5c-0-basic"]) == []


def test_functions_start_no_programs(tree, tmp_path):
    """Each start would leave a pipe open, and there are thousands of calls."""
    src = tree(
        "jobs.py",
        f"""
import subprocess

def starts(q, k, v): subprocess.run(["touch", {str(tmp_path / "started")!r}])
def looks(*arguments): subprocess.run(["true"], capture_output=True)
""",
    )
    assert find_answering(src, ["5c-0-basic"]) == [] and not (tmp_path / "started").exists()


def test_functions_leave_a_release_as_it_is(tree):
    """A launcher's make and remove folders beside src."""
    src = tree(
        "jobs.py",
        """
from pathlib import Path

def makes(q, k, v): (Path(__file__).parents[1] / "made").mkdir()
def removes(q, k, v): Path(__file__).unlink()
""",
    )
    assert find_answering(src, ["5c-0-basic"]) == []
    assert [path.name for path in src.parent.rglob("*")] == ["src", "jobs.py"]


@pytest.mark.parametrize("name", REPEATED)
def test_a_pasted_solution_is_found(tree, name):
    """With other names, and without comments; what is too short to tell says so."""
    body = re.sub(r"#.*", "", REPEATED[name])
    for word in sorted(set(re.findall(r"\b[a-z]\w*(?= = )", body))):
        body = re.sub(rf"(?<!\.)\b{word}\b", f"{word}_", body)
    found = fingerprints.find_repeated(
        tree("jobs/problem1.py", f"def f(self):\n    if self:\n{body}\n")
    )
    if fingerprints.telling(REPEATED[name]) >= fingerprints.TELLING:
        assert found, name
    else:
        assert len(re.sub(r"\s", "", body)) < 160, "a solution as long as this one should be found"


def test_an_alarm_that_rings_when_a_call_has_ended_ends_nothing_else(monkeypatch):
    """The timers of wall and processor time may both be due."""

    class Suppress(contextlib.suppress):
        def __exit__(self, *error):
            signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGPROF)
            return super().__exit__(*error)

    monkeypatch.setattr(calls.contextlib, "suppress", Suppress)
    called = []
    case = calls.Case(right=3, inputs={"x": 2})
    assert not calls.answers(called.append, [case], [calls.views_of(case)], calls.clock() + 9)
    assert called
