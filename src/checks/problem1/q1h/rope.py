"""Runs the RoPE functions and judges their results; shared by the checks of question 1h."""

import re

import numpy as np

from autograder import Answer, Failed, Verdict, WrongAnswer, probe
from checks.support.cases import Case


@probe
def tables(sizes):
    """Call precompute_rotary_emb for each (dim, max_positions)."""
    from submission.attention import precompute_rotary_emb

    return [precompute_rotary_emb(dim, positions) for dim, positions in sizes]


@probe
def apply(calls):
    """Run apply_rotary_emb for each call: on x, (B, n_head, T, head_dim), in a dtype, optionally as
    a transposed view, with a gradient, or after a call with another table.
    """
    import torch

    from submission.attention import apply_rotary_emb

    def run(x, table, dtype, transposed, gradient, first):
        x = torch.from_numpy(x).to(getattr(torch, dtype))
        if transposed:
            # The memory layout of heads after splitting.
            x = x.transpose(1, 2).contiguous().transpose(1, 2)
        table = torch.from_numpy(table)
        if first is not None:
            apply_rotary_emb(x, torch.from_numpy(first))
        if gradient is not None:
            x.requires_grad_(True)
        rotated = apply_rotary_emb(x, table)
        result = {"rotated": rotated, "x": x.detach(), "table": table, "gradient": None}
        if gradient is not None and isinstance(rotated, torch.Tensor) and rotated.requires_grad:
            (rotated * torch.from_numpy(gradient).to(rotated.dtype)).sum().backward()
            result["gradient"] = x.grad
        return result

    return [run(**call) for call in calls]


def request(
    x: np.ndarray,
    table: np.ndarray,
    dtype: str = "float32",
    transposed: bool = False,
    gradient=None,
    first=None,
) -> dict:
    """Describe a call for `apply`."""
    return {
        "x": x,
        "table": table,
        "dtype": dtype,
        "transposed": transposed,
        "gradient": gradient,
        "first": first,
    }


def run_apply(student, calls: list[dict]) -> list[Answer]:
    """Run `apply`; report it if a table longer than the sequence is the reason for a failure."""
    try:
        return student.run(apply, calls=calls).items(len(calls))
    except Failed as failed:
        about_sizes = re.search(r"size|shape|broadcast", failed.message)
        if failed.verdict is not Verdict.EXCEPTION or not about_sizes:
            raise
    return [_run_alone(student, call) for call in calls]  # find out which call failed


def _run_alone(student, call):
    positions, rows = call["x"].shape[2], len(call["table"])
    try:
        return student.run(apply, calls=[call]).items(1)[0]
    except Failed as failed:
        if failed.verdict is Verdict.EXCEPTION and rows > positions:
            raise Failed(
                failed.verdict,
                f"{failed.message}\nx has {positions} positions, and rope_cache {rows} rows. "
                "Likely cause: the table is not cut to the first T rows.",
            ) from None
        raise


def tolerance(positions: int) -> float:
    """Return the float32 tolerance: an angle of t radians has an error of a few times t * 1e-7."""
    return 1e-4 if positions <= 64 else 1e-3


def require_table(
    answer: Answer, case: Case, name: str | None = None, part: str | None = None
) -> None:
    """Check that a table (in messages `name`, else the call that made it) is float32 (float64 is
    accepted), has the right shape, and has the cosines and sines of the case or of its `part`.

    Raises:
        WrongAnswer: it doesn't; names the likely cause.
    """
    name = name or "precompute_rotary_emb({dim}, {positions})".format(**case.inputs)
    right = case.right if part is None else case.right[part]
    answer = answer.named(name)
    dtype = "float64" if "float64" in answer.describe() else "float32"
    table = answer.array(dtype, right.shape).astype(float)
    case.require(name, table, tolerance(len(right)), part)


def require_rotated(answer: Answer, case: Case, dtype: str, limit: float) -> None:
    """Check that the answer is the case's x rotated by the angles of its table.

    Raises:
        WrongAnswer: it doesn't; names the likely cause.
    """
    x, table = case.inputs["x"], case.inputs["table"]
    rotated = answer.named("apply_rotary_emb(x, rope_cache)").array(dtype, x.shape).astype(float)
    longer = f" for {x.shape[2]} positions and a table of {len(table)}"
    name = "apply_rotary_emb(x, rope_cache)" + (longer if len(table) > x.shape[2] else "")
    case.require(name, rotated, limit)


def require_inputs_left_alone(answer: Answer, x: np.ndarray, table: np.ndarray, dtype: str) -> None:
    """Check that apply_rotary_emb changed neither x nor the table.

    Raises:
        WrongAnswer: it did.
    """
    for name, given, kind in (("x", x, dtype), ("table", table, "float32")):
        if not np.array_equal(answer[name].array(kind, given.shape), given):
            raise WrongAnswer("apply_rotary_emb changes its input in place. Make a new tensor.")


def require_gradient(answer: Answer) -> Answer:
    """Return the gradient.

    Raises:
        WrongAnswer: there is none.
    """
    if answer["gradient"].value is None:
        raise WrongAnswer(
            "No gradient flows through apply_rotary_emb. Avoid .data, .detach(), .numpy() and "
            "torch.no_grad() there."
        )
    return answer["gradient"].named("the gradient")
