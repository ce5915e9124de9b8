"""Compares outputs by one number per row, and describes patterns as data and in words.

To stay small, a case keeps one number per position, and of each known mistake the values at some
positions. Shared by the checks of questions 6d and 6g.
"""

from collections.abc import Iterator

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.support.cases import Case


@probe
def given(spec):
    """Make the submission's Pattern, and the global positions in the type in which they are
    passed.
    """
    from submission.problem6.efficient_attention import Pattern

    kinds = {"list": list, "tuple": tuple, "set": set, "iterator": iter}
    pattern = Pattern(window=spec["window"], strides=tuple(spec["strides"]), causal=spec["causal"])
    return pattern, kinds[spec["kind"]](spec["chosen"])


def describe(spec: dict) -> str:
    """Describe a pattern, and the global positions as they are passed."""
    chosen = list(spec["chosen"])
    shapes = {"list": "{}", "tuple": "tuple({})", "set": "set({})", "iterator": "iter({})"}
    said = shapes[spec["kind"]].format(chosen) if len(chosen) <= 8 else f"{len(chosen)} positions"
    direction = "causal" if spec["causal"] else "in both directions"
    return (
        f"n = {spec['n']:,}, window {spec['window']}, strides {tuple(spec['strides'])}, "
        f"global positions {said}, {direction}"
    )


def thin(x: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Pick one number per position of (B, n_head, T, head_dim), cycling through sequences, heads
    and entries: (T,).

    rows: the positions in x, if it doesn't have all.
    """
    B, n_head, T, head_dim = x.shape
    i = np.arange(T) if rows is None else rows
    return x[i % B, i // B % n_head, np.arange(T), i // (B * n_head) % head_dim]


def spread(size: int) -> np.ndarray:
    """Return the default places at which known mistakes are kept: up to 10, from the first to the
    last.
    """
    return np.unique(np.linspace(0, size - 1, 10).round().astype(int))


def causes(case: Case, part: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield known mistakes for `require_close`, with NaN where their values are not kept.

    A mistake's values are an array (versions, places), or a dict of such arrays for the parts of
    `right`. The places are flat indices: `about["rows"]`, or `spread` of the size.
    """
    right = case.right[part]
    places = case.about.get("rows") or spread(right.size)
    for sentence, value in case.wrong:
        value = value() if callable(value) else value
        if isinstance(value, dict):
            value = value.get(part)
        elif part != "y":
            value = None
        for version in () if value is None else value:
            whole = np.full(right.size, np.nan)
            whole[places] = version
            yield sentence, whole.reshape(right.shape)


def require_part(name: str, got: np.ndarray, case: Case, part: str, tolerance: float) -> None:
    """Compare an array with `case.right[part]`.

    Raises:
        WrongAnswer: they differ; names the largest error and the likely cause.
    """
    require_close(
        name, got.astype(float), case.right[part].astype(float), tolerance, causes(case, part)
    )


def off_rows(got: np.ndarray, right: np.ndarray, tolerance: float) -> np.ndarray:
    """Return which rows are wrong: boolean, (T,)."""
    return ~(abs(got - right) <= tolerance * max(1.0, abs(right).max()))


def require_each(pairs: list, judge) -> None:
    """Judge all pairs of case and answer.

    Raises:
        WrongAnswer: the first failure with a likely cause, else the first one.
    """
    found = []
    for case, answer in pairs:
        try:
            judge(answer, case)
        except WrongAnswer as wrong:
            found.append(wrong)
    if found:
        raise next((wrong for wrong in found if "Likely cause" in wrong.message), found[0])


def masks(bits: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Unpack a boolean array, of which a case keeps eight entries per byte."""
    return np.unpackbits(bits, count=shape[0] * shape[1]).reshape(shape).astype(bool)


def read_positions(answer: Answer, limit: int = 100_000) -> list[int]:
    """Read a sorted list of distinct ints.

    Raises:
        WrongAnswer: it is something else.
    """
    answer.present()
    if not isinstance(answer.value, (list, tuple)) or len(answer.value) > limit:
        raise WrongAnswer(f"{answer.name} should be a list of ints; it is {answer.describe()}.")
    for item in answer.items():
        if type(item.value) is not int:
            raise WrongAnswer(
                f"{answer.name} should be a list of ints; there is {item.describe()} in it."
            )
    positions = list(answer.value)
    if positions != sorted(set(positions)):
        what = "has repetitions" if len(set(positions)) < len(positions) else "is not sorted"
        raise WrongAnswer(f"{answer.name} {what}: {shown(positions)}.")
    return positions


def shown(positions: list[int]) -> str:
    """Format a list for a message."""
    if len(positions) <= 12:
        return str(positions)
    return f"[{', '.join(map(str, positions[:10]))}, ... {len(positions)} in all]"


def require_positions(answer: Answer, expected: list[int], cause: str = "") -> None:
    """Check that the positions are the expected ones.

    Raises:
        WrongAnswer: they differ; says which are missing, and which should not be there.
    """
    got = read_positions(answer)
    if got != expected:
        missing, extra = sorted(set(expected) - set(got)), sorted(set(got) - set(expected))
        said = [
            f"{what}: {shown(positions)}"
            for what, positions in (("missing", missing), ("extra", extra))
            if positions
        ]
        raise WrongAnswer(
            f"{answer.name} gives {shown(got)}; it should give {shown(expected)} "
            f"({'; '.join(said)}).{cause}"
        )
