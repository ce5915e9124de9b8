"""Feeds traces to a Monitor, record by record, and reads its alarms (6f)."""

from dataclasses import dataclass

from autograder import WrongAnswer, probe
from checks.problem6.q6f.traces import MISSING, NAMES, Trace

KEPT = 40  # records with alarms that are read, per trace; correct monitors have at most six


@dataclass(frozen=True)
class Raised:
    """An alarm, and the number of the record that raised it."""

    record: int
    name: str


@probe
def replay(traces, missing, kept, in_turns):
    """Feed each trace to its own Monitor, record by record; in_turns: interleaved across traces. A
    missing value is None in some records, and left out in others.
    """
    from itertools import zip_longest

    from submission.problem6.diagnostics import Monitor

    def plain(alarms):
        if not isinstance(alarms, list):
            return alarms
        return [tuple(alarm) if isinstance(alarm, tuple) else alarm for alarm in alarms]

    def follow(trace, result):
        columns = {
            name: (
                values.tolist(),
                (values.reshape(len(values), -1) == missing).any(axis=1).tolist(),
            )
            for name, values in trace["columns"].items()
        }
        monitor = Monitor(trace["total_steps"], reference_loss=trace["reference_loss"])
        result |= {"raised": [], "changed": False, "begun": plain(monitor.alarms)}
        for i in range(len(columns["step"][0])):
            there = {name: values[i] for name, (values, gone) in columns.items() if not gone[i]}
            record = {**dict.fromkeys(columns if i % 2 else ()), **there}
            before = repr(record)  # including the lists in it
            alarms = monitor.update(record)
            result["changed"] |= repr(record) != before
            listed = isinstance(alarms, list)
            if not listed or alarms:
                result["raised"].append([i, plain(alarms)])
            if not listed or len(result["raised"]) == kept:
                break
            yield
        result["alarms"] = plain(monitor.alarms)

    results = [{} for _ in traces]
    runs = [follow(trace, result) for trace, result in zip(traces, results)]
    for _ in zip_longest(*runs) if in_turns else (record for run in runs for record in run):
        pass
    return results


def run_replay(student, traces: list[Trace], in_turns: bool = False) -> list:
    """Run replay: the unchecked answer for each trace; see read_alarms."""
    inputs = [
        {
            "total_steps": trace.total_steps,
            "reference_loss": trace.reference_loss,
            "columns": trace.columns,
        }
        for trace in traces
    ]
    return student.run(replay, traces=inputs, missing=MISSING, kept=KEPT, in_turns=in_turns).items(
        len(traces)
    )


def read_alarms(answer, trace: Trace) -> list[Raised]:
    """Read the alarms that a Monitor raised in a trace. Raises WrongAnswer unless they are lists of
    Alarms as the question asks.
    """
    if answer["changed"].flag():
        raise WrongAnswer("Monitor.update changed its record. It should only read it.")
    if isinstance(answer["begun"].value, list) and answer["begun"].value:
        raise WrongAnswer(
            "A new Monitor has another one's alarms in its list. Do all Monitors share one list, "
            "created in the class or as a default argument? Create self.alarms in __init__."
        )
    raised, told = [], []
    for entry in answer["raised"].items():
        number, alarms = entry.items(2)
        i = int(number.number())
        if not isinstance(alarms.value, list):
            raise WrongAnswer(
                f"Monitor.update returned {alarms.describe()} for a record. It should return the "
                "list of Alarms that this record raises, [] if there are none."
            )
        for alarm in alarms.items():
            name = read_alarm(
                alarm, int(trace.columns["step"][i]), "Monitor.update returned a list"
            )
            if name in {one.name for one in raised}:
                raise WrongAnswer(
                    f"{name} was raised a second time in the same trace. Each name is raised at "
                    "most once."
                )
            raised.append(Raised(i, name))
            told.append(alarm.value)
    if answer["alarms"].named("Monitor.alarms").present().value != told:
        raise WrongAnswer(
            f"Monitor.alarms is not the list of the {len(told)} Alarms that update returned so "
            f"far: it is {answer['alarms'].describe()}."
        )
    return raised


def read_alarm(alarm, at: int, where: str) -> str:
    """Read the name of an Alarm that the record of step `at` raised; where: the list that has
    it.
    """
    if not isinstance(alarm.value, tuple) or len(alarm.value) != 3:
        raise WrongAnswer(f"{where} with {alarm.describe()} in it. It should be a list of Alarms.")
    parts = zip(alarm.items(3), ("name", "step", "message"))
    name, step, message = (part.named(f"An Alarm's {what}") for part, what in parts)
    if name.text() not in NAMES:
        raise WrongAnswer(
            f"An Alarm's name is {name.value[:60]!r}. The names are {', '.join(NAMES)}."
        )
    if step.number() != at:
        raise WrongAnswer(
            f"An Alarm ({name.value}) has step {step.value}, and was raised by the record of step "
            f"{at}."
        )
    if not message.text().strip():
        raise WrongAnswer(f"An Alarm ({name.value}) has an empty message.")
    return name.value
