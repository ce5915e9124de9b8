"""Question 5d, hidden: sizes, dtypes and gradients; rare rows; dropout, parameters, unsuitable
sizes.
"""

from autograder import check
from checks.problem5.q5d.dropout import require_dropout
from checks.problem5.q5d.heads import describe_call, require_parameters, run_heads, shapes_of
from checks.problem5.q5d.q5d import require_heads, require_refusals
from instructor.checks.problem5.q5d.cases import (
    draw_padding,
    dropout_cases,
    empty_case,
    heads_case,
    low_case,
)


@check("5d-4-hidden")
def test_sizes(student, rng):
    """Sizes from one up to many heads; with and without padding; float64; gradients."""
    sizes = [
        (1, 1, 1, 1, "float32"),
        (1, 7, 4, 1, "float32"),
        (5, 1, 2, 3, "float32"),
        (3, 2, 1, 6, "float64"),
        (2, 11, 3, 5, "float64"),
        (2, 3, 7, 4, "float32"),
        (9, 4, 2, 8, "float64"),
    ]
    cases = []
    for B, T, n_head, head_dim, dtype in sizes:
        for padding in [None, *([draw_padding(rng, B, T)] if T > 1 else [])]:
            pair = bool(rng.integers(2))
            cases.append(
                heads_case(rng, B, T, n_head, head_dim, padding=padding, dtype=dtype, pair=pair)
            )
    B, T, n_head, head_dim = 5, 7, 3, 4
    upstream = rng.standard_normal((B, T, n_head * head_dim))
    for padding in (None, draw_padding(rng, B, T)):
        more = {"padding": padding, "upstream": upstream, "dtype": "float64", "pair": True}
        cases.append(heads_case(rng, B, T, n_head, head_dim, **more))
    require_heads(student, cases)


@check("5d-5-hidden")
def test_rare(student, rng):
    """Rows of only padding, with gradients; scores below -100; sizes that do not fit."""
    B, T, n_head, head_dim = 5, 7, 3, 4
    upstream = rng.standard_normal((B, T, n_head * head_dim))
    cases = [empty_case(rng, B, T, n_head, head_dim)]
    cases.append(empty_case(rng, B, T, n_head, head_dim, dtype="float64", upstream=upstream))
    cases.append(low_case(rng, 2, T, n_head, head_dim))
    require_heads(student, cases)
    require_refusals(student, [(30, 7), (33, 2), (3, 12), (64, 5)])


@check("5d-6-hidden")
def test_parameters_and_dropout(student, rng):
    """No other parameters; dropout on the weights, only in training, and not on the returned
    weights.
    """
    for case, answer in run_heads(student, dropout_cases(rng, 20, 7, 3, 11)):
        require_parameters(
            answer["parameters"], shapes_of(case), describe_call(case.inputs), exact=True
        )
        require_dropout(case, answer)
