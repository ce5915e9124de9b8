"""Running the RoPE functions, and the mistakes that are known by name. The checks of question 1h share it."""
import re

import numpy as np

from autograder import Answer, Failed, Verdict, probe, require_close
from checks.reference import angles, rotate


@probe
def tables(sizes):
    """precompute_rotary_emb for each (dim, max_positions)."""
    from submission.attention import precompute_rotary_emb
    return [precompute_rotary_emb(dim, positions) for dim, positions in sizes]


@probe
def apply(x, table, dtype, transposed, gradient, first):
    """apply_rotary_emb on x, (B, n_head, T, head_dim): in a number format, as a transposed view, with a gradient; after a call with another
    table, if there is one."""
    import torch
    from submission.attention import apply_rotary_emb
    x = torch.from_numpy(x).to(getattr(torch, dtype))
    if transposed:
        x = x.transpose(1, 2).contiguous().transpose(1, 2)      # as the heads lie after they have been split
    table = torch.from_numpy(table)
    if first is not None:
        apply_rotary_emb(x, torch.from_numpy(first))
    if gradient is not None:
        x.requires_grad_(True)
    rotated = apply_rotary_emb(x, table)
    result = {"rotated": rotated, "x": x.detach(), "table": table}
    if gradient is not None:
        if not isinstance(rotated, torch.Tensor) or not rotated.requires_grad:
            return {**result, "gradient": None}
        (rotated * torch.from_numpy(gradient).to(rotated.dtype)).sum().backward()
        result["gradient"] = x.grad
    return result


def run_apply(student, x: np.ndarray, table: np.ndarray, dtype: str = "float32", transposed: bool = False, gradient=None,
              first=None) -> Answer:
    """Run `apply`; where it fails because the table is longer than the sequence, say so."""
    try:
        return student.run(apply, x=x, table=table, dtype=dtype, transposed=transposed, gradient=gradient, first=first)
    except Failed as failed:
        if failed.verdict is Verdict.EXCEPTION and len(table) > x.shape[2] and re.search(r"size|shape|broadcast", failed.message):
            raise Failed(failed.verdict, f"{failed.message}\nx has {x.shape[2]} positions, and rope_cache {len(table)} "
                                         f"rows. Likely cause: the table is not cut to the "
                                         "first T rows.") from None
        raise


def tolerance(positions: int) -> float:
    """What float32 may be off: an angle of t radians has an error of a few times t * 1e-7."""
    return 1e-4 if positions <= 64 else 1e-3


def require_table(answer: Answer, dim: int, positions: int, name: str | None = None) -> None:
    """A table (called `name` in messages; else by the call that made it) is float32 (float64 is accepted), of the right shape, and has the right cosines and sines.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    name = name or f"precompute_rotary_emb({dim}, {positions})"
    answer = answer.named(name)
    right = angles(dim, positions)
    pair = lambda angle: np.stack((np.cos(angle), np.sin(angle)), axis=-1)      # noqa: E731
    dtype = "float64" if "float64" in answer.describe() else "float32"
    table = answer.array(dtype, (positions, dim // 2, 2)).astype(float)
    t, i = np.arange(positions)[:, None], np.arange(dim // 2)[None]
    require_close(name, table, pair(right), tolerance(positions), [
        ("cosines and sines have changed places: the last axis is (cos, sin).", pair(right)[..., ::-1]),
        ("the exponent lacks its factor 2: theta_i = 10000 ** (-2 i / dim).", lambda: pair(t * 10000.0 ** (-i / dim))),
        ("the exponent is rounded down to a whole number: divide with /, not "
         "with //.", lambda: pair(t * 10000.0 ** (-2 * i // dim))),
        ("the cosines stand in both places.", lambda: np.stack((np.cos(right), np.cos(right)), axis=-1)),
        ("the sines stand in both places.", lambda: np.stack((np.sin(right), np.sin(right)), axis=-1)),
        ("the exponent is divided by dim/2 instead of dim.", lambda: pair(t * 10000.0 ** (-4 * i / dim))),
        ("i begins at 1; it should begin at 0, so that theta_0 = 1.", lambda: pair(t * 10000.0 ** (-2 * (i + 1) / dim))),
        ("the positions begin at 1; at position 0 "
         "nothing turns.", lambda: pair(right + right[1:2] if positions > 1 else right)),
        ("the base is 1000 instead of 10000.", lambda: pair(angles(dim, positions, 1000.0))),
        ("the base is 100000 instead of 10000.", lambda: pair(angles(dim, positions, 100000.0))),
        ("the sines have the wrong sign.", lambda: pair(-right)),
        ("the angles are taken for degrees.", lambda: pair(np.radians(right))),
        ("positions and frequencies have changed places.", lambda: pair(i * 10000.0 ** (-2.0 * t / dim))),
        ("the position is not used.", lambda: pair(np.broadcast_to(angles(dim, 2)[1], right.shape))),
        # Last, since it compares few values where the dimension is small.
        ("the exponent has the wrong sign: theta_i = 10000 ** (-2 i / dim).", lambda: pair(_if_small(t * 10000.0 ** (2 * i / dim)))),
    ])


def _if_small(angle):
    """NaN, which matches anything, for angles of which float32 keeps too few digits to compare."""
    return np.where(np.abs(angle) < 100, angle, np.nan)


def mistaken_rotations(x: np.ndarray, table: np.ndarray) -> list:
    """Known mistakes as (sentence, what they give), for x (B, n_head, T, d) in float64 and the table (positions, d/2, 2)."""
    T, d = x.shape[-2:]
    angle = np.arctan2(table[..., 1], table[..., 0])
    even, odd, half = x[..., 0::2], x[..., 1::2], d // 2
    first, second = x[..., :half], x[..., half:]
    cos, sin = table[:T, :, 0], table[:T, :, 1]

    def interleave(a, b):
        return np.stack((a, b), axis=-1).reshape(x.shape)

    def join(a, b):
        return np.concatenate((a, b), axis=-1)

    return [
        ("x comes back as it was.", x),
        ("the pairs are (x[i], x[i + d/2]), the half-split convention; here they are adjacent, (x[2i], x[2i+1]).",
         lambda: join(first * cos - second * sin, first * sin + second * cos)),
        ("the pairs are rotated the other way, by -angle.", lambda: rotate(x, -angle)),
        ("cosines and sines have changed places.", lambda: interleave(even * sin - odd * cos, even * cos + odd * sin)),
        ("the pairs are rotated rightly, and put back in the wrong order: side by side again, not all first halves and then "
         "all second ones.",
         lambda: join(even * cos - odd * sin, even * sin + odd * cos)),
        ("the half-split convention on the way in; the pairs are adjacent, (x[2i], x[2i+1]).",
         lambda: interleave(first * cos - second * sin, first * sin + second * cos)),
        ("both features of a pair get the same sign; it is a cos - b sin and a sin + b cos.",
         lambda: interleave(even * cos + odd * sin, even * sin + odd * cos)),
        ("only the cosines are used.", lambda: interleave(even * cos, odd * cos)),
        ("the second feature of each pair is not rotated.", lambda: interleave(even * cos - odd * sin, odd)),
        ("the first feature was overwritten before the second was computed from it.",
         lambda: interleave(even * cos - odd * sin, (even * cos - odd * sin) * sin + odd * cos)),
        ("the table's last rows are used; row t belongs to position t.", lambda: rotate(x, angle[-T:])),
        ("every head is rotated by its number, not every position by its own: the angle belongs to the axis T.",
         lambda: rotate(x.swapaxes(1, 2), angle).swapaxes(1, 2) if x.shape[1] <= len(angle) else None),
        ("the rotation is applied twice.", lambda: rotate(x, 2 * angle)),
    ]


def require_rotated(answer: Answer, x: np.ndarray, table: np.ndarray, dtype: str, limit: float) -> None:
    """The answer is x rotated by the table's angles.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    rotated = answer.named("apply_rotary_emb(x, rope_cache)").array(dtype, x.shape).astype(float)
    x, table = x.astype(float), table.astype(float)
    expected = rotate(x, np.arctan2(table[..., 1], table[..., 0]))
    case = "" if len(table) == x.shape[2] else f" for {x.shape[2]} positions and a table of {len(table)}"
    require_close(f"apply_rotary_emb(x, rope_cache){case}", rotated, expected, limit, mistaken_rotations(x, table))
