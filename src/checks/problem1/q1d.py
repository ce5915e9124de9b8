"""Question 1d, basic: the vanilla model, finetuning from scratch, and train."""

from autograder import check, probe
from checks.problem1.models import Parameters, require_models
from checks.problem1.prepared import ARGUMENTS, HYPERPARAMETERS, require_prepared
from checks.support.asked import Asked, Same


@check("1d-4-basic")
def test_vanilla_model(student, calls):
    """Logits and loss for sizes that are all different."""
    require_models(student, calls)


@check("1d-1-basic")
def test_finetune(student, calls):
    """The hyperparameters without pretrained weights."""
    require_prepared(HYPERPARAMETERS, student, calls)


@check("1d-5-basic")
def test_arguments(student, calls):
    """finetune uses the model, questions file, vocabulary and learning rate passed in."""
    require_prepared(ARGUMENTS, student, calls)


@probe
def train_a_table(table, rows):
    """Run train on a model that is a table of logits, one row per token, and describe what was
    saved and how the model differs from it.
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
        max_epochs=5, batch_size=4, learning_rate=0.5, progress=False, device="cpu"
    )
    trainer = Mover(model, [(row[:-1], row[1:]) for row in rows], None, config)
    helper.train(model, path, trainer)
    now = model.eval().state_dict()
    same = torch.equal(now["rows.weight"], torch.from_numpy(table))
    reply = {
        "weights": f"unchanged, after {trainer.trainings} trainings" if same else "changed",
        "trainings": max(1, trainer.trainings),  # some call Trainer.train(trainer_obj)
        "saved": os.listdir(scratch) or ["nothing"],
    }
    try:
        state = torch.load(path, weights_only=True)
        reply["saved"] = [f"{name} {value.dtype}" for name, value in state.items()]
        learned = state["rows.weight"].numpy().argmax(axis=1)[1:]
        different = [name for name in now if not torch.equal(state[name], now[name])]
    except Exception:
        return reply
    return reply | {"learned": learned.astype(str).tolist(), "different": different}


# Adam moves every logit by up to 0.5 in each of 15 steps, so the reference learns all ten.
TRAINED = Asked(
    train_a_table,
    "train(model, 'trained.params', trainer_obj)",
    {
        "weights": Same(
            "train did not train: the model's weights should be {right}; they are {got}. Call "
            "trainer_obj.train()."
        ),
        "saved": Parameters(
            "contents of trained.params (or names of files, if it cannot be loaded as a dict of "
            "tensors) after {call}"
        ),
        "trainings": Same(
            "train calls trainer_obj.train() {got} times: the model trains {got} times as long as "
            "max_epochs says."
        ),
        "learned": Same(
            "The weights that train saved should know which tokens follow the tokens 1 to 10: "
            "{right}. They say {got}. Save after trainer_obj.train(), and call state_dict() after "
            "it: on a GPU, a state_dict from before doesn't change."
        ),
        "different": Same("The weights that train saved are not those of the model: {got} differ."),
    },
)
