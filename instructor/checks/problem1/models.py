"""Draws models for the checks of questions 1d and 1h."""

import numpy as np


def draw_model(rng, initialize: str | None, large: bool = False) -> dict:
    """Draw the inputs of `checks.problem1.models.run_model`: all sizes differ. Large ones have
    another number of layers, and are read in pieces as well.
    """
    n_head = int(rng.choice((4, 6) if large else (3, 5)))
    block_size = int(rng.choice((13, 15) if large else (7, 9)))
    T = block_size - int(rng.choice((0, 2) if large else (1, 3)))
    config = {
        "vocab_size": int(rng.choice((17, 19) if large else (11, 13))),
        "block_size": block_size,
        "n_layer": 3 if large else 2,
        "n_head": n_head,
        "n_embd": n_head * int(rng.choice((10, 14) if large else (8, 10))),
        "embd_pdrop": 0.5,
        "resid_pdrop": 0.15,
        "attn_pdrop": 0.25,
    }
    tokens, targets = rng.integers(0, config["vocab_size"], size=(2, 2, T))
    targets[:, :2] = 0  # padding, which the loss must not count
    targets[:, 2:] = np.maximum(targets[:, 2:], 1)
    return {
        "initialize": initialize,
        "config": config,
        "tokens": tokens,
        "targets": targets,
        "seed": int(rng.integers(2**31)),
        "ends": [3, 4, T - 1, T] if large else None,
    }
