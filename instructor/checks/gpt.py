"""Running a submission's model, to compare it with the judge's own."""
from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.gpt import draw_weights, log_probabilities, logits_of, shapes_of

# float32 against float64 with weights of this size: the reference is off by 1e-6 of the largest logit.
TOLERANCE = 1e-4


@probe
def forward(initialize, config, tokens, targets, weights):
    """Make a model, give it weights, and run it."""
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
        for name, parameter in model.named_parameters():
            if name in weights and weights[name].shape == tuple(parameter.shape):
                parameter.copy_(torch.from_numpy(weights[name]))
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
    weights: dict[str, np.ndarray]
    answer: Answer

    def logits(self, rotated: str, positions: bool, softmax_axis: int = -1) -> np.ndarray:
        """What they should be, for a model as in logits_of."""
        return logits_of(self.tokens, self.weights, self.config["n_layer"], self.config["n_head"], rotated, positions, softmax_axis)


def run_model(student, rng, initialize: str | None, **config) -> Run:
    """Run the model that a function of helper.py makes (or GPT itself) on random tokens, with sizes that are all different."""
    n_head = int(rng.integers(2, 5))
    config = {"vocab_size": int(rng.integers(17, 25)), "block_size": int(rng.integers(11, 16)), "n_layer": 2, "n_head": n_head,
              "n_embd": n_head * 2 * int(rng.integers(3, 5)), "embd_pdrop": 0.05, "resid_pdrop": 0.15, "attn_pdrop": 0.25, **config}
    shape = (3, config["block_size"] - int(rng.integers(1, 4)))
    tokens, targets = (rng.integers(0, config["vocab_size"], size=shape) for _ in range(2))
    targets[:, :3] = 0          # padding, which the loss must not count
    # As large as trained ones; those of learned positions go to waste in a RoPE model.
    weights = draw_weights(rng, _shapes(config, rope=False), 0.3)
    answer = student.run(forward, initialize=initialize, config=config, tokens=tokens, targets=targets, weights=weights)
    if "result" in answer.entries():
        name = initialize or "GPT"
        answer["result"].named(f"What {name} returns").present()
        raise WrongAnswer(f"{name} should return a GPT; it returned a {answer['result'].text()}.")
    return Run(config, tokens, targets, weights, answer)


def _shapes(config, rope):
    return shapes_of(config["vocab_size"], config["block_size"], config["n_layer"], config["n_embd"], rope)


def read_weights(config: dict, weights: dict[str, Answer], rope: bool) -> dict[str, np.ndarray]:
    """The parameters, when they are those that the interface names, of the right shapes.

    Raises:
        WrongAnswer: they are not.
    """
    shapes = _shapes(config, rope)
    if extra := sorted(weights.keys() - shapes.keys()):
        advice = " A RoPE model has no learned positions." if rope and "pos_emb" in extra else ""
        raise WrongAnswer(f"The model has parameters that it should not have: {', '.join(extra[:4])}.{advice}")
    if missing := sorted(shapes.keys() - weights.keys()):
        raise WrongAnswer(f"The model lacks parameters: {', '.join(missing[:4])}.")
    return {name: weights[name].named(name).array("float32", shape) for name, shape in shapes.items()}


def require_reference(run: Run, rope: bool, name: str) -> None:
    """The model computes the reference's logits, and the mean loss over the targets that are not padding; and it can learn.

    Raises:
        WrongAnswer: it does not.
    """
    read_weights(run.config, run.answer["weights"].entries(), rope)
    B, T = run.tokens.shape
    logits = run.answer["logits"].named("logits").array("float32", (B, T, run.config["vocab_size"])).astype(float)
    expected = run.logits("qk" if rope else "", not rope)
    unrotated = "neither queries nor keys are rotated." if rope else "the learned positions are not added."
    causes = [("the softmax of the attention goes over the queries; it should go over the keys.",
               lambda: run.logits("qk" if rope else "", not rope, softmax_axis=-2)),
              (unrotated, lambda: run.logits("", False))]
    if rope:
        causes += [(sentence, lambda rotated=rotated: run.logits(rotated, False)) for rotated, sentence in (
            ("q", "the keys are not rotated."), ("k", "the queries are not rotated."),
            ("qkv", "the values are rotated, too."))]
    require_close(f"The logits of the model that {name} makes", logits, expected, TOLERANCE, causes)
    if run.answer["none"].value is not None or not run.answer["same"].flag():
        raise WrongAnswer("GPT.forward should return None for the loss where there are no targets, and the same logits with "
                          "and without them.")
    picked = log_probabilities(expected, run.targets)
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
