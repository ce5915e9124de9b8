"""Runs sparse_attention and cross_document_attention and judges their output.

Shared by the checks of questions 6d and 6g.
"""

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.problem6.q6d.rows import describe, given, off_rows, require_part, thin
from checks.support.calls import run_each
from checks.support.cases import Case

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}  # the handout's


@probe
def drawn(case):
    """Draw q, k, v and upstream of a case, (B, n_head, T, head_dim), from its seed; `order`
    permutes the positions.
    """
    import numpy as np

    # RandomState gives the same numbers in all NumPy versions
    draw = np.random.RandomState(case["seed"]).standard_normal
    arrays = [factor * draw(tuple(case["shape"])) for factor in (case["scale"], 1, 1, 1)]
    if case["order"] is not None:
        arrays = [x[:, :, case["order"]] for x in arrays]
    return [x.astype(case["dtype"]) for x in arrays]


@probe(uses=(drawn, given))
def attend(calls):
    """Run sparse_attention, or cross_document_attention if there are lengths, for each case: the
    output, which inputs were changed, and, if asked for, the gradients of sum(output * upstream).
    """
    import torch

    from submission.problem6 import efficient_attention as student

    results = []
    for case in calls:
        *arrays, upstream = drawn(case)
        inputs = []
        for array in arrays:
            x = torch.from_numpy(array.copy())
            if case["transposed"]:  # the memory layout of heads after splitting
                x = x.transpose(1, 2).contiguous().transpose(1, 2)
            inputs.append(x.requires_grad_(case["gradients"]))
        if "lengths" in case:
            y = student.cross_document_attention(*inputs, case["lengths"], case["window"])
        else:
            pattern, chosen = given(case["spec"])
            more = (chosen,) if case["spec"]["chosen"] else ()
            y = student.sparse_attention(*inputs, pattern, *more)
        changed = [
            name
            for name, x, array in zip("qkv", inputs, arrays)
            if not torch.equal(x.detach(), torch.from_numpy(array))
        ]
        result = {"y": y, "changed": changed, "gradients": None}
        if case["gradients"]:
            if isinstance(y, torch.Tensor) and y.requires_grad:
                (y * torch.from_numpy(upstream)).sum().backward()
            result["gradients"] = [x.grad for x in inputs]
        results.append(result)
    return results


def call_of(case: Case) -> str:
    """Describe the call."""
    given = case.inputs
    shape = f"{given['dtype']} of shape {tuple(given['shape'])}"
    if "lengths" in given:
        lengths = list(given["lengths"])
        return f"cross_document_attention on {shape}, lengths {lengths}, window {given['window']}"
    return f"sparse_attention on {shape}, {describe(given['spec'])}"


def read(answer: Answer, case: Case) -> np.ndarray:
    """Read the output.

    Raises:
        WrongAnswer: it has the wrong type or shape, or NaN; names the rows with NaN.
    """
    data = answer.array(case.inputs["dtype"], tuple(case.inputs["shape"]), finite=False)
    bad = ~np.isfinite(data).all(axis=(0, 1, 3))
    if bad.any():
        raise WrongAnswer(
            f"{answer.name} has NaN or infinity in {bad.sum()} of {len(bad)} rows, the first of "
            f"them {bad.argmax()}.\n"
            "Likely cause: a softmax over only -inf (an empty row or part of one), or an "
            "exponential of a large score."
        )
    return data


def require_output(answer: Answer, case: Case) -> None:
    """Check the output, and that the inputs are unchanged.

    Raises:
        WrongAnswer: the output is wrong, or an input was changed; names the likely cause.
    """
    call, dtype = call_of(case), case.inputs["dtype"]
    if changed := answer["changed"].texts():
        raise WrongAnswer(
            f"{call} changes its argument {changed[0]} in place (as {changed[0]} /= ... and "
            "functions whose name ends with _ do)."
        )
    got, right = (
        thin(read(answer["y"].named(call), case)).astype(float),
        case.right["y"].astype(float),
    )
    try:
        require_part(f"{call}, one number of each row", got, case, "y", TOLERANCE[dtype])
    except WrongAnswer as wrong:
        near = (
            abs(got - right).max() < 0.02 * abs(right).max() and "Likely cause" not in wrong.message
        )
        precision = (
            f"It is nearly right. Is a part of it computed in a lower precision than {dtype}?\n"
            if near
            else ""
        )
        rows = _rows(off_rows(got, right, TOLERANCE[dtype]), case.inputs)
        raise WrongAnswer(f"{wrong.message}\n{precision}{rows}") from None


def _rows(off, given):
    """Describe which rows are wrong."""
    if off.all():
        return "All rows are wrong."
    first = ", ".join(map(str, np.flatnonzero(off)[:8])) + ", ..." * bool(off.sum() > 8)
    if "lengths" in given:
        special, name = np.arange(len(off)) >= sum(given["lengths"]), "rows of the question"
    else:
        special, name = (
            np.isin(np.arange(len(off)), given["spec"]["chosen"]),
            "rows of global positions",
        )
    if special.any() and not off[~special].any():
        return f"Wrong rows: {first}. They are {name}; the others are right."
    return f"Wrong rows: {first} ({off.sum()} of {len(off)})."


def require_gradients(answer: Answer, case: Case) -> None:
    """Check the output and its gradients, these to 1e-4 in float32.

    Raises:
        WrongAnswer: one is wrong; names the likely cause.
    """
    require_output(answer, case)
    for name, gradient in zip("qkv", answer["gradients"].items(3)):
        gradient = gradient.named(f"the gradient of {call_of(case)}, with respect to {name}")
        if gradient.value is None:
            raise WrongAnswer(
                f"No gradient of {call_of(case)} reaches {name}. Avoid .data, "
                f".detach(), .numpy(), .item() and "
                f"torch.no_grad()."
            )
        got = gradient.array(case.inputs["dtype"], tuple(case.inputs["shape"]))
        if not got.any() and abs(case.right[name]).max() > 1e-6:
            raise WrongAnswer(f"T{gradient.name[1:]} is 0 everywhere.")
        require_part(
            f"T{gradient.name[1:]}, one number of each row",
            thin(got),
            case,
            name,
            10 * TOLERANCE[case.inputs["dtype"]],
        )


def run_cases(student, cases: list[Case]) -> list[tuple[Case, Answer]]:
    """Run `attend` on the cases; see `run_each`."""
    calls, names = [case.inputs for case in cases], list(map(call_of, cases))
    return list(zip(cases, run_each(student, attend, calls, names)))
