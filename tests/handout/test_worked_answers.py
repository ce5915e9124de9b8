"""The worked answers are correct: their formulas on random inputs, and each number, computed again.

`stated` looks for the number as computed here in instructor/rubrics/ and handout/problem2.tex, so
that text and test cannot drift apart. Sizes that could be mixed up (positions, features, values)
differ everywhere.
"""

import contextlib
import io
import re
from math import erf, exp, log, pi, sqrt

import numpy as np
import pytest
import torch

from conftest import DATA, RESULTS, ROOT

# sampled numbers may be this many standard errors off: a false alarm in under 1e-8 of the
# comparisons
SIGMAS = 6
DRAWS = 20000
EPSILON = 1e-14  # "vanishingly small"


@pytest.fixture
def rng(seed):
    """NumPy's random numbers, fresh for every run."""
    return np.random.default_rng(seed)


def stated(name, *texts):
    """Assert that a file has each text, whatever its line breaks. A name without a folder is a
    question's solution.
    """
    path = (
        ROOT / "handout" / name
        if name.endswith(".tex")
        else ROOT / "instructor" / "rubrics" / f"{name}.tex"
    )
    said = " ".join(path.read_text(encoding="utf-8").split())
    for text in texts:
        assert text in said, f"{path.name} does not say {text!r}"


def softmax(scores):
    """Over the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def normal(x):
    """Phi, the distribution function of the standard normal distribution."""
    return (1 + erf(x / sqrt(2))) / 2


def orthonormal(rng, n, d):
    """n random orthonormal rows of d > n features."""
    return np.linalg.qr(rng.normal(size=(d, n)))[0].T


def close_to_sampled(samples, mean, variance, slack=1e-4):
    """Assert that the samples, one number per draw, have this mean and variance, up to SIGMAS
    standard errors and `slack`.
    """
    squares = (samples - samples.mean()) ** 2
    assert abs(samples.mean() - mean) < SIGMAS * samples.std() / sqrt(len(samples)) + slack
    assert abs(squares.mean() - variance) < SIGMAS * squares.std() / sqrt(len(samples)) + slack


# Question 1g: rotary embeddings


def rope_matrix(t, angles):
    """The block-diagonal matrix of RoPE at position t, one 2 x 2 rotation per angle."""
    matrix = np.zeros((2 * len(angles), 2 * len(angles)))
    for i, angle in enumerate(t * angles):
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [
            [np.cos(angle), -np.sin(angle)],
            [np.sin(angle), np.cos(angle)],
        ]
    return matrix


def test_rope_has_a_matrix_and_a_complex_form(submission, rng):
    """1g i: the matrix times x, the product of complex numbers, and the reference's function give
    the same features.
    """
    from submission.attention import apply_rotary_emb, precompute_rotary_emb

    head_dim, T = 10, 7
    # theta_i with i = 1, ..., d/2, as in 1g
    angles = 10000.0 ** (-2 * (np.arange(1, head_dim // 2 + 1) - 1) / head_dim)
    x = rng.normal(size=(2, 3, T, head_dim))
    rotated = apply_rotary_emb(torch.tensor(x), precompute_rotary_emb(head_dim, T + 4)).numpy()
    for t in range(T):
        by_matrix = x[..., t, :] @ rope_matrix(t, angles).T
        pairs = np.exp(1j * t * angles) * (x[..., t, 0::2] + 1j * x[..., t, 1::2])
        by_complex = np.stack((pairs.real, pairs.imag), axis=-1).reshape(2, 3, head_dim)
        assert np.allclose(by_matrix, by_complex, rtol=0, atol=1e-12)
        assert np.allclose(by_matrix, rotated[..., t, :], rtol=0, atol=1e-5)  # its table is float32


def test_rope_depends_on_the_distance_alone(submission, rng):
    """1g ii: <RoPE(z1, t1), RoPE(z2, t2)> = <RoPE(z1, t1 - t2), RoPE(z2, 0)>, in complex numbers
    and with the reference.
    """
    from submission.attention import apply_rotary_emb, precompute_rotary_emb

    def rope(z, t):
        return np.exp(1j * t * theta) * z

    def dot(z1, z2):
        return (np.conj(z1) * z2).real

    theta = rng.uniform(0.1, 3)
    z1, z2 = rng.normal(size=2) + 1j * rng.normal(size=2)
    assert np.isclose(dot(z1, z2), z1.real * z2.real + z1.imag * z2.imag, rtol=0, atol=1e-12)
    for t1, t2 in rng.integers(0, 200, size=(20, 2)):
        assert np.isclose(
            dot(rope(z1, t1), rope(z2, t2)), dot(rope(z1, t1 - t2), rope(z2, 0)), rtol=0, atol=1e-10
        )

    head_dim, T = 6, 9
    table = precompute_rotary_emb(head_dim, T).double()
    q, k = (
        apply_rotary_emb(torch.tensor(rng.normal(size=head_dim)).expand(1, 1, T, head_dim), table)[
            0, 0
        ]
        for _ in range(2)
    )
    products = (q @ k.T).numpy()  # [t1, t2]
    for distance in range(1 - T, T):
        assert np.ptp(np.diagonal(products, -distance)) < 1e-5
    assert np.ptp(products[:, 0]) > 1e-3  # the distance does matter


# Problem 3: what one head and two heads can do


def test_copying(rng):
    """3a: the bounds on the weight and on the error, the gap that is enough, and that a small gap
    is not.
    """
    n, d, d_v = 9, 5, 4
    for scale in (0.3, 1, 3, 10):
        keys, values, q = (
            rng.normal(size=(n, d)),
            rng.normal(size=(n, d_v)),
            scale * rng.normal(size=d),
        )
        scores = keys @ q
        j = scores.argmax()
        gap = scores[j] - np.delete(scores, j).max()
        weights = softmax(scores)
        assert (
            1 - (n - 1) * exp(-gap) - 1e-12 <= 1 / (1 + (n - 1) * exp(-gap)) <= weights[j] + 1e-12
        )
        assert weights[j] <= 1 / (1 + exp(-gap)) + 1e-12
        error, widest = (
            np.linalg.norm(weights @ values - values[j]),
            np.linalg.norm(values - values[j], axis=1).max(),
        )
        assert error <= (1 - weights[j]) * widest + 1e-12 <= (n - 1) * exp(-gap) * widest + 2e-12

    n, delta = 128, 0.01
    enough = log((n - 1) / delta)
    assert softmax(np.array([enough] + [0.0] * (n - 1)))[0] >= 1 - delta
    assert softmax(np.array([enough - 0.1] + [0.0] * (n - 1)))[0] < 1 - delta
    one = softmax(np.array([1.0] + [0.0] * (n - 1)))[0]
    stated(
        "3a",
        f"a gap of {enough:.2f}",
        f"e / (e + {n - 1}) = {one:.3f}",
        rf"a gap of 1 among {n} gives {100 * one:.0f}\%",
    )


def averaging_rest(n, beta):
    """The weight that q = beta (k_a + k_b) leaves to the other positions, by 3b's formula."""
    return (n - 2) * exp(-beta) / (2 + (n - 2) * exp(-beta))


def test_averaging(rng):
    """3b: the weights under q = beta (k_a + k_b) with orthonormal keys, the output, and how large
    beta has to be.
    """
    n, d, d_v, a, b = 7, 11, 4, 5, 2
    keys, values = orthonormal(rng, n, d), rng.normal(size=(n, d_v))
    others = np.delete(np.arange(n), [a, b])
    for beta in (0.0, 0.7, 3.0, 12.0):
        weights = softmax(keys @ (beta * (keys[a] + keys[b])))
        assert np.allclose(weights[[a, b]], 1 / (2 + (n - 2) * exp(-beta)), rtol=0, atol=1e-12)
        assert np.allclose(
            weights[others], exp(-beta) / (2 + (n - 2) * exp(-beta)), rtol=0, atol=1e-12
        )
        rest = averaging_rest(n, beta)
        output = (1 - rest) * (values[a] + values[b]) / 2 + rest * values[others].mean(axis=0)
        assert np.allclose(weights @ values, output, rtol=0, atol=1e-12)
        assert rest <= (n - 2) / 2 * exp(-beta)

    u = rng.normal(size=d)  # anything, as long as it scores a and b equally
    u -= (keys[a] - keys[b]) * ((keys[a] - keys[b]) @ u) / 2
    assert np.allclose(
        softmax(keys @ (60 * (keys[a] + keys[b]) + u)) @ values,
        (values[a] + values[b]) / 2,
        rtol=0,
        atol=1e-9,
    )
    assert not np.allclose(
        softmax(keys @ (60 * keys[a] + 50 * keys[b])) @ values,
        (values[a] + values[b]) / 2,
        rtol=0,
        atol=1e-2,
    )

    n, delta = 128, 0.01
    enough = log((n - 2) / (2 * delta))
    assert averaging_rest(n, enough) <= delta < averaging_rest(n, enough - 0.1)
    rests = [averaging_rest(n, beta) for beta in (1, 5, 10)]
    stated(
        "3b",
        r"$w$ is {:.3f} at $\beta = 1$, {:.3f} at $\beta = 5$ and {:.3f} at $\beta = 10$".format(
            *rests
        ),
        rf"is {enough:.2f} for $\delta = 0.01$",
        rf"only {100 * (1 - rests[0]):.0f}\% of the weight is on $a$ and $b$",
    )


def draw_keys(rng, means, a=None, epsilon=EPSILON):
    """DRAWS sets of keys (DRAWS, n, d) around the means (n, d); with a, key a's covariance has mu_a
    mu_a' / 2 in addition.
    """
    keys = means + sqrt(epsilon) * rng.normal(size=(DRAWS, *means.shape))
    if a is not None:
        keys[:, a] += sqrt(0.5) * rng.normal(size=(DRAWS, 1)) * means[a]
    return keys


def test_little_noise_leaves_the_average(rng):
    """3c i: under Sigma_i = epsilon I, alpha_a stays at 1/2 with the standard deviation beta
    sqrt(epsilon) / 2; so does c.
    """
    n, d, d_v, a, b, beta, epsilon = 10, 13, 4, 3, 8, 10, 1e-6
    means, values = orthonormal(rng, n, d), rng.normal(size=(n, d_v))
    weights = softmax(draw_keys(rng, means, epsilon=epsilon) @ (beta * (means[a] + means[b])))
    deviation = beta * sqrt(epsilon) / 2
    close_to_sampled(
        weights[:, a], 0.5 * (1 - averaging_rest(n, beta)), deviation**2, slack=1e-3 * deviation**2
    )
    assert np.abs(weights @ values - (values[a] + values[b]) / 2).max() < 0.1
    stated("3c", rf"{deviation:.3f} for $\beta = {beta}$ and $\varepsilon = 10^{{-6}}$")


def moments(weight, gamma_is_positive=False):
    """Mean and variance of weight(gamma) for gamma ~ N(1, 1/2), over all draws or those with gamma
    > 0, by quadrature.
    """
    x = np.linspace(-9, 9, 400_001)
    gamma = 1 + x / sqrt(2)
    density = np.exp(-(x**2) / 2) * (gamma > 0 if gamma_is_positive else 1)
    density /= density.sum()
    with np.errstate(over="ignore"):  # 1 / (1 + inf) is 0, as it should be
        values = weight(gamma)
    mean = density @ values
    return mean, density @ (values - mean) ** 2


def one_head(n, beta):
    """The weight of v_a in c under q = beta (mu_a + mu_b) when k_a = gamma mu_a, as a function of
    gamma.
    """
    return lambda gamma: 1 / (1 + np.exp(beta * (1 - gamma)) + (n - 2) * np.exp(-beta * gamma))


def two_heads(n, beta):
    """The same under q_1 = beta mu_a and q_2 = beta mu_b: half of what either head puts on a."""
    return lambda gamma: (
        1 / (1 + (n - 1) * np.exp(-beta * gamma)) / 2
        + np.exp(-beta) / (1 + (n - 1) * np.exp(-beta)) / 2
    )


def row(name, *numbers):
    """A row of the table in 3d, as it is typed."""
    return " & ".join([name, *(f"{abs(number):.3f}" for number in numbers)])


@pytest.mark.parametrize("beta", [10, 100])
def test_a_key_of_random_length(rng, beta):
    """3c ii and 3d ii: drawn keys give the weight of v_a the stated mean and variance, with one
    head and with two.
    """
    n, d, d_v, a, b = 10, 13, 4, 3, 8
    means, values = orthonormal(rng, n, d), rng.normal(size=(n, d_v))
    keys = draw_keys(rng, means, a)
    gamma = keys[:, a] @ means[a]
    single = softmax(keys @ (beta * (means[a] + means[b])))
    heads = [softmax(keys @ (beta * means[i])) for i in (a, b)]
    double = (heads[0] + heads[1]) / 2
    half = (values[a] + values[b]) / 2

    for name, weights, formula in (
        ("One head", single, one_head(n, beta)),
        ("Two heads", double, two_heads(n, beta)),
    ):
        expected = [*moments(formula), *moments(formula, gamma_is_positive=True)]
        close_to_sampled(weights[:, a], *expected[:2])
        close_to_sampled(weights[gamma > 0, a], *expected[2:])
        stated("3d", row(rf"{name}, $\beta = {beta}$", *expected))
    if beta == 10:
        stated("3c", rf"for $\beta = 10$ it is {moments(one_head(n, beta))[1]:.3f}")

    # 3c ii: alpha_a is a logistic function of gamma, nearly a step, and c moves on the line between
    # v_a and v_b
    assert np.allclose(
        single[:, a], 1 / (1 + np.exp(np.clip(beta * (1 - gamma), None, 700))), rtol=0, atol=5e-4
    )
    mixed = erf(log(9) / beta)
    sampled = ((single[:, a] > 0.1) & (single[:, a] < 0.9)).mean()
    assert abs(sampled - mixed) < SIGMAS * sqrt(mixed * (1 - mixed) / DRAWS) + 1e-3
    stated(
        "3c", rf"{100 * mixed:.2g}\%{' of the draws' if beta == 10 else ''} for $\beta = {beta}$"
    )
    along = values[a] - values[b]
    covariance = single[:, a].var() * np.outer(along, along)
    assert np.allclose(
        np.cov((single @ values).T, bias=True),
        covariance,
        rtol=0,
        atol=5e-3 * np.abs(covariance).max(),
    )
    assert abs((gamma < 0).mean() - normal(-sqrt(2))) < SIGMAS * sqrt(0.08 / DRAWS)
    assert single[gamma < 0, b].min() > 0.99

    # 3d ii: head 2 does not notice, head 1 copies v_a once gamma is beyond log(n - 1) / beta, and
    # fails into a mean at gamma < 0
    assert np.allclose(heads[1] @ values, values[b], rtol=0, atol=0.02)
    assert (
        heads[0][gamma > log(n - 1) / beta + 1e-3, a].min()
        > 0.5
        > heads[0][gamma < log(n - 1) / beta - 1e-3, a].max()
    )
    assert (heads[0][gamma > 1e-3].argmax(axis=1) == a).all()
    if beta == 100:
        assert np.allclose((double @ values)[gamma > 0.15], half, rtol=0, atol=0.01)
        mean_of_others = np.delete(values, a, axis=0).mean(axis=0)
        assert np.allclose(
            (double @ values)[gamma < -0.15], (mean_of_others + values[b]) / 2, rtol=0, atol=0.01
        )


def test_a_key_of_random_length_in_the_limit(rng):
    """3c ii and 3d ii: the variances 1/4 and Phi(sqrt 2) Phi(-sqrt 2) / 4, their shares of draws,
    and the table's last rows.
    """
    positive = normal(sqrt(2))
    gamma = 1 + sqrt(0.5) * rng.normal(size=DRAWS)
    close_to_sampled((gamma > 0) * 1.0, positive, positive * (1 - positive))
    share = 0.5 / positive  # of gamma > 1 among gamma > 0
    rows = {
        "One": (0.5, 0.25, share, share * (1 - share)),
        "Two": (positive / 2, positive * (1 - positive) / 4, 0.5, 0.0),
    }
    for (mean, variance, mean_positive, variance_positive), formula in zip(
        rows.values(), (one_head, two_heads)
    ):
        assert np.allclose(moments(formula(10, 2000)), (mean, variance), rtol=0, atol=1e-3)
        assert np.allclose(
            moments(formula(10, 2000), True), (mean_positive, variance_positive), rtol=0, atol=1e-3
        )
    stated(
        "3d",
        row(r"One head, $\beta \to \infty$", *rows["One"]),
        row(r"Two heads, $\beta \to \infty$", *rows["Two"]),
        rf"P(\gamma > 0) = \Phi(\sqrt 2) = {positive:.3f}",
        rf"In the other {100 * (1 - positive):.1f}\%",
        rf"\Phi(-\sqrt 2) = {rows['Two'][1]:.3f}",
    )
    stated("3c", rf"$\gamma < 0$ ({100 * (1 - positive):.1f}\% of the draws)")
    assert round(rows["One"][1] / rows["Two"][1]) == 14  # "a fourteenth"


# Problem 4: positions


def sinusoids(T, d):
    """Phi of 4b."""
    angles = np.arange(T)[:, None] / 10000.0 ** (2 * np.arange(d // 2) / d)
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(T, d)


def test_no_two_positions_are_the_same():
    """4b ii: the pair i = 0 alone tells positions apart, near-collisions at 44 and 710, rounding,
    and the nearest embeddings.
    """
    first_pair = sinusoids(5000, 2)
    # by distance, from 1 on: the same at each position
    gaps = np.linalg.norm(first_pair[1:] - first_pair[0], axis=1)
    assert gaps.min() > 1e-5
    # closer than any before
    assert all(gaps[distance - 1] < gaps[: distance - 1].min() for distance in (44, 710))
    assert abs(44 - 7 * 2 * pi) < 0.02 and abs(710 - 113 * 2 * pi) < 1e-4
    for dtype, equal in ((np.float16, True), (np.float32, False)):
        assert np.array_equal(*first_pair[[2, 712]].astype(dtype)) == equal

    d, T = 256, 128
    phi = sinusoids(T, d)
    distances = np.linalg.norm(phi[:, None] - phi, axis=-1) + np.diag([np.inf] * T)
    # neighbors
    assert np.isclose(distances.min(), np.diagonal(distances, 1).min(), rtol=0, atol=1e-12)
    assert np.allclose(np.linalg.norm(phi, axis=1), sqrt(d / 2), rtol=0, atol=1e-12)
    period = 2 * pi * 10000 ** ((d - 2) / d)
    slowest = sinusoids(int(period), d)[:, -2:]
    assert np.linalg.norm(slowest[1:] - slowest[0], axis=1).min() > 1e-5
    stated(
        "4b",
        f"just {gaps[43]:.3f} and {gaps[709]:.5f}",
        "positions 2 and 712",
        f"are {distances.min():.2f} apart",
        rf"$\sqrt{{d/2}} = {sqrt(d / 2):.1f}$",
        f"{round(period, -1):,.0f} positions for $d = 256$".replace(",", "{,}"),
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
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        names = {}
        exec(program.replace("src/submission", RESULTS.as_posix()), names)
    assert output.getvalue() == printed

    answers, vanilla, rope = names["answers"], names["vanilla"], names["rope"]
    right = {
        name: sum(map(str.__eq__, places, answers))
        for name, places in (("vanilla", vanilla), ("rope", rope))
    }
    wrong = {
        name: [place for place, answer in zip(places, answers) if place != answer]
        for name, places in (("vanilla", vanilla), ("rope", rope))
    }
    real = {name: sum(place in answers for place in places) for name, places in wrong.items()}
    agreed = [(v, answer) for v, r, answer in zip(vanilla, rope, answers) if v == r]
    strangers = names["rows"](RESULTS / "vanilla.nopretrain.dev.predictions")
    assert len(answers) == 100
    assert {name: {*wrong[name]} - {*answers} for name in wrong} == {
        "vanilla": set(),
        "rope": {"Dakham", "chemist"},
    }
    assert all(v == answer for v, answer in agreed)  # "all of them correctly"
    assert any(
        "Stun Wakru" in line
        for line in (DATA / "birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    )
    train = {
        line.split("\t")[1]
        for line in (DATA / "birth_places_train.tsv").read_text(encoding="utf-8").splitlines()
    }
    assert train <= set(answers)  # so `in answers` does ask whether a place is real
    stated(
        "problem2.tex",
        f"the vanilla model got {right['vanilla']} of 100 dev people right",
        f"All of its {real['vanilla']} wrong answers are correctly spelled",
        f"With RoPE, {real['rope']} of {len(wrong['rope'])} wrong answers are real cities",
        "one is misspelled, ``Dakham'', and one is no place, ``chemist''",
        f"would have answered {len(agreed)} people of 100",
        f"RoPE alone was right about {right['rope']}",
        f"{right['rope'] - len(agreed)} right answers of RoPE are withheld together with its "
        f"{len(wrong['rope'])} wrong ones",
        f"{sum(place.startswith('M') for place in strangers)} of 100 start with M",
        f"just {sum(place in answers for place in strangers)} are cities",
    )


def test_problem_2_says_what_was_measured():
    """2a: the model that read one phrasing, and the table, as docs/accuracy.md has them."""
    measured = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    recited, answered = re.search(
        r"recited the place for (\d+ of \d+) dev people.*answered (\d+)%", measured
    ).groups()
    stated(
        "problem2.tex",
        f"completed it for {recited} dev people",
        rf"answered {answered}\% of the questions",
    )
    cell = r"(\d+)% \(\d+ to \d+%\)"
    rows = re.findall(
        rf"^\| ((?:One|Six) phrasings?[:\w ,]+) \| {cell} \| {cell} \|", measured, re.M
    )
    assert len(rows) == 4
    stated("problem2.tex", *(rf"{name} & {one}\% & {two}\%" for name, one, two in rows))
