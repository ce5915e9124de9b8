"""Cases of question 1d: vanilla models, and what they compute."""

from instructor.checks.makers import makes
from instructor.checks.problem1.gpt import model_case


@makes("1d-4-basic")
def vanilla(rng):
    """Models that initialize_vanilla_model makes."""
    return [model_case(rng, "initialize_vanilla_model", rope=False) for _ in range(3)]
