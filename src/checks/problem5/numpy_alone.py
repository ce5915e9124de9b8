"""Forbids torch where students use only NumPy, and records NumPy's warnings."""

from autograder import probe


@probe
def numpy_alone():
    """For probes: a context in which torch cannot compute anything. It gives a list that has
    NumPy's warnings at the end.
    """
    import contextlib
    import warnings

    from torch.utils._python_dispatch import TorchDispatchMode

    class NoTorch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            raise RuntimeError(
                f"torch ({function}) may not be used here: write this file with NumPy only."
            )

    @contextlib.contextmanager
    def context():
        texts = []
        with warnings.catch_warnings(record=True) as caught, NoTorch():
            warnings.simplefilter("always")
            yield texts
        # Apple's BLAS sets floating-point flags for no reason, and NumPy warns about them.
        texts += [
            str(w.message)
            for w in caught
            if issubclass(w.category, RuntimeWarning) and "in matmul" not in str(w.message)
        ][:3]

    return context()
