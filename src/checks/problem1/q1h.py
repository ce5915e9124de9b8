"""Question 1h, basic: the table, the rotation, the attention layer, and the model."""

from dataclasses import replace

from autograder import check, probe
from checks.problem1.models import TOLERANCE, Parameters, require_models
from checks.support.asked import Asked, Close, Same
from checks.support.gradients import UNREACHED, differentiate
from checks.support.unchanged import Unchanged, summarize
from checks.support.weights import fill


@probe
def make_table(dim, max_positions):
    """Run precompute_rotary_emb."""
    from submission.attention import precompute_rotary_emb

    return {"table": precompute_rotary_emb(dim, max_positions)}


TABLE = Asked(
    make_table,
    call="precompute_rotary_emb({dim}, {max_positions})",
    # in float32, an angle of t radians has an error of a few times t * 1e-7
    reply={"table": Close(tolerance={"float32": 1e-4}, dtypes=("float64",))},
)


@probe(uses=(summarize, differentiate))
def rotate(x, rope_cache, turned=False, graded=False):
    """Run apply_rotary_emb on x, (B, n_head, T, head_dim): the result, the inputs
    afterwards, and the gradient of x.

    Args:
        turned: x lies in memory as heads do after they are split.
        graded: with gradients.
    """
    import torch

    from submission.attention import apply_rotary_emb

    given = {"x": torch.from_numpy(x), "rope_cache": torch.from_numpy(rope_cache)}
    if turned:
        given["x"] = given["x"].transpose(1, 2).contiguous().transpose(1, 2)
    given["x"].requires_grad_(graded)
    rotated = apply_rotary_emb(given["x"], given["rope_cache"])
    return {
        "output": rotated,
        "arguments": summarize(given),
        **differentiate([rotated], {"x": given["x"]} if graded else {}),
    }


OUTPUT = Close(tolerance={"float32": 1e-4, "float64": 1e-5})  # tables are float32
ROTATION = Asked(rotate, "apply_rotary_emb({x}, {rope_cache})", {"output": OUTPUT})
FORMATS = replace(
    ROTATION,
    variant="in all formats",
    reply={
        "output": OUTPUT,
        "arguments": Unchanged("apply_rotary_emb changes {got} in place. Make a new tensor."),
        "unreached": UNREACHED,
        "gradients": replace(OUTPUT, name="The gradients of {call}"),
    },
)


@probe(uses=(fill,))
def attend(config, seed, x=None, ends=None):
    """Create an attention layer with RoPE: its table and parameters; with random weights, its
    output for x, which with `ends` is read in pieces that end there, and kept in a cache.
    """
    import inspect

    import torch
    from answers import KVCache

    from submission.attention import CausalSelfAttention
    from submission.model import GPTConfig

    layer = CausalSelfAttention(GPTConfig(10, rope=True, **config)).eval()
    reply = {
        "table": getattr(layer, "rope_cache", None),
        # None is no slip with buffers: nothing is there yet
        "saved": "rope_cache" in layer.state_dict() or getattr(layer, "rope_cache", 0) is None,
        "parameters": [f"{name} {tuple(value.shape)}" for name, value in layer.named_parameters()],
        "has_cache": "cache" in inspect.signature(layer.forward).parameters,
        "output": None,
    }
    if x is None:
        return reply
    fill(layer, seed)
    x = torch.from_numpy(x)
    with torch.no_grad():
        if ends and reply["has_cache"]:
            cache = KVCache(x.shape[1])
            pieces = [x[:, start:end] for start, end in zip([0, *ends], ends)]
            reply["output"] = torch.cat([layer(piece, cache) for piece in pieces], dim=1)
        else:
            reply["output"] = layer(x)
    return reply


LAYER = Asked(
    attend,
    call=lambda inputs: (
        "CausalSelfAttention with {block_size} positions, {n_head} heads and "
        "{n_embd} features".format(**inputs["config"])
    ),
    reply={
        "saved": Same(
            "rope_cache is not in the layer's state_dict. Register it as a (persistent) buffer."
        ),
        "parameters": Parameters(),
        "table": Close("The buffer rope_cache of {call}", TOLERANCE, ("float64",)),
        "output": Close("With RoPE, the output of {call}", TOLERANCE),
    },
)
PIECES = replace(
    LAYER,
    variant="in pieces",
    reply={
        "output": Close(
            "With RoPE and a cache, for a sequence read piece by piece, the output of {call}",
            TOLERANCE,
        )
    },
)


@check("1h-10-basic")
def test_cache(student, calls):
    """A sequence that is read piece by piece."""
    if not all(reply["has_cache"].flag() for reply in PIECES.require(student, calls)):
        student.hint(
            "CausalSelfAttention.forward takes no cache. That is accepted, but the handout's does, "
            "and answering is slower without it."
        )


@check("1h-9-basic")
def test_models(student, calls):
    """The RoPE model is right, and the vanilla model is unaffected."""
    require_models(student, calls)
