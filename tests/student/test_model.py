"""The model keeps the interface; attention is what its definition says; nothing looks ahead."""

import pytest
import torch


def test_sizes_and_names_of_the_assignment(submission):
    config = submission.GPTConfig(256, 128, n_layer=4, n_head=8, n_embd=256)
    vanilla = submission.initialize_vanilla_model(config)
    rope = submission.initialize_rope_model(config)
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


@pytest.mark.parametrize("rope", [False, True])
def test_self_attention_against_torchs(submission, seed, rope):
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

    def heads(linear):
        return linear(x).reshape(B, T, n_head, head_dim).transpose(1, 2)

    def rotate(z):
        speeds = 10000.0 ** (-2 * torch.arange(head_dim // 2).double() / head_dim)
        turns = torch.exp(1j * torch.outer(torch.arange(T).double(), speeds))
        pairs = torch.view_as_complex(z.unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(pairs * turns).flatten(-2).float()

    q, k, v = map(heads, (attention.query, attention.key, attention.value))
    if rope:
        q, k = rotate(q), rotate(k)
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    expected = attention.proj(y.transpose(1, 2).reshape(B, T, C))
    assert torch.allclose(attention(x), expected, rtol=0, atol=1e-5)


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


def test_cross_attention(submission, seed):
    config = submission.GPTConfig(5, 14, n_head=3, n_embd=12, attn_pdrop=0.0, resid_pdrop=0.0)
    attention = submission.CausalCrossAttention(config)
    x_kv, x_q = torch.randn(1, 9, 12), torch.randn(4, 6, 12)
    out = attention(x_kv, x_q)
    assert out.shape == (4, 6, 12)
    x_kv[:, 3:] = 0
    assert torch.allclose(out[:, :3], attention(x_kv, x_q)[:, :3], atol=1e-6)
