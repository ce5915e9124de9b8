"""Compare arrays, with a sentence on how they differ and, if known, the likely cause."""

from collections.abc import Callable, Iterable

import numpy as np

from .verdicts import WrongAnswer

RECOGNIZED = 1e-6  # smallest tolerance for causes: they may have been stored as float32
EXCERPT = 8  # rows and columns of an array that a report keeps


def matches(got: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    """Whether shapes are equal and no element is off by more than tolerance * max(1, largest
    absolute expected value).

    Where NaN is expected, anything matches.
    """
    if got.shape != expected.shape:
        return False
    got, expected = _numbers(got), _numbers(expected)
    with np.errstate(invalid="ignore"):  # an infinite scale would let anything through
        return not np.isinf(expected).any() and bool(
            ((np.abs(got - expected) <= tolerance * _scale(expected)) | np.isnan(expected)).all()
        )


def _numbers(array):
    """Integers and booleans as floats: integer differences can overflow, booleans have none."""
    return array if array.dtype.kind in "fc" else array.astype(float)


def _scale(expected):
    return max(1.0, float(np.abs(np.nan_to_num(expected)).max(initial=0.0)))


def require_close(
    name: str,
    got: np.ndarray,
    expected: np.ndarray,
    tolerance: float,
    causes: Iterable[tuple[str, Callable[[], np.ndarray] | np.ndarray]] = (),
) -> None:
    """Raise WrongAnswer unless `got` matches `expected` (see `matches`).

    Args:
        name: of the compared value; the message begins with it.
        causes: known mistakes as (sentence, the array that they would give, or a function that
            computes it). The message names the first one that matches.
    """
    if matches(got, expected, tolerance):
        return
    compared = None
    if got.shape != expected.shape:
        message = f"{name} should have shape {expected.shape}; the shape is {got.shape}."
    else:
        got, expected = _numbers(got), _numbers(expected)
        allowed = tolerance * _scale(expected)
        error = np.abs(got - expected)
        error = np.where(np.isnan(expected), 0, np.where(np.isfinite(error), error, np.inf))
        first = tuple(int(i) for i in np.argwhere(error > allowed)[0])
        if error.ndim:
            worst = tuple(int(i) for i in np.unravel_index(error.argmax(), error.shape))
            message = (
                f"{name}: off by up to {error.max():.3g} (at index {worst}), where {allowed:.1g} "
                f"is allowed. The first wrong value is at index {first}: expected "
                f"{_value(expected[first])}, got {_value(got[first])}."
            )
        else:
            message = (
                f"{name} should be {_value(expected[()])}; it is {_value(got[()])}, off by "
                f"{error:.3g}, where {allowed:.1g} is allowed."
            )
        compared = excerpt(got, expected, error > allowed, first)
    for sentence, candidate in causes:
        candidate = candidate() if callable(candidate) else candidate
        if candidate is not None and matches(got, candidate, max(tolerance, RECOGNIZED)):
            raise WrongAnswer(f"{message}\nLikely cause: {sentence}", compared=compared)
    raise WrongAnswer(message, compared=compared)


def excerpt(
    got: np.ndarray, expected: np.ndarray, wrong: np.ndarray, at: tuple[int, ...]
) -> dict | None:
    """The numbers around an index, as data for a picture.

    Args:
        got, expected: of equal shape. wrong: which elements differ, boolean. at: an index.

    Returns:
        `place`, such as "[0, 0:5, 8:16]", and `expected`, `got` and `wrong` as lists of at most
        EXCERPT rows and columns of the last two axes; numbers have four digits and are texts, so
        that JSON holds NaN. None for complex numbers, and for less than two.
    """
    if got.size < 2 or not (np.isrealobj(got) and np.isrealobj(expected)):
        return None
    starts = [max(0, min(i - i % EXCERPT, n - EXCERPT)) for i, n in zip(at, got.shape)][-2:]
    spans = [slice(i, min(i + EXCERPT, n)) for i, n in zip(starts, got.shape[-2:])]
    window = (*at[:-2], *spans)
    place = [*map(str, at[:-2]), *(f"{span.start}:{span.stop}" for span in spans)]
    shown = {"expected": np.vectorize("{:.4g}".format)(expected[window] + 0.0)}
    shown |= {"got": np.vectorize("{:.4g}".format)(got[window] + 0.0), "wrong": wrong[window]}
    return {"place": f"[{', '.join(place)}]"} | {
        name: np.atleast_2d(part).tolist() for name, part in shown.items()
    }


def _value(x):
    return f"{x:.6g}" if np.isrealobj(x) else str(x)
