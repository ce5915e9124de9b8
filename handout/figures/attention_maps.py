"""Attention maps of the kept RoPE model (preset laptop), on the first dev question that it answers
correctly.

Above: in the first layer the head with the lowest mean entropy, in the second the one that puts the
most weight on the name when the first letter of the answer is predicted; rows from the name on.
Below: that row, for the three heads with most weight there. The weights are computed anew from the
modules' parameters, and the outputs that follow from them are compared with the modules'.
"""

import math

import matplotlib.pyplot as plt
import torch
from _style import DARK, INK, LIGHT, MIDDLE, ROOT, SIGNS, SMALL, WIDTH, save
from matplotlib.colors import LinearSegmentedColormap

from jobs.corpus import read_documents, read_questions
from jobs.package import load_submission
from jobs.presets import LAPTOP
from jobs.problem1.answers import predict_places
from jobs.problem1.run_job import sizes

HEIGHT = 3.1
WEIGHTS = ROOT / "instructor" / "results" / "rope.finetune.params"
DATA = ROOT / "data" / LAPTOP.data
NAME_START = len("Where was ")
COLORS = LinearSegmentedColormap.from_list("ink", ("white", LIGHT, "#0B2239"))
BARS = ((DARK, None), (LIGHT, "/////"), (MIDDLE, None))  # color and hatch


def load():
    """The reference's package, its dataset and the model with the kept weights."""
    submission = load_submission(ROOT / "instructor" / "solution")
    dataset = submission.CharCorruptionDataset(read_documents(DATA / "wiki.txt"), LAPTOP.block_size)
    config = sizes(submission, dataset.vocab_size, LAPTOP)
    model = submission.initialize_rope_model(config).eval()
    model.load_state_dict(torch.load(WEIGHTS, map_location="cpu", weights_only=True))
    return submission, dataset, model


def first_correct(model, dataset) -> tuple[str, str]:
    """The first dev question that the model answers correctly, and its answer."""
    questions = read_questions(
        DATA / "birth_dev.tsv", dataset.stoi, LAPTOP.block_size, answers=True
    )
    return next(
        (question, place)
        for question, place in questions
        if predict_places(model, [question], dataset) == [place]
    )


@torch.no_grad()
def attention(submission, model, tokens) -> list[torch.Tensor]:
    """The attention weights of each layer, (n_head, T, T), for tokens (1, T)."""
    future = torch.ones(tokens.size(1), tokens.size(1)).triu(1).bool()
    x, layers = model.tok_emb(tokens), []
    for block in model.blocks:
        normed, module = block.ln1(x), block.attn
        q, k, v = (
            module.split_heads(linear(normed))
            for linear in (module.query, module.key, module.value)
        )
        q, k = (submission.attention.apply_rotary_emb(each, module.rope_cache) for each in (q, k))
        weights = (q @ k.mT / math.sqrt(q.size(-1))).masked_fill(future, -math.inf).softmax(dim=-1)
        output = module.proj((weights @ v).transpose(1, 2).flatten(2))
        assert torch.allclose(output, module(normed), atol=1e-5), (
            "these are not the weights that the module computes with"
        )
        layers.append(weights[0])
        x = block(x)
    return layers


def choose(layers, name: slice) -> tuple[int, list[int]]:
    """The head of the first layer to show, and those of the second by their weight on the name in
    the last row.
    """
    rows = layers[0][:, NAME_START:]
    sharpest = -(rows * rows.clamp_min(1e-9).log()).sum(dim=-1).mean(dim=-1)
    on_name = layers[1][:, -1, name].sum(dim=-1)
    return sharpest.argmin().item(), on_name.argsort(descending=True).tolist()


def frame(label):
    """Box the letter of the MASK, the last token."""
    label.set(weight="bold", bbox={"facecolor": "none", "linewidth": 0.6, "pad": 0.6})


def draw_map(axes, weights, letters, title):
    """One head: rows are queries from the name on, columns are keys."""
    rows = letters[NAME_START:]
    image = axes.pcolormesh(
        weights[NAME_START:], cmap=COLORS, vmin=0, vmax=1, edgecolors="#E4E4E4", linewidth=0.2
    )
    axes.set(
        aspect="equal",
        ylim=(len(rows), 0),
        xticks=[n + 0.5 for n in range(len(letters))],
        xticklabels=letters,
        yticks=[n + 0.5 for n in range(len(rows))],
        yticklabels=rows,
    )
    axes.set_xlabel("key", fontsize=SMALL, labelpad=1)
    axes.tick_params(length=0, pad=2, labelsize=SMALL, labelfontfamily="monospace")
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        frame(labels[-1])
    axes.set_title(title, pad=4)
    axes.spines[:].set_visible(True)
    return image


def draw_bars(axes, weights, heads, letters):
    """The last row of some heads, side by side over each letter."""
    for n, (head, (color, hatch)) in enumerate(zip(heads, BARS)):
        places = [column + 0.27 * (n - 1) for column in range(len(letters))]
        look = {"color": color, "edgecolor": INK, "linewidth": 0.4, "hatch": hatch}
        axes.bar(places, weights[head, -1], 0.27, label=f"head {head}", **look)
    axes.set(xlim=(-0.6, len(letters) - 0.4), xticks=range(len(letters)), xticklabels=letters)
    axes.set(ylim=(0, 1), yticks=(0, 0.5, 1), ylabel="weight")
    axes.tick_params(axis="x", length=0, pad=2, labelsize=8, labelfontfamily="monospace")
    frame(axes.get_xticklabels()[-1])
    axes.legend(loc="upper left", bbox_to_anchor=(0, 1.1), ncols=3)


def main():
    """Draw the two maps and the bars."""
    torch.set_num_threads(1)  # the same sums in the same order
    submission, dataset, model = load()
    question, place = first_correct(model, dataset)
    text = question + dataset.MASK_CHAR
    layers = attention(submission, model, torch.tensor([[dataset.stoi[ch] for ch in text]]))
    first, seconds = choose(layers, slice(NAME_START, text.index(" born?")))
    letters = [SIGNS.get(ch, ch) for ch in text.replace(" ", "\u2423")]
    figure = plt.figure(figsize=(WIDTH, HEIGHT))
    left, right = (figure.add_axes((x, 0.38, 0.435, 0.555)) for x in (0.055, 0.515))
    draw_map(left, layers[0][first], letters, f"First layer, head {first}")
    image = draw_map(right, layers[1][seconds[0]], letters, f"Second layer, head {seconds[0]}")
    left.set_ylabel("query", fontsize=SMALL, labelpad=4)
    scale = figure.add_axes((0.958, 0.385, 0.01, 0.545))
    axes = figure.add_axes((0.075, 0.06, 0.905, 0.165))
    figure.colorbar(image, cax=scale, ticks=(0, 0.5, 1))
    scale.tick_params(labelsize=SMALL, length=2, pad=1)
    draw_bars(axes, layers[1], seconds[: len(BARS)], letters)
    title = f"what is read to predict the \u201c{place[0]}\u201d of {place}"
    axes.set_title(f"Second layer, last row: {title}", pad=5)
    save(figure, "attention_maps")


if __name__ == "__main__":
    main()
