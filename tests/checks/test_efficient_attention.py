"""Questions 6d and 6g: the reference against dense masked attention, the checks' helpers."""

import random
import types

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from checks.problem6.q6d.rows import describe, masks, thin
from checks.problem6.q6d.sparse import drawn
from checks.problem6.q6d.work import counted, long_text
from instructor.checks.problem6.q6d.attention import sparse_case
from instructor.checks.problem6.q6d.patterns import (
    Spec,
    connected,
    count,
    draw_spec,
    mistakes,
    packed,
)
from instructor.checks.problem6.q6d.runs import text
from instructor.checks.problem6.q6g.documents import documents_mask


@pytest.fixture
def sparse(submission):
    """The module efficient_attention.py of the reference."""
    from submission.problem6 import efficient_attention

    return efficient_attention


def draw_any(causal=None):
    """Draw a pattern with everything allowed: windows and strides beyond the text, repetitions, one
    position.
    """
    n = random.choice([1, 2, random.randint(3, 30), random.randint(30, 200)])
    strides = tuple(random.randint(1, n + 5) for _ in range(random.choice([0, 1, 2, 4])))
    chosen = tuple(random.randrange(n) for _ in range(random.choice([0, 1, 3, 8])))
    return Spec(
        n,
        random.choice([0, 1, random.randint(0, 20), random.randint(0, 250)]),
        strides,
        random.random() < 0.5 if causal is None else causal,
        chosen,
    )


def given(sparse, spec):
    """Pattern and global positions."""
    return sparse.Pattern(spec.window, spec.strides, spec.causal), spec.chosen


def gradients(attend, inputs, upstream):
    """The output, and the gradients of its product with `upstream`."""
    inputs = [x.clone().requires_grad_() for x in inputs]
    output = attend(*inputs)
    return output, *torch.autograd.grad((output * upstream).sum(), inputs)


def test_it_is_dense_attention_under_the_mask(sparse, seed, monkeypatch):
    for _ in range(60):
        spec = draw_any()
        n, pattern = spec.n, given(sparse, spec)
        monkeypatch.setattr(sparse, "BLOCK", random.choice([1, 3, 16, 64, 128]))
        mask = connected(spec)
        assert sparse.count_connections(n, *pattern) == mask.sum() == count(spec)
        i = random.randrange(n)
        assert sparse.attended_positions(i, n, *pattern) == np.flatnonzero(mask[i]).tolist()
        inputs = [random.choice([1, 30]) * torch.randn(2, 3, n, 5).double() for _ in range(3)]
        upstream, dense = torch.randn_like(inputs[0]), torch.from_numpy(mask)
        got = gradients(
            lambda q, k, v: sparse.sparse_attention(q, k, v, *pattern), inputs, upstream
        )
        expected = gradients(
            lambda *qkv: F.scaled_dot_product_attention(*qkv, attn_mask=dense), inputs, upstream
        )
        for mine, right in zip(got, expected):
            assert torch.allclose(mine, right, atol=1e-9), spec


def test_connections_of_the_record_in_the_handout(sparse):
    for causal, expected in ((False, 99_350_874), (True, 44_213_305)):
        pattern = sparse.Pattern(causal=causal), range(0, 75_000, 500)
        assert sparse.count_connections(75_000, *pattern) == expected


@pytest.mark.parametrize("rope", [False, True])
def test_a_stream_gives_what_the_whole_gives(sparse, submission, seed, monkeypatch, rope):
    sizes = {"n_embd": 12, "n_head": 3, "block_size": 9, "rope": rope}
    config = types.SimpleNamespace(**sizes, attn_pdrop=0.0, resid_pdrop=0.0)
    for _ in range(15):
        spec = draw_any(causal=True)
        monkeypatch.setattr(sparse, "BLOCK", random.choice([1, 3, 16, 128]))
        pattern, dense = given(sparse, spec)[0], submission.CausalSelfAttention(config)
        layer = sparse.SparseSelfAttention.from_dense(dense, pattern, max_positions=spec.n + 2)
        layer.double()
        x, limit = torch.randn(2, spec.n, 12, dtype=torch.float64), random.choice([0, 2, 200])
        declared = [random.random() < 0.1 for _ in range(spec.n)]
        chosen = [t for t in range(spec.n) if declared[t]][:limit]
        stream, outputs, start = sparse.StreamingAttention(layer, limit), [], 0
        reach = max(spec.window, *spec.strides, 0)
        while start < spec.n:
            end = min(spec.n, start + random.choice([1, 2, 9, spec.n]))
            outputs.append(stream.append(x[:, start:end], declared[start:end]))
            start = end
            known = [position for position in chosen if position < end]
            assert stream.length == end and stream.global_positions == known
            cached = {*range(max(0, end - reach), end), *known}
            assert stream.cached_positions() == sorted(cached)
            # the most that is allowed, with which checks compare
            assert stream.cache_bytes() == 2 * (reach + limit) * 12 * 8 * 2
        assert torch.allclose(torch.cat(outputs, dim=1), layer(x, chosen), atol=1e-10)


def test_documents_are_dense_attention_under_their_mask(sparse, seed):
    for _ in range(30):
        lengths = [random.randint(1, 150) for _ in range(random.randint(1, 4))]
        question, window = random.randint(1, 6), random.choice([0, random.randint(1, 20), 500])
        qkv = torch.randn(3, 2, 3, sum(lengths) + question, 4, dtype=torch.float64)
        mask = torch.from_numpy(documents_mask(tuple(lengths), question, window))
        expected = F.scaled_dot_product_attention(*qkv, attn_mask=mask)
        got = sparse.cross_document_attention(*qkv, lengths, window)
        assert torch.allclose(got, expected, atol=1e-10)


def test_mistakes_are_none_of_the_right_patterns(seed):
    rng = np.random.default_rng(seed)
    for causal in (False, True):
        spec = draw_spec(rng, causal)
        right = connected(spec)
        assert all(not np.array_equal(mask, right) for _, mask in mistakes(spec))


def test_cases_are_what_torch_gives(seed):
    rng = np.random.default_rng(seed)
    spec = draw_spec(rng, False)
    case = sparse_case(rng, spec, 2, 3, 4, dtype="float64", with_gradients=True)
    *arrays, upstream = drawn.function(case.inputs)
    mask = torch.from_numpy(connected(spec))
    results = gradients(
        lambda *qkv: F.scaled_dot_product_attention(*qkv, attn_mask=mask),
        [torch.from_numpy(x) for x in arrays],
        torch.from_numpy(upstream),
    )
    for name, expected in zip("yqkv", results):
        assert np.allclose(case.right[name], thin(expected.detach().numpy()), atol=1e-12)


def test_a_case_keeps_a_number_of_each_row():
    x = np.arange(2 * 3 * 40 * 5).reshape(2, 3, 40, 5)
    places = [np.argwhere(x == number)[0] for number in thin(x)]
    assert [i for _, _, i, _ in places] == list(range(40))
    assert all(len({place[axis] for place in places}) == x.shape[axis] for axis in range(4))
    assert (thin(x[:, :, [3, 17]], np.array([3, 17])) == thin(x)[[3, 17]]).all()
    mask = np.random.default_rng(0).random((7, 9)) < 0.5
    assert (masks(packed(mask), (7, 9)) == mask).all()


def test_a_call_is_printed_as_it_was_made():
    """An iterator is not shown as a list: the printed call fails like the original one."""
    spec = Spec(9, 1, (3,), True, (4, 2), "iterator")
    assert "global positions iter([4, 2]), causal" in describe(spec.data)
    assert "global positions [4, 2], causal" in describe({**spec.data, "kind": "list"})


def run(probe, *inputs):
    """Call a probe here, with those that it uses."""
    namespace = {}
    exec(probe.source, namespace)
    return namespace[probe.name](*inputs)


def test_flops_are_counted(sparse, monkeypatch):
    """Of products by matmul, einsum and the fused kernel, also with sparse matrices."""
    runs = [{"spec": Spec(100, 100, ()).data, "head_dim": 8}]
    ways = {
        "fused": lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        "matmul": lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
        "einsum": lambda q, k, v: torch.einsum(
            "bhij,bhjd->bhid", torch.einsum("bhid,bhjd->bhij", q, k).softmax(-1), v
        ),
    }
    for attend in ways.values():
        monkeypatch.setattr(sparse, "sparse_attention", lambda q, k, v, *_: attend(q, k, v))
        count, flops = run(counted, runs)[0]
        assert (count, flops) == (100 * 100, 4 * 100 * 100 * 8)
    diagonal = torch.eye(100).to_sparse()
    monkeypatch.setattr(sparse, "sparse_attention", lambda q, k, v, *_: diagonal @ v[0, 0])
    assert run(counted, runs)[0][1] == 2 * 100 * 8


@pytest.mark.parametrize("module", [False, True])
def test_long_texts_are_right_and_loops_are_stopped(sparse, seed, module):
    rng = np.random.default_rng(seed)
    spec = Spec(400, 20, (150,), bool(rng.integers(2)), (7, 300))
    case = text(rng, spec, 1, 4, True, module=module)
    got = run(long_text, case.inputs, 10_000)[0][:, case.about["rows"]]
    assert abs(got.numpy() - case.right).max() < 1e-5
    assert run(long_text, case.inputs, 10) == "loop"
