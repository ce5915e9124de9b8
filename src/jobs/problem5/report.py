"""encoder_report: train the student's encoders, then write encoder.params, a picture of attention
maps, and a page, whose text is in report.html.
"""

import io
import re
import time
from collections import Counter
from html import escape
from itertools import product
from pathlib import Path
from statistics import fmean
from string import Template

import torch

from common import pages
from common.files import writing
from jobs.problem5.encoders import BAG, POST, PRE, SEEDS, Corpus, read_corpora, train_all
from jobs.problem5.maps import Sentence, choose_sentences, draw_map, draw_picture

LOOKS = {PRE: ("pre-norm", pages.ACCENT, "-"), POST: ("post-norm", pages.SECOND, (0, (4, 2)))}
CSS = "@media print { .sentence { break-inside: avoid; } .sentence figure { max-width: 20rem; } }\n"


def report(encoder, data, folder: Path, out: Path, seed: int) -> None:
    """Write encoder.params, encoder_report.html and encoder_maps.png into `out`.

    Args:
        encoder, data: the submission's modules encoder and encoder_data.
        folder: has train.tsv and dev.tsv of the occupations.
        out: the folder to write to.
        seed: the first of SEEDS seeds, and that of the random labels.

    Raises:
        UserError: the data is invalid, the files cannot be written, or a function of the submission
            returned something invalid.
    """
    started = time.monotonic()
    corpora = read_corpora(data, folder, seed)
    print(f"Occupations from {folder}", flush=True)
    names = ("encoder.params", "encoder_report.html", "encoder_maps.png")
    params, html, maps = (out / name for name in names)
    with writing(params) as params_file, writing(html) as html_file, writing(maps) as maps_file:
        train_all(encoder, data, corpora, seed)
        sentences = choose_sentences(*corpora)
        buffer = io.BytesIO()
        state = corpora[0].runs[PRE][0].model.state_dict()
        torch.save({name: value.detach().float().clone() for name, value in state.items()}, buffer)
        params_file.write_bytes(buffer.getvalue())
        draw_picture(sentences, maps_file)
        text = page(corpora, sentences, seed, time.monotonic() - started)
        html_file.write_text(text, encoding="utf-8", newline="\n")
    for corpus, kind in product(corpora, (PRE, POST, BAG)):
        shares = zip(*((run.trained, run.new) for run in corpus.runs[kind]))
        trained, new = (" ".join(f"{share:.1%}" for share in each) for each in shares)
        print(f"{corpus.name + ',':<14} {kind:<18}  in training {trained:>20}  ", end="")
        print(f"new sentences {new:>20}")
    print(
        f"Took {time.monotonic() - started:.0f} seconds.\nWrote {params}\n"
        f"Wrote {html}: open it in a browser.\nWrote {maps}: the attention maps to hand in (5g)."
    )


def page(corpora: list[Corpus], sentences: list[Sentence], seed: int, seconds: float) -> str:
    """The page's HTML; corpora: occupations, random labels; seconds: how long all took."""
    occupations, random = corpora
    best = occupations.runs[PRE][0].new
    order = (
        "clearly more than half, so it knows who teaches whom: it uses the words' order."
        if best > 0.6
        else "about half or less, which a bag of words reaches too: it does not know the order. "
        "Look at the positions."
    )
    body = Template(Path(__file__).with_name("report.html").read_text("utf-8")).substitute(
        seeds=SEEDS,
        seed=seed,
        accuracy_occupations=accuracies(occupations),
        accuracy_random=accuracies(random),
        best=f"{best:.1%}",
        order=order,
        trained=f"{fmean(run.trained for run in random.runs[PRE]):.1%}",
        new=f"{fmean(run.new for run in random.runs[PRE]):.1%}",
        losses="".join(map(losses, corpora)),
        maps="\n".join(sentence(number, each) for number, each in enumerate(sentences, start=1)),
        entropies="".join(map(entropies, corpora)),
        parameters=parameters(occupations.runs[PRE][0].model),
        activations="\n".join(map(activations, corpora)),
    )
    footer = f'Training and measuring took <span id="seconds">{seconds:.0f}</span> seconds.'
    return pages.document("Encoder report", body, {}, footer, CSS)


def accuracies(corpus: Corpus) -> str:
    """A table of shares of right answers, as means over the seeds."""

    def cell(shares):
        spread = f"<small>{min(shares):.1%} to {max(shares):.1%}</small>" * (len(shares) > 1)
        return f"{fmean(shares):.1%}{spread}"

    rows = []
    for kind, runs in corpus.runs.items():
        model = kind.capitalize() + " (one seed)" * (len(runs) == 1)
        rows.append([model, *map(cell, zip(*((run.trained, run.new) for run in runs)))])
    rows.append(["Chance, 1/5", "20.0%", "20.0%"])
    trained, new = (f"{len(y):,}" for _, y in (corpus.training, corpus.new))
    head = ["", f"{trained} sentences of the training", f"{new} new sentences"]
    caption = "share of right answers, mean over the seeds (and from lowest to highest)"
    return pages.table(f"{corpus.name.capitalize()}: {caption}", head, rows)


def losses(corpus: Corpus) -> str:
    """A plot of losses by epoch, one line for each encoder."""
    ends = []
    with pages.plotted(height=2.6) as drawing:
        axes = drawing.subplots()
        for kind, (name, color, dashes) in LOOKS.items():
            for i, run in enumerate(corpus.runs[kind]):
                epochs, label = range(1, len(run.losses) + 1), "_" if i else name
                axes.plot(epochs, run.losses, color=color, linestyle=dashes, label=label)
            last = [run.losses[-1] for run in corpus.runs[kind]]
            ends.append(f"{name} ends between {min(last):.2g} and {max(last):.2g}")
        axes.set(xlabel="epoch", ylabel="loss (nats)")
        axes.xaxis.get_major_locator().set_params(integer=True)
        pages.set_log_scale(axes)
        axes.legend()
        says = f"{corpus.name.capitalize()}: {' and '.join(ends)}."
        return pages.figure(pages.svg(drawing, f"Training loss by epoch. {says}"), says)


def sentence(number: int, item: Sentence) -> str:
    """A sentence with a large map of layer 2, head 0, and small ones of all heads."""
    says = "the same" if item.answer == item.label else item.answer
    n_layer, n_head = len(item.weights), len(item.weights[0])
    return f"""<div class="sentence">
<h3>Sentence {number}: {item.title}</h3>
<p>{escape(" ".join(item.tokens))}<br>
<span class="muted">The label is {item.label}; the encoder says {says}.</span></p>
{maps(item, [min(n_layer, 2)], [0], 4.4, item.tokens)}</div>
{maps(item, range(1, n_layer + 1), range(n_head), 1.4 * n_layer, [])}"""


def maps(item: Sentence, layers, heads, height: float, tokens: list[str]) -> str:
    """A figure of a sentence's maps, a row for each of these layers, counted from 1, a column for
    each of these heads, with these tokens, or none, at the axes.
    """
    alts = [f"Attention among {len(item.tokens)} tokens, averaged over queries."]
    with pages.plotted(height) as drawing:
        grid = drawing.subplots(len(layers), len(heads), squeeze=False)
        for axes, (layer, head) in zip(grid.flat, product(layers, heads)):
            name, weights = f"Layer {layer}, head {head}", item.weights[layer - 1][head]
            draw_map(axes, weights, name, tokens)
            share, most = weights.mean(dim=0).max(dim=0)
            alts.append(f"{name}: most to {item.tokens[most]}, token {most + 1}, {share:.0%}.")
        return f"<figure>{pages.svg(drawing, ' '.join(alts))}</figure>\n"


def entropies(corpus: Corpus) -> str:
    """A plot of the entropies of the pre-norm encoders' heads, a row of dots for each layer."""
    lengths = (corpus.new[0] != corpus.pad).sum(dim=1).double()
    largest = float(torch.xlogy(lengths, lengths).sum() / lengths.sum())
    layers = [sum(heads, []) for heads in zip(*(run.entropies for run in corpus.runs[PRE]))]
    found = sum(layers, [])
    says = (
        f"{corpus.name.capitalize()}: {len(found)} heads, entropies from {min(found):.2f} to "
        f"{max(found):.2f} nats; the largest possible, ln n averaged over the queries, is "
        f"{largest:.2f}."
    )
    with pages.plotted(height=1.8) as drawing:
        axes = drawing.subplots()
        names = [f"layer {layer}" for layer in range(1, len(layers) + 1)]
        for name, heads in zip(names, layers):
            axes.plot(heads, [name] * len(heads), "o", color=pages.ACCENT, alpha=0.5)
        axes.axvline(largest, color=pages.MUTED, linestyle=":", label="the largest possible")
        axes.set(xlabel="entropy (nats)", xlim=(0, None), ylim=(len(layers) - 0.5, -0.5))
        drawing.legend(loc="outside upper right")
        return pages.figure(pages.svg(drawing, says), says)


def parameters(model) -> str:
    """A table of how many parameters each part has."""
    counts = Counter()
    for name, value in model.named_parameters():
        # without the "layers.0." of what is in a layer
        counts[re.sub(r"^layers\.\d+\.", "", name).partition(".")[0]] += value.numel()
    counts["total"] = total = counts.total()
    rows = [[escape(part), f"{n:,}", f"{n / total:.1%}"] for part, n in counts.items()]
    head = ["Part", "Parameters", "Share"]
    return pages.table("The encoder in encoder.params", head, rows, last=True)


def activations(corpus: Corpus) -> str:
    """A table of what flows through the layers of the first encoder of each kind."""
    forms, rows = ("z.3f", "z.3f", ".1%"), []
    for kind, (name, *_) in LOOKS.items():
        for layer, values in enumerate(corpus.runs[kind][0].activations):
            place = f"{name}, after layer {layer}" if layer else f"{name}, embeddings"
            cells = zip(values, forms)
            rows.append([place, *("–" if x is None else format(x, form) for x, form in cells)])
    head = ["", "mean", "standard deviation", "GELU inputs below 0"]
    caption = f"{corpus.name.capitalize()}, new sentences, places that are not padding"
    return pages.table(caption, head, rows)
