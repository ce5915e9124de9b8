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


def plot(records: dict[str, Record], summary: dict, path: Path) -> None:
    """Plot the losses of the pretrainings and finetunings, and the accuracies, as a PNG file."""
    with writing(path) as temporary:
        draw(records, summary).savefig(temporary, dpi=150, format="png")


def draw(records: dict[str, Record], summary: dict):
    """The three plots, of records by target, as a figure of matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colors = {
        ("vanilla", False): "#888888",
        ("vanilla", True): "#3b6fb6",
        ("rope", True): "#d1603d",
    }
    labels = {
        key: f"{name}, {'with' if key[1] else 'no'} pretraining" for key, name in MODELS.items()
    }
    figure, (pretraining, finetuning, accuracy) = plt.subplots(
        1, 3, figsize=(14, 4.2), layout="constrained"
    )
    for axes, kind in ((pretraining, "pretrain"), (finetuning, "finetune")):
        for job in JOBS.values():
            key = job.variant, job.pretrained
            if job.kind == kind:
                axes.plot(
                    *zip(*smooth(records[job.target].history)),
                    color=colors[key],
                    label=labels[key],
                    linewidth=1.2,
                )
        axes.set(
            title={"pretrain": "Pretraining", "finetune": "Finetuning"}[kind],
            xlabel="batches",
            ylabel="loss (nats per character)",
            ylim=(0, None),
        )
        axes.legend(frameon=False)
    for x, model in enumerate(summary["models"]):
        key = model["variant"], model["pretrained"]
        for offset, split in ((-0.2, "dev"), (0.2, "test")):
            value = model[split]
            if value is not None:
                accuracy.bar(
                    x + offset,
                    100 * value,
                    width=0.38,
                    color=colors[key],
                    alpha=1 if split == "dev" else 0.55,
                )
                # off the line of the most common place
                accuracy.annotate(
                    f"{split}\n{100 * value:.0f}%",
                    (x + offset, 100 * max(value, summary["baseline_dev"])),
                    (0, 3),
                    textcoords="offset points",
                    ha="center",
                    fontsize=9,
                )
    accuracy.axhline(
        100 * summary["baseline_dev"],
        color="black",
        linestyle=":",
        linewidth=1,
        label=f"always the most common place: {summary['baseline_dev']:.0%}",
    )
    accuracy.legend(frameon=False, loc="upper left")
    accuracy.set(
        title="Where was X born?",
        ylabel="right answers (%)",
        ylim=(0, 128),  # bars of 100% have room for their labels, below the legend
        yticks=range(0, 101, 20),
        xlim=(-0.5, 2.5),
    )
    accuracy.set_xticks(
        range(len(MODELS)),
        [label.replace("learned ", "learned\n").replace(", ", ",\n") for label in labels.values()],
    )
    for axes in (pretraining, finetuning, accuracy):
        axes.spines[["top", "right"]].set_visible(False)
    accuracy.spines["left"].set_bounds(0, 100)
    plt.close(figure)  # pyplot forgets it
    return figure


def smooth(history: list[dict], points: int = 100) -> list[tuple[float, float]]:
    """A training's (batch, loss), averaged over intervals so that at most `points` are left."""
    losses = [(entry["step"], entry["loss"]) for entry in history if "loss" in entry]
    size = max(1, -(-len(losses) // points))
    stretches = [losses[i : i + size] for i in range(0, len(losses), size)]
    return [tuple(sum(column) / len(column) for column in zip(*stretch)) for stretch in stretches]
