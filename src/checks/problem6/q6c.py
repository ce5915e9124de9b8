"""Question 6c, basic: sines and cosines, the matrix of a shift, RoPE's scores, ALiBi,
interpolation; unusual positions, and rejected arguments.
"""

from dataclasses import replace

import numpy as np

from autograder import check, probe
from checks.support.asked import Asked, Close
from checks.support.unchanged import Unchanged, summarize


@probe(uses=(summarize,))
def compute(function, given):
    """Call a NumPy function of positions.py: its result, and the arrays afterwards."""
    from submission.problem6 import positions

    return {"output": getattr(positions, function)(*given), "arguments": summarize(given)}


@probe
def shift(k, d_model):
    """Call shift_matrix."""
    from submission.problem6.positions import shift_matrix

    return {"output": shift_matrix(k, d_model)}


@probe(uses=(summarize,))
def score(q, k, queries, keys):
    """Call rope_scores: its result, and its arguments afterwards."""
    import torch

    from submission.problem6.positions import rope_scores

    given = {"q": torch.from_numpy(q), "k": torch.from_numpy(k)}
    given |= {"positions_q": queries, "positions_k": keys}
    output = rope_scores(*given.values())
    return {"output": output, "arguments": summarize(given)}


def written(inputs: dict) -> str:
    """The call of a NumPy function as a student would write it."""
    shown = (
        f"<{len(value)} positions, {value.dtype}>" if isinstance(value, np.ndarray) else repr(value)
        for value in inputs["given"]
    )
    return f"{inputs['function']}({', '.join(shown)})"


# The handout's tolerances; the first also for ALiBi and interpolation.
VECTORS = Asked(
    compute, written, {"output": Close(tolerance={"float64": 1e-11}), "arguments": Unchanged()}
)
SHIFT = Asked(shift, "shift_matrix({k}, {d_model})", {"output": Close()})  # 1e-10
# A right table may have been computed in float32, with errors of about 1e-6 in the angles. Of
# width 64 and positions up to 100, scores at one distance differ by at most 2e-5 in 6,000 draws.
SCORES = Asked(
    score,
    "rope_scores({q}, {k}, {queries}, {keys})",
    {"output": Close(tolerance={"float32": 1e-4, "float64": 1e-4}), "arguments": Unchanged()},
)


@check("6c-10-basic")
def test_refused(student, calls):
    """What is refused, and that other arguments are not; other checks judge what they give."""
    for asked in (VECTORS, SHIFT, SCORES):
        replace(asked, reply={}).require(student, calls)
