"""Many calls of a student's functions in one probe, judged one by one."""
from autograder import Answer, Failed, Verdict, WrongAnswer, probe


@probe
def attempt(call, caught):
    """For other probes to use: what call() returns, and None; or None, and the kinds of its exception, where one is to be caught."""
    try:
        return call(), None
    except NotImplementedError:
        raise
    except Exception as error:
        if not caught:
            raise
        return None, [kind.__name__ for kind in type(error).__mro__]


def require_refusal(call: str, raised: Answer, returned: str = "no error was raised") -> None:
    """A call raised ValueError.

    Raises:
        WrongAnswer: it did not.
    """
    if raised.value is None:
        raise WrongAnswer(f"{call} should raise ValueError; {returned}.")
    if "ValueError" not in (kinds := raised.texts()):
        raise WrongAnswer(f"{call} should raise ValueError; it raised {kinds[0] if kinds else 'something else'}.")


def require_right(student, probe, calls: list) -> None:
    """Run all calls, in one probe where that is possible, and judge them.

    Args:
        probe: takes `calls`, a list of their `inputs`, and returns a list of as many answers.
        calls: each has `inputs`, a method `judge` for its answer, and says what was called as a string.

    Raises:
        Failed: the first call that is wrong; names it, and the likely cause.
    """
    try:
        answers = student.run(probe, calls=[call.inputs for call in calls]).items(len(calls))
    except Failed as failed:
        if failed.verdict is not Verdict.EXCEPTION:
            raise
        answers = None      # one of them raised: which?
    for i, call in enumerate(calls):
        call.judge(answers[i] if answers else _alone(student, probe, call))


def _alone(student, probe, call):
    try:
        return student.run(probe, calls=[call.inputs]).items(1)[0]
    except Failed as failed:
        raise Failed(failed.verdict, f"{failed.message}\nThe call was {call}.") from None
