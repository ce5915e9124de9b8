"""Question 5e, basic: positions, LayerNorm, a pre-norm layer, and the encoder's logits."""
import numpy as np

from autograder import WrongAnswer, check
from checks.encoder import gelu, layer_shapes
from checks.heads import draw_padding, read, run_each
from checks.layers import (describe_encoder, describe_layer, draw_config, draw_tokens, encoder_case, layer_case, require_encoder,
                           require_layer, run_encoders, run_layers)
from checks.norms import describe_norm, norm_case, normalize, require_norm, require_refusal, require_sinusoids, tables


@check("5e-0-basic")
def test_positions(student, rng):
    """Tables of several sizes; an odd number of features."""
    sizes = [[int(rng.integers(9, 14)), 2 * int(rng.integers(3, 7))], [1, 4], [3, 2], [int(rng.integers(20, 33)), 32]]
    odd = [5, 2 * int(rng.integers(3, 7)) + 1]
    answers = student.run(tables, sizes=[*sizes, odd]).items(len(sizes) + 1)
    for (max_len, n_embd), answer in zip(sizes, answers):
        require_sinusoids(answer, max_len, n_embd)
    require_refusal(answers[-1], "sinusoidal_positions({}, {})".format(*odd), [])


@check("5e-1-basic")
def test_norm(student, rng):
    """Ordinary vectors and vectors of tiny variance, where eps counts; any number of axes; equal entries; gradients."""
    B, T, C = 4, 7, int(rng.choice([9, 10, 11]))
    flat = np.tile(rng.integers(-9, 9, (B, T, 1)) / 4, 16)       # of which every way to take a mean gives exactly the same
    cases = [norm_case(rng, 0.004 * rng.standard_normal((B, T, C))), norm_case(rng, 2 * rng.standard_normal((B, T, C)) + 1),
             norm_case(rng, 0.05 * rng.standard_normal((B, T, C)), eps=1e-3), norm_case(rng, rng.standard_normal(C)),
             norm_case(rng, rng.standard_normal((2, 3, B, C))),
             # Equal entries in float64 alone: x * a + (bias - mean * a) is right, too, and loses more than allowed in float32.
             *(norm_case(rng, x, dtype="float64", upstream=rng.standard_normal(x.shape))
               for x in (rng.standard_normal((B, T, C)), flat))]
    for case, answer in run_each(student, normalize, cases, describe_norm):
        require_norm(case, answer, rng)


@check("5e-2-basic")
def test_layer(student, rng):
    """With the default of no padding, and with padding; dropout on what each part returns."""
    size = {"B": 2, "T": 7, "n_head": 3, "head_dim": int(rng.choice([4, 6])), "n_hidden": int(rng.choice([10, 11]))}
    padding = draw_padding(rng, size["B"], size["T"])
    # The attention gives 1 and the feed-forward part 2, whatever x is, so what is added to x tells which of them was dropped.
    known = layer_case(rng, 40, 7, 3, 4, 10)
    p = float(rng.choice([0.2, 0.3, 0.4]))
    weights = {name: np.zeros(shape, np.float32) for name, shape in layer_shapes(12, 10).items()}
    weights |= {"attn.proj.bias": np.ones(12, np.float32), "up.bias": np.ones(10, np.float32),
                "down.weight": np.full((12, 10), 0.2 / gelu(np.ones(1))[0], np.float32),
                **{f"norm{n}.weight": np.ones(12, np.float32) for n in (1, 2)}}
    cases = [layer_case(rng, **size), layer_case(rng, **size, padding=padding), layer_case(rng, **size, dropout=p),
             {**known, "weights": weights, "dropout": p, "train": True}]
    for case, answer in run_each(student, run_layers, cases, describe_layer):
        if case["train"]:
            _require_dropout(case, answer, p)
        else:
            require_layer(case, answer)


def _require_dropout(case, answer, p):
    """Of what each part returns, a share of p is dropped, and the rest is divided by 1 - p."""
    y = answer["alone"].named("the output of EncoderLayer in training mode")
    added = (read(y, case, case["x"].shape) - case["x"]) * (1 - p)      # 1 from the attention, and 2 from the feed-forward part
    near = np.abs(added[..., None] - np.arange(4))
    which = near.argmin(axis=-1)
    if not near.min(axis=-1).max() < 1e-4:
        if np.allclose(added, 3 * (1 - p), atol=1e-4):
            raise WrongAnswer(f"EncoderLayer with dropout {p} drops nothing in training mode. Dropout acts on what each of the "
                              f"two parts returns.")
        raise WrongAnswer(f"EncoderLayer with dropout {p} in training mode: what is added to x is not what the two parts return, "
                          f"with some of it dropped "
                          f"and the rest divided by {1 - p:.1f}. Dropout acts on the results of both parts, just before they are "
                          f"added, and on nothing else but the attention weights.")
    # 3,360 features: 0.06 is 7 standard deviations or more.
    for part, kept in (("attention", which % 2), ("feed-forward part", which // 2)):
        if not abs(1 - kept.mean() - p) < 0.06:
            raise WrongAnswer(f"EncoderLayer with dropout {p} in training mode: of what the {part} returns, a share of "
                              f"{1 - kept.mean():.2f} is dropped.")


@check("5e-3-basic")
def test_encoder(student, rng):
    """The defaults, with PAD at the end of sentences; sentences as long as can be, and shorter ones."""
    config = draw_config(rng)
    cases = [encoder_case(rng, draw_tokens(rng, config, B, T), config) for B,
             T in ((4, config["max_len"] - 2), (3, config["max_len"]))]
    for case, answer in run_each(student, run_encoders, cases, describe_encoder):
        require_encoder(case, answer)
