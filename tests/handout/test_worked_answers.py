"""Each number in the worked answers and in the handout's examples is what computing it gives.

`stated` looks for the number as computed here, with the words around it, so that text and
computation cannot drift apart. What the reference solution computes is taken from it: the checks
and tests/checks hold it to torch.
"""

import contextlib
import io
import math
import re
from importlib import import_module
from itertools import chain
from math import ceil, exp, log, pi, sqrt

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from helpers import DATA, RESULTS, ROOT
from jobs.presets import GPU, LAPTOP
from jobs.problem1.models import new_model
from jobs.problem5.encoders import PRE, Run, read_corpora
from jobs.problem5.maps import choose_sentences
from jobs.problem5.scaling import gradient_of_w_q

# the sizes of 6a and 6e, and the record of 6d
D_MODEL, HEADS, D_FF, T = 512, 8, 2048, 100
N, WINDOW, STRIDES, GLOBALS = 75_000, 512, (1024, 2048, 4096, 8192), range(0, 75_000, 500)


def stated(name, *texts):
    """Assert that a file has each text, whatever its line breaks. A name without a folder is a
    question's rubric, or a problem of the handout, such as "problem2".
    """
    if "/" not in name:
        name = f"{'handout' if name.startswith('problem') else 'instructor/rubrics'}/{name}.tex"
    content = " ".join((ROOT / name).read_text(encoding="utf-8").split())
    for text in texts:
        assert text in content, f"{name} does not say {text!r}"


def maths(number):
    """A number with thousands as typed in a formula."""
    return f"{number:,}".replace(",", "{,}")


@pytest.fixture
def solution(submission):
    """A function that imports a module of the reference solution."""
    return lambda name: import_module(f"submission.{name}")


# Problem 1


@pytest.fixture
def sizes(submission):
    """For each preset, the number of documents, and our GPT's parameters without and with RoPE."""

    def measured(preset):
        corpus = (ROOT / "data" / preset.data / "wiki.txt").read_text(encoding="utf-8")
        documents = submission.CharCorruptionDataset(corpus, preset.block_size)
        numbers = [len(documents)]
        for variant in ("vanilla", "rope"):
            model = new_model(submission, variant, documents.vocab_size, preset)
            numbers.append(sum(parameter.numel() for parameter in model.parameters()))
        return numbers

    return {preset.name: measured(preset) for preset in (LAPTOP, GPU)}


def test_trainings_of_problem_1(submission, sizes, tmp_path):
    """Hyperparameters from the reference's own functions; parameters and steps worked out."""
    corpus, weights = tmp_path / "corpus.tsv", tmp_path / "weights.params"
    corpus.write_text("Where was Ada Byron born?\tLondon\n", encoding="utf-8")
    text = "Ada Byron was born in London, wasn't she? Where else?\n" * 3
    documents = submission.CharCorruptionDataset(text, 80)
    model = submission.initialize_vanilla_model(
        submission.GPTConfig(documents.vocab_size, 80, n_layer=1, n_head=2, n_embd=8)
    )
    torch.save(model.state_dict(), weights)
    scratch, pretrained = (
        submission.finetune(path, corpus, documents, 80, model)[0] for path in (None, str(weights))
    )
    pretrain = submission.pretrain(documents, 80, model)[0]
    source = (ROOT / "handout" / "problem1.tex").read_text(encoding="utf-8")
    for name in ("max_epochs", "batch_size", "lr_decay", "warmup_tokens", "final_tokens"):
        cells = re.search(rf"\\code\{{{name}\}} & (.*?) & (.*?) & (.*?) \\\\\n", source).groups()
        for cell, config in zip(cells, (scratch, pretrained, pretrain)):
            value = eval(re.sub(r"\\code|[{}]", "", cell), {"N": len(documents), "block_size": 80})
            assert value == getattr(config, name), (name, cell)

    def steps(stage, examples):
        return stage.max_epochs * ceil(examples / stage.batch_size)

    questions = len((DATA / "birth_places_train.tsv").read_text(encoding="utf-8").splitlines())
    finetuning = [
        steps(stage, questions)
        for stage in (LAPTOP.finetune_from_scratch, LAPTOP.finetune_pretrained)
    ]
    pretraining = steps(LAPTOP.pretrain, sizes["laptop"][0])
    stated(
        "problem1",
        f"Steps in all & {finetuning[0]} & {finetuning[1]} & {pretraining:,}",
        f"{steps(pretrain, sizes['gpu'][0]):,}",
        *(f"{learned:,}; {rope:,}" for _, learned, rope in sizes.values()),
    )
    stated(
        "src/submission/mingpt-demo/play_char.ipynb",
        f"{sizes['laptop'][1] / 1e6:.2f} million with the preset `laptop`, and "
        f"{sizes['gpu'][1] / 1e6:.1f} million with `gpu`",
    )


# Problem 2: what the handout says about the reference's predictions


def test_problem_2_says_what_the_predictions_are(monkeypatch):
    """2b, 2c: the program of the handout prints what the handout shows, and the text names the same
    numbers.
    """
    text = (ROOT / "handout" / "problem2.tex").read_text(encoding="utf-8")
    program, printed = (
        re.search(rf"\\begin{{{name}}}\n(.*?)\\end{{{name}}}", text, re.DOTALL)[1]
        for name in ("python", "terminal")
    )
    monkeypatch.chdir(ROOT)
    output, names = io.StringIO(), {}
    with contextlib.redirect_stdout(output):
        exec(program.replace("src/submission", RESULTS.as_posix()), names)
    assert output.getvalue() == printed

    answers, vanilla, rope = names["answers"], names["vanilla"], names["rope"]
    assert len(answers) == 100

    def cities(places):
        """How many are the birthplace of anybody: the answers have all places of the training."""
        return sum(place in answers for place in places)

    rows = (DATA / "birth_places_train.tsv").read_text(encoding="utf-8").splitlines()
    assert {row.split("\t")[1] for row in rows} <= {*answers}
    wrong_vanilla, wrong_rope = (
        [place for place, answer in zip(places, answers) if place != answer]
        for places in (vanilla, rope)
    )
    wrong = [*wrong_vanilla, *wrong_rope]
    assert cities(wrong) == len(wrong)
    agreed = [answer == v for v, r, answer in zip(vanilla, rope, answers) if v == r]
    assert agreed.count(False) == 2  # "all but two of them correctly"
    assert "Stun Wakru" in (DATA / "birth_dev.tsv").read_text(encoding="utf-8")
    strangers = names["rows"](RESULTS / "vanilla.nopretrain.dev.predictions")
    right = 100 - len(wrong_rope)
    stated(
        "problem2",
        f"the vanilla model got {100 - len(wrong_vanilla)} of 100 dev people right, and the one "
        f"with RoPE {right}",
        f"All of their {len(wrong)} wrong answers are correctly spelled",
        f"would have answered {len(agreed)} people of 100, all but two of them correctly",
        f"RoPE alone was right about {right}",
        f"{right - sum(agreed)} right answers of RoPE are withheld together with "
        f"{len(wrong_rope) - agreed.count(False)} of its {len(wrong_rope)} wrong ones",
        f"{sum(place.startswith('M') for place in strangers)} of 100 start with M",
        f"just {cities(strangers)} are cities",
    )


def test_problem_2_says_what_was_measured():
    """2a: the model that read one phrasing, and the table, as docs/accuracy.md has them."""
    measured = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    recited, answered = re.search(
        r"recited the place for (\d+ of \d+) dev people.*answered (\d+)%", measured
    ).groups()
    cell = r"(\d+)% \(\d+ to \d+%\)"
    rows = re.findall(
        rf"^\| ((?:One|Six) phrasings?[:\w ,]+) \| {cell} \| {cell} \|", measured, re.M
    )
    assert len(rows) == 4
    stated(
        "problem2",
        f"completed it for {recited} dev people",
        rf"answered {answered}\% of the questions",
        *(rf"{name} & {one}\% & {two}\%" for name, one, two in rows),
    )


# Problem 3: what one head and two heads can do

NORMAL = np.linspace(-9, 9, 400_001)
GAMMA = 1 + NORMAL / sqrt(2)  # the length of k_a in 3c and 3d
DENSITY = np.exp(-(NORMAL**2) / 2) / np.exp(-(NORMAL**2) / 2).sum()
LIMIT = 2000  # a beta at which three digits no longer change


def weight(n, *scores):
    """The weight of the first of n positions whose scores begin so; the others have 0."""
    with np.errstate(over="ignore"):  # 1 / inf is 0, as it should be
        others = sum(np.exp(score - scores[0]) for score in scores[1:])
        return 1 / (1 + others + (n - len(scores)) * np.exp(-scores[0]))


def moments(values, density=DENSITY):
    """Mean and variance over draws of a normal variable, by quadrature."""
    mean = density @ values / density.sum()
    return mean, density @ (values - mean) ** 2 / density.sum()


def test_copying_and_averaging():
    """3a and 3b: how far ahead a score has to be, and what a small gap or scale leaves."""
    n, delta = 128, 0.01
    one = weight(n, 1.0)
    stated(
        "3a",
        f"a gap of {log((n - 1) / delta):.2f}",
        f"e / (e + {n - 1}) = {one:.3f}",
        rf"a gap of 1 among {n} gives {100 * one:.0f}\%",
    )
    rests = {beta: 1 - 2 * weight(n, beta, beta) for beta in (1, 5, 10)}
    stated(
        "3b",
        rf"$w$ is {rests[1]:.3f} at $\beta = 1$, {rests[5]:.3f} at $\beta = 5$ and "
        rf"{rests[10]:.3f} at $\beta = 10$",
        rf"is {log((n - 2) / (2 * delta)):.2f} for $\delta = 0.01$",
        rf"only {100 * (1 - rests[1]):.0f}\% of the weight is on $a$ and $b$",
    )


@pytest.mark.parametrize("beta, name", [(10, "= 10"), (100, "= 100"), (LIMIT, r"\to \infty")])
def test_a_key_of_random_length(beta, name):
    """3d ii: the rows of the table."""
    n, b = 10, weight(10, beta)
    for heads, values in (
        ("One head", weight(n, beta * GAMMA, beta)),
        # the second head puts b on v_b, and spreads the rest evenly
        ("Two heads", (weight(n, beta * GAMMA) + (1 - b) / (n - 1)) / 2),
    ):
        numbers = [*moments(values), *moments(values, DENSITY * (GAMMA > 0))]
        cells = [rf"{heads}, $\beta {name}$", *(f"{number:.3f}" for number in numbers)]
        stated("3d", " & ".join(cells))


def test_shares_of_draws():
    """3c and 3d: how many draws give a mixture, or a reversed key, and the variances."""
    alpha = {beta: weight(10, beta * GAMMA, beta) for beta in (10, 100, LIMIT)}
    mixed = {b: 100 * DENSITY @ ((0.1 < alpha[b]) & (alpha[b] < 0.9)) for b in (10, 100)}
    little = sqrt(moments(weight(10, 10 + 2 * 10 * sqrt(1e-6) * NORMAL, 10))[1])
    reversed_keys = DENSITY @ (GAMMA < 0)
    stated(
        "3c",
        rf"{little:.3f} for $\beta = 10$ and $\varepsilon = 10^{{-6}}$",
        rf"for $\beta = 10$ it is {moments(alpha[10])[1]:.3f}",
        rf"{mixed[10]:.2g}\% of the draws for $\beta = 10$",
        rf"{mixed[100]:.2g}\% for $\beta = 100$",
        rf"$\gamma < 0$ ({100 * reversed_keys:.1f}\% of the draws)",
    )
    two_heads = moments(weight(10, LIMIT * GAMMA) / 2)[1]
    assert round(moments(alpha[LIMIT])[1] / two_heads) == 14
    stated(
        "3d",
        rf"P(\gamma > 0) = \Phi(\sqrt 2) = {1 - reversed_keys:.3f}",
        rf"In the other {100 * reversed_keys:.1f}\%",
        rf"\Phi(-\sqrt 2) = {two_heads:.3f}$, a fourteenth",
    )


# Problem 4: positions


def test_no_two_positions_are_the_same(solution):
    """4b ii: near-collisions of one pair, rounding, and the nearest embeddings."""
    sinusoidal = solution("problem6.positions").sinusoidal
    one_pair = sinusoidal(5000, 2)
    gaps = np.linalg.norm(one_pair[1:] - one_pair[0], axis=1)  # by distance, from 1 on
    for distance in (44, 710):
        assert gaps[distance - 1] < gaps[: distance - 1].min()
    for dtype, equal in ((np.float16, True), (np.float32, False)):
        assert np.array_equal(*one_pair[[2, 712]].astype(dtype)) == equal
    d = 256
    phi = sinusoidal(128, d)
    distances = np.linalg.norm(phi[:, None] - phi, axis=-1) + np.diag([np.inf] * 128)
    assert distances.min() == pytest.approx(np.diagonal(distances, 1).min())  # neighbors
    stated(
        "4b",
        f"just {gaps[43]:.3f} and {gaps[709]:.5f}",
        "positions 2 and 712",
        f"are {distances.min():.2f} apart",
        rf"$\sqrt{{d/2}} = {np.linalg.norm(phi[0]):.1f}$",
        f"{maths(round(2 * pi * 10000 ** ((d - 2) / d) / 10) * 10)} positions for $d = 256$",
    )


# Problem 5: self-attention by hand, and the encoder


def test_worked_example(solution):
    """5a, 5c: the matrices and powers of the handout."""
    attention = solution("problem5.numpy_attention").attention
    source = (ROOT / "handout" / "problem5.tex").read_text(encoding="utf-8")
    Q, K, V, scores, scaled, weights, output = [
        np.array([[float(number) for number in row.split("&")] for row in body.split(r"\\")])
        for body in re.findall(r"\\begin{bmatrix}(.*?)\\end{bmatrix}", source, re.DOTALL)
    ]
    np.testing.assert_array_equal(scores, Q @ K.T)
    np.testing.assert_allclose(scaled, Q @ K.T / sqrt(3), atol=5.0001e-5)
    np.testing.assert_allclose(weights, attention(Q, K, np.eye(3)), atol=5.0001e-5)
    np.testing.assert_allclose(output, attention(Q, K, V), atol=5.0001e-5)
    # computed on with what was rounded, within the 0.001 allowed
    np.testing.assert_allclose(weights @ V, attention(Q, K, V), atol=5e-4)
    printed = attention(np.eye(3)[:2], np.eye(3), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    power, powers = exp(1 / sqrt(3)), (("1/2", -0.5), ("1", -1), ("3/2", -1.5), ("2", -2))
    stated(
        "problem5",
        " ".join(str(printed.round(4)).split()),
        *(f"{number:.4f}" for number in (power, power + 2, sqrt(3))),
        *(f"e^{{-{name}}} = {exp(power):.5f}" for name, power in powers),
    )


def test_table_of_scaling_experiment(solution):
    """5b: the handout's table, each cell to the digits that it has, and what the answer says of it."""
    experiment = solution("problem5.numpy_attention").scaling_experiment
    source = (ROOT / "handout" / "problem5.tex").read_text(encoding="utf-8")
    rows = re.findall(r"^ *(\d+) &((?: [\d.]+ &){9} [\d.]+) *\\\\", source, re.MULTILINE)
    assert [d_k for d_k, _ in rows] == ["4", "16", "64", "256", "1024"]
    for d_k, cells in rows:
        measured, w_q = experiment(int(d_k)), gradient_of_w_q(int(d_k), seed=0)
        pairs = zip(measured["unscaled"].values(), measured["scaled"].values())
        expected = [*chain(*pairs), w_q["unscaled"], w_q["scaled"]]
        for cell, value in zip(cells.split("&"), expected, strict=True):
            digits = len(cell.strip().partition(".")[2])
            assert float(cell) == pytest.approx(value, abs=0.51 * 10**-digits), (d_k, cell)
            assert cell.strip() != "0" or value == 0
    stated("5b", f"{w_q['unscaled'] / w_q['scaled']:.0f} times as large")  # for d_k = 1024
    stated("5b", f"is {sqrt(63) / 64:.3f} for 64 keys")


def test_numbers_of_the_encoder(solution):
    """5e to 5h: parameters, the loss of knowing nothing, and chance on random labels."""
    encoder = solution("problem5.encoder")

    def parameters(module):
        return sum(parameter.numel() for parameter in module.parameters())

    learned, fixed = (
        encoder.Encoder(encoder.EncoderConfig(1000, 24, 5, positions=kind))
        for kind in ("learned", "sinusoidal")
    )
    shown = map(parameters, (learned, fixed, fixed.layers[0]))
    stated("problem5", *(f"{number:,}" for number in shown), f"{log(14):.2f}")
    stated("5h", rf"$24 \cdot 32 = {parameters(learned) - parameters(fixed)}$")
    error = sqrt(0.2 * 0.8 / 400)
    low, high = 100 * (0.2 - 1.96 * error), 100 * (0.2 + 1.96 * error)
    by_luck = sum(math.comb(400, n) * 0.2**n * 0.8 ** (400 - n) for n in range(88, 401))
    assert by_luck == pytest.approx(1 / 6, abs=0.03)  # 22%, or better
    bag = parameters(encoder.BagOfWords(1000, 5))
    stated("5g", f"{bag:,}", rf"about {low:.0f}\% and {high:.0f}\%", "one of six cases")


def test_the_reference_encoder_attends_to_the_teachers_occupation(solution):
    """5g ii: what the maps of our encoder show."""
    encoder, data = solution("problem5.encoder"), solution("problem5.encoder_data")
    corpus = read_corpora(data, ROOT / "data" / "occupations", 0)[0]
    model = encoder.Encoder(encoder.EncoderConfig(corpus.vocab_size, 24, 5))
    model.load_state_dict(torch.load(RESULTS / "encoder.params", weights_only=True))
    corpus.runs[PRE] = [Run(model, [], 1.0, 1.0)]
    active, passive = choose_sentences(corpus, corpus)[:2]
    for item, teacher in ((active, "judge"), (passive, "poet")):
        column = item.weights[1][0][:, item.tokens.index(teacher)]  # layer 2, head 0
        assert column.min() > 0.8 and column.mean() > 0.95 and item.answer == item.label
    assert passive.tokens[-1] == "poet"
    stated("5g", r"\emph{judge} in the active", r"\emph{poet}, its last word, in the passive")


# Problem 6


def test_accounting(solution, sizes):
    """6a: parameters, both ways to count, and the cache."""
    accounting = solution("problem6.accounting")
    adds, flops = (f(D_MODEL, HEADS, D_FF, T) for f in (accounting.multiply_adds, accounting.flops))
    head, softmaxes = adds["scores"] // HEADS, flops["softmax"] // HEADS
    attention = [
        sum(counts.get(name, 0) for name in ("scores", "softmax", "weighted_sum"))
        for counts in (adds, flops)
    ]
    mixed = 2 * head + softmaxes
    cache = accounting.kv_cache_bytes(40, 5120, 40, 4096)
    stated(
        "problem6",
        f"with 55 symbols and the sizes of the preset \\code{{laptop}} that is {sizes['laptop'][1]:,}",
        f"scores, one head & {head:,} & {2 * head:,}",
        f"softmax, one head & & {softmaxes:,}",
        f"weighted sum, one head & {head:,} & {2 * head:,}",
        f"scores, softmax and weighted sum, 8 heads & {attention[0]:,} & {attention[1]:,}",
        rf"512$ & {adds['projections']:,} & {flops['projections']:,}",
        f"feed-forward network & {adds['feed_forward']:,} & {flops['feed_forward']:,}",
        f"gives {mixed / 1e6:.2f} million for a head, {HEADS * mixed / 1e6:.2f} million for eight",
        f"must have {cache:,} bytes = {cache / 2**30:.3f} GiB",
    )


def test_wavelengths_and_distances_between_positions(solution):
    """6c: the error that is allowed, wavelengths and distances."""
    reference = solution("problem6.positions")
    frequencies = reference.frequencies(D_MODEL)
    exact = np.longdouble(10000) ** (-2 * np.arange(D_MODEL // 2) / np.longdouble(D_MODEL))
    exact = np.sin(np.outer(np.arange(1000), exact))
    angles = np.outer(np.arange(1000), frequencies)
    assert np.abs(np.sin(angles) - exact).max() < 1e-11
    assert 0.5e-5 < np.abs(np.sin(angles.astype(np.float32)) - exact).max() < 5e-5
    positions = "src/submission/problem6/positions.py"
    stated(positions, "the error is under 1e-11", "already wrong by about 1e-5 there")

    def distance(*shifts):
        return np.sqrt((4 * np.sin(np.outer(shifts, frequencies) / 2) ** 2).sum(axis=1))

    one, two, far = distance(1, 2, 62_832)
    vectors = reference.sinusoidal_at(np.array([7, 7 + 62_832]), D_MODEL)
    assert far == pytest.approx(np.linalg.norm(vectors[1] - vectors[0]))
    shifts = np.array_split(np.arange(100, 200_001), 20)
    nearest = min(distance(*part).min() for part in shifts)
    assert one < two < nearest < far and frequencies[-1] == pytest.approx(1e-4, rel=0.05)
    last = 2 * pi / frequencies[-1]
    stated("problem6", rf"2\pi\cdot10000\approx{maths(round(2 * pi * 10000))}")
    stated(
        "6c",
        f"a wavelength of {last:,.0f} positions",
        f"$2\\pi\\cdot10000^{{510/512}}$ = {last:,.0f}",
        f"or {last:,.0f}).",
        f"It is {one:.2f} for $k=1$, {two:.2f} for $k=2$",
        f"and {far:.2f} for $k$ = 62,832",
        rf"$\sqrt{{512}}={sqrt(512):.1f}$",
        f"it is at least {nearest:.2f}",
        rf"$2\pi\approx{2 * pi:.1f}$ positions",
        f"seven turns but for {44 - 14 * pi:.3f} radians",
    )


def test_connections_of_the_record(solution):
    """6d: the table of estimate and exact count, the check by hand, and what i and ii say."""
    sparse = solution("problem6.efficient_attention")
    pattern, causal = sparse.Pattern(), sparse.Pattern(causal=True)
    assert (pattern.window, pattern.strides, len(GLOBALS)) == (WINDOW, STRIDES, 150)
    estimate = [N * 2 * WINDOW, 2 * 150 * N, 32 * N]
    window = N * (2 * WINDOW + 1) - WINDOW * (WINDOW + 1)
    strides = 2 * sum(N - s for s in STRIDES)
    globals_ = 2 * 150 * N - 150**2
    total, total_causal = (sparse.count_connections(N, each, GLOBALS) for each in (pattern, causal))
    by_hand = [
        sparse.count_connections(16, sparse.Pattern(2, (4, 8), causal), [0])
        for causal in (False, True)
    ]
    stated(
        "problem6",
        f"window & {estimate[0]:,} & {window:,} &",
        f"global positions & {estimate[1]:,} & {globals_:,} &",
        f"long range & {estimate[2]:,} & {strides:,} &",
        f"counted twice & & $-{window + globals_ + strides - total:,}$ &",
        f"together & {sum(estimate):,} & {total:,} &",
        f"Full attention has {N * N:,}: the estimate says {N * N / sum(estimate):.0f} times",
        f"the exact count {N * N / total:.1f} times",
        f"The causal pattern has {total_causal:,}",
        f"full causal attention {N * (N + 1) / 2 / total_causal:.1f} times as many",
        rf"$75{{,}}000^2$ = {N * N:,} scores for one head of one layer, {N * N * 4 / 1e9:.1f} GB",
        f"gives {by_hand[0]} connections, and {by_hand[1]} causally",
    )
    k = 2 * WINDOW + 1 + 2 * len(STRIDES) + 2 * 150
    blocks = 2 * ceil(WINDOW / sparse.BLOCK) + 1
    attended = len(sparse.attended_positions(37_400, N, pattern, GLOBALS))
    others = attended - (2 * WINDOW + 1) - 2 * len(STRIDES)
    stated(
        "6d",
        f"$k={maths(k)}$, and the bound is {N * k:,}",
        f"The exact count is {total:,} ({total / N:,.1f} per position), {N * N / total:.1f} times "
        f"less than {N * N:,}",
        f"{2 * N * N // 1000:,} at 75,000",
        f"From $n$ = {1000 * (2 * WINDOW + 1) // 2:,} on they outweigh the window",
        f"blocks of {sparse.BLOCK} queries and $w={WINDOW}$, each row is multiplied with the keys "
        f"of {blocks} blocks, {blocks * sparse.BLOCK:,} instead of {2 * WINDOW + 1:,}",
        f"token 37,400 attends to {2 * WINDOW + 1:,} positions of its window (two of them global), "
        f"8 at the strides, and {others} other",
        f"together {attended:,} of 75,000",
    )
    for g, low, high in ((150, 1170, 1190), (200, 1220, 1240)):  # the range that the rubric accepts
        chosen = range(0, g * (N // g), N // g)
        for i in range(30_001, 45_000, 777):
            assert low <= len(sparse.attended_positions(i, N, pattern, chosen)) <= high
        stated("6d", f"{low:,} to {high:,}")


def test_steps_between_far_positions():
    """6d iii: with strides in both directions and causally, and with a window alone."""
    both, causal = [*7 * [8192], 2048, -392], [*7 * [8192], 1024, 512, 120]
    assert sum(both) == sum(causal) == 59_000
    assert all(abs(step) in STRIDES or abs(step) <= WINDOW for step in (*both, *causal))
    stated(
        "6d",
        f"distance of 59,000 in {len(both)} steps in both directions ($7\\cdot8192+2048-392$), and "
        f"in {len(causal)} causally ($7\\cdot8192+1024+512+120$)",
        rf"$\lceil59000/512\rceil$ = {ceil(59_000 / WINDOW)} layers",
        rf"$\log_2 59000\approx{math.log2(59_000):.0f}$",
    )


def test_streaming_memory():
    """6d v: the bytes of the cache, of all keys and values, and of the claim."""
    entry = 2 * D_MODEL * 4
    held = max(WINDOW, *STRIDES) + 200
    dense, claimed = N * entry, WINDOW + 200 + 16
    stated(
        "6d",
        rf"{maths(held * entry)}\text{{ bytes}}\approx{held * entry / 1e6:.1f}\text{{ MB per layer}}",
        f"{held * entry * 32 / 1e9:.2f} GB for 32 layers, whatever",
        f"take {dense / 1e6:.1f} MB per layer, {dense * 32 / 1e9:.2f} GB for 32",
        f"the saving is {N / held:.1f} times",
        f"$512+200+16={claimed}$ entries are {claimed * 2 * D_MODEL:,} numbers",
        f"{claimed * entry / 1e6:.2f} MB per layer in \\code{{float32}}, or "
        f"{claimed * entry / 2e6:.2f} MB in \\code{{float16}}",
        f"{claimed * 2 * D_MODEL / 1e6:.1f} MB counts one byte per number",
        f"it is {claimed * entry * 32 / 1e6:.1f} MB, or {claimed * entry * 16 / 1e6:.1f} MB in "
        "\\code{float16}, not 22",
        f"that is {N / claimed:.0f} times ($75000/{claimed}$)",
        f"({claimed * entry / 1e6:.1f} MB in \\texttt{{float32}}, {claimed * entry / 2e6:.1f} in",
    )


def at_xavier(seed):
    """A post-norm stack of 24 layers at Xavier initialization: the variances of the branches of
    attention and of the feed-forward networks, by layer, and the product of all 1/sigma.
    """
    torch.manual_seed(seed)

    def linear(x, width):
        return x @ nn.init.xavier_uniform_(torch.empty(width, x.size(-1))).T

    def attention(x):
        heads = [linear(x, D_MODEL).unflatten(-1, (HEADS, -1)).transpose(1, 2) for _ in "qkv"]
        return linear(F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2), D_MODEL)

    def feed_forward(x):
        return linear(F.relu(linear(x, D_FF)), D_MODEL)

    x, variances, left = F.layer_norm(torch.randn(1, T, D_MODEL), (D_MODEL,)), ([], []), 1.0
    for _ in range(24):
        for branch, found in zip((attention, feed_forward), variances):
            y = branch(x)
            found.append(y.var(dim=-1).mean().item())
            left /= (x + y).std(dim=-1).log().mean().exp().item()
            x = F.layer_norm(x + y, (D_MODEL,))
    return *variances, left


def test_debugging():
    """6e: the numbers of the three diagnoses; what was measured, over three draws."""
    attention, feed_forward, left = map(np.array, zip(*map(at_xavier, (1, 2, 3))))
    assert feed_forward.mean() == pytest.approx(0.32, abs=0.015)
    assert attention.mean(axis=0)[[0, -1]] == pytest.approx([0.03, 1], abs=0.005, rel=0.15)
    assert 3e-5 < exp(np.log(left).mean()) < 4e-5
    stated(
        "6e",
        f"standard deviation {sqrt(1024):.0f}",
        f"loss of $\\ln n_\\text{{vocab}}$ ({log(50_000):.1f} for 50,000 tokens)",
        f"about $10^{{{-156.3 / log(10):.0f}}}$",
        rf"$2^{{-24}}\approx{2**-24 * 1e8:.0f}\cdot10^{{-8}}$",
        "output has variance 0.32",
        "that of attention 0.03 in the first layer",
        "about 1 in the last ones",
        "3 to $4\\cdot10^{-5}$",
        rf"{100 * (5.2 - 4.8) / (5.2 - 2.1):.0f}\% of the way to 2.1",
        rf"$0.02/\sqrt{{2\cdot24}}={0.02 / sqrt(48):.5f}$",
    )
    stated(
        "problem6",
        "step 300: loss 156.3",
        r"i: $\sqrt{1024}=32$",
        f"the scaled standard deviation is {0.02 / sqrt(48):.5f}",
        "epoch 1: loss 5.2",
        "epoch 100: loss 4.8",
        "A baseline reaches 2.1",
    )


def test_sampling_examples(solution):
    """6e: the box of examples."""
    fixes = solution("problem6.fixes")
    probabilities, penalty = torch.tensor([0.5, 0.3, 0.15, 0.05]), 1.2
    kept = fixes.top_p_filter(probabilities.log(), 0.9).isfinite()
    wrong = probabilities.cumsum(0) <= 0.9  # without the token that crosses the threshold
    punished = fixes.repetition_penalty(torch.tensor([2, -1, 0.5]), [0, 1], penalty)
    assert (kept.sum(), wrong.sum(), (torch.tensor([0.95, 0.05]) <= 0.9)[0]) == (3, 2, False)
    stated(
        "problem6",
        f"three tokens stay, together {probabilities[kept].sum():.2f}",
        f"two stay, with {probabilities[wrong].sum():.1f}",
        "with probabilities (0.95, 0.05) none at all",
        f"({punished[0]:.3f}, ${punished[1]:.1f}$, {punished[2]:.1f})",
        f"gives ${-1 / penalty:.3f}$",
    )


def test_costs_of_documents():
    """6g: the connections, and all multiply-adds of a layer, dense and with a causal decoder."""
    documents, question, d = 10 * [1000], 50, D_MODEL
    n = sum(documents)
    total = n + question
    encoder, decoder = sum(length**2 for length in documents), question * n
    own = question * (question + 1) // 2

    def layer(queries, connections):
        """Projections of the queries' tokens, feed-forward network, scores and weighted sum."""
        return 4 * queries * d * d + 2 * queries * d * D_FF + 2 * connections * d

    reading, memory = layer(n, encoder), 2 * n * d * d
    writing = layer(question, question**2 + decoder) + 2 * question * d * d
    whole, causal = layer(total, total**2), layer(total, total * (total + 1) // 2)
    stated(
        "6g",
        rf"encoder $10\cdot1000^2$ = {encoder:,}",
        rf"$50\cdot10{{,}}000$ = {decoder:,}",
        f"self-attention {own:,}",
        f"has {total * (total + 1) // 2:,} causally ({total**2:,} for dense work",
        f"a factor of {total**2 / (encoder + decoder + own):.1f}",
        f"one decoder takes {whole / (reading + memory + writing):.1f} times as many",
        f"about {whole / (memory + writing):.0f} times as many as our decoder if that projects",
        f"{whole / writing:.0f} times if they were kept",
        f"({causal / (reading + memory + writing):.1f} with a causal decoder)",
        f"{causal / (memory + writing):.0f} to {whole / (memory + writing):.0f} after the question",
    )
    stated("problem6", rf"ten times $1000^2$, and once ${maths(total)}^2$")
