"""./run.sh dashboard: run the student's Monitor on a training log, and make a page of both."""

import inspect
from pathlib import Path

from common.files import UserError, write_text
from jobs.problem6.dashboard_page import page, plural
from jobs.targets import JOBS
from jobs.training_log import BEYOND, read_log

TRAINING = next((job.target for job in JOBS.values() if job.kind == "pretrain"), "TARGET")


def dashboard(diagnostics, out: Path) -> None:
    """Write dashboard.html into `out`, from the newest log in its folder runs.

    Args:
        diagnostics: the submission's module.
        out: the results folder.

    Raises:
        UserError: there is no log, it cannot be read, or the Monitor returned anything but lists of
            Alarms.
    """
    path = newest_log(out / "runs")
    header, records = read_log(path)
    alarms = watch(diagnostics, header, records)
    html = out / "dashboard.html"
    write_text(html, page(header, records, alarms))
    print(f"{path}: {plural(len(records), 'record')} of {header.get('run', 'a training')}")
    for name, step, message in alarms:
        print(f"  step {step:>6}  {name}: {message}")
    print(
        f"{plural(len(alarms), 'alarm') if alarms else 'no alarms'}\n"
        f"Wrote {html}: open it in a browser."
    )


def newest_log(folder: Path) -> Path:
    """The most recently written log; raises UserError if there is none."""
    logs = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    if not logs:
        raise UserError(
            f"There is no log in {folder}. A training writes one with --log: ./run.sh {TRAINING} "
            "--log (a few minutes on a laptop; you can make the dashboard while it runs)."
        )
    return logs[-1]


def watch(diagnostics, header: dict, records: list[dict]) -> list[tuple[str, int, str]]:
    """The alarms of the student's Monitor when it gets the records one by one, each as (name, step,
    message).

    Raises:
        UserError: there is no Monitor as in question 6f, or it returned anything but lists of
            Alarms.
    """
    make = getattr(diagnostics, "Monitor", None)
    if not inspect.isclass(make) or not callable(getattr(make, "update", None)):
        raise UserError(
            "diagnostics.py has no class Monitor with a method update. See question 6f."
        )
    total_steps, reference = header["total_steps"], header.get("reference_loss")
    try:
        inspect.signature(make).bind(total_steps, reference_loss=reference)
    except (TypeError, ValueError) as error:
        raise UserError(
            "In diagnostics.py, Monitor(total_steps, reference_loss=...) should create a Monitor, "
            f"but its __init__ does not accept these arguments ({error})."
        ) from None
    monitor = make(total_steps, reference_loss=reference)
    alarms = []
    for record in records:
        returned = monitor.update({name: record[name] for name in record if name not in BEYOND})
        try:
            for name, step, message in returned:
                alarms.append((str(name), int(step), str(message)))
                if abs(alarms[-1][1]) >= 2**53:
                    raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise UserError(
                f"Monitor.update returned {str(returned)[:80]} for the record of step "
                f"{record['step']}. It should return a list of Alarms."
            ) from None
    return alarms
