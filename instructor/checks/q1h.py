"""Question 1h, hidden: tables of all sizes, rotations of all kinds of input, and the whole model."""
import numpy as np

from autograder import Failed, Verdict, WrongAnswer, check, require_close
from checks.reference import rope_table, rotate
from checks.rope import require_rotated, require_table, run_apply, tables
from instructor.checks.genuine import judge_results
from instructor.checks.gpt import require_reference, run_model


@check("1h-4-hidden")
def test_tables(student, rng):
    """From one pair and one position to long ones, odd numbers of positions, in no order."""
    sizes = [[2, 1], [2, 7], [4, 1], [2 * int(rng.integers(5, 9)), 2 * int(rng.integers(9, 20)) + 1], [64, 2 * int(rng.integers(50, 100)) + 1],
             [2 * int(rng.integers(30, 60)), 3]]
    rng.shuffle(sizes)
    for answer, (dim, positions) in zip(student.run(tables, sizes=sizes).items(len(sizes)), sizes):
        require_table(answer, dim, positions)


@check("1h-5-hidden")
def test_rotations(student, rng):
    """Shorter sequences than the table, float64, transposed views, one head, one row; gradients; x is left alone; bfloat16."""
    half, rows = int(rng.integers(3, 7)), int(rng.integers(19, 24))
    table = rope_table(2 * half, rows).astype(np.float32)
    cases = [(2, 3, rows - 4, "float32", True), (1, 3, rows, "float32", False), (2, 1, 1, "float32", False), (3, 2, rows // 2, "float64", True),
             (1, 1, rows - 1, "float64", False)]
    for B, n_head, T, dtype, transposed in cases:
        x = rng.standard_normal((B, n_head, T, 2 * half)).astype(dtype)
        answer = run_apply(student, x, table, dtype, transposed, first=table[::-1].copy())
        # The table itself is float32.
        require_rotated(answer["rotated"], x, table, dtype, 1e-5 if dtype == "float64" else 1e-4)
        if not (np.array_equal(answer["x"].array(dtype, x.shape), x) and np.array_equal(answer["table"].array("float32", table.shape), table)):
            raise WrongAnswer("apply_rotary_emb changes its input in place. Make a new tensor.")

    B, n_head, T = 2, 3, rows - 2
    x, upstream = rng.standard_normal((2, B, n_head, T, 2 * half))
    answer = run_apply(student, x, table, "float64", True, upstream)
    if answer["gradient"].value is None:
        raise WrongAnswer("No gradient flows through apply_rotary_emb. Avoid .data, .detach(), .numpy() and "
                          "torch.no_grad() there.")
    angle = np.arctan2(table[..., 1], table[..., 0]).astype(float)
    require_close("The gradient through "
                  "apply_rotary_emb", answer["gradient"].named("the gradient").array("float64", x.shape),
                  rotate(upstream, -angle), 1e-5)

    # What a rotation is for: dot products depend on the distance of the positions alone.
    q, k = rng.standard_normal((2, 2 * half))
    x = np.stack((np.tile(q, (rows, 1)), np.tile(k, (rows, 1))))[None]
    rotated = run_apply(student, x, table, "float64")["rotated"].named("the rotated x").array("float64", x.shape)
    products = rotated[0, 0] @ rotated[0, 1].T
    for distance in range(-rows + 1, rows):
        if not np.ptp(np.diagonal(products, distance)) <= 1e-4 * max(1.0, np.abs(q) @ np.abs(k)):
            raise WrongAnswer(f"The dot products of a rotated query and a rotated key at distance {distance} differ from "
                              f"position to position.")

    _test_bfloat16(student, rng, table, half)


def _test_bfloat16(student, rng, table, half):
    """Values must be right; that it fails, or gives float32, costs nothing: the attention layer casts to float32 before."""
    x = rng.standard_normal((2, 3, len(table) - 3, 2 * half)).astype(np.float32)
    try:
        answer = run_apply(student, x, table, "bfloat16")
    except Failed as failed:
        if failed.verdict is not Verdict.EXCEPTION:
            raise
        student.hint("apply_rotary_emb fails on bfloat16. That does no harm here; x.float() before and .to(x.dtype) after "
                     "would repair it.")
        return
    rotated = answer["rotated"].named("apply_rotary_emb(x in bfloat16, rope_cache)")
    if "bfloat16" not in rotated.describe():
        student.hint("apply_rotary_emb changes bfloat16 into another number format. That does no harm here; .to(x.dtype) "
                     "would repair it.")
    expected = rotate(x.astype(float), np.arctan2(table[..., 1], table[..., 0]).astype(float))
    # bfloat16 has 8 bits: x, the products and the sum are rounded to 0.4% each.
    require_close("apply_rotary_emb(x in bfloat16, rope_cache)", rotated.array(None, x.shape).astype(float), expected, 0.02)


@check("1h-7-hidden")
def test_models(student, rng):
    """The RoPE model against float64; the vanilla model, made of another config, as ever."""
    model = run_model(student, rng, "initialize_rope_model")
    require_reference(model, rope=True, name="initialize_rope_model")
    if not model.answer["fresh"].flag():
        raise WrongAnswer("Two calls of initialize_rope_model gave models with equal weights. Make a new model, with random "
                          "weights, at each call.")
    if model.answer["rope_set"].flag():
        student.hint("initialize_rope_model sets mconf.rope in place, so that a vanilla model made of the same config "
                     "afterwards gets RoPE, too. Change a "
                     "copy: copy.copy(mconf).")
    require_reference(run_model(student, rng, None), rope=False, name="GPT without RoPE")


@check("1h-0-hidden")
def test_dev_predictions(student, rng, context):
    """A larger sample, that nobody could know, comes from the weights."""
    judge_results(student, rng, context, "rope_eval_dev_with_pretrain", threshold=False)


@check("1h-1-hidden")
def test_test_predictions(student, rng, context):
    """Accuracy on questions whose answers students don't have; and the predictions come from the weights."""
    judge_results(student, rng, context, "rope_eval_test_with_pretrain", threshold=True)
