"""./run.sh dashboard: run the student's Monitor on a training log, and make a page of both."""

import math
from html import escape
from pathlib import Path

from common.files import UserError, write_text
from common.pages import document
from jobs.problem6.over_steps import CSS, lines, listed, plot
from jobs.targets import JOBS
from jobs.training_log import BEYOND, read_log

TRAINING = next((job.target for job in JOBS.values() if job.kind == "pretrain"), "TARGET")
SPECIAL = {"\u2047": '<b class="mask">M</b>', "\u25a1": '<i class="pad">\u00b7</i>'}
REFERENCE = """<p class="small">The dotted line <q>reference</q> is what the course's own solution
reached in this training: its mean loss over the last tenth of the steps. The alarm
<code>slow_convergence</code> compares with it.</p>
"""
FOOTER = """Gradients and entropies are those of one batch, the same in the whole training, without
dropout. Alarms are those of your diagnostics.py."""
OF_TEXTS = """
.texts { font: .9rem/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  padding-left: 1.2rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
b.mask { box-shadow: inset 0 0 0 1px currentColor; }
i.pad { font-style: normal; color: var(--muted); }
"""


def dashboard(diagnostics, out: Path) -> None:
    """Write dashboard.html into `out`, from the newest log in its folder runs.

    Raises:
        UserError: there is no log, it cannot be read, or the Monitor returned anything but lists of
            Alarms.
    """
    logs = sorted((out / "runs").glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    if not logs:
        raise UserError(
            f"There is no log in {out / 'runs'}. A training writes one with --log: ./run.sh "
            f"{TRAINING} --log (a few minutes on a laptop; you can make the dashboard while it "
            "runs)."
        )
    header, records = read_log(logs[-1])
    alarms = watch(diagnostics, header, records)
    html = out / "dashboard.html"
    write_text(html, page(header, records, alarms))
    print(f"{logs[-1]}: {plural(len(records), 'record')} of {header.get('run', 'a training')}")
    for name, step, message in alarms:
        print(f"  step {step:>6}  {name}: {message}")
    print(f"{plural(len(alarms), 'alarm')}\nWrote {html}: open it in a browser.")


def watch(diagnostics, header: dict, records: list[dict]) -> list[tuple[str, int, str]]:
    """The alarms of the student's Monitor when it gets the records one by one, each as (name, step,
    message).

    Raises:
        UserError: there is no Monitor as in question 6f, or it returned anything but lists of
            Alarms.
    """
    try:
        reference = header.get("reference_loss")
        update = diagnostics.Monitor(header["total_steps"], reference_loss=reference).update
    except (AttributeError, TypeError) as error:
        if error.__traceback__.tb_next:  # raised in the student's code
            raise
        raise UserError(
            "diagnostics.py has no class Monitor(total_steps, reference_loss=...) with a method "
            f"update, as in question 6f ({error})."
        ) from None
    alarms = []
    for record in records:
        returned = update({name: record[name] for name in record if name not in BEYOND})
        try:
            alarms += [(str(name), int(float(step)), str(said)) for name, step, said in returned]
        except (TypeError, ValueError, OverflowError):
            raise UserError(
                f"Monitor.update returned {str(returned)[:80]} for the record of step "
                f"{record['step']}. It should return a list of Alarms."
            ) from None
    return alarms


def page(header: dict, records: list[dict], alarms: list[tuple[str, int, str]]) -> str:
    """The page's HTML, from the header of a log, its records, and alarms, (name, step, message)."""
    reference = header.get("reference_loss") or math.nan
    end = records[-1]["step"] if records else 0
    compared = math.isfinite(reference) and bool(lines(records, "loss"))
    bounds, known = {"reference": reference} if compared else {}, ""
    if points := lines(records, "knowledge").get(()):
        people, how = header.get("people", "some"), header.get("asked", "as in the training")
        says = f"Known birthplaces, of {people} people of dev, asked {how}."
        if half := [step for step, value in points if value >= 0.5]:
            says += f" Half of them were first known at step {half[0]:,}."
        known = plot("knowledge", records, [], says)
    losses = plot("loss", records, alarms, **bounds) + REFERENCE * compared + known
    sections = {
        "Loss and knowledge" if known else "Loss": losses,
        "Learning rate": plot("lr", records, alarms),
        "Gradient norm by layer": plot("grad_norm", records, alarms),
        "Attention entropy by head": plot("attention_entropy", records, alarms),
        "Repetition in sampled texts": plot("repetition_rate", records, alarms),
    }
    if written := [(record["step"], record["texts"]) for record in records if "texts" in record]:
        chosen = sorted({round((len(written) - 1) * part / 5) for part in range(6)})
        html = "<p>Drawn at temperature 1. A boxed M is MASK, a pale dot PAD.</p>\n"
        for step, texts in (written[i] for i in chosen):
            rows = ("".join(SPECIAL.get(ch) or escape(ch) for ch in text) for text in texts)
            rows = "".join(f"<li>{row}</li>" for row in rows)
            html += f'<h3>Step {step:,}</h3>\n<ul class="texts">{rows}</ul>\n'
        sections["Sampled texts"] = html
    facts = [plural(len(records), "record")]
    facts += [f"{name} {header[name]}" for name in ("preset", "seed") if name in header]
    state = f'<p class="state wrong">{plural(len(alarms), "alarm")}</p>\n{listed(alarms)}'
    top = f"""<h1>{escape(str(header.get("run", "A training")))}</h1>
<p class="muted">Step {end:,} of {header["total_steps"]:,},
{escape(", ".join(facts))}.{pace(header["total_steps"] - end, records)}</p>
{state if alarms else '<p class="state">No alarm.</p>'}"""
    return document("Dashboard", top, sections, FOOTER, CSS + OF_TEXTS)


def pace(left: int, records: list[dict]) -> str:
    """How long the training took, and how long the steps that are left take at its present pace."""

    def words(seconds):
        return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"

    times = lines(records, "seconds").get((), [])[-20:]
    if len(times) < 2:
        return ""
    (first, earlier), (last, now) = times[0], times[-1]
    rest = words(max(0, left) * (now - earlier) / (last - first))
    so_far = f" so far; at its present pace, {rest} are left" if left > 0 else ""
    return f" It took {words(now)}{so_far}."


def plural(count: int, what: str) -> str:
    """How many of something."""
    return f"{count:,} {what}{'s' * (count != 1)}" if count else f"no {what}s"
