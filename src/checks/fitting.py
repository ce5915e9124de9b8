"""Running train_classifier on a small model that writes down what it is given. The checks of question 5g share it."""
from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe
from autograder.inside.wire import Array
from checks.encoder import own_work
from checks.gpt import log_probabilities

N_CLASSES, WORDS = 4, 12
FIRST_WORD = 500            # tokens below are the numbers of sentences


@probe(uses=(own_work,))
def run_training(cases):
    """train_classifier on a bag of words of our own, for each case: what it returns and did, and what has become of the model."""
    import torch
    with own_work():
        from submission.encoder import train_classifier

    class Bag(torch.nn.Module):
        def __init__(self, weight, dropout):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.from_numpy(weight))
            self.bias = torch.nn.Parameter(torch.zeros(weight.shape[1]))
            self.dropout = torch.nn.Dropout(dropout)
            self.log, self.leftover = [], 0.0
            self.weight.register_hook(self.look)

        def forward(self, idx):
            logits = self.dropout(self.weight[idx]).mean(dim=1) + self.bias
            self.log.append({"numbers": idx[:, 0].tolist(), "training": self.training, "gradients": torch.is_grad_enabled(),
                             "logits": logits.detach().clone()})
            return logits

        def look(self, gradient):
            """Called before a gradient is added to what .grad has from earlier batches."""
            if self.weight.grad is not None:
                self.leftover = max(self.leftover, self.weight.grad.abs().max().item())

    answers = []
    for case in cases:
        torch.rand(len(answers) + 1)        # whatever was drawn before
        model = Bag(case["weight"], case["dropout"]).train(case["training"])
        x, y = torch.from_numpy(case["x"]), torch.from_numpy(case["y"])
        before = {name: value.detach().clone() for name, value in model.named_parameters()}
        keywords = {name: case[name] for name in ("batch_size", "learning_rate", "seed") if case[name] is not None}
        with own_work():
            result = train_classifier(model, x, y, case["epochs"], **keywords)
        moved = {name: (value.detach() - before[name]).abs().max().item() for name, value in model.named_parameters()}
        kept = all(torch.equal(data, torch.from_numpy(case[name])) for name, data in (("x", x), ("y", y)))
        answers.append({"result": result, "log": model.log, "leftover": model.leftover, "training": model.training,
                        "moved": moved, "weight": model.weight, "kept": kept})
    return answers


@dataclass(frozen=True)
class Case:
    """A call of train_classifier.

    x: sentences, int64 (N, T), of which token 0 is the sentence's number. y: classes, (N). weight: of the model at first.
    training: the model's mode before. The others are arguments, or dropout's rate; None for the default.
    """
    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    epochs: int
    batch_size: int | None = 64
    learning_rate: float | None = 0.03
    seed: int | None = None
    dropout: float = 0.0
    training: bool = True


def draw_case(rng, count: int, epochs: int, **arguments) -> Case:
    """Sentences of a number and four words, of which two say the class."""
    y = rng.integers(N_CLASSES, size=count)
    words = FIRST_WORD + rng.integers(N_CLASSES, WORDS, size=(count, 4))
    words[:, 1:3] = FIRST_WORD + y[:, None]
    weight = rng.standard_normal((FIRST_WORD + WORDS, N_CLASSES)).astype(np.float32)
    return Case(np.concatenate((np.arange(count)[:, None], words), axis=1), y, weight, epochs, **arguments)


def train(student, cases: list[Case]) -> list[Answer]:
    """Run the cases."""
    return student.run(run_training, cases=[vars(case) for case in cases]).items(len(cases))


@dataclass(frozen=True)
class _Batch:
    """What the model was given and gave: the numbers of the sentences, its mode, and logits."""
    numbers: list[int]
    training: bool
    logits: Answer


def numbers_of(use: Answer) -> list[int]:
    """The numbers of the sentences that the model was run on, from its log."""
    return [int(number.number()) for number in use["numbers"].items()]


def require_training(case: Case, answer: Answer) -> None:
    """Every sentence was used once an epoch, in a new order; the losses are right, and fall; modes are right.

    Raises:
        WrongAnswer: something is not as it should be; names the likely cause.
    """
    N, size = len(case.y), case.batch_size or 64
    losses = _losses(answer["result"], case.epochs)
    batches = [_Batch(numbers_of(use), use["training"].flag(), use["logits"])
               for use in answer["log"].items() if use["gradients"].flag()]
    if not batches:
        raise WrongAnswer("train_classifier does not run the model with gradients.")
    if not all(batch.training for batch in batches):
        raise WrongAnswer("train_classifier trains in evaluation mode, without dropout. model.train() comes first; and again "
                          "after anything that calls model.eval().")
    if (most := max(len(batch.numbers) for batch in batches)) > size:
        raise WrongAnswer(f"With batch_size={size}, train_classifier makes batches of {most}.")
    _require_orders([n for batch in batches for n in batch.numbers], N, case.epochs)
    if answer["leftover"].number() > 1e-12:
        raise WrongAnswer("Gradients of earlier batches are still there when those of a new batch are added.\nLikely cause: "
                          "optimizer.zero_grad() is missing before backward().")
    if still := [name for name, distance in answer["moved"].entries().items() if distance.number() == 0]:
        raise WrongAnswer(f"After train_classifier, the model's {still[0]} is what it was. Are all of model.parameters() given "
                          "to the optimizer, and is optimizer.step() called?")
    _require_losses(case, losses, batches)
    if case.epochs >= 5 and not losses[-1] < losses[0]:      # in fewer, a right optimizer may be unlucky
        raise WrongAnswer(f"The training loss should fall; it was {losses[0]:.4f} in the first epoch and is {losses[-1]:.4f} in "
                          "the last one.")
    if answer["training"].flag():
        raise WrongAnswer("train_classifier should leave the model in evaluation mode. model.eval() comes last.")
    if not answer["kept"].flag():
        raise WrongAnswer("train_classifier changes x or y in place.")


def _losses(answer, epochs):
    answer = answer.named("what train_classifier returns").present()
    if not isinstance(answer.value, (list, tuple)) or len(answer.value) != epochs:
        raise WrongAnswer(f"train_classifier should return a list of {epochs} floats, one for each epoch; it returned "
                          f"{answer.describe()}.")
    if any(isinstance(loss.value, Array) and loss.value.kind == "tensor" for loss in answer.items()):
        raise WrongAnswer("train_classifier should return Python floats, not tensors. Their .item() is one.")
    return [loss.named("a loss that train_classifier returns").number() for loss in answer.items()]


def _require_orders(numbers, N, epochs):
    """Every sentence once an epoch, each time in another order."""
    if len(numbers) != N * epochs:
        missing = N * epochs - len(numbers)
        last = (f"\nLikely cause: sentences that do not fill a batch are left out, {missing // epochs} of {N}."
                if missing > 0 and missing % epochs == 0 else "")
        raise WrongAnswer(f"{epochs} epochs of {N} sentences are {N * epochs} uses of a sentence; there were "
                          f"{len(numbers)}.{last}")
    orders = [numbers[i * N:(i + 1) * N] for i in range(epochs)]
    if set(numbers) - set(range(N)):
        raise WrongAnswer("train_classifier gives the model other sentences than those of x.")
    for i, order in enumerate(orders):
        if absent := N - len(set(order)):
            raise WrongAnswer(f"In epoch {i + 1}, {absent} of {N} sentences are not used, and others more than once.\nLikely "
                              "cause: they are drawn with replacement; torch.randperm(N) has each once.")
    # By chance, orders of 20 and more sentences are equal less than once in 10 ** 18 runs.
    if N >= 20 and any(order == sorted(order) for order in orders):
        raise WrongAnswer("The sentences are used in the order in which they come. Draw a random order for each epoch.")
    if N >= 20 and epochs > 1 and orders[0] == orders[1]:
        raise WrongAnswer("All epochs have the same order. Draw a new one for each, from one generator that is seeded once.")


def _require_losses(case, losses, batches):
    N, start, epochs = len(case.y), 0, []
    for _ in range(case.epochs):
        used, count = [], 0
        while count < N and start < len(batches):
            batch = batches[start]
            logits = batch.logits.array("float32", (len(batch.numbers), N_CLASSES)).astype(float)
            used.append(-log_probabilities(logits, case.y[batch.numbers]))
            count, start = count + len(batch.numbers), start + 1
        epochs.append(used)
    right = np.array([np.concatenate(used).mean() for used in epochs])
    if np.abs(np.array(losses) - right).max() <= 1e-4 * max(1, right.max()):
        return
    known = [("it is the mean of the batches' losses, in which a smaller last batch counts too much. Weigh each by its size.",
              [np.mean([part.mean() for part in used]) for used in epochs]),
             ("it is the loss of the last batch alone.", [used[-1].mean() for used in epochs]),
             ("it is the sum over the batches, not the mean.", [sum(part.mean() for part in used) for used in epochs]),
             ("it is the sum over the sentences, not the mean.", [np.concatenate(used).sum() for used in epochs]),
             ("the sum of the batches' losses is divided by the number of "
              "sentences.", [sum(part.mean() for part in used) / N for used in epochs]),
             ("losses of earlier epochs are in it: the sum begins at 0 in each epoch.", np.cumsum(right)),
             ("losses of earlier epochs are in it: the mean begins anew in each "
              "epoch.", np.cumsum(right) / np.arange(1, len(right) + 1))]
    for sentence, values in known:
        if np.allclose(losses, values, rtol=1e-4, atol=1e-5):
            raise WrongAnswer(f"The losses that train_classifier returns begin with {losses[0]:.4f}; it should be "
                              f"{right[0]:.4f}.\nLikely cause: {sentence}")
    i = int(np.argmax(np.abs(np.array(losses) - right)))
    raise WrongAnswer(f"The mean training loss of epoch {i + 1} was {right[i]:.4f} nats a sentence; train_classifier returned "
                      f"{losses[i]:.4f}. "
                      "It is the mean of the cross-entropy over the sentences, as the model answered when it was trained on "
                      "them.")
