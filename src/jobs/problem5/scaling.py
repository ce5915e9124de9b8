"""encoder_scaling: the numbers of the student's scaling_experiment, and the effect of scaling on a
gradient and on a training.
"""

import math
from itertools import product
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tqdm import tqdm

from common.files import writing
from jobs.returned import wrong_result

SIZES = tuple(2**n for n in range(2, 11))  # d_k = 4, 8, ..., 1024
LOOKS = {
    "unscaled": {"color": "#d1603d", "linestyle": "--", "marker": "o"},
    "scaled": {"color": "#3b6fb6", "linestyle": "-", "marker": "s"},
}
TITLES = {  # in the plot, of the experiment's numbers and of the job's own w_q
    "variance": "variance of the scores",
    "entropy": "entropy of the weights (nats)",
    "saturation": "share of saturated queries",
    "gradient_norm": "norm of the Jacobian (median)",
    "w_q": r"norm of $\partial L / \partial W_Q$",
}
HEAD = """\
          variance       entropy     saturation       Jacobian       dL/dW_Q
 d_k        u        s     u     s      u      s       u       s      u      s"""
ROW = "{:4}{:9.2f}{:9.2f}{:6.2f}{:6.2f}{:7.3f}{:7.3f}{:8.4f}{:8.4f}{:7.3f}{:7.3f}"
# for the claim: the head's d_k, the number of keys, lookups per batch, steps, over how many of them
# a loss is averaged, and seeds
D_K, KEYS, LOOKUPS, STEPS, AVERAGED, SEEDS = 64, 16, 32, 500, 20, 3


def scaling(experiment, path: Path, seed: int) -> None:
    """Print a table of the student's experiment and of dL/dW_Q, test the claim, and plot all.

    Raises:
        UserError: the experiment returned something invalid, or the plot cannot be written.
    """
    rows = []
    with writing(path) as temporary:
        for d_k in SIZES:
            found, w_q = experiment(d_k, seed=seed), gradient_of_w_q(d_k, seed)
            try:
                found = {kind: {**found[kind], "w_q": w_q[kind]} for kind in LOOKS}
                rows.append([float(found[kind][name]) for name, kind in product(TITLES, LOOKS)])
            except (TypeError, KeyError, ValueError, IndexError):
                should = 'two dicts, "unscaled" and "scaled", of four floats each: variance, '
                should += "entropy, saturation, gradient_norm"
                raise wrong_result(f"scaling_experiment({d_k})", found, should) from None
            if len(rows) == 1:  # the student's code is there, and works
                print(HEAD)
            print(ROW.format(d_k, *rows[-1]), flush=True)
        print("u: unscaled scores, s: scaled by the root of d_k")
        print(f"\nThe claim: one head with d_k = {D_K} looks up one of {KEYS} random keys.")
        losses = look_up(seed)
        plot(rows, losses, temporary)
    # a run stalls if its loss has not halved by the end
    for (kind, runs), name in zip(losses.items(), ("Without the scale", "With it")):
        first, last = runs[:, AVERAGED - 1], runs[:, -1]
        steps = [str(run.argmax() + 1) for run in runs < first[:, None] / 2 if run.any()]
        halved = f"after {', '.join(steps)} steps" if steps else "with no seed"
        print(
            f"{name}, the loss goes from {first.mean():.2f} to {last.mean():.2f} (means of {SEEDS} "
            f"seeds) and is halved {halved}."
        )
        if kind == "unscaled":
            stalled = sum(last > first / 2)
    says = f"stalls with {stalled} of {SEEDS} seeds" if stalled else "does not stall"
    print(
        f"So without the scale, this training at d_k = {D_K} {says} within {STEPS} steps. That "
        "holds for this task and Adam at 0.001; another optimizer or learning rate may give "
        "another result."
    )
    print(f"Wrote {path}")


def gradient_of_w_q(d_k: int, seed: int) -> dict[str, float]:
    """The Frobenius norm of dL/dW_Q in one head of width d_k, with unscaled and scaled scores.

    Inputs and keys are normal, and W_Q preserves a variance of 1, so the scores are distributed as
    in the student's experiment. The values are one-hot, so the output is the weights, and L is a
    random linear function of it, averaged over the queries. n_embd is fixed: then the norm depends
    on d_k only through the softmax and the scale.
    """
    n_query, n_key, n_embd = 512, 64, 64  # as many queries and keys as in the experiment
    generator = torch.Generator().manual_seed(seed)
    x, keys, upstream, to_query = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((n_query, n_embd), (n_key, d_k), (n_query, n_key), (n_embd, d_k))
    )
    w_q = (to_query / math.sqrt(n_embd)).requires_grad_()
    norms = {}
    for kind, divisor in zip(LOOKS, (1.0, math.sqrt(d_k))):
        weights = F.softmax(x @ w_q @ keys.T / divisor, dim=1)
        loss = (upstream * weights).sum(dim=1).mean()
        norms[kind] = torch.autograd.grad(loss, w_q)[0].norm().item()
    return norms


def look_up(seed: int) -> dict[str, np.ndarray]:
    """Train heads to find, among KEYS random keys, the one that a noisy query was made from: one
    for each of SEEDS seeds with unscaled, and one with scaled scores.

    The maps of queries and keys are learned; at the start they preserve a variance of 1, so that
    the scores are those of the table. The values are one-hot, and the loss is the squared distance
    between the head's output and the right value: 0 if all is right, 1 - 1/KEYS with uniform
    weights, at most 2. So the gradient has to pass through the softmax's Jacobian.

    Returns:
        For both kinds of scores the losses, (SEEDS, STEPS), each the mean over that step and the
        AVERAGED - 1 before.
    """
    generators = [torch.Generator().manual_seed(seed + number) for number in range(SEEDS)]

    def draw(random, *args):  # (SEEDS, ...)
        return torch.stack([random(*args, generator=generator) for generator in generators])

    maps = draw(torch.randn, (2, D_K, D_K)) / math.sqrt(D_K)  # of queries and keys
    maps = torch.stack((maps, maps)).requires_grad_()  # (2 kinds, SEEDS, 2, D_K, D_K)
    divisors = torch.tensor([1.0, math.sqrt(D_K)])[:, None, None, None]
    optimizer = torch.optim.Adam([maps], lr=1e-3)
    losses = np.zeros((2, SEEDS, STEPS))
    for step in tqdm(range(STEPS), "Training", leave=False, unit="step"):
        keys = draw(torch.randn, (LOOKUPS, KEYS, D_K))
        wanted = F.one_hot(draw(torch.randint, KEYS, (LOOKUPS,)), KEYS)  # (SEEDS, LOOKUPS, KEYS)
        queries = keys[wanted.bool()].view(SEEDS, LOOKUPS, D_K) + draw(torch.randn, (LOOKUPS, D_K))
        scores = (queries @ maps[:, :, 0])[..., None, :] * (keys @ maps[:, :, 1, None])
        weights = F.softmax(scores.sum(dim=-1) / divisors, dim=-1)  # (2, SEEDS, LOOKUPS, KEYS)
        loss = ((weights - wanted) ** 2).sum(dim=-1).mean(dim=-1)  # (2, SEEDS)
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        losses[:, :, step] = loss.detach()
    sums = losses.cumsum(axis=-1)
    sums[..., AVERAGED:] -= sums[..., :-AVERAGED].copy()
    return dict(zip(LOOKS, sums / np.minimum(np.arange(STEPS) + 1, AVERAGED)))


def plot(rows: list[list[float]], losses: dict[str, np.ndarray], path: Path) -> None:
    """The columns of the table over d_k, and the loss curves of the claim, as a PNG."""
    import matplotlib
    from matplotlib.figure import Figure

    style = {"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    with matplotlib.rc_context(style):
        figure = Figure((16, 7.6), layout="constrained")
        axes = figure.subplot_mosaic([[*TITLES], ["claim"] * len(TITLES)])
        for (name, kind), values in zip(product(TITLES, LOOKS), zip(*rows)):
            axes[name].plot(SIZES, values, label=kind, markersize=4, **LOOKS[kind])
        for name, title in TITLES.items():
            axes[name].set(title=title, xlabel="$d_k$", xscale="log")
            axes[name].set_xticks(SIZES[::2], SIZES[::2])
            axes[name].minorticks_off()
            axes[name].set_yscale("log" if name in ("variance", "w_q") else "linear")
        axes["variance"].legend()
        for kind, look in LOOKS.items():
            line = look | {"marker": "", "linewidth": 1.3}
            axes["claim"].plot(range(1, STEPS + 1), losses[kind].T, **line)[0].set_label(kind)
        axes["claim"].axhline(1 - 1 / KEYS, color="black", ls=":", lw=1, label="even weights")
        axes["claim"].set(
            title=f"The claim: looking up one of {KEYS} keys, $d_k = {D_K}$, {SEEDS} seeds "
            f"(means of {AVERAGED} steps)",
            xlabel="step",
            ylabel="squared error",
            ylim=(0, None),
        )
        axes["claim"].legend()
        figure.savefig(path, dpi=120, format="png")
