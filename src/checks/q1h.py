"""Question 1h, basic: the table, the rotation, and the attention layer."""
import numpy as np

from autograder import WrongAnswer, check, probe, require_close
from checks.artifacts import judge_predictions
from checks.gpt import draw_weights
from checks.reference import attention, rope_table
from checks.rope import require_rotated, require_table, run_apply, tables


@check("1h-2-basic")
def test_table(student, rng):
    """The table of one head."""
    dim, positions = 2 * int(rng.integers(3, 9)), int(rng.integers(19, 40))
    require_table(student.run(tables, sizes=[[dim, positions]]).items(1)[0], dim, positions)


@check("1h-3-basic")
def test_rotation(student, rng):
    """A table that is as long as the sequence, and one that is longer; every dimension another length."""
    B, n_head, T, half = 2, int(rng.choice([3, 5])), int(rng.choice([7, 9, 11])), int(rng.integers(3, 7))
    x = rng.standard_normal((B, n_head, T, 2 * half)).astype(np.float32)
    for rows in (T, T + int(rng.integers(3, 7))):
        table = rope_table(2 * half, rows).astype(np.float32)
        require_rotated(run_apply(student, x, table)["rotated"], x, table, "float32", 1e-4)


@probe
def attend(x, config, weights):
    """One attention layer with RoPE; what it computes on x with the weights, if there is one."""
    import torch
    from submission.attention import CausalSelfAttention
    from submission.model import GPTConfig
    layer = CausalSelfAttention(GPTConfig(10, config["block_size"], n_head=config["n_head"], n_embd=config["n_embd"], rope=True)).eval()
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name in weights:
                parameter.copy_(torch.from_numpy(weights[name]))
        y = None if x is None else layer(torch.from_numpy(x))
    return {"y": y, "parameters": dict(layer.named_parameters()), "table": dict(layer.named_buffers()).get("rope_cache"),
            "saved": sorted(layer.state_dict())}


@check("1h-6-basic")
def test_attention(student, rng):
    """A buffer with the table of one head; queries and keys are rotated, values are not."""
    n_head, block_size = int(rng.choice([3, 5])), int(rng.integers(13, 18))      # odd: never as large as a head's dimension
    head_dim, T = 2 * int(rng.integers(2, 5)), block_size - int(rng.integers(2, 5))
    C = n_head * head_dim
    x = rng.standard_normal((2, T, C)).astype(np.float32)
    config = {"block_size": block_size, "n_head": n_head, "n_embd": C}
    # First without x: a table of the wrong width is better named than met in an error of torch's.
    answer = student.run(attend, x=None, config=config, weights={})
    parameters = answer["parameters"].entries()
    names = [f"{name}.{part}" for name in ("key", "query", "value", "proj") for part in ("weight", "bias")]
    if extra := sorted(parameters.keys() - set(names)):
        advice = " The table is not trained: it belongs into a buffer." if "rope_cache" in extra else ""
        raise WrongAnswer(f"CausalSelfAttention has parameters that it should not have: {', '.join(extra)}.{advice}")
    if missing := [name for name in names if name not in parameters]:
        raise WrongAnswer(f"CausalSelfAttention lacks parameters: {', '.join(missing)}.")
    table = answer["table"].named("the buffer rope_cache").present()
    for width, name in ((C, "n_embd"), (n_head, "n_head")):
        if width // 2 != head_dim // 2 and f"shape {(block_size, width // 2, 2)}" in table.describe():
            raise WrongAnswer(f"The buffer rope_cache is {table.describe()}: it was made for {name}. The heads split n_embd "
                              f"among themselves, and each is rotated on its own: use head_dim = n_embd / n_head, here {head_dim}.")
    require_table(table, head_dim, block_size, "the buffer rope_cache")
    if "rope_cache" not in answer["saved"].texts():
        raise WrongAnswer("rope_cache is not in the layer's state_dict. Register it as a (persistent) buffer.")
    shapes = {name: (C, C) if name.endswith("weight") else (C,) for name in names}
    for name, shape in shapes.items():
        answer["parameters"][name].named(f"the layer's {name}").array("float32", shape)
    weights = draw_weights(rng, shapes, 0.3)
    answer = student.run(attend, x=x, config=config, weights=weights)
    y = answer["y"].named("the layer's output").array("float32", x.shape).astype(float)
    x, weights = x.astype(float), {name: value.astype(float) for name, value in weights.items()}
    causes = [(sentence, lambda rotated=rotated: attention(x, weights, n_head, rotated)) for rotated, sentence in (
        ("", "nothing is rotated."), ("q", "the queries are rotated, but the keys "
                                           "are not."), ("k", "the keys are rotated, but the queries are not."),
        ("qkv", "the values are rotated, too. They only say what is "
                "passed on."), ("v", "the values are rotated instead of queries and keys."))]
    causes.append(("the softmax goes over the queries; it should go over the keys, "
                   "dim=-1.", lambda: attention(x, weights, n_head, "qk", softmax_axis=-2)))
    require_close("The output of CausalSelfAttention with RoPE", y, attention(x, weights, n_head, "qk"), 1e-4, causes)


@check("1h-8-basic")
def test_dev_predictions(student, rng, context):
    """Accuracy, and a few predictions besides the right ones come from the weights."""
    judge_predictions(student, rng, context, "rope_eval_dev_with_pretrain", sample=20, threshold=True)
