"""Question 6g: the reference against dense attention and torch's own layer."""

import random

import pytest
import torch
import torch.nn.functional as F


@pytest.fixture
def sparse(submission):
    """The module efficient_attention.py of the reference."""
    from submission.problem6 import efficient_attention

    return efficient_attention


def test_documents_are_dense_attention_under_their_mask(sparse, seed):
    for _ in range(30):
        lengths = [random.randint(1, 150) for _ in range(random.randint(1, 4))]
        question, window = random.randint(1, 6), random.choice([0, random.randint(1, 20), 500])
        T = sum(lengths) + question
        number = torch.arange(len(lengths) + 1).repeat_interleave(
            torch.tensor([*lengths, question])
        )
        distance = torch.arange(T)[:, None] - torch.arange(T)
        near = (number[:, None] == number) & (distance.abs() <= window)
        mask = torch.where(number[:, None] == len(lengths), distance >= 0, near)
        qkv = torch.randn(3, 2, 3, T, 4, dtype=torch.float64)
        expected = F.scaled_dot_product_attention(*qkv, attn_mask=mask)
        got = sparse.cross_document_attention(*qkv, lengths, window)
        assert torch.allclose(got, expected, atol=1e-10)


def test_asking_is_torchs_cross_attention(sparse, seed):
    lengths, C, B = [4, 1, 7], 12, 2
    module = sparse.SparseSelfAttention(C, 3, sparse.Pattern(4, ())).double()
    theirs = torch.nn.MultiheadAttention(C, 3, batch_first=True, dtype=torch.float64)
    linear = module.query, module.key, module.value
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([each.weight for each in linear]))
        theirs.in_proj_bias.copy_(torch.cat([each.bias for each in linear]))
    theirs.out_proj.load_state_dict(module.proj.state_dict())
    documents, x = torch.randn(sum(lengths), C).double(), torch.randn(B, 5, C).double()
    memory = sparse.remember(module, list(documents.split(lengths)))
    assert memory.lengths == (*lengths,)
    y, shares = sparse.ask(module, x, memory)
    states = documents.expand(B, -1, -1)
    expected, weights = theirs(x, states, states)
    assert torch.allclose(y, expected, atol=1e-10)
    sums = [part.sum(dim=-1) for part in weights.split(lengths, dim=-1)]
    assert torch.allclose(shares, torch.stack(sums, dim=-1), atol=1e-10)
