"""Question 6g, basic: attention across documents; a memory of documents, and asking it."""
import numpy as np

from autograder import check
from checks.documents import draw_documents, draw_question, require_across_work, require_answer, require_memory, run_questions
from checks.sparse import require_output, run_cases


@check("6g-1-basic")
def test_cross_document_attention(student, rng):
    """Documents shorter and longer than the window and than a block; one document, documents and questions of one token; and no
    dense attention."""
    window = int(rng.integers(3, 6))
    some = tuple(rng.integers(window + 3, 20, 3).tolist())
    cases = [draw_documents(rng, some, 7, window, 2, 3, 5), draw_documents(rng, (*some[::-1], 2), 4, window, 1, 2, 6, "float64"),
             draw_documents(rng, (int(rng.integers(140, 200)), 150, 9), 6, int(rng.integers(20, 30)), 2, 1, 3),
             draw_documents(rng, (12,), 1, 2, 1, 2, 3), draw_documents(rng, (1, 1, 1), 3, 0, 2, 1, 4),
             draw_documents(rng, some, 9, 0, 1, 2, 3),
             draw_documents(rng, some, 5, 100, 1, 3, 2, transposed=True), draw_documents(rng, (1,), 1, 1, 1, 1, 1, "float64"),
             # longer than the smallest default stride
             draw_documents(rng, (5, int(rng.integers(1100, 1200))), 6, window, 1, 2, 3)]
    for case, answer in run_cases(student, cases):
        require_output(answer, case)
    require_across_work(student, [((1300, 1200), 20, int(rng.integers(250, 270)))])


@check("6g-2-basic")
def test_memory(student, rng):
    """Several documents, one, and of one token; one state and several, of several sequences."""
    lengths = rng.permutation(np.arange(3, 12))[:4].tolist()
    cases = [draw_question(rng, *rest) for rest in ((lengths, 3, 5, 2, 4), (lengths[:1], 1, 4, 3, 2), ([1, 6, 1], 2, 1, 2, 5))]
    for case, answer in run_questions(student, cases):
        require_memory(answer, case)
        require_answer(answer, case)
