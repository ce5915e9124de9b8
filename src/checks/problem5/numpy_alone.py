"""Forbids torch where students use only NumPy, and records NumPy's warnings."""

from autograder import probe


@probe
def numpy_alone():
    """For probes: a context in which torch cannot compute anything or convert arrays. It gives a
    list that has NumPy's warnings at the end.
    """
    import contextlib
    import warnings

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

    @contextlib.contextmanager
    def context():
        texts = []
        with contextlib.ExitStack() as stack:
            caught = stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
            names = "from_numpy", "from_dlpack", "frombuffer", "as_tensor", "asarray", "tensor"
            for name in names:
                stack.callback(setattr, torch, name, getattr(torch, name))
                setattr(torch, name, guarded(name))
            stack.enter_context(NoTorch())
            yield texts
        texts += [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
        # Apple's BLAS sets floating-point flags for no reason, and NumPy warns about them.
        texts[:] = [text for text in texts if "in matmul" not in text][:3]

    return context()
