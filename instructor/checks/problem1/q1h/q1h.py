"""Question 1h, hidden: tables of all sizes, rotations of all kinds of input, whole models."""

import numpy as np

from autograder import Failed, Verdict, WrongAnswer, check, require_close
from checks.problem1.artifacts import judge_predictions
from checks.problem1.models import require_model
from checks.problem1.q1h.rope import (
    request,
    require_gradient,
    require_inputs_left_alone,
    require_rotated,
    require_table,
    run_apply,
    tables,
)
from instructor.checks.problem1.gpt import model_case
from instructor.checks.problem1.q1h.cases import rotation_case, table_case
from instructor.checks.reference import rope_table, rotate


@check("1h-4-hidden")
def test_tables(student, rng):
    """From one pair and one position to long tables, odd numbers of positions, in no order."""
    sizes = [
        [2, 1],
        [2, 7],
        [4, 1],
        [2 * int(rng.integers(5, 9)), 2 * int(rng.integers(9, 20)) + 1],
        [64, 2 * int(rng.integers(50, 100)) + 1],
        [2 * int(rng.integers(30, 60)), 3],
    ]
    rng.shuffle(sizes)
    for answer, size in zip(student.run(tables, sizes=sizes).items(len(sizes)), sizes):
        require_table(answer, table_case(*size))


@check("1h-5-hidden")
def test_rotations(student, rng):
    """Sequences shorter than the table, float64, transposed views, one head, one row; gradients; x
    unchanged; bfloat16.
    """
    half, rows = int(rng.integers(3, 7)), int(rng.integers(19, 24))
    table = rope_table(2 * half, rows).astype(np.float32)
    cases, calls = [], []
    for B, n_head, T, dtype, transposed in (
        (2, 3, rows - 4, "float32", True),
        (1, 3, rows, "float32", False),
        (2, 1, 1, "float32", False),
        (3, 2, rows // 2, "float64", True),
        (1, 1, rows - 1, "float64", False),
    ):
        cases.append(
            rotation_case(rng.standard_normal((B, n_head, T, 2 * half)).astype(dtype), table)
        )
        calls.append(
            request(cases[-1].inputs["x"], table, dtype, transposed, first=table[::-1].copy())
        )
    for case, call, answer in zip(cases, calls, run_apply(student, calls)):
        # The table itself is float32.
        require_rotated(
            answer["rotated"], case, call["dtype"], 1e-5 if call["dtype"] == "float64" else 1e-4
        )
        require_inputs_left_alone(answer, call["x"], table, call["dtype"])

    x, upstream = rng.standard_normal((2, 2, 3, rows - 2, 2 * half))
    q, k = rng.standard_normal((2, 2 * half))
    same = np.stack((np.tile(q, (rows, 1)), np.tile(k, (rows, 1))))[None]
    answer, rotated = run_apply(
        student, [request(x, table, "float64", True, upstream), request(same, table, "float64")]
    )
    angle = np.arctan2(table[..., 1], table[..., 0]).astype(float)
    require_close(
        "The gradient through apply_rotary_emb",
        require_gradient(answer).array("float64", x.shape),
        rotate(upstream, -angle),
        1e-5,
    )

    # The purpose of the rotation: dot products depend only on the distance of the positions.
    rotated = rotated["rotated"].named("the rotated x").array("float64", same.shape)
    products = rotated[0, 0] @ rotated[0, 1].T
    for distance in range(-rows + 1, rows):
        if not np.ptp(np.diagonal(products, distance)) <= 1e-4 * max(1.0, np.abs(q) @ np.abs(k)):
            raise WrongAnswer(
                f"The dot products of a rotated query and a rotated key at distance {distance}"
                " differ from position to position."
            )

    _test_bfloat16(student, rng, table, half)


def _test_bfloat16(student, rng, table, half):
    """Values must be right; failing, or returning float32, costs nothing: the attention layer casts
    to float32 first.
    """
    x = rng.standard_normal((2, 3, len(table) - 3, 2 * half)).astype(np.float32)
    try:
        (answer,) = run_apply(student, [request(x, table, "bfloat16")])
    except Failed as failed:
        if failed.verdict is not Verdict.EXCEPTION:
            raise
        student.hint(
            "apply_rotary_emb fails on bfloat16. That is harmless here; x.float() before and "
            ".to(x.dtype) after would fix it."
        )
        return
    rotated = answer["rotated"].named("apply_rotary_emb(x in bfloat16, rope_cache)")
    if "bfloat16" not in rotated.describe():
        student.hint(
            "apply_rotary_emb changes bfloat16 to another dtype. That is harmless here; "
            ".to(x.dtype) would fix it."
        )
    expected = rotate(x.astype(float), np.arctan2(table[..., 1], table[..., 0]).astype(float))
    # bfloat16 has 8 bits: x, the products and the sum are rounded to 0.4% each.
    require_close(
        "apply_rotary_emb(x in bfloat16, rope_cache)",
        rotated.array(None, x.shape).astype(float),
        expected,
        0.02,
    )


@check("1h-7-hidden")
def test_models(student, rng):
    """The RoPE model against float64; the vanilla model, created from another config, is
    unaffected.
    """
    require_model(student, model_case(rng, "initialize_rope_model", rope=True))
    require_model(student, model_case(rng, None, rope=False))


@check("1h-0-hidden")
def test_dev_predictions(student, rng, context):
    """The weights reproduce the predictions, whatever the accuracy."""
    judge_predictions(student, rng, context, "rope_eval_dev_with_pretrain", threshold=False)


@check("1h-1-hidden")
def test_test_predictions(student, rng, context):
    """The accuracy suffices on questions whose answers students don't have, and the weights
    reproduce the predictions.
    """
    judge_predictions(student, rng, context, "rope_eval_test_with_pretrain", threshold=True)
