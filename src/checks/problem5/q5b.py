"""Question 5b, basic: the scaling experiment."""

from dataclasses import dataclass

from autograder import WrongAnswer, check, probe
from autograder.inside.wire import Array, describe
from checks.problem5.numpy_alone import numpy_alone
from checks.support.asked import Asked, Same

SECONDS = 2.0  # the handout's


@probe(uses=(numpy_alone,))
def experiment(arguments):
    """Run scaling_experiment: each of its numbers, their names, and NumPy's warnings. torch is
    disabled meanwhile.
    """
    from submission.problem5.numpy_attention import scaling_experiment

    with numpy_alone() as warned:
        result = scaling_experiment(**arguments)
    if not isinstance(result, dict) or not all(isinstance(v, dict) for v in result.values()):
        names = [f"{type(result).__name__}, not a dict of two dicts"]
        result = {}
    else:
        names = sorted(f"{kind} {name}" for kind in result for name in result[kind])
    numbers = {
        f"{kind} {name}": result.get(kind, {}).get(name)
        for kind in ("unscaled", "scaled")
        for name in ("variance", "entropy", "saturation", "gradient_norm")
    }
    return {"names": names, **numbers, "warnings": warned}


@probe
def timed(arguments):
    """Run scaling_experiment: seconds of CPU or wall time, whichever is less."""
    import time

    from submission.problem5.numpy_attention import scaling_experiment

    started = time.perf_counter(), time.process_time()
    scaling_experiment(**arguments)
    return min(time.perf_counter() - started[0], time.process_time() - started[1])


@dataclass(frozen=True)
class Measured:
    """A number within 1e-4 of the right one, the handout's; of what is 0 up to rounding, any that
    is nearly 0.
    """

    name: str

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if a number is wrong; see `Asked`."""
        if isinstance(got, Array) and got.data.size == 1 and got.data.dtype.kind in "iuf":
            got = got.data.item()
        if type(got) not in (int, float):
            raise WrongAnswer(f"{self.name} of {call} should be a number; it is {describe(got)}.")
        allowed = 1e-7 if abs(right) < 1e-12 else 1e-4 * abs(right)  # the root of 1e-16 is 1e-8
        if not abs(got - right) <= allowed:
            raise WrongAnswer(
                f"{self.name} of {call}: expected {right:.6g}, got {got:.6g}; a relative error of "
                "1e-4 is allowed."
            )


EXPERIMENT = Asked(
    experiment,
    call="scaling_experiment({**arguments})",
    reply={
        "names": Same("{call} should have the entries {right}; it has {got}."),
        **{
            f"{kind} {name}": Measured(f"[{kind!r}][{name!r}]")
            for kind in ("unscaled", "scaled")
            for name in ("variance", "entropy", "saturation", "gradient_norm")
        },
        "warnings": Same("{call} is right, but there should be no warning. NumPy warned: {got}."),
    },
)


@check("5b-1-basic")
def test_experiment(student, calls):
    """What is measured."""
    EXPERIMENT.require(student, calls)


@check("5b-3-basic")
def test_edges(student, calls):
    """What is measured, and the time that the last call takes. (The memory has a limit, too.)"""
    EXPERIMENT.require(student, calls)
    seconds = student.run(timed, **calls[-1].inputs).number()
    for _ in range(2):  # another attempt where the machine may have been busy
        if SECONDS <= seconds < 2 * SECONDS:
            seconds = student.run(timed, **calls[-1].inputs).number()
    if seconds >= SECONDS:
        raise WrongAnswer(
            f"{EXPERIMENT.written(calls[-1])} takes {seconds:.1f} seconds; {SECONDS:g} are "
            "allowed. Process all queries at once with NumPy, without a loop."
        )
