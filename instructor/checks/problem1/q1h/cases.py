"""Cases of question 1h: tables, rotations, attention layers and models, with the results of known
mistakes.
"""

import numpy as np

from checks.support.cases import Case
from instructor.checks.makers import makes
from instructor.checks.problem1.gpt import attention_shapes, model_case, weights_of
from instructor.checks.reference import angles, attention, rope_table, rotate


def table_case(dim: int, positions: int) -> Case:
    """Make a case of precompute_rotary_emb."""
    return Case(
        {"dim": dim, "positions": positions},
        rope_table(dim, positions),
        mistaken_tables(dim, positions),
    )


def mistaken_tables(dim: int, positions: int) -> list:
    """Return known mistakes as (sentence, result)."""
    right = angles(dim, positions)
    t, i = np.arange(positions)[:, None], np.arange(dim // 2)[None]

    def pair(angle):
        return np.stack((np.cos(angle), np.sin(angle)), axis=-1)

    return [
        ("cosines and sines are swapped: the last axis is (cos, sin).", pair(right)[..., ::-1]),
        (
            "the exponent lacks its factor 2: theta_i = 10000 ** (-2 i / dim).",
            pair(t * 10000.0 ** (-i / dim)),
        ),
        (
            "the exponent is rounded down to an integer: divide with /, not with //.",
            pair(t * 10000.0 ** (-2 * i // dim)),
        ),
        ("the cosines are in both places.", np.stack((np.cos(right), np.cos(right)), axis=-1)),
        ("the sines are in both places.", np.stack((np.sin(right), np.sin(right)), axis=-1)),
        ("the exponent is divided by dim/2 instead of dim.", pair(t * 10000.0 ** (-4 * i / dim))),
        (
            "i starts at 1; it should start at 0, so that theta_0 = 1.",
            pair(t * 10000.0 ** (-2 * (i + 1) / dim)),
        ),
        (
            "the positions start at 1; at position 0 nothing is rotated.",
            pair(right + right[1:2] if positions > 1 else right),
        ),
        ("the base is 1000 instead of 10000.", pair(angles(dim, positions, 1000.0))),
        ("the base is 100000 instead of 10000.", pair(angles(dim, positions, 100000.0))),
        ("the sines have the wrong sign.", pair(-right)),
        ("the angles are treated as degrees.", pair(np.radians(right))),
        ("positions and frequencies are swapped.", pair(i * 10000.0 ** (-2.0 * t / dim))),
        ("the position is not used.", pair(np.broadcast_to(angles(dim, 2)[1], right.shape))),
        # Last, since it compares few values if the dimension is small.
        (
            "the exponent has the wrong sign: theta_i = 10000 ** (-2 i / dim).",
            pair(_if_small(t * 10000.0 ** (2 * i / dim))),
        ),
    ]


def _if_small(angle):
    """Return NaN, which matches anything, for angles with too few digits in float32 to compare."""
    return np.where(np.abs(angle) < 100, angle, np.nan)


def rotation_case(x: np.ndarray, table: np.ndarray) -> Case:
    """Make a case of apply_rotary_emb, for x (B, n_head, T, d) and the table (positions, d/2,
    2).
    """
    wide = x.astype(float)
    angle = np.arctan2(table[..., 1], table[..., 0]).astype(float)
    return Case(
        {"x": x, "table": table}, rotate(wide, angle), mistaken_rotations(wide, table.astype(float))
    )


def mistaken_rotations(x: np.ndarray, table: np.ndarray) -> list:
    """Return known mistakes as (sentence, result), for x and table in float64."""
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
        ("x is returned unchanged.", x),
        (
            (
                "the pairs are (x[i], x[i + d/2]), the half-split convention; here they are"
                " adjacent, (x[2i], x[2i+1])."
            ),
            lambda: join(first * cos - second * sin, first * sin + second * cos),
        ),
        ("the pairs are rotated in the wrong direction, by -angle.", lambda: rotate(x, -angle)),
        (
            "cosines and sines are swapped.",
            lambda: interleave(even * sin - odd * cos, even * cos + odd * sin),
        ),
        (
            (
                "the pairs are rotated correctly, but put back in the wrong order: they should be "
                "adjacent again, not all first features and then all second ones."
            ),
            lambda: join(even * cos - odd * sin, even * sin + odd * cos),
        ),
        (
            "the half-split convention on the way in; the pairs are adjacent, (x[2i], x[2i+1]).",
            lambda: interleave(first * cos - second * sin, first * sin + second * cos),
        ),
        (
            "the sine has the same sign in both features of a pair.",
            lambda: interleave(even * cos + odd * sin, even * sin + odd * cos),
        ),
        ("only the cosines are used.", lambda: interleave(even * cos, odd * cos)),
        (
            "the second feature of each pair is not rotated.",
            lambda: interleave(even * cos - odd * sin, odd),
        ),
        (
            "the first feature was overwritten before the second was computed from it.",
            lambda: interleave(even * cos - odd * sin, (even * cos - odd * sin) * sin + odd * cos),
        ),
        (
            "the table's last rows are used; row t belongs to position t.",
            lambda: rotate(x, angle[-T:]),
        ),
        (
            (
                "each head is rotated by its index, not each position by its own: the angle "
                "belongs to the axis T."
            ),
            lambda: (
                rotate(x.swapaxes(1, 2), angle).swapaxes(1, 2) if x.shape[1] <= len(angle) else None
            ),
        ),
        ("the rotation is applied twice.", lambda: rotate(x, 2 * angle)),
    ]


def attention_case(rng, batch: int) -> Case:
    """Make a case of a CausalSelfAttention with RoPE: its table, and its output for x."""
    n_head, head_dim = int(rng.choice([3, 5])), 4  # odd: never as large as a head's dimension
    block_size = int(rng.integers(5, 8))
    T, C = block_size - int(rng.integers(1, 3)), n_head * head_dim
    x = rng.standard_normal((batch, T, C)).astype(np.float32)
    seed = int(rng.integers(2**31))
    shapes = attention_shapes(C)
    weights = weights_of(seed, shapes)

    def output(rotated, softmax_axis=-1):
        return attention(x.astype(float), weights, n_head, rotated, softmax_axis)

    wrong = [
        (sentence, {"table": table}) for sentence, table in mistaken_tables(head_dim, block_size)
    ]
    wrong += [
        (sentence, {"y": output(rotated)})
        for rotated, sentence in (
            ("", "nothing is rotated."),
            ("q", "the queries are rotated, but the keys are not."),
            ("k", "the keys are rotated, but the queries are not."),
            ("qkv", "the values are rotated, too. Rotate only queries and keys."),
            ("v", "the values are rotated instead of queries and keys."),
        )
    ]
    wrong.append(
        (
            "the softmax is over the queries; it should be over the keys, dim=-1.",
            {"y": output("qk", -2)},
        )
    )
    return Case(
        {"x": x, "seed": seed, "config": {"block_size": block_size, "n_head": n_head, "n_embd": C}},
        {"table": rope_table(head_dim, block_size), "y": output("qk")},
        wrong,
        {"shapes": shapes},
    )


@makes("1h-2-basic")
def small_tables(rng, small=False):
    """The tables of small heads; when staff grade, of heads that no released table covers."""
    if small:
        return [table_case(dim, int(rng.integers(9, 12))) for dim in (4, 6, 8)]
    widths = 2 * rng.choice(np.arange(5, 33), size=3, replace=False)
    return [table_case(int(dim), int(rng.integers(19, 40))) for dim in widths]


@makes("1h-3-basic")
def small_rotations(rng):
    """Tables as long as the sequence and longer; all dimensions differ."""
    more = rng.integers(1, 4, size=2).tolist()
    cases = []
    sizes = (1, 3, 5, 4, 5), (2, 1, 3, 6, 4 + more[0]), (2, 3, 5, 4, 5 + more[1])
    for B, n_head, T, d, rows in sizes:
        x = rng.standard_normal((B, n_head, T, d)).astype(np.float32)
        cases.append(rotation_case(x, rope_table(d, rows).astype(np.float32)))
    return cases


@makes("1h-6-basic")
def layers(rng):
    """Attention layers on one sequence, and on two."""
    return [attention_case(rng, batch) for batch in (2, 1, 1)]


@makes("1h-9-basic")
def models(rng):
    """The RoPE model, and the vanilla one, which should be unaffected."""
    return [
        *(model_case(rng, "initialize_rope_model", rope=True) for _ in range(2)),
        model_case(rng, None, rope=False),
    ]
