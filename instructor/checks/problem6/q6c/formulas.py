"""The results of the NumPy functions of positions.py in float64, and the known mistakes.

Mistakes in the formulas are arguments, so that a case can have the result of a wrong one.
"""

import numpy as np


def frequencies(
    d_model: int, exponent: float = 2, base: float = 10000.0, first: int = 0, last: int = 0
) -> np.ndarray:
    """Return w_i = base ** (-exponent (i + first) / (d_model - last)), (d_model/2,)."""
    return base ** (-exponent * (np.arange(d_model // 2) + first) / (d_model - last))


def weave(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Interleave the columns of both."""
    return np.stack((first, second), axis=-1).reshape(len(first), 2 * first.shape[1])


def encode(positions: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the vectors for frequencies w, (P, 2 len(w))."""
    angles = np.outer(positions.astype(float), w)
    return weave(np.sin(angles), np.cos(angles))


def frequency_mistakes(d_model: int) -> list:
    """Return mistakes in the frequencies, as (sentence, array)."""
    return [
        ("the exponent of the frequencies lacks its factor 2.", frequencies(d_model, exponent=1)),
        (
            "the exponent of the frequencies is twice as large as it should be.",
            frequencies(d_model, exponent=4),
        ),
        (
            "all pairs have the frequency 1. Is the exponent divided with // instead of /?",
            np.ones(d_model // 2),
        ),
        ("i starts at 1; it should start at 0, so that w_0 = 1.", frequencies(d_model, first=1)),
        ("the exponent has the wrong sign: frequencies fall.", 1 / frequencies(d_model)),
        ("the base is 1000; it should be 10000.", frequencies(d_model, base=1000.0)),
        ("the base is 100000; it should be 10000.", frequencies(d_model, base=100000.0)),
        *(
            [
                (
                    "the exponent is divided by d_model - 2, so that the last frequency is "
                    "1/10000; it should be divided by d_model.",
                    frequencies(d_model, last=2),
                )
            ]
            if d_model > 2
            else []
        ),
    ]


def encoding_mistakes(positions: np.ndarray, d_model: int) -> list:
    """Return mistakes in sinusoidal and sinusoidal_at, as (sentence, function)."""
    p, w = positions.astype(float), frequencies(d_model)
    angles = np.outer(p, w)
    column = np.arange(d_model)
    return [
        (
            "cosines are in the even columns and sines in the odd ones; it should be the other way "
            "round.",
            lambda: weave(np.cos(angles), np.sin(angles)),
        ),
        (
            "all sines come first, then all cosines; they should alternate.",
            lambda: np.concatenate((np.sin(angles), np.cos(angles)), axis=1),
        ),
        *(
            (sentence, lambda other=other: encode(p, other))
            for sentence, other in frequency_mistakes(d_model)
        ),
        (
            "each column has its own frequency; the sine and the cosine of a pair should share "
            "one.",
            lambda: np.where(
                column % 2 == 0,
                np.sin(np.outer(p, 10000.0 ** (-column / d_model))),
                np.cos(np.outer(p, 10000.0 ** (-column / d_model))),
            ),
        ),
        (
            "each column has its own frequency, with 2 times the column in the exponent; i should "
            "be the index of the pair.",
            lambda: np.where(
                column % 2 == 0,
                np.sin(np.outer(p, 10000.0 ** (-2 * column / d_model))),
                np.cos(np.outer(p, 10000.0 ** (-2 * column / d_model))),
            ),
        ),
        ("positions start at 1; they should start at 0.", lambda: encode(p + 1, w)),
        ("the sines are in both places.", lambda: weave(np.sin(angles), np.sin(angles))),
        ("the vectors are scaled.", lambda: encode(p, w) / np.sqrt(d_model)),
        ("fractional positions are truncated.", lambda: encode(np.trunc(p), w)),
        ("positions are rounded.", lambda: encode(np.round(p), w)),
        ("the sign of positions is lost.", lambda: encode(np.abs(p), w)),
        ("negative positions are treated as 0.", lambda: encode(np.maximum(p, 0), w)),
    ]


def shift(k: int, d_model: int, w: np.ndarray | None = None) -> np.ndarray:
    """Return M_k, with PE[p + k] = PE[p] M_k."""
    blocks = np.zeros((d_model, d_model))
    for i, angle in enumerate(k * (frequencies(d_model) if w is None else w)):
        cos, sin = np.cos(angle), np.sin(angle)
        blocks[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cos, -sin], [sin, cos]]
    return blocks


def shift_mistakes(k: int, d_model: int) -> list:
    """Return mistakes in shift_matrix, as (sentence, function)."""
    right, halves = shift(k, d_model), np.r_[0:d_model:2, 1:d_model:2]
    swapped = np.arange(d_model) ^ 1
    return [
        (
            "it is transposed. PE[p] is a row and is on the left: PE[p + k] = PE[p] @ M."
            + " Or the sign of k is lost." * (k < 0),
            lambda: right.T,
        ),
        ("sine and cosine are swapped.", lambda: right[swapped][:, swapped]),
        (
            "the sines have the same sign; one is negative.",
            lambda: np.abs(right.T - right) / 2 + (right + right.T) / 2,
        ),
        ("it is for vectors with all sines first.", lambda: right[halves][:, halves]),
        ("k is not used: it is the matrix for a shift of 1.", lambda: shift(1, d_model)),
        *(
            (sentence, lambda other=other: shift(k, d_model, other))
            for sentence, other in frequency_mistakes(d_model)
        ),
        ("only the diagonal is filled in.", lambda: np.diag(np.diag(right))),
    ]


def alibi(n_head: int, T: int, slopes: np.ndarray | None = None) -> np.ndarray:
    """Return the biases of ALiBi, (n_head, T, T)."""
    slopes = 2.0 ** (-8 * (np.arange(n_head) + 1) / n_head) if slopes is None else slopes
    # no -0
    return 0.0 - slopes[:, None, None] * np.abs(np.subtract.outer(np.arange(T), np.arange(T)))


def alibi_mistakes(n_head: int, T: int) -> list:
    """Return mistakes in alibi_bias, as (sentence, function)."""
    right, head, difference = (
        alibi(n_head, T),
        np.arange(n_head),
        np.subtract.outer(np.arange(T), np.arange(T)),
    )
    slopes = 2.0 ** (-8 * (head + 1) / n_head)
    power = 2 ** int(np.log2(n_head))
    # those of a power of two, then every second of the next
    more = 2.0 ** (-8 * np.arange(1, 2 * power + 1) / (2 * power))
    mixed = np.concatenate((more[1::2], more[0::2]))[:n_head]
    return [
        ("it should be negative: more distant keys get less attention.", lambda: -right),
        (
            "the slopes start at 2^0; h counts from 0, and the exponent has h + 1.",
            lambda: alibi(n_head, T, 2.0 ** (-8 * head / n_head)),
        ),
        (
            "the exponents of the slopes are rounded down; divide with /, not with //.",
            lambda: alibi(n_head, T, 2.0 ** (-8 * (head + 1) // n_head)),
        ),
        (
            "the slopes are 2^-(h + 1) for every number of heads; the exponent is -8 (h + 1) / "
            "n_head.",
            lambda: alibi(n_head, T, 2.0 ** -(head + 1.0)),
        ),
        (
            "the slopes of the next power of two are mixed in. Here one formula serves for every "
            "n_head.",
            lambda: alibi(n_head, T, mixed),
        ),
        ("the slopes are in the wrong order.", lambda: right[::-1]),
        (
            "the distance has a sign; it should be |i - j|.",
            lambda: -slopes[:, None, None] * difference,
        ),
        (
            "the distance has a sign; it should be |i - j|.",
            lambda: slopes[:, None, None] * difference,
        ),
        (
            "later keys have no bias. A causal mask is not part of it.",
            lambda: np.where(difference >= 0, right, 0),
        ),
        ("distances are squared.", lambda: -slopes[:, None, None] * difference**2),
        ("the slopes are all 1.", lambda: alibi(n_head, T, np.ones(n_head))),
    ]


def interpolate(T: int, trained_length: int) -> np.ndarray:
    """Return the positions scaled to the trained length, (T,)."""
    return np.arange(T) * (trained_length / T if T > trained_length else 1.0)


def interpolation_mistakes(T: int, trained_length: int) -> list:
    """Return mistakes in interpolated_positions, as (sentence, function)."""
    p = np.arange(T).astype(float)
    return [
        (
            "positions are stretched even if all of them fit; they should be 0, 1, ..., T - 1 "
            "then.",
            lambda: p * trained_length / T,
        ),
        ("positions are not scaled down.", lambda: p),
        (
            "the factor is inverted; it should be trained_length / T.",
            lambda: p * T / trained_length,
        ),
        (
            "the last position becomes trained_length - 1; each should be multiplied by "
            "trained_length / T.",
            lambda: p * (trained_length - 1) / (T - 1) if T > 1 else None,
        ),
        (
            "the last position becomes trained_length; each should be multiplied by trained_length "
            "/ T.",
            lambda: p * trained_length / (T - 1) if T > 1 else None,
        ),
        (
            "positions beyond the trained length are all the last one.",
            lambda: np.minimum(p, trained_length - 1),
        ),
        ("positions beyond the trained length restart at 0.", lambda: p % trained_length),
        (
            "positions are rounded; they may be fractions.",
            lambda: np.round(interpolate(T, trained_length)),
        ),
        ("fractional positions are truncated.", lambda: np.floor(interpolate(T, trained_length))),
    ]


def solve(function: str, *given) -> tuple[np.ndarray, list]:
    """Return the right result of a function of positions.py, and its known mistakes as (sentence,
    function or array).
    """
    if function in ("sinusoidal", "sinusoidal_at"):
        positions = np.arange(given[0]) if function == "sinusoidal" else given[0]
        return encode(positions, frequencies(given[1])), encoding_mistakes(positions, given[1])
    right, mistakes = {
        "shift_matrix": (shift, shift_mistakes),
        "alibi_bias": (alibi, alibi_mistakes),
        "interpolated_positions": (interpolate, interpolation_mistakes),
    }[function]
    return right(*given), mistakes(*given)
