"""Cases of attention_scores and clip_gradients with known mistakes."""

import math

import numpy as np

from checks.support.cases import Case


def scores_case(q: np.ndarray, k: np.ndarray, dtype: str) -> Case:
    """Make a case of attention_scores with q and k in that dtype."""
    d, plain = q.shape[-1], q @ k.swapaxes(-1, -2)
    right = plain / math.sqrt(d)
    weights = np.exp(right - right.max(axis=-1, keepdims=True))
    others = sorted({*q.shape, *k.shape} - {d})
    sizes = [("head_dim itself; it should be its root", d)]
    sizes += [
        (f"the root of {n}, another size than head_dim = {d}, the last one of q", math.sqrt(n))
        for n in others
    ]
    sizes += [(f"{n}; it should be the root of head_dim = {d}", n) for n in others]
    wrong = [
        ("they are not scaled. Divide by the root of head_dim.", plain),
        ("they are multiplied by the root of head_dim. Divide.", plain * math.sqrt(d)),
        (
            "these are the weights, after a softmax. Return the scores, before it.",
            weights / weights.sum(axis=-1, keepdims=True),
        ),
        (
            "queries and keys are swapped: entry [..., i, j] belongs to query i and key j.",
            right.swapaxes(-1, -2),
        ),
        *((f"they are divided by {words}.", plain / divisor) for words, divisor in sizes),
    ]
    return Case({"q": q, "k": k, "dtype": dtype}, right, wrong)


def clipping_case(
    what: str,
    gradients: list[np.ndarray | None],
    max_norm: float,
    listed: bool = False,
    dtype: str = "float32",
) -> Case:
    """Make a case of clip_gradients.

    Args:
        what: a description of the gradients, for messages.
        gradients: of each parameter, or None.
        listed: the parameters are passed as a list, not as a generator.
    """
    exact = [
        None if gradient is None else gradient.astype(dtype).astype(float) for gradient in gradients
    ]
    norm = total_norm(exact)
    inputs = {"gradients": gradients, "max_norm": max_norm, "listed": listed, "dtype": dtype}
    if not math.isfinite(norm):
        return Case(inputs, {"norm": None, "gradients": None}, about={"what": what})

    def scaled(factor):
        """All gradients, each multiplied by a number or a function of it."""
        return [
            None
            if gradient is None
            else gradient * (factor(gradient) if callable(factor) else factor)
            for gradient in exact
        ]

    share = min(1.0, max_norm / norm) if norm else 1.0
    there = [gradient for gradient in exact if gradient is not None]
    untouched = "it is not clipped."
    if not listed:
        untouched += (
            " Do you iterate over parameters twice? model.parameters() is a generator, which can "
            "be iterated over once: make a list of it first."
        )
    norms = [total_norm([gradient]) for gradient in there]
    wrong = []
    if norm:
        of_norm = [
            ("the root is missing.", norm**2),
            ("the norms of the parameters are added. Add their squares.", sum(norms)),
            (
                "it is the largest of the parameters' norms. It should be that of all gradients "
                "together.",
                max(norms),
            ),
            ("it is the norm of only the last parameter.", norms[-1]),
            ("it is the norm of only the first parameter.", norms[0]),
            ("it is the mean of the parameters' norms.", sum(norms) / len(norms)),
            (
                "it is the root of the mean of the squares, not of their sum.",
                norm / math.sqrt(sum(g.size for g in there)),
            ),
            ("it is the norm after clipping. Return the one before.", min(norm, max_norm)),
            ("it is the sum of absolute values.", sum(np.abs(g).sum() for g in there)),
            ("it is the largest entry.", max(np.abs(g).max() for g in there)),
            (
                "the generator parameters is exhausted: it can be iterated over once. Make a list "
                "of it first.",
                0.0,
            ),
        ]
        limited = [None if g is None else g.clip(-max_norm, max_norm) for g in exact]
        of_gradients = [
            (untouched, exact),
            (
                "each parameter is clipped separately. Use one factor for all.",
                scaled(lambda gradient: min(1.0, max_norm / total_norm([gradient]))),
            ),
            ("each entry is limited to max_norm. Use one factor for all.", limited),
            (
                "it is multiplied by max_norm / norm although the norm is not larger.",
                scaled(max_norm / norm),
            ),
            ("it is divided by the norm; multiply by max_norm / norm.", scaled(1 / norm)),
            ("it is set to 0.", scaled(0.0)),
            ("it is multiplied by max_norm / norm twice.", scaled(share**2)),
        ]
        wrong += [(sentence, {"norm": float(value)}) for sentence, value in of_norm]
        wrong += [(sentence, {"gradients": values}) for sentence, values in of_gradients]
    return Case(inputs, {"norm": norm, "gradients": scaled(share)}, wrong, {"what": what})


def total_norm(gradients: list[np.ndarray | None]) -> float:
    """Compute the norm of all gradients together."""
    return math.sqrt(sum((gradient**2).sum() for gradient in gradients if gradient is not None))
