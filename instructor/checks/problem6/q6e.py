"""Question 6e: inputs of attention_scores, clip_gradients, PreNormStack and init_depth_scaled, and
of trainings with them.

Rare cases cost only a part of a check's points.
"""

import numpy as np

from checks.problem6.q6e import CLIPPING, INIT, SCORES, STACK, TRAINING
from checks.problem6.q6e_texts import RARE
from instructor.checks.drawing import draws


@draws(SCORES, "6e-3-basic")
def queries_and_keys(rng):
    """Two to four axes; twice the same shapes."""
    T, T_kv, head_dim = rng.permutation([3, 4, 5]).tolist()
    kinds = ((), "float64"), ((2,), "float32"), ((2,), "float32"), ((1, 2), "float32")
    return [
        {
            "q": rng.standard_normal((*more, T, head_dim)).astype(dtype),
            "k": rng.standard_normal((*more, T_kv, head_dim)).astype(dtype),
        }
        for more, dtype in kinds
    ]


def norm_of(gradients) -> float:
    """The norm of all gradients together."""
    return float(np.sqrt(sum((g.astype(float) ** 2).sum() for g in gradients if g is not None)))


@draws(CLIPPING, "6e-3-basic")
def gradients(rng):
    """Norms above and below the limit, which some gradients exceed only together; then none, and
    norms that are not finite.
    """

    def draw(*shapes, dtype="float32"):
        return [
            None if shape is None else (2 * rng.standard_normal(shape)).astype(dtype)
            for shape in shapes
        ]

    def call(gradients, max_norm=1.0, listed=False):
        return {"gradients": gradients, "max_norm": max_norm, "listed": listed}

    shapes = (3, 2), None, (4,), (2, 1, 2), None, (1,)
    several, double = draw(*shapes), draw(*shapes, dtype="float64")
    largest = max(norm_of([gradient]) for gradient in several)
    infinite, undefined = draw((3, 2), (4,), None), draw((3, 2), (4,), None, dtype="float64")
    infinite[rng.integers(2)].flat[0], undefined[rng.integers(2)].flat[0] = np.inf, np.nan
    return [
        call(several, norm_of(several) * rng.uniform(0.2, 0.5)),
        call(several, (largest + norm_of(several)) / 2),
        call(double, norm_of(double) * rng.uniform(1.5, 3)),
        call(draw((3, 2), (5,)), 0.5, listed=True),
        (call(draw(None, None)), ", which are all None" + RARE),
        (call([np.zeros((2, 3)), np.zeros(4)]), ", which are all 0" + RARE),
        (call(infinite), ", one entry of which is infinite" + RARE),
        (call(undefined), ", one entry of which is NaN" + RARE),
    ]


@draws(STACK, "6e-6-basic")
def stacks(rng):
    """Several sublayers and one; then none."""
    B, T, C = *rng.permutation([2, 3]).tolist(), int(rng.integers(4, 7))

    def call(count):
        return {
            "x": 2 * rng.standard_normal((B, T, C)).astype("float32"),
            "weights": list(rng.standard_normal((count, C, C)).astype("float32") / 2),
            "gain": (1 + 0.4 * rng.standard_normal(C)).astype("float32"),
            "shift": (0.4 * rng.standard_normal(C)).astype("float32"),
        }

    return [call(3), call(3), call(1), (call(0), ", which has none" + RARE)]


@draws(INIT, "6e-6-basic")
def models(rng):
    """The default deviation and another; then a model with unusual modules.

    With these numbers, deviations are rounded as far from the limits as can be, also those of known
    mistakes.
    """
    n_layer = rng.permutation([8, 16, 32, 64]).tolist()
    std = 0.02 * 2.0 ** rng.choice([-2, -1, 1, 2, 3])
    calls = [(n_layer[0], None, False), (n_layer[1], float(std), False), (n_layer[2], None, True)]
    return [
        (
            {"n_layer": n, "std": std, "unusual": unusual, "seed": int(rng.integers(2**31))},
            ", a model with unusual modules" + RARE if unusual else "",
        )
        for n, std, unusual in calls
    ]


@draws(TRAINING, "6e-7-basic")
def trainings(rng):
    """Cases i and iii."""
    return [
        {"case": case, "follows": rng.permutation(16), "seed": int(rng.integers(2**31))}
        for case in ("i", "iii")
    ]
