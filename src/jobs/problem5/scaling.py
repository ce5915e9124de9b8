"""encoder_scaling: the numbers of the student's scaling_experiment, and the effect of scaling on a
gradient and on a training.
"""

import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tqdm import tqdm

from common.files import UserError, writing

SIZES = tuple(2**n for n in range(2, 11))  # d_k = 4, 8, ..., 1024
LOOKS = {
    "unscaled": {"color": "#d1603d", "linestyle": "--", "marker": "o"},
    "scaled": {"color": "#3b6fb6", "linestyle": "-", "marker": "s"},
}
COLUMNS = {  # heading and format in the table, and title in the plot; w_q is the job's own
    "variance": ("variance", "9.2f", "variance of the scores"),
    "entropy": ("entropy", "6.2f", "entropy of the weights (nats)"),
    "saturation": ("saturation", "7.3f", "share of saturated queries"),
    "gradient_norm": ("Jacobian", "8.4f", "norm of the Jacobian (median)"),
    "w_q": ("dL/dW_Q", "7.3f", r"norm of $\partial L / \partial W_Q$"),
}
# for the claim: the head's d_k, the number of keys, lookups per batch, steps, over how many of them
# a loss is averaged, and seeds
D_K, KEYS, LOOKUPS, STEPS, AVERAGED, SEEDS = 64, 16, 32, 500, 20, 3


def scaling(experiment, path: Path, seed: int) -> None:
    """Print a table of the student's experiment and of dL/dW_Q, test the claim, and plot all.

    Raises:
        UserError: the experiment returned something invalid, or the plot cannot be written.
    """
    results = {}
    with writing(path) as temporary:
        for d_k in SIZES:
            found, w_q = experiment(d_k, seed=seed), gradient_of_w_q(d_k, seed)
            try:
                results[d_k] = {
                    kind: {name: float({**found[kind], "w_q": w_q[kind]}[name]) for name in COLUMNS}
                    for kind in LOOKS
                }
            except (TypeError, KeyError, ValueError, IndexError):
                raise UserError(
                    f"scaling_experiment({d_k}) returned {str(found)[:200]}. It should return two "
                    'dicts, "unscaled" and "scaled", of four floats each: variance, entropy, '
                    "saturation, gradient_norm."
                ) from None
        print(table(results))
        claim = f"one head with d_k = {D_K} looks up one of {KEYS} random keys"
        print(f"\nThe claim: {claim}.", flush=True)
        losses = look_up(seed)
        plot(results, losses, temporary)
    print(verdict(losses))
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


def table(results: dict) -> str:
    """All numbers below two lines of headings, u for unscaled scores and s for scaled ones."""
    lines = ["    ", " d_k", *(f"{d_k:4}" for d_k in results)]
    for name, (heading, form, _) in COLUMNS.items():
        width = int(form[0])
        cells = [heading.center(2 * width), "u".rjust(width) + "s".rjust(width)]
        for result in results.values():
            cells.append("".join(format(result[kind][name], form) for kind in LOOKS))
        lines = [line + cell for line, cell in zip(lines, cells)]
    return "\n".join([*lines, "u: unscaled scores, s: scaled by the root of d_k"])


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


def verdict(losses: dict[str, np.ndarray]) -> str:
    """What the losses say about the claim. A run stalls if its loss has not halved by the end."""
    lines, stalled = [], {}
    for (kind, runs), name in zip(losses.items(), ("Without the scale", "With it")):
        first, last = runs[:, AVERAGED - 1], runs[:, -1]
        stalled[kind] = sum(last > first / 2)
        steps = [str(run.argmax() + 1) for run in runs < first[:, None] / 2 if run.any()]
        halved = f"after {', '.join(steps)} steps" if steps else "with no seed"
        lines.append(
            f"{name}, the loss goes from {first.mean():.2f} to {last.mean():.2f} (means of {SEEDS} "
            f"seeds) and is halved {halved}."
        )
    count = stalled["unscaled"]
    says = f"stalls with {count} of {SEEDS} seeds" if count else "does not stall"
    return "\n".join(lines) + (
        f"\nSo without the scale, this training at d_k = {D_K} {says} within {STEPS} steps. That "
        "holds for this task and Adam at 0.001; another optimizer or learning rate may give "
        "another result."
    )


def plot(results: dict, losses: dict[str, np.ndarray], path: Path) -> None:
    """The columns of the table over d_k, and the loss curves of the claim, as a PNG."""
    import matplotlib
    from matplotlib.figure import Figure

    style = {"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    with matplotlib.rc_context(style):
        figure = Figure((16, 7.6), layout="constrained")
        axes = figure.subplot_mosaic([[*COLUMNS], ["claim"] * len(COLUMNS)])
        for name, (*_, title) in COLUMNS.items():
            for kind, look in LOOKS.items():
                values = [result[kind][name] for result in results.values()]
                axes[name].plot([*results], values, label=kind, markersize=4, **look)
            axes[name].set(title=title, xlabel="$d_k$", xscale="log")
            axes[name].set_xticks(SIZES[::2], SIZES[::2])
            axes[name].minorticks_off()
        axes["variance"].set_yscale("log")
        axes["w_q"].set_yscale("log")
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
