"""Question 5e, hidden: post-norm, poolings, learned positions and none, gradients in every
parameter, rare tokens.
"""

import numpy as np

from autograder import WrongAnswer, check, probe, require_close
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.q5e.encoders import require_encoders, require_refusals
from checks.problem5.q5e.layers import require_layers
from instructor.checks.problem5.q5d import draw_padding
from instructor.checks.problem5.q5e.build import (
    DEFAULTS,
    draw_rate,
    draw_scattered,
    draw_tokens,
    dropping_case,
    encoder_case,
    layer_case,
    silent_case,
)


def draw_config(rng, **more) -> dict:
    """Draw distinct sizes of an encoder."""
    n_head, head_dim = int(rng.choice([3, 5])), int(rng.choice([2, 4]))
    sizes = {"vocab_size": 13, "max_len": 11, "n_classes": 6, "n_hidden": 17}
    return {**DEFAULTS, **sizes, "n_embd": n_head * head_dim, "n_head": n_head, **more}


@check("5e-4-hidden")
def test_post_norm(student, rng):
    """A layer with and without padding and with dropout; an encoder of three layers."""
    B, T, p = 2, 7, draw_rate(rng)
    sizes = {
        "B": B,
        "T": T,
        "n_head": 3,
        "head_dim": int(rng.choice([4, 6])),
        "n_hidden": int(rng.choice([10, 11])),
    }
    cases = [
        layer_case(rng, **sizes, pre_norm=False, padding=padding)
        for padding in (None, draw_padding(rng, B, T))
    ]
    cases.append(layer_case(rng, **sizes, pre_norm=False, dropout=p))
    cases += [dropping_case(rng, p, part) for part in ("attention", "feed-forward part")]
    require_layers(student, cases)
    config = draw_config(rng, pre_norm=False, n_layer=3)
    tokens = [(pooling, draw_tokens(rng, config, 4, 9)) for pooling in ("mean", "none")]
    require_encoders(
        student, [encoder_case(rng, idx, {**config, "pooling": pooling}) for pooling, idx in tokens]
    )


@check("5e-5-hidden")
def test_poolings(student, rng):
    """PAD at the end; appending more changes nothing."""
    cases = []
    for pooling in ("mean", "cls", "none"):
        config = draw_config(
            rng, pooling=pooling, positions=str(rng.choice(["sinusoidal", "learned"]))
        )
        case = encoder_case(rng, draw_tokens(rng, config, 5, 8), config)
        longer = np.pad(case.inputs["idx"], ((0, 0), (0, 3)))
        cases += [case, encoder_case(rng, longer, config, weights=case.inputs["weights"])]
    answers = [
        answer.named("the logits").array("float32").astype(float)
        for answer in require_encoders(student, cases)
    ]
    for case, plain, padded in zip(cases[::2], answers[::2], answers[1::2], strict=True):
        if case.inputs["config"]["pooling"] == "none":
            real = (case.inputs["idx"] != 0)[..., None]
            plain, padded = plain * real, padded[:, :8] * real
        require_close("The logits after three more PADs at the end", padded, plain, 2e-5)


@probe(uses=(forbid_builtins,))
def count(configs):
    """Count the trained parameters of each encoder, and of its first layer."""
    with forbid_builtins():
        from submission.problem5.encoder import Encoder, EncoderConfig

        models = [Encoder(EncoderConfig(**config)) for config in configs]
        parts = [(model, model.layers[0]) for model in models]
        return [
            [sum(p.numel() for p in part.parameters() if p.requires_grad) for part in pair]
            for pair in parts
        ]


@check("5e-6-hidden")
def test_whole(student, rng):
    """Learned positions and none; numbers of parameters; gradients, in float64; dropout only in the
    layers.
    """
    cases = []
    choices = (
        ("learned", "mean", True),
        ("none", "cls", True),
        ("learned", "none", False),
        ("sinusoidal", "mean", True),
    )
    for positions, pooling, pre_norm in choices:
        config = draw_config(rng, positions=positions, pooling=pooling, pre_norm=pre_norm)
        T = config["max_len"] - int(rng.integers(2))
        idx = draw_tokens(rng, config, 4, T)
        case = encoder_case(rng, idx, config)
        weights = case.inputs["weights"]
        # The differentiated sum has no vector at PAD: an untrained embedding of PAD (padding_idx)
        # is also right.
        upstream = rng.standard_normal(
            (4, T, config["n_classes"]) if pooling == "none" else (4, config["n_classes"])
        )
        upstream = upstream * ((idx != 0)[..., None] if pooling == "none" else 1)
        cases += [case, encoder_case(rng, idx[:1, :1], config, weights=weights)]
        cases.append(
            encoder_case(rng, idx, config, weights=weights, upstream=upstream, dtype="float64")
        )
    require_encoders(student, [*cases, silent_case(rng, draw_config(rng), 4, 9)])

    sizes = {"vocab_size": 1000, "max_len": 24, "n_classes": 5}
    configs = [sizes, {**sizes, "positions": "learned"}, {**sizes, "pre_norm": False}]
    numbers = (57637, 12704), (58405, 12704), (57573, 12704)
    for config, answer, expected in zip(
        configs, student.run(count, configs=configs).items(3), numbers, strict=True
    ):
        for what, number, right in zip(
            ("An Encoder", "A layer of an Encoder"), answer.items(2), expected, strict=True
        ):
            if number.number() != right:
                raise WrongAnswer(
                    f"{what} with {config} has {number.number():,} trained parameters; it should "
                    f"have {right:,}."
                )


@check("5e-11-hidden")
def test_rare_tokens(student, rng):
    """PAD anywhere, also in front; a row of only PAD; inputs that are too long."""
    cases = []
    for pooling in ("mean", "cls", "none"):
        config = draw_config(
            rng, pooling=pooling, positions=str(rng.choice(["sinusoidal", "learned"]))
        )
        cases.append(encoder_case(rng, draw_scattered(rng, config, 5, 8), config))
    require_encoders(student, cases)
    require_refusals(student, draw_config(rng))
