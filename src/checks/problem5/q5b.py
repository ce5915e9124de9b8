"""Question 5b, basic: the scaling experiment."""

from autograder import WrongAnswer, check, probe
from autograder.inside.wire import Array, describe
from checks.problem5.numpy_alone import numpy_alone
from checks.support.asked import Asked, Same

SECONDS = 2.0  # the handout's


@probe(uses=(numpy_alone,))
def experiment(arguments):
    """Run scaling_experiment: its result, and NumPy's warnings. torch is disabled meanwhile."""
    from submission.problem5.numpy_attention import scaling_experiment

    with numpy_alone() as warned:
        result = scaling_experiment(**arguments)
    return {"result": result, "warnings": warned}


class Measured:
    """A dict of two dicts of numbers within 1e-4 of the right ones, the handout's; where these are
    0 up to rounding, of any that are nearly 0.
    """

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if a name or a number is wrong; see `Asked`."""
        if names_of(got) != names_of(right):
            raise WrongAnswer(
                f"{call} should have the entries {', '.join(names_of(right))}; it has "
                f"{', '.join(names_of(got)) or describe(got)}."
            )
        for kind, numbers in right.items():
            for key, number in numbers.items():
                require_number(f"[{kind!r}][{key!r}] of {call}", got[kind][key], number)


def names_of(result) -> list[str]:
    """The names of all numbers in a dict of dicts; none if it is something else."""
    if not isinstance(result, dict) or not all(isinstance(v, dict) for v in result.values()):
        return []
    return sorted(f"{kind} {name}" for kind in result for name in result[kind])


def require_number(name: str, got, right: float) -> None:
    """Raise WrongAnswer if one number is wrong."""
    if isinstance(got, Array) and got.data.size == 1 and got.data.dtype.kind in "iuf":
        got = got.data.item()
    if type(got) not in (int, float):
        raise WrongAnswer(f"{name} should be a number; it is {describe(got)}.")
    # Rounding makes 0 about 1e-16, and the root of that is 1e-8.
    allowed = 1e-7 if abs(right) < 1e-12 else 1e-4 * abs(right) + 1e-13
    if not abs(got - right) <= allowed:
        raise WrongAnswer(
            f"{name}: expected {right:.6g}, got {got:.6g}; a relative error of 1e-4 is allowed."
        )


EXPERIMENT = Asked(
    experiment,
    call="scaling_experiment({**arguments})",
    reply={
        "result": Measured(),
        "warnings": Same("{call} is right, but there should be no warning. NumPy warned: {got}."),
    },
)


@check("5b-3-basic")
def test_edges(student, calls):
    """What is measured, and the time that the last call takes. (The memory has a limit, too.)"""
    EXPERIMENT.require(student, calls)
    if (before := student.cpu_seconds) >= SECONDS:  # all calls together: ask the last one alone
        student.run(experiment, **calls[-1].inputs)
        if (seconds := student.cpu_seconds - before) >= SECONDS:
            raise WrongAnswer(
                f"{EXPERIMENT.written(calls[-1])} takes {seconds:.1f} seconds; {SECONDS:g} are "
                "allowed. Process all queries at once with NumPy, without a loop."
            )
