"""The whole model in float64 with NumPy, and running a submission's model to compare with it."""
import math
from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.reference import attention

# float32 against float64 with weights of this size: the reference is off by 1e-6 of the largest logit.
TOLERANCE = 1e-4


@probe
def forward(initialize, config, tokens, targets, scale):
    """Make a model, give it weights as large as trained ones, and run it."""
    import torch
    from submission.model import GPT, GPTConfig
    def make():
        mconf = GPTConfig(**config)
        if initialize is None:
            return GPT(mconf), mconf
        from submission import helper
        return getattr(helper, initialize)(mconf), mconf
    model, mconf = make()
    if not isinstance(model, GPT):
        return {"result": None if model is None else type(model).__name__}
    again, _ = make()
    fresh = again is not model and any(not torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters()))
    spread = model.tok_emb.weight.std().item()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * scale)
    model.eval()
    tokens, targets = torch.from_numpy(tokens), torch.from_numpy(targets)
    with torch.no_grad():
        logits, none = model(tokens)
        more, loss = model(tokens, targets)
    model.zero_grad(set_to_none=True)
    model.train()
    dropouts = sorted(module.p for module in model.modules() if isinstance(module, torch.nn.Dropout))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    in_training, loss_in_training = model(tokens, targets)
    loss_in_training.backward()
    return {"in_training": in_training, "vanilla_spoiled": initialize is not None and bool(getattr(GPTConfig(9, 9), "rope", False)),
            "without_gradient": [name for name, parameter in model.named_parameters() if parameter.grad is None],
            "logits": logits, "none": none, "same": torch.equal(logits, more), "loss": loss, "fresh": fresh, "spread": spread,
            "weights": dict(model.named_parameters()), "buffers": sorted(name for name, _ in model.named_buffers()),
            "dropouts": dropouts,
            "rope_set": bool(getattr(mconf, "rope", False))}


@dataclass(frozen=True)
class Run:
    """What was asked of a model, and what came back."""
    config: dict
    tokens: np.ndarray
    targets: np.ndarray
    answer: Answer


def run_model(student, rng, initialize: str | None, **config) -> Run:
    """Run the model that a function of helper.py makes (or GPT itself) on random tokens, with sizes that are all different."""
    n_head = int(rng.integers(2, 5))
    config = {"vocab_size": int(rng.integers(17, 25)), "block_size": int(rng.integers(11, 16)), "n_layer": 2, "n_head": n_head,
              "n_embd": n_head * 2 * int(rng.integers(3, 5)), "embd_pdrop": 0.05, "resid_pdrop": 0.15, "attn_pdrop": 0.25, **config}
    shape = (3, config["block_size"] - int(rng.integers(1, 4)))
    tokens, targets = (rng.integers(0, config["vocab_size"], size=shape) for _ in range(2))
    targets[:, :3] = 0          # padding, which the loss must not count
    answer = student.run(forward, initialize=initialize, config=config, tokens=tokens, targets=targets, scale=0.3)
    if "result" in answer.entries():
        name = initialize or "GPT"
        answer["result"].named(f"What {name} returns").present()
        raise WrongAnswer(f"{name} should return a GPT; it returned a {answer['result'].text()}.")
    return Run(config, tokens, targets, answer)


def shapes_of(config: dict, rope: bool) -> dict[str, tuple[int, ...]]:
    """The parameters that the interface names, and their shapes."""
    C, V = config["n_embd"], config["vocab_size"]
    shapes = {"tok_emb.weight": (V, C), "ln_f.weight": (C,), "ln_f.bias": (C,), "head.weight": (V, C)}
    if not rope:
        shapes["pos_emb"] = (1, config["block_size"], C)
    for i in range(config["n_layer"]):
        block = {f"attn.{name}.weight": (C, C) for name in ("key", "query", "value", "proj")}
        block |= {f"attn.{name}.bias": (C,) for name in ("key", "query", "value", "proj")}
        block |= {f"ln{n}.{part}": (C,) for n in (1, 2) for part in ("weight", "bias")}
        block |= {"mlp.0.weight": (4 * C, C), "mlp.0.bias": (4 * C,), "mlp.2.weight": (C, 4 * C), "mlp.2.bias": (C,)}
        shapes |= {f"blocks.{i}.{name}": shape for name, shape in block.items()}
    return shapes


def read_weights(config: dict, weights: dict[str, Answer], rope: bool, largest: float) -> dict[str, np.ndarray]:
    """The parameters in float64, when they are those that the interface names, of the right shapes, and none is above `largest`.

    Raises:
        WrongAnswer: they are not.
    """
    shapes = shapes_of(config, rope)
    if extra := sorted(weights.keys() - shapes.keys()):
        advice = " A RoPE model has no learned positions." if rope and "pos_emb" in extra else ""
        raise WrongAnswer(f"The model has parameters that it should not have: {', '.join(extra[:4])}.{advice}")
    if missing := sorted(shapes.keys() - weights.keys()):
        raise WrongAnswer(f"The model lacks parameters: {', '.join(missing[:4])}.")
    read = {name: weights[name].named(name).array("float32", shape).astype(float) for name, shape in shapes.items()}
    if huge := [name for name, value in read.items() if np.abs(value).max() > largest]:
        raise WrongAnswer(f"New models have very large weights: {', '.join(huge[:4])}.")
    return read


def _norm(x, weights, name):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


_erf = np.vectorize(math.erf)


def logits_of(run: Run, weights: dict[str, np.ndarray], rotated: str, positions: bool, softmax_axis: int = -1) -> np.ndarray:
    """The logits (B, T, V), with `rotated` of q, k and v, and with learned positions or none (softmax_axis: as in attention)."""
    x = weights["tok_emb.weight"][run.tokens]
    if positions:
        x = x + weights["pos_emb"][:, :run.tokens.shape[1]]
    for i in range(run.config["n_layer"]):
        block = f"blocks.{i}."
        own = {name.removeprefix(block + "attn."): value for name, value in weights.items() if name.startswith(block + "attn.")}
        x = x + attention(_norm(x, weights, block + "ln1"), own, run.config["n_head"], rotated, softmax_axis)
        hidden = _norm(x, weights, block + "ln2") @ weights[block + "mlp.0.weight"].T + weights[block + "mlp.0.bias"]
        hidden = hidden * (1 + _erf(hidden / math.sqrt(2))) / 2
        x = x + hidden @ weights[block + "mlp.2.weight"].T + weights[block + "mlp.2.bias"]
    return _norm(x, weights, "ln_f") @ weights["head.weight"].T


def require_reference(run: Run, rope: bool, name: str) -> None:
    """The model computes the reference's logits, and the mean loss over the targets that are not padding; and it can learn.

    Raises:
        WrongAnswer: it does not.
    """
    # The check itself adds random numbers of 0.3; large ones would hide errors, which are compared with the largest value.
    weights = read_weights(run.config, run.answer["weights"].entries(), rope, largest=20)
    B, T = run.tokens.shape
    logits = run.answer["logits"].named("logits").array("float32", (B, T, run.config["vocab_size"])).astype(float)
    expected = logits_of(run, weights, "qk" if rope else "", not rope)
    unrotated = "neither queries nor keys are rotated." if rope else "the learned positions are not added."
    causes = [("the softmax of the attention goes over the queries; it should go over the keys.",
               lambda: logits_of(run, weights, "qk" if rope else "", not rope, softmax_axis=-2)),
              (unrotated, lambda: logits_of(run, weights, "", False))]
    if rope:
        causes += [(sentence, lambda rotated=rotated: logits_of(run, weights, rotated, False)) for rotated, sentence in (
            ("q", "the keys are not rotated."), ("k", "the queries are not rotated."),
            ("qkv", "the values are rotated, too."))]
    require_close(f"The logits of the model that {name} makes", logits, expected, TOLERANCE, causes)
    if run.answer["none"].value is not None or not run.answer["same"].flag():
        raise WrongAnswer("GPT.forward should return None for the loss where there are no targets, and the same logits with "
                          "and without them.")
    shifted = expected - expected.max(axis=-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    picked = np.take_along_axis(log_probabilities, run.targets[..., None], axis=-1)[..., 0]
    loss = run.answer["loss"].named("the loss").number()
    if abs(loss + picked[run.targets != 0].mean()) > 1e-3:
        hint = " It seems to count padding, too: targets of 0 should be ignored." if abs(loss + picked.mean()) < 1e-3 else ""
        raise WrongAnswer(f"The loss should be {-picked[run.targets != 0].mean():.4f} nats; it is {loss:.4f}.{hint}")
    in_training = run.answer["in_training"].named("logits").array("float32", logits.shape).astype(float)
    require_close(f"The logits of the model that {name} makes, in training mode with a dropout of 0", in_training, expected, TOLERANCE, causes)
    config = run.config
    dropouts = [config["embd_pdrop"]] + config["n_layer"] * [config["attn_pdrop"], config["resid_pdrop"], config["resid_pdrop"]]
    if [item.number() for item in run.answer["dropouts"].items()] != sorted(dropouts):
        raise WrongAnswer(f"The dropout rates of the model that {name} makes are not those of the config. Make it of the mconf passed in.")
    if run.answer["vanilla_spoiled"].flag():
        raise WrongAnswer(f"After {name}, every new GPTConfig has rope = True, so that vanilla models get RoPE, too. Set it on a copy of mconf, not on "
                          "the class.")
    if untrained := run.answer["without_gradient"].texts():
        raise WrongAnswer(f"No gradient of the loss reaches {', '.join(untrained[:4])}: training would not change it.")
