"""Question 5e, hidden: post-norm, poolings and padding, learned positions and none, long inputs, gradients in every parameter."""
from itertools import islice

import numpy as np

from autograder import WrongAnswer, check, probe, require_close
from checks.encoder import encode, layer_shapes, own_work
from checks.gradients import require_gradients
from checks.heads import TOLERANCE, draw_padding, floats, read, run_each
from checks.layers import (describe_encoder, describe_layer, draw_config, draw_tokens, encoder_case, layer_case, require_encoder,
                           require_layer, run_encoders, run_layers)
from checks.norms import require_refusal


@check("5e-4-hidden")
def test_post_norm(student, rng):
    """A layer without padding and with it, dropout in it, and an encoder of three layers."""
    size = {"B": 2, "T": 7, "n_head": 3, "head_dim": int(rng.choice([4, 6])), "n_hidden": int(rng.choice([10, 11])),
            "pre_norm": False}
    padding = draw_padding(rng, size["B"], size["T"])
    p = float(rng.choice([0.2, 0.3, 0.4]))
    cases = [layer_case(rng, **size), layer_case(rng, **size, padding=padding), layer_case(rng, **size, dropout=p),
             *(_dropping(rng, part, p) for part in ("attn.proj.bias", "down.bias"))]
    answers = run_each(student, run_layers, cases, describe_layer)
    for case, answer in islice(answers, 3):
        require_layer(case, answer)
    for (case, answer), part in zip(answers, ("attention", "feed-forward part")):
        y = read(answer["alone"].named("the output of a post-norm EncoderLayer in training mode"), case, case["x"].shape)
        dropped = (y < 0).mean()
        # 3,360 features: 0.06 is 7 standard deviations or more.
        if not abs(dropped - p) < 0.06:
            raise WrongAnswer(f"A post-norm EncoderLayer with dropout {p} in training mode: of what the {part} returns, a share "
                              f"of {dropped:.2f} is "
                              "dropped.")
    config = draw_config(rng, pre_norm=False, n_layer=3)
    cases = [encoder_case(rng, draw_tokens(rng, config, 4, 9), {**config, "pooling": pooling}) for pooling in ("mean", "none")]
    for case, answer in run_each(student, run_encoders, cases, describe_encoder):
        require_encoder(case, answer)


def _dropping(rng, part, p):
    """A post-norm layer in training mode, in which one part returns 1 everywhere, and the other, with x, 0: where that was
    dropped, the output is below the vector's mean, which is 0."""
    case = layer_case(rng, 40, 7, 3, 4, 10, pre_norm=False, dropout=p, train=True)
    weights = {name: np.zeros(shape, np.float32) for name, shape in layer_shapes(12, 10).items()}
    weights |= {part: np.ones(12, np.float32), "norm1.weight": np.ones(12, np.float32), "norm2.weight": np.ones(12, np.float32)}
    return {**case, "weights": weights, "x": 0 * case["x"]}


@check("5e-5-hidden")
def test_poolings(student, rng):
    """PAD anywhere, also in front; a row of nothing but PAD; more PADs at the end change nothing."""
    cases = []
    for pooling in ("mean", "cls", "none"):
        config = draw_config(rng, pooling=pooling, positions=str(rng.choice(["sinusoidal", "learned"])))
        idx = draw_tokens(rng, config, 5, 8, anywhere=True)
        idx[1, 0], idx[2] = 0, 0
        case = encoder_case(rng, idx, config)
        cases += [case, {**case, "idx": np.pad(idx, ((0, 0), (0, 3)))}]
    answers = []
    for case, answer in run_each(student, run_encoders, cases, describe_encoder):
        require_encoder(case, answer)
        answers.append(answer)
    for plain, padded, case in zip(answers[::2], answers[1::2], cases[::2]):
        first, second = (answer["alone"].named("the logits").array("float32").astype(float) for answer in (plain, padded))
        if case["config"]["pooling"] == "none":
            first, second = (logits[:, :8] * (case["idx"] != 0)[..., None] for logits in (first, second))
        require_close("The logits after three more PADs at the end", second, first, TOLERANCE)


@probe(uses=(own_work,))
def refuse(config, lengths, wrong):
    """What an encoder says of inputs of these lengths, and what EncoderConfig says of wrong fields: a shape, or the error's type,
    whether it is a ValueError, and its text."""
    import torch
    with own_work():
        from submission.encoder import Encoder, EncoderConfig

        def tell(make):
            try:
                return str(make())
            except NotImplementedError:
                raise
            except Exception as error:
                return [type(error).__name__, isinstance(error, ValueError), str(error)]

        model = Encoder(EncoderConfig(**config)).eval()
        long = [tell(lambda: tuple(model(torch.ones(2, length, dtype=torch.int64)).shape)) for length in lengths]
        return long, [tell(lambda: EncoderConfig(5, 6, 7, **fields)) for fields in wrong]


@probe(uses=(own_work,))
def count(configs):
    """The number of trained parameters of each encoder, and of its first layer."""
    with own_work():
        from submission.encoder import Encoder, EncoderConfig
        models = [Encoder(EncoderConfig(**config)) for config in configs]
        return [[sum(p.numel() for p in part.parameters() if p.requires_grad) for part in (model, model.layers[0])]
                for model in models]


def _without_layers(rng):
    """An encoder in training mode whose layers return 0, so that their dropout changes nothing."""
    config = draw_config(rng, dropout=float(rng.choice([0.2, 0.3, 0.4])))
    case = encoder_case(rng, draw_tokens(rng, config, 4, 9), config, train=True)
    silent = ("attn.proj.weight", "attn.proj.bias", "down.weight", "down.bias")
    return {**case, "weights": {name: 0 * value if name.endswith(silent) else value for name, value in case["weights"].items()}}


@check("5e-6-hidden")
def test_whole(student, rng):
    """Learned positions and none; inputs that are too long; numbers of parameters; gradients, in float64."""
    cases = []
    for positions, pooling, pre_norm in (("learned", "mean", True), ("none", "cls", True), ("learned", "none", False),
                                         ("sinusoidal", "mean", True)):
        config = draw_config(rng, positions=positions, pooling=pooling, pre_norm=pre_norm)
        T = config["max_len"] - int(rng.integers(2))
        shape = (4, T, config["n_classes"]) if pooling == "none" else (4, config["n_classes"])
        case = encoder_case(rng, draw_tokens(rng, config, 4, T, anywhere=True), config)
        # No vector at PAD counts in what is differentiated: an embedding of PAD that is not trained (padding_idx) is right, too.
        idx = case["idx"].copy()
        idx[:, 0] = np.maximum(idx[:, 0], 1)
        upstream = rng.standard_normal(shape) * ((idx != 0)[..., None] if pooling == "none" else 1)
        cases += [case, {**case, "idx": case["idx"][:1, :1]}, {**case, "idx": idx, "upstream": upstream, "dtype": "float64"}]
    cases.append(_without_layers(rng))
    for case, answer in run_each(student, run_encoders, cases, describe_encoder):
        require_encoder(case, answer)
        if case["upstream"] is not None:
            require_gradients(answer["gradients"], floats(case["weights"]),
                              lambda weights, case=case: (encode(case["idx"], weights, case["config"]) * case["upstream"]).sum(),
                              rng, "Encoder",
                              nonzero=True)

    config = draw_config(rng)
    longest = config["max_len"]
    wrong = [{"positions": "rotary"}, {"pooling": "max"}]
    long, fields = student.run(refuse, config=config, lengths=[longest, longest + 1, longest + 9], wrong=wrong).items(2)
    longs = long.items(3)
    longs[0].named(f"the shape for {longest} tokens, as many as max_len,").text()
    for answer, length in zip(longs[1:], (longest + 1, longest + 9)):
        require_refusal(answer, f"an Encoder with max_len {longest}, given {length} tokens,", [str(longest), str(length)])
    for answer, field, known in zip(fields.items(2), wrong, (["sinusoidal", "learned", "none"], ["mean", "cls", "none"])):
        require_refusal(answer, f"EncoderConfig with {field}", known)

    sizes = {"vocab_size": 1000, "max_len": 24, "n_classes": 5}
    configs = [sizes, {**sizes, "positions": "learned"}, {**sizes, "pre_norm": False}]
    for config, answer, expected in zip(configs, student.run(count, configs=configs).items(3),
                                        ((57637, 12704), (58405, 12704), (57573, 12704))):
        for what, number, right in zip(("An Encoder", "A layer of an Encoder"), answer.items(2), expected):
            if number.number() != right:
                raise WrongAnswer(f"{what} with {config} has {number.number():,} trained parameters; it should have {right:,}.")
