"""The page dashboard.html, from the records of a log and the alarms of a Monitor."""

import math
from html import escape

from common.pages import document, table
from jobs.problem6.over_steps import Run, chart, depth, finite, missing, series

SPECIAL = {"\u2047": '<b class="mask">M</b>', "\u25a1": '<i class="pad">\u00b7</i>'}
REFERENCE = """<p class="small">The dotted line <q>reference</q> is what the course's own solution
reached in this training: its mean loss over the last tenth of the steps. The alarm
<code>slow_convergence</code> compares with it.</p>
"""
CSS = """
.state { font-size: 1.1rem; font-weight: 650; } .state.wrong { color: var(--second); }
.texts { font: .9rem/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  padding-left: 1.2rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
.alarms :is(th, td) { overflow-wrap: anywhere; }
.alarms tr > :is(:first-child, :nth-child(3)) { overflow-wrap: normal; white-space: nowrap; }
.alarms tr > :nth-child(2), .alarms tr > :last-child { text-align: left; }
b.mask { box-shadow: inset 0 0 0 1px currentColor; }
i.pad { font-style: normal; color: var(--muted); }
"""


def page(header: dict, records: list[dict], alarms: list[tuple[str, int, str]]) -> str:
    """The page's HTML, from what Run has."""
    run = Run(header, records, alarms)
    known = knowledge(run)
    drawn = header.get("reference_loss") and series(records, "loss")
    compared = REFERENCE if drawn else ""
    sections = {
        "Loss and knowledge" if known else "Loss": loss(run) + compared + known,
        "Learning rate": learning_rate(run),
        "Gradient norm by layer": gradients(run),
        "Attention entropy by head": entropies(run),
        "Repetition in sampled texts": repetition(run),
    }
    if written := texts(run):
        sections["Sampled texts"] = written
    facts = [plural(len(records), "record")]
    facts += [
        f"{name} {escape(str(header[name]))}" for name in ("preset", "seed") if name in header
    ]
    top = f"""<h1>{escape(str(header.get("run", "A training")))}</h1>
<p class="muted">Step {run.end:,} of {header["total_steps"]:,}, {", ".join(facts)}.{pace(run)}</p>
{alarm_table(alarms)}"""
    footer = (
        "Gradients and entropies are those of one batch, the same in the whole training, without "
        "dropout. Alarms are those of your diagnostics.py."
    )
    return document("Dashboard", top, sections, footer, CSS)


def pace(run: Run) -> str:
    """How long the training took, and how many minutes are left at its present pace."""
    times = series(run.records, "seconds")[-20:]
    left = run.header["total_steps"] - run.end
    if len(times) < 2 or not all(map(math.isfinite, finite(times))):
        return ""
    (first, earlier), (last, now) = times[0], times[-1]
    if left <= 0:
        return f" It took {minutes(now)}."
    rest = left * (now - earlier) / (last - first)
    return f" It took {minutes(now)} so far; at its present pace, {minutes(rest)} are left."


def minutes(seconds: float) -> str:
    """A time for people."""
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


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
    bounds = dict.fromkeys(["reference"], *reference) if reference else {}
    wide = bool(found) and max(found) > 20 * max(min(found), 1e-9)
    return chart(run, "loss", {"loss": points}, f"In nats: {says}.", bounds, log=wide)


def knowledge(run: Run) -> str:
    """The share of people whose birthplace is known; "" for a log without it."""
    points = series(run.records, "knowledge")
    if not points:
        return ""
    people = f"{run.header.get('people', 'some')} people of dev"
    how = run.header.get("asked", "in the form of the training")
    says = f"Known birthplaces: {points[-1][1]:.0%} at the end, of {people}, asked {how}."
    if half := [step for step, value in points if value >= 0.5]:
        says += f" Half of them were first known at step {half[0]:,}."
    return chart(run, "knowledge", {"known": points}, says, ends=(0, 1), percent=True)


def texts(run: Run) -> str:
    """What the model wrote: at the start, at some steps between, and at the end."""
    found = [
        (record["step"], [text for text in record["texts"] if isinstance(text, str)])
        for record in run.records
        if isinstance(record.get("texts"), list)
    ]
    if not found:
        return ""
    last = len(found) - 1
    chosen = [found[i] for i in sorted({round(last * part / 5) for part in range(6)})]
    lists = [
        f'<h3>Step {step:,}</h3>\n<ul class="texts">'
        + "".join(f"<li>{characters(text)}</li>" for text in written)
        + "</ul>\n"
        for step, written in chosen
    ]
    says = "Drawn at temperature 1. A boxed M is MASK, a pale dot PAD."
    return f"<p>{says}</p>\n{''.join(lists)}"


def characters(text: str) -> str:
    """Text of a dataset as HTML: MASK is a boxed M, PAD a pale dot."""
    return "".join(SPECIAL.get(ch) or escape(ch) for ch in text)


def learning_rate(run: Run) -> str:
    """The learning rate."""
    points = series(run.records, "lr")
    if not points:
        return missing("lr")
    found = finite(points)
    says = "at no record a finite number"
    if found:
        says = f"starts at {found[0]:.2g}, peaks at {max(found):.2g}, ends at {found[-1]:.2g}"
    return chart(run, "lr", {"lr": points}, f"{says[0].upper()}{says[1:]}.", {"": 0})


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
    named = {f"layer {number}": line for number, line in enumerate(lines, start=1)}
    return chart(run, "grad_norm", named, says, log=True)


def entropies(run: Run) -> str:
    """A plot for each layer, with a line for each head."""
    name, plots = "attention_entropy", []
    for layer in range(depth(run.records, name)):
        within = [
            {**record, "heads": record[name][layer]}
            for record in run.records
            if isinstance(record.get(name), list) and len(record[name]) > layer
        ]
        heads = range(depth(within, "heads"))
        lines = {f"head {head}": series(within, "heads", head) for head in heads}
        if ends := [values[-1] for values in map(finite, lines.values()) if values]:
            says = f"Layer {layer + 1}: in the end from {min(ends):.2f} to {max(ends):.2f}."
            bounds = {"evenly spread": 0.99, "saturated": 0.01}
            plots.append(chart(run, name, lines, says, bounds, ends=(-0.03, 1.14)))
    if not plots:
        return missing(name)
    return f"""<p>0: all weight on one position; 1: evenly spread. Above the upper dotted line, a
head attends nearly uniformly; below the lower one, its softmax is saturated and hardly learns.</p>
<div class="plots">{"".join(plots)}</div>"""


def repetition(run: Run) -> str:
    """The share of repeated 4-grams."""
    points = series(run.records, "repetition_rate")
    if not points:
        return missing("repetition_rate")
    found = finite(points)
    most = f"at most {max(found):.2f}" if found else "never a finite number"
    texts = plural(len(points), "text")
    says = f"The share of 4-grams that occurred before in the same text, in {texts}: {most}."
    return chart(run, "repetition_rate", {"rate": points}, says, {"alarm": 0.5}, ends=(0, 1))
