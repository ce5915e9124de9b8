"""Question 6g, basic: attention across documents; a memory of documents, and questions to it;
gradients, work, and what is refused.
"""

from dataclasses import replace

from autograder import Failed, Verdict, WrongAnswer, check, probe
from checks.problem6.q6d_attention import CHANGED, UNREACHED
from checks.problem6.q6d_work import require_little_work
from checks.problem6.q6g_memory import MEMORY, differentiate, require_memory_work
from checks.support.asked import Asked, Close


@probe(uses=(differentiate,))
def across(seed, shape, scale, lengths, window, dtype, transposed, iterator, gradients):
    """Run cross_document_attention on random q (times `scale`), k and v: its output, which of them
    it changed, and gradients.
    """
    import numpy as np
    import torch

    from submission.problem6.efficient_attention import cross_document_attention

    state = np.random.RandomState(seed)  # gives the same numbers in all NumPy versions
    *inputs, upstream = (
        torch.from_numpy(state.standard_normal(tuple(shape)).astype(dtype)) for _ in range(4)
    )
    inputs[0] *= scale
    if transposed:  # the memory layout of heads after splitting
        inputs = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in inputs]
    copies = [x.clone() for x in inputs]
    named = {name: x.requires_grad_(gradients) for name, x in zip("qkv", inputs)}
    output = cross_document_attention(*inputs, iter(lengths) if iterator else lengths, window)
    return {
        "output": output,
        "changed": [
            name for name, copy in zip(named, copies) if not torch.equal(named[name], copy)
        ],
        **differentiate([output], [upstream], named if gradients else {}),
    }


def written(inputs: dict) -> str:
    """A call of cross_document_attention as a student would write it."""
    lengths = f"iter({inputs['lengths']})" if inputs["iterator"] else inputs["lengths"]
    shape = f"{tuple(inputs['shape'])} {inputs['dtype']}"
    return f"cross_document_attention(q, k, v {shape}, {lengths}, {inputs['window']})"


ACROSS = Asked(
    across,
    written,
    {
        "output": Close(),  # the handout's tolerances, also below
        "changed": CHANGED,
        "unreached": UNREACHED,
        "gradients": Close("The gradients of {call}", {"float32": 1e-4, "float64": 1e-9}),
    },
)


def require_long_texts(student, calls) -> None:
    """Judge the results and the work of long texts.

    Dense attention over each document would be too slow; over many short ones, it is so only over
    all of them together.
    """

    def dense(inputs):
        lengths = inputs["arguments"]["lengths"]
        return lengths if max(lengths) > 1_000 else [inputs["shape"][2]]

    require_little_work(student, calls, dense)


@check("6g-1-basic", "6g-2-basic", "6g-5-basic")
def test_documents(student, calls):
    """Outputs and gradients, as far as the calls ask for them; no dense attention over all."""
    require_documents(student, calls)


def require_documents(student, calls) -> None:
    """Judge the calls of each probe; also for the hidden check."""
    for asked in (ACROSS, MEMORY):
        asked.require(student, calls)
    require_long_texts(student, calls)


@check("6g-6-basic")
def test_work(student, calls):
    """Long documents with a small window, and many short ones; projections that are applied
    once.
    """
    require_work(student, calls)


def require_work(student, calls) -> None:
    """Judge the work of all three functions; also for the hidden check."""
    require_long_texts(student, calls)
    require_memory_work(student)


@check("6g-7-basic")
def test_refusals(student, calls):
    """Plain calls are not refused. Each of the others, which do not fit or have an iterator, is
    worth a part of the points.
    """
    wrong, count = [], 0
    for asked in (ACROSS, MEMORY):
        plain, *others = [call for call in calls if call.probe == asked.probe.name]
        replace(asked, reply={}).require(student, [plain])  # other checks judge what it gives
        count += len(others)
        for call in others:
            try:
                asked.require(student, [call])
            except Failed as failed:
                if failed.verdict not in (Verdict.WRONG_ANSWER, Verdict.EXCEPTION):
                    raise
                wrong.append(failed.message)
    if wrong:
        raise WrongAnswer("\n".join(wrong), fraction=1 - len(wrong) / count)
