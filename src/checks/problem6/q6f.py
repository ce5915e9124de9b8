"""Question 6f, basic: traces with and without faults, rare values, and a writer's records."""

from autograder import WrongAnswer, check, probe
from checks.problem6.q6f_faults import FAULTS, draw_faulty, draw_gaps, draw_near, draw_rare
from checks.problem6.q6f_runs import MISSING, NAMES, NEEDS, Trace

KEPT = 40  # records with alarms that are read, per trace; correct monitors have at most six


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
        columns = {name: values.tolist() for name, values in trace["columns"].items()}
        gone = {
            name: (values.reshape(len(values), -1) == missing).any(axis=1).tolist()
            for name, values in trace["columns"].items()
        }
        monitor = Monitor(trace["total_steps"], reference_loss=trace["reference_loss"])
        result |= {"raised": [], "changed": False}
        for i in range(len(columns["step"])):
            record = {
                name: None if gone[name][i] else values[i]
                for name, values in columns.items()
                if i % 2 or not gone[name][i]
            }
            before = dict(record)
            alarms = monitor.update(record)
            result["changed"] |= record != before
            listed = isinstance(alarms, list)
            if not listed or alarms:
                result["raised"].append([i, plain(alarms)])
            if not listed or len(result["raised"]) == kept:
                break
            yield
        result["alarms"] = plain(monitor.alarms)
        result["changed"] |= any(  # the lists in it
            repr(columns[name]) != repr(values.tolist())
            for name, values in trace["columns"].items()
            if values.ndim > 1
        )

    results = [{} for _ in traces]
    runs = [follow(trace, result) for trace, result in zip(traces, results)]
    for _ in zip_longest(*runs) if in_turns else (record for run in runs for record in run):
        pass
    return results


def find_alarms(student, traces: list[Trace], in_turns: bool = False) -> list[dict[str, int]]:
    """Replay each trace to a Monitor of its own: name -> the record that raised this alarm, for
    each trace.

    Raises:
        WrongAnswer: update or alarms are not lists of Alarms as the question asks.
    """
    inputs = [
        {
            "total_steps": trace.total_steps,
            "reference_loss": trace.reference_loss,
            "columns": trace.columns,
        }
        for trace in traces
    ]
    reply = student.run(replay, traces=inputs, missing=MISSING, kept=KEPT, in_turns=in_turns)
    return [read_alarms(answer, trace) for answer, trace in zip(reply.items(len(traces)), traces)]


def read_alarms(answer, trace: Trace) -> dict[str, int]:
    """Read the alarms that a Monitor raised in a trace: name -> record."""
    if answer["changed"].flag():
        raise WrongAnswer("Monitor.update changed its record. It should only read it.")
    raised, returned = {}, []
    for entry in answer["raised"].items():
        number, alarms = entry.items(2)
        i = int(number.number())
        if not isinstance(alarms.value, list):
            raise WrongAnswer(
                f"Monitor.update returned {alarms.describe()} for a record. It should return the "
                "list of Alarms that this record raises, [] if there are none."
            )
        for alarm in alarms.items():
            step = int(trace.columns["step"][i])
            name = read_alarm(alarm, step, "Monitor.update returned a list")
            if name in raised:
                raise WrongAnswer(
                    f"{name} was raised a second time in the same trace. Each name is raised at "
                    "most once."
                )
            raised[name] = i
            returned.append(alarm.value)
    if answer["alarms"].named("Monitor.alarms").present().value != returned:
        raise WrongAnswer(
            f"Monitor.alarms is not the list of the {len(returned)} Alarms that update returned so "
            f"far: it is {answer['alarms'].describe()}. Do all Monitors share one list, created in "
            "the class or as a default argument? Create self.alarms in __init__."
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


@check("6f-0-basic")
def test_each_fault(student, rng):
    """Each fault is reported in time: in whole traces, in records with nothing else, and where some
    records lack values. Records are interleaved, so Monitors that share state miss some.
    """
    traces = []
    for put in FAULTS:
        whole = draw_faulty(rng, put)
        traces += [whole, whole.only(*{NEEDS[name] for name in whole.faults})]
    traces[0].columns["loss"] *= 4  # so that a first loss that all Monitors share is wrong
    traces += draw_gaps(rng)
    for trace, raised in zip(traces, find_alarms(student, traces, in_turns=True)):
        if not (missed := trace.missed(raised)):
            continue
        if find_alarms(student, [trace]) != [raised]:
            raise WrongAnswer(
                "Monitors whose records are interleaved raise different alarms from Monitors run "
                "one after another. Do they share state in a global, in the class or in a default "
                "argument?"
            )
        raise WrongAnswer(missed)


@check("6f-4-basic")
def test_false_alarms(student, rng):
    """Only real faults are reported, in traces with and without them."""
    faulty = [draw_faulty(rng, put) for put in FAULTS]
    traces = draw_near(rng) + faulty
    found = find_alarms(student, traces)
    for trace, raised in zip(traces, found):
        if false := trace.false(raised):
            raise WrongAnswer(false)
    missed = sum(bool(trace.missed(raised)) for trace, raised in zip(traces, found))
    if missed > len(faulty) / 2:  # a Monitor that reports nothing has no false alarms
        raise WrongAnswer(
            f"There is no false alarm, but of {len(faulty)} faults {missed} were not reported in "
            "time."
        )


@check("6f-5-basic")
def test_rare_values(student, rng):
    """A reference of 0.0, a first loss that is NaN, a rate of 0.0."""
    traces = draw_rare(rng)
    for trace, raised in zip(traces, find_alarms(student, traces)):
        if problem := trace.missed(raised) or trace.false(raised):
            raise WrongAnswer(problem)


@probe
def write(calls, total_steps):
    """Write values to a Monitor and close it twice, while another one has a value of its own; then
    close a new one. Return what each passes to update, and in which call.
    """
    from submission.problem6.diagnostics import Monitor

    passed, made = {}, 0

    class Spy(Monitor):
        def update(self, record):
            kept = dict(record) if isinstance(record, dict) else record
            passed.setdefault(id(self), []).append([made, kept])
            return super().update(record)

    other, monitor = Spy(total_steps), Spy(total_steps)
    other.add_scalar("loss", 1.0, total_steps)
    for made, (name, value, step) in enumerate(calls, start=1):  # noqa: B007  the spy reads it
        monitor.add_scalar(name, value, step)
    for made in (len(calls) + 1, len(calls) + 2):  # noqa: B007  the spy reads it
        monitor.close()
    other.close()
    new = Spy(total_steps)
    new.close()
    alarms = monitor.alarms
    if isinstance(alarms, list):
        alarms = [tuple(alarm) if isinstance(alarm, tuple) else alarm for alarm in alarms]
    records, others, none = (passed.get(id(each), []) for each in (monitor, other, new))
    return {"records": records, "others": [record for _, record in others + none], "alarms": alarms}


@check("6f-1-basic")
def test_writer(student, rng):
    """Losses of several steps, from 0 on, and some other values, which may be 0, in any order; the
    last loss is infinite, so there is an alarm at the end.
    """
    calls, expected, step = [], [], 0
    for number in range(6):
        step += int(rng.integers(1, 20)) * (number > 0)
        values = {
            "loss": float(rng.uniform(1, 2)) if number < 5 else float("inf"),
            "lr": float(rng.uniform(1e-4, 1e-3)) if number % 3 else 0.0,
            "grad_norm": rng.uniform(0.5, 1, size=3).tolist(),
            "test_loss": float(rng.uniform(1, 2)),
        }
        names = rng.permutation(["lr", "loss"] + ["test_loss"] * (number % 3 == 1)).tolist()
        # once first, where the step before has none
        names[number % 4 : number % 4] = ["grad_norm"] * (number % 2 == 0)
        calls += [[name, values[name], step] for name in names]
        # the first call of the next step passes the record on, or close
        expected.append([len(calls) + 1, {"step": step, **{name: values[name] for name in names}}])
    answer = student.run(write, calls=calls, total_steps=20 * step)
    require_records([entry.items(2) for entry in answer["records"].items()], expected, len(calls))
    if answer["others"].value != [{"step": 20 * step, "loss": 1.0}]:
        raise WrongAnswer(
            "Two Monitors that are written to in turns pass on each other's values, or a new one "
            "passes on an old one's. Do they share what add_scalar collects, in a global, in the "
            "class or in a default argument? Create it in __init__."
        )
    if not isinstance(answer["alarms"].value, list):
        raise WrongAnswer(
            f"Monitor.alarms should be a list of Alarms; it is {answer['alarms'].describe()}."
        )
    alarms = answer["alarms"].items()
    names = [read_alarm(alarm, step, "Monitor.alarms is a list") for alarm in alarms]
    if names != ["exploding_loss"]:
        raise WrongAnswer(
            "After an infinite loss was written and the writer closed, Monitor.alarms has "
            f"{', '.join(names) or 'nothing'}; it should have exploding_loss."
        )


def require_records(records, expected, calls: int) -> None:
    """Check that every record is passed on once, complete, and as soon as a later step starts.

    Args:
        records, expected: pairs of the number of the call, and the record that it passes to update.
        calls: how many of add_scalar there are.
    """
    got = [record.value for _, record in records]
    if not all(isinstance(record, dict) and "step" in record for record in got):
        raise WrongAnswer(
            'A record that add_scalar or close passed to update is not a dict with the key "step".'
        )
    if len(got) >= calls:
        raise WrongAnswer(
            f"{calls} calls of add_scalar for {len(expected)} steps passed {len(got)} records to "
            "update. The values of one step belong in one record."
        )
    steps = [record["step"] for record in got]
    for _, right in expected:
        step, last = right["step"], right is expected[-1][1]
        if step not in steps:
            advice = "close should pass on the last." if last else "Which call passes it on?"
            raise WrongAnswer(f"The record of step {step} was not passed to update. {advice}")
        if (count := steps.count(step)) > 1:
            advice = "Pass it on once and then discard it."
            if last:
                advice = "A second close should pass on nothing."
            raise WrongAnswer(
                f"The record of step {step} was passed to update {count} times. {advice}"
            )
    for (made, _), record, (when, right) in zip(records, got, expected):
        if record != right:
            raise WrongAnswer(
                f"For step {right['step']}, update got {record}; it should get {right}."
            )
        if made.number() != when:
            raise WrongAnswer(
                f"The record of step {right['step']} was passed to update in call {made.value}; "
                f"the next step starts in call {when}."
            )
    if len(got) > len(expected):
        raise WrongAnswer(f"update got a record of step {steps[-1]}, which nobody wrote.")
