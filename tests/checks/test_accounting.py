"""Question 6a: the solution, compared with torch's modules and its flop_counter; and the messages of
wrong counts.
"""

import itertools
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from autograder import WrongAnswer
from autograder.inside import wire
from checks.problem6.q6a import Exact
from jobs.presets import LAPTOP


@pytest.fixture
def accounting(submission):
    """The solution's accounting.py."""
    from submission.problem6 import accounting

    return accounting


SIZES = [(24, 3, 56, 11), (8, 8, 5, 2), (6, 1, 40, 17)]  # d_model, n_head, d_ff, seq_len


def held(module: nn.Module) -> int:
    """Count the trained numbers."""
    return sum(parameter.numel() for parameter in module.parameters())


def counted(function) -> int:
    """Count the FLOPs of matrix products."""
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops()


@pytest.mark.parametrize("d_model, n_head, d_ff, _", SIZES)
@pytest.mark.parametrize("bias", [True, False])
def test_parameters_of_torchs_modules(accounting, d_model, n_head, d_ff, _, bias):
    attention = nn.MultiheadAttention(d_model, n_head, bias=bias)
    assert accounting.attention_parameters(d_model, bias=bias) == held(attention)
    layer = nn.TransformerEncoderLayer(d_model, n_head, d_ff, bias=bias)
    assert accounting.layer_parameters(d_model, n_head, d_ff, bias=bias) == held(layer)
    sizes, norm = (d_model, n_head, d_ff, 29, 13), nn.LayerNorm(d_model, bias=bias)
    for n_layer, learned, tied in itertools.product((1, 3), (True, False), (True, False)):
        stack = nn.TransformerEncoder(layer, n_layer, norm, enable_nested_tensor=False)
        model = nn.ModuleList([nn.Embedding(29, d_model), stack])
        if learned:
            model.append(nn.Embedding(13, d_model))
        model.append(nn.Linear(d_model, 29, bias=False))
        if tied:
            model[-1].weight = model[0].weight
        options = {"bias": bias, "learned_positions": learned, "tied": tied}
        assert accounting.model_parameters(n_layer, *sizes, **options) == held(model)


def test_parameters_of_our_gpt(accounting, submission):
    config = submission.GPTConfig(
        53, LAPTOP.block_size, n_layer=LAPTOP.n_layer, n_head=LAPTOP.n_head, n_embd=LAPTOP.n_embd
    )
    sizes = LAPTOP.n_layer, LAPTOP.n_embd, LAPTOP.n_head, 4 * LAPTOP.n_embd, 53, LAPTOP.block_size
    assert accounting.model_parameters(*sizes) == held(submission.GPT(config)) == 420_608


@pytest.mark.parametrize("d_model, n_head, d_ff, seq_len", SIZES)
def test_operations_that_torch_counts(accounting, d_model, n_head, d_ff, seq_len):
    sizes = d_model, n_head, d_ff
    adds, flops = (f(*sizes, seq_len) for f in (accounting.multiply_adds, accounting.flops))
    shapes = accounting.weight_shapes(d_model, n_head)
    x = torch.randn(seq_len, d_model)
    q = torch.randn(n_head, seq_len, accounting.head_dim(d_model, n_head))
    scores = q @ q.mT
    assert tuple(scores.shape) == accounting.score_shape(n_head, seq_len)
    assert scores.numel() == accounting.score_count(n_head, seq_len)
    matrices = {name: torch.randn(shape) for name, shape in shapes.items()}
    work = {
        "projections": lambda: [x @ matrices[f] for f in ("query", "key", "value", "output")],
        "scores": lambda: q @ q.mT,
        "weighted_sum": lambda: scores @ q,
        "feed_forward": lambda: x @ torch.randn(d_model, d_ff) @ torch.randn(d_ff, d_model),
    }
    for name, function in work.items():
        assert counted(function) == flops[name] == 2 * adds[name]
    for name in ("query", "key", "value"):
        assert (x @ matrices[f"{name}_head"]).shape == q.shape[1:]

    # A whole layer and model, written with torch's functions: the counter gives the same, minus the
    # softmax. In training mode: otherwise a fused kernel hides the products.
    layers = nn.Sequential(
        *(nn.TransformerEncoderLayer(*sizes, batch_first=True) for _ in range(3))
    )
    assert flops["total"] - flops["softmax"] == 2 * adds["total"]
    assert counted(lambda: layers[0](x[None])) == 2 * adds["total"]
    assert flops["softmax"] == 3 * F.softmax(scores, dim=-1).numel()
    model_flops = accounting.model_flops(3, *sizes, 31, seq_len) - 3 * flops["softmax"]
    assert counted(lambda: layers(x[None]) @ torch.randn(d_model, 31)) == model_flops


def test_a_cache_as_large_as_torch_makes_it(accounting):
    for dtype, kv in itertools.product(("float32", "float16", "bfloat16", "int8"), (None, 1, 2, 6)):
        # 3 layers, batch 5
        tensors = [torch.zeros(5, kv or 6, 7, 4, dtype=getattr(torch, dtype)) for _ in range(2 * 3)]
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        assert accounting.kv_cache_bytes(3, 24, 6, 7, n_kv_head=kv, dtype=dtype, batch=5) == size
    for n_head in (32, 40):
        assert accounting.kv_cache_bytes(40, 5120, n_head, 4096) == 3_355_443_200


@pytest.mark.parametrize(
    "right, got, says",
    [
        (40_000, 80_000, "f(3) should be 40,000; it is 80,000."),
        (40_000, 40_000.0, "should be 40,000; it is 40000.0."),
        (40_000, np.int64(40_000), "should be 40,000; it is an int64 NumPy array"),
        (40_000, torch.tensor(40_000), "should be 40,000; it is an int64 tensor"),
        (1, True, "should be 1; it is True."),
        (40_000, "40000", "it is the string '40000'."),
        ("9,223,372,036,854,775,809", 5, "should be 9,223,372,036,854,775,809; it is 5."),
        ((4, 7, 7), (7, 7), "should be (4, 7, 7); it is (7, 7)."),
        ((4, 7, 7), (4.0, 7, 7), "should be (4, 7, 7); it is (4.0, 7, 7)."),
        ((4, 7, 7), [4, 7, 7], "it is a list of 3."),
        ({"a": 4, "b": 5}, {"a": 4, "b": 3}, "f(3)['b'] should be 5; it is 3."),
        ({"a": 4, "b": 5}, {"a": 4}, "should be a dict with 'a', 'b'; it is a dict with 'a'."),
        ({"a": 4, "b": 5}, {"a": 4, 6: 7}, "a dict with 'a', 'b'; it is a dict with 'a', 6."),
    ],
)
def test_a_wrong_count_says_what_was_expected(right, got, says):
    right, got = (wire.decode(wire.encode(value, 10**6)) for value in (right, got))
    Exact().require("f(3)", right, right)
    with pytest.raises(WrongAnswer, match=re.escape(says)):
        Exact().require("f(3)", got, right)
