"""The recorded trainings: healthy ones, and what is broken in each of the others.

Only causes are set here: a training with too large a learning rate may show several faults, or
none. The rules of the table say which.
"""

from collections.abc import Iterator

import numpy as np

from .training import Setup

REFERENCE = 1.7  # the loss of a good run after as many steps


def draw_setups(rng: np.random.Generator, count: int) -> Iterator[Setup]:
    """Draw `count` trainings with a fault of each kind, and twice as many without."""
    for name, draw in TRAININGS.items():
        for number in range(count if draw != _healthy else 2 * count):
            common, *kinds = draw(rng)
            sizes = {
                "n_layer": int(rng.integers(2, 4)),
                "n_head": int(rng.integers(1, 4)),
                "init": rng.uniform(0.12, 0.25),
                "lr": rng.uniform(2e-3, 6e-3),
                "warm_up": rng.uniform(0.02, 0.09),
                "sampled": int(rng.choice([0, 10])),
                "batch": int(rng.choice([4, 8])),
            }
            kind = kinds[number % len(kinds)]
            yield Setup(f"{name}, {number}", **(sizes | common | kind))


# Each yields the fields that its trainings have in common, and then those of each kind.


def _healthy(rng):
    yield {}
    yield {}
    yield {"noise": 0.04}
    yield {"batch": 2}
    yield {"norm": "post", "lr": 1e-3}
    yield {"optimizer": "sgd", "lr": 0.1}
    yield {"short": True}
    yield {"init": 0.06, "whole": 900, "warm_up": 0.04}
    yield {"measured": 4}
    yield {"measured": 0, "sampled": 5, "noise": 0.06}


def _exploding(rng):
    at = int(rng.integers(60, 110))
    yield {}
    larger = {at: {"lr": rng.uniform(2, 6)}}
    yield {"changes": {at: {"ascent": True, "lr": rng.uniform(1e-3, 4e-3), "clip": None}}}
    yield {"optimizer": "sgd", "lr": rng.uniform(0.05, 0.1), "clip": None, "changes": larger}
    yield {"optimizer": "sgd", "lr": rng.uniform(0.1, 0.5), "clip": None, "endless": True}
    yield {"changes": {at: {"ascent": True, "lr": rng.uniform(3e-4, 8e-4)}}}


def _repeating(rng):
    at = int(rng.integers(40, 100))
    yield {"sampled": int(rng.choice([3, 5]))}
    yield {"temperature": 0.0}
    yield {"changes": {at: {"temperature": 0.0}}}
    yield {"changes": {at: {"temperature": 0.15}}}


def _slow(rng):
    yield {"sampled": 0}
    yield {"lr": 10 ** rng.uniform(-6, -5)}
    yield {"optimizer": "sgd", "lr": 10 ** rng.uniform(-4, -3.3)}
    yield {"noise": 1.0}
    yield {"lr": 10 ** rng.uniform(-5.5, -5), "norm": "post", "n_layer": 5}


def _dead(rng):
    at = int(rng.integers(20, 100))
    yield {"n_head": int(rng.integers(2, 4))}
    yield {"one_head": 0.01}
    yield {"scale": 0.02}
    yield {"changes": {at: {"one_head": 0.005}}}


def _saturated(rng):
    at, scale = int(rng.integers(20, 100)), rng.uniform(150, 400)
    yield {"n_head": int(rng.integers(2, 4))}
    yield {"one_head": 600.0, "init": 0.3}
    yield {"scale": scale, "init": 0.3}
    yield {"changes": {at: {"one_head": 3000.0}}}
    yield {"lr": 0.1, "scale": 5.0, "clip": None}


def _vanishing(rng):
    yield {"n_head": 1, "residual": False, "norm": "none", "squash": True}
    yield {"n_layer": 5, "init": rng.uniform(0.04, 0.07)}
    yield {"n_layer": 4, "init": rng.uniform(0.02, 0.04)}
    yield {"n_layer": 6, "init": rng.uniform(0.05, 0.09), "optimizer": "sgd", "lr": 0.05}


TRAININGS = {
    "trained well": _healthy,
    "diverged": _exploding,
    "samples almost greedily": _repeating,
    "hardly learns": _slow,
    "scores too small": _dead,
    "scores too large": _saturated,
    "deep, without residuals": _vanishing,
}
