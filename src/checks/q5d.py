"""Question 5d, basic: what several heads attend to, with and without padding."""
from autograder import check
from checks.heads import draw_padding, make_case, require_output, require_weights, run_cases, split_answer


def sizes(rng) -> dict:
    """Every dimension another length, so that none can be taken for another; no root of one is another."""
    return {"B": 2, "T": int(rng.choice([7, 8])), "n_head": int(rng.choice([3, 5])), "head_dim": int(rng.choice([4, 6]))}


@check("5d-1-basic")
def test_output(student, rng):
    """The output alone, without a mask."""
    for case, answer in run_cases(student, [make_case(rng, **sizes(rng)) for _ in range(2)]):
        require_output(split_answer(case, answer)[0], case)


@check("5d-2-basic")
def test_padding(student, rng):
    """Padding anywhere, in each row; and a mask that marks nothing."""
    size = sizes(rng)
    size["B"] = 9       # unlike all other lengths
    padding = draw_padding(rng, size["B"], size["T"])
    for case, answer in run_cases(student,
                                  [make_case(rng, **size, padding=padding), make_case(rng, **size, padding=padding & False)]):
        require_output(split_answer(case, answer)[0], case)


@check("5d-3-basic")
def test_weights(student, rng):
    """The pair of output and weights, with and without padding."""
    size = sizes(rng)
    for case, answer in run_cases(student, [make_case(rng, **size, pair=True),
                                            make_case(rng, **size, pair=True, padding=draw_padding(rng, size["B"], size["T"]))]):
        y, weights = split_answer(case, answer)
        require_weights(weights, case)
        require_output(y, case)
