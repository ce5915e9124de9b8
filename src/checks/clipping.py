"""Running attention_scores and clip_gradients of fixes.py, and the mistakes that are known by name.

The checks of question 6e share it.
"""
import math

import numpy as np

from autograder import WrongAnswer, probe, require_close
from autograder.inside.wire import Array

TOLERANCE = 1e-5


@probe
def run_scores(cases):
    """attention_scores for each case of q, k and dtype; whether q and k get gradients, and are what they were."""
    import torch
    from submission.fixes import attention_scores
    results = []
    for case in cases:
        q, k = (torch.tensor(case[name], dtype=getattr(torch, case["dtype"])).requires_grad_() for name in "qk")
        held = [q.detach().clone(), k.detach().clone()]
        scores = attention_scores(q, k)
        if isinstance(scores, torch.Tensor) and scores.requires_grad:
            scores.sum().backward()
        results.append({"scores": scores.detach() if isinstance(scores, torch.Tensor) else scores,
                        "reached": [x.grad is not None for x in (q, k)],
                        "kept": [torch.equal(*pair) for pair in zip(held, (q, k))]})
    return results


def judge_scores(student, cases: list[dict]) -> None:
    """attention_scores is right.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    for case, answer in zip(cases, student.run(run_scores, cases=cases).items(len(cases))):
        q, k = (case[name].astype(float) for name in "qk")
        d, plain = q.shape[-1], q @ k.swapaxes(-1, -2)
        call = f"attention_scores(q {q.shape}, k {k.shape})"
        right = plain / math.sqrt(d)
        got = answer["scores"].named(call).present().array(case["dtype"], right.shape).astype(float)
        weights = np.exp(right - right.max(axis=-1, keepdims=True))
        sizes = [("head_dim itself; it should be its root", d)]
        sizes += [(f"the root of {n}, another size than head_dim = {d}, the last one of q", math.sqrt(n))
                  for n in {*q.shape, *k.shape} - {d}]
        sizes += [(f"{n}; it should be the root of head_dim = {d}", n) for n in {*q.shape, *k.shape} - {d}]
        causes = [("they are not scaled. Divide by the root of head_dim.", plain),
                  ("they are multiplied by the root of head_dim. Divide.", plain * math.sqrt(d)),
                  ("these are the weights, after a softmax. The scores are what goes into it.",
                   weights / weights.sum(axis=-1, keepdims=True)),
                  *((f"they are divided by {words}.", plain / divisor) for words, divisor in sizes)]
        require_close(call, got, right, TOLERANCE, causes)
        if not all(kept.flag() for kept in answer["kept"].items(2)):
            raise WrongAnswer(f"{call} changes q or k in place.")
        if not all(reached.flag() for reached in answer["reached"].items(2)):
            raise WrongAnswer(f"No gradient passes through {call} to q and k. Avoid .data, .detach() and torch.no_grad().")


@probe
def run_clipping(cases):
    """clip_gradients for each case of gradients (an array or None for each parameter): what it returns, the gradients afterwards,
    what the tensors that were gradients hold then, and whether parameters are what they were."""
    import torch
    from submission.fixes import clip_gradients
    results = []
    for case in cases:
        model = torch.nn.Module()
        held = []
        for i, gradient in enumerate(case["gradients"]):
            shape = (3,) if gradient is None else gradient.shape
            parameter = torch.nn.Parameter(torch.full(shape, 0.5, dtype=getattr(torch, case["dtype"])))
            if gradient is not None:
                parameter.grad = torch.from_numpy(gradient.copy()).to(parameter.dtype)
            held.append(parameter.grad)
            model.register_parameter(f"p{i}", parameter)
        parameters = list(model.parameters())
        norm = clip_gradients(parameters if case["listed"] else model.parameters(), case["max_norm"])
        results.append({"norm": norm, "gradients": [None if p.grad is None else p.grad.clone() for p in parameters],
                        "held": [None if gradient is None else gradient.clone() for gradient in held],
                        "kept": all((p == 0.5).all().item() for p in parameters)})
    return results


def judge_clipping(student, cases: list[dict]) -> None:
    """clip_gradients is right.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    for case, answer in zip(cases, student.run(run_clipping, cases=cases).items(len(cases))):
        what = f"clip_gradients on {case['what']}, max_norm {case['max_norm']:.4g},"
        gradients = [None if gradient is None else gradient.astype(case["dtype"]).astype(float) for gradient in case["gradients"]]
        there = [gradient for gradient in gradients if gradient is not None]
        norm = math.sqrt(sum((gradient ** 2).sum() for gradient in there))
        _require_norm(answer["norm"], what, norm, there)
        after = answer["gradients"].items(len(gradients))
        if not answer["kept"].flag():
            raise WrongAnswer(f"{what} changes the parameters. It should change their gradients.")
        if np.isnan(norm) or np.isinf(norm):
            if any(gradient.value is not None for gradient in after):
                raise WrongAnswer(f"After {what} all gradients should be None, so that the optimizer skips the step; they are "
                                  f"{', '.join(dict.fromkeys(gradient.describe() for gradient in after))[:200]}.")
            continue
        _require_gradients(case, gradients, norm, after, answer["held"].items(len(gradients)), what)


def _require_norm(answer, what, norm, there):
    name = f"what {what} returns"
    if isinstance(answer.value, Array) and answer.value.data.ndim == 0:
        raise WrongAnswer(f"{name} should be a Python float; it is {answer.describe()}. Its .item() is one.")
    value = answer.named(name).present().value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongAnswer(f"{name} should be a float; it is {answer.describe()}.")
    if np.isnan(norm) or np.isinf(norm):
        if math.isfinite(value):
            raise WrongAnswer(f"{name} is {value:.4g}. The norm before clipping is not finite, and that is what should be "
                              "returned.")
        return
    if not there or not any(gradient.any() for gradient in there):
        causes = []
    else:
        norms = [math.sqrt((gradient ** 2).sum()) for gradient in there]
        causes = [("the root is missing.", norm ** 2),
                  ("the norms of the parameters are added up. Add up their squares.", sum(norms)),
                  ("it is the largest of the parameters' norms. It should be that of all gradients together.", max(norms)),
                  ("it is the norm of the last parameter alone.", norms[-1]),
                  ("it is the norm of the first parameter alone.", norms[0]),
                  ("it is the mean of the parameters' norms.", sum(norms) / len(norms)),
                  ("it is the root of the mean of the squares, not of their sum.",
                   norm / math.sqrt(sum(gradient.size for gradient in there))),
                  ("it is the sum of absolute values.", sum(np.abs(gradient).sum() for gradient in there)),
                  ("it is the largest entry.", max(np.abs(gradient).max() for gradient in there)),
                  ("nothing is left to run through: parameters is a generator, which can be run through once. Make a list of it "
                   "first.", 0.0)]
        causes = [(sentence, np.array(wrong)) for sentence, wrong in causes]
    require_close(name[:1].upper() + name[1:], np.array(float(value)) if math.isfinite(value) else np.array(np.inf),
                  np.array(norm),
                  TOLERANCE, causes)


def _require_gradients(case, gradients, norm, after, held, what):
    limit = case["max_norm"]
    factor = min(1.0, limit / norm) if norm else 1.0
    for i, (gradient, answer, kept) in enumerate(zip(gradients, after, held)):
        if gradient is None:
            if answer.value is not None:
                raise WrongAnswer(f"After {what} a parameter has a gradient that had none before.")
            continue
        name = f"The gradient of parameter {i} after {what.rstrip(',')}"
        if answer.value is None:
            raise WrongAnswer(f"{name} is None. That is for norms that are not finite.")
        own = math.sqrt((gradient ** 2).sum()) or 1.0
        causes = [("it is not clipped.", gradient), ("each parameter is clipped by itself. One factor is for all.",
                                                   gradient * min(1.0, limit / own)),
                  ("each entry is limited to max_norm. One factor is for all.", gradient.clip(-limit, limit)),
                  ("it is multiplied by max_norm / norm though the norm is not larger.", gradient * limit / (norm or 1.0)),
                  ("it is divided by the norm; multiply by max_norm / norm.", gradient / (norm or 1.0)),
                  ("it is set to 0.", 0 * gradient),
                  ("it is multiplied by max_norm / norm twice.", gradient * factor ** 2)]
        name = f"{name} (the norm was {norm:.4g})"
        require_close(name, answer.named(name).array(case["dtype"], gradient.shape).astype(float), gradient * factor, TOLERANCE,
                      causes)
        if not np.allclose(kept.array(case["dtype"], gradient.shape, finite=False).astype(float), gradient * factor, rtol=1e-4,
                           atol=1e-6):
            raise WrongAnswer(f"{name} is right, but in a new tensor. It should be changed in place, as grad.mul_(...) does.")
