"""Cases of question 5c: calls of attention with the formula's results."""

import math

import numpy as np

from checks.support.cases import Case, same
from instructor.checks.makers import makes
from instructor.checks.problem5.attention_formula import attend, mistaken, softmax

# Lengths for released cases: few numbers, and no length is another's square root.
SMALL = (3, 4, 5, 6)


def draw_mask(rng, shape: tuple[int, ...]) -> np.ndarray:
    """Draw a mask in which every row, along the last axis, has both True and False."""
    rank = rng.random(shape).argsort(axis=-1).argsort(axis=-1)
    return rank < rng.integers(1, shape[-1], size=(*shape[:-1], 1))


def draw_lengths(
    rng, count: int, choices: tuple[int, ...] = (5, 6, 7, 8, 10, 11, 12, 13)
) -> list[int]:
    """Draw `count` distinct lengths, none the square root of another."""
    return rng.permutation(choices)[:count].tolist()


def attention_case(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    mask: np.ndarray | None = None,
    formula: bool = True,
    **about,
) -> Case:
    """Make a case of attention.

    Args:
        formula: include known mistakes in the formula; else only those in masks and with large
            numbers, for rules judged separately.
        about: the output's dtype (by default float64), and whether it is required (`strict`) or
            float64 is accepted for float32; the tolerance, if not the handout's; `raises`: the
            expected exception; `remark`: on the inputs, for messages.
    """
    inputs = {"Q": Q, "K": K, "V": V, "mask": mask}
    about = {
        "dtype": "float64",
        "strict": False,
        "tolerance": None,
        "raises": None,
        "remark": "",
        **about,
    }
    if about["raises"]:
        return Case(inputs, about=about)
    right, wrong = attend(**inputs), _overflowing(**inputs) + mistaken(**inputs, formula=formula)
    return Case(
        inputs,
        right,
        [(sentence, lambda work=work: _different(work(), right)) for sentence, work in wrong],
        about,
    )


def _different(array, right):
    """Return a mistake's result; None if it equals the right one, since any slightly wrong output
    would match it.
    """
    return None if array is None or same(array, right) else array


def _overflowing(Q, K, V, mask):
    """Return the mistake that only integers reveal."""
    if {x.dtype.kind for x in (Q, K)} != {"i"}:
        return []

    def work():
        scores = Q @ np.swapaxes(K, -1, -2) / math.sqrt(Q.shape[-1])
        return softmax(scores if mask is None else np.where(mask, scores, -np.inf)) @ V

    return [
        (
            "integers are multiplied in their own dtype, in which they overflow; convert them to "
            "float64 first.",
            work,
        )
    ]


@makes("5c-0-basic")
def plain(rng):
    """Two axes, no mask."""
    cases = []
    for _ in range(2):
        L_q, L_k, d_k, d_v = draw_lengths(rng, 4, SMALL)
        cases.append(attention_case(*_draw(rng, (L_q, d_k), (L_k, d_k), (L_k, d_v))))
    return cases


@makes("5c-1-basic")
def masked(rng):
    """A mask for each query; in a batch, one for all or one for each; values that must stay
    hidden.
    """
    L_q, L_k, d_k = draw_lengths(rng, 3, SMALL)
    Q, K, V = _draw(rng, (2, L_q, d_k), (2, L_k, d_k), (2, L_k, 3))
    # Makes any weight of a masked key visible.
    hidden, large, mask = int(rng.integers(L_k)), V[..., :2].copy(), draw_mask(rng, (2, L_q, L_k))
    large[:, hidden] = 1e12
    mask[..., (hidden + 1) % L_k], mask[..., hidden] = True, False
    remark = f", where key {hidden} has the value 1e12, and is masked for all queries"
    return [
        attention_case(Q[0], K[0], V[0, :, :2], draw_mask(rng, (L_q, L_k))),
        attention_case(Q, K, V, draw_mask(rng, (L_q, L_k))),
        attention_case(Q, K, large, mask, remark=remark),
    ]


@makes("5c-6-basic")
def leading(rng):
    """Leading dimensions that broadcast, and a mask with more of them than the scores; lengths of
    1.
    """
    L_q, L_k, d_k = draw_lengths(rng, 3, SMALL)
    Q, K, V = _draw(rng, (L_q, d_k), (L_k, d_k), (L_k, 2))
    ones = [(1, L_k, d_k, 2), (L_q, 1, d_k, 2), (L_q, L_k, 1, 2), (L_q, L_k, d_k, 1)]
    return [
        attention_case(*_draw(rng, (2, 1, L_q, d_k), (3, L_k, d_k), (L_k, 2))),
        attention_case(Q, K, V, draw_mask(rng, (2, L_q, L_k))),
        attention_case(*draw_ones(rng, *ones[rng.integers(4)])),
        attention_case(*draw_ones(rng, 1, 1, 1, 1)),
    ]


def draw_ones(rng, L_q: int, L_k: int, d_k: int, d_v: int) -> tuple[np.ndarray, ...]:
    """Draw Q, K with a leading dimension, V, and a mask that allows everything."""
    return *_draw(rng, (L_q, d_k), (2, L_k, d_k), (L_k, d_v)), np.ones((1, L_k), bool)


@makes("5c-7-basic")
def large(rng):
    """Scores around 10^4 and -10^4."""
    L_q, L_k = draw_lengths(rng, 2, SMALL)
    inputs, mask = draw_large(rng, (), L_q, L_k)
    mask[0] = hardest(*inputs)[0]
    return [
        large_case(inputs, given, dtype)
        for dtype, given in (("float64", None), ("float64", mask), ("float32", mask))
    ]


def draw_large(
    rng, batch: tuple[int, ...], L_q: int, L_k: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Draw Q, K and V whose scores are exact in float32, as the root of d_k is 4 and all entries
    are integers; and a mask.

    The last query's scores are smaller: 10^3.
    """
    Q, K = (rng.integers(-2, 3, size=(*batch, length, 16)).astype(float) for length in (L_q, L_k))
    Q[..., 0] = 200 * rng.choice([-1, 1], size=(*batch, L_q))
    Q[..., -1, 0] /= 10  # a row whose largest score is far from the overall largest
    K[..., 0] = 200 * np.where(np.arange(L_k) % 2, 1, -1)
    return [Q, K, rng.standard_normal((*batch, L_k, 2))], draw_mask(rng, (*batch, L_q, L_k))


def hardest(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return a mask of only the keys with scores of -10^4, so that a row's largest score is
    masked.
    """
    return Q[..., :1] * K[..., None, :, 0] < 0


def large_case(inputs: list[np.ndarray], mask: np.ndarray | None, dtype: str) -> Case:
    """Make a case with large scores, in one of the two precisions."""
    remark = ", with scores of 10^4 and -10^4"
    return attention_case(
        *(x.astype(dtype) for x in inputs), mask, formula=False, dtype=dtype, remark=remark
    )


@makes("5c-8-basic")
def empty_rows(rng):
    """Some queries, a whole sequence, or all of them may attend to nothing."""
    L_q, L_k, d_k = draw_lengths(rng, 3, SMALL)
    some, sequence = draw_mask(rng, (L_q, L_k)), draw_mask(rng, (2, L_q, L_k))
    some[rng.integers(L_q)], sequence[rng.integers(2)] = False, False
    nothing = np.zeros(((L_k,), (L_q, L_k), (1, 1))[rng.integers(3)], bool)
    return [
        empty_case(_draw(rng, (L_q, d_k), (L_k, d_k), (L_k, 2)), some, "float64"),
        empty_case(_draw(rng, (2, L_q, d_k), (2, L_k, d_k), (2, L_k, 3)), sequence, "float32"),
        empty_case(_draw(rng, (L_q, d_k), (L_k, d_k), (L_k, 2)), nothing, "float64"),
    ]


def empty_case(inputs: list[np.ndarray], mask: np.ndarray, dtype: str) -> Case:
    """Make a case with empty rows in the mask, in one of the two precisions."""
    remark = ", where queries may attend to nothing"
    return attention_case(
        *(x.astype(dtype) for x in inputs), mask, formula=False, dtype=dtype, remark=remark
    )


@makes("5c-9-basic")
def formats(rng):
    """Each precision, both in one call, and integers; masked or not."""
    L_q, L_k, d_k = draw_lengths(rng, 3, SMALL)
    mask = draw_mask(rng, (L_q, L_k))
    mask[0] = np.arange(L_k) > 0
    kinds = [
        ("float32",) * 3,
        ("float32", "float64", "float64"),
        ("float64", "float32", "float32"),
        ("int8",) * 3,
    ]
    return [
        format_case(rng, dtypes, ((L_q, d_k), (L_k, d_k), (L_k, 2)), given)
        for dtypes, given in zip(kinds, (mask, None, mask, None))
    ]


def format_case(
    rng, dtypes: tuple[str, ...], shapes: tuple[tuple[int, ...], ...], mask: np.ndarray | None
) -> Case:
    """Make a case with Q, K and V of these dtypes, whose output's dtype is judged. Integers
    overflow in their own dtype.
    """
    inputs = []
    for dtype, shape in zip(dtypes, shapes):
        drawn = (
            rng.integers(-12, 13, size=shape)
            if dtype.startswith("int")
            else rng.standard_normal(shape)
        )
        inputs.append(drawn.astype(dtype))
    # If dtypes are mixed, a part may be computed in float32.
    return attention_case(
        *inputs,
        mask,
        formula=False,
        dtype="float32" if {*dtypes} == {"float32"} else "float64",
        strict=True,
        tolerance=1e-5 if "float32" in dtypes else None,
    )


@makes("5c-10-basic")
def refusals(rng):
    """Shapes that do not fit, some of which broadcasting would accept, and masks that are not
    boolean.
    """
    return refused(rng, *draw_lengths(rng, 4, (2, 3, 4, 5)))


def refused(rng, L_q: int, L_k: int, d_k: int, d_v: int) -> list[Case]:
    """Make cases that must raise a ValueError or a TypeError."""
    right = dict(zip("QKV", _draw(rng, (L_q, d_k), (L_k, d_k), (L_k, d_v))))
    draw = rng.standard_normal
    shapes = [
        {"K": draw((L_k, d_k + 1))},
        {"V": draw((L_k + 1, d_v))},
        {"mask": draw_mask(rng, (L_q, L_k + 1))},
        {"Q": draw((3, L_q, d_k)), "K": draw((2, L_k, d_k))},
        {"K": draw((2, L_k, d_k)), "V": draw((3, L_k, d_v))},
        {"K": draw((2, L_k, d_k)), "mask": draw_mask(rng, (3, L_q, L_k))},
    ]
    of_one = [
        {"Q": draw((L_q, 1))},
        {"K": draw((L_k, 1))},
        {"K": draw((1, d_k))},
        {"V": draw((1, d_v))},
    ]
    mask = draw_mask(rng, (L_q, L_k))
    masks = [
        mask.astype("int64"),
        mask.astype("uint8"),
        mask.astype("float32"),
        np.where(mask, 0.0, -np.inf),
    ]
    one = ", where a length of 1 does not fit (einsum and * broadcast it, @ does not),"
    return [
        *(
            attention_case(
                **{**right, **other}, raises="ValueError", remark=", where shapes do not fit,"
            )
            for other in shapes
        ),
        *(
            attention_case(**{**right, **other}, raises="ValueError", remark=one)
            for other in of_one
        ),
        *(
            attention_case(
                **right, mask=bad, raises="TypeError", remark=", with a mask that is not boolean,"
            )
            for bad in masks
        ),
    ]


def _draw(rng, *shapes):
    return [rng.standard_normal(shape) for shape in shapes]
