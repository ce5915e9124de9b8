"""Determines what MultiHeadAttention drops in training mode from its output."""

import numpy as np

from autograder import Answer, WrongAnswer, require_close
from checks.problem5.q5d.heads import TOLERANCE, read, require_output, require_weights, split_answer
from checks.support.calls import sentence_case
from checks.support.cases import Case


def require_dropout(case: Case, answer: Answer) -> None:
    """Check dropout in the case's mode: it acts on the weights, and only in training mode.

    Raises:
        WrongAnswer: it is wrong; says what it acts on, if known.
    """
    inputs = case.inputs
    if inputs["dropout"] and inputs["train"]:
        _require_dropped(case, answer)
        return
    y, weights = split_answer(case, answer)
    kind = "training" if inputs["train"] else "evaluation"
    mode = f"with dropout {inputs['dropout']} in {kind} mode"
    require_weights(weights.named(f"{weights.name}, {mode}"), case)
    again = answer["again"]
    again = None if again.value is None else again.named("the output of a second call")
    require_output(y.named(f"{y.name}, {mode}"), case, again)


def _require_dropped(case, answer):
    """Check training mode: some weights are 0, the others are 1 / (1 - p) times as large."""
    p, n_head, bias = (
        case.inputs["dropout"],
        case.inputs["n_head"],
        case.inputs["weights"]["proj.bias"].astype(float),
    )
    B, T, C = len(case.inputs["x"]) * case.inputs["repeat"], *case.inputs["x"].shape[1:]
    mode = f"training mode with dropout {p}"
    y, weights = split_answer(case, answer)
    plain = case.right["y"]
    right = np.broadcast_to(case.right["weights"], (B, n_head, T, T))
    got = read(weights, case, right.shape)
    if np.allclose(got, np.where(got == 0, 0, right / (1 - p)), atol=1e-6):
        raise WrongAnswer(
            "The weights returned in training mode are those after dropout. Return those before it."
        )
    before = (
        "dropout acts on something that the weights are computed from. It should act on the "
        "weights, after the softmax."
    )
    require_close(
        f"{sentence_case(weights.name)}, in {mode}", got, right, TOLERANCE, [(before, got)]
    )

    output = read(y, case, (B, T, C))
    if np.allclose(output, plain, atol=1e-6):
        raise WrongAnswer(
            f"With dropout {p}, the output in training mode is the one without dropout."
        )
    for name, whole in (
        ("the output", plain),
        ("the output of proj, before its bias", plain - bias),
    ):
        if np.allclose(output, np.where(np.isclose(output, 0), 0, whole / (1 - p)), atol=1e-6):
            raise WrongAnswer(f"Dropout acts on {name}. It should act on the weights.")

    # There are fewer keys than features per head, and proj is square, so the weights used can be
    # solved for.
    joined = np.linalg.solve(
        case.inputs["weights"]["proj.weight"].astype(float), (output - bias).reshape(-1, C).T
    ).T
    used = joined.reshape(B, T, n_head, -1).swapaxes(1, 2) @ np.linalg.pinv(case.about["values"])
    dropped = np.abs(used) < right / 2
    if not np.allclose(used, np.where(dropped, 0, right / (1 - p)), atol=1e-5):
        cause = "Does dropout act on the weights, after the softmax?"
        if np.allclose(used, np.where(dropped, 0, right), atol=1e-5):
            cause = "Some are dropped, but the others are not divided."
        raise WrongAnswer(
            f"In {mode}, the output doesn't come from weights of which some are dropped and the "
            f"others divided by {1 - p:.1f}. {cause}"
        )
    for name, axis in (("rows of the batch", 0), ("heads", 1), ("queries", 2), ("keys", 3)):
        if (dropped == dropped.take([0], axis)).all():
            raise WrongAnswer(
                f"In {mode}, the same weights are dropped for all {name}. Dropout draws for each "
                "weight separately."
            )
    # 2,880 weights: 0.06 is 6.5 standard deviations or more.
    if not abs(dropped.mean() - p) < 0.06:
        raise WrongAnswer(
            f"With dropout {p}, a share of {dropped.mean():.2f} of the weights is dropped."
        )
