"""Known mistakes in sinusoidal_positions and LayerNorm, as (sentence, result)."""

import numpy as np

from instructor.checks.reference import angles


def table_mistakes(max_len: int, n_embd: int) -> list:
    """Return mistakes in the table of positions."""
    t, i, n = np.arange(max_len)[:, None], np.arange(n_embd // 2)[None], n_embd
    right = angles(n, max_len)
    sin, cos = np.sin(right), np.cos(right)
    every = t * 10000.0 ** (-np.arange(n)[None] / n)  # a separate angle for each feature
    even = np.arange(n) % 2 == 0

    def pairs(angle, first=np.sin, second=np.cos):
        return np.stack((first(angle), second(angle)), axis=-1).reshape(max_len, n)

    return [
        (
            "sines and cosines are not interleaved: all sines come first, then all cosines. The "
            "sines belong in the even columns, the cosines in the odd ones.",
            np.concatenate((sin, cos), axis=1),
        ),
        (
            "sines and cosines are swapped: the even columns are the sines.",
            pairs(right, np.cos, np.sin),
        ),
        (
            "cosines come first, and are not interleaved with the sines.",
            np.concatenate((cos, sin), axis=1),
        ),
        ("the sines are in both places.", pairs(right, np.sin, np.sin)),
        ("the cosines are in both places.", pairs(right, np.cos, np.cos)),
        (
            "the exponent is that of the column: columns 2i and 2i + 1 share the angle of i.",
            np.where(even, np.sin(every), np.cos(every)),
        ),
        (
            "the exponent lacks its factor 2: 10000 ** (-2 i / n_embd).",
            pairs(t * 10000.0 ** (-i / n)),
        ),
        (
            "the exponent has an extra factor 2: 2i already runs over the even numbers.",
            pairs(t * 10000.0 ** (-4 * i / n)),
        ),
        (
            "the exponent has the wrong sign: 10000 ** (-2 i / n_embd).",
            pairs(_if_small(t * 10000.0 ** (2 * i / n))),
        ),
        ("i starts at 1; it should start at 0.", pairs(t * 10000.0 ** (-2 * (i + 1) / n))),
        (
            "the positions start at 1; they should start at 0.",
            pairs((t + 1) * 10000.0 ** (-2 * i / n)),
        ),
        ("the base is 1000 instead of 10000.", pairs(angles(n, max_len, 1000.0))),
        ("the base is 100000 instead of 10000.", pairs(angles(n, max_len, 100000.0))),
        ("positions and frequencies are swapped.", pairs(i * 10000.0 ** (-2.0 * t / n))),
        ("these are the angles, without sine and cosine.", pairs(right, lambda x: x, lambda x: x)),
    ]


def _if_small(angle):
    """Return NaN, which matches anything, for angles with too few digits in float32 to compare."""
    return np.where(np.abs(angle) < 30, angle, np.nan)


def norm_mistakes(x: np.ndarray, weights: dict[str, np.ndarray], eps: float) -> list:
    """Return mistakes in LayerNorm, for x and weights in float64."""
    centered = x - x.mean(axis=-1, keepdims=True)
    variance = (centered**2).mean(axis=-1, keepdims=True)
    gain, bias, n = weights["weight"], weights["bias"], x.shape[-1]
    unbiased, square = variance * n / (n - 1), (x**2).mean(axis=-1, keepdims=True)
    others = [other for other in (0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8) if other != eps]
    some = [
        (
            "the variance is divided by n - 1. Divide by n (unbiased=False).",
            centered / np.sqrt(unbiased + eps),
        ),
        (
            "eps is outside the root; it should be sqrt(variance + eps).",
            centered / (np.sqrt(variance) + eps),
        ),
        (
            "eps is outside the root, and the variance is divided by n - 1 (x.std()).",
            centered / (np.sqrt(unbiased) + eps),
        ),
        ("the argument eps is not used.", centered / np.sqrt(variance + 1e-5)),
        *(
            (f"eps is {other:g}; it should be {eps:g}.", centered / np.sqrt(variance + other))
            for other in others
        ),
        ("it divides by the variance instead of its root.", centered / (variance + eps)),
        ("the mean is not subtracted.", x / np.sqrt(variance + eps)),
        (
            "the mean is not subtracted: it divides by the root mean square.",
            x / np.sqrt(square + eps),
        ),
        (
            "it divides by the mean absolute deviation.",
            centered / (np.abs(centered).mean(axis=-1, keepdims=True) + eps),
        ),
        ("only the mean is subtracted.", centered),
    ]
    if variance.all():
        some.append(("eps is missing.", centered / np.sqrt(variance)))
    right = centered / np.sqrt(variance + eps)
    causes = [(sentence, normed * gain + bias) for sentence, normed in some]
    causes += [
        ("weight and bias are not used.", right),
        ("weight is not used.", right + bias),
        ("bias is not used.", right * gain),
        ("bias is added before the multiplication with weight.", (right + bias) * gain),
    ]
    axes = [("the sequence", -2), ("the batch", 0), ("all axes", None)]
    axes.append(("all but the first axis", tuple(range(1, x.ndim))))
    for name, axis in axes if x.ndim > 1 else []:
        moved = x - x.mean(axis=axis, keepdims=True)
        sentence = (
            f"mean and variance are taken over the wrong axis, {name}. Take them over the "
            "features, dim=-1."
        )
        causes.append(
            (
                sentence,
                moved / np.sqrt((moved**2).mean(axis=axis, keepdims=True) + eps) * gain + bias,
            )
        )
    return causes
