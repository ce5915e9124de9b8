"""Running the parts of the encoder and the whole, and reading what they give. The checks of question 5e share it."""
import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.encoder import draw, encode, encoder_shapes, layer, layer_shapes, multi_head, of, own_work, sinusoids
from checks.encoder_mistakes import encoder_mistakes, layer_mistakes
from checks.heads import TOLERANCE, floats, read, require_parameters, sentence_case
from checks.norms import norm_fault

DEFAULTS = {"positions": "sinusoidal", "pooling": "mean", "pre_norm": True, "dropout": 0.0, "n_layer": 2}


@probe(uses=(own_work,))
def run_layers(cases):
    """EncoderLayer with the weights of each case, on its x and padding: output and attention weights, and the output alone; and,
    to find out where a mistake is, what norm1 makes of x / 100, where eps counts, and attn of x. A layer whose parameters do not
    fit is not run."""
    import torch
    with own_work():
        from submission.encoder import EncoderLayer
        results = []
        for case in cases:
            layer = EncoderLayer(case["n_embd"], case["n_head"], case["n_hidden"], case["dropout"],
                                 case["pre_norm"]).train(case["train"])
            parameters = dict(layer.named_parameters())
            result = {"parameters": {name: value.detach().clone() for name, value in parameters.items()}, "pair": None,
                      "alone": None,
                      "norm1": None, "attn": None}
            results.append(result)
            if any(name not in parameters or parameters[name].shape != value.shape for name, value in case["weights"].items()):
                continue
            x, padding = torch.from_numpy(case["x"]), None if case["padding"] is None else torch.from_numpy(case["padding"])
            with torch.no_grad():
                for name, value in case["weights"].items():
                    parameters[name].copy_(torch.from_numpy(value))
                result["alone"] = layer(x.clone()) if padding is None else layer(x.clone(), padding)
                result["pair"] = layer(x.clone(), padding, True)
                try:
                    result["norm1"], result["attn"] = layer.norm1(x / 100), layer.attn(x, padding)
                except Exception:
                    pass
        return results


@probe(uses=(own_work,))
def run_encoders(cases):
    """Encoder with the config and weights of each case, on its tokens: the logits, alone and in a pair with the attention
    weights; the gradients of sum(logits * upstream), in float64, if there is an upstream; its fixed positions; and, to find out
    where a mistake is, what norm1, attn and all of the first layer make of the token embeddings, norm1 of a hundredth of them,
    where eps counts. One whose parameters do not fit is not run."""
    import torch
    with own_work():
        from submission.encoder import Encoder, EncoderConfig
        results = []
        for case in cases:
            model = Encoder(EncoderConfig(**case["config"])).train(case["train"])
            if case["upstream"] is not None:
                model = model.double()
            parameters = dict(model.named_parameters())
            table = dict(model.named_buffers()).get("pos_emb")
            result = {"parameters": {name: value.detach().clone() for name, value in parameters.items()}, "pair": None,
                      "alone": None,
                      "gradients": None, "positions": table, "norm1": None, "attn": None, "layer": None}
            results.append(result)
            if any(name not in parameters or parameters[name].shape != value.shape for name, value in case["weights"].items()):
                continue
            with torch.no_grad():
                for name, value in case["weights"].items():
                    parameters[name].copy_(torch.from_numpy(value))
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
                result["gradients"] = {name: parameters[name].grad for name in case["weights"]}
        return results


def layer_case(rng, B: int, T: int, n_head: int, head_dim: int, n_hidden: int, padding: np.ndarray | None = None, **more) -> dict:
    """A case for `run_layers` with random weights and x; `more` replaces any of its entries."""
    C = n_head * head_dim
    return {"n_embd": C, "n_head": n_head, "n_hidden": n_hidden, "dropout": 0.0, "pre_norm": True, "train": False,
            "padding": padding,
            "dtype": "float32", "weights": draw(rng, layer_shapes(C, n_hidden)),
            "x": (0.5 + rng.standard_normal((B, T, C))).astype(np.float32), **more}


def encoder_case(rng, idx: np.ndarray, config: dict, **more) -> dict:
    """A case for `run_encoders` with random weights."""
    config = {**DEFAULTS, **config}
    return {"config": config, "idx": idx, "train": False, "upstream": None, "dtype": "float32",
            "weights": draw(rng, encoder_shapes(config)), **more}


def draw_config(rng, **more) -> dict:
    """Sizes of an encoder, all distinct."""
    n_head, head_dim = int(rng.choice([3, 5])), int(rng.choice([2, 4]))
    return {**DEFAULTS, "vocab_size": 13, "max_len": 11, "n_classes": 6, "n_embd": n_head * head_dim, "n_head": n_head,
            "n_hidden": 17, **more}


def draw_tokens(rng, config: dict, B: int, T: int, anywhere: bool = False) -> np.ndarray:
    """Tokens, int64 (B, T), with PAD at the end, or anywhere, of all rows but the first; each row has other tokens, too."""
    idx = rng.integers(1, config["vocab_size"], (B, T))
    idx[0, :3] = rng.permutation(3) + 1     # CLS and UNK are tokens like any other
    for row in idx[1:]:
        count = int(rng.integers(1, T - 1))
        row[rng.choice(T, count, replace=False) if anywhere else slice(T - count, T)] = 0
    return idx


def describe_layer(case: dict) -> str:
    """The call, for messages where it fails."""
    dropout = f", dropout={case['dropout']}" if case["dropout"] else ""
    extra = "" if case["padding"] is None else f", key_padding_mask of shape {case['padding'].shape}"
    return (f"EncoderLayer({case['n_embd']}, {case['n_head']}, {case['n_hidden']}{dropout}, pre_norm={case['pre_norm']}) on x of "
            f"shape {case['x'].shape}{extra}; once more with return_weights=True")


def require_layer(case: dict, answer: Answer) -> None:
    """What EncoderLayer gives is right: alone, and in a pair with the weights.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    B, T, C = case["x"].shape
    kind = "pre-norm" if case["pre_norm"] else "post-norm"
    name = f"EncoderLayer({C}, {case['n_head']}, {case['n_hidden']}, pre_norm={case['pre_norm']})"
    require_parameters(answer["parameters"], layer_shapes(C, case["n_hidden"]), name, exact=True)
    x, weights, maps = case["x"].astype(float), floats(case["weights"]), []
    right = layer(x, weights, case["n_head"], case["padding"], case["pre_norm"], maps=maps)
    y = answer["alone"].named(f"the output of {name} ({kind})")
    got = read(y, case, case["x"].shape)
    causes = _parts(answer, got, x, weights, case["n_head"], case["padding"])
    pair = answer["pair"].named(f"what {name} returns with return_weights=True").items(2)
    if not _agrees(pair[0], got, 0):
        causes.append(("a second call gives something else. Does dropout act in evaluation mode, too?", got))
    require_close(sentence_case(y.name), got, right, TOLERANCE, layer_mistakes(case, x, weights) + causes)
    require_close(f"The output of {name} with return_weights=True", read(pair[0], case, case["x"].shape), right, TOLERANCE)
    shape = (B, case["n_head"], T, T)
    require_close(f"The weights of {name}", read(pair[1].named(f"the weights of {name}"), case, shape), maps[0], TOLERANCE, [
        ("they are those for an input that is not normalized.",
         lambda: multi_head(x, of(weights, "attn"), case["n_head"], case["padding"])[1])])


def _parts(answer, got, x, weights, n_head, padding):
    """Causes that lie in parts of a layer, which were run on x alone. They fit whatever was got."""
    fault = norm_fault(answer["norm1"], x / 100, of(weights, "norm1"))
    right = multi_head(x, of(weights, "attn"), n_head, padding)[0]
    found = [(f"it uses LayerNorm, which is not right yet: {fault} See 5e-1-basic.", got)] if fault else []
    if not _agrees(answer["attn"], right):
        found.append(("it uses MultiHeadAttention, which is not right yet. See the checks of 5d.", got))
    return found


def _agrees(answer, right, tolerance=1e-4):
    value = getattr(answer.value, "data", None)
    if not isinstance(value, np.ndarray) or value.shape != right.shape:
        return False
    return bool(np.allclose(value, right, rtol=0, atol=tolerance))


def describe_encoder(case: dict) -> str:
    """The call, for messages where it fails."""
    fields = ", ".join(f"{name}={value!r}" for name, value in case["config"].items())
    return f"Encoder(EncoderConfig({fields})) on idx of shape {case['idx'].shape}; once more with return_weights=True"


def require_encoder(case: dict, answer: Answer) -> None:
    """The logits are right, and so are the attention weights with them.

    Raises:
        WrongAnswer: they are not; names the likely cause.
    """
    config, idx = case["config"], case["idx"]
    B, T = idx.shape
    said = ", ".join(f"{key}={config[key]!r}" for key in ("positions", "pooling", "pre_norm"))
    name = f"Encoder with {said}, on idx of shape ({B}, {T})"
    if case["train"]:
        name += f", in training mode with dropout {config['dropout']}, with layers that add 0"
    require_parameters(answer["parameters"], encoder_shapes(config), f"Encoder with {said}", exact=True)
    weights, maps = floats(case["weights"]), []
    right = encode(idx, weights, config, maps=maps)
    logits = answer["alone"].named(f"the logits of {name}")
    got = read(logits, case, right.shape)
    causes = encoder_mistakes(idx, weights, config)
    if config["positions"] == "sinusoidal":
        table = sinusoids(config["max_len"], config["n_embd"])
        causes.append(("it uses sinusoidal_positions, which is not right yet. See 5e-0-basic.",
                       lambda: None if _agrees(answer["positions"], table) else got))
    first, x = of(weights, "layers.0"), weights["tok_emb.weight"][idx]
    parts = _parts(answer, got, x, first, config["n_head"], idx == 0)
    right_layer = layer(x, first, config["n_head"], idx == 0, config["pre_norm"])
    if not parts and not case["train"] and not _agrees(answer["layer"], right_layer):
        parts = [(f"it uses EncoderLayer, which is not right yet. See {'5e-2-basic' if config['pre_norm'] else '5e-4-hidden'}.",
                  got)]
    causes += parts
    pair = answer["pair"].named(f"what {name} returns with return_weights=True").items(2)
    if case["train"] and not _agrees(pair[0], got, 0):
        causes.append(("there is dropout where there should be none: it acts inside the layers alone, not on embeddings, nor on "
                       "what goes into the head.", got))
    require_close(sentence_case(logits.name), got, right, TOLERANCE, causes)
    both = pair[0].named(f"the logits of {name}, with return_weights=True")
    require_close(sentence_case(both.name), read(both, case, right.shape), right, TOLERANCE)
    layers = pair[1].named(f"the weights of {name}").items()
    if len(layers) != config["n_layer"]:
        raise WrongAnswer(f"The weights of {name} should be a list of {config['n_layer']}, one of each layer; there are "
                          f"{len(layers)}.")
    for i, attended in enumerate(layers):
        require_close(f"The weights of layer {i} of {name}", read(attended, case, maps[i].shape), maps[i], TOLERANCE,
                      [("they are those of another layer.", maps[len(maps) - 1 - i])])
