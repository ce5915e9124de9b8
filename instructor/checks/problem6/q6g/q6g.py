"""Question 6g, hidden: gradients and the order of documents; the work."""

from dataclasses import replace

from autograder import check, require_close
from checks.problem6.q6d.rows import require_each
from checks.problem6.q6d.sparse import require_gradients, require_output, run_cases
from checks.problem6.q6d.work import require_little_work
from checks.problem6.q6g.documents import (
    require_answer,
    require_directions,
    require_memory_work,
    run_questions,
)
from instructor.checks.problem6.q6g.cases import reordered
from instructor.checks.problem6.q6g.documents import (
    documents_case,
    draw_question,
    long_documents,
    many_documents,
    question_case,
)


@check("6g-3-hidden")
def test_gradients_and_order(student, rng):
    """Gradients of all three functions; permuting the documents changes no document's rows."""
    lengths, window, n = tuple(rng.permutation([9, 14, 6, 11]).tolist()), int(rng.integers(2, 5)), 6
    graded = [
        documents_case(rng, some, n, w, 2, 2, 3, "masks scales", dtype=dtype, with_gradients=True)
        for some, w, dtype in (
            (lengths, window, "float32"),
            (lengths[:2], window, "float64"),
            ((150, 3), 20, "float64"),
        )
    ]
    plain = [
        documents_case(rng, (int(rng.integers(1100, 1200)), 4), n, window, 1, 1, 2),
        *reordered(rng, lengths, n, window),
    ]
    answers = run_cases(student, graded + plain)
    require_each(answers[: len(graded)], require_gradients)
    require_each(answers[len(graded) :], require_output)
    require_little_work(student, [many_documents(rng)])
    moved = plain[-1].inputs["order"]
    first, second = (answer["y"].value.data.astype(float) for _, answer in answers[-2:])
    require_close(
        "cross_document_attention, with the documents in another order,",
        second,
        first[:, :, moved],
        2e-5,
    )

    question = draw_question(rng, list(lengths), 2, 4, 2, 3)
    other = replace(question, order=tuple(rng.permutation(len(lengths)).tolist()))
    require_each(
        run_questions(student, [question_case(rng, one, known=True) for one in (question, other)]),
        require_answer,
    )
    asked = question_case(rng, draw_question(rng, list(lengths)[:3], 2, 3, 2, 3, gradients=True))
    require_each(run_questions(student, [asked]), require_directions)


@check("6g-4-hidden")
def test_work(student, rng):
    """Long documents with a small window, and many short ones; projections that are applied
    once.
    """
    require_little_work(student, long_documents(rng))
    require_memory_work(student)
