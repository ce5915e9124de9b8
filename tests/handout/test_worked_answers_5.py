"""The numbers in the handout and the answers of problem 5, computed again with NumPy and torch."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
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
