"""Forbids torch where students use only NumPy."""

from autograder import probe


@probe
def numpy_alone():
    """For probes: a context in which torch cannot compute anything or convert arrays."""
    import contextlib

    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    refusal = "may not be used here: write numpy_attention.py with NumPy only."

    class NoTorch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            raise RuntimeError(f"torch ({function}) {refusal}")

    def guarded(name):
        def refused(*args, **kwargs):
            raise RuntimeError(f"torch.{name} {refusal}")

        return refused

    context = contextlib.ExitStack()
    for name in ("from_numpy", "from_dlpack", "frombuffer", "as_tensor", "asarray", "tensor"):
        context.callback(setattr, torch, name, getattr(torch, name))
        setattr(torch, name, guarded(name))
    context.enter_context(NoTorch())
    return context
