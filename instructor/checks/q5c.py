"""Question 5c, hidden: all leading dimensions, large scores, rows without keys, number formats, inputs that do not fit."""
import numpy as np

from autograder import WrongAnswer, check
from checks.softmax_attention import Case, draw_lengths, draw_mask, require_attention


@check("5c-2-hidden")
def test_leading_dimensions(student, rng):
    """Several, and such that broadcast; lengths of 1; d_v is not d_k; what does not fit is a ValueError."""
    L_q, L_k, d_k, d_v = draw_lengths(rng, 4)
    draw = rng.standard_normal
    leading = [     # dimensions of Q, K and V, and the shape of the mask
        ((2, 3), (2, 3), (2, 3), None),
        ((2, 3), (2, 3), (2, 3), (2, 3, L_q, L_k)),
        ((4, 1), (3,), (), None),
        ((), (3,), (2, 1), (4, 1, 1, L_q, L_k)),
        ((2, 1, 3), (2, 1, 1), (4, 1), (3, 1, L_k)),
        ((), (), (), (3, L_q, L_k)),
        ((), (), (), (2, 1, 1, L_k)),
        ((1,), (1,), (1,), (L_k,)),
    ]
    rng.shuffle(leading)
    cases = [Case(draw((L_q, d_k)), draw((L_k, d_k)), draw((L_k, d_v)))]
    cases += [Case(draw((*Q, L_q, d_k)), draw((*K, L_k, d_k)), draw((*V, L_k, d_v)),
                   None if mask is None else draw_mask(rng, mask))
              for Q, K, V, mask in leading]
    cases += [Case(draw((q, k)), draw((2, n, k)), draw((n, v)), np.ones((1, n), bool))
              for q, n, k, v in ((1, L_k, d_k, d_v), (L_q, 1, d_k, d_v), (L_q, L_k, 1, d_v), (L_q, L_k, d_k, 1), (1, 1, 1, 1))]
    right = {"Q": draw((2, L_q, d_k)), "K": draw((2, L_k, d_k)), "V": draw((2, L_k, d_v))}
    cases += [Case(**{**right, **changes}, raises="ValueError", remark=", where shapes do not fit,") for changes in (
        {"K": draw((2, L_k, d_k + 1))}, {"V": draw((2, L_k + 1, d_v))}, {"Q": draw((3, L_q, d_k))}, {"V": draw((3, L_k, d_v))},
        {"mask": draw_mask(rng, (L_q, L_k + 1))}, {"mask": draw_mask(rng, (3, L_q, L_k))})]
    require_attention(student, *cases)


@check("5c-3-hidden")
def test_large_scores(student, rng):
    """Scores around 10^4 and -10^4, which float32 holds exactly: the root of d_k is 4, and all entries are whole."""
    L_q, L_k, B = draw_lengths(rng, 3)
    Q, K = (rng.integers(-2, 3, size=(B, length, 16)).astype(float) for length in (L_q, L_k))
    Q[..., 0] = 200 * rng.choice([-1, 1], size=(B, L_q))
    K[..., 0] = 200 * np.where(np.arange(L_k) % 2, 1, -1)
    V = rng.standard_normal((B, L_k, 3))
    mask = draw_mask(rng, (B, L_q, L_k))
    # One sequence may attend to its worst keys alone: the largest score is not the largest that counts.
    mask[0] = Q[0, :, :1] * K[0, :, 0] < 0
    require_attention(student, *(
        Case(*(x.astype(dtype) for x in (Q, K, V)), given, dtype, remark=", with scores of 10^4 and -10^4")
        for dtype in ("float64", "float32") for given in (None, mask)))


@check("5c-4-hidden")
def test_empty_rows(student, rng):
    """Some queries may attend to nothing, all may not, a whole sequence may not."""
    B, L_q, L_k, d_k, d_v = draw_lengths(rng, 5)
    some = draw_mask(rng, (B, L_q, L_k))
    some[rng.random((B, L_q)) < 0.4] = False
    some[0, 0], some[1] = False, False
    rows = np.arange(L_q)[:, None] % 2 == 0
    Q, K, V = (rng.standard_normal(shape) for shape in ((B, L_q, d_k), (B, L_k, d_k), (B, L_k, d_v)))
    require_attention(student, *(
        Case(*(x.astype(dtype) for x in (Q, K, V)), mask, dtype, remark=", where queries may attend to nothing")
        for dtype in ("float64", "float32")
        for mask in (some, some[0], rows, np.zeros(L_k, bool), np.zeros((B, L_q, L_k), bool), np.zeros((1, 1), bool))))


@check("5c-5-hidden")
def test_formats(student, rng):
    """The output's dtype; whole numbers, which would overflow in their own format; masks of other dtypes; inputs stay as they
    are."""
    L_q, L_k, d_k, d_v = draw_lengths(rng, 4)
    formats = [(("float32", "float32", "float32"), "float32"), (("float64", "float64", "float64"), "float64"),
               (("float32", "float64", "float64"), "float64"), (("float64", "float32", "float32"), "float64"),
               (("float32", "float32", "float64"), "float64"), (("int64", "int64", "int64"), "float64"),
               (("int8", "int8", "int8"), "float64"),
               (("int32", "float64", "float64"), "float64"), (("float64", "float64", "int32"), "float64"),
               (("int64", "float32", "float32"), "float64")]
    shapes = (L_q, d_k), (L_k, d_k), (L_k, d_v)
    mask, cases = draw_mask(rng, (L_q, L_k)), []
    for dtypes, expected in formats:
        inputs = [(rng.integers(-12, 13, size=shape) if dtype.startswith("int") else rng.standard_normal(shape)).astype(dtype)
                  for dtype, shape in zip(dtypes, shapes)]
        # Where formats are mixed, a part may have been worked out in float32.
        cases += [Case(*inputs, given, expected, 1e-5 if "float32" in dtypes else None) for given in (None, mask)]
    inputs = [rng.standard_normal(shape) for shape in shapes]
    cases += [Case(*inputs, bad, raises="TypeError", remark=", with a mask that is not boolean,") for bad in (
        mask.astype("int64"), mask.astype("uint8"), mask.astype("float64"), np.where(mask, 0.0, -np.inf), mask.astype("float32"))]
    for answer in require_attention(student, *cases):
        if names := answer["changed"].texts():
            raise WrongAnswer(f"attention changes its inputs: {', '.join(names)} came back with other values. Make new "
                              "arrays, with Q = Q / 2 and not Q /= 2.")
