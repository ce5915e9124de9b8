"""Question 6f, basic: traces with and without faults, rare values, and a writer's records."""

from autograder import WrongAnswer, check, probe
from checks.problem6.q6f_traces import FAULTS, MISSING, NEAR, NEEDS, Trace, be_rare, draw_trace
from checks.support.asked import Asked, Close, Same


@probe
def replay(traces, missing):
    """Feed each trace to a Monitor of its own, one record of four of them in turn. A missing value
    is None in every second record, and left out of the others.
    """
    import pickle
    from itertools import zip_longest

    from submission.problem6.diagnostics import Monitor

    def plain(alarms):
        if not isinstance(alarms, list):
            return alarms
        return [tuple(alarm) if isinstance(alarm, tuple) else alarm for alarm in alarms]

    def follow(total_steps, reference_loss, columns):
        monitor = Monitor(total_steps, reference_loss=reference_loss)
        listed = {
            name: (values.tolist(), (values.reshape(len(values), -1)[:, 0] == missing).tolist())
            for name, values in columns.items()
        }
        before, reply = pickle.dumps(listed), {"raised": [], "changed": False}
        replies.append(reply)
        for i in range(len(columns["step"])):
            record = {
                name: None if gone[i] else values[i]
                for name, (values, gone) in listed.items()
                if i % 2 or not gone[i]
            }
            given = dict(record)
            alarms = monitor.update(record)
            reply["changed"] |= record != given
            if not isinstance(alarms, list) or alarms:
                reply["raised"].append([i, plain(alarms)])
            if len(reply["raised"]) > 6:  # there are six alarms, each of which comes once
                break
            yield
        reply["changed"] |= pickle.dumps(listed) != before  # the lists in records
        reply["alarms"] = plain(monitor.alarms)

    replies = []
    for start in range(0, len(traces), 4):
        for _ in zip_longest(*(follow(*trace) for trace in traces[start : start + 4])):
            pass
    return replies


def find_alarms(student, traces: list[Trace]) -> list[dict[str, int]]:
    """Replay traces to Monitors: name -> the record that raised this alarm, for each trace.

    Raises:
        WrongAnswer: update or alarms are not lists of Alarms as the question asks.
    """
    inputs = [(trace.total_steps, trace.reference_loss, trace.columns) for trace in traces]
    replies = student.run(replay, traces=inputs, missing=MISSING).items(len(traces))
    return [read_alarms(reply, trace) for reply, trace in zip(replies, traces)]


def read_alarms(reply, trace: Trace) -> dict[str, int]:
    """Read the alarms that a Monitor raised in a trace: name -> record."""
    if reply["changed"].flag():
        raise WrongAnswer("Monitor.update changed its record. It should only read it.")
    raised, returned = {}, []
    for entry in reply["raised"].items():
        number, alarms = entry.items(2)
        i = int(number.number()) % len(trace)  # whatever was sent
        right = int(trace.columns["step"][i])
        if not isinstance(alarms.value, list):
            raise WrongAnswer(
                f"Monitor.update returned {alarms.describe()}. It should return the list of Alarms "
                "that this record raises, [] if there are none."
            )
        for alarm in alarms.named("Monitor.update's result").items():
            name, step, message = alarm.items(3)
            if name.text() not in NEEDS or step.number() != right or not message.text().strip():
                raise WrongAnswer(
                    f"Monitor.update returned an Alarm {alarm.value!r:.200} for step {right}. It "
                    f"should have this step, a message, and one of the names {', '.join(NEEDS)}."
                )
            if name.value in raised:
                raise WrongAnswer(f"{name.value} was raised twice in a trace, and should be once.")
            raised[name.value] = i
            returned.append(alarm.value)
    if reply["alarms"].named("Monitor.alarms").present().value != returned:
        raise WrongAnswer(
            f"Monitor.alarms is not the list of the {len(returned)} Alarms that update returned so "
            f"far: it is {reply['alarms'].describe()}. Create it in __init__, not in the class."
        )
    return raised


def require_right(trace: Trace, raised: dict[str, int], wrong: list[str]) -> None:
    """Raise WrongAnswer if any alarms are wrong: missed, or false."""
    for name in wrong:
        begins = "is no fault"
        if name in trace.faults:
            begins = f"begins at record {trace.faults[name]} (counted from 0)"
        came = f"reported at record {raised[name]}" if name in raised else "not reported"
        raise WrongAnswer(
            f"In a trace of {len(trace)} records and {trace.total_steps} steps, {name} {begins}, "
            f"and was {came}. {trace.name} (Other Monitors get their records in turn with this "
            "one: nothing may be kept in a global, in the class or in a default argument.)"
        )


@check("6f-0-basic")
def test_each_fault(student, rng):
    """Each fault is reported in time: in whole traces, and in records that have nothing else, and
    not always that.
    """
    traces = [draw_trace(rng, change, gaps) for change in FAULTS for gaps in (False, True)]
    traces[0].columns["loss"] *= 4  # so that a first loss that all Monitors share is wrong
    for trace, raised in zip(traces, find_alarms(student, traces)):
        require_right(trace, raised, trace.missed(raised))


@check("6f-4-basic")
def test_false_alarms(student, rng):
    """Only real faults are reported, in traces with and without them; at least half of them."""
    traces = [draw_trace(rng, change) for change in NEAR + FAULTS]
    found = [*zip(traces, find_alarms(student, traces))]
    for trace, raised in found:
        require_right(trace, raised, trace.false(raised))
    missed = sum(bool(trace.missed(raised)) for trace, raised in found)
    if missed > len(FAULTS) / 2:  # a Monitor that reports nothing has no false alarms
        raise WrongAnswer(
            f"There is no false alarm, but in {missed} of {len(FAULTS)} traces, a fault was "
            "not reported in time."
        )


@check("6f-5-basic")
def test_rare_values(student, rng):
    """A reference of 0.0, a first loss that is NaN, a rate of 0.0."""
    trace = draw_trace(rng, be_rare)
    (raised,) = find_alarms(student, [trace])
    require_right(trace, raised, trace.missed(raised) + trace.false(raised))


@probe
def write(values, total_steps):
    """Write values to a Monitor and close it twice, while another one holds a value: the records
    that update gets, each with the number of the call that passes it on, and the alarms.
    """
    from submission.problem6.diagnostics import Monitor

    passed, calls = [], []

    class Spy(Monitor):
        def update(self, record):
            kept = [f"{name} {record[name]}" for name in sorted(record) if name != "step"]
            passed.append(f"call {len(calls)}, step {record['step']:g}: {', '.join(kept)}")
            return super().update(record)

    other, monitor = Spy(total_steps), Spy(total_steps)
    other.add_scalar("loss", 1.0, total_steps)
    for value in [*values, None, None]:
        calls.append(value)
        monitor.add_scalar(*value) if value else monitor.close()
    other.close()
    alarms = [f"{alarm[0]} at step {alarm[1]:g}" for alarm in monitor.alarms]
    return {"records": passed, "alarms": alarms}


WRITER = Asked(
    write,
    lambda inputs: f"{len(inputs['values'])} calls of add_scalar and then close() twice",
    {
        "records": Close("what update gets in {call}, while another Monitor holds a loss of 1.0"),
        "alarms": Same("After {call}, Monitor.alarms has {got}; it should have {right}."),
    },
)
