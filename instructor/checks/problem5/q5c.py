"""Question 5c: inputs of attention in NumPy, and the hidden checks."""

import numpy as np

from checks.problem5.q5c import ATTENTION, FORMATS, STEPS
from instructor.checks.drawing import draws


def lengths(rng, large: bool = False) -> list[int]:
    """Draw L_q, L_k, d_k and d_v: distinct, and none the square root of another."""
    return rng.permutation((5, 6, 7, 8, 10, 11) if large else (3, 4, 5, 6))[:4].tolist()


def draw_mask(rng, *shape: int) -> np.ndarray:
    """Draw a mask in which every row, along the last axis, has both True and False."""
    rank = rng.random(shape).argsort(axis=-1).argsort(axis=-1)
    return rank < rng.integers(1, shape[-1], size=(*shape[:-1], 1))


def inputs(rng, sizes, Q=(), K=(), V=(), mask=None, dtypes=("float64",) * 3) -> dict:
    """Draw the inputs of a call.

    Args:
        sizes: L_q, L_k, d_k, d_v.
        Q, K, V: leading dimensions.
        dtypes: of Q, K and V. The products of int8 overflow.
    """
    L_q, L_k, d_k, d_v = sizes
    shapes = (*Q, L_q, d_k), (*K, L_k, d_k), (*V, L_k, d_v)
    arrays = [
        rng.integers(-12, 13, shape).astype(dtype)
        if dtype.startswith("int")
        else rng.standard_normal(shape).astype(dtype)
        for shape, dtype in zip(shapes, dtypes)
    ]
    return dict(zip("QKV", arrays), mask=mask)


@draws(ATTENTION, "5c-0-basic")
def plain(rng):
    """Two axes, no mask."""
    return [inputs(rng, lengths(rng)) for _ in range(2)]


@draws(ATTENTION, "5c-1-basic")
def masked(rng):
    """A mask for each query; in a batch, one for all or one for each; values that must stay
    hidden.
    """
    L_q, L_k, *_ = sizes = lengths(rng)
    batch = (2,), (2,), (2,)
    # a large value makes any weight of a masked key visible
    hidden, mask = int(rng.integers(L_k)), draw_mask(rng, 2, L_q, L_k)
    mask[..., (hidden + 1) % L_k], mask[..., hidden] = True, False
    large = inputs(rng, sizes, *batch, mask)
    large["V"][:, hidden] = 1e12
    return [
        inputs(rng, sizes, mask=draw_mask(rng, L_q, L_k)),
        inputs(rng, sizes, *batch, draw_mask(rng, L_q, L_k)),
        inputs(rng, sizes, *batch, draw_mask(rng, 2, L_q, L_k)),
        (large, f", where key {hidden} has the value 1e12, and is masked for all queries"),
    ]


@draws(ATTENTION, "5c-6-basic", "5c-2-hidden")
def leading(rng, large):
    """Leading dimensions that broadcast, also in the mask, which may have more of them than the
    scores; lengths of 1.
    """
    L_q, L_k, d_k, d_v = sizes = lengths(rng, large)
    ones = [(1, L_k, d_k, d_v), (L_q, 1, d_k, d_v), (L_q, L_k, 1, d_v), (L_q, L_k, d_k, 1)]
    return [
        inputs(rng, sizes, (2, 1), (3,)),
        inputs(rng, sizes, mask=draw_mask(rng, 2, L_q, L_k)),
        inputs(rng, sizes, (), (3,), (2, 1), draw_mask(rng, 4, 1, 1, L_q, L_k)),
        inputs(rng, sizes, (2, 1, 3), (2, 1, 1), (4, 1), draw_mask(rng, 3, 1, L_k)),
        inputs(rng, sizes, (1,), (1,), (1,), draw_mask(rng, L_k)),
        *(inputs(rng, one, K=(2,), mask=np.ones((1, one[1]), bool)) for one in [*ones, (1,) * 4]),
    ]


@draws(ATTENTION, "5c-7-basic", "5c-3-hidden")
def large_scores(rng, large):
    """Scores around 10^4 and -10^4, in both precisions; one sequence may attend only to its
    lowest-scoring keys.
    """
    L_q, L_k, *_ = lengths(rng, large)
    # Scores are exact in float32: the root of d_k is 4, and all entries are integers.
    Q, K = (rng.integers(-2, 3, size=(2, length, 16)).astype(float) for length in (L_q, L_k))
    Q[..., 0] = 200 * rng.choice([-1, 1], size=(2, L_q))
    Q[..., -1, 0] /= 10  # a row whose largest score is far from the overall largest
    K[..., 0] = 200 * np.where(np.arange(L_k) % 2, 1, -1)
    V, mask = rng.standard_normal((2, L_k, 2)), draw_mask(rng, 2, L_q, L_k)
    mask[0] = (Q[..., :1] * K[..., None, :, 0] < 0)[0]
    calls = [
        {name: array.astype(dtype) for name, array in zip("QKV", (Q, K, V))} | {"mask": given}
        for dtype in ("float64", "float32")
        for given in (None, mask)
    ]
    return [(call, ", with scores of 10^4 and -10^4") for call in calls]


@draws(ATTENTION, "5c-8-basic", "5c-4-hidden")
def empty_rows(rng, large):
    """Some queries, a whole sequence, or all of them may attend to nothing; also of one key."""
    L_q, L_k, *_ = sizes = lengths(rng, large)
    some, sequence = draw_mask(rng, L_q, L_k), draw_mask(rng, 2, L_q, L_k)
    some[rng.integers(L_q)] = sequence[rng.integers(2)] = sequence[:, 0] = False
    every_other = np.arange(L_q)[:, None] % 2 == 0
    calls = [
        inputs(rng, sizes, (2,), (2,), (2,), mask, (dtype,) * 3)
        for mask in (some, sequence, np.zeros(L_k, bool), every_other)
        for dtype in ("float64", "float32")
    ]
    calls.append(inputs(rng, (L_q, 1, *sizes[2:]), mask=every_other))
    return [(call, ", where queries may attend to nothing") for call in calls]


@draws(FORMATS, "5c-9-basic", "5c-5-hidden")
def formats(rng, large):
    """Each precision, mixtures of them, and integers; masked or not."""
    L_q, L_k, *_ = sizes = lengths(rng, large)
    mask = draw_mask(rng, L_q, L_k)
    mask[0] = np.arange(L_k) > 0
    h, f, d, i = "float16", "float32", "float64", "int8"
    kinds = [(f, f, f), (f, d, d), (d, f, f), (i, i, i), (f, f, i), ("int64", d, f), (h, h, h)]
    # Overflow changes nothing if the same keys win. With two more calls: in 1 round of 1,000.
    return [
        *(inputs(rng, sizes, mask=mask, dtypes=kind) for kind in kinds),
        *(inputs(rng, sizes, dtypes=kind) for kind in [kinds[0], kinds[3], kinds[3]]),
    ]


@draws(ATTENTION, "5c-10-basic", "5c-2-hidden")
def misfits(rng, large):
    """A right call; then shapes that do not fit, some of which broadcasting would accept."""
    L_q, L_k, d_k, d_v = sizes = lengths(rng, large)
    shapes = [("K", (L_k, d_k + 1)), ("V", (L_k + 1, d_v)), ("Q", (L_q, 1)), ("K", (L_k, 1))]
    shapes += [("K", (1, d_k)), ("V", (1, d_v))]
    calls = [
        *(inputs(rng, sizes) | {name: rng.standard_normal(shape)} for name, shape in shapes),
        inputs(rng, sizes, (3,), (2,)),
        inputs(rng, sizes, (), (2,), (3,)),
        inputs(rng, sizes, mask=draw_mask(rng, L_q, L_k + 1)),
        inputs(rng, sizes, K=(2,), mask=draw_mask(rng, 3, L_q, L_k)),
    ]
    remark = ", where shapes do not fit (einsum and * broadcast a length of 1, @ does not),"
    return [inputs(rng, sizes), *((call, remark) for call in calls)]


@draws(FORMATS, "5c-5-hidden")
@draws(ATTENTION, "5c-10-basic")
def other_masks(rng, large):
    """Masks that are not boolean."""
    L_q, L_k, *_ = sizes = lengths(rng, large)
    mask = draw_mask(rng, L_q, L_k)
    kinds = [mask.astype(dtype) for dtype in ("int64", "uint8", "float32")]
    kinds.append(np.where(mask, 0.0, -np.inf))
    return [(inputs(rng, sizes, mask=kind), ", with a mask that is not boolean,") for kind in kinds]


@draws(STEPS, "5c-11-basic")
def twice_as_many(rng):
    """A batch; then twice as many sequences, queries, and keys."""
    B, L_q, L_k = rng.permutation([5, 6, 7]).tolist()
    sizes = [(B, L_q, L_k), (2 * B, L_q, L_k), (B, 2 * L_q, L_k), (B, L_q, 2 * L_k)]
    draw = rng.standard_normal
    return [
        {"Q": draw((n, queries, 2)), "K": draw((n, keys, 2)), "V": draw((n, keys, 1))}
        for n, queries, keys in sizes
    ]
