"""Forbids torch's built-in attention and normalizations where students write their own."""

from autograder import probe


@probe
def forbid_builtins():
    """For probes: a context in which torch's built-in attention and normalizations raise an error,
    under any name, including torch.ops.

    Enter it before the submission is imported: `with forbid_builtins(): from submission.encoder
    import ...`.
    """
    import contextlib
    import functools
    import re

    import torch
    from torch.overrides import TorchFunctionMode

    # Once for each name: a training calls torch's functions hundreds of times in each step.
    is_ready = functools.cache(
        re.compile(
            "scaled_dot_product|multi_head_attention|transformer_encoder"
            "|(layer|rms|batch|group|instance)_norm"
        ).search
    )

    class Refusal(TorchFunctionMode):
        """Intercepts all calls of torch functions."""

        def __torch_function__(self, function, types, args=(), kwargs=None):
            name = getattr(function, "__name__", "")
            if is_ready(name):
                raise RuntimeError(f"{name} may not be used here: write it yourself.")
            return function(*args, **(kwargs or {}))

    def refusal(name):
        def refused(*args, **kwargs):
            raise RuntimeError(f"{name} may not be used here: write it yourself.")

        return refused

    context = contextlib.ExitStack()
    for kind in (
        "MultiheadAttention",
        "LayerNorm",
        "TransformerEncoderLayer",
        "TransformerEncoder",
    ):
        owner = getattr(torch.nn, kind)
        # restored at the end: with --debug, other checks run in this process
        for method in ("__init__", "forward"):
            context.callback(setattr, owner, method, getattr(owner, method))
            setattr(owner, method, refusal(f"nn.{kind}"))
    context.enter_context(Refusal())
    return context
