"""Runs Encoder and judges its output; shared by the checks of question 5e."""

from autograder import Answer, WrongAnswer, probe, require_close
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.gradients import require_slopes
from checks.problem5.q5e.heads import (
    TOLERANCE,
    load,
    read,
    require_parameters,
    require_part,
    run_each,
    shapes_of,
)
from checks.problem5.q5e.layers import agrees, faulty_part
from checks.problem5.q5e.norms import require_refusal
from checks.support.cases import Case


@probe(uses=(forbid_builtins, load))
def run_encoders(calls):
    """Run Encoder with each case's config and weights on its tokens.

    For each case: the logits, alone and paired with the attention weights; the gradients of
    sum(logits * upstream), in float64, if there is an upstream; and, to locate a mistake, the fixed
    positions, the outputs of norm1, attn and the whole first layer for the token embeddings, and
    norm1 of a hundredth of them, where eps matters. An encoder whose parameters do not fit is not
    run.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import Encoder, EncoderConfig

        results = []
        for case in calls:
            wanted = case["weights"]
            model = Encoder(EncoderConfig(**case["config"])).train(case["train"])
            model = model if case["upstream"] is None else model.double()
            before, parameters = load(model, wanted)
            table = dict(model.named_buffers()).get("pos_emb")
            names = ("pair", "alone", "gradients", "norm1", "attn", "layer")
            result = {"parameters": before, "positions": table, **dict.fromkeys(names)}
            results.append(result)
            if parameters is None:
                continue
            idx = torch.from_numpy(case["idx"])
            result["alone"], result["pair"] = model(idx), model(idx, return_weights=True)
            with torch.no_grad():
                try:
                    first, x = model.layers[0], model.tok_emb(idx)
                    result["norm1"], result["attn"] = first.norm1(x / 100), first.attn(x, idx == 0)
                    result["layer"] = first(x, idx == 0)
                except Exception:
                    pass
            if case["upstream"] is not None:
                logits = result["alone"]
                if isinstance(logits, torch.Tensor) and logits.requires_grad:
                    (logits * torch.from_numpy(case["upstream"])).sum().backward()
                result["gradients"] = {name: parameters[name].grad for name in wanted}
        return results


def describe_encoder(inputs: dict) -> str:
    """Describe the call, for messages when it fails."""
    fields = ", ".join(f"{name}={value!r}" for name, value in inputs["config"].items())
    shape = inputs["idx"].shape
    model = f"Encoder(EncoderConfig({fields}))"
    return f"{model} on idx of shape {shape}; once more with return_weights=True"


def require_encoders(student, cases: list[Case]) -> list[Answer]:
    """Run all cases and judge logits, attention weights and gradients, as far as the cases ask for
    them.

    Returns:
        The logits of each.

    Raises:
        Failed: the first case that is wrong; names the likely cause.
    """
    logits = []
    for case, answer in run_each(student, run_encoders, cases, describe_encoder):
        _require_encoder(case, answer)
        if case.inputs["upstream"] is not None:
            require_slopes(
                answer["gradients"], case.about["slopes"], shapes_of(case), "Encoder", nonzero=True
            )
        logits.append(answer["alone"])
    return logits


def _require_encoder(case, answer):
    """Check the logits and the attention weights."""
    config, train, right = case.inputs["config"], case.inputs["train"], case.right["logits"]
    said = ", ".join(f"{key}={config[key]!r}" for key in ("positions", "pooling", "pre_norm"))
    name = f"Encoder with {said}, on idx of shape {case.inputs['idx'].shape}"
    if train:
        name += f", in training mode with dropout {config['dropout']}, with layers that add 0"
    require_parameters(answer["parameters"], shapes_of(case), f"Encoder with {said}", exact=True)
    got = read(answer["alone"].named(f"the logits of {name}"), case, right.shape)
    pair = answer["pair"].named(f"what {name} returns with return_weights=True").items(2)
    again = None
    if train and not agrees(pair[0], got, 1e-6):
        again = (
            "there is dropout where there should be none: it acts only inside the layers, not on "
            "embeddings or on the head's input."
        )
    cause, otherwise = faulty_part(case, answer) or again, faulty_part(case, answer, ("layer",))
    require_part(case, "logits", f"the logits of {name}", got, cause, otherwise)
    both = read(pair[0].named(f"the logits of {name}, with return_weights=True"), case, right.shape)
    require_close(f"The logits of {name}, with return_weights=True", both, right, TOLERANCE)
    layers = pair[1].named(f"the weights of {name}").items()
    if len(layers) != config["n_layer"]:
        raise WrongAnswer(
            f"The weights of {name} should be a list of {config['n_layer']}, one per layer; there "
            f"are {len(layers)}."
        )
    maps = case.right["weights"]
    for i, expected in enumerate(maps):
        attended = read(layers[i], case, expected.shape)
        other = [("they are those of another layer.", maps[-1 - i])]
        require_close(f"The weights of layer {i} of {name}", attended, expected, TOLERANCE, other)


@probe(uses=(forbid_builtins,))
def refuse(config, lengths, wrong):
    """Run an encoder on inputs of these lengths, and EncoderConfig with wrong fields.

    Each gives a shape, or the error's type, whether it is a ValueError, and its text.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import Encoder, EncoderConfig

        def tell(make):
            try:
                return str(make())
            except NotImplementedError:
                raise
            except Exception as error:
                return [type(error).__name__, isinstance(error, ValueError), str(error)]

        model = Encoder(EncoderConfig(**config))
        long = [
            tell(lambda n=n: tuple(model(torch.ones(1, n, dtype=torch.int64)).shape))
            for n in lengths
        ]
        fields = [
            tell(lambda change=change: EncoderConfig(**{**config, **change})) for change in wrong
        ]
        return [long, fields]


def require_refusals(student, config: dict) -> None:
    """Check that sequences longer than max_len and unknown names in the config raise a ValueError,
    and that a length of max_len doesn't.

    Raises:
        WrongAnswer: one of these fails.
    """
    longest = config["max_len"]
    lengths, wrong = (
        [longest, longest + 1, longest + 9],
        [{"positions": "rotary"}, {"pooling": "max"}],
    )
    long, fields = student.run(refuse, config=config, lengths=lengths, wrong=wrong).items(2)
    first, *longer = long.items(3)
    first.named(f"the shape for {longest} tokens, as many as max_len,").text()
    for answer, length in zip(longer, lengths[1:], strict=True):
        call = f"an Encoder with max_len {longest}, given {length} tokens,"
        require_refusal(answer, call, [str(longest), str(length)])
    known = (["sinusoidal", "learned", "none"], ["mean", "cls", "none"])
    for answer, field, words in zip(fields.items(2), wrong, known, strict=True):
        require_refusal(answer, f"EncoderConfig with {field}", words)
