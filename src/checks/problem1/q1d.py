"""Question 1d, basic: the vanilla model, finetuning from scratch, and train."""

import numpy as np

from autograder import NotImplementedYet, WrongAnswer, check, probe
from checks.problem1.models import require_models
from checks.problem1.prepared import require_fields, require_finetuning
from checks.problem1.training import call


@check("1d-4-basic")
def test_vanilla_model(student, calls):
    """Logits and loss for sizes that are all different."""
    require_models(student, calls)


@check("1d-1-basic")
def test_finetune(student, rng):
    """The hyperparameters without pretrained weights."""
    given = call(student, rng, "finetune")
    answer, documents, block_size = given.answer, given.documents, given.block_size
    expected = {
        "max_epochs": 75,
        "batch_size": 256,
        "learning_rate": 6e-4,
        "lr_decay": True,
        "warmup_tokens": 512 * 20,
        "final_tokens": 200 * documents * block_size,
        "writer": None,
    }
    questions = answer["length"].value if isinstance(answer["length"].value, int) else 0
    for_pretraining = "that is for pretraining"
    require_fields(
        student,
        answer,
        expected,
        {
            "max_epochs": [(10, "that is for pretrained weights"), (650, for_pretraining)],
            "batch_size": [(128, for_pretraining)],
            "learning_rate": [
                (6e-3, for_pretraining),
                (3e-4, "that is TrainerConfig's default; use the argument finetune_lr"),
            ],
            "final_tokens": [
                (
                    200 * questions * block_size,
                    "that counts the questions; it should count pretrain_dataset",
                ),
                (200 * documents, "block_size is missing"),
                (
                    200 * documents * given.read_block_size,
                    "that is pretrain_dataset.block_size; use the argument block_size",
                ),
                (650 * documents * block_size, for_pretraining),
            ],
        },
    )


@check("1d-5-basic")
def test_arguments(student, rng):
    """finetune uses the model, questions file, vocabulary and learning rate passed in."""
    require_finetuning(student, rng)


@probe
def train_a_table(table, rows, epochs, rate):
    """Run train on a model that is a table of logits, one row per token; return what was saved and
    how the model differs from it.
    """
    import os

    import torch

    scratch = os.getcwd()  # the submission may change to another folder
    from submission import helper
    from submission.trainer import Trainer, TrainerConfig

    class Table(torch.nn.Module):
        """Looks up the logits of the next token by the last one."""

        def __init__(self):
            super().__init__()
            self.rows = torch.nn.Embedding.from_pretrained(torch.from_numpy(table), freeze=False)
            self.register_buffer("kept", torch.ones(3))

        def forward(self, x, y=None):
            logits = self.rows(x)
            if y is None:
                return logits, None
            return logits, torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())

    class Mover(Trainer):
        """Moves the parameters to new storage when training starts, as on a GPU."""

        trainings = 0

        def train(self):
            self.trainings += 1
            for parameter in self.model.parameters():
                parameter.data = parameter.data.clone()
            return super().train()

    model, path = Table(), os.path.join(scratch, "trained.params")
    rows = torch.from_numpy(rows)
    config = TrainerConfig(
        max_epochs=epochs, batch_size=4, learning_rate=rate, progress=False, device="cpu"
    )
    before = {name: value.clone() for name, value in model.state_dict().items()}
    trainer = Mover(model, [(row[:-1], row[1:]) for row in rows], None, config)
    helper.train(model, path, trainer)
    model.eval()
    now = model.state_dict()
    result = {
        "trainings": trainer.trainings,
        "written": os.path.exists(path),
        "files": sorted(os.listdir(scratch)),
        "changed": not all(torch.equal(value, before[name]) for name, value in now.items()),
    }
    if not result["written"]:
        return result
    try:
        state = torch.load(path, weights_only=True)
    except Exception as error:
        return {**result, "unreadable": str(error)[:300]}
    result["kind"] = type(state).__name__
    if not isinstance(state, dict):
        return result
    result["missing"] = sorted(str(name) for name in now if name not in state)[:5]
    result["unknown"] = sorted(str(name) for name in state if name not in now)[:5]
    common = [name for name in now if name in state and isinstance(state[name], torch.Tensor)]
    result["dtypes"] = [name for name in common if state[name].dtype != before[name].dtype][:5]
    result["different"] = [name for name in common if not torch.equal(state[name], now[name])][:5]
    result["saved"] = {name: state[name] for name in common}
    return result


@check("1d-3-basic")
def test_train(student, rng):
    """train teaches a model the fixed order of ten tokens, and saves its weights."""
    order = rng.permutation(np.arange(1, 11))
    rows = np.stack([np.roll(order, -i) for i in range(10)])
    following = dict(zip(order, np.roll(order, -1)))
    table = (0.1 * rng.standard_normal((11, 11))).astype(np.float32)
    for token, successor in following.items():
        table[token, successor] = -1.0  # drawn, so a submission cannot know it in advance
    answer = student.run(train_a_table, table=table, rows=rows, epochs=20, rate=0.1)
    trained = _read_saved(answer, table)
    if (count := answer["trainings"].number()) > 1:
        raise WrongAnswer(
            f"train calls trainer_obj.train() {count:g} times: the model trains {count:g} times as "
            "long as max_epochs says."
        )
    learned = sum(trained[token].argmax() == successor for token, successor in following.items())
    # Adam moves every logit by up to 0.1 in each of 60 steps: the reference learns all ten.
    if learned < 9:
        raise WrongAnswer(
            "train should lower the loss clearly. In 20 epochs on a small problem, its model "
            f"learned the next token for {learned} of 10 tokens; it should learn all."
        )
    if names := answer["different"].texts():
        raise WrongAnswer(
            f"The weights that train saved are not those of the trained model: {', '.join(names)}"
            " differ."
        )


def _read_saved(answer, table):
    """Return the table that train saved, if it is a state_dict from after the training."""
    if not answer["changed"].flag():
        if not answer["written"].flag():
            raise NotImplementedYet(
                "train changed no weight and saved nothing. Call trainer_obj.train(), then"
                " torch.save."
            )
        raise WrongAnswer("train did not train: no weight changed. Call trainer_obj.train().")
    if not answer["written"].flag():
        found = ", ".join(answer["files"].texts()) or "nothing"
        raise WrongAnswer(f"train did not write to writing_params_path; it wrote {found}.")
    entries = answer.entries()
    if "unreadable" in entries:
        raise WrongAnswer(
            "What train saved cannot be loaded with weights_only=True. Save model.state_dict()"
            " alone, not the model or the Trainer."
        )
    if "missing" not in entries:
        raise WrongAnswer(
            f"train saved a {answer['kind'].text()}. Save model.state_dict(), a dictionary from"
            " names to tensors."
        )
    faults = (
        ("it lacks", answer["missing"].texts()),
        ("it should not have", answer["unknown"].texts()),
    )
    if any(names for _, names in faults):
        raise WrongAnswer(
            "What train saved is not the model's state_dict: "
            + "; ".join(f"{what} {', '.join(names)}" for what, names in faults if names)
            + "."
        )
    if names := answer["dtypes"].texts():
        raise WrongAnswer(
            f"train saved {', '.join(names)} with a dtype that differs from the model's."
        )
    saved = answer["saved"].entries()
    trained = saved["rows.weight"].array("float32", table.shape)
    if np.array_equal(trained, table):
        raise WrongAnswer(
            "The weights that train saved are those from before the training. Call state_dict() "
            "and save after trainer_obj.train(): on a GPU, a state_dict from before doesn't change."
        )
    return trained
