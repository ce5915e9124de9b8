"""Question 5d, basic: multi-head attention: output, padding, weights, gradients, dropout, sizes."""

from dataclasses import dataclass

import numpy as np

from autograder import WrongAnswer, check, probe
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.support.asked import Asked, Close, Same

TOLERANCE = {"float32": 1e-5, "float64": 1e-5}  # the handout's


@probe
def fill(module, seed, scale, values):
    """For other probes: fill weights and biases with random numbers of standard deviation `scale`,
    the gains of LayerNorm around 1. What is drawn depends on the name, not on other parameters.

    values: numbers or arrays for parameters whose names end so.
    """
    import numpy as np
    import torch

    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if not name.endswith(("weight", "bias")):
                continue
            state = np.random.RandomState([seed, *name.encode()])  # the same in all NumPy versions
            drawn = scale * state.standard_normal(tuple(parameter.shape))
            if parameter.dim() == 1 and name.endswith("weight"):
                drawn += 1
            for ending, value in values.items():
                if name.endswith(ending):
                    drawn = value
            parameter.copy_(torch.as_tensor(drawn))


@probe
def differentiate(output, upstream, inputs):
    """For other probes: the gradients of sum(output * upstream) in each of the named inputs, and
    the names of those that no gradient reaches.
    """
    import torch

    if upstream is None:
        return {"unreached": [], "gradients": {}}
    if isinstance(output, torch.Tensor) and output.requires_grad:
        (output * torch.from_numpy(upstream)).sum().backward()
    reached = {name: value.grad for name, value in inputs.items() if value.grad is not None}
    return {
        "unreached": [name for name in inputs if name not in reached],
        "gradients": {name: gradient.float() for name, gradient in reached.items()},
    }


@probe(uses=(forbid_builtins, fill, differentiate))
def attend(
    n_embd,
    n_head,
    x,
    key_padding_mask,
    return_weights,
    dropout,
    train,
    repeat,
    seed,
    scale,
    values,
    upstream,
):
    """Run MultiHeadAttention on x: what it returns, which arguments it changed, and gradients.

    It has run before on the rows in reverse order: nothing of that may be kept.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import MultiHeadAttention

        layer = MultiHeadAttention(n_embd, n_head, *([] if dropout is None else [dropout]))
        arrays = {"x": x, "key_padding_mask": key_padding_mask}
        given = {name: torch.from_numpy(a) for name, a in arrays.items() if a is not None}
        given["x"] = given["x"].repeat(repeat, 1, 1)
        layer.to(given["x"].dtype).train(train)
        fill(layer, seed, scale, values)
        copies = {name: value.clone() for name, value in given.items()}
        given["x"].requires_grad_(upstream is not None)
        more = {"return_weights": True} if return_weights else {}
        layer(**{name: value.flip(0) for name, value in copies.items()}, **more)
        torch.default_generator.manual_seed(seed)
        output = layer(**given, **more)
        own = {
            name: parameter
            for name, parameter in layer.named_parameters()
            if name.startswith(("qkv.", "proj."))
        }
        first = output[0] if isinstance(output, tuple) else output
        return {
            "parameters": sorted(f"{name} {tuple(value.shape)}" for name, value in own.items()),
            "output": output,
            "changed": [name for name in given if not torch.equal(given[name], copies[name])],
            **differentiate(first, upstream, {"x": given["x"], **own}),
        }


CALL = (
    "MultiHeadAttention({n_embd}, {n_head}, {dropout}).train({train})({x}, {key_padding_mask}, "
    "return_weights={return_weights})"
)
UNREACHED = Same(
    "No gradient of {call} reaches {got}. Avoid .data, .detach(), .numpy(), .item() and "
    "torch.no_grad(), and use every part."
)
HEADS = Asked(
    attend,
    CALL,
    {
        "parameters": Same("MultiHeadAttention should have {right}; it has {got}."),
        "output": Close(tolerance=TOLERANCE),
        "changed": Same(
            "{call} changes its argument {got} in place (as x += ... and functions whose name ends "
            "with _ do)."
        ),
        "unreached": UNREACHED,
        "gradients": Close("The gradients of {call}", TOLERANCE),
    },
)


@probe(uses=(attend,))
def drop(**inputs):
    """Run MultiHeadAttention in training mode on many copies of one x."""
    return {"dropped": {"rate": inputs["dropout"], "output": attend(**inputs)["output"]}}


@dataclass(frozen=True)
class Dropped:
    """Some of the weights are 0, and the others 1 / (1 - rate) times as large, before they reach
    the output; those that are returned are neither.

    Values are such that the output, less 1, has each weight that was used, twice.
    """

    def require(self, call: str, got, right) -> None:
        """Compare the weights with the reference's, and judge what is dropped.

        Raises:
            WrongAnswer: something else is dropped, or not independently.
        """
        call += f", with x repeated {len(right['output'][0].data)} times"
        got = got["output"] if isinstance(got, dict) and "output" in got else got
        Close(tolerance={"float32": np.inf}).require(call, got, right["output"])
        Close("The weights of {call}", TOLERANCE).require(call, got[1], right["output"][1])
        weights, p = right["output"][1].data, right["rate"]
        B, n_head, T, _ = weights.shape
        used, again = (got[0].data - 1).reshape(B, T, n_head, 2, T).transpose(3, 0, 2, 1, 4)
        kept = np.abs(used) > weights / 2
        whole = np.where(kept, weights / (1 - p), 0)
        if not (np.allclose(used, whole, atol=1e-5) and np.allclose(again, whole, atol=1e-5)):
            raise WrongAnswer(
                f"{call}: the output doesn't come from weights of which some are "
                f"dropped and the others divided by {1 - p:.1f}. Does dropout act on the weights, "
                "after the softmax?"
            )
        for name, axis in (("rows of the batch", 0), ("heads", 1), ("queries", 2), ("keys", 3)):
            if (kept == kept.take([0], axis)).all():
                raise WrongAnswer(
                    f"{call}: the same weights are dropped for all {name}. "
                    "Dropout draws for each weight separately."
                )
        # 2,880 weights: 0.06 is 6.5 standard deviations or more.
        if not abs(1 - kept.mean() - p) < 0.06:
            raise WrongAnswer(
                f"{call}: a share of {1 - kept.mean():.2f} of the weights is "
                f"dropped; it should be {p}."
            )


DROPS = Asked(drop, CALL, {"dropped": Dropped()})


@probe(uses=(forbid_builtins,))
def construct(n_embd, n_head):
    """Create MultiHeadAttention: the names and shapes of all its parameters."""
    with forbid_builtins():
        from submission.problem5.encoder import MultiHeadAttention

        parameters = MultiHeadAttention(n_embd, n_head).named_parameters()
        return {"parameters": sorted(f"{name} {tuple(p.shape)}" for name, p in parameters)}


MADE = Asked(
    construct,
    "MultiHeadAttention({n_embd}, {n_head})",
    {"parameters": Same("{call} should have the parameters {right}; it has {got}.")},
    says=lambda inputs: [str(inputs["n_embd"]), str(inputs["n_head"])],
)


@check(
    "5d-1-basic",
    "5d-2-basic",
    "5d-3-basic",
    "5d-7-basic",
    "5d-8-basic",
    "5d-9-basic",
    "5d-10-basic",
)
def test_attention(student, calls):
    """Output, weights, gradients, dropout and the constructor, as far as the calls ask for them."""
    for asked in (HEADS, DROPS, MADE):
        asked.require(student, calls)
