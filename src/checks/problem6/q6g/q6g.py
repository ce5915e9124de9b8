"""Question 6g, basic: attention across documents; a memory of documents, and queries to it."""

from autograder import WrongAnswer, check, probe
from checks.problem6.q6d.limits import plain_layer, unlike
from checks.problem6.q6d.rows import given, require_each
from checks.problem6.q6d.sparse import require_gradients, require_output, run_cases
from checks.problem6.q6d.sparse_layers import layer_inputs, layer_of
from checks.problem6.q6d.work import require_little_work
from checks.problem6.q6g.documents import (
    require_answer,
    require_directions,
    require_memory_work,
    run_questions,
)
from checks.support.calls import attempt


@check("6g-1-basic")
def test_cross_document_attention(student, cases):
    """Documents shorter and longer than the window and than a block; one document, documents and
    questions of one token; other orders; and no dense attention.
    """
    require_each(
        run_cases(student, [case for case in cases if "dense" not in case.about]), require_output
    )
    require_little_work(student, [case for case in cases if "dense" in case.about])


@check("6g-2-basic")
def test_memory(student, cases):
    """Several documents, one, and of one token; one state and several, of several sequences; other
    orders.
    """
    require_each(run_questions(student, cases), require_answer)


@check("6g-5-basic")
def test_gradients(student, cases):
    """Gradients of all three functions."""
    require_each(
        run_cases(student, [case for case in cases if "seed" in case.inputs]), require_gradients
    )
    require_each(
        run_questions(student, [case for case in cases if "seed" not in case.inputs]),
        require_directions,
    )


@check("6g-6-basic")
def test_work(student, cases):
    """Long documents with a small window, and many short ones; projections that are applied
    once.
    """
    require_little_work(student, cases)
    require_memory_work(student)


@probe(uses=(attempt, given, layer_inputs, layer_of))
def refusals(plain, rotating):
    """Make calls with unsuitable lengths, windows and modules: the exceptions raised. "alike": as
    in `limits.refusals`.
    """
    import torch

    from submission.problem6 import efficient_attention as student

    module, _ = layer_of(plain)
    documents, q = [torch.from_numpy(layer_inputs(plain)[1])[0]], torch.randn(1, 2, 12, 4)
    calls = {
        "cross_document_attention without documents": ([], 3),
        "cross_document_attention without a question": ([5, 7], 3),
        "cross_document_attention with lengths [5, 9] of 12 tokens": ([5, 9], 3),
        "cross_document_attention with lengths [5, 0]": ([5, 0], 3),
        "cross_document_attention with lengths [9, -2]": ([9, -2], 3),
        "cross_document_attention with a window of -1": ([5, 4], -1),
    }
    calls = {
        call: lambda rest=rest: student.cross_document_attention(q, q, q, *rest)
        for call, rest in calls.items()
    }
    calls["remember without documents"] = lambda: student.remember(module, [])
    calls["remember of a module that rotates"] = lambda: student.remember(
        layer_of(rotating)[0], documents
    )
    said = [[call, attempt(function, True)[1]] for call, function in calls.items()]
    lengths = (length for length in (5, 4))
    got = attempt(lambda: student.cross_document_attention(q, q, q, lengths, 3), True)
    right = student.cross_document_attention(q, q, q, [5, 4], 3)
    call = "cross_document_attention with lengths from a generator"
    return {"said": said, "alike": [[call, *got, right]]}


@check("6g-7-basic")
def test_refusals(student, rng):
    """Lengths, windows and modules that do not fit."""
    n = int(rng.integers(5, 9))
    answer = student.run(
        refusals,
        plain=plain_layer(rng, n, False),
        rotating=plain_layer(rng, n, False, dense=True, rope=True, block_size=n + 4),
    )
    said, wrong = answer["said"].items(8), unlike(answer["alike"], 1)
    for call, kinds in (one.items(2) for one in said):
        if kinds.value is None:
            wrong.append(f"{call.text()} raises no error; it should raise ValueError.")
        elif "ValueError" not in (names := kinds.texts()):
            wrong.append(
                f"{call.text()} should raise ValueError; it raises "
                f"{names[0] if names else 'something else'}."
            )
    if wrong:
        raise WrongAnswer("\n".join(wrong), fraction=1 - len(wrong) / (len(said) + 1))
