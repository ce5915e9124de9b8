"""Cases for the basic checks of question 6g."""

from dataclasses import replace

import numpy as np

from instructor.checks.makers import makes
from instructor.checks.problem6.q6g.documents import (
    documents_case,
    draw_question,
    long_documents,
    many_documents,
    question_case,
)


@makes("6g-1-basic")
def across(rng):
    """Documents shorter and longer than the window and than a block; one document, documents and
    questions of one token; another order; and many documents.
    """
    window = int(rng.integers(3, 6))
    some = tuple(rng.integers(window + 3, 14, 3).tolist())
    cases = [
        documents_case(rng, some, 7, window, 2, 3, 5, "masks scales"),
        documents_case(rng, (*some[::-1], 2), 4, window, 1, 2, 6, dtype="float64"),
        documents_case(
            rng,
            (int(rng.integers(140, 170)), 40, 9),
            6,
            int(rng.integers(20, 30)),
            2,
            1,
            3,
            "masks",
        ),
        documents_case(rng, (12,), 1, 2, 1, 2, 3),
        documents_case(rng, (1, 1, 1), 3, 0, 2, 1, 4),
        documents_case(rng, some, 9, 0, 1, 2, 3),
        documents_case(rng, some, 5, 100, 1, 3, 2, transposed=True),
        documents_case(rng, (1,), 1, 1, 1, 1, 1, dtype="float64"),
        # longer than the smallest default stride
        documents_case(rng, (5, int(rng.integers(1060, 1100))), 6, window, 1, 2, 3, "strides"),
    ]
    return [*cases, *reordered(rng, some, 5, window), many_documents(rng)]


def reordered(rng, lengths: tuple[int, ...], question: int, window: int) -> list:
    """Make cases of documents, and of the same numbers with the documents in another order."""
    first = documents_case(rng, lengths, question, window, 1, 2, 3)
    order, starts = rng.permutation(len(lengths)), np.cumsum([0, *lengths])
    moved = np.concatenate(
        [*(np.arange(starts[d], starts[d + 1]) for d in order), starts[-1] + np.arange(question)]
    )
    second = documents_case(
        rng,
        tuple(lengths[d] for d in order),
        question,
        window,
        1,
        2,
        3,
        seed=first.inputs["seed"],
        order=moved,
    )
    return [first, second]


@makes("6g-2-basic")
def memories(rng):
    """Several documents, one, and of one token; one state and several, of several sequences;
    another order.
    """
    lengths = rng.permutation(np.arange(3, 9))[:4].tolist()
    first = draw_question(rng, lengths, 3, 5, 2, 4)
    second = replace(first, order=tuple(rng.permutation(len(lengths)).tolist()))
    others = [
        draw_question(rng, *rest) for rest in ((lengths[:1], 1, 4, 3, 2), ([1, 6, 1], 2, 1, 2, 5))
    ]
    return [
        question_case(rng, first, known=True),
        *(question_case(rng, question) for question in (second, *others)),
    ]


@makes("6g-5-basic")
def gradients(rng):
    """Gradients of all three functions."""
    window, n = int(rng.integers(2, 5)), 4
    cases = [
        documents_case(rng, lengths, n, window, 2, 2, 3, dtype=dtype, with_gradients=True)
        for lengths, dtype in (((9, 14, 6), "float32"), ((7, 12), "float64"))
    ]
    question = draw_question(rng, rng.permutation([3, 5, 7]).tolist(), 2, 3, 2, 3, gradients=True)
    case = question_case(rng, question)
    return [*cases, replace(case, right={"gradients": case.right["gradients"]})]


@makes("6g-6-basic")
def work(rng):
    """Long documents with a small window."""
    return long_documents(rng)
