"""The pattern of question 6d as a mask, its known mistakes, and its number of connections."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spec:
    """A pattern for n positions. chosen: the global positions as passed, in any order, perhaps
    repeated; kind: their type.
    """

    n: int
    window: int
    strides: tuple[int, ...] = ()
    causal: bool = False
    chosen: tuple[int, ...] = ()
    kind: str = "list"

    @property
    def data(self) -> dict:
        """The inputs for probes."""
        return {
            "n": self.n,
            "window": self.window,
            "strides": list(self.strides),
            "causal": self.causal,
            "chosen": list(self.chosen),
            "kind": self.kind,
        }


def connected(spec: Spec, at: np.ndarray | None = None, **wrong) -> np.ndarray:
    """Return which i (row) attends to which j (column): boolean, (n, n).

    Args:
        at: only these rows.
        wrong: a mistake's rules instead of the right ones, functions of (i, j, spec): near, far,
            rows, columns, past.
    """
    i, j = np.indices((spec.n, spec.n), sparse=True)
    i = i if at is None else at[:, None]
    distance = abs(i - j)
    rule = {
        "near": lambda: distance <= spec.window,
        "far": lambda: np.isin(distance, spec.strides),
        "rows": lambda: np.isin(i, spec.chosen) & (not spec.causal),
        "columns": lambda: np.isin(j, spec.chosen),
        "past": lambda: (j <= i) | (not spec.causal),
    }
    near, far, rows, columns, past = (
        wrong[name](i, j, spec) if name in wrong else rule[name]() for name in rule
    )
    return (near | far | rows | columns) & past


def only(spec: Spec, rule: str) -> np.ndarray:
    """Return the connections by only one rule: near, far, rows or columns."""
    others = {"near", "far", "rows", "columns"} - {rule}
    return connected(spec, **dict.fromkeys(others, _nothing))


def _nothing(i, j, spec):
    return (i != i) & (j != j)


def mistakes(spec: Spec) -> Iterator[tuple[str, np.ndarray]]:
    """Yield known mistakes as (sentence, mask), if the mask differs from the right one."""
    right = connected(spec)
    yield from used_up(spec)
    for sentence, wrong in _known(spec):
        mask = connected(spec, **wrong)
        if not np.array_equal(mask, right):
            yield sentence, mask
    if spec.causal:
        i, j = np.indices((spec.n, spec.n), sparse=True)
        local = (abs(i - j) <= spec.window) | np.isin(abs(i - j), spec.strides)
        for seen in (np.isin(j, spec.chosen), np.isin(j, spec.chosen) & ~local):
            yield (
                "global keys are seen from before, too: in the causal pattern, j <= i holds for "
                "all of them.",
                right | seen,
            )


def used_up(spec: Spec) -> list[tuple[str, np.ndarray]]:
    """Return the masks that result from iterating twice over an iterator, which is empty the second
    time.
    """
    if spec.kind != "iterator":
        return []
    twice = (
        "the global positions are iterated over twice, but an iterator is empty the second time: "
        "make a list first."
    )
    parts = [("", ("rows", "columns")), (" (Global keys are missing.)", ("columns",))]
    parts += [] if spec.causal else [(" (Global rows are missing.)", ("rows",))]
    return [
        (twice + more, connected(spec, **dict.fromkeys(missing, _nothing)))
        for more, missing in parts
    ]


def _known(spec):
    w = spec.window
    both = not spec.causal

    def around(i, j, _):
        return np.minimum((i - j) % spec.n, spec.n if spec.causal else (j - i) % spec.n)

    known = [
        (
            "|i - j| = window is left out: the window includes its ends.",
            {"near": lambda i, j, _: abs(i - j) < w},
        ),
        ("the window reaches one position too far.", {"near": lambda i, j, _: abs(i - j) <= w + 1}),
        (
            "a position does not attend to itself.",
            {"past": lambda i, j, spec: (i != j) & ((j <= i) | (not spec.causal))},
        ),
        (
            "the window leaves out the position itself.",
            {"near": lambda i, j, _: (abs(i - j) <= w) & (i != j)},
        ),
        (
            "`window` is used as the total width; the window should reach that far to each side.",
            {"near": lambda i, j, _: abs(i - j) <= w // 2},
        ),
        ("the window is not used.", {"near": lambda i, j, _: i == j}),
        (
            "all multiples of a stride are attended to; a stride is one distance.",
            {
                "far": lambda i, j, _: np.any(
                    [(abs(i - j) % s == 0) & (i != j) for s in spec.strides or [spec.n]], axis=0
                )
            },
        ),
        (
            "strides are treated as positions; they are distances.",
            {"far": lambda i, j, _: np.isin(j, spec.strides) & (i >= 0)},
        ),
        (
            "strides are treated as positions, or their multiples; they are distances.",
            {
                "far": lambda i, j, _: np.any(
                    [(j % s == 0) & (i >= 0) for s in spec.strides or [spec.n]], axis=0
                )
            },
        ),
        (
            "strides are counted from the edge of the window; they are distances from the position "
            "itself.",
            {"far": lambda i, j, _: np.isin(abs(i - j) - w, spec.strides)},
        ),
        (
            "beyond an end, the window and the strides wrap around to the other end (a negative "
            "index counts from the end; so does %).",
            {
                "near": lambda *ij: around(*ij) <= w,
                "far": lambda *ij: np.isin(around(*ij), spec.strides),
                "past": lambda i, j, spec: (j <= i) | ~np.isin(j, spec.chosen) | (not spec.causal),
            },
        ),
        ("the strides are not used.", {"far": _nothing}),
        (
            "strides reach one position too far.",
            {"far": lambda i, j, _: np.isin(abs(i - j) - 1, spec.strides)},
        ),
        (
            "strides end one position too early.",
            {"far": lambda i, j, _: np.isin(abs(i - j) + 1, spec.strides)},
        ),
        *(
            (
                f"the stride {s} is left out.",
                {
                    "far": lambda i, j, _, s=s: np.isin(
                        abs(i - j), [other for other in spec.strides if other != s]
                    )
                },
            )
            for s in set(spec.strides)
        ),
        *(
            (
                f"of the strides beyond the window, only {s} is used.",
                {"far": lambda i, j, _, s=s: abs(i - j) == s},
            )
            for s in set(spec.strides)
        ),
        (
            "the pattern is not used: everything is attended to.",
            {"near": lambda i, j, _: (i >= 0) & (j >= 0)},
        ),
        (
            "global keys are not used: every position attends to the global ones.",
            {"columns": _nothing},
        ),
        ("global positions are not used.", {"columns": _nothing, "rows": _nothing}),
        (
            "global positions are connected only with each other.",
            {
                "columns": lambda i, j, _: np.isin(i, spec.chosen) & np.isin(j, spec.chosen),
                "rows": _nothing,
            },
        ),
    ]
    if both:
        known += [
            (
                "global rows are missing: in a bidirectional pattern, a global position attends to "
                "all.",
                {"rows": _nothing},
            ),
            (
                "only earlier positions are attended to. This pattern is not causal.",
                {"past": lambda i, j, _: j <= i},
            ),
            (
                "a global position attends only to earlier positions; in a bidirectional pattern, "
                "it attends to all.",
                {"past": lambda i, j, _: (j <= i) | ~np.isin(i, spec.chosen)},
            ),
            (
                "the window reaches only back.",
                {"near": lambda i, j, _: (0 <= i - j) & (i - j <= w)},
            ),
            (
                "the window reaches only ahead.",
                {"near": lambda i, j, _: (0 <= j - i) & (j - i <= w)},
            ),
            (
                "on one side, the window ends a position too early. A range or slice excludes its "
                "end.",
                {"near": lambda i, j, _: (-w <= j - i) & (j - i < w) | (i == j)},
            ),
            ("strides reach only back.", {"far": lambda i, j, _: np.isin(i - j, spec.strides)}),
            ("strides reach only ahead.", {"far": lambda i, j, _: np.isin(j - i, spec.strides)}),
        ]
    else:
        known += [
            (
                "a global position attends to all earlier ones. In the causal pattern, it attends "
                "to no more than others do.",
                {"rows": lambda i, j, _: np.isin(i, spec.chosen) & (j >= 0)},
            ),
            (
                "strides reach ahead, too: nothing after i should be attended to.",
                {
                    "past": lambda i, j, spec: (
                        (j <= i) | np.isin(j - i, [s for s in spec.strides if s > w])
                    )
                },
            ),
            (
                "the causal mask is missing: nothing after i should be attended to.",
                {"past": lambda i, j, _: (i == i) & (j == j)},
            ),
        ]
    return known


def packed(mask: np.ndarray) -> np.ndarray:
    """Pack a boolean array with eight entries per byte, as cases keep it (see
    `checks.problem6.q6d.rows.masks`).
    """
    return np.packbits(mask)


def count(spec: Spec) -> int:
    """Count the connections without enumerating the pairs."""
    n, w = spec.n, min(spec.window, spec.n - 1)
    chosen, far = (
        np.unique(np.array(spec.chosen, dtype=int)),
        [s for s in set(spec.strides) if w < s < n],
    )
    before = np.minimum(w, chosen) + sum((chosen >= s).astype(int) for s in far)
    after = np.minimum(w, n - 1 - chosen) + sum((chosen + s < n).astype(int) for s in far)
    local = n + (1 if spec.causal else 2) * (
        sum(n - d for d in range(1, w + 1)) + sum(n - s for s in far)
    )
    if spec.causal:
        return int(local + (n - chosen).sum() - (1 + after).sum())
    distance = abs(chosen[:, None] - chosen)
    shared = ((distance <= w) | np.isin(distance, far)).sum()
    return int(
        local + 2 * n * len(chosen) - len(chosen) ** 2 - 2 * (1 + before + after).sum() + shared
    )


def draw_spec(
    rng, causal: bool, n: int | None = None, window: int | None = None, kind: str = "list"
) -> Spec:
    """Draw a pattern in which every rule has an effect: two strides beyond the window and one
    within it, three global positions, some in reach of each other, in any order and one of them
    twice.
    """
    n = int(rng.integers(40, 60)) if n is None else n
    window = int(rng.integers(3, 7)) if window is None else window
    far = rng.choice(np.arange(window + 2, n // 2), 2, replace=False).tolist()
    strides = [*far, int(rng.integers(1, window))]
    first = int(rng.integers(1, n // 2 - window))
    chosen = [
        first,
        first + int(rng.integers(1, window)),
        int(rng.integers(n // 2 + window, n - 1)),
    ]
    return Spec(
        n,
        window,
        tuple(rng.permutation(strides).tolist()),
        causal,
        tuple(rng.permutation([*chosen, chosen[0]]).tolist()),
        kind,
    )


def edge_specs(rng, short: bool = False) -> list[Spec]:
    """Return extreme patterns; short: fewer, and of fewer positions."""
    n = int(rng.integers(12, 18)) if short else int(rng.integers(20, 30))
    chosen = tuple(rng.choice(n, 3, replace=False).tolist())
    edges = [
        (1, 3, (1, 2), (0,)),
        (2, 0, (1,), ()),
        (n, 0, (5, 1), chosen),
        (n, n + 5, (), chosen),
        (n, 2, (n - 1, n, n + 7), (0, n - 1)),
        (n, 3, (7, 7), (1,)),
        (n, 1, (4,), tuple(range(n))),
    ]
    if not short:
        edges += [
            (1, 0, (), ()),
            (n, 0, (), ()),
            (n, 0, (), chosen),
            (n, n - 1, (3, n), ()),
            (n, 4, (), ()),
        ]
    return [Spec(*rest, causal, globals_) for causal in (False, True) for *rest, globals_ in edges]
