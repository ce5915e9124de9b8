"""Question 6c, hidden: positions and shifts of any kind, narrow and wide vectors, sizes that are refused."""
import numpy as np

from autograder import check
from checks.positions import Call, compute
from checks.calls import require_right
from checks.rope_scores import Case, require_scores


def even(rng, low: int, high: int) -> int:
    """An even number."""
    return 2 * int(rng.integers(low // 2, high // 2))


@check("6c-8-hidden")
def test_any_positions(student, rng):
    """None, one, and a thousand; fractions, negative ones, whole numbers in other formats, in any order; one head, one place."""
    d_model = even(rng, 6, 60)
    require_right(student, compute, [
        *(Call("sinusoidal", sizes) for sizes in ((1000, 512), (1000, d_model), (0, d_model), (1, d_model), (7, 2), (1000, 2))),
        Call("sinusoidal_at", (rng.uniform(-1000, 1000, 50), 512)), Call("sinusoidal_at", (rng.uniform(-1, 1, 20), d_model)),
        Call("sinusoidal_at", (rng.integers(-1000, 1000, 50), d_model)),
        Call("sinusoidal_at", (rng.integers(0, 1000, 50).astype("int32"), 512)),
        Call("sinusoidal_at", (np.repeat(rng.uniform(0, 9, 4), 2).astype("float32"), 2)),
        Call("sinusoidal_at", (np.zeros(0), d_model)), Call("sinusoidal_at", (np.array([999.5]), d_model)),
        *(Call("alibi_bias", (n_head, T)) for n_head, T in ((1, 5), (12, 7), (16, 1), (2, 2), (int(rng.integers(17, 30)), 40))),
        *(Call("interpolated_positions", sizes) for sizes in ((1, 1), (1, 9), (9, 1), (1000, 999), (1000, 7), (7, 1000)))])


@check("6c-9-hidden")
def test_any_shifts(student, rng):
    """Back, far, and not at all; then RoPE at one place, and at many; then what is out of range."""
    normal, d_model = rng.standard_normal, even(rng, 6, 60)
    calls = [Call("shift_matrix", sizes) for sizes in (
        (0, d_model), (int(rng.integers(1, 1000)), 512), (-int(rng.integers(1, 1000)), d_model), (-1000, 2), (3, 2),
        (-1, d_model))]
    for bad in (d_model + 1, 1, 0, -4):
        calls += [Call("sinusoidal", (5, bad), refused=True), Call("sinusoidal", (0, bad), refused=True),
                  Call("sinusoidal_at", (normal(3), bad), refused=True), Call("shift_matrix", (2, bad), refused=True)]
    calls.append(Call("sinusoidal", (-1, d_model), refused=True))
    calls += [Call(function, sizes, refused=True) for function in ("alibi_bias", "interpolated_positions")
              for sizes in ((0, 4), (4, 0), (-2, 4), (4, -2))]
    require_right(student, compute, calls)
    width = even(rng, 2, 30)
    require_scores(student, [
        Case(normal(2), normal(2), [3], [11]), Case(normal(width), normal(width), [0], [0], "float64"),
        Case(normal(width), normal(width), rng.integers(0, 40, 30).tolist(), rng.integers(0, 40, 30).tolist()),
        Case(normal(8), normal(8), [5, 5, 5], [5, 4, 5], "float64"),
        *(Case(normal(8), normal(8), queries, keys, refused=True) for queries, keys in (
            ([4, -1, 7], [0, 1, 2]), ([0, 1, 2], [4, 7, -1]), ([-1], [-1]), ([], []), ([3], [4, 5]), ([3, 4], [5]), ([], [5]),
            ([5], [])))])
