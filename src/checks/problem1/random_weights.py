"""Random weights for the models of problem 1."""

from autograder import probe


@probe
def draw_parameter(seed, name, shape, scale):
    """Draw a random float32 parameter, determined by the seed and its name: mean 1 if it scales a
    normalized vector, else 0; standard deviation `scale`.

    RandomState gives the same numbers in every NumPy version; Generator doesn't promise that.
    """
    import zlib

    import numpy as np

    middle = 1.0 if ".ln" in "." + name and name.endswith("weight") else 0.0
    state = np.random.RandomState([seed, zlib.crc32(name.encode())])
    return (middle + scale * state.standard_normal(shape)).astype(np.float32)


@probe(uses=(draw_parameter,))
def draw_all(module, seed, scale=0.3):
    """Draw all parameters of a module. scale: as after a training, about."""
    import torch

    with torch.no_grad():
        for name, parameter in module.named_parameters():
            drawn = draw_parameter(seed, name, tuple(parameter.shape), scale)
            parameter.copy_(torch.from_numpy(drawn))
