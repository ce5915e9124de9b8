"""Runs a submission's model with known weights and judges its output. Shared by questions 1d and
1h.
"""

from autograder import Answer, WrongAnswer, probe
from checks.problem1.random_weights import draw_parameter
from checks.support.cases import Case

# float32 against float64 with weights of this size: the reference's error is 1e-6 of the largest
# logit.
TOLERANCE = 1e-4
SPREAD = 0.3  # standard deviation of the weights, about that of trained ones


@probe(uses=(draw_parameter,))
def forward(initialize, config, tokens, targets, seed, spread):
    """Create a model, give it random weights, and run it."""
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
    fresh = again is not model and any(
        not torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters())
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = draw_parameter(seed, name, tuple(parameter.shape), spread)
            parameter.copy_(torch.from_numpy(drawn))
    model.eval()
    tokens, targets = torch.from_numpy(tokens), torch.from_numpy(targets)
    with torch.no_grad():
        logits, none = model(tokens)
        more, loss = model(tokens, targets)
    model.zero_grad(set_to_none=True)
    model.train()
    dropouts = [module for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    rates = sorted(module.p for module in dropouts)
    for module in dropouts:
        module.p = 0.0
    in_training, loss_in_training = model(tokens, targets)
    loss_in_training.backward()
    return {
        "logits": logits,
        "none": none,
        "same": torch.equal(logits, more),
        "loss": loss,
        "in_training": in_training,
        "dropouts": rates,
        "fresh": fresh,
        "without_gradient": [
            name for name, value in model.named_parameters() if value.grad is None
        ],
        "weights": dict(model.named_parameters()),
        "rope_set": bool(getattr(mconf, "rope", False)),
        "class_changed": initialize is not None and bool(getattr(GPTConfig(9, 9), "rope", False)),
    }


def read_weights(
    weights: dict[str, Answer], shapes: dict[str, tuple[int, ...]], rope: bool
) -> dict:
    """Return the parameters after checking their names and shapes against the interface.

    Raises:
        WrongAnswer: a name or shape is wrong.
    """
    if extra := sorted(weights.keys() - shapes.keys()):
        advice = " A RoPE model has no learned positions." if rope and "pos_emb" in extra else ""
        raise WrongAnswer(
            f"The model has parameters that it should not have: {', '.join(extra[:4])}.{advice}"
        )
    if missing := sorted(shapes.keys() - weights.keys()):
        advice = " A model without RoPE has learned positions." if "pos_emb" in missing else ""
        raise WrongAnswer(f"The model lacks parameters: {', '.join(missing[:4])}.{advice}")
    return {
        name: weights[name].named(name).array("float32", shape) for name, shape in shapes.items()
    }


def require_model(student, case: Case) -> None:
    """Run a case's model and check it: the logits are right, in training mode too; the loss is the
    mean over targets that are not padding; the config is used; the initial weights are random;
    gradients reach all parameters.

    Raises:
        WrongAnswer: something is wrong; names the likely cause.
    """
    initialize, config, rope = case.inputs["initialize"], case.inputs["config"], case.about["rope"]
    name = f"the model that {initialize} creates" if initialize else "GPT without RoPE"
    answer = student.run(forward, **case.inputs, spread=SPREAD)
    if "result" in answer.entries():
        answer["result"].named(f"What {initialize} returns").present()
        raise WrongAnswer(
            f"{initialize} should return a GPT; it returned a {answer['result'].text()}."
        )
    read_weights(answer["weights"].entries(), case.about["shapes"], rope)

    shape = (*case.inputs["tokens"].shape, config["vocab_size"])
    logits = answer["logits"].named("logits").array("float32", shape).astype(float)
    if not answer["same"].flag():
        raise WrongAnswer(
            f"{name[0].upper()}{name[1:]} gave different logits when called again, with targets, "
            "in evaluation mode. Likely cause: something random, such as dropout, is active there."
        )
    case.require(f"The logits of {name}", logits, TOLERANCE, "logits")
    if answer["none"].value is not None:
        raise WrongAnswer("GPT.forward should return None as the loss if there are no targets.")
    loss = answer["loss"].named("the loss").number()
    if not abs(loss - case.right["loss"]) <= 1e-3:
        padded = abs(loss - case.about["loss_with_padding"]) <= 1e-3
        cause = "\nLikely cause: padding is counted; targets of 0 should be ignored."
        raise WrongAnswer(
            f"The loss should be {case.right['loss']:.4f} nats; it is {loss:.4f}."
            + (cause if padded else "")
        )
    in_training = answer["in_training"].named("logits").array("float32", shape).astype(float)
    without_dropout = f"In training mode with a dropout of 0, the logits of {name}"
    case.require(without_dropout, in_training, TOLERANCE, "logits")
    _require_made_of_config(student, case, answer, name)


def _require_made_of_config(student, case, answer, name):
    initialize, config = case.inputs["initialize"], case.inputs["config"]
    of_a_block = [config["attn_pdrop"], config["resid_pdrop"], config["resid_pdrop"]]
    rates = [config["embd_pdrop"]] + config["n_layer"] * of_a_block
    if [item.number() for item in answer["dropouts"].items()] != sorted(rates):
        raise WrongAnswer(
            f"The dropout rates of {name} are not those of the config. Create it from the mconf "
            "passed in."
        )
    if answer["class_changed"].flag():
        raise WrongAnswer(
            f"After {initialize}, every new GPTConfig has rope = True, so that vanilla models get"
            " RoPE, too. Set it on a copy of mconf, not on the class."
        )
    if untrained := answer["without_gradient"].texts():
        raise WrongAnswer(
            f"No gradient of the loss reaches {', '.join(untrained[:4])}: training would not"
            " change it."
        )
    if initialize and not answer["fresh"].flag():
        raise WrongAnswer(
            f"Two calls of {initialize} gave models with equal weights. Create a new model, with "
            "random weights, on each call."
        )
    if initialize and answer["rope_set"].flag():
        student.hint(
            f"{initialize} sets mconf.rope in place, so a vanilla model created later from the "
            "same config gets RoPE too. That is accepted, but the handout asks you to leave the "
            "caller's mconf unchanged: modify a copy, copy.copy(mconf)."
        )
