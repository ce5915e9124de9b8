"""Runs MultiHeadAttention and reads its output; shared by the checks of question 5d, and partly
5e.
"""

from collections.abc import Callable, Iterator

import numpy as np

from autograder import Answer, Probe, WrongAnswer, probe, require_close
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.support import calls
from checks.support.calls import sentence_case
from checks.support.cases import Case

TOLERANCE = 1e-5  # the handout's


@probe
def load(module, weights):
    """For other probes: put weights, arrays by name, into a module, if all of them fit.

    Returns:
        Copies of all initial parameters, and the parameters, or None if the weights do not fit.
    """
    import torch

    parameters = dict(module.named_parameters())
    before = {name: value.detach().clone() for name, value in parameters.items()}
    shapes = {name: value.shape for name, value in parameters.items()}
    if any(shapes.get(name) != value.shape for name, value in weights.items()):
        return before, None
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(torch.from_numpy(value))
    return before, parameters


@probe(uses=(forbid_builtins, load))
def attend(calls):
    """Run MultiHeadAttention with each case's weights on its x (repeated if asked) and padding.

    For each case: the output, or the pair of output and weights; in evaluation with dropout, the
    output of a second call as `again`; with an upstream, the gradients of sum(output * upstream). A
    layer whose parameters do not fit is not run.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import MultiHeadAttention

        results = []
        for case in calls:
            dtype, wanted = getattr(torch, case["dtype"]), case["weights"]
            rate = [] if case["dropout"] is None else [case["dropout"]]
            layer = MultiHeadAttention(case["n_embd"], case["n_head"], *rate)
            layer = layer.to(dtype).train(case["train"])
            before, parameters = load(layer, wanted)
            result = {"parameters": before, "y": None, "again": None, "gradients": None}
            results.append(result)
            if parameters is None:
                continue
            x = torch.tensor(case["x"]).to(dtype).repeat(case["repeat"], 1, 1)
            x.requires_grad_(case["upstream"] is not None)
            padding = None if case["padding"] is None else torch.tensor(case["padding"])
            given = [x] if padding is None and not case["pair"] else [x, padding]
            result["y"] = layer(*given, True) if case["pair"] else layer(*given)
            kept = None if padding is None else padding.clone()
            result["after"] = {"x": x.detach()[: len(case["x"])].clone(), "padding": kept}
            if case["dropout"] and not case["train"]:
                result["again"] = layer(x, padding)
            if case["upstream"] is not None:
                y = result["y"][0] if isinstance(result["y"], tuple) else result["y"]
                if isinstance(y, torch.Tensor) and y.requires_grad:
                    (y * torch.from_numpy(case["upstream"])).sum().backward()
                gradients = {name: parameters[name].grad for name in wanted}
                result["gradients"] = {"x": x.grad, **gradients}
        return results


def require_parameters(
    answer: Answer, shapes: dict[str, tuple], what: str, exact: bool = False
) -> None:
    """Check that all parameters are present with the right shapes, and with `exact` no others.

    Raises:
        WrongAnswer: names the wrong ones.
    """
    parameters = answer.entries()
    if missing := [name for name in shapes if name not in parameters]:
        has = ", ".join(sorted(parameters)) or "none"
        raise WrongAnswer(f"{what} lacks parameters: {', '.join(missing)}. It has {has}.")
    for name, shape in shapes.items():
        parameters[name].named(f"{what}'s {name}").array(None, shape)
    if exact and (extra := sorted(parameters.keys() - shapes.keys())):
        raise WrongAnswer(
            f"{what} has parameters that it should not have: {', '.join(extra)[:300]}."
        )


def shapes_of(case: Case) -> dict[str, tuple]:
    """Return the shapes of a case's weights, by name."""
    return {name: value.shape for name, value in case.inputs["weights"].items()}


def run_each(
    student, probe: Probe, cases: list[Case], call: Callable[[dict], str]
) -> Iterator[tuple[Case, Answer]]:
    """Run a probe on the inputs of cases; yield each case with its answer.

    Args:
        call: describes a call, from its inputs; see `calls.run_each`.
    """
    inputs = [case.inputs for case in cases]
    yield from zip(cases, calls.run_each(student, probe, inputs, list(map(call, inputs))))


def run_heads(student, cases: list[Case]) -> Iterator[tuple[Case, Answer]]:
    """Run `attend`; yield each case with its answer, after checking the parameters."""
    for case, answer in run_each(student, attend, cases, describe_call):
        name = f"MultiHeadAttention({case.inputs['n_embd']}, {case.inputs['n_head']})"
        require_parameters(answer["parameters"], shapes_of(case), name)
        yield case, answer


def describe(inputs: dict) -> str:
    """Describe the call, for messages."""
    B, T, C = inputs["x"].shape
    more = "" if inputs["padding"] is None else ", key_padding_mask"
    shape = B * inputs["repeat"], T, C
    return f"MultiHeadAttention({C}, {inputs['n_head']}) on x of shape {shape}{more}"


def describe_call(inputs: dict) -> str:
    """Describe the call, for messages when it fails."""
    mask = "" if inputs["padding"] is None else f" of shape {inputs['padding'].shape}"
    pair = ", return_weights=True" if inputs["pair"] else ""
    return f"{describe(inputs)}{mask}{pair}, in {inputs['dtype']}"


def split_answer(case: Case, answer: Answer) -> tuple[Answer, Answer | None]:
    """Return the output, and the weights if they were asked for.

    Raises:
        WrongAnswer: they are not a pair, or x or the mask was changed.
    """
    inputs = case.inputs
    call = describe(inputs)
    for name, key, dtype in (("x", "x", inputs["dtype"]), ("key_padding_mask", "padding", "bool")):
        before = inputs[key]
        if before is None:
            continue
        after = answer["after"][key].array(dtype, before.shape, finite=False)
        if not np.array_equal(after, before):
            raise WrongAnswer(
                f"{call} changes its argument {name} in place (as x += ... and functions whose "
                "name ends with _ do)."
            )
    if not inputs["pair"]:
        return answer["y"].named(f"the output of {call}"), None
    y, weights = answer["y"].named(f"what {call}, return_weights=True returns").items(2)
    return y.named(f"the output of {call}"), weights.named(f"the weights of {call}")


def read(answer: Answer, case: Case, shape: tuple | None) -> np.ndarray:
    """Return an array of the case's dtype as float64.

    Raises:
        WrongAnswer: it is something else, or has NaN; names the likely cause if there is padding.
    """
    data = answer.array(case.inputs["dtype"], shape, finite=False)
    if np.isnan(data).any() and (cause := _nan_cause(case.inputs, np.isnan(data))):
        count = np.isnan(data).sum()
        name = sentence_case(answer.name)
        raise WrongAnswer(f"{name} has {count} values that are NaN.\nLikely cause: {cause}")
    return answer.array(case.inputs["dtype"], shape).astype(float)


def _nan_cause(inputs, bad):
    softmax = "a softmax over only -inf gives NaN"
    turned = f"{softmax}. Is the mask the right way around (True: padding)?"
    if "idx" in inputs:
        if (inputs["idx"] != 0).any(axis=1).all():
            return turned
        return (
            f"one row here is entirely PAD. Its attention weights should be 0 (see 5d: {softmax}), "
            "and a mean over its positions a vector of zeros."
        )
    padding = inputs.get("padding")
    if padding is None:
        return f"{softmax}." if "padding" in inputs else None
    if padding.all(axis=1).any():
        return (
            f"{softmax}. One row here is entirely padding: set its weights to zero after the "
            "softmax."
        )
    if bad.ndim == 3 and np.array_equal(bad.any(axis=2), padding):
        return (
            "the queries at padded positions attend to nothing. The mask hides only keys; these "
            "queries are computed like any other."
        )
    return turned


def require_part(
    case: Case,
    part: str,
    name: str,
    got: np.ndarray,
    cause: str | None = None,
    otherwise: str | None = None,
) -> None:
    """Compare with a part of the right answer. A mistake may be stored as only the first entries of
    each vector.

    Args:
        name: of the compared value, for the message.
        cause: the likely one, if already known.
        otherwise: the likely cause if no mistake is recognized.

    Raises:
        WrongAnswer: they differ; names the likely cause.
    """

    def completed(value):
        value = (value() if callable(value) else value) or {}
        known = value.get(part)
        if known is None or known.ndim != got.ndim or known.shape[:-1] != got.shape[:-1]:
            return known
        return np.concatenate((known, got[..., known.shape[-1] :]), axis=-1)

    causes = [(cause, got)] if cause else []
    causes += [(sentence, lambda value=value: completed(value)) for sentence, value in case.wrong]
    causes += [(otherwise, got)] if otherwise else []
    require_close(sentence_case(name), got, case.right[part], TOLERANCE, causes)


def require_output(answer: Answer, case: Case, again: Answer | None = None) -> None:
    """Check the output. again: the output of a second call.

    Raises:
        WrongAnswer: it is wrong, or differs in the second call; names the likely cause.
    """
    shape = (len(case.inputs["x"]) * case.inputs["repeat"], *case.inputs["x"].shape[1:])
    y = read(answer, case, shape)
    if again is not None and not np.allclose(y, read(again, case, shape), rtol=0, atol=1e-4):
        raise WrongAnswer(
            f"{sentence_case(answer.name)}: a second call gives a different output.\n"
            "Likely cause: dropout acts in evaluation mode, too."
        )
    require_part(case, "y", answer.name, y)


def require_weights(answer: Answer, case: Case) -> None:
    """Check the weights.

    Raises:
        WrongAnswer: they are wrong; names the likely cause.
    """
    got, right = read(answer, case, None), case.right["weights"]
    if got.shape == right.shape and not got.any() and right.any():
        raise WrongAnswer(f"{sentence_case(answer.name)} are all 0.")
    require_part(case, "weights", answer.name, got)
