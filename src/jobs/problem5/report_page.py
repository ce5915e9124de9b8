"""The page encoder_report.html, from the plain data that encoder_report measured."""

import math
from html import escape

from common.charts import Axis, Plot, extent, heat_map, heat_scale, key, powers, tag
from jobs.web_page import document, figure, table

GROUPS = ("painter, poet", "singer, actor", "baker, farmer", "pilot, sailor", "judge, chemist")
CORPORA = {"occupations": "Occupations", "random": "Random labels"}
MODELS = {"pre": "Encoder, pre-norm", "post": "Encoder, post-norm", "bag": "Bag of words"}

CSS = """
.heads { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(46%, 13rem), 1fr));
  gap: 1rem; margin-top: 1rem; }
.heads figure { margin: 0; }
.limit { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 2 3; }
.scale { width: 13.5rem; }
.map .word { fill: var(--ink); } .map .unknown { font-style: italic; }
@media print { .sentence { break-inside: avoid; } .sentence figure { max-width: 20rem; }
  .heads { grid-template-columns: repeat(4, 1fr); } }
"""
LINE, SECOND, LIMIT = (
    key(tag("path", kind=kind, d="M0 6H26")) for kind in ("line", "line second", "limit")
)
BAR, LATER = (key(tag("rect", kind=kind, width=26, height=12)) for kind in ("bar", "bar second"))


def page(found: dict, seconds: float) -> str:
    """The page's HTML; `found` is what report.measure returned, `seconds` how long all took."""
    sections = {
        "1. Accuracy": accuracy(found),
        "2. Loss, pre-norm and post-norm": losses(found),
        "3. Attention maps": maps(found),
        "4. How spread the heads attend": histograms(found),
        "5. Parameters": parameters(found),
        "6. Activations": activations(found),
    }
    top = f"""<h1>A tiny encoder, from the outside and from the inside</h1>
<p>Made from your encoder.py. Encoders of two layers learned two corpora: sentences about teachers
and their <em>occupations</em>, and rows of random tokens with <em>random labels</em>. Each encoder
was trained from {found["seeds"]} seeds, from {found["seed"]} on, and each bag of words once. Maps,
parameters and activations are those of seed {found["seed"]}, and that pre-norm encoder of the
occupations is in encoder.params.</p>"""
    footer = f'Training and measuring took <span id="seconds">{seconds:.0f}</span> seconds.'
    return document("Encoder report", top, sections, footer, CSS)


def accuracy(found: dict) -> str:
    """Part 1: shares of right answers, as means over the seeds, and what they say."""

    def cell(shares):
        low, high = f"{min(shares):.1%}", f"{max(shares):.1%}"
        spread = f"<small>{low} to {high}</small>" if low != high else "<small>each time</small>"
        return f"{sum(shares) / len(shares):.1%}{spread if len(shares) > 1 else ''}"

    result = []
    for name, corpus in found["corpora"].items():
        rows = []
        for kind, title in MODELS.items():
            pairs = corpus["accuracy"][kind]
            model = title + (" (one seed)" if len(pairs) == 1 else "")
            rows.append([model, *(cell([pair[i] for pair in pairs]) for i in (0, 1))])
        rows.append(["Chance, 1/5", "20.0%", "20.0%"])
        caption = "share of right answers, mean over the seeds (and from lowest to highest)"
        trained, new = f"{corpus['training']:,} sentences of the training", f"{corpus['new']:,} new"
        head = ["", trained, f"{new} sentences"]
        result.append(table(f"{CORPORA[name]}: {caption}", head, rows))
    best = found["corpora"]["occupations"]["accuracy"]["pre"][0][1]
    says = (
        "clearly more than half, so it knows who teaches whom: it uses the order of the words."
        if best > 0.6
        else "about half or less, which a bag of words reaches too: it does not know the order. "
        "Look at the positions."
    )
    pairs = found["corpora"]["random"]["accuracy"]["pre"]
    trained, new = (sum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1))
    return f"""{result[0]}
<p>Half is the ceiling of a bag of words: it sees which two groups a sentence names, but not which
of them is the teacher's. The encoder in encoder.params is right about {best:.1%} of the new
sentences. That is {says}</p>
{result[1]}
<p>The random labels were drawn independently of the sentences. How can the encoder answer the
training sentences right ({trained:.1%}), and which accuracy should it have on new sentences
({new:.1%})? How far from that may a measured one be? Question 5g asks for it.</p>"""


def losses(found: dict) -> str:
    """Part 2: the loss curves, one plot for each corpus."""
    plots = []
    for name, corpus in found["corpora"].items():
        ends = {kind: [run[-1] for run in runs] for kind, runs in corpus["losses"].items()}
        says = " and ".join(
            f"{kind}-norm ends between {min(end):.2g} and {max(end):.2g}"
            for kind, end in ends.items()
        )
        alt = f"Training loss by epoch on {CORPORA[name].lower()}: {says}."
        plots.append(figure(curves(corpus["losses"], alt), f"{CORPORA[name]}: {says}."))
    return f"""<p>{LINE} pre-norm &ensp; {SECOND} post-norm, both from the same seeds and with the
same learning rate.</p>
<div class="pair">{"".join(plots)}</div>
<p>With post-norm a LayerNorm stands on the residual path itself, and gradients have to pass through
it. Look at the first epochs: is one of the two slower, or do its seeds differ more? Two layers are
few, so expect a small difference; it grows with depth. The vertical axis is logarithmic: equal
steps are equal factors.</p>"""


def curves(runs: dict, alt: str) -> str:
    """Loss curves on a logarithmic axis: {"pre": [a seed's losses by epoch, ...], "post": ...}."""
    low, high = extent((loss for each in runs.values() for run in each for loss in run), log=True)
    epochs = max(len(run) for each in runs.values() for run in each)
    step = math.ceil(epochs / 6)
    ticks = sorted({1, *range(step, epochs - step // 2, step), epochs})
    losses = Axis(powers(low, high), "loss (nats)", log=True)
    plot = Plot(360, (48, 10, 350, 200), Axis(ticks, "epoch"), losses, corner=True)
    for kind, each in runs.items():
        for run in each:
            plot.line(enumerate(run, 1), {"pre": "line", "post": "line second"}[kind])
    return plot.svg(alt)


def maps(found: dict) -> str:
    """Part 3: for each sentence a large map of layer 2, head 0, and small ones of all others."""
    result = [
        f"""<p>Each row is a query, each column a key: the stronger the color of a square, the more
that query attends to that key. A row sums to 1. The small maps have the rows and columns of the
large one above them. Words in italics are not in the vocabulary: the encoder sees UNK for each of
them.</p>
<p>{heat_scale("Color scale, from 0 to 1")} The scale is the same for all maps: no color is a weight
of 0, full color a weight of 1.</p>
<p>Before you read a meaning into a pattern, look at the last two sentences, whose labels are
random. Do their maps look less orderly? What could they mean there? And what does the rest of the
model do with the weighted sum of values before it answers? Question 5g asks what you may conclude
from a map, and what you may not.</p>"""
    ]
    for number, item in enumerate(found["maps"], start=1):
        tokens = [token["text"] for token in item["tokens"]]
        names = GROUPS if item["corpus"] == "occupations" else [""] * 5
        said, right = (
            f"{c} ({names[c]})" if names[c] else str(c) for c in (item["answer"], item["right"])
        )
        says = "the same" if item["answer"] == item["right"] else said
        what = f"The label is {right}; the encoder says {says}."
        part = "a new sentence" if item["part"] == "new" else "a sentence of the training"
        big = (min(1, len(item["weights"]) - 1), 0)
        small = "".join(
            heat(item, layer, head, labeled=False)
            for layer, heads in enumerate(item["weights"])
            for head in range(len(heads))
            if (layer, head) != big
        )
        result.append(f"""<div class="sentence">
<h3>Sentence {number}: {CORPORA[item["corpus"]].lower()}, {part}</h3>
<p>{escape(" ".join(tokens))}<br><span class="muted">{escape(what)}</span></p>
{heat(item, *big)}</div>
<div class="heads">
{small}</div>""")
    return "\n".join(result)


def heat(item: dict, layer: int, head: int, labeled=True) -> str:
    """One attention map, with its caption."""
    weights, tokens = item["weights"][layer][head], item["tokens"]
    name = f"Layer {layer + 1}, head {head}"
    means = [sum(row[j] for row in weights) / len(weights) for j in range(len(tokens))]
    most = max(range(len(tokens)), key=means.__getitem__)
    alt = (
        f"{name}: attention among {len(tokens)} tokens. Averaged over the queries, the most goes "
        f"to {tokens[most]['text']}, token {most + 1}: {means[most]:.0%}."
    )
    labels = [(token["text"], "unknown" if token["unknown"] else "word") for token in tokens]
    return figure(heat_map(weights, labels if labeled else [], alt), name)


def histograms(found: dict) -> str:
    """Part 4: the entropies of the pre-norm encoders' heads, a histogram for each corpus."""
    plots = []
    for name, corpus in found["corpora"].items():
        values = [(layer, value) for layer, _, value in corpus["entropies"]]
        low, high = min(value for _, value in values), max(value for _, value in values)
        alt = (
            f"{CORPORA[name]}: {len(values)} heads, entropies from {low:.2f} to {high:.2f} nats; "
            "the largest possible, ln n averaged over the queries, is "
            f"{corpus['largest_entropy']:.2f}."
        )
        plots.append(figure(histogram(values, corpus["largest_entropy"], alt), alt))
    layers = max(max(each["entropies"])[0] for each in found["corpora"].values())
    later = "layer 2" if layers <= 2 else f"layers 2 to {layers}"
    return f"""<p>{BAR} layer 1 &ensp; {LATER} {later} &ensp; {LIMIT} the largest possible; from the
pre-norm encoders of {found["seeds"]} seeds, on new sentences.</p>
<div class="pair">{"".join(plots)}</div>
<p>A head that attends to one token alone has entropy 0; one that attends evenly to all <i>n</i>
tokens of a sentence has ln <i>n</i>. Sentences differ in length, so the largest possible entropy
that is marked is a mean, of ln <i>n</i> over all queries, as the head's entropy is. Near it, a head
returns nearly the same average of the values at every position.</p>"""


def histogram(values: list[tuple[int, float]], limit: float, alt: str) -> str:
    """Bars over bins of a quarter nat, layer 1 below, later layers on top; `limit` is marked."""
    bins = 2 * (math.floor(limit / 0.5) + 1)  # so that the last one ends at a label
    counts = [[0, 0] for _ in range(bins)]
    for layer, value in values:
        if value == value:
            counts[min(bins - 1, max(0, int(value / 0.25)))][min(1, layer - 1)] += 1
    tallest = max(1, max(map(sum, counts)))
    step = math.ceil(tallest / 4)
    nats = Axis([tick / 2 for tick in range(bins // 2 + 1)], "entropy (nats)")
    plot = Plot(360, (34, 22, 350, 200), nats, Axis(range(0, tallest + step, step), "heads"))
    for i, (first, later) in enumerate(counts):
        plot.bar((i / 4, (i + 1) / 4), (0, first))
        plot.bar((i / 4, (i + 1) / 4), (first, first + later), "bar second")
    plot.upright(limit, "limit", above=6)
    plot.text(plot.x(limit) + 20, 12, f"{limit:.2f}", "end")
    return plot.svg(alt)


def parameters(found: dict) -> str:
    """Part 5: how many parameters each part has."""
    counts = found["parameters"]
    total = sum(counts.values())
    rows = [
        [escape(part), f"{count:,}", f"{count / max(1, total):.1%}"]
        for part, count in [*counts.items(), ("total", total)]
    ]
    found = table("The encoder in encoder.params", ["Part", "Parameters", "Share"], rows, last=True)
    return f"""{found}
<p>Sinusoidal positions are not trained and do not count. The feed-forward part is twice as large as
the attention, as in most Transformers with an inner width of four times the outer one; the
vocabulary adds a row to the embeddings for each word.</p>"""


def activations(found: dict) -> str:
    """Part 6: what flows through the layers after training."""

    def number(value, form):
        return "–" if value is None else format(round(value, 3) + 0.0, form)  # + 0.0: no -0.000

    result = []
    for name, corpus in found["corpora"].items():
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
        caption = f"{CORPORA[name]}, new sentences, places that are not padding"
        head = ["", "mean", "standard deviation", "GELU inputs below 0"]
        result.append(table(caption, head, rows))
    return (
        "\n".join(result)
        + """
<p>How does the standard deviation change from layer to layer, with pre-norm and with post-norm?
Question 5h asks why. A GELU passes little of what is below zero: the share says how much of the
feed-forward layer is nearly inactive.</p>"""
    )
