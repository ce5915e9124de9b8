"""Keeping torch out of what students write with NumPy alone."""

from autograder import probe


@probe
def numpy_alone():
    """For probes: a context in which torch computes nothing, and takes no arrays over: neither is
    NumPy's work.
    """
    import contextlib

    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    refusal = "may not be used here: numpy_attention.py is written with NumPy alone."

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
