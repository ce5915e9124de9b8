"""The page encoder_report.html, from the plain data that encoder_report measured; its text is in
report_page.html.
"""

from html import escape
from pathlib import Path
from string import Template

from common import pages
from common.pages import ACCENT, INK, SECOND, document, figure, table

GROUPS = ("painter, poet", "singer, actor", "baker, farmer", "pilot, sailor", "judge, chemist")
CORPORA = {"occupations": "Occupations", "random": "Random labels"}
MODELS = {"pre": "Encoder, pre-norm", "post": "Encoder, post-norm", "bag": "Bag of words"}
CSS = "@media print { .sentence { break-inside: avoid; } .sentence figure { max-width: 20rem; } }\n"


def page(found: dict, seconds: float) -> str:
    """The page's HTML; `found` is what report.measure returned, `seconds` how long all took."""
    corpora = found["corpora"]
    best = corpora["occupations"]["accuracy"]["pre"][0][1]
    pairs = corpora["random"]["accuracy"]["pre"]
    trained, new = (sum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1))
    body = Template(Path(__file__).with_name("report_page.html").read_text("utf-8")).substitute(
        seeds=found["seeds"],
        seed=found["seed"],
        accuracy_occupations=accuracy("occupations", corpora["occupations"]),
        accuracy_random=accuracy("random", corpora["random"]),
        best=f"{best:.1%}",
        order="clearly more than half, so it knows who teaches whom: it uses the words' order."
        if best > 0.6
        else "about half or less, which a bag of words reaches too: it does not know the order. "
        "Look at the positions.",
        trained=f"{trained:.1%}",
        new=f"{new:.1%}",
        losses="".join(losses(name, corpus["losses"]) for name, corpus in corpora.items()),
        maps="\n".join(sentence(i, item) for i, item in enumerate(found["maps"], start=1)),
        entropies="".join(histogram(name, corpus) for name, corpus in corpora.items()),
        parameters=parameters(found["parameters"]),
        activations="\n".join(activations(name, corpus) for name, corpus in corpora.items()),
    )
    footer = f'Training and measuring took <span id="seconds">{seconds:.0f}</span> seconds.'
    return document("Encoder report", body, {}, footer, CSS)


def accuracy(name: str, corpus: dict) -> str:
    """A table of shares of right answers, as means over the seeds."""

    def cell(shares):
        low, high = f"{min(shares):.1%}", f"{max(shares):.1%}"
        spread = f"<small>{low} to {high}</small>" if low != high else "<small>each time</small>"
        return f"{sum(shares) / len(shares):.1%}{spread if len(shares) > 1 else ''}"

    rows = []
    for kind, title in MODELS.items():
        pairs = corpus["accuracy"][kind]
        model = title + (" (one seed)" if len(pairs) == 1 else "")
        rows.append([model, *(cell([pair[i] for pair in pairs]) for i in (0, 1))])
    rows.append(["Chance, 1/5", "20.0%", "20.0%"])
    caption = "share of right answers, mean over the seeds (and from lowest to highest)"
    trained = f"{corpus['training']:,} sentences of the training"
    head = ["", trained, f"{corpus['new']:,} new sentences"]
    return table(f"{CORPORA[name]}: {caption}", head, rows)


def losses(name: str, runs: dict[str, list[list[float]]]) -> str:
    """A plot of losses by epoch, one line for each seed of "pre" and "post"."""
    ends = {kind: [run[-1] for run in each] for kind, each in runs.items()}
    says = f"{CORPORA[name]}: " + " and ".join(
        f"{kind}-norm ends between {min(end):.2g} and {max(end):.2g}" for kind, end in ends.items()
    )
    with pages.plotted(height=2.6) as drawing:
        axes = drawing.subplots()
        for kind, color, dashes in (("pre", ACCENT, "-"), ("post", SECOND, (0, (4, 2)))):
            for number, run in enumerate(runs[kind]):
                label = "_" if number else f"{kind}-norm"
                axes.plot(range(1, len(run) + 1), run, color=color, linestyle=dashes, label=label)
        axes.set(xlabel="epoch", ylabel="loss (nats)")
        pages.set_log_scale(axes)
        axes.legend()
        return figure(pages.svg(drawing, f"Training loss by epoch. {says}."), f"{says}.")


def sentence(number: int, item: dict) -> str:
    """A sentence with a large map of layer 2, head 0, and small ones of all others."""
    tokens = [
        f"[{token['text']}]" if token["unknown"] else token["text"] for token in item["tokens"]
    ]
    names = GROUPS if item["corpus"] == "occupations" else [""] * 5
    answer, right = (
        f"{label} ({names[label]})" if names[label] else str(label)
        for label in (item["answer"], item["right"])
    )
    says = "the same" if item["answer"] == item["right"] else answer
    part = "a new sentence" if item["part"] == "new" else "a sentence of the training"
    heads = {
        f"Layer {layer + 1}, head {head}": weights
        for layer, heads in enumerate(item["weights"])
        for head, weights in enumerate(heads)
    }
    large = f"Layer {min(2, len(item['weights']))}, head 0"
    small = {name: weights for name, weights in heads.items() if name != large}
    return f"""<div class="sentence">
<h3>Sentence {number}: {CORPORA[item["corpus"]].lower()}, {part}</h3>
<p>{escape(" ".join(tokens))}<br>
<span class="muted">The label is {escape(right)}; the encoder says {escape(says)}.</span></p>
{maps({large: heads[large]}, tokens, 4.4)}</div>
{maps(small, tokens, 1.4 * -(-len(small) // 4)) if small else ""}"""


def maps(heads: dict[str, list[list[float]]], tokens: list[str], height: float) -> str:
    """Attention maps as a figure: of one head with the tokens, or of several without."""
    alts = []
    with pages.plotted(height) as drawing:
        columns = min(4, len(heads))
        grid = [*drawing.subplots(-(-len(heads) // columns), columns, squeeze=False).flat]
        for axes, (name, weights) in zip(grid, heads.items()):
            means = [sum(row[j] for row in weights) / len(weights) for j in range(len(tokens))]
            most = max(range(len(tokens)), key=means.__getitem__)
            alts.append(f"{name}: most to {tokens[most]}, token {most + 1}, {means[most]:.0%}.")
            shades = [
                [(0.3, 0.57, 0.77, min(1, max(0, value))) for value in row] for row in weights
            ]
            axes.imshow(shades, interpolation="none")
            axes.set_title(name, fontsize=9)
            axes.set(xticks=[], yticks=[])
            axes.grid(visible=False)
            axes.spines[["top", "right"]].set_visible(True)
            if len(heads) == 1:
                axes.set_xticks(range(len(tokens)), tokens, rotation=90, color=INK)
                axes.set_yticks(range(len(tokens)), tokens, color=INK)
        for axes in grid[len(heads) :]:
            axes.set_axis_off()
        alt = f"Attention among {len(tokens)} tokens, averaged over queries. {' '.join(alts)}"
        return f"<figure>{pages.svg(drawing, alt)}</figure>\n"


def histogram(name: str, corpus: dict) -> str:
    """The entropies of the pre-norm encoders' heads in bins of a quarter nat."""
    values, limit = corpus["entropies"], corpus["largest_entropy"]
    layers = {
        "layer 1": [value for layer, _, value in values if layer == 1],
        "later layers": [value for layer, _, value in values if layer > 1],
    }
    found = [value for each in layers.values() for value in each]
    says = (
        f"{CORPORA[name]}: {len(found)} heads, entropies from {min(found):.2f} to "
        f"{max(found):.2f} nats; the largest possible, ln n averaged over the queries, is "
        f"{limit:.2f}."
    )
    with pages.plotted(height=2.6) as drawing:
        axes = drawing.subplots()
        bins = [i / 4 for i in range(int(4 * limit) + 3)]
        colors = [ACCENT, SECOND]
        inside = [[min(bins[-1], value) for value in each] for each in layers.values()]
        axes.hist(inside, bins, label=[*layers], color=colors, stacked=True, rwidth=0.9)
        axes.axvline(limit, color=INK, linestyle=":", label="the largest possible")
        axes.set(xlabel="entropy (nats)", ylabel="heads")
        axes.yaxis.get_major_locator().set_params(integer=True)
        drawing.legend(loc="outside upper left", ncols=3)
        return figure(pages.svg(drawing, says), says)


def parameters(counts: dict[str, int]) -> str:
    """A table of how many parameters each part has."""
    total = sum(counts.values())
    rows = [
        [escape(part), f"{count:,}", f"{count / max(1, total):.1%}"]
        for part, count in [*counts.items(), ("total", total)]
    ]
    return table("The encoder in encoder.params", ["Part", "Parameters", "Share"], rows, last=True)


def activations(name: str, corpus: dict) -> str:
    """A table of what flows through the layers after training."""

    def number(value, form):
        return "–" if value is None else format(round(value, 3) + 0.0, form)  # + 0.0: no -0.000

    rows = [
        [
            f"{kind}-norm, " + (f"after layer {i}" if i else "embeddings"),
            number(row["mean"], ".3f"),
            number(row["std"], ".3f"),
            number(row["below_zero"], ".1%"),
        ]
        for kind in ("pre", "post")
        for i, row in enumerate(corpus["activations"][kind])
    ]
    head = ["", "mean", "standard deviation", "GELU inputs below 0"]
    return table(f"{CORPORA[name]}, new sentences, places that are not padding", head, rows)
