"""What the solution is held to, since all right replies come from it: torch's own layers and
functions, the handout's formulas with complex numbers of more digits, finite differences.
"""

import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

EXACT = {"rtol": 1e-10, "atol": 1e-12}  # float64, computed in another order


@pytest.fixture
def encoder(submission):
    """The solution's encoder.py."""
    from submission.problem5 import encoder

    return encoder


@pytest.fixture
def fixes(submission):
    """The solution's fixes.py."""
    from submission.problem6 import fixes

    return fixes


@pytest.fixture
def positions(submission):
    """The solution's positions.py."""
    from submission.problem6 import positions

    return positions


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
def test_multi_head_attention(encoder, seed, padded):
    mine = encoder.MultiHeadAttention(15, 3).double()
    torchs = nn.MultiheadAttention(15, 3, batch_first=True).double()
    weights = {"in_proj_weight": mine.qkv.weight, "in_proj_bias": mine.qkv.bias}
    weights |= {"out_proj.weight": mine.proj.weight, "out_proj.bias": mine.proj.bias}
    torchs.load_state_dict(weights)
    x, padding = torch.randn(4, 7, 15).double(), draw_padding(4, 7) if padded else None
    for got, wanted in zip(
        mine(x, padding, return_weights=True), torchs(x, x, x, padding, average_attn_weights=False)
    ):
        torch.testing.assert_close(got, wanted, **EXACT)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_encoder_layer(encoder, seed, pre_norm):
    mine = encoder.EncoderLayer(12, 4, 20, pre_norm=pre_norm).double()
    torchs = nn.TransformerEncoderLayer(
        12, 4, 20, 0.0, "gelu", batch_first=True, norm_first=pre_norm, dtype=torch.float64
    )
    for name in ("norm1", "norm2"):
        layer = getattr(mine, name)
        nn.init.normal_(layer.weight, 1, 0.3)
        nn.init.normal_(layer.bias, 0, 0.3)
        getattr(torchs, name).load_state_dict(layer.state_dict())
    torchs.linear1.load_state_dict(mine.up.state_dict())
    torchs.linear2.load_state_dict(mine.down.state_dict())
    torchs.self_attn.in_proj_weight.data = mine.attn.qkv.weight.data
    torchs.self_attn.in_proj_bias.data = mine.attn.qkv.bias.data
    torchs.self_attn.out_proj.load_state_dict(mine.attn.proj.state_dict())
    x, padding = torch.randn(3, 5, 12).double(), draw_padding(3, 5)
    wanted = torchs(x, src_key_padding_mask=padding)
    torch.testing.assert_close(mine(x, padding), wanted, **EXACT)


def test_layer_norm(encoder, seed):
    mine, x = encoder.LayerNorm(9, eps=1e-3).double(), 5 + 3 * torch.randn(4, 6, 9).double()
    nn.init.normal_(mine.weight)
    nn.init.normal_(mine.bias)
    wanted = F.layer_norm(x, (9,), mine.weight, mine.bias, 1e-3)
    torch.testing.assert_close(mine(x), wanted, **EXACT)


def test_rotation(submission, seed):
    """As complex numbers; products of rotated vectors depend on the distance alone."""
    from submission.attention import apply_rotary_emb, precompute_rotary_emb

    table, x = precompute_rotary_emb(6, 11).double(), torch.randn(2, 3, 11, 6).double()
    angles = torch.outer(torch.arange(11), 10000.0 ** (-torch.arange(0, 6, 2) / 6)).double()
    turned = torch.view_as_complex(x.unflatten(-1, (3, 2))) * torch.polar(angles**0, angles)
    wanted = torch.view_as_real(turned).flatten(-2)
    torch.testing.assert_close(apply_rotary_emb(x, table), wanted, rtol=1e-6, atol=1e-6)
    q, k = (apply_rotary_emb(torch.randn(6).double().expand(1, 1, 11, 6), table) for _ in "qk")
    products = (q @ k.mT)[0, 0]
    assert torch.allclose(products[3:, :-3].diagonal(), products[3, 0], atol=1e-5)


def test_gradients_by_finite_differences(encoder, submission, seed):
    from submission.attention import apply_rotary_emb, precompute_rotary_emb

    padding = torch.tensor([[False, True, False], [True, True, True]])
    attention = encoder.MultiHeadAttention(6, 2).double()
    table = precompute_rotary_emb(4, 3).double()
    for function, shape in [
        (lambda x: attention(x, padding), (2, 3, 6)),
        (encoder.LayerNorm(5).double(), (2, 3, 5)),
        (lambda x: apply_rotary_emb(x, table), (1, 2, 3, 4)),
    ]:
        assert torch.autograd.gradcheck(function, torch.randn(shape).double().requires_grad_())


def test_clipping(fixes, seed):
    models = [nn.Linear(4, 3), nn.Linear(4, 3)]
    for model in models:
        for parameter, size in zip(model.parameters(), (2.0, -7.0)):
            parameter.grad = torch.full_like(parameter, size)
    for limit in (1e3, 0.5):
        norm = nn.utils.clip_grad_norm_(models[1].parameters(), limit)
        assert fixes.clip_gradients(models[0].parameters(), limit) == pytest.approx(norm.item())
        for mine, torchs in zip(models[0].parameters(), models[1].parameters()):
            torch.testing.assert_close(mine.grad, torchs.grad, rtol=1e-5, atol=1e-6)


def test_filters_keep_what_sorting_keeps(fixes, seed):
    """Of distinct logits: the k largest, and the fewest whose probabilities reach p."""
    for _ in range(20):
        logits, k, p = torch.randn(9).double(), random.randint(1, 9), random.random()
        order = logits.argsort(descending=True).tolist()
        sums = logits.softmax(dim=0)[order].cumsum(dim=0)
        fewest = 1 + int((sums < p).sum())
        for got, count in (
            (fixes.top_k_filter(logits, k), k),
            (fixes.top_p_filter(logits, p), fewest),
        ):
            kept = {*order[: min(count, 9)]}
            assert {*got.isfinite().nonzero().flatten().tolist()} == kept
            assert torch.equal(got[[*kept]], logits[[*kept]])


def turns(at, width: int) -> np.ndarray:
    """exp(i p w) for each position and pair: cosine and sine at once, with more digits."""
    w = np.longdouble(10000) ** (-2 * np.arange(width // 2) / np.longdouble(width))
    angles = np.outer(np.asarray(at, np.longdouble), w)
    return np.cos(angles) + 1j * np.sin(angles)


def test_sines_and_cosines(positions):
    at = np.array([3.5, -2.25, 0, 999])
    for vectors, z in [
        (positions.sinusoidal_at(at, 10), turns(at, 10)),
        (positions.sinusoidal(1000, 6), turns(np.arange(1000), 6)),
    ]:
        assert np.abs(vectors[:, 0::2] - z.imag).max() < 1e-11
        assert np.abs(vectors[:, 1::2] - z.real).max() < 1e-11


@pytest.mark.parametrize("k", [1, 50, 1000, -37])
def test_a_shift_shifts(positions, k):
    at = np.array([0, 17.25, -3, 1000])
    shifted = positions.sinusoidal_at(at, 12) @ positions.shift_matrix(k, 12)
    assert np.abs(shifted - positions.sinusoidal_at(at + k, 12)).max() < 1e-10


def test_rope_scores_are_products_of_complex_numbers(positions, seed):
    q, k = np.random.default_rng(seed).standard_normal((2, 10))
    a, b = (x[0::2] + 1j * x[1::2] for x in (q, k))
    queries, keys = [5, 2, 9, 0], [1, 7, 3, 0]
    scores = positions.rope_scores(torch.from_numpy(q), torch.from_numpy(k), queries, keys)
    right = ((a * turns(queries, 10)) * (b * turns(keys, 10)).conj()).real.sum(axis=1)
    assert np.abs(scores.numpy() - right).max() < 1e-5  # the table is float32


def test_biases_and_interpolated_positions(positions):
    bias = positions.alibi_bias(3, 5)
    for h, i, j in np.ndindex(3, 5, 5):
        assert bias[h, i, j] == pytest.approx(-(2 ** (-8 * (h + 1) / 3)) * abs(i - j), abs=1e-15)
    assert positions.interpolated_positions(4, 6).tolist() == [0, 1, 2, 3]
    assert positions.interpolated_positions(8, 6) == pytest.approx(np.arange(8) * 0.75)
