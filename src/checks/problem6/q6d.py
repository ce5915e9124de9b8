"""Question 6d, step 1, basic: global positions, the pattern and its connections."""

from dataclasses import dataclass

from autograder import Answer, WrongAnswer, describe, probe
from autograder.inside.wire import Array
from checks.support.asked import Asked
from checks.support.unchanged import Unchanged, summarize


@probe
def given(pattern, chosen, kind):
    """For other probes: the submission's Pattern, and global positions of the type in which they
    are passed; a list is `chosen` itself.
    """
    from submission.problem6.efficient_attention import Pattern

    kinds = {"set": set, "iterator": iter}
    return Pattern(**pattern), kinds[kind](chosen) if kind in kinds else chosen


@probe(uses=(given, summarize))
def call(function, arguments, pattern, chosen, kind):
    """Call a function of the first step: its result, and its arguments afterwards.
    attended_positions of None: for all positions. Without a pattern, `kind` is the type of the
    first argument.
    """
    import numpy as np
    import torch

    from submission.problem6 import efficient_attention as student

    function, (first, *others) = getattr(student, function), arguments
    if pattern is None:
        first = torch.from_numpy(first) if isinstance(first, np.ndarray) else first
        output = function(iter(first) if kind == "iterator" else first, *others)
        scores = {"scores": first} if isinstance(first, torch.Tensor) else {}
        return {"output": output, "arguments": summarize(scores)}
    rows = range(others[0]) if first is None else [first]
    output = [function(i, *others, *given(pattern, chosen, kind)) for i in rows]
    output = output if first is None else output[0]
    return {"output": output, "arguments": summarize({"global_positions": chosen})}


@probe(uses=(call,))
def call_large(**inputs):
    """Call count_connections for many positions, which should take less than a second."""
    return call(**inputs)


@dataclass(frozen=True)
class Exact:
    """A whole number; a sorted list of distinct ints, for which a tuple will do; or the lists of
    attended_positions for all positions.
    """

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if it is not the reference's, and say what is wrong; see `Asked`."""
        Answer(got, call).present()
        if isinstance(right, int):
            got = got.data.item() if isinstance(got, Array) and got.data.size == 1 else got
            if type(got) not in (int, float):
                raise WrongAnswer(f"{call} should be an int; it is {describe(got)}.")
            if got != right:
                raise WrongAnswer(f"{call} is {got:,}; it should be {right:,}.")
        elif right and isinstance(right[0], list):
            if not isinstance(got, list) or len(got) != len(right):
                raise WrongAnswer(f"{call} gives no lists.")
            for i, pair in enumerate(zip(got, right)):
                self.require(call.replace("(i, ", f"({i}, ", 1), *pair)
        else:
            self._require_positions(call, got, right)

    def _require_positions(self, call, got, right):
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


def shown(pattern: dict, chosen: list, kind: str) -> str:
    """A Pattern and global positions, as a student would write them."""
    kinds = {"list": "{}", "set": "set({})", "iterator": "iter({})"}
    positions = kinds[kind].format(chosen)
    return (
        f"Pattern({pattern['window']}, {pattern['strides']}, causal={pattern['causal']}), "
        f"{positions if len(chosen) <= 8 else f'{len(chosen)} positions'}"
    )


def call_as_written(inputs: dict) -> str:
    """A call of a function of the first step, as a student would write it."""
    function, (first, *others) = inputs["function"], inputs["arguments"]
    rules = {name: inputs[name] for name in ("pattern", "chosen", "kind")}
    if function == "predicted_globals":
        limit = "".join(f", limit={limit}" for limit in others)
        positive = (first > 0).sum()
        return f"{function}(scores{limit}), for {len(first)} scores, {positive} of them above 0,"
    if rules["pattern"] is not None:
        words = ["i" if first is None else str(first), *map(str, others), shown(**rules)]
    else:
        words = [f"iter({first!r})" if rules["kind"] == "iterator" else repr(first)]
        words += map(repr, others)
    return f"{function}({', '.join(words)})"


CALLS = Asked(call, call_as_written, {"output": Exact(), "arguments": Unchanged()})
# Known mistakes that go through all pairs would take minutes.
LARGE = Asked(call_large, call_as_written, {"output": Exact()}, causes=False)
