"""Runs sinusoidal_positions and LayerNorm and judges their output; shared by the checks of question
5e.
"""

import re

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.gradients import require_slopes
from checks.problem5.q5e.heads import (
    TOLERANCE,
    load,
    read,
    require_parameters,
    require_part,
    shapes_of,
)
from checks.support.cases import Case


@probe(uses=(forbid_builtins,))
def tables(sizes):
    """Run sinusoidal_positions for each (max_len, n_embd): the table, or its error.

    An error is given as its type, whether it is a ValueError, and its text.
    """
    with forbid_builtins():
        from submission.problem5.encoder import sinusoidal_positions

        results = []
        for max_len, n_embd in sizes:
            try:
                results.append(sinusoidal_positions(max_len, n_embd))
            except ValueError as error:
                results.append([type(error).__name__, True, str(error)])
            except Exception as error:
                if n_embd % 2 == 0 or isinstance(error, NotImplementedError):
                    raise
                results.append([type(error).__name__, False, str(error)])
        return results


def require_refusal(answer: Answer, call: str, words: list[str]) -> None:
    """Check that the answer is a ValueError with these words (numbers or names) in its text.

    Raises:
        WrongAnswer: it is not.
    """
    if not isinstance(answer.value, (list, tuple)):
        raise WrongAnswer(f"{call} should raise ValueError; it raises no error.")
    kind, fits, text = answer.items(3)
    said = text.text()
    if not fits.flag():
        raise WrongAnswer(f"{call} raises {kind.text()}: {said[:200]}. It should raise ValueError.")
    if missing := [word for word in words if word not in re.findall(r"\w+", said)]:
        raise WrongAnswer(
            f"The error of {call} should name {' and '.join(missing)}. It says: {said[:200]!r}."
        )


def require_table(case: Case, answer: Answer) -> None:
    """Check a table of positions.

    Raises:
        WrongAnswer: it is wrong; names the likely cause.
    """
    sizes = case.inputs["max_len"], case.inputs["n_embd"]
    call = "sinusoidal_positions({}, {})".format(*sizes)
    if isinstance(answer.value, list):
        raise WrongAnswer(f"{call} raises ValueError: {answer.items(3)[2].text()[:200]}")
    # The angles are t times numbers in float32: 2e-7 of at most 33.
    case.require(call, answer.named(call).array("float32", sizes).astype(float), TOLERANCE)


@probe(uses=(forbid_builtins, load))
def normalize(calls):
    """Run LayerNorm with each case's weights and eps on its x; also the gradients of sum(output *
    upstream), if there is an upstream.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import LayerNorm

        results = []
        for case in calls:
            dtype, wanted = getattr(torch, case["dtype"]), case["weights"]
            eps = [] if case["eps"] is None else [case["eps"]]
            norm = LayerNorm(case["n_embd"], *eps).to(dtype)
            before, parameters = load(norm, wanted)
            result = {"parameters": before, "y": None, "gradients": None}
            results.append(result)
            if parameters is None:
                continue
            x = torch.from_numpy(case["x"]).to(dtype).requires_grad_(case["upstream"] is not None)
            y = result["y"] = norm(x)
            if case["upstream"] is not None:
                if isinstance(y, torch.Tensor) and y.requires_grad:
                    (y * torch.from_numpy(case["upstream"])).sum().backward()
                gradients = {name: parameters[name].grad for name in wanted}
                result["gradients"] = {"x": x.grad, **gradients}
        return results


def describe_norm(inputs: dict) -> str:
    """Describe the call, for messages."""
    eps = "" if inputs["eps"] is None else f", eps={inputs['eps']}"
    return f"LayerNorm({inputs['n_embd']}{eps}) on x of shape {inputs['x'].shape}"


def require_norm(case: Case, answer: Answer) -> None:
    """Check LayerNorm's parameters, output and gradients.

    Raises:
        WrongAnswer: one is wrong; names the likely cause.
    """
    inputs, x = case.inputs, case.inputs["x"]
    call = describe_norm(inputs)
    require_parameters(answer["parameters"], shapes_of(case), call.partition(" on ")[0], exact=True)
    flat = not np.ptp(x, axis=-1).any()
    y = answer["y"].named(
        f"The output of {call}{' (all entries of a vector are equal)' if flat else ''}"
    )
    data = y.array(inputs["dtype"], x.shape, finite=False)
    if case.about["large"]:
        _require_large(case, y, data)
        return
    if flat and np.isnan(data).any():
        cause = "eps is missing. It is added to the variance, inside the root."
        raise WrongAnswer(f"{y.name} has NaN. Likely cause: {cause}")
    require_part(case, "y", y.name, read(y, case, x.shape), otherwise=case.about["cause"])
    if inputs["upstream"] is not None:
        gradient = answer["gradients"].entries().get("x")
        found = None if gradient is None else getattr(gradient.value, "data", None)
        if flat and isinstance(found, np.ndarray) and np.isnan(found.astype(float)).any():
            raise WrongAnswer(
                f"The gradient of {call} on a vector of equal entries has NaN. Likely cause: the "
                "root of a variance of 0, as x.std() takes it, has no gradient. Add eps inside "
                "the root."
            )
        shapes = {"x": x.shape, **shapes_of(case)}
        require_slopes(answer["gradients"], case.about["slopes"], shapes, call.partition(" on ")[0])


def _require_large(case, y, data):
    """Check float32 entries of some thousands that differ by ones."""
    name, cause = f"{y.name} (entries around {case.inputs['x'].mean():.0f})", case.about["cause"]
    if not np.isfinite(data).all():
        raise WrongAnswer(f"{name} has values that are NaN or infinite.\nLikely cause: {cause}")
    # Right formulas differ there by up to 1e-3, since the entries are rounded.
    data = data.astype(float)
    require_close(name, data, case.right["y"], 1e-2, [(cause, data)])
