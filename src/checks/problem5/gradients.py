"""Compares gradients with slopes along random directions, which staff compute by finite
differences.
"""

import numpy as np

from autograder import Answer, WrongAnswer, require_close


def directions(seed: int, shapes: dict[str, tuple]) -> dict[str, np.ndarray]:
    """Draw a random direction of length 1 for each name. RandomState draws the same numbers in all
    NumPy versions.
    """
    state = np.random.RandomState(seed)
    drawn = {name: state.standard_normal(shape) for name, shape in shapes.items()}
    return {name: direction / np.linalg.norm(direction) for name, direction in drawn.items()}


def require_slopes(
    answer: Answer,
    expected: dict,
    shapes: dict[str, tuple],
    what: str,
    tolerance: float = 1e-5,
    nonzero: bool = False,
) -> None:
    """Check the gradients of a scalar: each has the expected slope along its direction.

    Args:
        answer: a dict of gradients (tensors of float64, or None), by the names of `expected`.
        expected: "seed", that of the directions, and "along", the slope for each name.
        shapes: the inputs' shapes, in the order in which the directions are drawn.
        what: the module, for messages.
        nonzero: report a gradient that is 0 everywhere as such.

    Raises:
        WrongAnswer: a gradient is missing, has NaN, or is wrong.
    """
    for name, direction in directions(expected["seed"], shapes).items():
        gradient = answer[name].named(f"the gradient of {what} with respect to {name}")
        if gradient.value is None:
            raise WrongAnswer(
                f"No gradient of {what} reaches {name}. Avoid .data, .detach(), .numpy(), .item() "
                "and torch.no_grad() in it, and use every part."
            )
        gradient = gradient.array("float64", direction.shape)  # rejects NaN
        if nonzero and not gradient.any():
            raise WrongAnswer(f"The gradient of {what} with respect to {name} is 0 everywhere.")
        along = np.array([(gradient * direction).sum()])
        title = f"The gradient of {what} with respect to {name}, along a random direction"
        require_close(title, along, np.array([expected["along"][name]]), tolerance)
