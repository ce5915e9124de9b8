"""Question 6d, step 3, basic: SparseSelfAttention: copies of a dense module's weights, rotations,
the predictor's choice; what is rejected, and where there is no limit.
"""

from autograder import check, probe
from checks.problem6.q6d_work import require_little_work
from checks.problem6.shared import CHANGED, TOLERANCE
from checks.support.asked import Asked, Close, Same


@probe
def draw_layer(layer, B, T):
    """For other probes: draw a module's weights, and x (B, T, C), in float32 from its seed."""
    import numpy as np

    # RandomState gives the same numbers in all NumPy versions
    draw, C = np.random.RandomState(layer["seed"]).standard_normal, layer["n_embd"]
    weights = {}
    for name in "query key value proj".split():
        weights |= {f"{name}.weight": 0.4 * draw((C, C)), f"{name}.bias": 0.4 * draw(C)}
    weights |= {"predictor.weight": draw((1, C)), "predictor.bias": np.full(1, 0.1)}
    weights = {name: value.astype("float32") for name, value in weights.items()}
    return weights, draw((B, T, C)).astype("float32")


@probe(uses=(draw_layer,))
def make_layer(layer):
    """For other probes: create SparseSelfAttention with the drawn weights, new or from a dense
    module. Returns it, and of the dense module the parameters, now and before.
    """
    import types

    import torch

    from submission.attention import CausalSelfAttention
    from submission.problem6.efficient_attention import Pattern, SparseSelfAttention

    def fill(module):
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                if name in weights:
                    parameter.copy_(torch.from_numpy(weights[name]))
        return module.to(getattr(torch, layer["dtype"])).eval()

    weights, _ = draw_layer(layer, 1, 1)
    pattern, sizes = Pattern(**layer["pattern"]), {key: layer[key] for key in ("n_embd", "n_head")}
    more = {key: layer[key] for key in ("max_positions", "max_global") if layer[key] is not None}
    if layer["dense"] is None:
        return fill(SparseSelfAttention(**sizes, pattern=pattern, **more)), {}, {}
    config = types.SimpleNamespace(**sizes, **layer["dense"], attn_pdrop=0.1, resid_pdrop=0.1)
    dense = fill(CausalSelfAttention(config))
    before = {name: value.detach().clone() for name, value in dense.named_parameters()}
    sparse = SparseSelfAttention.from_dense(dense, pattern, **more)
    return sparse, dict(dense.named_parameters()), before


@probe(uses=(draw_layer, make_layer))
def run_layer(layer, B, T, chosen, once):
    """Run SparseSelfAttention on x: its output, and whether x changed; of a module from a dense one
    also which parameters are no copies (or no zeros, in the predictor), are shared or have changed.

    It has run before on other numbers of the same shape: nothing of that may be kept.
    """
    import torch

    module, dense, before = make_layer(layer)
    if module is None:
        return {"parameters": None}
    parts = "query.", "key.", "value.", "proj.", "predictor."
    own = {name: value for name, value in module.named_parameters() if name.startswith(parts)}
    places = [value.data_ptr() for value in dense.values()]
    wanted = {name: torch.zeros_like(value) for name, value in own.items()} | before
    copied = {name: torch.equal(value, wanted[name].to(value)) for name, value in own.items()}
    x = torch.from_numpy(draw_layer(layer, B, T)[1]).to(getattr(torch, layer["dtype"]))
    copy = x.clone()
    module.eval()
    with torch.no_grad():
        module(-x) if chosen is None else module(-x, [])
        if chosen is None:
            output = module(x)
        else:
            output = module(x, iter(chosen) if once else chosen)
    return {
        "parameters": sorted(f"{name} {tuple(value.shape)}" for name, value in own.items()),
        "no copies": [name for name in own if dense and not copied[name]],
        "shared": [name for name, value in own.items() if value.data_ptr() in places],
        "output": output,
        "changed": [] if torch.equal(x, copy) else ["x"],
        "dense": [name for name, value in dense.items() if not torch.equal(value, before[name])],
    }


def made(layer: dict) -> str:
    """A module as a student would create it."""
    pattern = "Pattern({window}, {strides}, {causal})".format(**layer["pattern"])
    limits = [(name, layer[name]) for name in ("max_positions", "max_global")]
    more = "".join(f", {name}={limit}" for name, limit in limits if limit is not None)
    if layer["dense"] is None:
        words = f"({layer['n_embd']}, {layer['n_head']}, {pattern}{more})"
    else:
        rotating = ", rotating" * layer["dense"]["rope"]
        sizes = f"{layer['n_head']} heads, block_size {layer['dense']['block_size']}{rotating}"
        words = f".from_dense(<dense module of {sizes}>, {pattern}{more})"
    return "SparseSelfAttention" + words + " in float64" * (layer["dtype"] == "float64")


def written(inputs: dict) -> str:
    """A call of the module as a student would write it."""
    shape, chosen = (inputs["B"], inputs["T"], inputs["layer"]["n_embd"]), inputs["chosen"]
    positions = "" if chosen is None else f", {f'iter({chosen})' if inputs['once'] else chosen}"
    return f"{made(inputs['layer'])}(x {shape}{positions})"


LAYER = Asked(
    run_layer,
    written,
    {
        "parameters": Same("The module in {call} should have {right}; it has {got}."),
        "no copies": Same(
            "{got} of the module in {call} should be the dense module's, and in the predictor 0."
        ),
        "shared": Same(
            "The module in {call} shares {got} with the dense module: training one would change "
            "the other. Copy them."
        ),
        "output": Close(tolerance=TOLERANCE),
        "changed": CHANGED,
        "dense": Same("{call}: {got} of the dense module have changed. They should stay."),
    },
)


@check("6d-9-basic", "6d-20-basic")
def test_module(student, calls):
    """From a dense module, whose output it reproduces if the pattern covers everything; other
    patterns; rotation, also of longer sequences; new; the predictor; no dense attention; what is
    rejected, and where there is no limit.
    """
    LAYER.require(student, calls)
    require_little_work(student, calls)
