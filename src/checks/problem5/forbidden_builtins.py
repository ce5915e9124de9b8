"""Forbids torch's built-in attention and normalizations where students write their own."""

from autograder import probe


@probe
def forbid_builtins():
    """For probes: a context in which torch's built-in attention and normalizations raise an error,
    under any name: modules, which call functions, and torch.ops.
    """
    import functools
    import re

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

    return Refusal()
