"""Cases of question 6e: calls of the functions of fixes.py. `rare` ones cost only a part of a
check's points.
"""

import dataclasses

import numpy as np

from checks.support.cases import Case, same
from instructor.checks.makers import makes
from instructor.checks.problem6.q6e.clipping import clipping_case, scores_case, total_norm
from instructor.checks.problem6.q6e.stacks import draw_stack, init_case


def rare(case: Case) -> Case:
    """Mark a case as rare."""
    return dataclasses.replace(case, about={**case.about, "rare": True})


def small(cases: list[Case]) -> list[Case]:
    """Return the cases with only the first of mistakes that have the same result."""
    result = []
    for case in cases:
        distinct = []
        for sentence, value in case.solved().wrong:
            if not any(same(value, other) for _, other in distinct):
                distinct.append((sentence, value))
        result.append(dataclasses.replace(case, wrong=distinct))
    return result


@makes("6e-3-basic")
def scores_and_clipping(rng):
    """Queries and keys with two to four axes; gradients with norms above and below the limit."""
    T, T_kv, head_dim = (int(n) for n in rng.permutation([3, 4, 5]))
    cases = [
        scores_case(
            rng.standard_normal((*more, T, head_dim)),
            rng.standard_normal((*more, T_kv, head_dim)),
            dtype,
        )
        for more, dtype in (((), "float64"), ((2,), "float32"), ((1, 2), "float32"))
    ]

    def draw(*shapes):
        return [None if shape is None else 2 * rng.standard_normal(shape) for shape in shapes]

    several = draw((3, 2), None, (4,), (2, 1, 2), None, (1,))
    norm, largest = total_norm(several), max(total_norm([gradient]) for gradient in several)
    some = "gradients of several parameters, some of which have none"
    cases += [
        clipping_case(some, several, norm * float(rng.uniform(0.2, 0.5))),
        clipping_case(
            "gradients that are small enough separately, but not together",
            several,
            (largest + norm) / 2,
        ),
        clipping_case(some, several, norm * float(rng.uniform(1.5, 3)), dtype="float64"),
        clipping_case("gradients of two parameters", draw((3, 2), (5,)), 0.5, listed=True),
        rare(clipping_case("gradients of 0", [np.zeros((2, 3)), np.zeros(4)], 1.0)),
        rare(clipping_case("parameters without gradients", draw(None, None), 1.0)),
    ]
    for value, dtype in ((np.inf, "float32"), (np.nan, "float64")):
        broken = draw((3, 2), (4,), None)
        broken[int(rng.integers(2))].flat[0] = value
        cases.append(
            rare(
                clipping_case(f"gradients with one entry that is {value}", broken, 1.0, dtype=dtype)
            )
        )
    return small(cases)


@makes("6e-6-basic")
def stack_and_init(rng):
    """Several sublayers, one, and none; all kinds of modules in a model."""
    cases = [*(draw_stack(rng, count) for count in (3, 1)), rare(draw_stack(rng, 0))]
    n_layer = rng.permutation([3, 5, 7, 12, 24, 36]).tolist()
    cases += [
        init_case(n_layer[0], None, False),
        init_case(n_layer[1], round(float(rng.uniform(0.05, 0.3)), 3), False),
        rare(init_case(n_layer[2], None, True)),
    ]
    return small(cases)
