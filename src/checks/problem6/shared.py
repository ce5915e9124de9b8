"""What the checks of questions 6d, 6e and 6g share: tolerances, gradients, messages."""

from autograder import probe
from checks.support.asked import Same

TOLERANCE = {"float32": 1e-5, "float64": 1e-5}  # the handout's


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
    if parts:
        sum(parts).backward()
    reached = {name: value.grad for name, value in inputs.items() if value.grad is not None}
    return {"unreached": [name for name in inputs if name not in reached], "gradients": reached}


UNREACHED = Same(
    "No gradient of {call} reaches {got}. Avoid .data, .detach(), .numpy(), .item() and "
    "torch.no_grad()."
)
