"""Question 6g, hidden: gradients and the order of documents; the work; what is refused."""
import numpy as np

from autograder import WrongAnswer, check, probe, require_close
from checks.calls import attempt
from checks.documents import draw_documents, draw_question, require_across_work, require_answer, require_memory, run_questions
from checks.gradients import require_gradients as require_directions
from checks.patterns import Spec
from checks.sparse import given, require_gradients, require_output, run_cases
from checks.sparse_layers import draw_layer, layer_of
from checks.work import measured


@check("6g-3-hidden")
def test_gradients_and_order(student, rng):
    """Gradients of all three functions; documents in another order, and another question, which change no document's rows."""
    lengths, window, n = tuple(rng.permutation([9, 14, 6, 11]).tolist()), int(rng.integers(2, 5)), 5
    T = sum(lengths) + n
    cases = [draw_documents(rng, some, n, w, 2, 2, 3, dtype, upstream=rng.standard_normal((2, 2, sum(some) + n, 3)).astype(dtype))
             for some, w, dtype in ((lengths, window, "float32"), (lengths[:2], window, "float64"), ((150, 3), 20, "float64"))]
    cases.append(draw_documents(rng, (int(rng.integers(1100, 1200)), 4), n, window, 1, 1, 2))
    order = rng.permutation(len(lengths))
    starts = np.cumsum([0, *lengths])
    moved = np.concatenate([*(np.arange(starts[d], starts[d + 1]) for d in order), np.arange(T - n, T)])
    first = draw_documents(rng, lengths, n, window, 1, 2, 3)
    second = draw_documents(rng, tuple(lengths[d] for d in order), n, window, 1, 2, 3)
    for name in "qkv":
        setattr(second, name, getattr(first, name)[:, :, moved].copy())
    outputs = []
    for case, answer in run_cases(student, [*cases, first, second]):
        require_output(answer, case)
        if case.upstream is not None:
            require_gradients(answer, case)
        outputs.append(answer["y"].value.data)
    require_across_work(student, [((1200, 1100), 30, int(rng.integers(250, 270)))])
    require_close("cross_document_attention, with the documents in another order,", outputs[-1].astype(float),
                  outputs[-2][:, :, moved].astype(float), 2e-5)

    question = draw_question(rng, list(lengths), 2, 4, 2, 3)
    other = draw_question(rng, list(lengths), 2, 4, 2, 3)
    other.documents = [question.documents[d] for d in order]
    other.layer, other.x, other.lengths = question.layer, question.x, [question.lengths[d] for d in order]
    graded = draw_question(rng, list(lengths)[:3], 2, 3, 2, 3)
    graded.upstream = [rng.standard_normal(graded.x.shape), rng.standard_normal((2, 3, 3))]
    answers = run_questions(student, [question, other, graded])
    for case, answer in answers[:2]:
        require_memory(answer, case)
        require_answer(answer, case)
    inputs = {"x": graded.x.astype(float), **{f"document {d}": part.astype(float) for d, part in enumerate(graded.documents)},
              **{name: value.astype(float) for name, value in graded.layer.weights.items()}}

    def value(inputs):
        case = draw_question(rng, list(lengths)[:3], 2, 3, 2, 3)
        case.x, case.documents = inputs["x"], [inputs[f"document {d}"] for d in range(3)]
        case.layer.weights = {name: inputs[name] for name in graded.layer.weights}
        y, weights = case.expected()
        return (y * graded.upstream[0]).sum() + (case.shares(weights) * graded.upstream[1]).sum()

    require_directions(answers[2][1]["gradients"], inputs, value, rng, "remember and ask")


@probe(uses=(attempt, given, layer_of, measured))
def memory_work(layer, rotating, documents, x):
    """What remember and ask do; and what is raised for lengths and windows that do not fit."""
    import torch
    from submission import efficient_attention as student
    results = []
    module, _ = layer_of(layer)
    documents, x = [torch.from_numpy(document) for document in documents], torch.from_numpy(x)
    with torch.no_grad():
        memory = student.remember(module, documents)
        given_ = [*documents, x, *module.parameters(), memory.keys, memory.values]
        results.append(measured(lambda: student.remember(module, documents), given_, 10_000, 1 << 30))
        results.append(measured(lambda: student.ask(module, x, memory), given_, 10_000, 1 << 30))
    q = torch.randn(1, 2, 12, 4)
    calls = {"cross_document_attention without documents": ([], 3), "cross_document_attention without a question": ([5, 7], 3),
             "cross_document_attention with lengths [5, 9] of 12 tokens": ([5, 9], 3),
             "cross_document_attention with lengths [5, 0]": ([5, 0], 3),
             "cross_document_attention with lengths [9, -2]": ([9, -2], 3),
             "cross_document_attention with a window of -1": ([5, 4], -1)}
    calls = {call: lambda rest=rest: student.cross_document_attention(q, q, q, *rest) for call, rest in calls.items()}
    calls["remember without documents"] = lambda: student.remember(module, [])
    calls["remember of a module that rotates"] = lambda: student.remember(layer_of(rotating)[0], documents)
    return {"work": results, "said": [[call, attempt(function, True)[1]] for call, function in calls.items()]}


@check("6g-4-hidden")
def test_work(student, rng):
    """Long documents with a small window, and many short ones; projections that are applied once; lengths that do not fit."""
    window = int(rng.integers(250, 270))
    require_across_work(student, [((2600, 2700), 30, window), ((300,) * 10, 50, 400), ((3000, 1, 900), 40, window)])
    lengths, C = [400, 1, 350], 32
    layer = draw_layer(rng, Spec(4, 2), 1, 4, C // 4)
    documents = [rng.standard_normal((n, C)).astype("float32") for n in lengths]
    x = rng.standard_normal((2, 7, C)).astype("float32")
    rotating = draw_layer(rng, Spec(4, 2), 1, 4, C // 4, dense=True, rope=True, block_size=9)
    answer = student.run(memory_work, layer=layer.data, rotating=rotating.data, documents=documents, x=x)
    remembered, asked = answer["work"].items(2)
    N, rows = sum(lengths), 2 * 7
    for name, counted, right in (("remember", remembered, 2 * 2 * N * C * C),
                                 ("ask", asked, 2 * 2 * rows * C * C + 4 * rows * N * C)):
        if counted["stopped"].text():
            raise WrongAnswer(f"{name} takes more than 10,000 operations, or 1 GB, for documents of {lengths} tokens.")
        flops = counted["flops"].number()
        if flops > (1.2 if name == "remember" else 2) * right:        # the shares may be worked out apart
            more = {"ask": "The keys and values of memory are there already.",
                    "remember": "The modules key and value are applied once to each token."}[name]
            raise WrongAnswer(f"{name} takes {flops:,.0f} FLOPs for documents of {lengths} tokens, where {right:,} are "
                              f"needed. {more}")
    for said in answer["said"].items():
        call, kinds = said.items(2)
        if kinds.value is None:
            raise WrongAnswer(f"{call.text()} raises no error; it should raise ValueError.")
        if "ValueError" not in (names := kinds.texts()):
            raise WrongAnswer(f"{call.text()} should raise ValueError; it raises {names[0] if names else 'something else'}.")
