"""Question 6f, basic: faults put into fresh traces, one of each kind, and a writer's records."""
import numpy as np

from autograder import WrongAnswer, check, probe
from checks.monitor import in_time, read_alarm, read_alarms, run_replay
from checks.traces import (Trace, barely_converge, break_off, come_near, die, draw_healthy, explode, measure_rarely, overflow,
                           repeat, saturate, stall, vanish)

# The fault, what puts it into a trace, and where to look if it is not reported.
FAULTS = (
    ("exploding_loss", explode, "The median of the last 5 losses is above 1.5 times its lowest from there on, and rises."),
    ("exploding_loss", break_off, "The loss is NaN there: that alone is enough. NaN compares as False with everything."),
    ("exploding_loss", overflow, "The loss is infinite there: that alone is enough."),
    ("repetition", repeat, "Records between two samples have no repetition_rate: they end no row."),
    ("slow_convergence", stall, "The loss stays where it began."),
    ("dead_attention", die, "It is one head of one layer; all others are well."),
    ("saturated_attention", saturate, "It is one head of one layer; all others are well."),
    ("vanishing_gradients", vanish, "The layer nearest to the input is the first of grad_norm."),
)
NEEDS = {"exploding_loss": "loss", "slow_convergence": "loss", "repetition": "repetition_rate",
         "dead_attention": "attention_entropy", "saturated_attention": "attention_entropy", "vanishing_gradients": "grad_norm"}

# What a healthy trace near the limits has instead of each fault.
NEAR = {"exploding_loss": "For 25 records, the loss is about 1.4 times its lowest.",
        "repetition": "There are samples of about 0.43 in a row, and later two of 0.6 to 0.9 and one of 0.0 in turns.",
        "dead_attention": "One head stays at 0.97; two others take turns at 0.995, for 10 records each.",
        "saturated_attention": "One head stays at 0.03; two others take turns at 0.004, for 10 records each.",
        "vanishing_gradients": "The first layer's gradient is about 0.005 of the last layer's.",
        "slow_convergence": "The loss has covered about 15 percent of its way when a quarter is over."}


def draw_fresh(rng, name: str = "healthy", **sizes) -> Trace:
    """A healthy trace, in which no record is exactly at a quarter or a tenth of total_steps."""
    trace = draw_healthy(rng, name=name, **sizes)
    trace.total_steps += int(rng.integers(10, 20))      # a multiple of 2000 before, and steps are multiples of 5
    return trace


def draw_cases(rng) -> list:
    """(trace, the name of its fault or None, the onset, hints by name): each fault in a whole trace, and in one that has nothing
    else; and healthy traces."""
    cases = []
    for name, put, hint in FAULTS:
        trace = draw_fresh(rng, name=f"a trace with {name}")
        onset = put(trace, rng, at=int(rng.integers(112, 121)))
        cases += [(each, name, onset, {name: hint}) for each in (trace, trace.only(NEEDS[name]))]
    begun = draw_fresh(rng, name="a trace with dead_attention from the beginning")
    cases.append((begun, "dead_attention", die(begun, rng, at=0), {"dead_attention": "It never did anything else."}))
    healthy = [draw_fresh(rng) for _ in range(4)]
    healthy[1].name = "a healthy trace with gradients and entropies in some records only"
    measure_rarely(healthy[1], rng)
    healthy[2].name, healthy[2].reference_loss = "a trace with a loss that stays where it began, but no reference_loss", None
    stall(healthy[2], rng)
    near = draw_fresh(rng, name="a healthy trace near the limits", n_layer=3, n_head=int(rng.integers(2, 4)))
    come_near(near, rng)
    slow = draw_fresh(rng, name="a trace that converges rather slowly")
    barely_converge(slow, rng)
    cases += [(trace, None, None, {}) for trace in (*healthy[:3], healthy[3].only())]
    return cases + [(trace, None, None, NEAR) for trace in (near, slow)]


@check("6f-0-basic")
def test_each_fault(student, rng):
    """Whole traces, and traces in which the records have nothing but the step and what the fault shows in."""
    cases = draw_cases(rng)
    traces = [case[0] for case in cases]
    found = [{alarm.name: alarm.record for alarm in read_alarms(answer, trace)}
             for trace, answer in zip(traces, run_replay(student, traces))]
    _require_apart(student, traces[:2 * len(FAULTS):6], found[:2 * len(FAULTS):6])
    for (trace, fault, onset, hints), raised in zip(cases, found):
        loss = trace.columns.get("loss", np.zeros(1))
        ends = None if np.isfinite(loss).all() else onset
        what = f"{trace.name}, {len(trace)} records of a training of {trace.total_steps} steps" + (
            f" with nothing but {', '.join(trace.columns)}" if len(trace.columns) < 4 else "")
        if fault and fault not in raised:
            raise WrongAnswer(f"In {what}, the fault begins at record {onset} (counted from 0), and was not reported. "
                              f"{hints[fault]}")
        if fault and not in_time(raised[fault], onset, ends):
            early = "more than 20 records too early" if raised[fault] < onset else "too late"
            raise WrongAnswer(f"In {what}, the fault begins at record {onset} (counted from 0). It was reported at record "
                              f"{raised[fault]}, which is {early}. {hints[fault]}")
        if others := raised.keys() - {fault}:
            name = min(others)
            advice = hints.get(name, "For how long must a rule hold, and from when on?")
            raise WrongAnswer(f"In {what}, {name} was raised at record {raised[name]}, and there is no such fault. {advice}")


def _require_apart(student, traces, found):
    """Monitors that read traces in turns raise the same as one after the other: each remembers for itself."""
    for trace, alone, answer in zip(traces, found, run_replay(student, traces, in_turns=True)):
        if {alarm.name: alarm.record for alarm in read_alarms(answer, trace)} != alone:
            raise WrongAnswer("Monitors that are given their records in turns raise other alarms than when one reads its trace "
                              "after the other. Do they share what they remember, in a global, in the class or in a default "
                              "argument?")


@probe
def write(calls, total_steps):
    """What a Monitor passes on to update when values are written to it, and it is then closed twice; and in which call."""
    from submission.diagnostics import Monitor
    records, made = [], 0

    class Spy(Monitor):
        def update(self, record):
            records.append([made, dict(record) if isinstance(record, dict) else record])
            return super().update(record)

    untouched = Spy(total_steps)
    untouched.close()
    monitor = Spy(total_steps)
    for made, (name, value, step) in enumerate(calls, start=1):
        monitor.add_scalar(name, value, step)
    for made in (len(calls) + 1, len(calls) + 2):
        monitor.close()
    alarms = monitor.alarms
    if isinstance(alarms, list):
        alarms = [tuple(alarm) if isinstance(alarm, tuple) else alarm for alarm in alarms]
    return {"records": records, "alarms": alarms}


@check("6f-1-basic")
def test_writer(student, rng):
    """Losses of several steps, from 0 on, with some of the other values, which may be 0, in any order; the last loss is infinite,
    so there is an alarm at last."""
    calls, expected, step = [], [], 0
    for number in range(6):
        step += int(rng.integers(1, 20)) * (number > 0)
        values = {"loss": float(rng.uniform(1, 2)), "lr": float(rng.uniform(1e-4, 1e-3)),
                  "grad_norm": rng.uniform(0.5, 1, size=3).tolist(), "test_loss": float(rng.uniform(1, 2))}
        names = rng.permutation(["lr", "loss"] + ["test_loss"] * (number % 3 == 1)).tolist()
        names[number % 4:number % 4] = ["grad_norm"] * (number % 2 == 0)        # once first, where the step before has none
        if number in (0, 3):
            values["lr"] = 0.0
        if number == 5:
            values["loss"] = float("inf")
        if expected:
            expected[-1][0] = len(calls) + 1        # it is passed on by the first call of the next step
        calls += [[name, values[name], step] for name in names]
        expected.append([0, {"step": step, **{name: values[name] for name in names}}])
    expected[-1][0] = len(calls) + 1
    answer = student.run(write, calls=calls, total_steps=20 * step)
    records = [[int(part.items(2)[0].number()), part.items(2)[1].value] for part in answer["records"].items()]
    _require_records(records, expected, [call[2] for call in calls])
    if not isinstance(answer["alarms"].value, list):
        raise WrongAnswer(f"Monitor.alarms should be a list of Alarms; it is {answer['alarms'].describe()}.")
    names = [read_alarm(alarm, step, "Monitor.alarms is a list") for alarm in answer["alarms"].items()]
    if names != ["exploding_loss"]:
        raise WrongAnswer("After an infinite loss was written and the writer closed, Monitor.alarms has "
                          f"{', '.join(names) or 'nothing'}; it should have exploding_loss.")


def _require_records(records, expected, steps):
    """Every record passed on once, complete, and as soon as a later step began."""
    last = expected[-1][1]["step"]
    got = [record for _, record in records]
    wanted = [record for _, record in expected]
    if got == wanted:
        for (made, record), (when, _) in zip(records, expected):
            if made != when:
                raise WrongAnswer(f"The record of step {record['step']} was passed to update in call {made}; the one that begins "
                                  f"the next step is call {when}.")
        return
    if not all(isinstance(record, dict) and "step" in record for record in got):
        raise WrongAnswer("A record that add_scalar or close passed to update is no dict with the key \"step\".")
    if not got:
        raise WrongAnswer(f"After {len(steps)} calls of add_scalar for {len(wanted)} steps, and close, nothing was passed to "
                          "update.")
    if len(got) >= len(steps):
        raise WrongAnswer(f"{len(steps)} calls of add_scalar for {len(wanted)} steps passed {len(got)} records to update. The "
                          "values of one step belong into one record.")
    counts = {step: [record["step"] for record in got].count(step) for step in dict.fromkeys(steps)}
    for step, count in counts.items():
        if count == 0:
            advice = "close should pass on the last." if step == last else "Which call passes it on?"
            raise WrongAnswer(f"The record of step {step} was not passed to update. {advice}")
        if count > 1:
            advice = "A second close has nothing to pass on." if step == last else "Once passed on, it is done with."
            raise WrongAnswer(f"The record of step {step} was passed to update {count} times. {advice}")
    for record, right in zip(got, wanted):
        if record != right:
            raise WrongAnswer(f"For step {right['step']}, update got {record}; it should get {right}.")
