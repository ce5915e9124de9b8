"""Random weights for a submission's modules, the same as the reference's."""

from autograder import probe


@probe
def fill(module, seed, scale=0.3, values=()):
    """For other probes: draw weights, biases and position embeddings of standard deviation `scale`,
    gains of norms around 1. Each is determined by the seed and its name, not by other parameters.

    The numbers are the same to the bit in every NumPy version and on every platform: RandomState's
    uniform ones are, and nothing else is computed than products and a sum.

    Args:
        values: a dict of numbers or arrays for parameters whose names end so.
    """
    import zlib

    import numpy as np
    import torch

    state = np.random.RandomState()  # takes a millisecond to make, and none to seed
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if not name.endswith(("weight", "bias", "pos_emb")):
                continue
            state.seed([seed, zlib.crc32(name.encode())])
            drawn = scale * 12**0.5 * (state.random_sample(tuple(parameter.shape)) - 0.5)
            if parameter.dim() == 1 and name.endswith("weight"):
                drawn += 1
            for ending in values:
                if name.endswith(ending):
                    drawn = values[ending]
            parameter.copy_(torch.as_tensor(drawn))
