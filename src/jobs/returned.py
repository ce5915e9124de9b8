"""What is said of a student's function that returned something else than it should."""

import contextlib
import math

import numpy as np
import torch

from common.files import UserError

ARRAYS = (np.ndarray, torch.Tensor)


def wrong_result(call: str, result, should: str) -> UserError:
    """The error for `call`, of the student's code, which returned `result` and should return
    something else, in words.
    """
    value = "" if isinstance(result, ARRAYS) else f", {str(result)[:100]}"
    return UserError(f"{call} returned {kind(result)}{value}. It should return {should}.")


def require_like(call: str, result, right, when: str = "") -> None:
    """Compare a result of the student's with a right one: its type, and of an array dtype and
    shape, too; when: the circumstances, in words.

    Raises:
        UserError: they differ, or the array has NaN or infinity in it; -inf is a logit.
    """
    differs = isinstance(right, ARRAYS) and kind(result) != kind(right)
    if differs or not isinstance(result, type(right)):
        raise wrong_result(call, result, kind(right) + when)


def kind(value) -> str:
    """The type of a value in words; of an array with its dtype and shape, and with the number of
    entries that are NaN or infinity.
    """
    if not isinstance(value, ARRAYS):
        return f"a value of type {type(value).__name__}"
    name = "tensor" if isinstance(value, torch.Tensor) else "NumPy array"
    dtype = str(value.dtype).removeprefix("torch.")
    found = ""
    with contextlib.suppress(TypeError, RuntimeError):  # texts and complex numbers have no order
        if bad := int((~(value < np.inf)).sum()):
            found = f", with NaN or infinity in {bad} of {math.prod(value.shape)} entries"
    article = "an" if dtype.startswith("int") else "a"
    return f"{article} {dtype} {name} of shape {tuple(value.shape)}{found}"
