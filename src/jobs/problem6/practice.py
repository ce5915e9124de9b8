"""./run.sh practice_monitor: run the student's Monitor on the recorded trainings in data/traces,
and compare its alarms with the labels (question 6f).

A trace is a log of a training whose header has "faults": the step of each fault's onset, by name.
"""

import math
from bisect import bisect_left
from html import escape
from pathlib import Path

from common.alarms import TOLERANCE, in_time
from common.files import UserError, write_text
from common.pages import document, table
from jobs.options import ROOT
from jobs.problem6 import dashboard_page, over_steps
from jobs.problem6.dashboard import watch
from jobs.training_log import read_log

TRACES = ROOT / "data" / "traces"
PLOTS = {
    "loss": dashboard_page.loss,
    "repetition_rate": dashboard_page.repetition,
    "grad_norm": dashboard_page.gradients,
    "attention_entropy": dashboard_page.entropies,
}


def practice_monitor(diagnostics, out: Path, folder: Path = TRACES) -> None:
    """Print what the Monitor found in each trace, and write practice.html into `out`.

    Args:
        diagnostics: the submission's module.
        folder: of the traces.

    Raises:
        UserError: a trace is missing or cannot be read, or the Monitor returned anything but lists
            of Alarms.
    """
    paths, sections, right, count = sorted(folder.glob("*.jsonl")), {}, 0, 0
    if not paths:
        raise UserError(f"There are no traces in {folder}. Copy it from the assignment again.")
    for path in paths:
        header, records = read_log(path, "Copy it from the assignment again.")
        judged = judge(header["faults"], records, watch(diagnostics, header, records))
        print(f"\n{header['run']}")
        for name, step, _, verdict in merged(judged):
            print(f"  step {step:>4}  {name:<21}{verdict}")
        if not judged:
            print("  no fault and no alarm: right")
        right += sum(fine for *_, fine, _ in judged if fine is not None)
        count += sum(fine is not None for *_, fine, _ in judged)
        sections[escape(header["run"])] = section(header, records, judged)
    summary = f"{right} of {count} faults and alarms are right."
    print(f"\n{summary}")
    html = out / "practice.html"
    top = f"<h1>Your monitor on recorded trainings</h1>\n<p>{summary}</p>"
    footer = "The hidden checks replay other traces, made in the same way."
    write_text(html, document("Practice", top, sections, footer, dashboard_page.CSS))
    print(f"Wrote {html}: open it in a browser.")


def judge(
    faults: dict[str, int], records: list[dict], alarms: list[tuple[str, int, str]]
) -> list[tuple[str, int, bool | None, str]]:
    """Compare alarms with the labels, in the order of their steps.

    Args:
        faults: name -> the step of its onset. alarms: (name, step, message).

    Returns:
        (name, step, right or not, words) for each fault that was missed and each alarm; for the
        label of a fault with an alarm, None instead, since it is judged there.
    """
    steps = [record["step"] for record in records]
    ends = next((i for i, record in enumerate(records) if not math.isfinite(loss(record))), None)
    raised = {name for name, _, _ in alarms}
    said = [
        (name, step, None, "begins here")
        if name in raised
        else (name, step, False, "begins here, and was not reported: missed")
        for name, step in faults.items()
    ]
    for name, step, _ in alarms:
        if name not in over_steps.SECTION:
            names = ", ".join(over_steps.SECTION)
            said.append((name, step, False, f"your alarm: no such fault; the names are {names}"))
            continue
        if name not in faults:
            said.append((name, step, False, "your alarm: false, there is no such fault"))
            continue
        number, onset = bisect_left(steps, step), bisect_left(steps, faults[name])
        late = number - onset
        fine = in_time(number, onset, ends if name == "exploding_loss" else None)
        when = f"{abs(late)} records {'after' if late > 0 else 'before'} it" if late else "at once"
        limits = f"{TOLERANCE} are allowed, and none after a loss that is not finite"
        verdict = "in time" if fine else f"not in time; {limits}"
        said.append((name, step, fine, f"your alarm, {when}: {verdict}"))
    return sorted(said, key=lambda entry: entry[1])


def merged(judged: list[tuple]) -> list[tuple]:
    """What judge returns, with an entry for each run of alarms of a name and with a verdict."""
    runs, latest = [], {}
    for entry in judged:
        name, _, fine, words = entry
        kind = fine, words.split(": ")[1:]
        if fine is None:  # a label, which ends no run
            runs.append([entry])
            continue
        if latest.get(name, (None,))[0] != kind:
            runs.append([])
            latest[name] = kind, runs[-1]
        latest[name][1].append(entry)
    result = []
    for (name, step, fine, words), *others in runs:
        if others:
            said = words.split(": ", 1)[-1]
            words = f"steps {step:,} to {others[-1][1]:,}, {len(others) + 1} alarms: {said}"
        result.append((name, step, fine, words))
    return result


def loss(record: dict) -> float:
    """The loss of a record; 0 if it has none."""
    return record.get("loss") or 0.0


def section(header: dict, records: list[dict], judged: list[tuple]) -> str:
    """The HTML of a trace: its labels and alarms in a table, and the plots that they belong to."""
    judged = merged(judged)
    run = over_steps.Run(header, records, [(name, step, "") for name, step, _, _ in judged])
    rows = [
        [str(i), escape(name), f"{step:,}", verdict]
        for i, (name, step, _, verdict) in enumerate(judged, start=1)
    ]
    head = ["No.", "Fault", "Step", "What"]
    caption = "Each is drawn as a dashed line with its number."
    listed = (
        f'<div class="alarms">{table(caption, head, rows)}</div>'
        if rows
        else '<p class="state">No fault and no alarm.</p>'
    )
    shown = {"loss", *(over_steps.SECTION.get(name) for name, *_ in judged)}
    return listed + "\n".join(plot(run) for name, plot in PLOTS.items() if name in shown)
