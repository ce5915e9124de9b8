"""Known mistakes in MultiHeadAttention and their results."""

import itertools
import math
from collections.abc import Callable

import numpy as np

from autograder import matches
from instructor.checks.problem5.encoder import multi_head, softmax

WORDS = {"q": "queries", "k": "keys", "v": "values"}
FEW = 1  # entries of each vector kept of a mistake: released cases should be small


def short(parts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Convert to float32, for released cases: half the size, and far more digits than are
    compared.
    """
    return {name: value.astype(np.float32) for name, value in parts.items()}


def floats(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Convert weights to float64."""
    return {name: value.astype(float) for name, value in weights.items()}


def solve(inputs: dict, **mistakes) -> dict[str, np.ndarray]:
    """Compute the "weights" and the output "y" in float64 for a case's inputs. mistakes: arguments
    of `multi_head`.
    """
    x, weights = inputs["x"].astype(float), floats(inputs["weights"])
    y, attended = multi_head(x, weights, inputs["n_head"], inputs["padding"], **mistakes)
    return {"weights": attended, "y": y}


def known_mistakes(
    inputs: dict, right: dict[str, np.ndarray], which: str = "all"
) -> list[tuple[str, Callable]]:
    """Return mistakes as (sentence, function that returns the wrong part of `right`, see `brief`).

    right: the result of `solve`, or only its "y". which: "all", "masks" (only those with the mask),
    or "none".
    """
    masks = [] if inputs["padding"] is None or which == "none" else _masks()
    others = [*_heads(), *_scales(inputs)] if which == "all" else []
    works = [
        (sentence, lambda wrong=wrong: solve(inputs, **wrong)) for sentence, wrong in masks + others
    ]
    if which == "all":
        returned = _returned(inputs, right["weights"]) if "weights" in right else []
        works = [*returned, *works, *_elsewhere(inputs, right["y"])]
    return [(sentence, lambda work=work: brief(work(), right)) for sentence, work in works]


def brief(
    wrong: dict[str, np.ndarray], right: dict[str, np.ndarray]
) -> dict[str, np.ndarray] | None:
    """Return the first part of `right` that differs, cut to FEW entries of its last axis; None if
    none does.
    """
    for name in right:
        if name in wrong and not matches(wrong[name][..., :FEW], right[name][..., :FEW], 1e-6):
            return {
                name: wrong[name][..., :FEW]
                if wrong[name].ndim == right[name].ndim
                else wrong[name]
            }
    return None


def _masks():
    """Return mistakes as (sentence, arguments of `multi_head`)."""
    return [
        ("the mask is inverted: True marks padding, which nothing attends to.", {"hide": "other"}),
        ("the padding mask is not used.", {"hide": "nothing"}),
        (
            "the mask hides queries instead of keys: use key_padding_mask[:, None, None, :].",
            {"hide": "queries"},
        ),
        (
            "the mask hides the queries at padded positions, too. They are computed like any "
            "other.",
            {"hide": "both"},
        ),
        (
            "the mask is applied only after the softmax, so the rows no longer sum to 1. Set the "
            "scores of padding to -inf before it, with masked_fill. (After it, fix only rows that "
            "are entirely padding, which are NaN then.)",
            {"hide": "after"},
        ),
        (
            "the mask sets whole rows of scores, those of queries at PAD, to one number. It "
            "hides keys: use key_padding_mask[:, None, None, :].",
            {"hide": "rows"},
        ),
        (
            "the scores of padding are set to a number that is not low enough, such as -100: "
            "other scores may be lower. Set them to -inf.",
            {"fill": -100.0},
        ),
        (
            "the scores of padding are set to 0, which is an ordinary score. Set them to -inf.",
            {"hide": "zeros"},
        ),
    ]


def _heads():
    mixed = (
        "heads are mixed with the sequence: a view to (B, n_head, T, head_dim) splits up a "
        "position's features. Use view(B, T, n_head, head_dim).transpose(1, 2)"
    )
    dealt = (
        "the features are assigned to the heads one by one. Head 0 has the first head_dim "
        "features, head 1 the next."
    )
    order = "It is first all queries, then all keys, then all values."
    known = [
        (
            f"{mixed}, and transpose back before the heads are joined.",
            {"split": "view", "join": "view"},
        ),
        (f"{mixed}.", {"split": "view"}),
        (
            "the heads are put together in the wrong order: the transpose back, y.transpose(1, "
            "2), is missing before the heads are joined.",
            {"join": "view"},
        ),
        (
            "the heads are put together in the wrong order: head 0 first, with all its features, "
            "then head 1.",
            {"join": "features"},
        ),
        (dealt, {"split": "features", "join": "features"}),
        (dealt, {"split": "features"}),
        (f"qkv's output is read head by head. {order}", {"split": "each"}),
    ]
    for letters in itertools.permutations("qkv"):
        if letters != ("q", "k", "v"):
            words = ", ".join(WORDS[letter] for letter in letters)
            sentence = f"qkv's output is read as {words}, in this order. {order}"
            known.append((sentence, {"order": "".join(letters)}))
    return known + [
        ("the softmax is over the queries; it should be over the keys, dim=-1.", {"axis": -2}),
        ("the softmax is over the heads; it should be over the keys, dim=-1.", {"axis": 1}),
        ("the softmax is over the batch; it should be over the keys, dim=-1.", {"axis": 0}),
        ("the final projection is missing.", {"project": False}),
        ("there is a causal mask. Here, every position attends to every other.", {"causal": True}),
    ]


def _scales(inputs):
    T, C = inputs["x"].shape[1:]
    n_head = inputs["n_head"]
    d = C // n_head
    divisors = [  # the likelier first: with one head, some are the same
        ("head_dim, without the root,", d),
        ("the root of n_embd", math.sqrt(C)),
        ("n_embd", C),
        ("n_head", n_head),
        ("the root of n_head", math.sqrt(n_head)),
        ("the root of T", math.sqrt(T)),
    ]
    instead = f"instead of the root of head_dim = {d}."
    known = [
        ("the scores are not scaled: divide them by the root of head_dim.", 1.0),
        *((f"the scores are divided by {name} {instead}", divisor) for name, divisor in divisors),
        ("the scores are multiplied by the root of head_dim. Divide them.", 1 / math.sqrt(d)),
    ]
    return [(sentence, {"divisor": divisor}) for sentence, divisor in known]


def _returned(inputs, weights):
    """Return mistakes that return something other than the weights."""
    averaged = "they are averaged over the heads. There should be a matrix for each head."
    axis = "the axis of the heads is not the second: (B, n_head, T, T)."
    turned = "queries and keys are swapped: weights[b, h, i, j] is how much i attends to j."
    known = [
        (averaged, lambda: weights.mean(axis=1)),
        (averaged, lambda: weights.mean(axis=1, keepdims=True)),
        (turned, lambda: weights.swapaxes(2, 3)),
        (axis, lambda: weights.transpose(0, 2, 1, 3)),
        (axis, lambda: weights.transpose(0, 2, 3, 1)),
        (axis, lambda: weights.swapaxes(0, 1)),
    ]
    if inputs["padding"] is None:  # with padding, some are infinite
        known.append(("they are scores; the weights are their softmax.", lambda: _scores(inputs)))
    return [(sentence, lambda work=work: {"weights": work()}) for sentence, work in known]


def _elsewhere(inputs, y):
    """Return mistakes outside of the attention formula: attention along the wrong axis, and x added
    to the output.
    """
    swapped = {**inputs, "x": inputs["x"].swapaxes(0, 1), "padding": None}
    apart = "the heads of each position attend to each other: "
    return [
        (
            "positions attend across the batch instead of the sequence: x is (B, T, n_embd).",
            lambda: {"y": solve(swapped)["y"].swapaxes(0, 1)},
        ),
        (
            "x is added. The residual connection belongs in EncoderLayer.",
            lambda: {"y": y + inputs["x"]},
        ),
        (
            f"{apart}heads are mixed with the sequence. Transpose T and n_head before the scores "
            "are computed.",
            lambda: _across_heads(inputs),
        ),
        (
            f"{apart}T and n_head are transposed back before the heads are joined, but not before "
            "the scores are computed.",
            lambda: _across_heads(inputs, back=True),
        ),
    ]


def _thirds(inputs):
    """Return queries, keys and values, each (B, T, n_head, head_dim)."""
    B, T, C = inputs["x"].shape
    w = floats(inputs["weights"])
    parts = (inputs["x"] @ w["qkv.weight"].T + w["qkv.bias"]).reshape(B, T, 3, inputs["n_head"], -1)
    return np.moveaxis(parts, 2, 0)


def _scores(inputs):
    q, k, _ = (part.swapaxes(1, 2) for part in _thirds(inputs))
    return q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])


def _across_heads(inputs, back=False):
    """Compute attention across the heads of each position, as without the transpose of T and
    n_head.

    back: T and n_head are still transposed before the heads are joined.
    """
    w = floats(inputs["weights"])
    q, k, v = _thirds(inputs)
    attended = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))  # (B, T, n_head, n_head)
    y = attended @ v
    joined = (y.swapaxes(1, 2) if back else y).reshape(inputs["x"].shape)
    return {"weights": attended, "y": joined @ w["proj.weight"].T + w["proj.bias"]}
