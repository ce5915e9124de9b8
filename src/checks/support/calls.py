"""Runs many calls of a student's functions in one probe and judges them one by one."""

from collections.abc import Iterator

from autograder import Answer, Failed, Verdict, WrongAnswer, probe


@probe
def attempt(call, caught):
    """For other probes: return call()'s result and None; or None and the classes of its exception,
    if one is to be caught.
    """
    try:
        return call(), None
    except NotImplementedError:
        raise
    except Exception as error:
        if not caught:
            raise
        return None, [kind.__name__ for kind in type(error).__mro__]


def sentence_case(name: str) -> str:
    """The name of an answer with a capital letter, to begin a sentence."""
    return name[:1].upper() + name[1:]


def require_refusal(call: str, raised: Answer, returned: str = "no error was raised") -> None:
    """Check that a call raised ValueError.

    Raises:
        WrongAnswer: it did not.
    """
    if raised.value is None:
        raise WrongAnswer(f"{call} should raise ValueError; {returned}.")
    if "ValueError" not in (kinds := raised.texts()):
        raise WrongAnswer(
            f"{call} should raise ValueError; it raised {kinds[0] if kinds else 'something else'}."
        )


def run_each(student, probe, calls: list[dict], names: list[str]) -> Iterator[Answer]:
    """Yield a probe's answer to each call, from one run if possible.

    Args:
        probe: takes `calls`, and returns a list of as many answers.
        names: what was called, for messages.

    Raises:
        Failed: a call raised an exception; names it.
    """
    try:
        yield from student.run(probe, calls=calls).items(len(calls))
        return
    except Failed as failed:
        if failed.verdict is not Verdict.EXCEPTION:
            raise
    for call, name in zip(calls, names):  # one of them raised; find out which
        try:
            yield student.run(probe, calls=[call]).items(1)[0]
        except Failed as failed:
            raise Failed(failed.verdict, f"{failed.message}\nThe call was {name}.") from None


def require_right(student, probe, calls: list) -> None:
    """Run and judge calls.

    Args:
        probe: see `run_each`.
        calls: each has `inputs`, a method `judge` for its answer, and as a string the call.

    Raises:
        Failed: the first call that is wrong; names it, and the likely cause.
    """
    answers = run_each(
        student, probe, [call.inputs for call in calls], [str(call) for call in calls]
    )
    for call, answer in zip(calls, answers):
        call.judge(answer)
