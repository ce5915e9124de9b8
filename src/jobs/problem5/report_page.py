"""The page encoder_report.html, from the plain data that encoder_report measured: one file, no
scripts, no network.
"""

import math
from html import escape

from jobs.web_page import LINE, document, key, table

GROUPS = ("painter, poet", "singer, actor", "baker, farmer", "pilot, sailor", "judge, chemist")
CORPORA = {"occupations": "Occupations", "random": "Random labels"}
BOX = '<rect class="{}" width="26" height="12"/>'  # a sample for legends
MODELS = {"pre": "Encoder, pre-norm", "post": "Encoder, post-norm", "bag": "Bag of words"}

CSS = """
.heads { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(46%, 13rem), 1fr));
  gap: 1rem; margin-top: 1rem; }
.heads figure { margin: 0; }
.pre { stroke: var(--one); } .post { stroke: var(--two); stroke-dasharray: 5 3; }
.pre, .post { fill: none; stroke-width: 1.6; }
.bar1 { fill: var(--one); } .bar2 { fill: var(--two); }
.limit { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 2 3; }
.map path { fill: var(--one); } .map rect { fill: var(--panel); stroke: var(--rule);
  stroke-width: .5; }
.scale { width: 13.5rem; }
.map .word { fill: var(--ink); } .map .unknown { fill: var(--muted); font-style: italic; }
@media print { .sentence { break-inside: avoid; } .sentence figure { max-width: 20rem; }
  .heads { grid-template-columns: repeat(4, 1fr); } }
"""


def page(found: dict, seconds: float) -> str:
    """The page's HTML; `found` is what encoder_report.measure returns, `seconds` how long that
    took.
    """
    sections = [
        ("Accuracy", accuracy(found)),
        ("Loss, pre-norm and post-norm", losses(found)),
        ("Attention maps", maps(found)),
        ("How spread the heads attend", histograms(found)),
        ("Parameters", parameters(found)),
        ("Activations", activations(found)),
    ]
    body = "\n".join(
        f'<section id="part-{i}">\n<h2>{i}. {title}</h2>\n{html}\n</section>'
        for i, (title, html) in enumerate(sections, start=1)
    )
    return document(
        "Encoder report",
        f"""<h1>A tiny encoder, from the outside and from the inside</h1>
<p>Made from your encoder.py. Encoders of two layers learned two corpora: sentences about teachers
and their
<em>occupations</em>, and rows of random tokens with <em>random labels</em>. Each encoder was
trained from {found["seeds"]}
seeds, from {found["seed"]} on, and each bag of words once. Maps, parameters and activations are
those of seed
{found["seed"]}, and that pre-norm encoder of the occupations is in encoder.params.</p>
{body}""",
        f'Training and measuring took <span id="seconds">{seconds:.0f}</span> seconds.',
        CSS,
    )


def accuracy(found: dict) -> str:
    """Part 1: shares of right answers, as means over the seeds, and what they say."""

    def cell(shares):
        low, high = f"{min(shares):.1%}", f"{max(shares):.1%}"
        spread = (
            ""
            if len(shares) == 1
            else f"<small>{low} to {high}</small>"
            if low != high
            else "<small>each time</small>"
        )
        return f"{sum(shares) / len(shares):.1%}{spread}"

    result = []
    for name, corpus in found["corpora"].items():
        rows = []
        for kind, title in MODELS.items():
            pairs = corpus["accuracy"][kind]
            model = title + (" (one seed)" if len(pairs) == 1 else "")
            rows.append([model, *(cell([pair[i] for pair in pairs]) for i in (0, 1))])
        rows.append(["Chance, 1/5", "20.0%", "20.0%"])
        result.append(
            table(
                f"{CORPORA[name]}: share of right answers, mean over the seeds (and from lowest to "
                "highest)",
                [
                    "",
                    f"{corpus['training']:,} sentences of the training",
                    f"{corpus['new']:,} new sentences",
                ],
                rows,
            )
        )
    best = found["corpora"]["occupations"]["accuracy"]["pre"][0][1]
    says = (
        "That is clearly more than half, so it knows who teaches whom: it uses the order of the "
        "words."
        if best > 0.6
        else (
            "That is about half or less, so it does no better than a bag of words: it does not "
            "know the order. Look at the positions."
        )
    )
    pairs = found["corpora"]["random"]["accuracy"]["pre"]
    trained, new = (sum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1))
    return "\n".join(
        [
            result[0],
            "<p>Half is the ceiling of a bag of words: it sees which two groups a sentence names, "
            "but not which of them is the teacher's. The encoder in encoder.params is right about "
            f"{best:.1%} of the new sentences. {says}</p>",
            result[1],
            "<p>The random labels were drawn without a look at the sentences. Where does the "
            f"encoder have its answers from in the training ({trained:.1%}), and which accuracy "
            f"should it have on new sentences ({new:.1%})? How far from that may a measured one "
            "be? Question 5g asks for it.</p>",
        ]
    )


def losses(found: dict) -> str:
    """Part 2: the loss curves, one plot for each corpus."""
    plots = []
    for name, corpus in found["corpora"].items():
        ends = {kind: [run[-1] for run in runs] for kind, runs in corpus["losses"].items()}
        title = "Training loss by epoch on"
        says = " and ".join(
            f"{kind}-norm ends between {min(end):.2g} and {max(end):.2g}"
            for kind, end in ends.items()
        )
        plots.append(
            f"<figure>{curves(corpus['losses'], f'{title} {CORPORA[name].lower()}: {says}.')}"
            f"<figcaption>{CORPORA[name]}: {says}.</figcaption></figure>"
        )
    return (
        (
            f"<p>{key(LINE.format('pre'))} pre-norm &ensp; {key(LINE.format('post'))} "
            "post-norm, both from the same seeds "
            'and with the same learning rate.</p>\n<div class="pair">'
        )
        + "\n".join(plots)
        + (
            "</div>\n<p>With post-norm a LayerNorm stands on the residual path itself, and "
            "gradients have to pass through it. Look at the first epochs: is one of the two "
            "slower, or do its seeds differ more? Two layers are few, so expect a small "
            "difference; it grows with depth. The vertical axis is logarithmic: equal steps "
            "are equal factors.</p>"
        )
    )


def curves(runs: dict, alt: str) -> str:
    """Loss curves as an SVG: {"pre": [losses of a seed, ...], "post": ...}, over epochs, on a
    logarithmic axis.
    """
    left, right, top, bottom = 48, 350, 10, 200
    finite = [
        loss for each in runs.values() for run in each for loss in run if 0 < loss < math.inf
    ] or [1.0]
    low, high = math.floor(math.log10(min(finite))), math.ceil(math.log10(max(finite)) + 1e-9)
    epochs = max(len(run) for each in runs.values() for run in each)

    def x(epoch):
        return left + (right - left) * (epoch - 1) / max(1, epochs - 1)

    def y(loss):
        return bottom - (bottom - top) * (math.log10(loss) - low) / max(1, high - low)

    parts = []
    for power in range(low, high + 1):
        parts.append(
            f'<path class="grid" d="M{left} {y(10.0**power):.1f}H{right}"/>'
            f'<text class="end" x="{left - 6}" y="{y(10.0**power) + 4:.1f}">{10.0**power:g}</text>'
        )
    step = math.ceil(epochs / 6)
    for epoch in sorted({1, *range(step, epochs - step // 2, step), epochs}):
        parts.append(f'<text class="middle" x="{x(epoch):.1f}" y="{bottom + 16}">{epoch}</text>')
    parts.append(
        f'<path class="axis" d="M{left} {top}V{bottom}H{right}"/><text class="middle" '
        f'x="{(left + right) / 2}" y="{bottom + 34}">epoch</text><text class="middle" '
        f'transform="rotate(-90)" x="{-(top + bottom) / 2}" y="11">loss (nats)</text>'
    )
    for kind, each in runs.items():
        for run in each:
            points = [
                f"{x(i):.1f} {y(loss):.1f}" for i, loss in enumerate(run, 1) if 0 < loss < math.inf
            ]
            parts.append(f'<path class="{kind}" d="M{"L".join(points)}"/>' if points else "")
    return (
        f'<svg viewBox="0 0 360 240" role="img" aria-label="{escape(alt)}">{"".join(parts)}</svg>'
    )


def maps(found: dict) -> str:
    """Part 3: for each sentence a large map of layer 2, head 0, and small ones of all others."""
    result = [
        "<p>Each row is a query, each column a key: the stronger the color of a square, the more "
        "the place of the row takes from that of the column. A row adds up to 1. Words in italics "
        "are not in the vocabulary: the encoder sees UNK for each of them.</p>",
        f"<p>{scale()} The scale is the same for all maps: no color is a weight of 0, full color a "
        "weight of 1.</p>",
        "<p>Before you read a meaning into a pattern, look at the last two sentences, whose labels "
        "are random. Do their maps look less orderly? What would a meaning be there? And what "
        "happens to the mixture on its way to the answer? Question 5g asks what you may conclude "
        "from a map, and what not.</p>",
    ]
    for number, item in enumerate(found["maps"], start=1):
        tokens = [token["text"] for token in item["tokens"]]
        names = GROUPS if item["corpus"] == "occupations" else [""] * 5
        said, right = (
            f"{c} ({names[c]})" if names[c] else str(c) for c in (item["answer"], item["right"])
        )
        what = (
            f"The label is {right}; the encoder says "
            f"{'so' if item['answer'] == item['right'] else said}."
        )
        part = "a new sentence" if item["part"] == "new" else "a sentence of the training"
        big = next(((i, j) for i, j in ((1, 0), (0, 0)) if i < len(item["weights"])))
        result.append(
            f"<div class='sentence'>\n<h3>Sentence {number}: {CORPORA[item['corpus']].lower()}, "
            f"{part}</h3>\n<p>{escape(' '.join(tokens))}<br>"
            f'<span class="muted">{escape(what)}</span></p>\n<figure>{heat(item, *big)}</figure>\n'
            "</div>"
        )
        small = "\n".join(
            f"<figure>{heat(item, layer, head)}</figure>"
            for layer, heads in enumerate(item["weights"])
            for head in range(len(heads))
            if (layer, head) != big
        )
        result.append(f'<div class="heads">\n{small}\n</div>')
    return "\n".join(result)


def scale() -> str:
    """The shades of the maps, from 0 to 1, as an SVG."""
    boxes = "".join(
        f'<path fill-opacity="{i / 25:g}" d="M{30 + 6 * i} 2h6v12h-6z"/>' for i in range(26)
    )
    return (
        '<svg class="map scale" viewBox="0 0 216 16" role="img" aria-label="Color scale, from 0 '
        f'to 1"><rect x="30" y="2" width="156" height="12"/>{boxes}<text class="end" x="24" '
        'y="12">0</text><text x="192" y="12">1</text></svg>'
    )


def heat(item: dict, layer: int, head: int) -> str:
    """One attention map as an SVG, with its caption. Cells of the same shade (of 25) share a
    path.
    """
    weights, tokens = item["weights"][layer][head], item["tokens"]
    name = f"Layer {layer + 1}, head {head}"
    longest = max(len(token["text"]) for token in tokens)
    margin = 12 + min(80, 6.2 * longest)  # for the words at the left and at the top
    cell = (360 - margin) / len(tokens)
    shades = {}
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            if weight == weight and (shade := min(25, round(25 * weight))):
                shades.setdefault(shade, []).append(f"M{j} {i}h1v1h-1z")
    labels = []
    size = min(11.0, 0.85 * cell)
    for i, token in enumerate(tokens):
        kind, text, middle = (
            "unknown" if token["unknown"] else "word",
            escape(token["text"]),
            margin + (i + 0.5) * cell,
        )
        labels.append(
            f'<text class="{kind} end" x="{margin - 4:.1f}" '
            f'y="{middle + size / 3:.1f}">{text}</text><text class="{kind}" '
            f'transform="translate({middle + size / 3:.1f} {margin - 4:.1f}) rotate(-90)">'
            f"{text}</text>"
        )
    means = [sum(row[j] for row in weights) / len(weights) for j in range(len(tokens))]
    most = max(range(len(tokens)), key=means.__getitem__)
    alt = (
        f"{name}: attention among {len(tokens)} tokens. Averaged over the queries, the most goes "
        f"to {tokens[most]['text']}, token {most + 1}: {means[most]:.0%}."
    )
    paths = "".join(
        f'<path fill-opacity="{shade / 25:g}" d="{"".join(cells)}"/>'
        for shade, cells in sorted(shades.items())
    )
    side = f"{360 - margin:.1f}"
    return (
        f'<svg class="map" viewBox="0 0 362 362" role="img" aria-label="{escape(alt)}"><rect '
        f'x="{margin:.1f}" y="{margin:.1f}" width="{side}" height="{side}"/><g '
        f'transform="translate({margin:.1f} {margin:.1f}) scale({cell:.3f})">{paths}</g><g '
        'style="font-size: '
        f'{size:.1f}px">{"".join(labels)}</g></svg><figcaption>{name}</figcaption>'
    )


def histograms(found: dict) -> str:
    """Part 4: the entropies of all heads of the pre-norm encoders, one histogram for each
    corpus.
    """
    plots = []
    for name, corpus in found["corpora"].items():
        values = [(layer, value) for layer, _, value in corpus["entropies"]]
        low, high = min(value for _, value in values), max(value for _, value in values)
        alt = (
            f"{CORPORA[name]}: {len(values)} heads, entropies from {low:.2f} to {high:.2f} nats; "
            "the largest possible, ln n averaged over the queries, is "
            f"{corpus['largest_entropy']:.2f}."
        )
        plots.append(
            f"<figure>{histogram(values, corpus['largest_entropy'], alt)}"
            f"<figcaption>{alt}</figcaption></figure>"
        )
    layers = max(
        layer for corpus in found["corpora"].values() for layer, _, _ in corpus["entropies"]
    )
    later = "layer 2" if layers <= 2 else f"layers 2 to {layers}"
    return (
        (
            f"<p>{key(BOX.format('bar1'))} layer 1 &ensp; {key(BOX.format('bar2'))} {later} "
            f"&ensp; {key(LINE.format('limit'))} the largest possible; from the pre-norm "
            f"encoders of {found['seeds']} seeds, on new "
            'sentences.</p>\n<div class="pair">'
        )
        + "\n".join(plots)
        + (
            "</div>\n<p>A head that attends to one token alone has entropy 0; one that attends "
            "evenly to all <i>n</i> tokens of a sentence has ln <i>n</i>. Sentences differ in "
            "length, so the largest possible entropy that is marked is a mean, of ln <i>n</i> "
            "over all queries, as the head's entropy is. Near it, a head takes much the same "
            "mean at every place.</p>"
        )
    )


def histogram(values: list[tuple[int, float]], limit: float, alt: str) -> str:
    """Bars over bins of a quarter nat as an SVG, layer 1 below, later layers on top; `limit` is
    marked.
    """
    left, right, top, bottom = 34, 350, 22, 200
    bins = 2 * (math.floor(limit / 0.5) + 1)  # so that the last one ends at a label
    counts = [[0, 0] for _ in range(bins)]
    for layer, value in values:
        if value == value:
            counts[min(bins - 1, max(0, int(value / 0.25)))][min(1, layer - 1)] += 1
    tallest = max(1, max(map(sum, counts)))
    step = math.ceil(tallest / 4)
    highest = step * math.ceil(tallest / step)
    width, unit = (right - left) / bins, (bottom - top) / highest
    parts = []
    for tick in range(0, highest + 1, step):
        parts.append(
            f'<path class="grid" d="M{left} {bottom - tick * unit:.1f}H{right}"/>'
            f'<text class="end" x="{left - 6}" y="{bottom - tick * unit + 4:.1f}">{tick}</text>'
        )
    for i, (first, later) in enumerate(counts):
        for kind, start, count in (("bar1", 0, first), ("bar2", first, later)):
            if count:
                parts.append(
                    f'<rect class="{kind}" x="{left + i * width + 1:.1f}" '
                    f'y="{bottom - (start + count) * unit:.1f}" width="{width - 2:.1f}" '
                    f'height="{count * unit:.1f}"/>'
                )
    for tick in range(0, bins + 1, 2):
        parts.append(
            f'<text class="middle" x="{left + tick * width:.1f}" '
            f'y="{bottom + 16}">{tick / 4:g}</text>'
        )
    mark = left + limit / 0.25 * width
    parts.append(
        f'<path class="axis" d="M{left} {bottom}H{right}"/><path class="limit" d="M{mark:.1f} '
        f'{top - 6}V{bottom}"/><text class="end" x="{mark + 20:.1f}" '
        f'y="{top - 10}">{limit:.2f}</text><text class="middle" x="{(left + right) / 2}" '
        f'y="{bottom + 34}">entropy (nats)</text><text class="middle" transform="rotate(-90)" '
        f'x="{-(top + bottom) / 2}" y="11">heads</text>'
    )
    return (
        f'<svg viewBox="0 0 360 240" role="img" aria-label="{escape(alt)}">{"".join(parts)}</svg>'
    )


def parameters(found: dict) -> str:
    """Part 5: how many parameters each part has."""
    counts = found["parameters"]
    total = sum(counts.values())
    rows = [
        [escape(part), f"{count:,}", f"{count / max(1, total):.1%}"]
        for part, count in [*counts.items(), ("total", total)]
    ]
    return table(
        "The encoder in encoder.params", ["Part", "Parameters", "Share"], rows, last=True
    ) + (
        "\n<p>Sinusoidal positions are not trained and do not count. The feed-forward part "
        "is twice as large as the attention, as in most Transformers with an inner width "
        "of four times the outer one; the vocabulary adds a row to the embeddings for each "
        "word.</p>"
    )


def activations(found: dict) -> str:
    """Part 6: what flows through the layers after training."""

    def number(value, form):
        return "–" if value is None else format(round(value, 3) + 0.0, form)  # + 0.0: no -0.000

    result = []
    for name, corpus in found["corpora"].items():
        rows = [
            [
                f"{kind}-norm, " + (f"after layer {i}" if i else "embeddings"),
                *(
                    number(row[field], form)
                    for field, form in (("mean", ".3f"), ("std", ".3f"), ("below_zero", ".1%"))
                ),
            ]
            for kind in ("pre", "post")
            for i, row in enumerate(corpus["activations"][kind])
        ]
        result.append(
            table(
                f"{CORPORA[name]}, new sentences, places that are not padding",
                ["", "mean", "standard deviation", "GELU inputs below 0"],
                rows,
            )
        )
    return "\n".join(result) + (
        "\n<p>How does the standard deviation go from layer to layer, with pre-norm and with "
        "post-norm? Question 5h asks why. A GELU passes little of what is below zero: the share "
        "says how much of the feed-forward part is nearly silent at a time.</p>"
    )
