"""Question 1d, basic: finetuning from scratch, and train."""
import numpy as np

from autograder import NotImplementedYet, WrongAnswer, check, probe
from checks.gpt import draw_weights, log_probabilities, logits_of, shapes_of
from checks.training import call, require_fields


@check("1d-1-basic")
def test_finetune(student, rng):
    """The hyperparameters where there are no pretrained weights."""
    given = call(student, rng, "finetune")
    answer, block_size = given.answer, given.block_size
    documents = len(given.corpus.split("\n"))
    expected = {"max_epochs": 75, "batch_size": 256, "learning_rate": 6e-4, "lr_decay": True, "warmup_tokens": 512 * 20,
                "final_tokens": 200 * documents * block_size}
    require_fields(student, answer, expected, {
        "max_epochs": [(10, "that is for pretrained weights"), (650, "that is for pretraining")],
        "batch_size": [(128, "that is for pretraining")],
        "learning_rate": [(6e-3, "that is for pretraining"), (3e-4, "that is TrainerConfig's default; use the argument "
                                                                    "finetune_lr")],
        "final_tokens": [(200 * answer["length"].value * block_size if isinstance(answer["length"].value, int) else 0,
                          "that counts the questions; it should count pretrain_dataset"),
                         (200 * documents, "block_size is missing"), (650 * documents * block_size, "that is for pretraining")]})


@probe
def train_a_little(x, y, sizes, weights, epochs, rate):
    """Run train on a small problem, from given weights; return what was saved, and compare the model with it."""
    import os
    import torch
    from submission import helper
    from submission.model import GPT, GPTConfig
    from submission.trainer import Trainer, TrainerConfig
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    model = GPT(GPTConfig(**sizes, embd_pdrop=0.0, resid_pdrop=0.0, attn_pdrop=0.0))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in weights and weights[name].shape == tuple(parameter.shape):
                parameter.copy_(torch.from_numpy(weights[name]))
    trainer = Trainer(model, list(zip(x, y)), None, TrainerConfig(max_epochs=epochs, batch_size=8, learning_rate=rate, progress=False,
                                                                  device="cpu"))
    path = "trained.params"
    before = {name: value.clone() for name, value in model.state_dict().items()}
    helper.train(model, path, trainer)
    model.eval()
    result = {"written": os.path.exists(path), "files": sorted(os.listdir(".")),
              "changed": not all(torch.equal(value, before[name]) for name, value in model.state_dict().items())}
    if not result["written"]:
        return result
    try:
        state = torch.load(path, weights_only=True)
    except Exception as error:
        return {**result, "unreadable": str(error)[:300]}
    result["kind"] = type(state).__name__
    if not isinstance(state, dict):
        return result
    now = model.state_dict()
    result["missing"] = sorted(str(name) for name in now if name not in state)[:5]
    result["unknown"] = sorted(str(name) for name in state if name not in now)[:5]
    common = [name for name in now if name in state and isinstance(state[name], torch.Tensor)]
    result["dtypes"] = [name for name in common if state[name].dtype != before[name].dtype][:5]
    result["different"] = [name for name in common if not torch.equal(state[name].float(), now[name].float())][:5]
    result["saved"] = {name: state[name] for name in common}
    return result


@check("1d-3-basic")
def test_train(student, rng):
    """Twelve rows of digits that repeat themselves: every step of training lowers the loss."""
    rows = rng.integers(2, 9, size=(12, 5)).repeat(2, axis=1)
    x, y = rows[:, :-1].copy(), rows[:, 1:].copy()
    sizes = {"vocab_size": 9, "block_size": x.shape[1], "n_layer": 1, "n_embd": 16}
    weights = draw_weights(rng, shapes_of(**sizes, rope=False), 0.02)
    answer = student.run(train_a_little, x=x, y=y, sizes={**sizes, "n_head": 2}, weights=weights, epochs=20, rate=3e-3)
    if not answer["changed"].flag():
        if not answer["written"].flag():
            raise NotImplementedYet("train changed no weight and saved nothing. Call trainer_obj.train(), then torch.save.")
        raise WrongAnswer("train did not train: no weight changed. Call trainer_obj.train().")
    if not answer["written"].flag():
        found = ", ".join(answer["files"].texts()) or "nothing"
        raise WrongAnswer(f"train did not write to writing_params_path; it wrote {found}.")
    entries = answer.entries()
    if "unreadable" in entries:
        raise WrongAnswer("What train saved cannot be loaded with weights_only=True. Save model.state_dict() alone, not the "
                          "model or the Trainer. torch "
                          f"says: {answer['unreadable'].text()}")
    if "missing" not in entries:
        raise WrongAnswer(f"train saved a {answer['kind'].text()}. Save model.state_dict(), a dictionary from names to "
                          f"tensors.")
    missing, unknown = answer["missing"].texts(), answer["unknown"].texts()
    if missing or unknown:
        raise WrongAnswer("What train saved is not the model's state_dict: " + "; ".join(
            f"{what} {', '.join(names)}" for what, names in (("it lacks", missing), ("it should not have", unknown)) if names) + ".")
    if names := answer["dtypes"].texts():
        raise WrongAnswer(f"train saved {', '.join(names)} in another number format than the model has.")
    saved = answer["saved"].entries()
    trained = {name: saved[name].array("float32", value.shape) for name, value in weights.items()}
    if all(np.array_equal(trained[name], value) for name, value in weights.items()):
        raise WrongAnswer("The weights that train saved are those from before the training. Save after trainer_obj.train().")
    before, after = (-log_probabilities(logits_of(x, state, 1, 2, "", positions=True), y).mean() for state in (weights, trained))
    # From about 2.2 nats, the reference comes to about 1.1 in 40 steps.
    if not after <= before - 0.4:
        raise WrongAnswer(f"train should lower the loss clearly; in 20 epochs on a small problem it went from {before:.2f} to {after:.2f} nats.")
    if names := answer["different"].texts():
        raise WrongAnswer(f"The weights that train saved are not those of the trained model: {', '.join(names)} differ.")
