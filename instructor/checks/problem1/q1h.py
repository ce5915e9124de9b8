"""Question 1h: inputs of tables, rotations, layers and models; and the hidden checks."""

import numpy as np

from autograder import check
from checks.problem1.models import MODEL, require_models
from checks.problem1.q1h import FORMATS, LAYER, PIECES, ROTATION, TABLE
from instructor.checks.drawing import draws
from instructor.checks.problem1.models import draw_model


@draws(TABLE, "1h-2-basic", "1h-4-hidden")
def tables(rng, large):
    """Even and odd numbers of positions; more for the same dimension; a single pair, with which
    float32 has enough digits for many positions; a single position; large ones.
    """
    dims = (2 * rng.choice(np.arange(2, 13), size=3, replace=False)).tolist()
    rows = rng.permutation(np.arange(9, 29)).tolist()
    sizes = [(dims[0], rows[0] | 1), (dims[1], rows[1] & ~1), (dims[0], 30), (dims[2], 1)]
    sizes.append((2, int(rng.integers(1100, 2000))))
    if large:
        sizes += [(64, 2 * int(rng.integers(30, 45)) + 1), (2 * int(rng.integers(30, 60)), 3)]
    return [{"dim": dim, "max_positions": positions} for dim, positions in sizes]


def draw_table(rng, rows: int, half: int) -> np.ndarray:
    """Draw cosines and sines of any angles, (rows, half, 2)."""
    angles = rng.uniform(-np.pi, np.pi, (rows, half))
    return np.stack((np.cos(angles), np.sin(angles)), axis=-1).astype(np.float32)


@draws(ROTATION, "1h-3-basic")
def small_rotations(rng):
    """Tables as long as the sequence and longer, two of the same shape; all dimensions differ."""
    more = rng.integers(1, 4, size=2).tolist()
    sizes = (1, 3, 6, 4, 6), (2, 3, 4, 5, 4 + more[0]), (2, 3, 4, 5, 4 + more[0])
    return [
        {
            "x": rng.standard_normal((B, n_head, T, 2 * half), np.float32),
            "rope_cache": draw_table(rng, rows, half),
        }
        for B, n_head, T, half, rows in (*sizes, (2, 1, 3, 2, 4 + more[1]))
    ]


@draws(FORMATS, "1h-11-basic", "1h-5-hidden")
def formats(rng, large):
    """Sequences shorter than the table, both precisions, views, one row; two tables of the same
    shape; gradients.
    """
    half = int(rng.integers(3, 7 if large else 5))
    rows = int(rng.integers(19, 24) if large else rng.integers(6, 8))
    sizes = [  # B, n_head, T, dtype, turned, graded
        (1, 2, rows, "float32", False, False),
        (1, 2, 1, "float32", False, False),
        (2, 3, rows - 1, "float32", True, False),
        (1, 2, rows - 1, "float64", True, True),
    ]
    if large:
        sizes += [
            (2, 3, rows - 4, "float32", True, True),
            (3, 2, rows // 2, "float64", False, False),
        ]
    calls = []
    for B, n_head, T, dtype, turned, graded in sizes:
        x = rng.standard_normal((B, n_head, T, 2 * half)).astype(dtype)
        given = {"x": x, "rope_cache": draw_table(rng, rows, half)}
        inputs = {**given, "turned": turned, "graded": graded}
        calls.append((inputs, ", a view of a tensor (B, T, n_head, head_dim)," if turned else ""))
    return calls


def draw_layer(rng, batch: int) -> dict:
    """Draw the inputs of a layer; all sizes differ."""
    n_head, block_size, T = (int(rng.choice(sizes)) for sizes in ((3, 5), (9, 11), (6, 8)))
    C = n_head * 4
    return {
        "config": {"block_size": block_size, "n_head": n_head, "n_embd": C},
        "seed": int(rng.integers(2**31)),
        "x": rng.standard_normal((batch, T, C), np.float32),
    }


@draws(LAYER, "1h-6-basic")
def layers(rng):
    """A layer's table; its output, for two inputs of the same shape as well."""
    one, two = draw_layer(rng, batch=1), draw_layer(rng, batch=2)
    again = {**two, "x": two["x"][::-1].copy(), "seed": one["seed"]}
    return [{**one, "x": None}, {**two, "x": None}, one, two, again]


@draws(PIECES, "1h-10-basic")
def pieces(rng):
    """Pieces of one position and of several."""
    calls = [draw_layer(rng, batch=1) for _ in range(2)]
    return [{**call, "ends": [3, 4, T := call["x"].shape[1] - 1, T + 1]} for call in calls]


@draws(MODEL, "1h-9-basic", "1h-7-hidden")
def models(rng, large):
    """The RoPE model, and the vanilla one, which should be unaffected."""
    return [draw_model(rng, kind, large) for kind in ("initialize_rope_model", None)]


@check("1h-7-hidden")
def test_models(student, calls):
    """Other sizes and numbers of layers; tokens that are read piece by piece."""
    require_models(student, calls)
