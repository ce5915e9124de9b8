"""Each number in the worked answers and in the handout's examples is what computing it gives.

`stated` looks for the number as computed here, with the words around it, so that text and
computation cannot drift apart. What the reference solution computes is taken from it: the checks
and tests/checks hold it to torch.
"""

import re
from importlib import import_module
from itertools import chain
from math import ceil, e, erf, exp, log, pi, sqrt
from operator import eq

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from helpers import DATA, RESULTS, ROOT, call
from jobs.presets import GPU, LAPTOP
from jobs.problem1.models import new_model
from jobs.problem5.encoders import PRE, Run, read_corpora
from jobs.problem5.maps import choose_sentences
from jobs.problem5.scaling import gradient_of_w_q

# the sizes of 6a and 6e, and the record of 6d
D_MODEL, HEADS, D_FF, T = 512, 8, 2048, 100
N, WINDOW, STRIDES, GLOBALS = 75_000, 512, (1024, 2048, 4096, 8192), range(0, 75_000, 500)


def source(name):
    """The text of a question's rubric, of a problem of the handout ("problem2"), or of a file."""
    if "/" not in name:
        name = f"{'handout' if name.startswith('problem') else 'instructor/rubrics'}/{name}.tex"
    return (ROOT / name).read_text(encoding="utf-8")


def stated(name, *texts):
    """Assert that a source has each text, whatever its line breaks."""
    content = " ".join(source(name).split())
    for text in texts:
        assert text in content, f"{name} does not say {text!r}"


def maths(number):
    """A number with thousands as typed in a formula."""
    return f"{number:,}".replace(",", "{,}")


def parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.fixture
def solution(submission):
    """A function that imports a module of the reference solution."""
    return lambda name: import_module(f"submission.{name}")


@pytest.fixture
def sizes(submission):
    """For each preset, the number of documents, and our GPT's parameters without and with RoPE."""
    numbers = {}
    for preset in (LAPTOP, GPU):
        corpus = (ROOT / "data" / preset.data / "wiki.txt").read_text(encoding="utf-8")
        documents = submission.CharCorruptionDataset(corpus, preset.block_size)
        words = documents.vocab_size, preset
        models = (new_model(submission, variant, *words) for variant in ("vanilla", "rope"))
        numbers[preset.name] = [len(documents), *map(parameters, models)]
    return numbers


def test_trainings_of_problem_1(submission, sizes, tmp_path):
    """Hyperparameters from the reference's own functions; parameters and steps worked out."""
    corpus, weights = tmp_path / "corpus.tsv", tmp_path / "weights.params"
    corpus.write_text("Where was Ada Byron born?\tLondon\n", encoding="utf-8")
    text = "Ada Byron was born in London, wasn't she? Where else?\n" * 3
    documents = submission.CharCorruptionDataset(text, 80)
    config = submission.GPTConfig(documents.vocab_size, 80, n_layer=1, n_head=2, n_embd=8)
    model = submission.initialize_vanilla_model(config)
    torch.save(model.state_dict(), weights)
    paths, rest = (None, str(weights)), (corpus, documents, 80, model)
    configs = [submission.finetune(path, *rest)[0] for path in paths]
    configs.append(submission.pretrain(documents, 80, model)[0])
    for name in ("max_epochs", "batch_size", "lr_decay", "warmup_tokens", "final_tokens"):
        row = re.search(rf"\\code\{{{name}\}} & (.*?) & (.*?) & (.*?) \\\\\n", source("problem1"))
        for cell, config in zip(row.groups(), configs):
            value = eval(re.sub(r"\\code|[{}]", "", cell), {"N": len(documents), "block_size": 80})
            assert value == getattr(config, name), (name, cell)

    def steps(stage, examples):
        return stage.max_epochs * ceil(examples / stage.batch_size)

    questions = len((DATA / "birth_places_train.tsv").read_text(encoding="utf-8").splitlines())
    stages = (LAPTOP.finetune_from_scratch, LAPTOP.finetune_pretrained)
    scratch, pretrained = (steps(stage, questions) for stage in stages)
    (laptop, *models), (gpu, *larger) = sizes["laptop"], sizes["gpu"]
    stated(
        "problem1",
        f"Steps in all & {scratch} & {pretrained} & {steps(LAPTOP.pretrain, laptop):,}",
        f"{steps(configs[-1], gpu):,}",
        *(f"{vanilla:,}; {rope:,}" for vanilla, rope in (models, larger)),
    )
    stated(
        "src/submission/mingpt-demo/play_char.ipynb",
        f"{models[0] / 1e6:.2f} million with the preset `laptop`, and {larger[0] / 1e6:.1f} "
        "million with `gpu`",
    )


def test_predictions_of_problem_2():
    """The program of the handout prints what the handout shows, and the text has its numbers."""
    program, printed = (
        re.search(rf"(?s)\\begin{{{name}}}\n(.*?)\\end{{{name}}}", source("problem2"))[1]
        for name in ("python", "terminal")
    )
    names = {}
    program = program.replace("src/submission", RESULTS.as_posix())
    assert call(lambda: exec(program, names)).stdout == printed
    vanilla, rope = (sum(map(eq, names[name], names["answers"])) for name in ("vanilla", "rope"))
    answered, agreed = len(names["agreed"]), sum(names["agreed"])
    assert answered - agreed == 2  # "all but two of them correctly"
    rows = names["rows"](DATA / "birth_places_train.tsv")
    places = {*names["answers"], *(row.split("\t")[1] for row in rows)}
    assert {*names["vanilla"], *names["rope"]} <= places
    strangers = names["rows"](RESULTS / "vanilla.nopretrain.dev.predictions")
    stated(
        "problem2",
        f"the vanilla model got {vanilla} of 100 dev people right, and the one with RoPE {rope}",
        f"All of their {200 - vanilla - rope} wrong answers are correctly spelled",
        f"would have answered {answered} people of 100, all but two of them correctly",
        f"RoPE alone was right about {rope}",
        f"{rope - agreed} right answers of RoPE are withheld together with {98 - rope} of its "
        f"{100 - rope} wrong ones",
        f"{sum(place.startswith('M') for place in strangers)} of 100 start with M",
        f"just {sum(place in places for place in strangers)} are cities",
    )


def test_measurements_of_problem_2():
    """2a has them as docs/accuracy.md has them."""
    line = r"(?m)^\| ((?:One|Six) phrasings?[:\w ,]+) \| (\d+)% \(.*?\) \| (\d+)% \(.*?\) \|"
    rows = re.findall(line, source("docs/accuracy.md"))
    assert len(rows) == 4
    line = r"recited the place for (.*?) dev people and answered (\d+)%"
    recited, answered = re.search(line, source("docs/accuracy.md")).groups()
    said = f"completed it for {recited} dev people, and answered {answered}\\% of the questions"
    stated("problem2", said, *(rf"{name} & {one}\% & {two}\%" for name, one, two in rows))


NORMAL = np.linspace(-9, 9, 400_001)
GAMMA, DENSITY = 1 + NORMAL / sqrt(2), np.exp(-(NORMAL**2) / 2)  # the length of k_a


@pytest.mark.parametrize("beta, name", [(10, "= 10"), (100, "= 100"), (2000, r"\to \infty")])
def test_a_key_of_random_length(beta, name):
    """3d: the rows of the table, by quadrature."""
    with np.errstate(over="ignore"):  # 1 / inf is 0, as it should be
        rest = np.exp(-beta * GAMMA)
        one = 1 / (1 + np.exp(beta * (1 - GAMMA)) + 8 * rest)
        # the second head puts on b what is not spread evenly
        two = (1 / (1 + 9 * rest) + exp(-beta) / (1 + 9 * exp(-beta))) / 2
    for heads, values in (("One head", one), ("Two heads", two)):
        cells = [rf"{heads}, $\beta {name}$"]
        for density in (DENSITY, DENSITY * (GAMMA > 0)):
            mean = np.average(values, weights=density)
            variance = np.average((values - mean) ** 2, weights=density)
            cells += [f"{mean:.3f}", f"{variance:.3f}"]
        stated("3d", " & ".join(cells))
        if (heads, beta) == ("One head", 10):
            stated("3c", rf"for $\beta = 10$ it is {cells[2]}")


def test_no_two_positions_are_the_same(solution):
    """4b ii: near-collisions of one pair, rounding, and the nearest embeddings."""
    sinusoidal = solution("problem6.positions").sinusoidal
    one_pair, phi = sinusoidal(713, 2), sinusoidal(128, 256)
    for dtype, equal in ((np.float16, True), (np.float32, False)):
        assert np.array_equal(*one_pair[[2, 712]].astype(dtype)) == equal
    nearest = (np.linalg.norm(phi[:, None] - phi, axis=-1) + np.diag([np.inf] * 128)).min()
    gaps = np.linalg.norm(one_pair[1:] - one_pair[0], axis=1)  # by distance, from 1 on
    assert gaps[43] < gaps[:43].min() and gaps[709] < gaps[:709].min()
    stated("4b", "positions 2 and 712", f"are {nearest:.2f} apart")
    stated("4b", f"just {gaps[43]:.3f} and {gaps[709]:.5f}")


WITHOUT_CODE = [
    ("3a", f"a gap of {log(127 / 0.01):.2f}"),
    ("3a", rf"\alpha_j = e / (e + 127) = {e / (e + 127):.3f}"),
    ("3a", rf"a gap of 1 among 128 gives {100 * e / (e + 127):.0f}\%"),
    ("3b", rf"$w$ is {126 / (2 * e + 126):.3f} at $\beta = 1$"),
    ("3b", rf"{126 / (2 * e**5 + 126):.3f} at $\beta = 5$"),
    ("3b", rf"{126 / (2 * e**10 + 126):.3f} at $\beta = 10$"),
    ("3b", rf"is {log(126 / 0.02):.2f} for $\delta = 0.01$"),
    ("3b", rf"only {200 * e / (2 * e + 126):.0f}\% of the weight is on $a$ and $b$"),
    ("3c", rf"{10 * sqrt(1e-6) / 2:.3f} for $\beta = 10$ and $\varepsilon = 10^{{-6}}$"),
    # the length of k_a has mean 1 and variance 1/2, so it is within x of 1 in a share erf(x)
    ("3c", rf"{100 * erf(log(9) / 10):.2g}\% of the draws for $\beta = 10$"),
    ("3c", rf"{100 * erf(log(9) / 100):.2g}\% for $\beta = 100$"),
    ("3c", rf"$\gamma < 0$ ({50 - 50 * erf(1):.1f}\% of the draws)"),
    ("3d", rf"P(\gamma > 0) = \Phi(\sqrt 2) = {(1 + erf(1)) / 2:.3f}"),
    ("3d", rf"\Phi(-\sqrt 2) = {(1 - erf(1) ** 2) / 16:.3f}$, a fourteenth of that with one"),
    ("3d", rf"In the other {50 - 50 * erf(1):.1f}\%"),
    ("4b", rf"$\sqrt{{d/2}} = {sqrt(128):.1f}$"),
    ("4b", f"{maths(round(2 * pi * 10000 ** (254 / 256) / 10) * 10)} positions for $d = 256$"),
    ("5b", f"is {sqrt(63) / 64:.3f} for 64 keys"),
    ("problem6", rf"2\pi\cdot10000\approx{maths(round(2 * pi * 10000))}"),
    ("6c", f"a wavelength of {2 * pi * 10000 ** (510 / 512):,.0f} positions"),
    ("6c", f"or {2 * pi * 10000 ** (510 / 512):,.0f})."),
    ("6c", rf"$\sqrt{{512}}={sqrt(512):.1f}$"),
    ("6c", f"seven turns but for {44 - 14 * pi:.3f} radians"),
    ("6d", rf"$\log_2 59000\approx{log(59_000) / log(2):.0f}$"),
    ("6d", rf"$\lceil59000/512\rceil$ = {ceil(59_000 / WINDOW)} layers"),
    ("6e", f"loss of $\\ln n_\\text{{vocab}}$ ({log(50_000):.1f} for 50,000 tokens)"),
    ("6e", f"about $10^{{{-156.3 / log(10):.0f}}}$"),
    ("6e", rf"$2^{{-24}}\approx{2**-24 * 1e8:.0f}\cdot10^{{-8}}$"),
    ("6e", rf"from 5.2 to 4.8, {100 * (5.2 - 4.8) / (5.2 - 2.1):.0f}\% of the way to 2.1"),
    ("6e", rf"$0.02/\sqrt{{2\cdot24}}={0.02 / sqrt(48):.5f}$"),
    ("problem6", f"the scaled standard deviation is {0.02 / sqrt(48):.5f}"),
]


@pytest.mark.parametrize("name, text", WITHOUT_CODE)
def test_arithmetic(name, text):
    stated(name, text)


def test_worked_example(solution):
    """5a, 5c: the matrices and powers of the handout."""
    attention = solution("problem5.numpy_attention").attention
    Q, K, V, scores, *printed = [
        np.array([[float(number) for number in row.split("&")] for row in body.split(r"\\")])
        for body in re.findall(r"(?s)\\begin{bmatrix}(.*?)\\end{bmatrix}", source("problem5"))
    ]
    np.testing.assert_array_equal(scores, Q @ K.T)
    exact = scores / sqrt(3), attention(Q, K, np.eye(3)), attention(Q, K, V)
    for matrix, expected in zip(printed, exact, strict=True):
        np.testing.assert_allclose(matrix, expected, atol=5.0001e-5)
    tried = attention(np.eye(3)[:2], np.eye(3), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    power, powers = exp(1 / sqrt(3)), (("1/2", -0.5), ("1", -1), ("3/2", -1.5), ("2", -2))
    stated(
        "problem5",
        " ".join(str(tried.round(4)).split()),
        *(f"{number:.4f}" for number in (power, power + 2, sqrt(3))),
        *(f"e^{{-{name}}} = {exp(power):.5f}" for name, power in powers),
    )


def test_table_of_scaling_experiment(solution):
    """5b: the handout's table, each cell to its digits, and what the answer says of it."""
    experiment = solution("problem5.numpy_attention").scaling_experiment
    rows = re.findall(r"(?m)^ *(\d+) &((?: [\d.]+ &){9} [\d.]+) *\\\\", source("problem5"))
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


def test_gradients_of_queries():
    """5b: without scaling, a typical query gets far less, and a mean one far more."""
    q, keys, upstream = map(torch.randn, (4096, 64, 4096), (1024, 1024, 64))
    q.requires_grad_()
    norms = []
    for divisor in (1, sqrt(1024)):
        loss = (upstream * F.softmax(q @ keys.T / divisor, dim=1)).sum()
        norms.append(torch.autograd.grad(loss, q)[0].norm(dim=1))
    assert 0.01 < norms[0].median() / norms[1].median() < 0.06
    assert 8 < norms[0].mean() / norms[1].mean() < 13
    stated("5b", "has a median of a few hundredths", "a mean about ten times as large")


def test_numbers_of_the_encoder(solution):
    """5e to 5h: parameters, the loss of knowing nothing, and chance on random labels."""
    encoder = solution("problem5.encoder")
    learned, fixed = (
        encoder.Encoder(encoder.EncoderConfig(1000, 24, 5, positions=kind))
        for kind in ("learned", "sinusoidal")
    )
    shown = map(parameters, (learned, fixed, fixed.layers[0]))
    stated("problem5", *(f"{number:,}" for number in shown), f"{log(14):.2f}")
    stated("5h", rf"$24 \cdot 32 = {parameters(learned) - parameters(fixed)}$")
    error = 100 * sqrt(0.2 * 0.8 / 400)
    chance = rf"about {20 - 1.96 * error:.0f}\% and {20 + 1.96 * error:.0f}\%"
    stated("5g", f"{parameters(encoder.BagOfWords(1000, 5)):,}", chance)


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


def test_accounting(solution, sizes):
    """6a: parameters, both ways to count, and the cache."""
    accounting = solution("problem6.accounting")
    adds, flops = (f(D_MODEL, HEADS, D_FF, T) for f in (accounting.multiply_adds, accounting.flops))
    head, softmaxes = adds["scores"] // HEADS, flops["softmax"] // HEADS
    attention = adds["scores"] + adds["weighted_sum"]
    of_flops = flops["scores"] + flops["softmax"] + flops["weighted_sum"]
    mixed = 2 * head + softmaxes
    cache = accounting.kv_cache_bytes(40, 5120, 40, 4096)
    stated(
        "problem6",
        f"the sizes of the preset \\code{{laptop}} that is {sizes['laptop'][1]:,}",
        f"scores, one head & {head:,} & {2 * head:,}",
        f"softmax, one head & & {softmaxes:,}",
        f"weighted sum, one head & {head:,} & {2 * head:,}",
        f"scores, softmax and weighted sum, 8 heads & {attention:,} & {of_flops:,}",
        rf"512$ & {adds['projections']:,} & {flops['projections']:,}",
        f"feed-forward network & {adds['feed_forward']:,} & {flops['feed_forward']:,}",
        f"gives {mixed / 1e6:.2f} million for a head, {HEADS * mixed / 1e6:.2f} million for eight",
        f"must have {cache:,} bytes = {cache / 2**30:.3f} GiB",
    )


def test_wavelengths_and_distances_between_positions(solution):
    """6c: distances between encodings, and what float32 costs."""
    frequencies = solution("problem6.positions").frequencies(D_MODEL)

    def distance(*shifts):
        return np.sqrt((4 * np.sin(np.outer(shifts, frequencies) / 2) ** 2).sum(axis=1))

    one, two, far = distance(1, 2, 62_832)
    nearest = min(distance(*part).min() for part in np.array_split(np.arange(100, 200_001), 20))
    assert one < two < nearest < far
    stated(
        "6c",
        f"It is {one:.2f} for $k=1$, {two:.2f} for $k=2$, and {far:.2f} for $k$ = 62,832",
        f"it is at least {nearest:.2f}",
    )
    angles = np.outer(np.arange(1000), frequencies)
    assert 0.5e-5 < np.abs(np.sin(angles.astype(np.float32)) - np.sin(angles)).max() < 5e-5
    stated("src/submission/problem6/positions.py", "already wrong by about 1e-5 there")


def test_connections_of_the_record(solution):
    """6d: the table of estimate and exact count, the check by hand, and what i and ii say."""
    sparse = solution("problem6.efficient_attention")
    count, pattern, causal = sparse.count_connections, sparse.Pattern(), sparse.Pattern(causal=True)
    assert (pattern.window, pattern.strides, len(GLOBALS)) == (WINDOW, STRIDES, 150)
    estimate = [N * 2 * WINDOW, 2 * 150 * N, 32 * N]
    window = N * (2 * WINDOW + 1) - WINDOW * (WINDOW + 1)
    exact = [window, 2 * 150 * N - 150**2, 2 * sum(N - stride for stride in STRIDES)]
    rows = zip(("window", "global positions", "long range"), estimate, exact)
    total, total_causal = (count(N, each, GLOBALS) for each in (pattern, causal))
    by_hand = [count(16, sparse.Pattern(2, (4, 8), each), [0]) for each in (False, True)]
    stated(
        "problem6",
        *(f"{name} & {about:,} & {number:,} &" for name, about, number in rows),
        f"counted twice & & $-{sum(exact) - total:,}$ &",
        f"together & {sum(estimate):,} & {total:,} &",
        f"Full attention has {N * N:,}: the estimate says {N * N / sum(estimate):.0f} times",
        f"the exact count {N * N / total:.1f} times",
        f"The causal pattern has {total_causal:,}",
        f"full causal attention {N * (N + 1) / 2 / total_causal:.1f} times as many",
        rf"$75{{,}}000^2$ = {N * N:,} scores for one head of one layer, {N * N * 4 / 1e9:.1f} GB",
        f"gives {by_hand[0]} connections, and {by_hand[1]} causally",
    )
    row = 2 * WINDOW + 1
    k = row + 2 * len(STRIDES) + 2 * 150
    blocks = 2 * ceil(WINDOW / sparse.BLOCK) + 1
    attended = len(sparse.attended_positions(37_400, N, pattern, GLOBALS))
    stated(
        "6d",
        f"$k={maths(k)}$, and the bound is {N * k:,}",
        f"The exact count is {total:,} ({total / N:,.1f} per position), {N * N / total:.1f} times "
        f"less than {N * N:,}",
        f"{2 * N * N // 1000:,} at 75,000",
        f"From $n$ = {1000 * row // 2:,} on they outweigh the window",
        f"blocks of {sparse.BLOCK} queries and $w={WINDOW}$, each row is multiplied with the keys "
        f"of {blocks} blocks, {blocks * sparse.BLOCK:,} instead of {row:,}",
        f"token 37,400 attends to {row:,} positions of its window (two of them global), 8 at the "
        f"strides, and {attended - row - 8} other",
        f"together {attended:,} of 75,000",
    )
    for g, low, high in ((150, 1170, 1190), (200, 1220, 1240)):  # the range that the rubric accepts
        chosen = range(0, g * (N // g), N // g)
        for i in range(30_001, 45_000, 777):
            assert low <= len(sparse.attended_positions(i, N, pattern, chosen)) <= high
        stated("6d", f"{low:,} to {high:,}")


def fewest_steps(causal):
    """The fewest connections from position 1,000 to 60,000, without global positions."""
    reached, steps = 1 << 1000, 0  # a bit for each position
    while not reached >> 60_000 & 1:
        before, steps = reached, steps + 1
        for shift in (*range(1, WINDOW + 1), *STRIDES):
            reached |= before << shift | (0 if causal else before >> shift)
        reached &= (1 << N) - 1
    return steps


def test_steps_between_far_positions():
    """6d iii: with strides in both directions and causally, and with a window alone."""
    assert 7 * 8192 + 2048 - 392 == 7 * 8192 + 1024 + 512 + 120 == 60_000 - 1000
    stated(
        "6d",
        f"distance of 59,000 in {fewest_steps(False)} steps in both directions "
        f"($7\\cdot8192+2048-392$), and in {fewest_steps(True)} causally "
        "($7\\cdot8192+1024+512+120$)",
    )


def test_streaming_memory():
    """6d v: the bytes of the cache, of all keys and values, and of the claim."""
    entry, held, claimed = 2 * D_MODEL * 4, max(STRIDES) + 200, WINDOW + 200 + 16
    cache, dense, claim = (count * entry / 1e6 for count in (held, N, claimed))
    stated(
        "6d",
        rf"{maths(held * entry)}\text{{ bytes}}\approx{cache:.1f}\text{{ MB per layer}}",
        f"{cache * 32 / 1e3:.2f} GB for 32 layers, whatever",
        f"it is {claim * 32:.1f} MB, or {claim * 16:.1f} MB in \\code{{float16}}, not 22",
        f"take {dense:.1f} MB per layer, {dense * 32 / 1e3:.2f} GB for 32",
        f"the saving is {N / held:.1f} times",
        f"$512+200+16={claimed}$ entries are {claimed * 2 * D_MODEL:,} numbers, {claim:.2f} MB per "
        f"layer in \\code{{float32}}, or {claim / 2:.2f} MB in \\code{{float16}}: "
        f"{claim / 4:.1f} MB counts one byte per number",
        f"that is {N / claimed:.0f} times ($75000/{claimed}$)",
        f"({claim:.1f} MB in \\texttt{{float32}}, {claim / 2:.1f} in",
    )


def test_sampling_examples(solution):
    """6e: the box of examples."""
    fixes = solution("problem6.fixes")
    probabilities = torch.tensor([0.5, 0.3, 0.15, 0.05])
    kept = fixes.top_p_filter(probabilities.log(), 0.9).isfinite()
    wrong = probabilities.cumsum(0) <= 0.9  # without the token that crosses the threshold
    punished = fixes.repetition_penalty(torch.tensor([2, -1, 0.5]), [0, 1], 1.2)
    assert (kept.sum(), wrong.sum()) == (3, 2)
    stated(
        "problem6",
        f"three tokens stay, together {probabilities[kept].sum():.2f}",
        f"two stay, with {probabilities[wrong].sum():.1f}",
        f"({punished[0]:.3f}, ${punished[1]:.1f}$, {punished[2]:.1f})",
        f"gives ${-1 / 1.2:.3f}$",
    )


def test_costs_of_documents():
    """6g: the connections, and all multiply-adds of a layer, dense and with a causal decoder."""
    n, question, d = 10 * 1000, 50, D_MODEL
    total, encoder, decoder = n + question, 10 * 1000**2, question * n
    own, causal = (length * (length + 1) // 2 for length in (question, total))

    def layer(queries, connections):
        """Projections of the queries' tokens, feed-forward network, scores and weighted sum."""
        return 4 * queries * d * d + 2 * queries * d * D_FF + 2 * connections * d

    reading, memory = layer(n, encoder), 2 * n * d * d
    writing = layer(question, question**2 + decoder) + 2 * question * d * d
    ours, later = reading + memory + writing, memory + writing
    whole, masked = layer(total, total**2), layer(total, causal)
    stated(
        "6g",
        rf"encoder $10\cdot1000^2$ = {encoder:,}",
        rf"$50\cdot10{{,}}000$ = {decoder:,}",
        f"self-attention {own:,}",
        f"has {causal:,} causally ({total**2:,} for dense work",
        f"a factor of {total**2 / (encoder + decoder + own):.1f}",
        f"one decoder takes {whole / ours:.1f} times as many",
        f"about {whole / later:.0f} times as many as our decoder if that projects",
        f"{whole / writing:.0f} times if they were kept",
        f"({masked / ours:.1f} with a causal decoder)",
        f"{masked / later:.0f} to {whole / later:.0f} after the question",
    )
    stated("problem6", rf"ten times $1000^2$, and once ${maths(total)}^2$")
