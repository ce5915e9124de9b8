"""Problem 6: each number in its text and its worked answers, computed again, and the claims between
them.

`stated` looks for the number as computed here, with the words around it, in handout/problem6.tex
("handout"), in a question's file in instructor/rubrics/, or in a file of the starter.
"""

from math import ceil, cos, exp, log, log2, pi, sin, sqrt

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from conftest import ROOT
from jobs.presets import LAPTOP

N, WINDOW, STRIDES, GLOBALS = 75_000, 512, (1024, 2048, 4096, 8192), range(0, 75_000, 500)
D_MODEL, HEADS, D_FF, T = 512, 8, 2048, 100


def stated(name, *texts):
    """Assert that a file has each text, whatever its line breaks."""
    path = (
        ROOT / "handout" / "problem6.tex"
        if name == "handout"
        else ROOT / "src" / "submission" / "problem6" / name
        if name.endswith(".py")
        else ROOT / "instructor" / "rubrics" / f"{name}.tex"
    )
    said = " ".join(path.read_text(encoding="utf-8").split())
    for text in texts:
        assert text in said, f"{path.name} does not say {text!r}"


def maths(number):
    """A number with thousands as typed in a formula."""
    return f"{number:,}".replace(",", "{,}")


# 6a: accounting


def parameters(module):
    """The number of trained parameters."""
    return sum(parameter.numel() for parameter in module.parameters())


def test_parameters_are_those_of_torch(submission):
    """6a: the formulas that the text describes, against torch's modules and our GPT."""
    d, f = 24, 56
    for bias in (True, False):
        attention = 4 * d * d + 4 * d * bias
        assert parameters(nn.MultiheadAttention(d, 3, bias=bias)) == attention
        layer = attention + 2 * d * f + (f + d) * bias + 2 * (d + d * bias)
        assert parameters(nn.TransformerEncoderLayer(d, 3, f, bias=bias)) == layer
    vocab, d, block = 53, LAPTOP.n_embd, LAPTOP.block_size
    model = submission.GPT(
        submission.GPTConfig(vocab, block, n_layer=LAPTOP.n_layer, n_head=LAPTOP.n_head, n_embd=d)
    )
    count = 2 * vocab * d + block * d + LAPTOP.n_layer * (12 * d * d + 13 * d) + 2 * d
    assert parameters(model) == count
    stated(
        "handout",
        f"with {vocab} symbols and the sizes of the preset \\code{{laptop}} that is {count:,}",
    )


def test_the_notebook_has_the_sizes_of_the_presets():
    """1a: the parameters of both sizes, in millions."""
    from jobs.presets import GPU

    notebook = ROOT / "src" / "submission" / "mingpt-demo" / "play_char.ipynb"
    counts = [
        2 * vocab * size.n_embd
        + size.block_size * size.n_embd
        + size.n_layer * (12 * size.n_embd**2 + 13 * size.n_embd)
        + 2 * size.n_embd
        for vocab, size in ((53, LAPTOP), (77, GPU))
    ]
    assert (
        f"{counts[0] / 1e6:.2f} million with the preset `laptop`, and {counts[1] / 1e6:.1f} million"
        " with `gpu`" in notebook.read_text(encoding="utf-8")
    )


def test_operations_are_those_that_torch_counts():
    """6a: the box that shows both conventions."""
    head = T * T * (D_MODEL // HEADS)
    scores, softmax, projections, mlp = (
        HEADS * head,
        3 * T * T,
        4 * T * D_MODEL * D_MODEL,
        2 * T * D_MODEL * D_FF,
    )
    q = torch.zeros(1, HEADS, T, D_MODEL // HEADS)
    x = torch.zeros(T, D_MODEL)
    with FlopCounterMode(display=False) as counter:
        weights = q @ q.transpose(-2, -1)
    assert counter.get_total_flops() == 2 * scores
    with FlopCounterMode(display=False) as counter:
        weights @ q
    assert counter.get_total_flops() == 2 * scores
    with FlopCounterMode(display=False) as counter:
        for _ in range(4):
            x @ torch.zeros(D_MODEL, D_MODEL)
    assert counter.get_total_flops() == 2 * projections
    with FlopCounterMode(display=False) as counter:
        x @ torch.zeros(D_MODEL, D_FF) @ torch.zeros(D_FF, D_MODEL)
    assert counter.get_total_flops() == 2 * mlp
    stated(
        "handout",
        f"scores, one head & {head:,} & {2 * head:,}",
        f"softmax, one head & & {softmax:,}",
        f"weighted sum, one head & {head:,} & {2 * head:,}",
        f"scores, softmax and weighted sum, 8 heads & {2 * scores:,} & "
        f"{4 * scores + HEADS * softmax:,}",
        rf"projections, $4\cdot{T}\cdot{D_MODEL}\cdot{D_MODEL}$ & {projections:,} & {2 * projections:,}",
        f"feed-forward network & {mlp:,} & {2 * mlp:,}",
        f"gives {(2 * head + softmax) / 1e6:.2f} million for a head, "
        f"{HEADS * (2 * head + softmax) / 1e6:.2f} million for eight",
    )


def test_key_value_cache_of_13_billion_parameters():
    """6a: the bytes, and that the layers alone make about 13 billion parameters."""
    n_layer, d, length = 40, 5120, 4096
    size = 2 * n_layer * d * length * 2
    stated(
        "handout",
        f"{n_layer} layers, $d={d}$, {length} tokens",
        f"must have {size:,} bytes = {size / 2**30:.3f} GiB",
    )
    assert 12.5e9 < n_layer * 12 * d * d + 2 * 32_000 * d < 13.5e9
    assert all(d % heads == 0 for heads in (32, 40))


# 6c: positions


def sinusoids(positions, d_model):
    """The encoding of the handout in float64."""
    angles = np.outer(positions, 10000.0 ** (-2 * np.arange(d_model // 2) / d_model))
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(len(angles), d_model)


def test_encodings_are_as_exact_as_asked():
    """6c: any way to write the frequencies in float64 is within 1e-11 for 1,000 positions; angles
    in float32 are not.
    """
    pairs = 2 * np.arange(D_MODEL // 2)
    position = np.arange(1000)
    exact = np.outer(position, np.exp(-np.log(np.longdouble(10000)) * pairs / D_MODEL))
    for angles in (
        position[:, None] / 10000.0 ** (pairs / D_MODEL),
        np.outer(position, 10000.0 ** (-pairs / D_MODEL)),
        np.outer(position, np.exp(-log(10000) / D_MODEL * pairs)),
    ):
        assert np.abs(np.sin(angles) - np.sin(exact)).max() < 1e-12
        wrong = np.abs(np.sin(angles.astype(np.float32)) - np.sin(exact)).max()
        assert 0.5e-5 < wrong < 5e-5
    stated("positions.py", "the error is under 1e-11", "already wrong by about 1e-5 there")


def test_shifts_are_linear():
    """6c: PE[p + k] = PE[p] M_k to 1e-10 with the block of the answer; a sine alone has no such
    map.
    """
    d_model = 64
    positions = np.arange(1001)
    for k in (1, 50, 100, 1000, -17):
        matrix = np.zeros((d_model, d_model))
        for i in range(0, d_model, 2):
            angle = k * 10000.0 ** (-i / d_model)
            matrix[i : i + 2, i : i + 2] = [[cos(angle), -sin(angle)], [sin(angle), cos(angle)]]
        assert (
            np.abs(sinusoids(positions, d_model) @ matrix - sinusoids(positions + k, d_model)).max()
            < 1e-10
        )
    products = sinusoids(positions, d_model) @ sinusoids(positions, d_model).T
    assert all(np.ptp(np.diagonal(products, distance)) < 1e-10 for distance in (0, 3, 700))
    # No continuous function: equal sines have different successors. At integers no two sines are
    # equal, but some are as near as one likes, with successors far apart.
    assert np.isclose(sin(0.4), sin(pi - 0.4)) and not np.isclose(sin(0.4 + 1), sin(pi - 0.4 + 1))
    sines = np.sin(np.arange(100_000))
    order = np.argsort(sines)
    assert len(np.unique(sines)) == len(sines)
    successors = np.sin(np.arange(100_000) + 1)[order]
    assert np.abs(np.diff(sines[order])).max() < 1e-3 and np.abs(np.diff(successors)).max() > 1.6
    stated(
        "6c", r"\begin{pmatrix}\cos k\omega&-\sin k\omega\\ \sin k\omega&\cos k\omega\end{pmatrix}"
    )
    stated(
        "handout",
        r"$\begin{pmatrix}\cos k\omega&-\sin k\omega\\ \sin k\omega&\cos k\omega\end{pmatrix}$",
    )


def test_rope_scores_depend_on_the_distance_as_exactly_as_asked(submission, seed):
    """6c: to 1e-4 with the reference's functions."""
    from submission.attention import apply_rotary_emb, precompute_rotary_emb

    table = precompute_rotary_emb(64, 2048)
    for dtype in (torch.float32, torch.float64):
        q, k = torch.randn(2, 1, 1, 1, 64, dtype=dtype)
        scores = [
            (apply_rotary_emb(q, table[p + 7 :]) * apply_rotary_emb(k, table[p:])).sum().item()
            for p in range(0, 2000, 29)
        ]
        assert max(scores) - min(scores) < 1e-4
    stated("positions.py", "to 1e-4 for standard normal q and k of width 64")


def distances(k):
    """|PE[p + k] - PE[p]| for an array of shifts, at d_model = 512."""
    omega = 10000.0 ** (-2 * np.arange(D_MODEL // 2) / D_MODEL)
    return np.concatenate(
        [
            np.sqrt((4 * np.sin(np.outer(part, omega) / 2) ** 2).sum(axis=1))
            for part in np.array_split(k, 1 + len(k) // 20_000)
        ]
    )


def test_wavelengths_and_distances_between_positions():
    """6c ii and iii."""
    last = 2 * pi * 10000 ** (510 / 512)
    table = sinusoids(np.array([7, 7 + 62_832]), D_MODEL)
    one, two, far = distances(np.array([1, 2, 62_832]))
    assert np.isclose(np.linalg.norm(table[0] - table[1]), far)
    nearest = distances(np.arange(100, 200_001)).min()
    stated("handout", rf"2\pi\cdot10000\approx{maths(round(2 * pi * 10000))}")
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
    assert one < two < nearest < far
    assert np.isclose(10000 ** (-510 / 512), 1e-4, rtol=0.05)


def test_integers_that_short_formats_hold():
    """6c iii: all integers up to these, and not the next one."""
    for dtype, limit in ((torch.bfloat16, 256), (torch.float16, 2048), (torch.float32, 16_777_216)):
        assert torch.tensor(float(limit), dtype=torch.float64).to(dtype).item() == limit
        assert torch.tensor(float(limit + 1), dtype=torch.float64).to(dtype).item() != limit + 1
        below = torch.arange(max(0, limit - 5000), limit + 1, dtype=torch.float64)
        assert torch.equal(below.to(dtype).double(), below)
        stated("6c", f"{limit:,}")
    # a rounded table still tells positions apart
    neighbors = torch.tensor(sinusoids(np.arange(N), D_MODEL)[::500]).bfloat16().double()
    assert torch.cdist(neighbors, neighbors).fill_diagonal_(9).min() > 8


# 6d: sparse attention


def allowed(n, window, strides, globals_, causal):
    """The pattern as a mask, following the handout's wording."""
    i, j = np.indices((n, n))
    near, at_stride = abs(i - j) <= window, np.isin(abs(i - j), strides)
    if causal:
        return (j <= i) & (near | at_stride | np.isin(j, globals_))
    return near | at_stride | np.isin(i, globals_) | np.isin(j, globals_)


def count(n, window, strides, globals_, causal):
    """The connections without listing all pairs: by parts, minus what is counted twice (a dict of
    the parts).
    """
    globals_ = sorted(set(globals_))
    strides = [s for s in set(strides) if window < s < n]
    window = min(window, n - 1)
    before = {p: min(window, p) + sum(s <= p for s in strides) for p in globals_}
    after = {p: min(window, n - 1 - p) + sum(p + s < n for s in strides) for p in globals_}
    g = len(globals_)
    if causal:
        parts = {
            "window": n * (window + 1) - window * (window + 1) // 2,
            "strides": sum(n - s for s in strides),
            "global": sum(n - 1 - p for p in globals_),
            "twice": -sum(after.values()),
        }
    else:
        both = sum(
            abs(p - q) <= window or abs(p - q) in strides for p in globals_ for q in globals_
        )
        parts = {
            "window": n * (2 * window + 1) - window * (window + 1),
            "strides": 2 * sum(n - s for s in strides),
            "global": 2 * g * n - g * g,
            "twice": both - 2 * sum(1 + before[p] + after[p] for p in globals_),
        }
    return parts | {"together": sum(parts.values())}


def test_connections_of_the_record(submission):
    """6d: the table of estimate and exact count, the check by hand, and what i and ii say."""
    estimate = [N * 2 * WINDOW, 2 * 150 * N, 32 * N]
    both, causal = (count(N, WINDOW, STRIDES, GLOBALS, causal) for causal in (False, True))
    total = both["together"]
    stated(
        "efficient_attention.py", f"window: int = {WINDOW}", f"strides: tuple[int, ...] = {STRIDES}"
    )
    assert len(GLOBALS) == 150 and GLOBALS[-1] == 74_500
    stated(
        "handout",
        f"window & {estimate[0]:,} & {both['window']:,} &",
        f"global positions & {estimate[1]:,} & {both['global']:,} &",
        f"long range & {estimate[2]:,} & {both['strides']:,} &",
        f"counted twice & & $-{-both['twice']:,}$ &",
        f"together & {sum(estimate):,} & {total:,} &",
        f"Full attention has {N * N:,}: the estimate says {N * N / sum(estimate):.0f} times",
        f"the exact count {N * N / total:.1f} times",
        f"The causal pattern has {causal['together']:,}",
        f"full causal attention {N * (N + 1) / 2 / causal['together']:.1f} times as many",
        rf"$75{{,}}000^2$ = {N * N:,} scores for one head of one layer, {N * N * 4 / 1e9:.1f} GB",
        f"gives {allowed(16, 2, (4, 8), (0,), False).sum()} connections, and "
        f"{allowed(16, 2, (4, 8), (0,), True).sum()} causally",
    )
    k = 2 * WINDOW + 1 + 2 * len(STRIDES) + 2 * 150
    stated(
        "6d",
        f"$k={maths(k)}$, and the bound is {N * k:,}",
        f"The exact count is {total:,} ({total / N:,.1f} per position), {N * N / total:.1f} times "
        f"less than {N * N:,}",
        f"{2 * N * N // 1000:,} at 75,000",
        f"From $n$ = {1000 * (2 * WINDOW + 1) // 2:,} on they outweigh the window",
    )
    from submission.problem6.efficient_attention import BLOCK

    nearest = 2 * ceil(WINDOW / BLOCK) + 1
    stated(
        "6d",
        f"blocks of {BLOCK} queries and $w={WINDOW}$, each row is multiplied with the keys of "
        f"{nearest} blocks, {nearest * BLOCK:,} instead of {2 * WINDOW + 1:,}",
    )
    i, j = 37_400, np.arange(N)
    row = (abs(i - j) <= WINDOW) | np.isin(abs(i - j), STRIDES)
    in_window = sum(abs(i - p) <= WINDOW for p in GLOBALS)
    others = (~row & np.isin(j, GLOBALS)).sum()
    assert in_window == 2 and row.sum() == 1025 + 8
    stated(
        "6d",
        f"token {i:,} attends to {2 * WINDOW + 1:,} positions of its window (two of them global), "
        f"8 at the strides, and {others} other",
        f"together {row.sum() + others:,} of 75,000",
    )
    for g, low, high in ((150, 1170, 1190), (200, 1220, 1240)):  # the range that the rubric accepts
        globals_ = np.arange(g) * (N // g)
        sizes = [
            len(np.union1d(j[(abs(i - j) <= WINDOW) | np.isin(abs(i - j), STRIDES)], globals_))
            for i in range(30_001, 45_000, 777)
        ]
        assert low <= min(sizes) and max(sizes) <= high
        stated("6d", f"{low:,} to {high:,}")


def hops(distance, window, strides, back):
    """The fewest connections, all of the window or a stride, that lead this far; with `back`,
    also in both directions.
    """
    margin = max(strides, default=0) + window if back else 0
    reached = np.zeros(distance + 1 + 2 * margin, dtype=bool)
    reached[margin] = True
    for step in range(1, 200):
        sums = np.concatenate([[0], np.cumsum(reached)])
        places = np.arange(len(reached))
        right = np.minimum(len(reached), places + window + 1) if back else places + 1
        fresh = sums[right] > sums[np.maximum(0, places - window)]
        for s in strides:
            fresh[s:] |= reached[:-s]
            if back:
                fresh[:-s] |= reached[s:]
        reached |= fresh
        if reached[margin + distance]:
            return step
    raise AssertionError("not reached")


def test_steps_between_far_positions():
    """6d iii: with strides in both directions and causally, with a window alone, and two over
    global positions.
    """
    both, causal, window = (
        hops(59_000, WINDOW, strides, back)
        for strides, back in ((STRIDES, True), (STRIDES, False), ((), True))
    )
    assert window == ceil(59_000 / WINDOW)
    assert 7 * 8192 + 2048 - 392 == 7 * 8192 + 1024 + 512 + 120 == 59_000
    assert ceil(log2(59_000)) == 16
    stated(
        "6d",
        f"distance of 59,000 in {both} steps in both directions ($7\\cdot8192+2048-392$), and in "
        f"{causal} causally",
        r"causally ($7\cdot8192+1024+512+120$)",
        rf"$\lceil59000/512\rceil$ = {window} layers",
    )
    # global positions at most a window apart: two layers reach everything before
    for causal in (False, True):
        n, w = 120, 6
        mask = allowed(n, w, (), np.arange(0, n, w), causal).astype(int)
        reach = (mask @ mask) > 0
        assert reach[np.tril_indices(n)].all() and (causal or reach.all())
    sparse = allowed(120, 6, (), [0, 60], True).astype(int)
    # too far apart, two are not enough
    assert not ((sparse @ sparse) > 0)[np.tril_indices(120)].all()


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
        f"it is {claimed * entry * 32 / 1e6:.1f} MB, or {claimed * entry * 16 / 1e6:.1f} MB in "
        "\\code{float16}, not 22",
        f"that is {N / claimed:.0f} times ($75000/{claimed}$)",
    )
    assert round(claimed * 2 * D_MODEL / 1e6, 1) == 0.7  # so the claim counts a byte per number
    assert 3.0 == round(claimed * entry / 1e6, 1) and 1.5 == round(claimed * entry / 2e6, 1)


# 6e: debugging


def test_unscaled_scores():
    """6e i: the deviation of the scores, the saturated softmax, the gradients, and what the
    loss says.
    """
    torch.manual_seed(0)
    q, k = torch.randn(2, 400, 1024, requires_grad=True)
    scores = q @ k.T
    assert np.isclose(scores.detach().std(), sqrt(1024), rtol=0.02)
    assert (scores.softmax(-1).max(dim=-1).values > 0.9).float().mean() > 0.7
    assert (scores / 32).softmax(-1).max() < 0.2
    stated(
        "6e",
        f"standard deviation {sqrt(1024):.0f}",
        f"loss of $\\ln n_\\text{{vocab}}$ ({log(50_000):.1f} for 50,000 tokens)",
        f"about $10^{{{round(log(exp(-156.3)) / log(10))}}}$",
    )
    stated("handout", "step 300: loss 156.3", r"i: $\sqrt{1024}=32$")


def test_a_post_norm_halves_the_variance_of_the_path():
    """6e iii, idealized: one norm divides the gradient on the identity path by sqrt(2); and what 48
    of them leave.
    """
    torch.manual_seed(0)
    x, y, g = torch.randn(3, 1000, 512)
    x.requires_grad_()
    F.layer_norm(x + y, (512,)).backward(g)
    assert np.isclose((x.grad.std() / g.std()).item(), 1 / sqrt(2), rtol=0.01)
    left = sqrt(0.5) ** 48
    stated(
        "6e",
        "24 layers have two sublayers each, attention and feed-forward network, so there are 48 norms",
        "gives $\\sigma=\\sqrt2$",
        rf"$2^{{-24}}\approx{left * 1e8:.0f}\cdot10^{{-8}}$",
        f"{(5.2 - 4.8) / (5.2 - 2.1):.0%}".replace("%", r"\% of the way to 2.1"),
        rf"$0.02/\sqrt{{2\cdot24}}={0.02 / sqrt(48):.5f}$",
    )
    stated(
        "handout",
        f"the scaled standard deviation is {0.02 / sqrt(48):.5f}",
        "epoch 1: loss 5.2",
        "epoch 100: loss 4.8",
        "A baseline reaches 2.1",
    )


def at_xavier(seed, n_layer=24, length=100):
    """What a post-norm stack of width D_MODEL does at Xavier initialization: the variances of the
    branches of attention and feed-forward networks, by layer, and the product of all 1/sigma.
    """
    torch.manual_seed(seed)
    x = F.layer_norm(torch.randn(1, length, D_MODEL), (D_MODEL,))
    variances, left = {"attention": [], "feed-forward": []}, 1.0
    for _ in range(n_layer):
        heads, proj, up, down = (
            nn.init.xavier_uniform_(torch.empty(rows, columns)).T
            for rows, columns in (
                (D_MODEL, D_MODEL),
                (D_MODEL, D_MODEL),
                (D_FF, D_MODEL),
                (D_MODEL, D_FF),
            )
        )
        q, k, v = (
            (x @ matrix).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for matrix in (
                heads,
                *(nn.init.xavier_uniform_(torch.empty(D_MODEL, D_MODEL)) for _ in "kv"),
            )
        )
        branches = {
            "attention": lambda x, a=(q, k, v), m=proj: (
                F.scaled_dot_product_attention(*a).transpose(1, 2).flatten(2) @ m
            ),
            "feed-forward": lambda x, a=up, b=down: F.relu(x @ a) @ b,
        }
        for name, branch in branches.items():
            y = branch(x)
            variances[name].append(y.var(dim=-1).mean().item())
            left /= (x + y).std(dim=-1).log().mean().exp().item()
            x = F.layer_norm(x + y, (D_MODEL,))
    return variances, left


def test_branches_at_xavier_are_smaller_than_the_idealization():
    """6e iii: the variances, and the product over 48 norms, over three draws."""
    drawn = [at_xavier(seed) for seed in (1, 2, 3)]
    feed_forward = [value for variances, _ in drawn for value in variances["feed-forward"]]
    first, last = (np.mean([variances["attention"][i] for variances, _ in drawn]) for i in (0, -1))
    left = np.exp(np.mean([log(product) for _, product in drawn]))
    assert 0.85 < last < 1.15 and 3e-5 < left < 4e-5 and left > 300 * 2**-24
    stated(
        "6e",
        f"output has variance {np.mean(feed_forward):.2f}",
        f"that of attention {first:.2f} in the first layer",
        "about 1 in the last ones",
        "3 to $4\\cdot10^{-5}$",
    )


def nucleus(probabilities, p, shifted=True):
    """How many of these (sorted) tokens stay; unshifted is the usual mistake."""
    sums = np.cumsum(probabilities)
    return int((sums - probabilities < p).sum() if shifted else (sums <= p).sum())


def test_sampling_examples():
    """6e: the box of examples."""
    probabilities = np.array([0.5, 0.3, 0.15, 0.05])
    words = {0: "none at all", 2: "two stay", 3: "three tokens stay"}
    right, wrong = nucleus(probabilities, 0.9), nucleus(probabilities, 0.9, shifted=False)
    stated(
        "handout",
        f"{words[right]}, together {probabilities[:right].sum():g}",
        f"{words[wrong]}, with {probabilities[:wrong].sum():g}",
        "with probabilities (0.95, 0.05) "
        f"{words[nucleus(np.array([0.95, 0.05]), 0.9, shifted=False)]}",
    )
    logits, penalty = np.array([2, -1, 0.5]), 1.2
    repeated = np.array([True, True, False])
    punished = np.where(repeated, np.where(logits > 0, logits / penalty, logits * penalty), logits)
    stated(
        "handout",
        f"({punished[0]:.3f}, ${punished[1]:.1f}$, {punished[2]:.1f})",
        f"gives ${-1 / penalty:.3f}$",
    )
    assert (punished <= logits).all() and -1 / penalty > -1


def test_what_init_depth_scaled_scales_is_there(submission):
    """6e: in our GPT, the names that the handout gives are the two layers of a block that write
    into the residual stream.
    """
    block = submission.GPT(submission.GPTConfig(9, 8, n_layer=1, n_head=2, n_embd=8)).blocks[0]
    assert (
        isinstance(block.attn.proj, nn.Linear)
        and [type(part) for part in block.mlp].count(nn.Linear) == 2
    )


# 6g: documents


def test_costs_of_documents():
    """6g: the connections of the answer, and that a question's rows and a document's are as the
    handout says.
    """
    documents, question = 10 * [1000], 50
    total = sum(documents) + question
    stated(
        "6g",
        rf"encoder $10\cdot1000^2$ = {sum(n * n for n in documents):,}",
        rf"$50\cdot10{{,}}000$ = {question * sum(documents):,}",
        f"self-attention {question * (question + 1) // 2:,}",
        f"has {total * (total + 1) // 2:,} causally ({total * total:,} for dense work",
    )
    stated("handout", rf"ten times $1000^2$, and once ${maths(total)}^2$")
    encoder, ours = sum(n * n for n in documents), question * sum(documents)
    stated(
        "6g", f"a factor of {total * total / (encoder + ours + question * (question + 1) // 2):.1f}"
    )


def test_costs_of_whole_layers():
    """6g: with projections and feed-forward networks, all multiply-adds of a layer; dense, and with
    a causal decoder.
    """
    d, documents, question = D_MODEL, 10 * [1000], 50
    n = sum(documents)

    def layer(queries, keys):
        """Projections of the queries' tokens, feed-forward network, scores and weighted sum."""
        return 4 * queries * d * d + 2 * queries * d * D_FF + 2 * keys * d

    encoder = layer(n, sum(length**2 for length in documents))
    memory = 2 * n * d * d
    decoder = layer(question, question**2) + 2 * question * d * d + 2 * question * n * d
    whole = layer(n + question, (n + question) ** 2)
    causal = layer(n + question, (n + question) * (n + question + 1) // 2)
    stated(
        "6g",
        f"one decoder takes {whole / (encoder + memory + decoder):.1f} times as many",
        f"about {whole / (memory + decoder):.0f} times as many as our decoder if that projects",
        f"{whole / decoder:.0f} times if they were kept",
        f"({causal / (encoder + memory + decoder):.1f} with a causal decoder)",
        f"{causal / (memory + decoder):.0f} to {whole / (memory + decoder):.0f} after the question",
    )
