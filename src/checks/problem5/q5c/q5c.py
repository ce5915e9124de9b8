"""Question 5c, basic: attention in NumPy: the formula, masks, and each rule for rare cases."""

from autograder import WrongAnswer, check, probe
from checks.problem5.q5c.softmax_attention import require_attention, require_unchanged


@check("5c-0-basic")
def test_formula(student, cases):
    """Two axes, no mask."""
    require_attention(student, *cases)


@check("5c-1-basic")
def test_mask(student, cases):
    """A mask for each query; in a batch, one for all or one for each."""
    require_attention(student, *cases)


@check("5c-6-basic")
def test_leading_dimensions(student, cases):
    """Several leading dimensions that broadcast, also in the mask; lengths of 1."""
    require_attention(student, *cases)


@check("5c-7-basic")
def test_large_scores(student, cases):
    """Scores around 10^4 and -10^4, in both precisions."""
    require_attention(student, *cases)


@check("5c-8-basic")
def test_empty_rows(student, cases):
    """Queries that may attend to nothing."""
    require_attention(student, *cases)


@check("5c-9-basic")
def test_formats(student, cases):
    """The output's dtype, integer inputs, and inputs left unchanged."""
    require_unchanged(require_attention(student, *cases))


@check("5c-10-basic")
def test_refusals(student, cases):
    """A ValueError for shapes that do not fit, a TypeError for a mask that is not boolean."""
    require_attention(student, *cases)


@probe
def count_steps(cases):
    """Count the lines of the submission that run in attention, for each (Q, K, V)."""
    import sys

    from submission.problem5 import numpy_attention

    steps = 0

    def trace(frame, event, argument):
        nonlocal steps
        if frame.f_code.co_filename != numpy_attention.__file__:
            return None
        steps += 1
        return trace

    counts, before = [], sys.gettrace()
    for Q, K, V in cases:
        steps = 0
        sys.settrace(trace)
        try:
            numpy_attention.attention(Q, K, V)
        finally:
            sys.settrace(before)
        counts.append(steps)
    return counts


@check("5c-11-basic")
def test_loops(student, rng):
    """Nothing runs more often with twice as many sequences, queries or keys."""
    B, L_q, L_k, d = (int(length) for length in rng.permutation([5, 6, 7, 8, 10, 11])[:4])
    more = (
        [(2 * B, L_q, d), (2 * B, L_k, d)],
        [(B, 2 * L_q, d), (B, L_k, d)],
        [(B, L_q, d), (B, 2 * L_k, d)],
    )
    calls = [
        [rng.standard_normal(shape) for shape in (query, key, key)]
        for query, key in ([(B, L_q, d), (B, L_k, d)], *more)
    ]
    first, *counts = (
        count.number() for count in student.run(count_steps, cases=calls).items(len(calls))
    )
    for count, what in zip(counts, ("sequences", "queries", "keys")):
        if count > first + 4:  # each length is at least 5
            raise WrongAnswer(
                f"attention runs {first} lines of Python, and {count} for twice as many {what}: it "
                "loops over them. Use @ and NumPy's axes instead."
            )
