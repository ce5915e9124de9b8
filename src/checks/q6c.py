"""Question 6c, basic: sines and cosines, the matrix of a shift, RoPE's scores, ALiBi, and position interpolation."""
from autograder import check
from checks.positions import Call, compute
from checks.calls import require_right
from checks.rope_scores import Case, require_scores


def even(rng, low: int, high: int) -> int:
    """An even number."""
    return 2 * int(rng.integers(low // 2, high // 2))


@check("6c-4-basic")
def test_matrix(student, rng):
    """sinusoidal and sinusoidal_at."""
    P, d_model = 60, even(rng, 12, 40)
    require_right(student, compute, [Call("sinusoidal", (int(rng.integers(5, 12)), d_model)), Call("sinusoidal", (P, 512)),
                            Call("sinusoidal_at", (rng.uniform(0, 100, P), d_model)), Call("sinusoidal", (1000, d_model))])


@check("6c-5-basic")
def test_shift(student, rng):
    """The handout's shifts, and one back."""
    shifts = (1, 50, 100, 1000, -int(rng.integers(2, 50)))
    require_right(student, compute, [Call("shift_matrix", (k, even(rng, 8, 40))) for k in shifts])


@check("6c-6-basic")
def test_rope(student, rng):
    """Any pairs of positions, and some at one distance.

    A right table may have been made in float32, with angles off by some 1e-6. Scores at one distance differ by 3e-6 then, on
    average, and by 2e-5 at most in 6,000 draws: by the 1e-4 that are allowed less than once in a million.
    """
    normal = rng.standard_normal
    start, distance = rng.permutation(30)[:6], int(rng.integers(1, 10))
    scattered = [rng.integers(0, 40, 5).tolist() for _ in range(2)]
    cases = [Case(normal(width), normal(width), *scattered, dtype) for width, dtype in ((10, "float32"), (64, "float64"))]
    cases.append(Case(normal(64), normal(64), (start + distance).tolist(), start.tolist()))
    require_scores(student, cases)


@check("6c-7-basic")
def test_alternatives(student, rng):
    """With a number of heads that is a power of two, and with another; shorter than in training, just as long, and longer."""
    T, trained = int(rng.integers(5, 12)), int(rng.integers(20, 40))
    calls = [Call("alibi_bias", (n_head, T)) for n_head in (8, int(rng.choice([3, 5, 6, 7, 12])))]
    calls += [Call("interpolated_positions", (length, trained)) for length in (
        int(rng.integers(5, trained)), trained, trained + int(rng.integers(1, 9)), 3 * trained + 1)]
    require_right(student, compute, calls)
