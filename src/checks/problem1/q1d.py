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
        max_epochs=20, batch_size=4, learning_rate=0.1, progress=False, device="cpu"
    )
    trainer = Mover(model, [(row[:-1], row[1:]) for row in rows], None, config)
    helper.train(model, path, trainer)
    now = model.eval().state_dict()
    written = os.path.exists(path)
    same = torch.equal(now["rows.weight"], torch.from_numpy(table))
    calls = f"{trainer.trainings} calls of trainer_obj.train()"
    reply = {
        "weights": f"unchanged, after {calls}" if same else "changed",
        "trainings": max(1, trainer.trainings),
        "written": ["trained.params"] if written else sorted(os.listdir(scratch)) or ["nothing"],
    }
    if not written:
        return reply
    try:
        state = torch.load(path, weights_only=True)
    except Exception:
        return reply
    reply["kind"] = "dict" if isinstance(state, dict) else type(state).__name__
    if not isinstance(state, dict):
        return reply
    tensors = {name: x for name, x in state.items() if isinstance(x, torch.Tensor)}
    names = [f"{name} {tensors[name].dtype if name in tensors else ''}" for name in state]
    reply["names"] = names
    if not all(name in tensors for name in now):
        return reply
    return reply | {
        "learned": tensors["rows.weight"].numpy().argmax(axis=1)[1:].astype(str).tolist(),
        "different": [name for name in now if not torch.equal(tensors[name], now[name])],
    }


# Adam moves every logit by up to 0.1 in each of 60 steps, so the reference learns all ten.
TRAINED = Asked(
    train_a_table,
    "train(model, 'trained.params', trainer_obj)",
    {
        "weights": Same(
            "train did not train: the model's weights should be {right}; they are {got}."
        ),
        "written": Same("train did not write to writing_params_path, {right}; it wrote {got}."),
        "kind": Same(
            "What train saved cannot be loaded as a dict with weights_only=True. Save "
            "model.state_dict() alone, not the model or the Trainer."
        ),
        "names": Parameters("names and dtypes in what {call} saved"),
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


@check("1d-3-basic")
def test_train(student, calls):
    """train teaches a model the fixed order of ten tokens, and saves its weights."""
    TRAINED.require(student, calls)
