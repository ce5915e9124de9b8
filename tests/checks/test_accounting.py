"""Question 6a: the reference and the checks' formulas, compared with torch's modules and its
flop_counter.
"""

import inspect
import itertools
import math
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from autograder import Answer, WrongAnswer
from checks.problem6.q6a.accounting import Call
from instructor.checks.problem6.q6a import counting
from instructor.checks.problem6.q6a.cases import count_case
from jobs.presets import LAPTOP


@pytest.fixture
def accounting(submission):
    """The reference's accounting.py."""
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


EITHER = (True, False)
OPTIONS = {
    "attention_parameters": {"bias": EITHER},
    "layer_parameters": {"bias": EITHER},
    "model_parameters": {"bias": EITHER, "learned_positions": EITHER, "tied": EITHER},
    "kv_cache_bytes": {"n_kv_head": (None, 1, 2), "dtype": tuple(counting.BYTES), "batch": (1, 3)},
}


def test_the_checks_know_the_same(accounting, seed):
    """The judge's formulas agree with the reference, and each known mistake makes a difference
    somewhere.
    """
    rng, known, different = np.random.default_rng(seed), set(), set()
    for _ in range(60):
        n_head = 2 * int(rng.integers(1, 9))
        sizes = {name: int(rng.integers(10, 99)) for name in ("d_ff", "vocab_size", "block_size")}
        sizes |= {"n_head": n_head, "d_model": n_head * int(rng.integers(2, 30))}
        sizes |= {"n_layer": int(rng.integers(2, 9)), "seq_len": int(rng.integers(10, 99))}
        for name, function in counting.RIGHT.items():
            given = [sizes[key] for key in inspect.signature(function).parameters if key in sizes]
            options = {
                option: values[rng.integers(len(values))]
                for option, values in OPTIONS.get(name, {}).items()
            }
            right, mine = function(*given, **options), getattr(accounting, name)(*given, **options)
            right, mine = (each if isinstance(each, dict) else {"": each} for each in (right, mine))
            assert mine == {key: value for key, (value, _) in right.items()}
            for key, (value, causes) in right.items():
                known |= {(name, key, sentence) for sentence, _ in causes}
                different |= {(name, key, sentence) for sentence, wrong in causes if wrong != value}
    assert known == different


CACHE = count_case("kv_cache_bytes", 13, 64, 4, 4096)  # 13,631,488 bytes
SCORES, SHAPE = count_case("score_count", 4, 100), count_case("score_shape", 4, 7)
FLOPS = count_case("flops", 8, 2, 16, 5)
TOO_MANY = count_case("score_count", 3, 10**10)
WITH_ONE_HEAD = {**FLOPS.solved().right, "softmax": 75}


@pytest.mark.parametrize(
    "case, returned, says",
    [
        (CACHE, 13.0, "It is in MiB; it should be in bytes"),
        (CACHE, 13, "in MiB and truncated"),
        (CACHE, 13_631_488 / 10**9, "It is in GB; it should be in bytes"),
        (CACHE, 0.01, "another unit"),
        (CACHE, 13_631_488.0, "divide with //"),
        (CACHE, 0, "in MiB, GiB or the like"),
        (CACHE, 13_631_488 // 2, "keys or values"),
        (CACHE, 13_631_488 * 2, "float16 has 2 bytes; 4 are counted"),
        (CACHE, math.nan, "divide with //"),
        (SCORES, 80_000, "expected 40,000, got 80,000. That is 2 times as much."),
        (SCORES, 10_000, "Likely cause: it is the count of one head."),
        (TOO_MANY, int(np.prod((3, 10**10, 10**10))), "integers overflow"),
        (SHAPE, (7, 7), "expected (4, 7, 7), got (7, 7).\nLikely cause: the heads are missing."),
        (
            FLOPS,
            WITH_ONE_HEAD,
            "expected 150, got 75.\nLikely cause: it is the softmax of one head.",
        ),
        (FLOPS, {"softmax": 150}, "has no entry 'projections'; it has 'softmax'."),
    ],
)
def test_a_wrong_count_says_what_was_expected_and_why(case, returned, says):
    with pytest.raises(WrongAnswer, match=re.escape(says)):
        Call(case).judge(Answer({"returned": returned, "raised": None}, "the reply"))
