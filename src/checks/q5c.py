"""Question 5c, basic: attention in NumPy: the plain formula, a mask, a leading dimension."""
from autograder import WrongAnswer, check, probe
from checks.softmax_attention import Case, draw_lengths, draw_mask, require_attention


@check("5c-0-basic")
def test_formula(student, rng):
    """Two axes, no mask."""
    for _ in range(2):
        L_q, L_k, d = draw_lengths(rng, 3)
        require_attention(student, Case(*(rng.standard_normal((length, d)) for length in (L_q, L_k, L_k))))


@probe
def count_steps(cases):
    """How many lines of the submission's run in attention, for each (Q, K, V)."""
    import sys
    from submission import numpy_attention
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


@check("5c-1-basic")
def test_mask(student, rng):
    """A mask for each query, the same for all of a batch or another for each; a leading dimension, over which nothing loops."""
    B, L_q, L_k, d = draw_lengths(rng, 4)
    Q, K, V = (rng.standard_normal((B, length, d)) for length in (L_q, L_k, L_k))
    # What a masked key would bring in, however small its weight.
    masked, large = int(rng.integers(L_k)), V.copy()
    large[:, masked] = 1e12
    mask = draw_mask(rng, (L_q, L_k))
    mask[:, (masked + 1) % L_k], mask[:, masked] = True, False
    require_attention(student, Case(Q[0], K[0], V[0], draw_mask(rng, (L_q, L_k))), Case(Q, K, V),
                      Case(Q, K, V, draw_mask(rng, (B, L_q, L_k))),
                      Case(Q, K, V, draw_mask(rng, (L_q, L_k))),
                      Case(Q, K, large, mask, remark=f", where key {masked} has the value 1e12, and is masked for all queries"))

    more = [(2 * B, L_q, d), (2 * B, L_k, d)], [(B, 2 * L_q, d), (B, L_k, d)], [(B, L_q, d), (B, 2 * L_k, d)]
    cases = [[rng.standard_normal(shape) for shape in (query, key, key)] for query, key in ([(B, L_q, d), (B, L_k, d)], *more)]
    first, *counts = (count.number() for count in student.run(count_steps, cases=cases).items(len(cases)))
    for count, what in zip(counts, ("sequences", "queries", "keys")):
        if count > first + 4:       # each length is at least 5
            raise WrongAnswer(f"attention runs {first} lines of Python, and {count} for twice as many {what}: it loops over "
                              "them. Let @ and the axes of NumPy do that.")
