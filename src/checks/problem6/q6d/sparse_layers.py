"""Runs SparseSelfAttention and judges its parameters and output.

Shared by the checks of questions 6d and 6g; streams.py has streams.
"""

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.problem6.q6d.rows import describe, given, require_part, thin
from checks.support.cases import Case

TOLERANCE = 1e-5
NAMES = ("query", "key", "value", "proj")


@probe
def layer_inputs(layer):
    """Draw a module's weights and x, (B, T, C), from its seed."""
    import numpy as np

    draw, C = np.random.RandomState(layer["seed"]).standard_normal, layer["n_embd"]
    weights = {
        f"{name}.{part}": (0.4 * draw((C, C) if part == "weight" else C)).astype("float32")
        for name in ("query", "key", "value", "proj")
        for part in ("weight", "bias")
    }
    x = draw((layer["B"], layer["spec"]["n"], C)).astype("float32")
    if layer["predict"]:
        weights |= {
            "predictor.weight": draw((1, C)).astype("float32"),
            "predictor.bias": np.full(1, 0.1, "float32"),
        }
    return weights, x


@probe(uses=(given, layer_inputs))
def layer_of(case):
    """Create the submission's SparseSelfAttention with a case's weights, from a dense module or
    new, and the dense module. None instead of a module that lacks parameters.
    """
    import types

    import torch

    from submission.attention import CausalSelfAttention
    from submission.problem6.efficient_attention import SparseSelfAttention

    def fill(module, weights):
        parameters = dict(module.named_parameters())
        if any(
            name not in parameters or parameters[name].shape != value.shape
            for name, value in weights.items()
        ):
            return None
        with torch.no_grad():
            for name, value in weights.items():
                parameters[name].copy_(torch.from_numpy(value))
        return module

    pattern, _ = given(case["spec"])
    weights, _ = layer_inputs(case)
    dense = None
    if case["dense"]:
        config = types.SimpleNamespace(
            n_embd=case["n_embd"],
            n_head=case["n_head"],
            block_size=case["block_size"],
            attn_pdrop=0.1,
            resid_pdrop=0.1,
            rope=case["rope"],
        )
        dense = fill(CausalSelfAttention(config), weights).eval()
        more = {} if case["max_positions"] is None else {"max_positions": case["max_positions"]}
        layer = SparseSelfAttention.from_dense(dense, pattern, **more)
    else:
        more = {} if case["max_global"] is None else {"max_global": case["max_global"]}
        layer = fill(SparseSelfAttention(case["n_embd"], case["n_head"], pattern, **more), weights)
    return layer if layer is None else layer.eval(), dense


@probe(uses=(given, layer_inputs, layer_of))
def layers(cases):
    """For each case: the module's initial parameters, its output, whether x was changed, and the
    dense module's weights afterwards; `shares` says whether the two share a parameter.
    """
    import torch

    results = []
    for case in cases:
        layer, dense = layer_of(case)
        if layer is None:
            results.append({"parameters": None})
            continue
        parameters = {name: value.detach().clone() for name, value in layer.named_parameters()}
        _, array = layer_inputs(case)
        x = torch.from_numpy(array.copy())
        _, chosen = given(case["spec"])
        with torch.no_grad():
            # another text of the same shape first, of which the module should keep nothing
            layer(-x) if case["predict"] else layer(-x, [])
            y = layer(x) if case["predict"] else layer(x, chosen)
            theirs = [] if dense is None else [value.data_ptr() for value in dense.parameters()]
            results.append(
                {
                    "parameters": parameters,
                    "y": y,
                    "changed": not torch.equal(x, torch.from_numpy(array)),
                    "dense": {}
                    if dense is None
                    else {name: value.detach().clone() for name, value in dense.named_parameters()},
                    "shares": any(value.data_ptr() in theirs for value in layer.parameters()),
                }
            )
    return results


def name_of(layer: dict) -> str:
    """Describe the module."""
    if not layer["dense"]:
        return "SparseSelfAttention"
    longest = "" if layer["max_positions"] is None else f", max_positions={layer['max_positions']}"
    rotating = ", rotating" if layer["rope"] else ""
    return f"SparseSelfAttention.from_dense (block_size {layer['block_size']}{rotating}{longest})"


def call_of(layer: dict) -> str:
    """Describe the module and its call."""
    chosen = ", global_positions=None" if layer["predict"] else ""
    shape = (layer["B"], layer["spec"]["n"], layer["n_embd"])
    return f"{name_of(layer)} on x of shape {shape}{chosen}, {describe(layer['spec'])}"


def run_layers(student, cases: list[Case]) -> list[tuple[Case, Answer]]:
    """Run `layers`."""
    return list(
        zip(cases, student.run(layers, cases=[case.inputs for case in cases]).items(len(cases)))
    )


def require_parameters(answer: Answer, case: Case) -> None:
    """Check the module's parameters: the dense module's weights and a predictor of zeros; the dense
    module is unchanged.

    Raises:
        WrongAnswer: names what is wrong.
    """
    layer, call = case.inputs, call_of(case.inputs)
    C, (weights, _) = layer["n_embd"], layer_inputs.function(layer)
    wanted = {
        f"{name}.{part}": (C, C) if part == "weight" else (C,)
        for name in NAMES
        for part in ("weight", "bias")
    }
    wanted |= {"predictor.weight": (1, C), "predictor.bias": (1,)}
    if answer["parameters"].value is None:
        raise WrongAnswer(
            f"SparseSelfAttention({C}, {layer['n_head']}, ...) should have these "
            f"parameters: {', '.join(wanted)}, in "
            f"their shapes."
        )
    parameters = answer["parameters"].entries()
    for name, shape in wanted.items():
        if name not in parameters:
            raise WrongAnswer(
                f"{call} lacks the parameter {name}. It has "
                f"{', '.join(sorted(parameters)) or 'none'}."
            )
        got = parameters[name].named(f"{name} of {call}").array("float32", shape)
        if name in weights and not np.array_equal(got, weights[name]):
            raise WrongAnswer(f"{name} of {call} is not that of the dense module.")
        if layer["dense"] and name.startswith("predictor") and got.any():
            raise WrongAnswer(f"{name} of {call} should be initialized with zeros.")
    if layer["dense"]:
        for name, value in answer["dense"].entries().items():
            if name in weights and not np.array_equal(
                value.array("float32", weights[name].shape, finite=False), weights[name]
            ):
                raise WrongAnswer(
                    f"{call} changes {name} of the dense module, which should stay unchanged."
                )
        if answer["shares"].flag():
            raise WrongAnswer(
                f"{call} shares parameters with the dense module: training one would "
                f"change the other. Copy them."
            )


def require_layer(answer: Answer, case: Case) -> None:
    """Check parameters and output, and that x is unchanged.

    Raises:
        WrongAnswer: one is wrong, or x was changed; names the likely cause.
    """
    require_parameters(answer, case)
    layer, call = case.inputs, call_of(case.inputs)
    got = (
        answer["y"]
        .named(f"the output of {call}")
        .array("float32", (layer["B"], layer["spec"]["n"], layer["n_embd"]))
    )
    require_part(
        f"The output of {call}, one number of each position",
        thin(got[:, None]),
        case,
        "y",
        TOLERANCE,
    )
    if answer["changed"].flag():
        raise WrongAnswer(f"{call} changes x in place.")
