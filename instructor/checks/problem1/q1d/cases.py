"""Cases of question 1d: vanilla models and their output."""

from instructor.checks.makers import makes
from instructor.checks.problem1.gpt import model_case


@makes("1d-4-basic")
def vanilla(rng):
    """Models created by initialize_vanilla_model."""
    return [model_case(rng, "initialize_vanilla_model", rope=False) for _ in range(3)]
