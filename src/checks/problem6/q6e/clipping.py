"""Runs attention_scores and clip_gradients of fixes.py and judges their results."""

import math

import numpy as np

from autograder import WrongAnswer, probe, require_close
from autograder.inside.wire import Array
from checks.problem6.q6e.runs import run_cases
from checks.support.cases import Case

TOLERANCE = 1e-5


def call_of(case: Case) -> str:
    """Describe the call, for messages."""
    if "q" in case.inputs:
        return f"attention_scores(q {case.inputs['q'].shape}, k {case.inputs['k'].shape})"
    # The description names the iterator: with a list instead, some mistakes would not show.
    given = "list(model.parameters())" if case.inputs["listed"] else "model.parameters()"
    limit = f"max_norm={case.inputs['max_norm']:.4g}"
    return f"clip_gradients({given}, {limit}) with {case.about['what']}"


@probe
def run_scores(calls):
    """Run attention_scores for each case of q, k and dtype; also, whether q and k get gradients and
    are unchanged.
    """
    import torch

    from submission.problem6.fixes import attention_scores

    results = []
    for case in calls:
        q, k = (
            torch.tensor(case[name], dtype=getattr(torch, case["dtype"])).requires_grad_()
            for name in "qk"
        )
        held = [q.detach().clone(), k.detach().clone()]
        scores = attention_scores(q, k)
        if isinstance(scores, torch.Tensor) and scores.requires_grad:
            scores.sum().backward()
        results.append(
            {
                "scores": scores.detach() if isinstance(scores, torch.Tensor) else scores,
                "reached": [x.grad is not None for x in (q, k)],
                "kept": [torch.equal(*pair) for pair in zip(held, (q, k))],
            }
        )
    return results


def judge_scores(student, cases: list[Case]) -> None:
    """Check attention_scores.

    Raises:
        WrongAnswer: it is wrong; names the likely cause.
    """
    for case, answer in zip(cases, run_cases(student, run_scores, cases, call_of)):
        call = call_of(case)
        scores = (
            answer["scores"].named(call).present().array(case.inputs["dtype"], case.right.shape)
        )
        case.require(call, scores.astype(float), TOLERANCE)
        if not all(kept.flag() for kept in answer["kept"].items(2)):
            raise WrongAnswer(f"{call} changes q or k in place.")
        if not all(reached.flag() for reached in answer["reached"].items(2)):
            raise WrongAnswer(
                f"No gradient passes through {call} to q and k. Avoid .data, "
                ".detach() and torch.no_grad()."
            )


@probe
def run_clipping(calls):
    """Run clip_gradients for each case of gradients (an array or None per parameter): its result,
    the gradients afterwards, the values in the original gradient tensors, and whether parameters
    are unchanged.
    """
    import torch

    from submission.problem6.fixes import clip_gradients

    results = []
    for case in calls:
        model = torch.nn.Module()
        held = []
        for i, gradient in enumerate(case["gradients"]):
            shape = (3,) if gradient is None else gradient.shape
            parameter = torch.nn.Parameter(
                torch.full(shape, 0.5, dtype=getattr(torch, case["dtype"]))
            )
            if gradient is not None:
                parameter.grad = torch.from_numpy(gradient.copy()).to(parameter.dtype)
            held.append(parameter.grad)
            model.register_parameter(f"p{i}", parameter)
        parameters = list(model.parameters())
        norm = clip_gradients(
            parameters if case["listed"] else model.parameters(), case["max_norm"]
        )
        results.append(
            {
                "norm": norm,
                "gradients": [None if p.grad is None else p.grad.clone() for p in parameters],
                "held": [None if gradient is None else gradient.clone() for gradient in held],
                "kept": all((p == 0.5).all().item() for p in parameters),
            }
        )
    return results


def judge_clipping(student, cases: list[Case]) -> None:
    """Check clip_gradients.

    Raises:
        WrongAnswer: it is wrong; names the likely cause.
    """
    for case, answer in zip(cases, run_cases(student, run_clipping, cases, call_of)):
        call = call_of(case)
        _require_norm(case, answer["norm"], call)
        after = answer["gradients"].items(len(case.inputs["gradients"]))
        if not answer["kept"].flag():
            raise WrongAnswer(
                f"{call}: the parameters are changed. It should change only their gradients."
            )
        if case.right["gradients"] is None:
            if any(gradient.value is not None for gradient in after):
                found = ", ".join(dict.fromkeys(gradient.describe() for gradient in after))
                raise WrongAnswer(
                    f"{call}: all gradients should be None afterwards, so that the "
                    f"optimizer skips the step; they are {found[:200]}."
                )
            continue
        _require_gradients(case, after, answer["held"].items(len(after)), call)


def _require_norm(case, answer, call):
    name, right = f"{call}: what it returns", case.right["norm"]
    if isinstance(answer.value, Array) and answer.value.data.ndim == 0:
        raise WrongAnswer(
            f"{name} should be a Python float; it is {answer.describe()}. Use .item()."
        )
    value = answer.named(name).present().value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongAnswer(f"{name} should be a float; it is {answer.describe()}.")
    if right is None:
        if math.isfinite(value):
            raise WrongAnswer(
                f"{name} is {value:.4g}. The norm before clipping is not finite, "
                "and that is what should be returned."
            )
        return
    causes = [
        (sentence, np.array(wrong["norm"])) for sentence, wrong in case.wrong if "norm" in wrong
    ]
    require_close(
        name,
        np.array(float(value) if math.isfinite(value) else np.inf),
        np.array(right),
        TOLERANCE,
        causes,
    )


def _require_gradients(case, after, held, call):
    norm = f"(their norm was {case.right['norm']:.4g})"
    causes = [
        (sentence, wrong["gradients"]) for sentence, wrong in case.wrong if "gradients" in wrong
    ]
    for i, (right, answer, kept) in enumerate(zip(case.right["gradients"], after, held)):
        name = f"{call}: the gradient of parameter {i} afterwards {norm}"
        if right is None:
            if answer.value is not None:
                raise WrongAnswer(
                    f"{call}: parameter {i} has a gradient afterwards, but had none before."
                )
            continue
        if answer.value is None:
            raise WrongAnswer(f"{name} is None. Only a norm that is not finite should cause that.")
        dtype, shape = case.inputs["dtype"], right.shape
        got = answer.named(name).array(dtype, shape).astype(float)
        tensor = kept.named(name).array(dtype, shape, finite=False).astype(float)
        require_close(
            name, got, right, TOLERANCE, [(sentence, wrong[i]) for sentence, wrong in causes]
        )
        if not np.allclose(tensor, right, rtol=1e-4, atol=1e-6):
            raise WrongAnswer(
                f"{name} is right, but in a new tensor. It should be changed in "
                "place, as grad.mul_(...) does."
            )
