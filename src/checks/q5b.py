"""Question 5b, basic: the scaling experiment."""
from autograder import check
from checks.scaling import require_measured


@check("5b-1-basic")
def test_experiment(student, rng):
    """Small sizes, in which a sample variance shows and scaled weights are saturated now and then; then one row of the handout's
    table."""
    calls = [{"d_k": int(rng.integers(5, 40)), "n_query": int(rng.integers(30, 60)), "n_key": int(rng.integers(4, 9)),
              "seed": int(rng.integers(1, 10 ** 6))} for _ in range(4)]
    require_measured(student, *calls, {"d_k": int(2 ** rng.integers(2, 7))})
