"""The attention maps of encoder_report: whose they are, and the picture that students hand in."""

import io
from dataclasses import dataclass

import torch


@dataclass
class Corpus:
    """Sentences as tokens, int64 (N, 24), and classes, int64 (N): for training, and new ones.
    `words` are those of the new sentences, or None if there are only tokens.
    """

    name: str
    vocab_size: int
    x: torch.Tensor
    y: torch.Tensor
    new_x: torch.Tensor
    new_y: torch.Tensor
    words: list[list[str]] | None = None


def attended(model, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Logits and each layer's weights, (B, n_head, T, T), in evaluation mode."""
    model.eval()
    with torch.no_grad():
        logits, weights = model(x, return_weights=True)
    return logits, weights


def choose_maps(data, occupations: Corpus, random: Corpus, model, random_model) -> list[dict]:
    """Four sentences with their maps, as `look` returns them: two new ones about occupations, of
    which one is active and one passive; a training sentence with a random label, and a new one.
    """
    rows = active_and_passive(occupations.words)
    return [look(data, occupations, model, row, "new") for row in rows] + [
        look(data, random, random_model, 0, part) for part in ("training", "new")
    ]


def active_and_passive(sentences: list[list[str]]) -> list[int]:
    """The indices of the first sentence in the active and the first in the passive voice; of the
    first and the last if one is missing.
    """
    passive = ["was" in sentence and "by" in sentence for sentence in sentences]
    if len(set(passive)) == 1:
        return [0, len(sentences) - 1]
    return [passive.index(False), passive.index(True)]


def look(data, corpus: Corpus, model, row: int, part: str) -> dict:
    """A sentence without its padding, the model's answer, and the attention weights of all layers
    and heads.
    """
    x, y = (corpus.new_x, corpus.new_y) if part == "new" else (corpus.x, corpus.y)
    logits, weights = attended(model, x[row : row + 1])
    places = (x[row] != data.PAD).nonzero()[:, 0]
    tokens = [
        {
            "text": corpus.words[row][i] if corpus.words else str(int(x[row, i])),
            "unknown": int(x[row, i]) == data.UNK,
        }
        for i in places.tolist()
    ]
    return {
        "corpus": corpus.name,
        "part": part,
        "tokens": tokens,
        "right": int(y[row]),
        "answer": int(logits.argmax()),
        "weights": [layer[0][:, places][:, :, places].tolist() for layer in weights],
    }


def picture(maps: list[dict]) -> bytes:
    """The maps of one head, layer 2, head 0 (the last layer's, if there is no second), as a PNG.

    It is as wide as the text of submission.tex, so that the tokens at the axes are legible there.

    Args:
        maps: what choose_maps returned.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(6.5, 7), layout="constrained")
    for number, (item, plot) in enumerate(zip(maps, axes.flat), start=1):
        layer, tokens = (
            min(1, len(item["weights"]) - 1),
            [token["text"] for token in item["tokens"]],
        )
        image = plot.imshow(item["weights"][layer][0], cmap="Blues", vmin=0, vmax=1)
        plot.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=7, parse_math=False)
        plot.set_yticks(range(len(tokens)), tokens, fontsize=7, parse_math=False)
        plot.tick_params(length=0, pad=2)
        corpus = "occupations" if item["corpus"] == "occupations" else "random labels"
        plot.set_title(
            f"{number}: {corpus}, {item['part']} sentence\n"
            f"label {item['right']}, answer {item['answer']}",
            fontsize=8,
        )
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, aspect=40)
    bar.set_label(
        f"weight of the key (column) for the query (row): layer {layer + 1}, head 0", size=8
    )
    bar.ax.tick_params(labelsize=7)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=200, format="png")
    plt.close(figure)
    return buffer.getvalue()
