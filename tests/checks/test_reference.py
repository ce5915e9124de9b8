"""What the solution is held to, since all right replies come from it: torch's own layers, its
flop_counter, the handout's formulas with complex numbers of more digits. (Right submissions hold it
to other ways to compute the same.)
"""

import itertools
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from autograder import WrongAnswer
from autograder.inside import wire
from checks.problem6.q6a import Exact
from jobs.presets import LAPTOP

EXACT = {"rtol": 1e-10, "atol": 1e-12}  # float64, computed in another order


def draw_padding(B, T):
    """Padding anywhere, but not everywhere."""
    padding = torch.rand(B, T) < 0.4
    padding[torch.arange(B), torch.randint(T, (B,))] = False
    return padding


@pytest.mark.parametrize("masked", [False, True])
def test_attention_in_numpy(submission, seed, masked):
    from submission.problem5.numpy_attention import attention

    Q, K, V = torch.randn(3, 5, 7), torch.randn(3, 4, 7), torch.randn(3, 4, 2)
    mask = torch.rand(3, 5, 4) < 0.6 if masked else None
    if masked:
        mask[..., 1] = True
    wanted = F.scaled_dot_product_attention(Q.double(), K.double(), V.double(), mask)
    got = attention(Q.numpy(), K.numpy(), V.numpy(), None if mask is None else mask.numpy())
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("padded", [False, True])
def test_multi_head_attention(submission, seed, padded):
    from submission.problem5.encoder import MultiHeadAttention

    mine = MultiHeadAttention(15, 3).double()
    torchs = nn.MultiheadAttention(15, 3, batch_first=True).double()
    weights = {"in_proj_weight": mine.qkv.weight, "in_proj_bias": mine.qkv.bias}
    weights |= {"out_proj.weight": mine.proj.weight, "out_proj.bias": mine.proj.bias}
    torchs.load_state_dict(weights)
    x, padding = torch.randn(4, 7, 15).double(), draw_padding(4, 7) if padded else None
    wanted = torchs(x, x, x, padding, average_attn_weights=False)
    torch.testing.assert_close(mine(x, padding, return_weights=True), wanted, **EXACT)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_encoder_layer(submission, seed, pre_norm):
    from submission.problem5.encoder import EncoderLayer

    mine = EncoderLayer(12, 4, 20, pre_norm=pre_norm).double()
    options = {"batch_first": True, "norm_first": pre_norm, "dtype": torch.float64}
    torchs = nn.TransformerEncoderLayer(12, 4, 20, 0.0, "gelu", **options)
    for norm in (mine.norm1, mine.norm2):
        nn.init.normal_(norm.weight, 1, 0.3)
        nn.init.normal_(norm.bias, 0, 0.3)
    names = ["attn.qkv.", "attn.proj.", "up.", "down.", "norm1.", "norm2."]
    theirs = ["self_attn.in_proj_", "self_attn.out_proj.", "linear1.", "linear2.", *names[-2:]]
    state, kinds = mine.state_dict(), ("weight", "bias")
    pairs = itertools.product(zip(theirs, names), kinds)
    torchs.load_state_dict({new + kind: state[old + kind] for (new, old), kind in pairs})
    x, padding = torch.randn(3, 5, 12).double(), draw_padding(3, 5)
    wanted = torchs(x, src_key_padding_mask=padding)
    torch.testing.assert_close(mine(x, padding), wanted, **EXACT)


@pytest.fixture
def positions(submission):
    from submission.problem6 import positions

    return positions


@pytest.mark.parametrize("k", [1, 50, 1000, -37])
def test_a_shift_shifts(positions, k):
    at = np.array([0, 17.25, -3, 1000])
    shifted = positions.sinusoidal_at(at, 12) @ positions.shift_matrix(k, 12)
    assert np.abs(shifted - positions.sinusoidal_at(at + k, 12)).max() < 1e-10


def test_sines_and_rope_scores_are_complex_numbers(positions, seed):
    def turns(at):
        """exp(i p w) for each position and pair: cosine and sine at once, with more digits."""
        w = np.longdouble(10000) ** (-2 * np.arange(5) / np.longdouble(10))
        angles = np.outer(np.asarray(at, np.longdouble), w)
        return np.cos(angles) + 1j * np.sin(angles)

    at = np.array([3.5, -2.25, 0, 999])
    vectors = positions.sinusoidal_at(at, 10)
    assert np.abs(vectors[:, 1::2] + 1j * vectors[:, 0::2] - turns(at)).max() < 1e-11
    q, k = np.random.default_rng(seed).standard_normal((2, 10))
    a, b = (x[0::2] + 1j * x[1::2] for x in (q, k))
    queries, keys = [5, 2, 9, 0], [1, 7, 3, 0]
    scores = positions.rope_scores(torch.from_numpy(q), torch.from_numpy(k), queries, keys)
    right = ((a * turns(queries)) * (b * turns(keys)).conj()).real.sum(axis=1)
    assert np.abs(scores.numpy() - right).max() < 1e-5  # the table is float32


@pytest.fixture
def accounting(submission):
    from submission.problem6 import accounting

    return accounting


SIZES = [(24, 3, 56, 11), (8, 8, 5, 2), (6, 1, 40, 17)]  # d_model, n_head, d_ff, seq_len


def held(module):
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
        if not tied:
            model.append(nn.Linear(d_model, 29, bias=False))
        options = {"bias": bias, "learned_positions": learned, "tied": tied}
        assert accounting.model_parameters(n_layer, *sizes, **options) == held(model)


def test_parameters_of_our_gpt(accounting, submission):
    sizes = {"n_layer": LAPTOP.n_layer, "n_head": LAPTOP.n_head, "n_embd": LAPTOP.n_embd}
    model = submission.GPT(submission.GPTConfig(53, LAPTOP.block_size, **sizes))
    n_layer, n_head, d_model = sizes.values()
    counts = n_layer, d_model, n_head, 4 * d_model, 53, LAPTOP.block_size
    assert accounting.model_parameters(*counts) == held(model) == 420_608


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
    options = {"batch_first": True}
    layers = nn.Sequential(*(nn.TransformerEncoderLayer(*sizes, **options) for _ in range(3)))
    assert flops["total"] - flops["softmax"] == 2 * adds["total"]
    assert counted(lambda: layers[0](x[None])) == 2 * adds["total"]
    assert flops["softmax"] == 3 * F.softmax(scores, dim=-1).numel()
    model_flops = accounting.model_flops(3, *sizes, 31, seq_len) - 3 * flops["softmax"]
    assert counted(lambda: layers(x[None]) @ torch.randn(d_model, 31)) == model_flops


def test_a_cache_as_large_as_torch_makes_it(accounting):
    for dtype, kv in itertools.product(("float32", "float16", "bfloat16", "int8"), (None, 1, 2, 6)):
        # 3 layers, batch 5
        size = 2 * 3 * torch.zeros(5, kv or 6, 7, 4, dtype=getattr(torch, dtype)).nbytes
        assert accounting.kv_cache_bytes(3, 24, 6, 7, n_kv_head=kv, dtype=dtype, batch=5) == size
    for n_head in (32, 40):
        assert accounting.kv_cache_bytes(40, 5120, n_head, 4096) == 3_355_443_200


@pytest.mark.parametrize(
    "right, got, says",
    [
        (40_000, 80_000, "f(3) should be 40,000; it is 80,000."),
        (40_000, 40_000.0, "should be 40,000; it is 40000.0."),
        (40_000, np.int64(40_000), "should be 40,000; it is an int64 NumPy array"),
        (1, True, "should be 1; it is True."),
        ("9,223,372,036,854,775,809", 5, "should be 9,223,372,036,854,775,809; it is 5."),
        ((4, 7, 7), (4.0, 7, 7), "should be (4, 7, 7); it is (4.0, 7, 7)."),
        ((4, 7, 7), [4, 7, 7], "it is a list of 3."),
        ({"a": 4, "b": 5}, {"a": 4, "b": 3}, "f(3)['b'] should be 5; it is 3."),
        ({"a": 4, "b": 5}, {"a": 4, 6: 7}, "a dict with 'a', 'b'; it is a dict with 'a', 6."),
    ],
)
def test_a_wrong_count_says_what_was_expected(right, got, says):
    right, got = (wire.decode(wire.encode(value, 10**6)) for value in (right, got))
    Exact().require("f(3)", right, right)
    with pytest.raises(WrongAnswer, match=re.escape(says)):
        Exact().require("f(3)", got, right)
