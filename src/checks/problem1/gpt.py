"""Random weights for the models of problem 1."""

from autograder import probe


@probe
def draw_parameter(seed, name, shape, scale):
    """The random float32 value of one parameter, by a seed and its name: around 1 where it scales a
    normalised vector, around 0 elsewhere, with that standard deviation.

    RandomState gives the same numbers in every version of NumPy; a Generator does not promise that.
    """
    import zlib

    import numpy as np

    middle = 1.0 if ".ln" in "." + name and name.endswith("weight") else 0.0
    state = np.random.RandomState([seed, zlib.crc32(name.encode())])
    return (middle + scale * state.standard_normal(shape)).astype(np.float32)
