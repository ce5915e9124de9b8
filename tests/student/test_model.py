"""Attention is what its definition says; bad corpora and rows are refused; NameDataset lines
answers up.
"""

import pytest
import torch
from torch.nn import functional as F


@pytest.mark.parametrize("kind", ["plain", "rope", "cross"])
def test_attention_against_torchs(submission, seed, kind):
    """Queries and keys are rotated, values are not; scores are scaled by sqrt(head_dim); the mask
    is causal.
    """
    sizes = {"n_head": 3, "n_embd": 12, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
    config = submission.GPTConfig(5, 11, rope=kind == "rope", **sizes)
    x_q, x_kv = torch.randn(2, 2, 9, 12)
    if cross := kind == "cross":
        attention = submission.CausalCrossAttention(config)
    else:
        attention, x_kv = submission.CausalSelfAttention(config), x_q
    pairs = ((attention.query, x_q), (attention.key, x_kv), (attention.value, x_kv))
    q, k, v = (linear(x).unflatten(-1, (3, 4)).transpose(1, 2) for linear, x in pairs)
    if kind == "rope":  # tests/checks/test_reference.py has the rotation itself
        from submission.attention import apply_rotary_emb

        q, k = (apply_rotary_emb(z, attention.rope_cache) for z in (q, k))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    expected = attention.proj(y.transpose(1, 2).flatten(2))
    output = attention(x_kv, x_q) if cross else attention(x_q)
    assert torch.allclose(output, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("data", ["", "\n\n", "a\u2047b", "a\u25a1b"])
def test_bad_corpora_are_refused(submission, data):
    with pytest.raises(ValueError):
        submission.CharCorruptionDataset(data, 16)


@pytest.fixture
def corpus(submission):
    return submission.CharCorruptionDataset("Where was Ada Ben Lovelace born?Londn\nZürich", 40)


def test_name_dataset(submission, corpus):
    rows = "Where was Ada born?\tLondon\r\nWhere was Ben born?\tZürich"
    dataset = submission.NameDataset(rows, corpus)
    assert len(dataset) == 2
    x, y = dataset[1]
    assert "".join(corpus.itos[int(i)] for i in x) == "Where was Ben born?⁇Zürich⁇".ljust(40, "□")
    assert "".join(corpus.itos[int(i)] for i in y) == ("□" * 19 + "Zürich⁇").ljust(40, "□")
    assert x.dtype == y.dtype == torch.int64
    with pytest.raises(TypeError, match="text of the file first"):
        submission.NameDataset(corpus, rows)


BAD_ROWS = [
    ("", "empty"),
    ("\n\n", "empty"),
    ("data/birth_places_train.tsv", "not its path"),
    ("Where was Ada born?", "no tab"),
    ("Where was Ada born?\tLondon\nWhere was Xu born?\tLondon", "row 2 contains 'X'"),
    ("Where was Ada" + " Ada" * 8 + " born?\tLondon", "block_size 40"),
]


@pytest.mark.parametrize(("rows", "problem"), BAD_ROWS)
def test_bad_rows_are_refused(submission, corpus, rows, problem):
    with pytest.raises(ValueError, match=problem):
        submission.NameDataset(rows, corpus)
