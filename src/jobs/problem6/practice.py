"""./run.sh practice_monitor: run the student's Monitor on the recorded trainings in data/traces,
and compare its alarms with the labels (question 6f).

A trace is a log of a training whose header has "faults": the step of each fault's onset, by name.
"""

import math
from bisect import bisect_left
from html import escape
from itertools import groupby
from pathlib import Path

from common.alarms import TOLERANCE, in_time
from common.files import UserError, write_text
from common.pages import document
from jobs.options import ROOT
from jobs.problem6.dashboard import watch
from jobs.problem6.over_steps import CSS, PLOTS, SECTION, listed, plot
from jobs.training_log import read_log

TRACES = ROOT / "data" / "traces"
IN_TIME = "in time"


def practice_monitor(diagnostics, out: Path, folder: Path = TRACES) -> None:
    """Print what the Monitor found in each trace, and write practice.html into `out`.

    Args:
        diagnostics: the submission's module.
        folder: of the traces.

    Raises:
        UserError: a trace is missing or cannot be read, or the Monitor returned anything but lists
            of Alarms.
    """
    paths, sections, verdicts = sorted(folder.glob("*.jsonl")), {}, []
    if not paths:
        raise UserError(f"There are no traces in {folder}. Copy it from the assignment again.")
    for path in paths:
        header, records = read_log(path, "Copy it from the assignment again.")
        judged = judge(header["faults"], records, watch(diagnostics, header, records))
        print(f"\n{header['run']}")
        for name, step, words, _ in judged:
            print(f"  step {step:>4}  {name:<21}{words}")
        if not judged:
            print("  no fault and no alarm: right")
        verdicts += [fine for *_, fine in judged if fine is not None]
        shown = {"loss", *(SECTION.get(name) for name, *_ in judged)}
        sections[escape(header["run"])] = (
            listed(judged) if judged else '<p class="state">No fault and no alarm.</p>'
        ) + "".join(plot(key, records, judged) for key in PLOTS if key in shown)
    summary = f"{sum(verdicts)} of {len(verdicts)} faults and alarms are right."
    print(f"\n{summary}")
    html = out / "practice.html"
    top = f"<h1>Your monitor on recorded trainings</h1>\n<p>{summary}</p>"
    footer = "The hidden checks replay other traces, made in the same way."
    write_text(html, document("Practice", top, sections, footer, CSS))
    print(f"Wrote {html}: open it in a browser.")


def judge(
    faults: dict[str, int], records: list[dict], alarms: list[tuple[str, int, str]]
) -> list[tuple[str, int, str, bool | None]]:
    """Compare alarms with the labels, in the order of their steps.

    Args:
        faults: name -> the step of its onset. alarms: (name, step, message).

    Returns:
        (name, step, words, right or not) for each fault that was missed, and for alarms of a name
        that follow each other and have the same verdict; for the label of a fault with an alarm,
        None at the end, since it is judged there.
    """
    steps = [record["step"] for record in records]
    losses = [record.get("loss") or 0.0 for record in records]
    ends = next((i for i, loss in enumerate(losses) if not math.isfinite(loss)), None)
    judged = []
    for name in dict.fromkeys([*faults, *(name for name, _, _ in alarms)]):
        raised = sorted(step for other, step, _ in alarms if other == name)
        onset = bisect_left(steps, faults.get(name, 0))
        if name in faults:
            missed = "" if raised else ", and was not reported: missed"
            judged.append((name, faults[name], f"begins here{missed}", None if raised else False))

        def verdict(step):
            if name not in SECTION:
                return f"no such fault; the names are {', '.join(SECTION)}"
            if name not in faults:
                return "false, there is no such fault"
            limit = ends if name == "exploding_loss" else None
            if in_time(bisect_left(steps, step), onset, limit):
                return IN_TIME
            return f"not in time; {TOLERANCE} are allowed, and none after a loss that is not finite"

        for words, same in groupby(raised, verdict):
            first, *others = same
            late = bisect_left(steps, first) - onset
            said = "your alarm"
            if others:
                said = f"steps {first:,} to {others[-1]:,}, {len(others) + 1} alarms"
            elif name in faults:
                when = f"{abs(late)} records {'after' if late > 0 else 'before'} it"
                said += f", {when if late else 'at once'}"
            judged.append((name, first, f"{said}: {words}", words == IN_TIME))
    return sorted(judged, key=lambda entry: entry[1])
