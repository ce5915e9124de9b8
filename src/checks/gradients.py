"""Comparing gradients with differences of a reference in float64."""
from typing import Callable

import numpy as np

from autograder import Answer, WrongAnswer, require_close


def require_gradients(answer: Answer, inputs: dict[str, np.ndarray], function: Callable[[dict[str, np.ndarray]], float], rng,
                      what: str,
                      tolerance: float = 1e-5, nonzero: bool = False) -> None:
    """The gradients of a number are right: each agrees along a random direction with the difference of two values of the
    reference.

    Args:
        answer: a dict of gradients (tensors of float64, or None), with the names of `inputs`.
        inputs: where they were taken, in float64.
        function: inputs -> the number.
        what: of which module they are, for messages.
        nonzero: name a gradient of nothing but zeros as such.

    Raises:
        WrongAnswer: there is none, it has NaN, or it is wrong.
    """
    for name, value in inputs.items():
        gradient = answer[name].named(f"the gradient of {what} with respect to {name}")
        if gradient.value is None:
            raise WrongAnswer(f"No gradient of {what} reaches {name}. Avoid .data, .detach(), .numpy(), .item() and "
                              f"torch.no_grad() in it, and use "
                              f"every part.")
        gradient = gradient.array("float64", value.shape)       # refuses NaN
        if nonzero and not gradient.any():
            raise WrongAnswer(f"The gradient of {what} with respect to {name} is 0 everywhere.")
        direction = rng.standard_normal(value.shape)
        direction /= np.linalg.norm(direction)
        step = 1e-5         # errors: its square times a third derivative, and 1e-16 / step; both far below the tolerance
        ahead, behind = (function({**inputs, name: value + sign * step * direction}) for sign in (1, -1))
        require_close(f"The gradient of {what} with respect to {name}, along a random direction",
                      np.array([(gradient * direction).sum()]),
                      np.array([(ahead - behind) / (2 * step)]), tolerance)
