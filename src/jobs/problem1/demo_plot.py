"""The demo's plot: losses and accuracies."""

from pathlib import Path

from common.files import writing
from jobs.records import Record
from jobs.targets import JOBS

MODELS = {
    ("vanilla", False): "learned positions",
    ("vanilla", True): "learned positions",
    ("rope", True): "RoPE",
}
COLORS = dict(zip(MODELS, ("#888888", "#3b6fb6", "#d1603d")))
STYLE = {"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}


def plot(records: dict[str, Record], summary: dict, path: Path) -> None:
    """Plot the losses of the pretrainings and finetunings, of records by target, and the
    accuracies, as a PNG file.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE), writing(path) as temporary:
        figure = Figure((14, 4.2), layout="constrained")
        pretraining, finetuning, accuracy = figure.subplots(1, 3)
        draw_losses(pretraining, "Pretraining", records, "pretrain")
        draw_losses(finetuning, "Finetuning", records, "finetune")
        draw_accuracies(accuracy, summary)
        figure.savefig(temporary, dpi=150, format="png")


def label(model: tuple[str, bool], separator: str = ", ") -> str:
    """A key of MODELS in words."""
    return f"{MODELS[model]}{separator}{'with' if model[1] else 'no'} pretraining"


def draw_losses(axes, title: str, records: dict[str, Record], kind: str) -> None:
    """The losses of trainings of a kind, averaged over intervals so that some 100 points are
    left.
    """
    for job in (job for job in JOBS.values() if job.kind == kind):
        losses = [(entry["step"], entry["loss"]) for entry in records[job.target].history]
        size = max(1, -(-len(losses) // 100))
        parts = (losses[i : i + size] for i in range(0, len(losses), size))
        means = [[sum(column) / len(part) for column in zip(*part)] for part in parts]
        model = job.variant, job.pretrained
        axes.plot(*zip(*means), color=COLORS[model], label=label(model), linewidth=1.2)
    axes.set(title=title, xlabel="batches", ylabel="loss (nats per character)", ylim=(0, None))
    axes.legend()


def draw_accuracies(axes, summary: dict) -> None:
    """Bars for dev and test, beside the accuracy of the most common place."""
    common = 100 * summary["baseline_dev"]
    for x, model in enumerate(summary["models"]):
        color = COLORS[model["variant"], model["pretrained"]]
        for split, left, alpha in (("dev", x - 0.2, 1), ("test", x + 0.2, 0.55)):
            if model[split] is not None:
                value = 100 * model[split]
                axes.bar(left, value, width=0.38, color=color, alpha=alpha)
                # off the line of the most common place
                place = left, max(value, common) + 1.5
                axes.text(*place, f"{split}\n{value:.0f}%", ha="center", fontsize=9)
    name = f"always the most common place: {common:.0f}%"
    axes.axhline(common, color="black", linestyle=":", linewidth=1, label=name)
    axes.legend(loc="upper left")
    # bars of 100% have room for their labels, below the legend
    axes.set(title="Where was X born?", ylabel="right answers (%)", ylim=(0, 128))
    axes.set(xlim=(-0.5, 2.5), yticks=range(0, 101, 20))
    axes.set_xticks(range(len(MODELS)), [label(model, ",\n") for model in MODELS])
    axes.spines["left"].set_bounds(0, 100)
