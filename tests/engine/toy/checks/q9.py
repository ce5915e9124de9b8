"""Checks of a course that has nothing to do with transformers: for the tests of the engine."""

import numpy as np

from autograder import WrongAnswer, check, matches, probe, require_close


@probe
def call(argument):
    from toy import answer

    return answer(argument)


@check("9a-0-basic")
def test_double(student, rng):
    x = rng.integers(1, 1000, size=5)
    got = student.run(call, argument=x).named("answer(x)")
    assert matches(got.array("int64", (5,)).astype(float), 2.0 * x, 0), "answer(x) is not 2 x."


@check("9a-1-hidden")
def test_secret(student, rng):
    got = student.run(call, argument=rng.integers(1, 1000, size=3))
    secret = {"place": "[0:1]", "expected": [["4711"]], "got": [["1"]], "wrong": [[True]]}
    raise WrongAnswer(f"the secret 4711 would tell how: {got.describe()}", compared=secret)


@check("9b-0-basic")
def test_partial(student):
    raise WrongAnswer("three quarters", fraction=0.75)


@check("9b-1-basic")
def test_not_partial(student):
    try:
        require_close("a row", np.array([1.0, 2.5]), np.array([1.0, 2.0]), 1e-3)
    except WrongAnswer:
        raise WrongAnswer("nothing", fraction=0.75) from None


@check("9b-2-basic")
def test_broken(student):
    raise ZeroDivisionError("a fault of the grader")


@check("9b-4-basic")
def test_hint(student, rng, context):
    student.hint("nice")
    assert context == "the context" and rng.integers(10**9) >= 0


@check("9b-5-basic")
def test_twice_a(student):
    pass


@check("9b-5-basic")
def test_twice_b(student):
    pass
