"""Gradients through a submission's functions."""

from autograder import probe
from checks.support.asked import TOLERANCE, Close, Same


@probe
def differentiate(outputs, inputs):
    """For other probes: the gradients of a weighted sum of all outputs in each of the named inputs,
    and the names of those that no gradient reaches.
    """
    import torch

    parts = [
        (output.flatten() * torch.arange(output.numel(), dtype=output.dtype).cos()).sum()
        for output in outputs
        if isinstance(output, torch.Tensor) and output.requires_grad
    ]
    if inputs and parts:
        sum(parts).backward()
    reached = {name: value.grad for name, value in inputs.items() if value.grad is not None}
    return {"unreached": [name for name in inputs if name not in reached], "gradients": reached}


UNREACHED = Same(
    "No gradient of {call} reaches {got}. Avoid .data, .detach(), .numpy(), .item() and "
    "torch.no_grad(), and use every part."
)
# The rules for what `differentiate` returns.
GRADIENTS = {"unreached": UNREACHED, "gradients": Close("The gradients of {call}", TOLERANCE)}
