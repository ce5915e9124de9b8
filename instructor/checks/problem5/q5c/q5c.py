"""Question 5c, hidden: the basic checks' rules with more leading dimensions, lengths and dtypes."""

import numpy as np

from autograder import check
from checks.problem5.q5c.softmax_attention import require_attention, require_unchanged
from instructor.checks.problem5.q5c.cases import (
    attention_case,
    draw_large,
    draw_lengths,
    draw_mask,
    draw_ones,
    empty_case,
    format_case,
    hardest,
    large_case,
    refused,
)


@check("5c-2-hidden")
def test_leading_dimensions(student, rng):
    """Several leading dimensions, some of which broadcast; lengths of 1; d_v differs from d_k;
    shapes that do not fit are rejected.
    """
    L_q, L_k, d_k, d_v = draw_lengths(rng, 4)
    draw = rng.standard_normal
    leading = [  # dimensions of Q, K and V, and the shape of the mask
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
    cases = [attention_case(draw((L_q, d_k)), draw((L_k, d_k)), draw((L_k, d_v)))]
    cases += [
        attention_case(
            draw((*Q, L_q, d_k)),
            draw((*K, L_k, d_k)),
            draw((*V, L_k, d_v)),
            None if mask is None else draw_mask(rng, mask),
        )
        for Q, K, V, mask in leading
    ]
    cases += [
        attention_case(*draw_ones(rng, *lengths))
        for lengths in (
            (1, L_k, d_k, d_v),
            (L_q, 1, d_k, d_v),
            (L_q, L_k, 1, d_v),
            (L_q, L_k, d_k, 1),
            (1, 1, 1, 1),
        )
    ]
    cases += [
        case for case in refused(rng, L_q, L_k, d_k, d_v) if case.about["raises"] == "ValueError"
    ]
    require_attention(student, *cases)


@check("5c-3-hidden")
def test_large_scores(student, rng):
    """Scores around 10^4 and -10^4; one sequence may attend only to its lowest-scoring keys."""
    L_q, L_k, B = draw_lengths(rng, 3)
    inputs, mask = draw_large(rng, (B,), L_q, L_k)
    mask[0] = hardest(*inputs)[0]
    require_attention(
        student,
        *(
            large_case(inputs, given, dtype)
            for dtype in ("float64", "float32")
            for given in (None, mask)
        ),
    )


@check("5c-4-hidden")
def test_empty_rows(student, rng):
    """Some queries, a whole sequence, or all of them may attend to nothing."""
    B, L_q, L_k, d_k, d_v = draw_lengths(rng, 5)
    some = draw_mask(rng, (B, L_q, L_k))
    some[rng.random((B, L_q)) < 0.4] = False
    some[0, 0], some[1] = False, False
    rows = np.arange(L_q)[:, None] % 2 == 0
    inputs = [rng.standard_normal(shape) for shape in ((B, L_q, d_k), (B, L_k, d_k), (B, L_k, d_v))]
    masks = (
        some,
        some[0],
        rows,
        np.zeros(L_k, bool),
        np.zeros((B, L_q, L_k), bool),
        np.zeros((1, 1), bool),
    )
    require_attention(
        student,
        *(empty_case(inputs, mask, dtype) for dtype in ("float64", "float32") for mask in masks),
    )


@check("5c-5-hidden")
def test_formats(student, rng):
    """The output's dtype; integers, which would overflow in their own dtype; masks of other dtypes;
    inputs unchanged.
    """
    L_q, L_k, d_k, d_v = draw_lengths(rng, 4)
    formats = [
        ("float32", "float32", "float32"),
        ("float64", "float64", "float64"),
        ("float32", "float64", "float64"),
        ("float64", "float32", "float32"),
        ("float32", "float32", "float64"),
        ("int64", "int64", "int64"),
        ("int8", "int8", "int8"),
        ("int32", "float64", "float64"),
        ("float64", "float64", "int32"),
        ("int64", "float32", "float32"),
    ]
    shapes, mask = ((L_q, d_k), (L_k, d_k), (L_k, d_v)), draw_mask(rng, (L_q, L_k))
    mask[0] = np.arange(L_k) > 0
    cases = [
        format_case(rng, dtypes, shapes, given) for dtypes in formats for given in (None, mask)
    ]
    cases += [
        case for case in refused(rng, L_q, L_k, d_k, d_v) if case.about["raises"] == "TypeError"
    ]
    require_unchanged(require_attention(student, *cases))
