"""Random weights for the models of problem 1."""

from autograder import probe


@probe
def draw_all(module, seed):
    """Draw all parameters of a module, as after a training, about: mean 1 for what scales a
    normalized vector, else 0; standard deviation 0.3. Each is determined by the seed and its name.

    The numbers are the same to the bit in every NumPy version and on every platform: RandomState's
    uniform ones are, and nothing else is computed than a product and a sum.
    """
    import zlib

    import numpy as np
    import torch

    with torch.no_grad():
        for name, parameter in module.named_parameters():
            middle = 1.0 if ".ln" in "." + name and name.endswith("weight") else 0.0
            state = np.random.RandomState([seed, zlib.crc32(name.encode())])
            uniform = state.random_sample(tuple(parameter.shape)) - 0.5
            drawn = middle + 1.0392304845413263 * uniform
            parameter.copy_(torch.from_numpy(drawn.astype(np.float32)))
