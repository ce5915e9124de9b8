"""Question 6d: the reference against dense masked attention, the checks' helpers."""

import random
import types

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from checks.problem6.q6d_attention import attend_long, summed
from instructor.checks.problem6.q6d import spec
from instructor.checks.problem6.q6d_attention import inputs


@pytest.fixture
def sparse(submission):
    from submission.problem6 import efficient_attention

    return efficient_attention


def draw_any(sparse, causal=None):
    """Draw a length, and a pattern with global positions, anything that is allowed."""
    n = random.choice([1, 2, random.randint(3, 30), random.randint(30, 200)])
    window = random.choice([0, 1, random.randint(0, 20), random.randint(0, 250)])
    strides = tuple(random.randint(1, n + 5) for _ in range(random.choice([0, 1, 2, 4])))
    causal = random.random() < 0.5 if causal is None else causal
    chosen = [random.randrange(n) for _ in range(random.choice([0, 1, 3, 8]))]
    return n, (sparse.Pattern(window, strides, causal), chosen)


def mask_of(n, pattern, chosen):
    """Which position attends to which, boolean, (n, n): the handout's formula."""
    i, j = torch.arange(n)[:, None], torch.arange(n)
    distance, chosen = (i - j).abs(), torch.tensor(chosen, dtype=torch.long)
    local = (distance <= pattern.window) | torch.isin(distance, torch.tensor(pattern.strides))
    columns = torch.isin(j, chosen)
    if pattern.causal:
        return (j <= i) & (local | columns)
    return local | columns | torch.isin(i, chosen)


def gradients(attend, inputs, upstream):
    """The output, and the gradients of its product with `upstream`."""
    inputs = [x.clone().requires_grad_() for x in inputs]
    output = attend(*inputs)
    return output, *torch.autograd.grad((output * upstream).sum(), inputs)


def test_it_is_dense_attention_under_the_mask(sparse, seed, monkeypatch):
    for _ in range(60):
        n, pattern = draw_any(sparse)
        monkeypatch.setattr(sparse, "BLOCK", random.choice([1, 3, 16, 64, 128]))
        mask = mask_of(n, *pattern)
        assert sparse.count_connections(n, *pattern) == mask.sum()
        i = random.randrange(n)
        assert sparse.attended_positions(i, n, *pattern) == mask[i].nonzero()[:, 0].tolist()
        inputs = [random.choice([1, 30]) * torch.randn(2, 3, n, 5).double() for _ in range(3)]
        upstream, dense = torch.randn_like(inputs[0]), F.scaled_dot_product_attention
        got = gradients(lambda *qkv: sparse.sparse_attention(*qkv, *pattern), inputs, upstream)
        expected = gradients(lambda *qkv: dense(*qkv, attn_mask=mask), inputs, upstream)
        for mine, right in zip(got, expected):
            assert torch.allclose(mine, right, atol=1e-9), (n, pattern)


def test_connections_of_the_record_in_the_handout(sparse):
    for causal, expected in ((False, 99_350_874), (True, 44_213_305)):
        pattern = sparse.Pattern(causal=causal), range(0, 75_000, 500)
        assert sparse.count_connections(75_000, *pattern) == expected


@pytest.mark.parametrize("rope", [False, True])
def test_a_stream_gives_what_the_whole_gives(sparse, submission, seed, monkeypatch, rope):
    sizes = {"n_embd": 12, "n_head": 3, "block_size": 9, "rope": rope}
    config = types.SimpleNamespace(**sizes, attn_pdrop=0.0, resid_pdrop=0.0)
    for _ in range(15):
        n, (pattern, _) = draw_any(sparse, causal=True)
        monkeypatch.setattr(sparse, "BLOCK", random.choice([1, 3, 16, 128]))
        dense = submission.CausalSelfAttention(config)
        layer = sparse.SparseSelfAttention.from_dense(dense, pattern, max_positions=n + 2)
        layer.double()
        x, limit = torch.randn(2, n, 12, dtype=torch.float64), random.choice([0, 2, 200])
        declared = [random.random() < 0.1 for _ in range(n)]
        chosen = [t for t in range(n) if declared[t]][:limit]
        stream, outputs, start = sparse.StreamingAttention(layer, limit), [], 0
        reach = max(pattern.window, *pattern.strides, 0)
        while start < n:
            end = min(n, start + random.choice([1, 2, 9, n]))
            outputs.append(stream.append(x[:, start:end], declared[start:end]))
            start = end
            known = [position for position in chosen if position < end]
            assert stream.length == end and stream.global_positions == known
            cached = {*range(max(0, end - reach), end), *known}
            assert stream.cached_positions() == sorted(cached)
            # the most that is allowed, with which checks compare
            assert stream.cache_bytes() == 2 * (reach + limit) * 12 * 8 * 2
        assert torch.allclose(torch.cat(outputs, dim=1), layer(x, chosen), atol=1e-10)


def run(probe, **inputs):
    namespace = {}
    exec(probe.source, namespace)
    return namespace[probe.name](**inputs)


def test_an_entry_that_is_wrong_shows_in_one_sum():
    x, one = torch.randn(2, 3, 40, 5), torch.zeros(2, 3, 40, 5)
    one[1, 2, 17, 3] = 1
    (_, right), (_, wrong) = (run(summed, x=y, seed=1, stretch=1).values() for y in (x, x + one))
    off = abs(wrong - right)
    assert right.shape == (40,) and right.dtype == np.float32
    assert off.nonzero()[0].tolist() == [17] and abs(off[17] - 30**-0.5) < 1e-6
    for stretch in (7, 50):
        _, sums = run(summed, x=x, seed=1, stretch=stretch).values()
        whole = np.add.reduceat(right, range(0, 40, stretch)) / stretch**0.5
        assert np.allclose(sums, whole, atol=1e-5)


def test_flops_are_counted(sparse, monkeypatch, seed):
    """Of products by matmul, einsum and the fused kernel, also with sparse matrices."""
    call = inputs(np.random.default_rng(seed), spec(100, 100, (), False), 1, 2, 8)
    diagonal = torch.eye(100).to_sparse()
    scores = "bhid,bhjd->bhij"
    ways = [
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), 100 * 100),
        (lambda q, k, v: (q @ k.mT).softmax(-1) @ v, 100 * 100),
        (lambda q, k, v: torch.einsum(scores, torch.einsum(scores, q, k), v.mT), 100 * 100),
        (lambda q, k, v: diagonal @ v[0, 0], 100 / 4),
    ]
    for attend, products in ways:
        monkeypatch.setattr(sparse, "sparse_attention", lambda q, k, v, *_: attend(q, k, v))
        work = run(attend_long, **call)["work"]
        assert work == {"products": products, "connections": 100 * 100, "pairs": 100 * 100}


def test_documents_are_dense_attention_under_their_mask(sparse, seed):
    for _ in range(30):
        lengths = [random.randint(1, 150) for _ in range(random.randint(1, 4))]
        question, window = random.randint(1, 6), random.choice([0, random.randint(1, 20), 500])
        T = sum(lengths) + question
        sizes = torch.tensor([*lengths, question])
        number = torch.arange(len(sizes)).repeat_interleave(sizes)
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
