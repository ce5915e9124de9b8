"""The model keeps the interface; attention is what its definition says; nothing looks ahead."""

import numpy as np
import pytest
import torch


def test_sizes_and_names_of_the_assignment(submission):
    config = submission.GPTConfig(256, 128, n_layer=4, n_head=8, n_embd=256)
    vanilla, rope = (
        submission.initialize_vanilla_model(config),
        submission.initialize_rope_model(config),
    )
    assert sum(p.numel() for p in vanilla.parameters()) == 3_323_392
    assert sum(p.numel() for p in rope.parameters()) == 3_290_624
    assert config.rope is False, "initialize_rope_model changed the caller's config"
    names = set(vanilla.state_dict())
    assert {"pos_emb", "tok_emb.weight", "head.weight", "ln_f.bias", "blocks.3.attn.mask"} <= names
    attention = [f"attn.{name}" for name in ("key", "query", "value", "proj")]
    parts = ("ln1", "ln2", "mlp.0", "mlp.2", *attention)
    assert {f"blocks.0.{part}.weight" for part in parts} <= names
    assert set(rope.state_dict()) == names - {"pos_emb"} | {
        f"blocks.{i}.attn.rope_cache" for i in range(4)
    }
    assert vanilla.get_block_size() == 128


def test_misspelled_keywords_are_named(submission):
    with pytest.raises(TypeError, match="no field 'n_heads': did you mean 'n_head'"):
        submission.GPTConfig(5, 6, n_heads=2)
    with pytest.raises(TypeError, match="no field 'final_token': did you mean 'final_tokens'"):
        submission.TrainerConfig(final_token=3)


@pytest.mark.parametrize("rope", [False, True])
def test_self_attention_against_numpy(submission, seed, rope):
    """Queries and keys are rotated, values are not; scores are scaled by sqrt(head_dim); the mask
    is causal.
    """
    B, T, n_head, head_dim = 2, 9, 3, 4
    C = n_head * head_dim
    config = submission.GPTConfig(
        5, 11, n_head=n_head, n_embd=C, rope=rope, attn_pdrop=0.0, resid_pdrop=0.0
    )
    attention = submission.CausalSelfAttention(config)
    x = torch.randn(B, T, C)
    linear = {
        name: (
            getattr(attention, name).weight.detach().double().numpy(),
            getattr(attention, name).bias.detach().double().numpy(),
        )
        for name in ("query", "key", "value", "proj")
    }

    def heads(name):
        weight, bias = linear[name]
        return (
            (x.double().numpy() @ weight.T + bias)
            .reshape(B, T, n_head, head_dim)
            .transpose(0, 2, 1, 3)
        )

    def rotate(z):
        angle = np.arange(T)[:, None] * 10000.0 ** (-2 * np.arange(head_dim // 2) / head_dim)
        pairs = z.reshape(B, n_head, T, head_dim // 2, 2)
        turned = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angle)
        return np.stack((turned.real, turned.imag), -1).reshape(z.shape)

    q, k, v = heads("query"), heads("key"), heads("value")
    if rope:
        q, k = rotate(q), rotate(k)
    scores = np.where(
        np.tril(np.ones((T, T))), q @ k.transpose(0, 1, 3, 2) / head_dim**0.5, -np.inf
    )
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = ((weights / weights.sum(-1, keepdims=True)) @ v).transpose(0, 2, 1, 3).reshape(B, T, C)
    expected = y @ linear["proj"][0].T + linear["proj"][1]
    assert np.abs(attention(x).detach().numpy() - expected).max() < 1e-5


def test_odd_head_dimension_is_refused(submission):
    from submission.attention import precompute_rotary_emb

    with pytest.raises(ValueError, match="even"):
        precompute_rotary_emb(7, 5)


@pytest.mark.parametrize("rope", [False, True])
def test_nothing_looks_ahead(tiny_model, seed, rope):
    model = tiny_model(17, 13, rope)
    x = torch.randint(0, 17, (3, 11))
    changed = x.clone()
    changed[:, 7:] = torch.randint(0, 17, (3, 4))
    before, after = model(x)[0], model(changed)[0]
    assert torch.allclose(before[:, :7], after[:, :7], atol=1e-5)
    assert not torch.allclose(before[:, 7:], after[:, 7:], atol=1e-3)


def test_loss_ignores_padding(tiny_model, seed):
    model = tiny_model(9, 12, False)
    x, y = torch.randint(1, 9, (2, 4, 7))
    y[:, 4:] = 0
    logits, loss = model(x, y)
    expected = torch.nn.functional.cross_entropy(logits[:, :4].reshape(-1, 9), y[:, :4].reshape(-1))
    assert torch.allclose(loss, expected, atol=1e-6) and model(x)[1] is None


def test_too_long_a_sequence_is_refused(tiny_model):
    with pytest.raises(ValueError, match="block_size = 12"):
        tiny_model(9, 12, False)(torch.ones(1, 13, dtype=torch.long))


def test_cross_attention(submission, seed):
    config = submission.GPTConfig(5, 14, n_head=3, n_embd=12, attn_pdrop=0.0, resid_pdrop=0.0)
    attention = submission.CausalCrossAttention(config)
    x_kv, x_q = torch.randn(1, 9, 12), torch.randn(4, 6, 12)
    out = attention(x_kv, x_q)
    assert out.shape == (4, 6, 12)
    x_kv[:, 3:] = 0
    assert torch.allclose(out[:, :3], attention(x_kv, x_q)[:, :3], atol=1e-6)
