"""Question 1h, basic: the table, the rotation, the attention layer, and the model."""

import numpy as np

from autograder import WrongAnswer, check, probe, require_close
from checks.problem1.artifacts import judge_predictions
from checks.problem1.models import SPREAD, require_model
from checks.problem1.q1h.rope import (
    request,
    require_gradient,
    require_inputs_left_alone,
    require_rotated,
    require_table,
    run_apply,
    tables,
)
from checks.problem1.random_weights import draw_parameter


@check("1h-2-basic")
def test_table(student, cases):
    """The tables of small heads."""
    sizes = [[case.inputs["dim"], case.inputs["positions"]] for case in cases]
    for answer, case in zip(student.run(tables, sizes=sizes).items(len(cases)), cases):
        require_table(answer, case)


@check("1h-3-basic")
def test_rotation(student, cases):
    """Tables as long as the sequence and longer; all dimensions differ."""
    answers = run_apply(student, [request(**case.inputs) for case in cases])
    for answer, case in zip(answers, cases):
        require_rotated(answer["rotated"], case, "float32", 1e-4)


@check("1h-11-basic")
def test_formats(student, rng):
    """Properties that hold for any angles: shape and dtype are kept, a prefix is rotated as within
    the whole, a view like a contiguous tensor, the inputs are unchanged, and gradients flow.
    """
    half, rows = int(rng.integers(3, 6)), int(rng.integers(7, 12))
    # Pairs of length 1 are the cosine and sine of some angle.
    table = rng.standard_normal((rows, half, 2))
    table = (table / np.linalg.norm(table, axis=-1, keepdims=True)).astype(np.float32)
    for dtype, limit in (("float32", 1e-4), ("float64", 1e-5)):
        x, upstream = rng.standard_normal((2, 2, 3, rows, 2 * half)).astype(dtype)
        other = table[::-1].copy()
        calls = [
            request(x, table, dtype),
            request(x[:, :, :1].copy(), table, dtype),
            request(x[:, :, :-2].copy(), table, dtype),
            request(x[:, :, :-1].copy(), table, dtype, transposed=True, first=other),
            request(x, table, dtype, transposed=True, gradient=upstream),
        ]
        answers, rotated = run_apply(student, calls), []
        for call, answer in zip(calls, answers):
            T = call["x"].shape[2]
            require_inputs_left_alone(answer, call["x"], table, dtype)
            result = answer["rotated"].named(f"apply_rotary_emb of a {dtype} x")
            rotated.append(result.array(dtype, call["x"].shape))
            name = f"apply_rotary_emb for {T} of {rows} positions"
            name += " in a transposed view" if call["transposed"] else ""
            name += ", after a call with another table" if call["first"] is not None else ""
            require_close(name, rotated[-1], rotated[0][:, :, :T], limit)
    # The result is linear in x, so <x, its gradient> equals <result, upstream gradient>.
    gradient = require_gradient(answers[-1]).array("float64", x.shape)
    if not abs((x * gradient).sum() - (rotated[-1] * upstream).sum()) <= 1e-5 * x.size:
        raise WrongAnswer(
            "The gradient of apply_rotary_emb doesn't match its output. Avoid .data, .detach(), "
            ".numpy() and torch.no_grad() there."
        )


@probe(uses=(draw_parameter,))
def attend(calls, spread):
    """Create an attention layer with RoPE for each call; if there is an x, run it with random
    weights.
    """
    import torch

    from submission.attention import CausalSelfAttention
    from submission.model import GPTConfig

    def run(config, x=None, seed=None):
        layer = CausalSelfAttention(GPTConfig(10, rope=True, **config)).eval()
        with torch.no_grad():
            for name, parameter in layer.named_parameters() if x is not None else ():
                drawn = draw_parameter(seed, name, tuple(parameter.shape), spread)
                parameter.copy_(torch.from_numpy(drawn))
            y = None if x is None else layer(torch.from_numpy(x))
        return {
            "y": y,
            "parameters": dict(layer.named_parameters()),
            "saved": sorted(layer.state_dict()),
            "table": dict(layer.named_buffers()).get("rope_cache"),
        }

    return [run(**call) for call in calls]


@check("1h-6-basic")
def test_attention(student, cases):
    """A buffer with the table of one head; queries and keys are rotated, values are not."""
    # First without x: a table of the wrong width is reported as such, not as an error from torch.
    bare = [{"config": case.inputs["config"]} for case in cases]
    for case, layer in zip(cases, student.run(attend, calls=bare, spread=SPREAD).items(len(cases))):
        _require_layer(layer, case, case.about["shapes"])
    calls = [case.inputs for case in cases]
    answers = student.run(attend, calls=calls, spread=SPREAD).items(len(cases))
    for case, answer in zip(cases, answers):
        y = answer["y"].named("the layer's output").array("float32", case.inputs["x"].shape)
        case.require("The output of CausalSelfAttention with RoPE", y.astype(float), 1e-4, "y")


def _require_layer(answer, case, shapes):
    """Check the layer's parameters, and that a buffer has the table of one head."""
    config = case.inputs["config"]
    block_size, n_head, C = (config[name] for name in ("block_size", "n_head", "n_embd"))
    head_dim = C // n_head
    parameters = answer["parameters"].entries()
    if extra := sorted(parameters.keys() - shapes.keys()):
        advice = " The table is not trained: it belongs in a buffer."
        raise WrongAnswer(
            f"CausalSelfAttention has parameters that it should not have: {', '.join(extra)}."
            + (advice if "rope_cache" in extra else "")
        )
    if missing := [name for name in shapes if name not in parameters]:
        raise WrongAnswer(f"CausalSelfAttention lacks parameters: {', '.join(missing)}.")
    table = answer["table"].named("the buffer rope_cache").present()
    for width, name in ((C, "n_embd"), (n_head, "n_head")):
        found = f"shape {(block_size, width // 2, 2)}" in table.describe()
        if found and width // 2 != head_dim // 2:
            raise WrongAnswer(
                f"The buffer rope_cache is {table.describe()}: it was made for {name}. Each head "
                "has a share of n_embd and is rotated separately: use head_dim = n_embd / n_head, "
                f"here {head_dim}."
            )
    require_table(table, case, "the buffer rope_cache", "table")
    if "rope_cache" not in answer["saved"].texts():
        raise WrongAnswer(
            "rope_cache is not in the layer's state_dict. Register it as a (persistent) buffer."
        )
    for name, shape in shapes.items():
        answer["parameters"][name].named(f"the layer's {name}").array("float32", shape)


@probe
def attend_in_pieces(x, config, ends):
    """Run one attention layer with RoPE on all of x at once, and on pieces that each continue from
    the cached keys and values.
    """
    import inspect

    import torch
    from answers import KVCache

    from submission.attention import CausalSelfAttention
    from submission.model import GPTConfig

    layer = CausalSelfAttention(GPTConfig(10, rope=True, **config)).eval()
    if "cache" not in inspect.signature(layer.forward).parameters:
        return None
    x, cache, start, pieces = torch.from_numpy(x), KVCache(x.shape[1]), 0, []
    with torch.no_grad():
        whole = layer(x)
        for end in ends:
            pieces.append(layer(x[:, start:end], cache))
            start = end
    return {"whole": whole, "pieces": torch.cat(pieces, dim=1)}


@check("1h-10-basic")
def test_cache(student, rng):
    """A sequence read piece by piece gives the same output as read at once."""
    C, T = 12, int(rng.integers(7, 10))
    x = rng.standard_normal((2, T, C)).astype(np.float32)
    config = {"block_size": T + 2, "n_head": 3, "n_embd": C}
    answer = student.run(attend_in_pieces, x=x, config=config, ends=[3, 4, T - 1, T])
    if answer.value is None:
        student.hint(
            "CausalSelfAttention.forward takes no cache. That is accepted, but the handout's does, "
            "and answering is slower without it."
        )
        return
    whole, pieces = (
        answer[name].named("the layer's output").array("float32", x.shape)
        for name in ("whole", "pieces")
    )
    try:
        name = "The output of CausalSelfAttention for a sequence read piece by piece"
        require_close(name + ", with a cache", pieces.astype(float), whole.astype(float), 1e-4)
    except WrongAnswer as wrong:
        raise WrongAnswer(
            f"{wrong.message} The expected output is the layer's own without a cache.\n"
            "Likely cause: queries and keys are rotated by the first rows of self.rope_cache. Use "
            "the local rope_cache: it has the rows of the positions in x."
        ) from None


@check("1h-9-basic")
def test_models(student, cases):
    """The RoPE model is right, and the vanilla model is unaffected."""
    for case in cases:
        require_model(student, case)


@check("1h-8-basic")
def test_dev_predictions(student, rng, context):
    """The accuracy suffices, and the weights reproduce the predictions."""
    judge_predictions(student, rng, context, "rope_eval_dev_with_pretrain", threshold=True)
