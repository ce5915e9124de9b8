"""The attention maps of encoder_report: whose they are, how they are drawn, and the picture that
students hand in.
"""

from dataclasses import dataclass
from pathlib import Path

import torch

from jobs.problem5.encoders import PRE, Corpus, attended

GROUPS = ("painter, poet", "singer, actor", "baker, farmer", "pilot, sailor", "judge, chemist")


@dataclass
class Sentence:
    """A sentence without its padding, and what an encoder does with it."""

    title: str  # where it is from
    tokens: list[str]  # T words, in brackets if they have no token, or numbers
    label: str
    answer: str  # the encoder's
    weights: list[torch.Tensor]  # of each layer, (n_head, T, T)


def choose_sentences(occupations: Corpus, random: Corpus) -> list[Sentence]:
    """Four sentences, read by each corpus's first pre-norm encoder: of the new ones about
    occupations the first in the active and the first in the passive voice, and with random labels
    the first of the training and the first new one.
    """
    passive = ["was" in words and "by" in words for words in occupations.words]
    rows = [passive.index(each) if each in passive else 0 for each in (False, True)]
    chosen = [(occupations, "new", row) for row in rows]
    sentences = []
    for corpus, part, row in [*chosen, (random, "training", 0), (random, "new", 0)]:
        x, y = (column[row] for column in (corpus.new if part == "new" else corpus.training))
        logits, weights = attended(corpus.runs[PRE][0].model, x[None])
        used = x != corpus.pad
        tokens = corpus.words[row] if corpus.words else [*map(str, x.tolist())]
        label, answer = (
            f"{group} ({GROUPS[group]})" if corpus.words else str(group)
            for group in (int(y), int(logits.argmax()))
        )
        maps = [layer[0][:, used][:, :, used] for layer in weights]
        sentences.append(Sentence(f"{corpus.name}, {part} sentence", tokens, label, answer, maps))
    return sentences


def draw_map(axes, weights: torch.Tensor, title: str, tokens: list[str]):
    """Draw the weights of one head, (T, T), with these tokens, or none, at both axes; returns the
    image. A weight of 0 is transparent.
    """
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("", [(0.3, 0.57, 0.77, alpha) for alpha in (0, 1)])
    image = axes.imshow(weights.numpy(), cmap=shades, vmin=0, vmax=1, interpolation="none")
    axes.set_title(title, fontsize="medium")
    axes.set_xticks(range(len(tokens)), tokens, rotation=90)
    axes.set_yticks(range(len(tokens)), tokens)
    axes.tick_params(length=0, pad=2)
    axes.grid(visible=False)
    axes.spines[:].set_visible(True)
    return image


def draw_picture(sentences: list[Sentence], path: Path) -> None:
    """Write the maps of layer 2, head 0 (the last layer's, if there is no second) as a PNG, as wide
    as the text of submission.tex, so that the tokens are legible there.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"font.size": 7, "text.parse_math": False}):
        figure = Figure((6.5, 7), layout="constrained")
        plots = figure.subplots(2, 2)
        for number, (sentence, axes) in enumerate(zip(sentences, plots.flat), start=1):
            title = f"{number}: {sentence.title}\n"
            title += f"label {sentence.label}, answer {sentence.answer}"
            layers = sentence.weights[:2]
            image = draw_map(axes, layers[-1][0], title, sentence.tokens)
        bar = figure.colorbar(image, ax=plots, location="bottom", shrink=0.5, aspect=40)
        bar.set_label(
            f"weight of the key (column) for the query (row): layer {len(layers)}, head 0\n"
            "[a word in brackets] is not in the vocabulary"
        )
        figure.savefig(path, dpi=200, format="png")
