"""Question 6f, basic: traces with and without faults, rare values, and a writer's records."""

from autograder import WrongAnswer, check, probe
from checks.problem6.q6f.monitor import read_alarm, read_alarms, run_replay
from checks.problem6.q6f.runs import FAULTS, Run, by_name, draw_faults, draw_no_faults, draw_rare


def replay_runs(student, runs: list[Run]) -> list[dict[str, int]]:
    """Replay traces: the record of each alarm in each trace, by name.

    Raises:
        WrongAnswer: update or alarms are not lists of Alarms as the question asks.
    """
    answers = run_replay(student, [run.trace for run in runs])
    return [by_name(read_alarms(answer, run.trace)) for run, answer in zip(runs, answers)]


@check("6f-0-basic")
def test_each_fault(student, rng):
    """Each fault is reported in time, in whole traces and in records with few other values."""
    runs = draw_faults(rng)
    found = replay_runs(student, runs)
    some = slice(0, 2 * len(FAULTS), 6)
    _require_apart(student, runs[some], found[some])
    for run, raised in zip(runs, found):
        if missed := run.missed(raised):
            raise WrongAnswer(missed)


def _require_apart(student, runs, found):
    """Check that Monitors whose traces are interleaved raise the same alarms."""
    traces = [run.trace for run in runs]
    for trace, alone, answer in zip(traces, found, run_replay(student, traces, in_turns=True)):
        if by_name(read_alarms(answer, trace)) != alone:
            raise WrongAnswer(
                "Monitors whose records are interleaved raise different alarms from Monitors run "
                "one after another. Do they share state in a global, in the class or in a default "
                "argument?"
            )


@check("6f-4-basic")
def test_false_alarms(student, rng):
    """Only real faults are reported, in traces with and without them."""
    faults = draw_faults(rng)
    runs = draw_no_faults(rng) + faults
    found = replay_runs(student, runs)
    for run, raised in zip(runs, found):
        if false := run.false(raised):
            raise WrongAnswer(false)
    missed = sum(bool(run.missed(raised)) for run, raised in zip(runs, found))
    if missed > len(faults) / 2:  # a Monitor that reports nothing has no false alarms
        raise WrongAnswer(
            f"There is no false alarm, but of {len(faults)} faults {missed} were not "
            "reported in time."
        )


@check("6f-5-basic")
def test_rare_values(student, rng):
    """A reference of 0.0, a first loss that is NaN, a rate of 0.0."""
    runs = draw_rare(rng)
    for run, raised in zip(runs, replay_runs(student, runs)):
        if problem := run.missed(raised) or run.false(raised):
            raise WrongAnswer(problem)


@probe
def write(calls, total_steps):
    """Write values to a Monitor and close it twice; return what it passes to update, and in which
    call.
    """
    from submission.problem6.diagnostics import Monitor

    records, made = [], 0

    class Spy(Monitor):
        def update(self, record):
            records.append([made, dict(record) if isinstance(record, dict) else record])
            return super().update(record)

    untouched = Spy(total_steps)
    untouched.close()
    monitor = Spy(total_steps)
    for made, (name, value, step) in enumerate(calls, start=1):  # noqa: B007  the spy reads it
        monitor.add_scalar(name, value, step)
    for made in (len(calls) + 1, len(calls) + 2):  # noqa: B007  the spy reads it
        monitor.close()
    alarms = monitor.alarms
    if isinstance(alarms, list):
        alarms = [tuple(alarm) if isinstance(alarm, tuple) else alarm for alarm in alarms]
    return {"records": records, "alarms": alarms}


@check("6f-1-basic")
def test_writer(student, rng):
    """Losses of several steps, from 0 on, and some other values, which may be 0, in any order; the
    last loss is infinite, so there is an alarm at the end.
    """
    calls, expected, step = [], [], 0
    for number in range(6):
        step += int(rng.integers(1, 20)) * (number > 0)
        values = {
            "loss": float(rng.uniform(1, 2)),
            "lr": float(rng.uniform(1e-4, 1e-3)),
            "grad_norm": rng.uniform(0.5, 1, size=3).tolist(),
            "test_loss": float(rng.uniform(1, 2)),
        }
        names = rng.permutation(["lr", "loss"] + ["test_loss"] * (number % 3 == 1)).tolist()
        # once first, where the step before has none
        names[number % 4 : number % 4] = ["grad_norm"] * (number % 2 == 0)
        if number in (0, 3):
            values["lr"] = 0.0
        if number == 5:
            values["loss"] = float("inf")
        if expected:
            expected[-1][0] = len(calls) + 1  # the first call of the next step passes it on
        calls += [[name, values[name], step] for name in names]
        expected.append([0, {"step": step, **{name: values[name] for name in names}}])
    expected[-1][0] = len(calls) + 1
    answer = student.run(write, calls=calls, total_steps=20 * step)
    records = [
        [int(part.items(2)[0].number()), part.items(2)[1].value]
        for part in answer["records"].items()
    ]
    _require_records(records, expected, [call[2] for call in calls])
    if not isinstance(answer["alarms"].value, list):
        raise WrongAnswer(
            f"Monitor.alarms should be a list of Alarms; it is {answer['alarms'].describe()}."
        )
    names = [
        read_alarm(alarm, step, "Monitor.alarms is a list") for alarm in answer["alarms"].items()
    ]
    if names != ["exploding_loss"]:
        raise WrongAnswer(
            "After an infinite loss was written and the writer closed, Monitor.alarms has "
            f"{', '.join(names) or 'nothing'}; it should have exploding_loss."
        )


def _require_records(records, expected, steps):
    """Check that every record is passed on once, complete, and as soon as a later step starts."""
    last = expected[-1][1]["step"]
    got = [record for _, record in records]
    wanted = [record for _, record in expected]
    if got == wanted:
        for (made, record), (when, _) in zip(records, expected):
            if made != when:
                raise WrongAnswer(
                    f"The record of step {record['step']} was passed to update in call {made}; the "
                    f"next step starts in call {when}."
                )
        return
    if not all(isinstance(record, dict) and "step" in record for record in got):
        raise WrongAnswer(
            'A record that add_scalar or close passed to update is not a dict with the key "step".'
        )
    if not got:
        raise WrongAnswer(
            f"After {len(steps)} calls of add_scalar for {len(wanted)} steps, and close, nothing "
            "was passed to update."
        )
    if len(got) >= len(steps):
        raise WrongAnswer(
            f"{len(steps)} calls of add_scalar for {len(wanted)} steps passed {len(got)} records "
            "to update. The values of one step belong in one record."
        )
    counts = {step: [record["step"] for record in got].count(step) for step in dict.fromkeys(steps)}
    for step, count in counts.items():
        if count == 0:
            advice = (
                "close should pass on the last." if step == last else "Which call passes it on?"
            )
            raise WrongAnswer(f"The record of step {step} was not passed to update. {advice}")
        if count > 1:
            advice = (
                "A second close should pass on nothing."
                if step == last
                else "Pass it on once and then discard it."
            )
            raise WrongAnswer(
                f"The record of step {step} was passed to update {count} times. {advice}"
            )
    for record, right in zip(got, wanted):
        if record != right:
            raise WrongAnswer(
                f"For step {right['step']}, update got {record}; it should get {right}."
            )
