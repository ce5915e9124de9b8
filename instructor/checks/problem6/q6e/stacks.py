"""Cases of PreNormStack and init_depth_scaled with known mistakes."""

import functools
import math

import numpy as np

from checks.support.cases import Case
from instructor.checks.problem5.encoder import layer_norm

# The linear layers of the models for init_depth_scaled, see run_init: two blocks and a head. In the
# unusual model, the second block has other parts.
ATTENTION = ("query", "value", "proj", "key")
PARTS = {
    "usual": (*(f"attn.{name}" for name in ATTENTION), "mlp.0", "mlp.2"),
    "unusual": (
        *(f"attn.{name}" for name in ATTENTION[:3]),
        "attn.key_proj",
        "mlp.up",
        "mlp.gate",
        "mlp.down.1",
    ),
}


def draw_stack(rng, count: int) -> Case:
    """Make a case of PreNormStack with `count` sublayers, and with its own LayerNorms."""
    B, T = (int(n) for n in rng.permutation([2, 3]))
    C = int(rng.integers(4, 7))
    inputs = {
        "x": rng.standard_normal((B, T, C)).astype(np.float32) * 2,
        "weights": [rng.standard_normal((C, C)).astype(np.float32) / 2 for _ in range(count)],
        "gains": [(1 + 0.4 * rng.standard_normal(C)).astype(np.float32) for _ in range(count + 1)],
        "shifts": [(0.4 * rng.standard_normal(C)).astype(np.float32) for _ in range(count + 1)],
    }
    run = functools.partial(run_stack, inputs)
    wrong = [
        ("the last LayerNorm is missing.", run(final=False)),
        (
            "this is post-norm, x = norm(x + sublayer(x)). The norm belongs before the "
            "sublayer, off the residual path.",
            run(kind="post", final=False),
        ),
        ("this is post-norm, x = norm(x + sublayer(x)), with one more norm.", run(kind="post")),
        (
            "the residual path starts from the normalized x. Add to x itself.",
            run(kind="normed residual"),
        ),
        (
            "the residual path starts from the normalized x, and the last LayerNorm is missing.",
            run(kind="normed residual", final=False),
        ),
        ("there is no residual path: x + ... is missing.", run(kind="no residual")),
        ("the norm is applied to the sublayer's output, not to its input.", run(kind="sandwich")),
        ("the sublayers get x without a norm.", run(kind="bare")),
        ("each sublayer gets the first x, not the sum so far.", run(kind="parallel")),
        (
            "the sublayers are used in the reverse order.",
            run_stack({**inputs, "weights": inputs["weights"][::-1]}),
        ),
        (
            "only the first sublayer is used.",
            run_stack({**inputs, "weights": inputs["weights"][:1]}),
        ),
    ]
    return Case(
        inputs,
        {"plain": run(), "scaled": run(learned=True)},
        [(sentence, {"plain": value}) for sentence, value in wrong]
        + [
            (
                "the same LayerNorm is used for several sublayers.",
                {"scaled": run(learned=True, shared=True)},
            )
        ],
    )


def run_stack(
    inputs: dict, learned: bool = False, kind: str = "pre", final: bool = True, shared: bool = False
) -> np.ndarray:
    """Compute a stack's output.

    Args:
        learned: with the LayerNorms of the case, in the order in which they are used.
        kind: "pre", or a mistake. final: whether there is a last norm. shared: the same norm before
            each sublayer.
    """
    x, count = inputs["x"].astype(float), len(inputs["weights"])
    first = x

    def norm(place, x):
        if not learned:
            return layer_norm(x, {"weight": 1.0, "bias": 0.0})
        place = 0 if shared and place < count else place
        return layer_norm(
            x,
            {
                "weight": inputs["gains"][place].astype(float),
                "bias": inputs["shifts"][place].astype(float),
            },
        )

    for place, weight in enumerate(inputs["weights"]):

        def sublayer(x, weight=weight):
            return np.tanh(x @ weight.astype(float))

        x = {
            "pre": lambda: x + sublayer(norm(place, x)),
            "post": lambda: norm(place, x + sublayer(x)),
            "bare": lambda: x + sublayer(x),
            "normed residual": lambda: norm(place, x) + sublayer(norm(place, x)),
            "no residual": lambda: sublayer(norm(place, x)),
            "sandwich": lambda: x + norm(place, sublayer(x)),
            "parallel": lambda: x + sublayer(norm(place, first)),
        }[kind]()
    return norm(count, x) if final else x


def init_case(n_layer: int, std: float | None, unusual: bool) -> Case:
    """Make a case of init_depth_scaled; `right` has the standard deviation of each linear layer's
    weights, `about` their names.
    """
    usual = 0.02 if std is None else std
    small = usual / math.sqrt(2 * n_layer)
    names = [
        f"blocks.{i}.{part}"
        for i in range(2)
        for part in PARTS["unusual" if unusual and i else "usual"]
    ] + ["head"]

    def deviations(scaled, small=small, usual=usual):
        """`small` if the name ends with one of `scaled`, else `usual`."""
        return np.array([small if name.endswith(scaled) else usual for name in names])

    attention, feed_forward = ".proj", (".mlp.2", ".mlp.down.1")
    writing = (attention, *feed_forward)
    wrong = [
        (
            "no layer is scaled. Those that write into the residual stream are the nn.Linear "
            "named proj, and the last nn.Linear of each module named mlp.",
            deviations(()),
        ),
        (
            "all layers are scaled. Scale only those that write into the residual stream.",
            deviations("", small),
        ),
        (
            "the feed-forward parts are not scaled: the last nn.Linear of each module named mlp "
            "writes into the residual stream.",
            deviations(attention),
        ),
        (
            "the attentions are not scaled: their nn.Linear named proj writes into the residual "
            "stream.",
            deviations(feed_forward),
        ),
        (
            "the first nn.Linear of each mlp is scaled; it should be the last.",
            deviations((attention, ".mlp.0", ".mlp.up")),
        ),
        (
            "all nn.Linear of each mlp are scaled; it should be only the last.",
            deviations((*writing, ".mlp.0", ".mlp.up", ".mlp.gate")),
        ),
        (
            "a layer whose name only ends with proj is scaled; the name must be proj.",
            deviations((*writing, "key_proj")),
        ),
        (
            "the last nn.Linear of an mlp is searched for by index, or only in Sequential. It can "
            "be anywhere in the module.",
            deviations((attention, ".mlp.2")),
        ),
        (
            "the last nn.Linear of an mlp is searched for only among its children. It can be "
            "further inside.",
            deviations((attention, ".mlp.2", ".mlp.gate")),
        ),
        (
            "the last layer of the model is scaled, too. It does not write into the residual "
            "stream.",
            deviations((*writing, "head")),
        ),
        (
            "divided by the root of n_layer; each layer writes twice, so use 2 n_layer.",
            deviations(writing, usual / math.sqrt(n_layer)),
        ),
        ("divided by 2 n_layer; divide by its root.", deviations(writing, usual / (2 * n_layer))),
        (
            "divided by n_layer; divide by the root of 2 n_layer.",
            deviations(writing, usual / n_layer),
        ),
        (
            "scaled by the number of blocks in the model. n_layer is an argument.",
            deviations(writing, usual / 2),
        ),
        ("scaled twice.", deviations(writing, small / math.sqrt(2 * n_layer))),
        (
            "std is used as the variance.",
            deviations(writing, math.sqrt(usual / (2 * n_layer)), math.sqrt(usual)),
        ),
        (
            "std is used as the variance.",
            deviations(writing, math.sqrt(usual) / math.sqrt(2 * n_layer), math.sqrt(usual)),
        ),
        ("the argument std is not used.", deviations(writing, 0.02 / math.sqrt(2 * n_layer), 0.02)),
    ]
    return Case(
        {"n_layer": n_layer, "std": std, "unusual": unusual},
        deviations(writing),
        wrong,
        {"names": names},
    )
