"""./run.sh dashboard: run the student's Monitor on a training log, and make a page of both."""

import math
from html import escape
from pathlib import Path
from string import Template

from common.files import UserError, write_text
from common.pages import document
from jobs.problem6.over_steps import CSS, PLOTS, lines, listed, plot
from jobs.returned import wrong_result
from jobs.targets import JOBS
from jobs.training_log import BEYOND, read_log

TRAINING = next((job.target for job in JOBS.values() if job.kind == "pretrain"), "TARGET")
SPECIAL = {"\u2047": '<b class="mask">M</b>', "\u25a1": '<i class="pad">\u00b7</i>'}
FOOTER = """Gradients and entropies are those of one batch, the same in the whole training, without
dropout. Alarms are those of your diagnostics.py."""


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
            should = f"a list of Alarms for the record of step {record['step']}"
            raise wrong_result("Monitor.update", returned, should) from None
    return alarms


def page(header: dict, records: list[dict], alarms: list[tuple[str, int, str]]) -> str:
    """The page's HTML, from the header of a log, its records, and alarms, (name, step, message);
    its text is in dashboard.html.
    """
    reference = header.get("reference_loss") or math.nan
    end, total = records[-1]["step"] if records else 0, header["total_steps"]
    people, how = header.get("people", "some"), header.get("asked", "as in the training")
    says = f"Known birthplaces, of {people} people of dev, asked {how}."
    known = lines(records, "knowledge").get((), [])
    if half := [step for step, value in known if value >= 0.5]:
        says += f" Half of them were first known at step {half[0]:,}."
    own = {"loss": {"reference": reference} if math.isfinite(reference) else {}}
    own["knowledge"] = {"what": says}
    facts = [plural(len(records), "record")]
    facts += [f"{name} {header[name]}" for name in ("preset", "seed") if name in header]
    written = [record for record in records if "texts" in record]
    texts = "" if written else '<p class="muted">No record has texts.</p>'
    chosen = {round((len(written) - 1) * part / 5) for part in range(6)} if written else ()
    for record in (written[number] for number in sorted(chosen)):
        rows = ("".join(SPECIAL.get(ch) or escape(ch) for ch in text) for text in record["texts"])
        rows = "".join(f"<li>{row}</li>" for row in rows)
        texts += f'<h3>Step {record["step"]:,}</h3>\n<ul class="texts">{rows}</ul>\n'
    state = f'<p class="state wrong">{plural(len(alarms), "alarm")}</p>\n{listed(alarms)}'
    body = Template(Path(__file__).with_name("dashboard.html").read_text("utf-8")).substitute(
        run=escape(str(header.get("run", "A training"))),
        step=f"{end:,}",
        total=f"{total:,}",
        facts=escape(", ".join(facts)),
        pace=pace(total - end, lines(records, "seconds").get((), [])[-20:]),
        alarms=state if alarms else '<p class="state">No alarm.</p>',
        texts=texts,
        **{key: plot(key, records, alarms, **own.get(key, {})) for key in PLOTS},
    )
    return document("Dashboard", body, {}, FOOTER, CSS)


def pace(left: int, times: list[tuple[int, float]]) -> str:
    """How long the training took, and how long the steps that are left take at its present pace,
    from some of its last steps with their seconds since the start; "" if there are too few.
    """
    if len(times) < 2:
        return ""
    (first, earlier), (last, now) = times[0], times[-1]
    rest = max(0, left) * (now - earlier) / (last - first)
    took, rest = (
        f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
        for seconds in (now, rest)
    )
    so_far = f" so far; at its present pace, {rest} are left" if left > 0 else ""
    return f" It took {took}{so_far}."


def plural(count: int, what: str) -> str:
    """How many of something."""
    return f"{count:,} {what}{'s' * (count != 1)}" if count else f"no {what}s"
