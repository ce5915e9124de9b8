"""The page dashboard.html, from the records of a log and the alarms of a Monitor: one file, no
scripts, no network.
"""

import math
from html import escape

from jobs.web_page import document, key, table

WIDE, NARROW, HEIGHT = 720, 440, 210
# of the plot within it: above is room for crosses, at the right for half a label
LEFT, TOP, BOTTOM, MARGIN = 68, 20, 174, 28
CROSS = 9  # from one cross to the next, at least
LARGEST, SMALLEST = 1e300, 1e-300  # that are drawn as they are
POINTS = 300  # of a line: of more, the lowest and the highest of each stretch are drawn
# The section in which an alarm is drawn.
SECTION = {
    "exploding_loss": "loss",
    "slow_convergence": "loss",
    "repetition": "repetition_rate",
    "vanishing_gradients": "grad_norm",
    "dead_attention": "attention_entropy",
    "saturated_attention": "attention_entropy",
}

CSS = """
:root { --light: 52%; } @media (prefers-color-scheme: dark) { :root { --light: 76%; } }
@media print { :root { --light: 52%; } }
figure { max-width: none; margin: .5rem 0 1rem; }
.layers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr));
  gap: 0 2rem; }
.layers figure { max-width: 32rem; }
.line { stroke: var(--one); fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.bound { stroke: var(--muted); fill: none; stroke-dasharray: 2 4; }
.bad { stroke: var(--two); fill: none; stroke-width: 2; }
.alarm { stroke: var(--two); fill: none; stroke-width: 1.5; stroke-dasharray: 6 3; }
svg text.number { fill: var(--two); font-weight: 650; }
.number, .name { paint-order: stroke; stroke: var(--paper); stroke-width: 4px;
  stroke-linejoin: round; }
.state { font-size: 1.1rem; font-weight: 650; } .state.wrong { color: var(--two); }
.keys span { white-space: nowrap; margin-right: 1rem; }
@media (max-width: 40rem) { svg.wide text { font-size: 17px; } }
.alarms tr > :nth-child(2), .alarms tr > :last-child { text-align: left; }
"""


def page(header: dict, records: list[dict], alarms: list[tuple[str, int, str]]) -> str:
    """The page's HTML.

    Args:
        header: of the log. records: with "step" and some of the keys of question 6f.
        alarms: (name, step, message) each.
    """
    sections = [
        ("Loss", loss(header, records, alarms)),
        ("Learning rate", learning_rate(records)),
        ("Gradient norm by layer", gradients(records, alarms)),
        ("Attention entropy by head", entropies(records, alarms)),
        ("Repetition in sampled texts", repetition(records, alarms)),
    ]
    last = end(records)
    body = "\n".join(f"<section>\n<h2>{title}</h2>\n{html}\n</section>" for title, html in sections)
    main = f"""<h1>{escape(str(header.get("run", "A training")))}</h1>
<p class="muted">Step {last:,} of {header["total_steps"]:,}, {plural(len(records), "record")}{
        settings(header)
    }.</p>
{alarm_table(alarms)}
{body}"""
    return document(
        "Dashboard",
        main,
        "Gradients and entropies are those of one batch, the same in the whole training, without "
        "dropout. Alarms are those of your diagnostics.py.",
        CSS,
    )


def end(records: list[dict]) -> int:
    """The last step."""
    return records[-1]["step"] if records else 0


def plural(count: int, what: str) -> str:
    """How many of something."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def settings(header: dict) -> str:
    """What else the header says."""
    return "".join(
        f", {escape(name)} {escape(str(header[name]))}"
        for name in ("preset", "seed")
        if name in header
    )


def alarm_table(alarms: list[tuple[str, int, str]]) -> str:
    """All alarms with their numbers, which stand at the dashed lines."""
    if not alarms:
        return '<p class="state">No alarm.</p>'
    rows = [
        [str(i), escape(name), f"{step:,}", escape(message)]
        for i, (name, step, message) in enumerate(alarms, start=1)
    ]
    found = table(
        "Each is drawn as a dashed line with its number.",
        ["", "Alarm", "Step", "What was seen"],
        rows,
    )
    return (
        f'<p class="state wrong">{plural(len(alarms), "alarm")}</p>\n'
        f'<div class="alarms">{found}</div>'
    )


def loss(header: dict, records: list[dict], alarms: list) -> str:
    """The loss, and the reference."""
    points = series(records, "loss")
    if not points:
        return missing("loss")
    reference = [
        value
        for _, value in series([{"step": 0, **header}], "reference_loss")
        if math.isfinite(value)
    ]
    bounds = [(value, "reference") for value in reference]
    finite = [y for _, y in points if math.isfinite(y)]
    says = f"from {finite[0]:.3g} to {finite[-1]:.3g}" if finite else "at no record a finite number"
    if len(finite) < len(points):
        says += f"; {len(points) - len(finite)} not finite, drawn as crosses above the plot"
    wide = bool(finite) and max(finite) > 20 * max(min(finite), 1e-9)
    svg = chart(
        [points], f"Loss in nats: {says}.", end(records), chosen(alarms, "loss"), bounds, log=wide
    )
    return figure(svg, f"In nats: {says}.")


def learning_rate(records: list[dict]) -> str:
    """The learning rate."""
    points = series(records, "lr")
    if not points:
        return missing("lr")
    finite = [y for _, y in points if math.isfinite(y)]
    says = "at no record a finite number"
    if finite:
        says = f"from {finite[0]:.2g} over at most {max(finite):.2g} to {finite[-1]:.2g}"
    return figure(
        chart([points], f"Learning rate: {says}.", end(records), [], [(0, "")]),
        f"{says[0].upper()}{says[1:]}.",
    )


def gradients(records: list[dict], alarms: list) -> str:
    """The norms, a line for each layer."""
    lines = [series(records, "grad_norm", layer) for layer in range(depth(records, "grad_norm"))]
    if not lines or not lines[0] or not lines[-1]:
        return missing("grad_norm")
    first, last = (
        [value for _, value in line if math.isfinite(value)] for line in (lines[0], lines[-1])
    )
    says = (
        f"In the end, it is {first[-1]:.2g} in the first layer and {last[-1]:.2g} in the last."
        if first and last
        else "It is at no record a finite number."
    )
    svg = chart(
        lines,
        f"Norm of the gradient in {len(lines)} layers. {says}",
        end(records),
        chosen(alarms, "grad_norm"),
        log=True,
    )
    return legend(len(lines), "layer") + figure(svg, says)


def entropies(records: list[dict], alarms: list) -> str:
    """A plot for each layer, with a line for each head."""
    plots, most = [], 0
    for layer in range(depth(records, "attention_entropy")):
        within = [
            {**record, "heads": record["attention_entropy"][layer]}
            for record in records
            if isinstance(record.get("attention_entropy"), list)
            and len(record["attention_entropy"]) > layer
        ]
        lines = [series(within, "heads", head) for head in range(depth(within, "heads"))]
        ends = [[value for _, value in line if math.isfinite(value)] for line in lines]
        ends = [values[-1] for values in ends if values]
        if not ends:
            continue
        says = f"Layer {layer}: in the end from {min(ends):.2f} to {max(ends):.2f}."
        most = max(most, len(lines))
        svg = chart(
            lines,
            f"Entropy of {len(lines)} heads. {says}",
            end(records),
            chosen(alarms, "attention_entropy"),
            [(0.99, ""), (0.01, "")],
            low=0,
            high=1,
            width=NARROW,
        )
        plots.append(figure(svg, says))
    if not plots:
        return missing("attention_entropy")
    return (
        "<p>0: all weight on one position; 1: evenly spread. Above the upper dotted line, a head "
        "tells nothing apart; below "
        "the lower one, it hardly learns any more.</p>\n"
        f'{legend(most, "head")}<div class="layers">{"".join(plots)}</div>'
    )


def repetition(records: list[dict], alarms: list) -> str:
    """The share of repeated 4-grams."""
    points = series(records, "repetition_rate")
    if not points:
        return missing("repetition_rate")
    most = max((y for _, y in points if math.isfinite(y)), default=math.nan)
    says = (
        "The share of 4-grams that occurred before in the same text, in "
        f"{plural(len(points), 'text')}: "
        f"{f'at most {most:.2f}' if math.isfinite(most) else 'never a finite number'}."
    )
    return figure(
        chart(
            [points],
            says,
            end(records),
            chosen(alarms, "repetition_rate"),
            [(0.5, "")],
            low=0,
            high=1,
        ),
        says,
    )


def series(records: list[dict], name: str, *path: int) -> list[tuple[int, float]]:
    """(step, value) of the records that have a number under this name (and these places in its
    lists).
    """
    points = []
    for record in records:
        value = record.get(name)
        for place in path:
            value = value[place] if isinstance(value, list) and place < len(value) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            points.append((record["step"], float(value)))
    return points


def depth(records: list[dict], name: str) -> int:
    """The length of the longest list under a name."""
    return max(
        (len(record[name]) for record in records if isinstance(record.get(name), list)), default=0
    )


def chosen(alarms: list, section: str) -> list[tuple[int, int]]:
    """(number, step) of the alarms that are drawn in a section."""
    return [
        (number, step)
        for number, (name, step, _) in enumerate(alarms, start=1)
        if SECTION.get(name) == section
    ]


def missing(name: str) -> str:
    """Instead of a plot."""
    return f'<p class="muted">No record has a value for {name}.</p>'


def figure(svg: str, caption: str) -> str:
    """A plot with its caption."""
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>\n"


def color(number: int, count: int) -> str:
    """A style for one of several lines: from blue over green to red, every second a little
    lighter.
    """
    hue, lighter = 260 - 235 * number // max(1, count - 1), 10 * (number % 2)
    return f' style="stroke: oklch(calc(var(--light) + {lighter}%) .14 {hue})"' if count > 1 else ""


def legend(count: int, what: str) -> str:
    """Which line is which; of more than eight, the first and the last alone."""
    shown = range(count) if count <= 8 else (0, count - 1)
    marks = (
        f'<span>{key(f"""<path class="line"{color(i, count)} d="M0 6H26"/>""")} {what} {i}</span>'
        for i in shown
    )
    return f'<p class="small keys">{(" " if count <= 8 else "to ").join(marks)}</p>\n'


def chart(
    lines: list[list[tuple[int, float]]],
    alt: str,
    last: int,
    alarms: list[tuple[int, int]] = (),
    bounds: list[tuple[float, str]] = (),
    *,
    log: bool = False,
    low: float | None = None,
    high: float | None = None,
    width: int = WIDE,
) -> str:
    """Lines over steps as an SVG.

    Args:
        lines: of (step, value). last: the last step of the axis.
        alarms: (number, step) of what is drawn as a dashed line. bounds: (value, label) of what is
            drawn as a dotted one.
        log: a logarithmic axis. low, high: its ends, if not those of the values. width: of the
            viewBox.
    """
    lines = [[(step, clip(value)) for step, value in line] for line in lines]
    shown = [value for line in lines for _, value in line] + [value for value, _ in bounds]
    shown = [
        value for value in shown if math.isfinite(value) and (value >= SMALLEST or not log)
    ] or [1.0]
    low, high = (min(shown) if low is None else low), (max(shown) if high is None else high)
    ticks = powers(low, high) if log else round_numbers(low, high)
    scale = math.log10 if log else float
    last, right = max(1, last), width - MARGIN

    def x(step):
        return LEFT + (right - LEFT) * step / last

    def y(value):
        share = (scale(max(value, ticks[0])) - scale(ticks[0])) / (
            scale(ticks[-1]) - scale(ticks[0])
        )
        return BOTTOM - (BOTTOM - TOP) * min(1, share)

    parts = []
    for tick in ticks:
        parts.append(
            f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{right}"/>'
            f'<text class="end" x="{LEFT - 6}" y="{y(tick) + 4:.1f}">{tick:g}</text>'
        )
    for tick in round_numbers(0, last):
        if tick <= last:
            parts.append(
                f'<text class="middle" x="{x(tick):.1f}" y="{BOTTOM + 16}">{tick:,.0f}</text>'
            )
    parts.append(
        f'<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{right}"/>'
        f'<text class="middle" x="{(LEFT + right) / 2}" y="{HEIGHT - 6}">step</text>'
    )
    parts += [f'<path class="bound" d="M{LEFT} {y(value):.1f}H{right}"/>' for value, _ in bounds]
    for number, line in enumerate(lines):
        drawn = [
            f"{x(step):.1f} {y(value):.1f}"
            for step, value in thin([each for each in line if math.isfinite(each[1])])
        ]
        parts.append(
            f'<path class="line"{color(number, len(lines))} d="M{"L".join(drawn)}"/>'
            if drawn
            else ""
        )
        parts += [
            f'<path class="bad" d="M{at - 4:.1f} {TOP - 14}l8 8m0 -8l-8 8"/>'
            for at in spread([x(step) for step, value in line if not math.isfinite(value)])
        ]
    # Where a loss begins, it is not yet near its reference.
    parts += [
        f'<text class="name" x="{LEFT + 8}" y="{y(value) - 5:.1f}">{label}</text>'
        for value, label in bounds
        if label
    ]
    for place, (number, step) in enumerate(alarms):
        parts.append(
            f'<path class="alarm" d="M{x(step):.1f} {TOP}V{BOTTOM}"/><text class="number" '
            f'x="{x(step) + 4:.1f}" y="{TOP + 11 + 12 * (place % 12)}">{number}</text>'
        )
    size = "wide" if width == WIDE else "narrow"
    return (
        f'<svg class="{size}" viewBox="0 0 {width} {HEIGHT}" role="img" '
        f'aria-label="{escape(alt)}">{"".join(parts)}</svg>'
    )


def clip(value: float) -> float:
    """A value that can be computed with; those that are not finite stay."""
    return max(-LARGEST, min(LARGEST, value)) if math.isfinite(value) else value


def spread(places: list[float]) -> list[float]:
    """Of rising places, those that are not too near to the one before."""
    kept = []
    for place in places:
        if not kept or place >= kept[-1] + CROSS:
            kept.append(place)
    return kept


def powers(low: float, high: float) -> list[float]:
    """At least two powers of ten, from at most `low` to at least `high`, evenly apart."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high) - 1e-9)
    apart = max(1, math.ceil((last - first) / 5))
    return [
        10.0 ** (first + apart * i) for i in range(max(1, math.ceil((last - first) / apart)) + 1)
    ]


def round_numbers(low: float, high: float) -> list[float]:
    """At least two round numbers, from at most `low` to at least `high`, evenly apart; about
    five.
    """
    span = high - low or abs(high) or 1.0
    apart = 10 ** math.floor(math.log10(span / 4))
    apart *= next(factor for factor in (1, 2, 5, 10) if factor * apart >= span / 5)
    first = math.floor(low / apart + 1e-9)
    return [apart * i for i in range(first, max(first + 1, math.ceil(high / apart - 1e-9)) + 1)]


def thin(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Fewer points that look alike: the lowest and the highest of each stretch."""
    if len(points) <= POINTS:
        return points
    size = math.ceil(2 * len(points) / POINTS)
    kept = []
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        kept += [min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])]
    return sorted({points[0], *kept, points[-1]})
