"""Question 5c, basic: attention in NumPy: the formula, masks, and each rule for rare cases."""

from dataclasses import replace

from autograder import WrongAnswer, check, probe
from checks.problem5.numpy_alone import numpy_alone
from checks.support.asked import Asked, Close, Same
from checks.support.unchanged import Unchanged, summarize


@probe(uses=(numpy_alone, summarize))
def attend(Q, K, V, mask):
    """Run attention: its output, NumPy's warnings, and the inputs afterwards. torch is disabled
    meanwhile.
    """
    from submission.problem5.numpy_attention import attention

    given = {"Q": Q, "K": K, "V": V} | ({} if mask is None else {"mask": mask})
    with numpy_alone() as warned:
        output = attention(**given)
    return {"output": output, "warnings": warned, "arguments": summarize(given)}


ATTENTION = Asked(
    attend,
    call="attention({Q}, {K}, {V}, {mask})",
    reply={
        "output": Close(dtypes=("float64",)),
        "warnings": Same("{call} is right, but there should be no warning. NumPy warned: {got}."),
    },
)
FORMATS = replace(
    ATTENTION,
    variant="in all formats",
    reply={
        # if dtypes are mixed, a part may be computed in float32
        "output": Close(tolerance={"float32": 1e-5, "float64": 1e-5}),
        "arguments": Unchanged(
            "attention changes {got} in place. Make new arrays, with Q = Q / 2 and not Q /= 2."
        ),
    },
)


@probe
def count_steps(Q, K, V):
    """Run attention: its output, and how many lines of Python ran in it, whatever their file."""
    import sys

    from submission.problem5 import numpy_attention

    steps = 0

    def trace(frame, event, argument):
        nonlocal steps
        steps += 1
        return trace

    sys.settrace(trace)
    try:
        output = numpy_attention.attention(Q, K, V)
    finally:
        sys.settrace(None)
    return {"output": output, "steps": steps}


STEPS = Asked(count_steps, "attention({Q}, {K}, {V})", {"output": Close()})


@check("5c-11-basic")
def test_loops(student, calls):
    """Nothing runs more often with twice as many sequences, queries or keys."""
    first, *others = (reply["steps"].number() for reply in STEPS.require(student, calls))
    for steps, what in zip(others, ("sequences", "queries", "keys")):
        if steps > first + 4:  # each length is at least 5
            raise WrongAnswer(
                f"attention runs {first} lines of Python, and {steps} for twice as many {what}: it "
                "loops over them. Use @ and NumPy's axes instead."
            )
