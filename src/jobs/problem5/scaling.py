"""encoder_scaling: the numbers of the student's scaling_experiment, and the effect of scaling on a
gradient and on a training.
"""

import io
import math
import statistics
from pathlib import Path

import torch
import torch.nn.functional as F
from tqdm import tqdm

from common.files import UserError, writing

SIZES = tuple(2**n for n in range(2, 11))  # d_k = 4, 8, ..., 1024
KINDS = ("unscaled", "scaled")
MEASURES = ("variance", "entropy", "saturation", "gradient_norm")  # the student's
COLUMNS = {  # how the table names and prints each; w_q is the job's own
    "variance": ("variance", "{:.2f}"),
    "entropy": ("entropy", "{:.2f}"),
    "saturation": ("saturation", "{:.3f}"),
    "gradient_norm": ("Jacobian", "{:.4f}"),
    "w_q": ("dL/dW_Q", "{:.3f}"),
}
SEEDS = 3

# for dL/dW_Q: the numbers of queries and keys, as in the experiment, and the width of the inputs
N_QUERY, N_KEY, N_EMBD = 512, 64, 64

# for the claim: the head's d_k, the number of keys, lookups per batch, steps
D_K, KEYS, LOOKUPS, STEPS = 64, 16, 32, 500


def scaling(experiment, path: Path, seed: int) -> None:
    """Run encoder_scaling: print a table of the student's experiment and of dL/dW_Q, test the
    claim, and plot all.
    """
    with writing(path) as temporary:
        results = {}
        for d_k in SIZES:
            result, w_q = experiment(d_k, seed=seed), gradient_of_w_q(d_k, seed)
            results[d_k] = {
                kind: measured(result, kind, d_k) | {"w_q": w_q[kind]} for kind in KINDS
            }
        print(table(results), flush=True)
        losses = {scaled: [] for scaled in (False, True)}
        print(
            f"\nThe claim: one head with d_k = {D_K} looks up one of {KEYS} random keys.",
            flush=True,
        )
        with tqdm(total=2 * SEEDS * STEPS, desc="Training", unit="step", leave=False) as bar:
            for kind in losses:
                for number in range(SEEDS):
                    losses[kind].append(look_up(kind, seed + number, bar))
        temporary.write_bytes(plot(results, losses))
    print(verdict(losses))
    print(f"Wrote {path}")


def measured(result, kind: str, d_k: int) -> dict[str, float]:
    """The four numbers of one kind of scores; raises UserError if the experiment returned something
    else.
    """
    try:
        return {name: float(result[kind][name]) for name in MEASURES}
    except (TypeError, KeyError, ValueError, IndexError):
        raise UserError(
            f"scaling_experiment({d_k}) returned {str(result)[:200]}. It should return two dicts, "
            f'"unscaled" and "scaled", of four floats each: {", ".join(MEASURES)}.'
        ) from None


def gradient_of_w_q(d_k: int, seed: int) -> dict[str, float]:
    """The Frobenius norm of dL/dW_Q in one head of width d_k, with unscaled and scaled scores.

    Inputs and keys are normal, and W_Q preserves a variance of 1, so the scores are distributed as
    in the student's experiment. The values are one-hot, so the output is the weights, and L is a
    random linear function of it, averaged over the queries. N_EMBD is fixed: then the norm depends
    on d_k only through the softmax and the scale.
    """
    generator = torch.Generator().manual_seed(seed)
    x, keys, upstream, to_query = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((N_QUERY, N_EMBD), (N_KEY, d_k), (N_QUERY, N_KEY), (N_EMBD, d_k))
    )
    w_q = (to_query / math.sqrt(N_EMBD)).requires_grad_()
    norms = {}
    for kind, divisor in zip(KINDS, (1.0, math.sqrt(d_k))):
        weights = F.softmax(x @ w_q @ keys.T / divisor, dim=1)
        loss = (upstream * weights).sum(dim=1).mean()
        norms[kind] = torch.autograd.grad(loss, w_q)[0].norm().item()
    return norms


def table(results: dict) -> str:
    """All numbers as aligned columns below two lines of headings, u for unscaled scores and s for
    scaled ones; at most 80 characters wide.
    """
    rows = [["d_k"] + ["u", "s"] * len(COLUMNS)]
    for d_k, result in results.items():
        cells = (
            form.format(result[kind][key]) for key, (_, form) in COLUMNS.items() for kind in KINDS
        )
        rows.append([str(d_k), *cells])
    first, *widths = (max(len(row[i]) for row in rows) for i in range(len(rows[0])))
    pairs = zip(COLUMNS.values(), widths[::2], widths[1::2])
    names = [" " * first, *(name.center(u + 2 + s) for (name, _), u, s in pairs)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, (first, *widths))) for row in rows
    ]
    return "\n".join(
        ("  ".join(names).rstrip(), *lines, "u: unscaled scores, s: scaled by the root of d_k")
    )


def look_up(scaled: bool, seed: int, bar) -> list[float]:
    """Train one head to find, among KEYS random keys, the one that a noisy query was made from.

    The maps of queries and keys are learned; at the start they preserve a variance of 1, so that
    the scores are those of the table. The values are one-hot, and the loss is the squared distance
    between the head's output and the right value: 0 if all is right, 1 - 1/KEYS with uniform
    weights, at most 2. So the gradient has to pass through the softmax's Jacobian.

    Returns:
        The loss of each step.
    """
    generator = torch.Generator().manual_seed(seed)
    to_query, to_key = (
        (torch.randn(D_K, D_K, generator=generator) / math.sqrt(D_K)).requires_grad_()
        for _ in range(2)
    )
    optimizer = torch.optim.Adam([to_query, to_key], lr=1e-3)
    losses = []
    for _ in range(STEPS):
        keys = torch.randn(LOOKUPS, KEYS, D_K, generator=generator)
        wanted = torch.randint(KEYS, (LOOKUPS,), generator=generator)
        query = keys[torch.arange(LOOKUPS), wanted] + torch.randn(LOOKUPS, D_K, generator=generator)
        scores = ((keys @ to_key) @ (query @ to_query)[:, :, None])[:, :, 0]  # (LOOKUPS, KEYS)
        weights = F.softmax(scores / math.sqrt(D_K) if scaled else scores, dim=1)
        loss = ((weights - F.one_hot(wanted, KEYS)) ** 2).sum(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        bar.update()
    return losses


def averaged(losses: list[float], size: int = 20) -> list[float]:
    """Each loss averaged with those of up to size - 1 steps before it."""
    return [statistics.fmean(losses[max(0, i + 1 - size) : i + 1]) for i in range(len(losses))]


def verdict(losses: dict[bool, list[list[float]]]) -> str:
    """What the curves say about the claim. A run stalls if its loss has not halved by the end."""
    parts, stalled, first = [], {}, min(20, STEPS) - 1
    for scaled, name in ((False, "Without the scale"), (True, "With it")):
        smooth = [averaged(run) for run in losses[scaled]]
        start, end = (statistics.fmean(run[i] for run in smooth) for i in (first, -1))
        halved = [
            next((step for step, loss in enumerate(run, 1) if loss < run[first] / 2), None)
            for run in smooth
        ]
        stalled[scaled] = sum(run[-1] > run[first] / 2 for run in smooth)
        steps = [str(step) for step in halved if step is not None]
        parts.append(
            f"{name}, the loss goes from {start:.2f} to {end:.2f} (means of {len(smooth)} seeds) "
            "and is halved "
            + (f"after {', '.join(steps)} steps" if steps else "with no seed")
            + "."
        )
    count = stalled[False]
    says = (
        "does not stall within"
        if count == 0
        else f"stalls with {count} of {len(losses[False])} seeds within"
    )
    parts.append(
        f"So without the scale, this training at d_k = {D_K} {says} {STEPS} steps. That holds for "
        "this task and Adam at 0.001; another optimizer or learning rate may give another result."
    )
    return "\n".join(parts)


def plot(results: dict, losses: dict) -> bytes:
    """The columns of the table over d_k, and the loss curves of the claim, as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    looks = {
        "unscaled": {"color": "#d1603d", "marker": "o", "linestyle": "--"},
        "scaled": {"color": "#3b6fb6", "marker": "s"},
    }
    titles = {
        "variance": "variance of the scores",
        "entropy": "entropy of the weights (nats)",
        "saturation": "share of saturated queries",
        "gradient_norm": "norm of the Jacobian (median)",
        "w_q": r"norm of $\partial L / \partial W_Q$",
    }
    figure, axes = plt.subplot_mosaic(
        [list(COLUMNS), ["claim"] * len(COLUMNS)], figsize=(16, 7.6), layout="constrained"
    )
    for name in COLUMNS:
        for kind, look in looks.items():
            axes[name].plot(
                results.keys(),
                [result[kind][name] for result in results.values()],
                label=kind,
                markersize=4,
                **look,
            )
        axes[name].set(title=titles[name], xlabel="$d_k$", xscale="log")
        axes[name].set_xticks(SIZES[::2], SIZES[::2])
        axes[name].minorticks_off()
    for name in ("variance", "w_q"):
        axes[name].set_yscale("log")
    axes["variance"].legend(frameon=False)
    for scaled, runs in losses.items():
        for number, run in enumerate(runs):
            look = looks["scaled" if scaled else "unscaled"]
            axes["claim"].plot(
                range(1, len(run) + 1),
                averaged(run),
                color=look["color"],
                linestyle=look.get("linestyle", "-"),
                linewidth=1.3,
                label=None if number else ("with scale" if scaled else "without scale"),
            )
    axes["claim"].axhline(
        1 - 1 / KEYS, color="black", linestyle=":", linewidth=1, label="even weights"
    )
    axes["claim"].set(
        title=f"The claim: looking up one of {KEYS} keys, $d_k = {D_K}$, {SEEDS} seeds (means of "
        "20 steps)",
        xlabel="step",
        ylabel="squared error",
        ylim=(0, None),
    )
    axes["claim"].legend(frameon=False)
    for each in axes.values():
        each.spines[["top", "right"]].set_visible(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120, format="png")
    plt.close(figure)
    return buffer.getvalue()
