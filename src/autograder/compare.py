"""Compare arrays, with a sentence on how they differ and, if known, the likely cause."""

from collections.abc import Callable, Iterable

import numpy as np

from .verdicts import WrongAnswer

RECOGNIZED = 1e-6  # smallest tolerance for causes: they may have been stored as float32


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
    if got.shape != expected.shape:
        message = f"{name} should have shape {expected.shape}; the shape is {got.shape}."
    else:
        got, expected = _numbers(got), _numbers(expected)
        allowed = tolerance * _scale(expected)
        error = np.abs(got - expected)
        error = np.where(np.isnan(expected), 0, np.where(np.isfinite(error), error, np.inf))
        first = tuple(int(i) for i in np.argwhere(error > allowed)[0])
        worst = tuple(int(i) for i in np.unravel_index(error.argmax(), error.shape))
        message = (
            f"{name}: off by up to {error.max():.3g} (at index {worst}), where {allowed:.1g} is "
            f"allowed. The first wrong value is at index {first}: expected "
            f"{_value(expected[first])}, got {_value(got[first])}."
        )
    for sentence, candidate in causes:
        candidate = candidate() if callable(candidate) else candidate
        if candidate is not None and matches(got, candidate, max(tolerance, RECOGNIZED)):
            raise WrongAnswer(f"{message}\nLikely cause: {sentence}")
    raise WrongAnswer(message)


def _value(x):
    return f"{x:.6g}" if np.isrealobj(x) else str(x)
