"""Question 6d, basic: global positions, the pattern and its connections, and what is rejected."""

from dataclasses import dataclass

from autograder import Answer, WrongAnswer, check, describe, probe
from autograder.inside.wire import Array
from checks.support.asked import Asked

SECONDS = 4  # of CPU time for a large count; the handout asks for one


@probe
def choose(function, arguments, once):
    """Call every_kth, section_headers or predicted_globals. once: the first argument is an
    iterator.
    """
    import numpy as np
    import torch

    from submission.problem6 import efficient_attention as student

    given = [torch.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x for x in arguments]
    if once:
        given[0] = iter(given[0])
    return {"output": getattr(student, function)(*given)}


@probe
def given(pattern, chosen, kind):
    """For other probes: the submission's Pattern, and global positions of the type in which they
    are passed.
    """
    from submission.problem6.efficient_attention import Pattern

    kinds = {"list": list, "set": set, "iterator": iter}
    return Pattern(**pattern), kinds[kind](chosen)


@probe(uses=(given,))
def attend_from(i, n, pattern, chosen, kind):
    """Call attended_positions for position i, or for all n (None): the lists."""
    from submission.problem6.efficient_attention import attended_positions

    places = range(n) if i is None else [i]
    return {"rows": [attended_positions(i, n, *given(pattern, chosen, kind)) for i in places]}


@probe(uses=(given,))
def count(n, pattern, chosen, kind):
    """Call count_connections."""
    from submission.problem6.efficient_attention import count_connections

    return {"output": count_connections(n, *given(pattern, chosen, kind))}


@probe(uses=(count,))
def count_many(**inputs):
    """Call count_connections for many positions."""
    return count(**inputs)


@dataclass(frozen=True)
class Positions:
    """A sorted list of distinct ints; a tuple will do."""

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if they are not the reference's, and say which; see `Asked`."""
        Answer(got, call).present()
        if not isinstance(got, (list, tuple)):
            raise WrongAnswer(f"{call} should be a list of ints; it is {describe(got)}.")
        if strange := [item for item in got if type(item) is not int]:
            raise WrongAnswer(
                f"{call} should be a list of ints; there is {describe(strange[0])} in it."
            )
        if [*got] == right:
            return
        differences = {"missing": {*right} - {*got}, "extra": {*got} - {*right}}
        named = [f"{what}: {_excerpt(sorted(some))}" for what, some in differences.items() if some]
        raise WrongAnswer(
            f"{call} should be {_excerpt(right)}; it is {_excerpt(got)} "
            f"({'; '.join(named) or 'repeated, or not sorted'})."
        )


def _excerpt(positions):
    if len(positions) <= 12:
        return str([*positions])
    return f"[{', '.join(map(str, positions[:10]))}, ... {len(positions)} in all]"


@dataclass(frozen=True)
class Rows:
    """The lists of attended_positions for all positions."""

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer for the first list that is wrong; see `Asked`."""
        if not isinstance(got, list) or len(got) != len(right):
            raise WrongAnswer(f"{call} gives no lists.")
        for i, (row, positions) in enumerate(zip(got, right)):
            Positions().require(call.replace("(i, ", f"({i}, ", 1), row, positions)


@dataclass(frozen=True)
class Count:
    """An exact whole number."""

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if it is another one; see `Asked`."""
        Answer(got, call).present()
        if isinstance(got, Array) and got.data.size == 1:
            got = got.data.item()
        if type(got) not in (int, float):
            raise WrongAnswer(f"{call} should be an int; it is {describe(got)}.")
        if got != right:
            raise WrongAnswer(f"{call} is {got:,}; it should be {right:,}.")


def shown(inputs: dict) -> str:
    """A Pattern and global positions, as a student would write them."""
    pattern, chosen = inputs["pattern"], inputs["chosen"]
    kinds = {"list": "{}", "set": "set({})", "iterator": "iter({})"}
    positions = kinds[inputs["kind"]].format(chosen)
    return (
        f"Pattern({pattern['window']}, {pattern['strides']}, causal={pattern['causal']}), "
        f"{positions if len(chosen) <= 8 else f'{len(chosen)} positions'}"
    )


def choice_as_written(inputs: dict) -> str:
    """The call of a function that chooses global positions."""
    function, (first, *others) = inputs["function"], inputs["arguments"]
    if function != "predicted_globals":
        words = [f"iter({first!r})" if inputs["once"] else repr(first), *map(repr, others)]
        return f"{function}({', '.join(words)})"
    limit = "".join(f", limit={limit}" for limit in others)
    return (
        f"predicted_globals(scores{limit}), for {len(first)} scores, {(first > 0).sum()} of them "
        "above 0,"
    )


CHOSEN = Asked(choose, choice_as_written, {"output": Positions()})
ROWS = Asked(
    attend_from,
    lambda inputs: (
        f"attended_positions({'i' if inputs['i'] is None else inputs['i']}, {inputs['n']}, "
        f"{shown(inputs)})"
    ),
    {"rows": Rows()},
)
COUNTS = Asked(
    count, lambda inputs: f"count_connections({inputs['n']}, {shown(inputs)})", {"output": Count()}
)
# Known mistakes that go through all pairs would take minutes.
LARGE = Asked(count_many, COUNTS.call, COUNTS.reply, causes=False)


@check("6d-5-basic", "6d-6-basic", "6d-18-basic")
def test_positions(student, calls):
    """What the functions return, or the exception that they raise."""
    for asked in (CHOSEN, ROWS, COUNTS):
        asked.require(student, calls)


@check("6d-7-basic")
def test_count_connections(student, calls):
    """Small patterns; then large ones, and the time that each takes."""
    COUNTS.require(student, calls)
    for call in calls:
        before = student.cpu_seconds
        LARGE.require(student, [call])
        if (seconds := student.cpu_seconds - before) > SECONDS:
            raise WrongAnswer(
                f"{LARGE.written(call)} takes {seconds:.1f} s; the limit is one second. Count by "
                "rules or rows, not pairs."
            )
