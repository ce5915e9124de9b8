"""Cases of masked attention in float64 with NumPy: its output, its gradients, and the results of
known mistakes.
"""

from collections.abc import Callable, Iterable

import numpy as np

from checks.problem6.q6d.rows import spread, thin
from checks.problem6.q6d.sparse import drawn
from checks.support.cases import Case, same
from instructor.checks.problem5.encoder import softmax
from instructor.checks.problem6.q6d.patterns import Spec, connected, mistakes, used_up
from instructor.checks.problem6.q6d.sparse_mistakes import (
    causes_of_blocks,
    causes_of_masks,
    causes_of_pieces,
    causes_of_scales,
)

PLACES = 6  # rows at which a case keeps mistakes' results


def draw_seed(rng) -> int:
    """Draw a seed for NumPy's RandomState, whose numbers are the same in all versions."""
    return int(rng.integers(2**31))


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Compute the output in float64."""
    return softmax(np.where(mask, scores_of(q, k), -np.inf)) @ v


def scores_of(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Compute the scaled scores of all pairs, (B, n_head, T, T)."""
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])


def gradients(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, upstream: np.ndarray
) -> dict[str, np.ndarray]:
    """Compute the gradients of sum(output * upstream) with respect to q, k and v."""
    weights, scale = softmax(np.where(mask, scores_of(q, k), -np.inf)), 1 / np.sqrt(q.shape[-1])
    towards = upstream @ v.swapaxes(-1, -2)
    through = weights * (towards - (towards * weights).sum(axis=-1, keepdims=True))
    return {
        "q": through @ k * scale,
        "k": through.swapaxes(-1, -2) @ q * scale,
        "v": weights.swapaxes(-1, -2) @ upstream,
    }


def versions(right: np.ndarray, makers: Iterable[Callable[[], np.ndarray]]) -> np.ndarray | None:
    """Stack the distinct results of a mistake's versions that differ from the right one."""
    found = []
    for make in makers:
        value = make()
        if not any(same(value, other) for other in [right.astype(float), *found]):
            found.append(value)
    return np.array(found) if found else None


def by_sentence(right: np.ndarray, causes: Iterable[tuple[str, Callable[[], np.ndarray]]]) -> list:
    """Return `Case.wrong` of known mistakes: each sentence once, with all its results, computed on
    demand.
    """
    makers = {}
    for sentence, make in causes:
        makers.setdefault(sentence, []).append(make)
    return [
        (sentence, lambda some=some: versions(right, some)) for sentence, some in makers.items()
    ]


def listed(right: np.ndarray, causes: Iterable[tuple[str, Callable[[], np.ndarray]]]) -> list:
    """The same for mistakes whose results have the shape of `right`, of which a case keeps some
    places.
    """
    places = spread(right.size)
    return by_sentence(
        right.ravel()[places],
        ((sentence, lambda make=make: make().ravel()[places]) for sentence, make in causes),
    )


def masked_case(
    rng,
    inputs: dict,
    shape: tuple[int, ...],
    mask: np.ndarray,
    known: Callable | None,
    special: Iterable[int],
    dtype: str = "float32",
    scale: float = 1.0,
    transposed: bool = False,
    with_gradients: bool = False,
    seed: int | None = None,
    order=None,
) -> Case:
    """Make a case of attention under a mask.

    Args:
        inputs: the function to call, and its arguments.
        shape: (B, n_head, T, head_dim).
        known: mistakes, as a function of the rows at which they are kept, the rows' scores, (B,
            n_head, rows, T), and v; None: none.
        special: rows to include.
        order: a permutation of the positions, for the same numbers.
    """
    inputs = {
        **inputs,
        "seed": draw_seed(rng) if seed is None else seed,
        "shape": list(shape),
        "dtype": dtype,
        "scale": scale,
        "transposed": transposed,
        "gradients": with_gradients,
        "order": None if order is None else list(map(int, order)),
    }
    q, k, v, upstream = (x.astype(float) for x in drawn.function(inputs))
    right = {"y": thin(attend(q, k, v, mask))}
    T = shape[2]
    rows = np.array(sorted({0, T - 1, *special, *rng.permutation(T)[:PLACES].tolist()}))
    wrong = []
    if known:
        causes = known(rows, scores_of(q[:, :, rows], k), v)
        wrong = by_sentence(
            right["y"][rows],
            ((sentence, lambda make=make: thin(make(), rows)) for sentence, make in causes),
        )
    if with_gradients:
        right |= {name: thin(x) for name, x in gradients(q, k, v, mask, upstream).items()}
        full = mask.all(axis=1) & ~mask.all()
        if full.any():
            cut = gradients(q, k, v, mask, np.where(full[:, None], 0, upstream))
            parts = {
                name: versions(right[name][rows], [lambda x=x: thin(x)[rows]])
                for name, x in cut.items()
            }
            wrong.append(
                (
                    "no gradient passes through the rows that attend to everything.",
                    {name: value for name, value in parts.items() if value is not None},
                )
            )
    return Case(
        inputs, {name: x.astype(dtype) for name, x in right.items()}, wrong, {"rows": rows.tolist()}
    )


def sparse_case(
    rng, spec: Spec, B: int, n_head: int, head_dim: int, known: str = "", **more
) -> Case:
    """Make a case of sparse_attention; known: which mistakes to recognize, of "scales", "used up",
    "masks", "pieces" and "blocks".
    """
    mask = connected(spec)
    # Global rows, and rows at a stride from one: some mistakes show only there.
    special = [g + s for g in spec.chosen[:1] for s in (0, *spec.strides) if g + s < spec.n]
    special += spec.chosen

    def causes(rows, scores, v):
        if "scales" in known:
            yield from causes_of_scales(scores, v, mask[rows], n_head, head_dim)
        if "used up" in known:
            yield from causes_of_masks(rows, scores, v, used_up(spec))
        if "masks" in known:
            yield from causes_of_masks(rows, scores, v, mistakes(spec))
        if "pieces" in known:
            yield from causes_of_pieces(spec, rows, scores, v)
        if "blocks" in known:
            yield from causes_of_blocks(spec, rows, scores, v)

    return masked_case(
        rng,
        {"spec": spec.data},
        (B, n_head, spec.n, head_dim),
        mask,
        causes if known else None,
        special,
        **more,
    )
