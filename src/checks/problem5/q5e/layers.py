"""Runs EncoderLayer and judges its output; shared by the checks of question 5e."""

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.q5e.heads import (
    TOLERANCE,
    load,
    read,
    require_parameters,
    require_part,
    run_each,
    shapes_of,
)
from checks.support.calls import sentence_case
from checks.support.cases import Case

# Parts that others use, and the checks that report on them.
PARTS = {
    "positions": ("sinusoidal_positions", "5e-0-basic"),
    "norm1": ("LayerNorm", "5e-1-basic"),
    "attn": ("MultiHeadAttention", "the checks of 5d"),
    "layer": ("EncoderLayer", "5e-2-basic and 5e-7-basic"),
}


@probe(uses=(forbid_builtins, load))
def run_layers(calls):
    """Run EncoderLayer with each case's weights on its x (repeated if asked) and padding.

    For each case: output and attention weights, and the output alone; and, to locate a mistake,
    norm1 of x / 100, where eps matters, and attn of x. A layer whose parameters do not fit is not
    run.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import EncoderLayer

        results = []
        for case in calls:
            sizes, wanted = [case["n_embd"], case["n_head"], case["n_hidden"]], case["weights"]
            layer = EncoderLayer(*sizes, case["dropout"], case["pre_norm"]).train(case["train"])
            before, parameters = load(layer, wanted)
            result = {
                "parameters": before,
                "pair": None,
                "alone": None,
                "norm1": None,
                "attn": None,
            }
            results.append(result)
            if parameters is None:
                continue
            x = torch.from_numpy(case["x"]).repeat(case["repeat"], 1, 1)
            padding = None if case["padding"] is None else torch.from_numpy(case["padding"])
            with torch.no_grad():
                result["alone"] = layer(x.clone()) if padding is None else layer(x.clone(), padding)
                result["pair"] = layer(x.clone(), padding, True)
                try:
                    result["norm1"], result["attn"] = layer.norm1(x / 100), layer.attn(x, padding)
                except Exception:
                    pass
        return results


def describe_layer(inputs: dict) -> str:
    """Describe the call, for messages when it fails."""
    dropout = f", dropout={inputs['dropout']}" if inputs["dropout"] else ""
    padding = inputs["padding"]
    mask = "" if padding is None else f", key_padding_mask of shape {padding.shape}"
    given = ", ".join(str(inputs[name]) for name in ("n_embd", "n_head", "n_hidden"))
    layer = f"EncoderLayer({given}{dropout}, pre_norm={inputs['pre_norm']})"
    return f"{layer} on x of shape {inputs['x'].shape}{mask}; once more with return_weights=True"


def require_layers(student, cases: list[Case]) -> None:
    """Run and judge all cases; those in training mode by what is dropped.

    Raises:
        Failed: the first case that is wrong; names the likely cause.
    """
    for case, answer in run_each(student, run_layers, cases, describe_layer):
        if not case.inputs["train"]:
            _require_layer(case, answer)
        elif case.inputs["pre_norm"]:
            _require_pre_dropout(case, answer)
        else:
            _require_post_dropout(case, answer)


def faulty_part(
    case: Case, answer: Answer, parts: tuple = ("positions", "norm1", "attn")
) -> str | None:
    """Return a sentence on the first of these parts that is wrong on its own; None if all are
    right.
    """
    for part in parts:
        right = case.about["parts"].get(part)
        if right is not None and not agrees(answer[part], right):
            name, where = PARTS[part]
            return f"it uses {name}, which is not correct yet. See {where}."
    return None


def agrees(answer: Answer, right: np.ndarray, tolerance: float = 1e-4) -> bool:
    """Whether an answer is an array, or a tensor, that is `right`."""
    value = getattr(answer.value, "data", None)
    if not isinstance(value, np.ndarray) or value.shape != right.shape:
        return False
    return bool(np.allclose(value, right, rtol=0, atol=tolerance))


def _require_layer(case, answer):
    """Check EncoderLayer's output, alone and paired with the weights."""
    inputs, shape = case.inputs, case.inputs["x"].shape
    kind = "pre-norm" if inputs["pre_norm"] else "post-norm"
    sizes = ", ".join(str(inputs[name]) for name in ("n_embd", "n_head", "n_hidden"))
    name = f"EncoderLayer({sizes}, pre_norm={inputs['pre_norm']})"
    require_parameters(answer["parameters"], shapes_of(case), name, exact=True)
    y = answer["alone"].named(f"the output of {name} ({kind})")
    got = read(y, case, shape)
    pair = answer["pair"].named(f"what {name} returns with return_weights=True").items(2)
    again = None
    if not agrees(pair[0], got, 1e-6):
        again = "a second call gives a different output. Does dropout act in evaluation mode, too?"
    require_part(case, "y", y.name, got, faulty_part(case, answer) or again)
    both = read(pair[0], case, shape)
    require_close(
        f"The output of {name} with return_weights=True", both, case.right["y"], TOLERANCE
    )
    weights = pair[1].named(f"the weights of {name}")
    require_part(case, "weights", weights.name, read(weights, case, case.right["weights"].shape))


def _require_pre_dropout(case, answer):
    """Check that a share of p of each part's output is dropped, and the rest divided by 1 - p.

    Here the attention returns 1 and the feed-forward part 2 for any x, so what is added to x shows
    which was dropped.
    """
    p, x = case.inputs["dropout"], np.tile(case.inputs["x"], (case.inputs["repeat"], 1, 1))
    mode = f"EncoderLayer with dropout {p} in training mode"
    added = (read(answer["alone"].named(f"the output of {mode}"), case, x.shape) - x) * (1 - p)
    near = np.abs(added[..., None] - np.arange(4))
    which = near.argmin(axis=-1)
    if not near.min(axis=-1).max() < 1e-4:
        if np.allclose(added, 3 * (1 - p), atol=1e-4):
            raise WrongAnswer(
                f"{mode} drops nothing. Dropout acts on the output of each of the two parts."
            )
        raise WrongAnswer(
            f"{mode}: what is added to x is not the output of the two parts, with some of it "
            f"dropped and the rest divided by {1 - p:.1f}. Dropout acts on the outputs of both "
            "parts, just before they are added, and otherwise only on the attention weights."
        )
    _require_share(f"{mode}: of what the attention returns", 1 - (which % 2).mean(), p)
    _require_share(f"{mode}: of what the feed-forward part returns", 1 - (which // 2).mean(), p)


def _require_post_dropout(case, answer):
    """Check post-norm; here only one part returns something, 1 everywhere, and x is 0.

    Where that was dropped, the output is at least 0.4 below the vector's mean, which is 0.
    """
    p, (B, *shape) = case.inputs["dropout"], case.inputs["x"].shape
    mode = f"a post-norm EncoderLayer with dropout {p} in training mode"
    output = answer["alone"].named(f"the output of {mode}")
    dropped = read(output, case, (B * case.inputs["repeat"], *shape)) < -0.1
    what = f"{sentence_case(mode)}: of what the {case.about['part']} returns"
    _require_share(what, dropped.mean(), p)


def _require_share(what, share, p):
    # 3,360 features: 0.06 is 7 standard deviations or more. (Post-norm doesn't show a vector that
    # is dropped completely: 0.4%.)
    if not abs(share - p) < 0.06:
        raise WrongAnswer(f"{what}, a share of {share:.2f} is dropped.")
