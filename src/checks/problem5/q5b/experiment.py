"""Runs a student's scaling experiment and compares its measurements with a case; shared by the
checks of question 5b.
"""

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.problem5.numpy_alone import numpy_alone
from checks.support.cases import Case

KINDS = ("unscaled", "scaled")
QUANTITIES = ("variance", "entropy", "saturation", "gradient_norm")
TOLERANCE = 1e-4  # relative, the handout's
NOTHING = 1e-12  # smaller values count as 0
ROUNDED = 1e-7  # tolerance for a 0: the root of 1e-16 is 1e-8
SECONDS = 2.0  # the handout's


@probe(uses=(numpy_alone,))
def experiment(calls):
    """Run scaling_experiment with each set of keyword arguments: the result, warnings, and seconds
    of CPU or wall time, whichever is less. torch is disabled meanwhile.
    """
    import time
    import warnings

    from submission.problem5.numpy_attention import scaling_experiment

    results = []
    for arguments in calls:
        with warnings.catch_warnings(record=True) as caught, numpy_alone():
            warnings.simplefilter("always")
            started = time.perf_counter(), time.process_time()
            result = scaling_experiment(**arguments)
            seconds = min(time.perf_counter() - started[0], time.process_time() - started[1])
        # Apple's BLAS sets floating-point flags for no reason, and NumPy warns about them.
        texts = [str(one.message) for one in caught if issubclass(one.category, RuntimeWarning)]
        texts = [text for text in texts if "in matmul" not in text]
        results.append({"result": result, "warnings": texts[:3], "seconds": seconds})
    return results


def close(got: float, expected: float) -> bool:
    """Whether a number is within the tolerance."""
    if abs(expected) < NOTHING:
        return abs(got) <= ROUNDED
    return abs(got - expected) <= TOLERANCE * abs(expected)


def require_measured(student, cases: list[Case]) -> list[Answer]:
    """Run the experiment and compare what it returns.

    Args:
        cases: the inputs are keyword arguments; `right` is an array of KINDS by QUANTITIES, as is
            each wrong one, with NaN for what the mistake doesn't change. `about` may have a likely
            `cause` for when no known mistake matches.

    Returns:
        The probe's answer for each case.

    Raises:
        Failed: something is wrong; names the likely cause.
    """
    answers = student.run(experiment, calls=[case.inputs for case in cases]).items(len(cases))
    for case, answer in zip(cases, answers):
        arguments = ", ".join(f"{key}={value}" for key, value in case.inputs.items())
        name = f"scaling_experiment({arguments})"
        texts = answer["warnings"].texts()
        warned = f" NumPy warned: {'; '.join(texts)}." if texts else ""
        result = answer["result"].named(name).present().entries()
        if not result:
            raise WrongAnswer(
                f"{name} returned an empty dict. It should have two entries, 'unscaled' and "
                "'scaled'."
            )
        cause = f"\nLikely cause: {case.about['cause']}" if "cause" in case.about else ""
        for row, kind in enumerate(KINDS):
            got = _read(name, result, kind, warned + cause)
            _require_close(f"{name}[{kind!r}]", got, case, row, warned, cause)
        if warned:
            raise WrongAnswer(f"{name} is right, but there should be no warning.{warned}{cause}")
    return answers


def _read(name, result, kind, remark):
    """Read the four numbers of one kind of scores."""
    if kind not in result:
        raise WrongAnswer(
            f"{name} has no entry {kind!r}; it has {', '.join(map(repr, sorted(result)[:6]))}."
        )
    entries, numbers = result[kind].named(f"{name}[{kind!r}]").entries(), []
    for quantity in QUANTITIES:
        if quantity not in entries:
            raise WrongAnswer(
                f"{name}[{kind!r}] has no entry {quantity!r}; it has "
                f"{', '.join(map(repr, sorted(entries)[:6])) or 'none'}."
            )
        try:
            numbers.append(entries[quantity].named(f"{name}[{kind!r}][{quantity!r}]").number())
        except WrongAnswer as wrong:
            raise WrongAnswer(f"{wrong.message}{remark}") from None
    return numbers


def _require_close(name, got, case, row, warned, cause):
    for column, (number, expected) in enumerate(zip(got, case.right[row].tolist())):
        if close(number, expected):
            continue
        message = (
            f"{name}[{QUANTITIES[column]!r}]: expected {expected:.6g}, got {number:.6g}; a "
            f"relative error of {TOLERANCE:g} is allowed.{warned}"
        )
        for sentence, values in case.wrong:
            values = values() if callable(values) else values
            if values is None:
                continue
            # Wrong scores affect everything computed from them: a single number may match by
            # chance.
            others = [] if QUANTITIES[column] == "variance" else zip(got[1:], values[row, 1:])
            explained = abs(number - values[row, column]) <= 0.05 * abs(number - expected)
            if (
                close(number, values[row, column])
                and explained
                and all(np.isnan(value) or close(one, value) for one, value in others)
            ):
                raise WrongAnswer(f"{message}\nLikely cause: {sentence}")
        raise WrongAnswer(f"{message}{cause}")


def require_fast(student, case: Case, answer: Answer) -> None:
    """Raise WrongAnswer if the experiment took too long; `answer` is what require_measured returned
    for this case.
    """
    for _ in range(2):  # another attempt, in case the machine was busy
        if answer["seconds"].number() < SECONDS:
            return
        answer = student.run(experiment, calls=[case.inputs]).items(1)[0]
    if (seconds := answer["seconds"].number()) >= SECONDS:
        raise WrongAnswer(
            f"scaling_experiment({case.inputs['d_k']}) takes {seconds:.1f} seconds; {SECONDS:g} "
            "are allowed. Process all queries at once with NumPy, without a loop."
        )
