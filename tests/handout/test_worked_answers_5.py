"""The numbers in the handout and the answers of problem 5, computed again with NumPy and torch."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from conftest import RESULTS, SOLUTION
from jobs.package import load_module
from jobs.problem5.maps import choose_maps
from jobs.problem5.report import read_corpora
from jobs.problem5.scaling import gradient_of_w_q

ROOT = Path(__file__).resolve().parents[2]
HANDOUT = ROOT / "handout" / "problem5.tex"


def question(id):
    """The source of one question of the handout."""
    return re.search(
        rf"\\begin{{question}}{{{id}}}(.*?)\\end{{question}}",
        HANDOUT.read_text(encoding="utf-8"),
        re.S,
    )[1]


def answer(id):
    """The source of the answers to one question, with one space wherever there is white space."""
    return " ".join(
        (ROOT / "instructor" / "rubrics" / f"{id}.tex").read_text(encoding="utf-8").split()
    )


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def jacobian(p):
    return p[..., :, None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]


# 5a: the worked example


def test_worked_example():
    text = question("5a")
    matrices = [
        np.array([[float(number) for number in row.split("&")] for row in body.split(r"\\")])
        for body in re.findall(r"\\begin{bmatrix}(.*?)\\end{bmatrix}", text, re.S)
    ]
    Q, K, V, scores, scaled, weights, output = matrices
    np.testing.assert_array_equal(scores, Q @ K.T)
    np.testing.assert_allclose(scaled, Q @ K.T / math.sqrt(3), atol=5e-5)
    np.testing.assert_allclose(weights, softmax(Q @ K.T / math.sqrt(3)), atol=5.0001e-5)
    right = softmax(Q @ K.T / math.sqrt(3)) @ V
    np.testing.assert_allclose(output, right, atol=5.0001e-5)
    np.testing.assert_allclose(right[1], [3, 4])
    np.testing.assert_allclose(np.ones(3) / 3 @ V, [3, 4])  # of even weights
    # computed on with what was rounded, within the 0.001 allowed
    np.testing.assert_allclose(weights @ V, right, atol=5e-4)
    assert (
        f"{math.exp(1 / math.sqrt(3)):.4f}" in text
        and f"{math.exp(1 / math.sqrt(3)) + 2:.4f}" in text
    )
    assert f"{math.sqrt(3):.4f}" in text


def test_printed_output_of_5c():
    printed = str(
        (
            softmax(np.eye(3)[:2] @ np.eye(3).T / math.sqrt(3))
            @ [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        ).round(4)
    )
    assert printed in question("5c")


def test_powers_in_the_hint():
    hints = " ".join(HANDOUT.read_text(encoding="utf-8").split())
    for power, name in ((-0.5, "{-1/2}"), (-1, "{-1}"), (-1.5, "{-3/2}"), (-2, "{-2}")):
        assert f"e^{name} = {math.exp(power):.5f}" in hints


def test_square_root_of_numpy_makes_float64():
    scores = np.ones(2, np.float32)
    assert (scores / np.sqrt(3)).dtype == np.float64 and (scores / math.sqrt(3)).dtype == np.float32


# 5b: scale


def scaling(d_k, n_query=512, n_key=64, seed=0):
    rng = np.random.default_rng(seed)
    q, k = rng.standard_normal((n_query, d_k)), rng.standard_normal((n_key, d_k))
    result = {}
    for name, scores in (("unscaled", q @ k.T), ("scaled", q @ k.T / math.sqrt(d_k))):
        p = softmax(scores)
        norms = np.linalg.norm(jacobian(p), axis=(1, 2))
        entropy = -(p * np.log(np.where(p > 0, p, 1))).sum(-1)
        result[name] = {
            "variance": scores.var(),
            "entropy": entropy.mean(),
            "saturation": (p.max(-1) > 0.9).mean(),
            "gradient_norm": np.median(norms),
            "mean norm": norms.mean(),
        }
    return result


def test_table_of_scaling_experiment():
    rows = [
        [cell.strip() for cell in line.rstrip("\\ ").split("&")]
        for line in question("5b").splitlines()
        if re.match(r" *\d+ &", line)
    ]
    assert [row[0] for row in rows] == ["4", "16", "64", "256", "1024"]
    for d_k, *cells in rows:
        got, w_q = scaling(int(d_k)), gradient_of_w_q(int(d_k), seed=0)
        right = [
            got[name][field]
            for field in ("variance", "entropy", "saturation", "gradient_norm")
            for name in ("unscaled", "scaled")
        ] + [w_q["unscaled"], w_q["scaled"]]
        for cell, value in zip(cells, right, strict=True):
            digits = len(cell.partition(".")[2])
            assert abs(float(cell) - value) <= 0.51 * 10**-digits, (d_k, cell, value)
            assert cell != "0" or value == 0


def test_gradient_is_larger_unscaled_up_to_64_and_then_collapses():
    norms = {
        d_k: {name: row["gradient_norm"] for name, row in scaling(d_k).items()}
        for d_k in (4, 16, 64, 256, 1024)
    }
    assert all((norm["unscaled"] > norm["scaled"]) == (d_k <= 64) for d_k, norm in norms.items())
    assert norms[1024]["unscaled"] < 0.01 * norms[1024]["scaled"]
    scaled = [norm["scaled"] for norm in norms.values()]
    assert max(scaled) < 1.1 * min(scaled)
    # halved where d_k is four times as large
    means = [scaling(d_k)["unscaled"]["mean norm"] for d_k in (64, 256, 1024)]
    assert all(0.4 < b / a < 0.75 for a, b in zip(means, means[1:]))


def head_gradients(d_k, seed, n_query=512, n_key=64, n_embd=64):
    """The gradients in one head by the chain rule, with NumPy: {"unscaled": ..., "scaled": ...}, a
    pair of dL/dW_Q and dL/dq. L is a random linear function of the weights, averaged.
    """
    rng = np.random.default_rng(seed)
    x, keys = rng.standard_normal((n_query, n_embd)), rng.standard_normal((n_key, d_k))
    q = x @ rng.standard_normal((n_embd, d_k)) / math.sqrt(n_embd)
    upstream, result = rng.standard_normal((n_query, n_key)) / n_query, {}
    for name, divisor in (("unscaled", 1), ("scaled", math.sqrt(d_k))):
        p = softmax(q @ keys.T / divisor)
        scores = p * (upstream - (p * upstream).sum(1, keepdims=True))  # J times upstream
        result[name] = x.T @ scores @ keys / divisor, scores @ keys / divisor
    return result


@pytest.mark.parametrize("d_k", [16, 256])
def test_gradient_of_the_job_is_that_of_the_chain_rule(d_k):
    """Over seeds, as they draw differently: their means are within 15%, some four standard errors
    of the unscaled one at d_k = 256.
    """
    jobs = [gradient_of_w_q(d_k, seed) for seed in range(12)]
    rules = [head_gradients(d_k, seed) for seed in range(12)]
    for name in ("unscaled", "scaled"):
        job = np.mean([norms[name] for norms in jobs])
        rule = np.mean([np.linalg.norm(gradients[name][0]) for gradients in rules])
        assert job == pytest.approx(rule, rel=0.15)


def test_unscaled_gradients_vanish_for_most_queries_and_explode_for_few():
    """What the answer says of d_k = 1024, for each of three seeds."""
    assert "29 times as large" in answer("5b")
    norms = gradient_of_w_q(1024, seed=0)
    assert round(norms["unscaled"] / norms["scaled"], 0) == 29
    for seed in range(3):
        (w_q, q), (scaled_w_q, scaled_q) = head_gradients(1024, seed).values()
        lengths, scaled = (np.linalg.norm(each, axis=1) for each in (q, scaled_q))
        assert 0.005 < np.median(lengths) / np.median(scaled) < 0.1  # a few hundredths
        assert 6 < lengths.mean() / scaled.mean() < 16  # about ten times
        assert 15 < np.linalg.norm(w_q) / np.linalg.norm(scaled_w_q) < 45
        # few queries make up nearly all of it: of the order of the root of d_k times as large
        largest = np.sort(lengths**2)[-len(lengths) // 5 :]
        assert largest.sum() > 0.9 * (lengths**2).sum()
        assert math.sqrt(1024) < lengths.max() / scaled.mean() < 10 * math.sqrt(1024)


def test_norm_of_the_jacobian_of_two_tied_keys():
    assert np.linalg.norm(jacobian(np.array([0.5, 0.5, 0]))) == pytest.approx(1 / 2)
    rng = np.random.default_rng(0)
    draws = softmax(rng.standard_normal((20000, 6)) * rng.uniform(0, 9, (20000, 1)))
    assert np.linalg.norm(jacobian(draws), axis=(1, 2)).max() <= 1 / 2 + 1e-12


DRAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "sign": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "uniform": lambda rng, shape: rng.uniform(-math.sqrt(3), math.sqrt(3), shape),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("d_k", [4, 64])
def test_variance_of_a_dot_product(draw, d_k):
    rng = np.random.default_rng(1)
    products = (draw(rng, (40000, d_k)) * draw(rng, (40000, d_k))).sum(-1)
    assert abs(products.mean()) < 6 * math.sqrt(d_k / 40000)
    assert products.var() == pytest.approx(d_k, rel=0.06)
    assert (products / math.sqrt(d_k)).var() == pytest.approx(1, rel=0.06)
    assert (products / d_k).var() == pytest.approx(1 / d_k, rel=0.06)
    # queries of standard deviation 2
    assert (2 * products).var() == pytest.approx(d_k * 2**2 * 1**2, rel=0.06)


def test_jacobian_of_softmax_and_its_bound():
    z = torch.randn(7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for size in (0.1, 1, 10, 100):
        p = torch.softmax(size * z, 0).numpy()
        right = torch.autograd.functional.jacobian(lambda z: torch.softmax(z, 0), size * z).numpy()
        J = jacobian(p)
        np.testing.assert_allclose(J, right, atol=1e-12)
        epsilon = 1 - p.max()
        assert np.linalg.eigvalsh(J).min() > -1e-12
        norm = np.linalg.norm(J)
        assert norm <= np.trace(J) + 1e-12
        assert np.trace(J) == pytest.approx(1 - (p**2).sum(), abs=1e-12)
        assert norm <= 2 * epsilon + 1e-12 and np.abs(J).max() <= epsilon + 1e-12
        short = (p**2).sum() - 2 * (p**3).sum() + (p**2).sum() ** 2
        assert short == pytest.approx(norm**2, abs=1e-12)
    even = np.linalg.norm(jacobian(np.full(64, 1 / 64)))
    assert even == pytest.approx(math.sqrt(63) / 64) and f"{even:.3f}" in answer("5b")


# 5c, 5d: conventions of PyTorch


def test_conventions_of_masks():
    q, k, v = (torch.randn(1, length, 8) for length in (2, 4, 4))
    may = torch.tensor([[True, False, False, False], [False] * 4])
    got = F.scaled_dot_product_attention(q, k, v, attn_mask=may)
    torch.testing.assert_close(got[0, 0], v[0, 0])
    assert (got[0, 1] == 0).all()
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(2, 4, 8)
    padding = torch.tensor([[False, True, True, True], [True] * 4])
    y, weights = layer(x, x, x, padding)
    assert (weights[0, :, 0] == 1).all() and (weights[0, :, 1:] == 0).all()
    assert y[1].isnan().all()


def heads(layer, x, padding):
    """Multi-head attention as 5d describes it, with the weights of an nn.MultiheadAttention."""
    B, T, C = x.shape
    q, k, v = (
        part.view(B, T, layer.num_heads, -1).transpose(1, 2)
        for part in F.linear(x, layer.in_proj_weight, layer.in_proj_bias).chunk(3, -1)
    )
    scores = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).masked_fill(
        padding[:, None, None], -math.inf
    )
    weights = scores.softmax(-1)
    return layer.out_proj((weights @ v).transpose(1, 2).reshape(B, T, C)), weights


def test_layout_of_heads_is_that_of_pytorch():
    layer, x = nn.MultiheadAttention(12, 3, batch_first=True).eval(), torch.randn(2, 5, 12)
    padding = torch.arange(5) >= torch.tensor([[5], [3]])
    got = heads(layer, x, padding)
    for a, b in zip(got, layer(x, x, x, padding, average_attn_weights=False), strict=True):
        torch.testing.assert_close(a, b)


def test_batch_and_sequence_confused():
    torch.manual_seed(0)
    right, wrong = (
        nn.MultiheadAttention(64, 4, batch_first=True).eval(),
        nn.MultiheadAttention(64, 4).eval(),
    )
    wrong.load_state_dict(right.state_dict())
    x = torch.randn(32, 24, 64)
    other, within, shuffled = x.clone(), x.clone(), torch.cat((x[:1], x[1:].flip(0)))
    other[1:] = torch.randn(31, 24, 64)
    within[0, 5] += 1
    with torch.no_grad():
        for layer, confused in ((right, False), (wrong, True)):
            y, weights = layer(x, x, x)
            assert y.shape == x.shape
            assert weights.shape == ((24, 32, 32) if confused else (32, 24, 24))
            assert torch.allclose(layer(other, other, other)[0][0], y[0], atol=1e-5) != confused
            assert torch.allclose(layer(x[:1], x[:1], x[:1])[0][0], y[0], atol=1e-5) != confused
            assert (
                torch.allclose(layer(within, within, within)[0][0, 0], y[0, 0], atol=1e-5)
                == confused
            )
            assert torch.allclose(layer(shuffled, shuffled, shuffled)[0][0], y[0], atol=1e-5)
        # the formula of the answer: the tokens at one position are a sequence
        columns = x.transpose(0, 1)
        formula = heads(right, columns, torch.zeros(24, 32, dtype=torch.bool))[0].transpose(0, 1)
        torch.testing.assert_close(wrong(x, x, x)[0], formula)
        with pytest.raises(AssertionError):
            wrong(x, x, x, torch.zeros(32, 24, dtype=torch.bool))
        square = torch.randn(24, 24, 64)
        wrong(square, square, square, torch.zeros(24, 24, dtype=torch.bool))


@pytest.mark.parametrize(
    "hide, clean",
    [
        (lambda scores, mask: scores.masked_fill(mask, -math.inf), True),
        (lambda scores, mask: scores + torch.where(mask, -math.inf, 0.0), False),
        (lambda scores, mask: scores, True),
    ],
    ids=["masked_fill", "added", "unmasked"],
)
def test_gradient_of_rows_of_nothing_but_padding(hide, clean):
    x, mask = torch.randn(3, 4, requires_grad=True), torch.tensor([[True], [False], [False]])
    weights = hide(x @ x.detach().T, mask).softmax(-1).masked_fill(mask, 0)
    assert weights.isfinite().all()
    weights.square().sum().backward()
    assert x.grad.isfinite().all() == clean


# 5e: the encoder


def count(*modules):
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


def test_numbers_of_parameters():
    layer = nn.TransformerEncoderLayer(32, 4, 128)
    total = count(nn.Embedding(1000, 32), layer, layer, nn.LayerNorm(32), nn.Linear(32, 5))
    text = question("5e")
    for number in (total, total + 24 * 32, count(layer)):
        assert f"{number:,}" in text and number < 100_000
    assert f"{24 * 32}" in answer("5h")
    assert f"{1000 * 5 + 5:,}" in answer("5g")


class Encoder(nn.Module):
    """The encoder of 5e from PyTorch's layers, without dropout."""

    def __init__(self, positions):
        super().__init__()
        self.embedding, self.head, self.norm = (
            nn.Embedding(20, 32),
            nn.Linear(32, 5),
            nn.LayerNorm(32),
        )
        options = {"dropout": 0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(32, 4, 128, **options) for _ in range(2)
        )
        angles = torch.arange(24)[:, None] * 10000.0 ** (-torch.arange(0, 32, 2) / 32)
        self.table = torch.stack((angles.sin(), angles.cos()), -1).flatten(1) * positions

    def forward(self, idx):
        padding = idx == 0
        x = self.embedding(idx) + self.table[: idx.size(1)]
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        x = self.norm(x).masked_fill(padding[..., None], 0)
        return self.head(x.sum(1) / (~padding).sum(1, keepdim=True))


@pytest.mark.parametrize("positions", [False, True])
def test_without_positions_the_order_does_not_matter(positions):
    torch.manual_seed(0)
    model, idx = Encoder(positions), torch.randint(1, 20, (3, 12))
    logits, permuted = model(idx), model(idx[:, torch.randperm(12)])
    assert torch.allclose(logits, permuted, atol=1e-5) != positions
    # padding changes nothing either way
    torch.testing.assert_close(model(F.pad(idx, (0, 5))), logits)


def test_sinusoidal_shift_is_a_rotation_of_pairs():
    table, shift = Encoder(True).table.double().view(24, 16, 2), 3
    angle = shift * 10000.0 ** (-torch.arange(0, 32, 2, dtype=torch.float64) / 32)
    sin, cos = table[:-shift].unbind(-1)
    moved = torch.stack(
        (sin * angle.cos() + cos * angle.sin(), cos * angle.cos() - sin * angle.sin()), -1
    )
    torch.testing.assert_close(moved, table[shift:], atol=1e-5, rtol=0)


# 5f, 5g


def test_loss_of_knowing_nothing_about_a_copy():
    assert f"{math.log(14):.2f}" in HANDOUT.read_text(encoding="utf-8")


def test_chance_on_random_labels():
    error = math.sqrt(0.2 * 0.8 / 400)
    assert error == pytest.approx(0.02)
    low, high = 0.2 - 1.96 * error, 0.2 + 1.96 * error
    assert f"{100 * low:.0f}\\% and {100 * high:.0f}\\%" in answer("5g")
    tail = sum(
        math.comb(400, right) * 0.2**right * 0.8 ** (400 - right) for right in range(88, 401)
    )
    assert tail == pytest.approx(1 / 6, abs=0.03)  # 22%, or better, by luck


def test_all_random_labels_can_be_memorized_by_a_bag_of_words():
    torch.manual_seed(0)
    x, y = torch.randint(3, 1000, (2000, 24)), torch.randint(5, (2000,))
    bag = F.one_hot(x, 1000).float().mean(1)
    model = nn.Linear(1000, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0)
    for _ in range(80):  # some 55 are needed
        loss = F.cross_entropy(model(bag[:1600]), y[:1600])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = (model(bag).argmax(-1) == y).float()
    assert right[:1600].all()
    assert abs(right[1600:].mean() - 0.2) < 5 * 0.02


def test_the_reference_encoder_attends_to_the_teachers_occupation():
    encoder, data = (
        load_module(SOLUTION, f"problem5/{name}.py") for name in ("encoder", "encoder_data")
    )
    corpus = read_corpora(data, ROOT / "data" / "occupations", 0)[0]
    model = encoder.Encoder(encoder.EncoderConfig(corpus.vocab_size, 24, 5))
    model.load_state_dict(torch.load(RESULTS / "encoder.params", weights_only=True))
    active, passive = choose_maps(data, corpus, corpus, model, model)[:2]
    for item, words in (
        (active, r"\emph{judge} in the active"),
        (passive, r"\emph{poet}, its last word, in the passive"),
    ):
        weights = np.array(item["weights"][1][0])  # layer 2, head 0
        teacher = [token["text"] for token in item["tokens"]].index(re.search(r"{(\w+)", words)[1])
        assert weights[:, teacher].min() > 0.8 and weights[:, teacher].mean() > 0.95
        assert words in answer("5g") and item["answer"] == item["right"]
    assert passive["tokens"][-1]["text"] == "poet"


def test_a_bag_of_words_knows_half_of_the_occupations():
    pairs = [(a, b) for a in range(5) for b in range(5) if a != b]
    bags = {}
    for first, second in pairs:
        for passive in (False, True):
            bag = (frozenset((first, second)), passive)
            bags.setdefault(bag, []).append(second if passive else first)
    best = sum(max(labels.count(label) for label in labels) for labels in bags.values())
    assert best / (2 * len(pairs)) == 0.5


# 5h


def test_layernorm_and_batchnorm():
    torch.manual_seed(0)
    x = torch.randn(6, 9, 16)
    other, later = x.clone(), x.clone()
    other[1:] = torch.randn(5, 9, 16) * 3 + 1
    later[:, 5:] = torch.randn(6, 4, 16) * 3 + 1
    layer, batch = nn.LayerNorm(16), nn.BatchNorm1d(16)

    def batch_norm(x):
        return batch(x.transpose(1, 2)).transpose(1, 2)

    assert torch.equal(layer(other)[0], layer(x)[0]) and torch.equal(
        layer(later)[:, :5], layer(x)[:, :5]
    )
    assert not torch.allclose(batch_norm(other)[0], batch_norm(x)[0], atol=0.1)
    # the future leaks
    assert not torch.allclose(batch_norm(later)[:, :5], batch_norm(x)[:, :5], atol=0.1)
    torch.testing.assert_close(
        layer(x),
        (x - x.mean(2, keepdim=True)) / (x.var(2, keepdim=True, unbiased=False) + 1e-5).sqrt(),
    )
    torch.testing.assert_close(
        batch_norm(x), (x - x.mean((0, 1))) / (x.var((0, 1), unbiased=False) + 1e-5).sqrt()
    )
    assert count(layer) == count(batch) == 2 * 16


def test_jacobian_of_layernorm():
    x = 3 * torch.randn(16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sigma, one = x.std(unbiased=False), torch.ones(16, dtype=torch.float64)
    normal = (x - x.mean()) / sigma
    projection = torch.eye(16) - torch.outer(one, one) / 16 - torch.outer(normal, normal) / 16
    right = torch.autograd.functional.jacobian(lambda x: F.layer_norm(x, (16,), eps=0), x)
    torch.testing.assert_close(projection / sigma, right)
    torch.testing.assert_close(projection @ projection, projection)
    assert torch.linalg.matrix_rank(projection) == 14


def stack(pre_norm, L, C=64, seed=0):
    """L linear sublayers of gain 1 at initialization.

    Returns the standard deviation at the end, the mean diagonal entry of dx_L/dx_0, the ratio of
    the whole gradient at the bottom to that at the top, and the norm of the gradient of the last
    sublayer's weights.
    """
    torch.manual_seed(seed)
    x0 = x = torch.randn(64, C, dtype=torch.float64, requires_grad=True)
    for _ in range(L):
        weight = (torch.randn(C, C, dtype=torch.float64) / C**0.5).requires_grad_()
        x = x + F.layer_norm(x, (C,)) @ weight if pre_norm else F.layer_norm(x + x @ weight, (C,))
    diagonal = 0
    for _ in range(20):  # Hutchinson's estimate
        z = torch.randn_like(x)
        diagonal += (torch.autograd.grad(x, x0, z, retain_graph=True)[0] * z).mean().item() / 20
    out = F.layer_norm(x, (C,)) if pre_norm else x
    upstream = torch.randn_like(out)
    whole, last = torch.autograd.grad(out, (x0, weight), upstream)
    return x.std().item(), diagonal, (whole.norm() / upstream.norm()).item(), last.norm().item()


def test_pre_norm_and_post_norm():
    pre, post = ({L: stack(pre_norm, L) for L in (2, 4, 8, 16)} for pre_norm in (True, False))
    for L in pre:
        # the variance grows by 1 in each sublayer
        assert pre[L][0] == pytest.approx(math.sqrt(L + 1), rel=0.1)
        assert post[L][0] == pytest.approx(1, rel=0.01)
        assert pre[L][1] == pytest.approx(1, abs=0.15)  # the residual path alone
        assert post[L][1] == pytest.approx(2 ** (-L / 2), abs=0.04)
        assert 0.7 < post[L][2] < 1.4  # the sublayers make up for it
    last = {"pre": pre[2][3] / pre[16][3], "post": post[2][3] / post[16][3]}
    assert last["pre"] == pytest.approx(math.sqrt(17 / 3), rel=0.1)  # shrinks like 1/sqrt(L + 1)
    assert last["post"] == pytest.approx(1, rel=0.1)
    assert 2 ** (-4 / 2) == 1 / 4 and 2 ** (-12 / 2) == 1 / 64  # the examples of the answer
