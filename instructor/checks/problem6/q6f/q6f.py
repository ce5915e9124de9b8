"""Question 6f, hidden: recorded traces."""

from autograder import check
from checks.problem6.q6f.monitor import read_alarms, run_replay
from instructor.checks.problem6.q6f.trace_file import Tally, read_traces

FOUND, FALSE = 0.95, 0.02  # the recall needed, and the share of false alarms allowed
# The recall needed for the points on false alarms: a Monitor that reports nothing has none.
SPOKE = 0.5


def tally(student, context) -> Tally:
    """Evaluate a submission's Monitor on all recorded traces."""
    traces, result = read_traces(context.gold_path("traces/traces.json.gz")), Tally()
    for trace, answer in zip(traces, run_replay(student, traces)):
        result.add(trace, read_alarms(answer, trace))
    return result


@check("6f-2-hidden")
def test_recall(student, context):
    """Nearly all faults are reported in time."""
    tally(student, context).require_recall(FOUND)


@check("6f-3-hidden")
def test_false_alarms(student, context):
    """There are hardly any false alarms, and enough right ones."""
    result = tally(student, context)
    result.require_recall(SPOKE)
    result.require_silence(FALSE)
