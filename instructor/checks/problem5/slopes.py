"""Computes a reference's slopes along random directions, to compare gradients with."""

from collections.abc import Callable

import numpy as np

from checks.problem5.gradients import directions

Inputs = dict[str, np.ndarray]


def slopes(inputs: Inputs, function: Callable[[Inputs], float], rng: np.random.Generator) -> dict:
    """Compute the directional derivatives of a scalar for each of its inputs, along random
    directions.

    Args:
        inputs: in float64.
        function: inputs -> the scalar.

    Returns:
        "seed", that of the directions, and "along", the slope for each name of inputs.
    """
    seed, along = int(rng.integers(2**31)), {}
    # The errors are its square times a third derivative, and 1e-16 / step; both far below the
    # tolerance.
    step = 1e-5
    for name, direction in directions(
        seed, {name: value.shape for name, value in inputs.items()}
    ).items():
        ahead, behind = (
            function({**inputs, name: inputs[name] + sign * step * direction}) for sign in (1, -1)
        )
        along[name] = float((ahead - behind) / (2 * step))
    return {"seed": seed, "along": along}
