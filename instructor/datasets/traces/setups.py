"""The recorded trainings: healthy ones, and what is broken in each of the others."""

from collections.abc import Iterator

import numpy as np

from .training import Setup

REFERENCE = 1.7  # the loss of a good run after as many steps


def draw_setups(rng: np.random.Generator, count: int) -> Iterator[Setup]:
    """Draw `count` trainings with a fault of each kind, and twice as many without.

    Only the cause is set here: a training with too large a learning rate may show several faults,
    or none. The rules of the table say which.
    """
    for number in range(2 * count):
        yield _healthy(rng, number)
    for kind in (_exploding, _repeating, _slow, _dead, _saturated, _vanishing):
        for number in range(count):
            yield kind(rng, number)


def _setup(rng, name, **fields):
    """A small training of random size, with a good learning rate."""
    sizes = {
        "n_layer": int(rng.integers(2, 4)),
        "n_head": int(rng.integers(1, 4)),
        "init": float(rng.uniform(0.12, 0.25)),
        "lr": float(rng.uniform(2e-3, 6e-3)),
        "warm_up": float(rng.uniform(0.02, 0.09)),
        "sampled": int(rng.choice([0, 10])),
        "batch": int(rng.choice([4, 8])),
    }
    return Setup(**{**sizes, "name": name, **fields})


def _healthy(rng, number):
    kinds = (
        {},
        {"noise": 0.04},
        {"batch": 2},
        {"norm": "post", "lr": 1e-3},
        {"optimizer": "sgd", "lr": 0.1, "clip": 1.0},
        {"short": True},
        {"init": 0.06, "whole": 900, "warm_up": 0.04},
        {"measured": 4},
        {"measured": 0, "sampled": 5, "noise": 0.06},
    )
    return _setup(rng, f"trained well, {number}", **kinds[number % len(kinds)])


def _exploding(rng, number):
    at = int(rng.integers(60, 110))
    larger = ((at, {"lr": float(rng.uniform(2, 6))}),)
    kinds = (
        {"changes": ((at, {"ascent": True, "lr": float(rng.uniform(1e-3, 4e-3)), "clip": None}),)},
        {"optimizer": "sgd", "lr": float(rng.uniform(0.05, 0.1)), "clip": None, "changes": larger},
        {"optimizer": "sgd", "lr": float(rng.uniform(0.1, 0.5)), "clip": None, "endless": True},
        {"changes": ((at, {"ascent": True, "lr": float(rng.uniform(3e-4, 8e-4))}),)},
    )
    return _setup(rng, f"diverged, {number}", **kinds[number % len(kinds)])


def _repeating(rng, number):
    at = int(rng.integers(40, 100))
    kinds = (
        {"temperature": 0.0},
        {"changes": ((at, {"temperature": 0.0}),)},
        {"changes": ((at, {"temperature": 0.15}),)},
    )
    return _setup(
        rng,
        f"samples almost greedily, {number}",
        **{"sampled": int(rng.choice([3, 5])), **kinds[number % len(kinds)]},
    )


def _slow(rng, number):
    kinds = (
        {"lr": float(10 ** rng.uniform(-6, -5))},
        {"optimizer": "sgd", "lr": float(10 ** rng.uniform(-4, -3.3))},
        {"noise": 1.0},
        {"lr": float(10 ** rng.uniform(-5.5, -5)), "norm": "post", "n_layer": 5},
    )
    return _setup(rng, f"hardly learns, {number}", **{"sampled": 0, **kinds[number % len(kinds)]})


def _dead(rng, number):
    at = int(rng.integers(20, 100))
    kinds = ({"one_head": 0.01}, {"scale": 0.02}, {"changes": ((at, {"one_head": 0.005}),)})
    return _setup(
        rng,
        f"scores too small, {number}",
        **{"n_head": int(rng.integers(2, 4)), **kinds[number % len(kinds)]},
    )


def _saturated(rng, number):
    at = int(rng.integers(20, 100))
    kinds = (
        {"one_head": 600.0, "init": 0.3},
        {"scale": float(rng.uniform(150, 400)), "init": 0.3},
        {"changes": ((at, {"one_head": 3000.0}),)},
        {"lr": 0.1, "scale": 5.0, "clip": None},
    )
    return _setup(
        rng,
        f"scores too large, {number}",
        **{"n_head": int(rng.integers(2, 4)), **kinds[number % len(kinds)]},
    )


def _vanishing(rng, number):
    deep = {"residual": False, "norm": "none", "squash": True}
    kinds = (
        {"n_layer": 5, "init": float(rng.uniform(0.04, 0.07)), **deep},
        {"n_layer": 4, "init": float(rng.uniform(0.02, 0.04)), **deep},
        {
            "n_layer": 6,
            "init": float(rng.uniform(0.05, 0.09)),
            "optimizer": "sgd",
            "lr": 0.05,
            **deep,
        },
    )
    return _setup(
        rng, f"deep, without residuals, {number}", **{"n_head": 1, **kinds[number % len(kinds)]}
    )
