"""Running sinusoidal_positions and LayerNorm, and the mistakes that are known by name. The checks of question 5e share it."""
import re

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.encoder import layer_norm, own_work, sinusoids
from checks.gradients import require_gradients
from checks.heads import TOLERANCE, floats, read, require_parameters
from checks.reference import angles


@probe(uses=(own_work,))
def tables(sizes):
    """sinusoidal_positions for each (max_len, n_embd), or the error's type, whether it is a ValueError, and its text."""
    with own_work():
        from submission.encoder import sinusoidal_positions
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
    """The answer tells of a ValueError with these words (numbers or names) in its text.

    Raises:
        WrongAnswer: it does not.
    """
    if not isinstance(answer.value, (list, tuple)):
        raise WrongAnswer(f"{call} should raise ValueError; it raises no error.")
    kind, fits, text = answer.items(3)
    if not fits.flag():
        raise WrongAnswer(f"{call} raises {kind.text()}: {text.text()[:200]}. It should raise ValueError.")
    if missing := [word for word in words if word not in re.findall(r"\w+", text.text())]:
        raise WrongAnswer(f"The error of {call} should name {' and '.join(missing)}. It says: {text.text()[:200]!r}.")


def require_sinusoids(answer: Answer, max_len: int, n_embd: int) -> None:
    """A right table of positions.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    call = f"sinusoidal_positions({max_len}, {n_embd})"
    if isinstance(answer.value, list):
        raise WrongAnswer(f"{call} raises ValueError: {answer.items(3)[2].text()[:200]}")
    table = answer.named(call).array("float32", (max_len, n_embd)).astype(float)
    t, i = np.arange(max_len)[:, None], np.arange(n_embd // 2)[None]
    right, n = angles(n_embd, max_len), n_embd

    def pairs(angle, first=np.sin, second=np.cos):
        return np.stack((first(angle), second(angle)), axis=-1).reshape(max_len, n_embd)

    every = t * 10000.0 ** (-np.arange(n)[None] / n)        # an angle of its own for each feature
    even = np.arange(n) % 2 == 0
    # The angles are t times numbers in float32: 2e-7 of at most 33.
    require_close(call, table, sinusoids(max_len, n_embd), TOLERANCE, [
        ("sines and cosines are not interleaved: all sines stand first, then all cosines. The sines belong into the even "
         "columns, the cosines into the odd ones.", lambda: np.concatenate((np.sin(right), np.cos(right)), axis=1)),
        ("sines and cosines have changed places: the even columns are the sines.", lambda: pairs(right, np.cos, np.sin)),
        ("cosines stand first, and are not interleaved with the sines.",
         lambda: np.concatenate((np.cos(right), np.sin(right)), axis=1)),
        ("the sines stand in both places.", lambda: pairs(right, np.sin, np.sin)),
        ("the cosines stand in both places.", lambda: pairs(right, np.cos, np.cos)),
        ("the exponent is that of the column: columns 2i and 2i + 1 share the angle of i.",
         lambda: np.where(even, np.sin(every), np.cos(every))),
        ("the exponent lacks its factor 2: 10000 ** (-2 i / n_embd).", lambda: pairs(t * 10000.0 ** (-i / n))),
        ("the exponent has a factor 2 too many: 2i runs over the even numbers already.",
         lambda: pairs(t * 10000.0 ** (-4 * i / n))),
        ("the exponent has the wrong sign: 10000 ** (-2 i / n_embd).", lambda: pairs(_if_small(t * 10000.0 ** (2 * i / n)))),
        ("i begins at 1; it should begin at 0.", lambda: pairs(t * 10000.0 ** (-2 * (i + 1) / n))),
        ("the positions begin at 1; they begin at 0.", lambda: pairs((t + 1) * 10000.0 ** (-2 * i / n))),
        ("the base is 1000 instead of 10000.", lambda: pairs(angles(n, max_len, 1000.0))),
        ("the base is 100000 instead of 10000.", lambda: pairs(angles(n, max_len, 100000.0))),
        ("positions and frequencies have changed places.", lambda: pairs(i * 10000.0 ** (-2.0 * t / n))),
        ("these are the angles, without sine and cosine.", lambda: pairs(right, lambda x: x, lambda x: x)),
    ])


def _if_small(angle):
    """NaN, which matches anything, for angles of which float32 keeps too few digits to compare."""
    return np.where(np.abs(angle) < 30, angle, np.nan)


@probe(uses=(own_work,))
def normalize(cases):
    """LayerNorm with the weights and eps of each case, on its x; and the gradients of sum(output * upstream), if there is an
    upstream."""
    import torch
    with own_work():
        from submission.encoder import LayerNorm
        results = []
        for case in cases:
            dtype = getattr(torch, case["dtype"])
            norm = (LayerNorm(case["n_embd"]) if case["eps"] is None else LayerNorm(case["n_embd"], case["eps"])).to(dtype)
            parameters = dict(norm.named_parameters())
            result = {"parameters": {name: value.detach().clone() for name, value in parameters.items()}, "y": None,
                      "gradients": None}
            results.append(result)
            if any(name not in parameters or parameters[name].shape != value.shape for name, value in case["weights"].items()):
                continue
            with torch.no_grad():
                for name, value in case["weights"].items():
                    parameters[name].copy_(torch.from_numpy(value))
            x = torch.from_numpy(case["x"]).to(dtype).requires_grad_(case["upstream"] is not None)
            y = result["y"] = norm(x)
            if case["upstream"] is not None:
                if isinstance(y, torch.Tensor) and y.requires_grad:
                    (y * torch.from_numpy(case["upstream"])).sum().backward()
                result["gradients"] = {"x": x.grad, **{name: parameters[name].grad for name in case["weights"]}}
        return results


def norm_case(rng, x: np.ndarray, dtype: str = "float32", eps: float | None = None, upstream: np.ndarray | None = None) -> dict:
    """A case for `normalize` with random weights."""
    C = x.shape[-1]
    weights = {"weight": 1 + 0.3 * rng.standard_normal(C), "bias": 0.3 * rng.standard_normal(C)}
    return {"n_embd": C, "eps": eps, "dtype": dtype, "x": x.astype("float32"), "upstream": upstream,
            "weights": {name: value.astype(np.float32) for name, value in weights.items()}}


def describe_norm(case: dict) -> str:
    """The call, for messages where it fails."""
    eps = "" if case["eps"] is None else f", eps={case['eps']}"
    return f"LayerNorm({case['n_embd']}{eps}) on x of shape {case['x'].shape}"


def require_norm(case: dict, answer: Answer, rng) -> None:
    """LayerNorm's parameters, output and gradients are right.

    Raises:
        WrongAnswer: they are not; names the likely cause.
    """
    x, weights, C = case["x"].astype(float), floats(case["weights"]), case["n_embd"]
    eps = 1e-5 if case["eps"] is None else case["eps"]
    call = f"LayerNorm({C}{'' if case['eps'] is None else f', eps={eps}'})"
    require_parameters(answer["parameters"], {"weight": (C,), "bias": (C,)}, call, exact=True)
    kind = " (all entries of a vector are equal)" if not np.ptp(x, axis=-1).any() else ""
    y = answer["y"].named(f"The output of {call} on x of shape {x.shape}{kind}")
    data = y.array(case["dtype"], x.shape, finite=False)
    if kind and np.isnan(data).any():
        raise WrongAnswer(f"{y.name} has NaN. Likely cause: eps is missing. It is added to the variance, inside the root.")
    require_close(y.name, read(y, case, x.shape), layer_norm(x, weights, eps), TOLERANCE, _mistakes(x, weights, eps))
    if case["upstream"] is not None:
        gradient = answer["gradients"].entries().get("x")
        if kind and gradient is not None and np.isnan(np.asarray(getattr(gradient.value, "data", 0.0), float)).any():
            raise WrongAnswer(f"The gradient of {call} on a vector of equal entries has NaN. Likely cause: the root of a "
                              f"variance of 0, as x.std() takes it, has no gradient. Add eps inside the root.")
        require_gradients(answer["gradients"], {"x": x, **weights},
                          lambda inputs: (layer_norm(inputs["x"], inputs, eps) * case["upstream"]).sum(), rng,
                          call)


def norm_fault(answer: Answer, x: np.ndarray, weights: dict[str, np.ndarray]) -> str | None:
    """A sentence on what is wrong with LayerNorm, of which the answer is what it made of x; None if nothing is."""
    right, got = layer_norm(x, weights), getattr(answer.value, "data", None)
    if not isinstance(got, np.ndarray) or got.dtype.kind != "f" or got.shape != right.shape:
        return "it gives no tensor of the shape of its input."
    try:
        require_close("", got.astype(float), right, 10 * TOLERANCE, _mistakes(x, weights, 1e-5))
    except WrongAnswer as wrong:
        return wrong.message.partition("Likely cause: ")[2] or "its values are wrong."
    return None


def _mistakes(x, weights, eps):
    """Those that are known by name."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred ** 2).mean(axis=-1, keepdims=True)
    gain, bias, n = weights["weight"], weights["bias"], x.shape[-1]
    some = [
        ("the variance is divided by n - 1. Divide by n (unbiased=False).", centred / np.sqrt(variance * n / (n - 1) + eps)),
        ("eps stands outside the root: sqrt(variance + eps).", centred / (np.sqrt(variance) + eps)),
        ("eps stands outside the root, and the variance is divided by n - 1 (x.std()).",
         centred / (np.sqrt(variance * n / (n - 1)) + eps)),
        ("the argument eps is not used.", centred / np.sqrt(variance + 1e-5)),
        *((f"eps is {other:g}; it should be {eps:g}.", centred / np.sqrt(variance + other))
          for other in (0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8) if other != eps),
        ("it divides by the variance instead of its root.", centred / (variance + eps)),
        ("the mean is not subtracted.", x / np.sqrt(variance + eps)),
        ("the mean is not subtracted: it divides by the root mean square.",
         x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + eps)),
        ("it divides by the mean absolute deviation.", centred / (np.abs(centred).mean(axis=-1, keepdims=True) + eps)),
        ("only the mean is subtracted.", centred),
    ]
    if variance.all():
        some.append(("eps is missing.", centred / np.sqrt(variance)))
    causes = [(sentence, normed * gain + bias) for sentence, normed in some]
    right = centred / np.sqrt(variance + eps)
    causes += [("weight and bias are not used.", right), ("weight is not used.", right + bias),
               ("bias is not used.", right * gain),
               ("bias is added before the multiplication with weight.", (right + bias) * gain)]
    axes = [("the sequence", -2), ("the batch", 0)] if x.ndim > 1 else []
    axes += [("all axes", None), ("all but the first axis", tuple(range(1, x.ndim)))] if x.ndim > 1 else []
    for name, axis in axes:
        moved = x - x.mean(axis=axis, keepdims=True)
        causes.append((f"mean and variance are taken over the wrong axis, {name}. Take them over the features, dim=-1.",
                       moved / np.sqrt((moved ** 2).mean(axis=axis, keepdims=True) + eps) * gain + bias))
    return causes
