"""The page dashboard.html, from the records of a log and the alarms of a Monitor."""

import math
from dataclasses import dataclass
from html import escape

from common.charts import Axis, Plot, color, extent, key, powers, round_numbers, tag
from jobs.web_page import document, figure, table

WIDE, NARROW = 720, 440  # units across a plot
CROSS = 9  # from one cross to the next, at least
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
figure { max-width: none; margin: .5rem 0 1rem; }
.layers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr));
  gap: 0 2rem; }
.layers figure { max-width: 32rem; }
.bound { stroke: var(--muted); fill: none; stroke-dasharray: 2 4; }
.bad { stroke: var(--second); fill: none; stroke-width: 2; }
.alarm { stroke: var(--second); fill: none; stroke-width: 1.5; stroke-dasharray: 6 3; }
svg text.number { fill: var(--second); font-weight: 650; }
.number, .name { paint-order: stroke; stroke: var(--paper); stroke-width: 4px;
  stroke-linejoin: round; }
.state { font-size: 1.1rem; font-weight: 650; } .state.wrong { color: var(--second); }
.keys span { white-space: nowrap; margin-right: 1rem; }
@media (max-width: 40rem) { svg.wide text { font-size: 17px; } }
.alarms tr > :nth-child(2), .alarms tr > :last-child { text-align: left; }
"""


@dataclass(frozen=True)
class Run:
    """What the page shows: the header of a log, its records, with "step" and some of the keys of
    question 6f, and the alarms, (name, step, message) each.
    """

    header: dict
    records: list[dict]
    alarms: list[tuple[str, int, str]]

    @property
    def end(self) -> int:
        """The last step."""
        return self.records[-1]["step"] if self.records else 0


def page(header: dict, records: list[dict], alarms: list[tuple[str, int, str]]) -> str:
    """The page's HTML, from what Run has."""
    run = Run(header, records, alarms)
    sections = {
        "Loss": loss(run),
        "Learning rate": learning_rate(run),
        "Gradient norm by layer": gradients(run),
        "Attention entropy by head": entropies(run),
        "Repetition in sampled texts": repetition(run),
    }
    facts = [plural(len(records), "record")]
    facts += [
        f"{name} {escape(str(header[name]))}" for name in ("preset", "seed") if name in header
    ]
    top = f"""<h1>{escape(str(header.get("run", "A training")))}</h1>
<p class="muted">Step {run.end:,} of {header["total_steps"]:,}, {", ".join(facts)}.</p>
{alarm_table(alarms)}"""
    footer = (
        "Gradients and entropies are those of one batch, the same in the whole training, without "
        "dropout. Alarms are those of your diagnostics.py."
    )
    return document("Dashboard", top, sections, footer, CSS)


def plural(count: int, what: str) -> str:
    """How many of something."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def alarm_table(alarms: list[tuple[str, int, str]]) -> str:
    """A table of the alarms with their numbers, which are at the dashed lines too."""
    if not alarms:
        return '<p class="state">No alarm.</p>'
    rows = [
        [str(i), escape(name), f"{step:,}", escape(message)]
        for i, (name, step, message) in enumerate(alarms, start=1)
    ]
    head = ["", "Alarm", "Step", "What was seen"]
    return f"""<p class="state wrong">{plural(len(alarms), "alarm")}</p>
<div class="alarms">{table("Each is drawn as a dashed line with its number.", head, rows)}</div>"""


def loss(run: Run) -> str:
    """The loss, and the reference."""
    points = series(run.records, "loss")
    if not points:
        return missing("loss")
    found = finite(points)
    says = f"from {found[0]:.3g} to {found[-1]:.3g}" if found else "at no record a finite number"
    if len(found) < len(points):
        says += f"; {len(points) - len(found)} not finite, drawn as crosses above the plot"
    reference = finite(series([{"step": 0, **run.header}], "reference_loss"))
    bounds = [(value, "reference") for value in reference]
    wide = bool(found) and max(found) > 20 * max(min(found), 1e-9)
    alt = f"Loss in nats: {says}."
    return chart(run, "loss", [points], f"In nats: {says}.", alt, bounds, log=wide)


def learning_rate(run: Run) -> str:
    """The learning rate."""
    points = series(run.records, "lr")
    if not points:
        return missing("lr")
    found = finite(points)
    says = "at no record a finite number"
    if found:
        says = f"starts at {found[0]:.2g}, peaks at {max(found):.2g}, ends at {found[-1]:.2g}"
    caption, alt = f"{says[0].upper()}{says[1:]}.", f"Learning rate: {says}."
    return chart(run, "lr", [points], caption, alt, [(0, "")])


def gradients(run: Run) -> str:
    """The norms, a line for each layer."""
    layers = range(depth(run.records, "grad_norm"))
    lines = [series(run.records, "grad_norm", layer) for layer in layers]
    if not lines or not lines[0] or not lines[-1]:
        return missing("grad_norm")
    first, last = finite(lines[0]), finite(lines[-1])
    says = "It is at no record a finite number."
    if first and last:
        ends = f"{first[-1]:.2g} in the first layer and {last[-1]:.2g} in the last"
        says = f"In the end, it is {ends}."
    alt = f"Norm of the gradient in {len(lines)} layers. {says}"
    return legend(len(lines), "layer") + chart(run, "grad_norm", lines, says, alt, log=True)


def entropies(run: Run) -> str:
    """A plot for each layer, with a line for each head."""
    name, plots, most = "attention_entropy", [], 0
    for layer in range(depth(run.records, name)):
        within = [
            {**record, "heads": record[name][layer]}
            for record in run.records
            if isinstance(record.get(name), list) and len(record[name]) > layer
        ]
        lines = [series(within, "heads", head) for head in range(depth(within, "heads"))]
        ends = [values[-1] for values in map(finite, lines) if values]
        if not ends:
            continue
        most = max(most, len(lines))
        says = f"Layer {layer}: in the end from {min(ends):.2f} to {max(ends):.2f}."
        alt, bounds = f"Entropy of {len(lines)} heads. {says}", [(0.99, ""), (0.01, "")]
        plots.append(chart(run, name, lines, says, alt, bounds, ends=(0, 1), width=NARROW))
    if not plots:
        return missing(name)
    return f"""<p>0: all weight on one position; 1: evenly spread. Above the upper dotted line, a
head attends nearly uniformly; below the lower one, its softmax is saturated and hardly learns.</p>
{legend(most, "head")}<div class="layers">{"".join(plots)}</div>"""


def repetition(run: Run) -> str:
    """The share of repeated 4-grams."""
    points = series(run.records, "repetition_rate")
    if not points:
        return missing("repetition_rate")
    found = finite(points)
    most = f"at most {max(found):.2f}" if found else "never a finite number"
    texts = plural(len(points), "text")
    says = f"The share of 4-grams that occurred before in the same text, in {texts}: {most}."
    return chart(run, "repetition_rate", [points], says, says, [(0.5, "")], ends=(0, 1))


def series(records: list[dict], name: str, *places: int) -> list[tuple[int, float]]:
    """(step, value) of the records with a number under a name (and these places in its lists)."""
    points = []
    for record in records:
        value = record.get(name)
        for place in places:
            value = value[place] if isinstance(value, list) and place < len(value) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            points.append((record["step"], float(value)))
    return points


def finite(points: list[tuple[int, float]]) -> list[float]:
    """The values that are finite."""
    return [value for _, value in points if math.isfinite(value)]


def depth(records: list[dict], name: str) -> int:
    """The length of the longest list under a name."""
    return max((len(each[name]) for each in records if isinstance(each.get(name), list)), default=0)


def missing(name: str) -> str:
    """A sentence in place of a plot."""
    return f'<p class="muted">No record has a value for {name}.</p>'


def legend(count: int, what: str) -> str:
    """Which line is which; of more than eight, the first and the last alone."""
    shown = range(count) if count <= 8 else (0, count - 1)
    lines = (tag("path", kind="line", style=color(i, count), d="M0 6H26") for i in shown)
    marks = (f"<span>{key(line)} {what} {i}</span>" for i, line in zip(shown, lines))
    return f'<p class="small keys">{(" " if count <= 8 else "to ").join(marks)}</p>\n'


def chart(
    run: Run,
    section: str,
    lines: list[list[tuple[int, float]]],
    caption: str,
    alt: str,
    bounds: list[tuple[float, str]] = (),
    *,
    log: bool = False,
    ends: tuple[float, float] | None = None,
    width: int = WIDE,
) -> str:
    """Lines over steps as a figure, with the alarms of a section as dashed lines.

    Args:
        lines: of (step, value). bounds: (value, label) of what is drawn as a dotted line.
        log: a logarithmic axis. ends: its values, if not those of the lines. width: of the viewBox.
    """
    values = [value for line in lines for _, value in line] + [value for value, _ in bounds]
    ticks = (powers if log else round_numbers)(*(ends or extent(values, log)))
    last = max(1, run.end)
    steps = Axis(round_numbers(0, last), "step", "{:,.0f}".format, last)
    # room for crosses above, and for half a label at the right
    area = left, top, _, bottom = 68, 20, width - 28, 174
    plot = Plot(width, area, steps, Axis(ticks, log=log), corner=True)
    for value, _ in bounds:
        plot.level(value, "bound")
    for number, line in enumerate(lines):
        plot.line(line, style=color(number, len(lines)))
        crosses = [plot.x(step) for step, value in line if not math.isfinite(value)]
        for x in spread(crosses):
            plot.path(f"M{x - 4:.1f} {top - 14}l8 8m0 -8l-8 8", "bad")
    for value, label in bounds:  # at the left, where the loss is still far away
        plot.text(left + 8, plot.y(value) - 5, label, "name")
    chosen = [
        (number, step)
        for number, (name, step, _) in enumerate(run.alarms, start=1)
        if SECTION.get(name) == section
    ]
    for place, (number, step) in enumerate(chosen):
        plot.upright(step, "alarm")
        plot.text(plot.x(step) + 4, top + 11 + 12 * (place % 12), str(number), "number")
    return figure(plot.svg(alt, "wide" if width == WIDE else "narrow"), caption)


def spread(places: list[float]) -> list[float]:
    """Of rising places, those that are not too near to the one before."""
    kept = []
    for place in places:
        if not kept or place >= kept[-1] + CROSS:
            kept.append(place)
    return kept
