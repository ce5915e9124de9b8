"""Runs train_classifier on small models that record their inputs; shared by the checks of question
5g.
"""

import numpy as np

from autograder import Answer, WrongAnswer, probe
from autograder.inside.wire import Array
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.support.cases import Case

N_CLASSES, WORDS = 4, 12
FIRST_WORD = 500  # tokens below are the numbers of sentences
DEFAULT_SIZE = 64  # of batches


@probe(uses=(forbid_builtins,))
def run_training(cases):
    """Run train_classifier on our own model for each case: its result, what it did, and the model
    afterwards.

    A case: x, int64 (N, T), where token 0 is the sentence's number and the model reads token 1; y,
    (N); epochs and other arguments, None for the default; the dropout rate; `training`, the model's
    mode before. With `heights`, (epochs, N), the model learns, but answers the i-th sentence of
    each epoch with a logit of that height for the right class and 0 for the others, and with the
    height `resting` outside training.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import train_classifier

    class Learner(torch.nn.Module):
        def __init__(self, case):
            super().__init__()
            n_classes = 4
            self.weight = torch.nn.Parameter(torch.zeros(512, n_classes))  # (words, classes)
            self.bias = torch.nn.Parameter(torch.zeros(n_classes))
            self.dropout = torch.nn.Dropout(case["dropout"])
            self.right = torch.nn.functional.one_hot(torch.from_numpy(case["y"]), n_classes)
            self.heights = None if case["heights"] is None else case["heights"].ravel().tolist()
            self.resting = case["resting"]
            self.used, self.log, self.leftover = 0, [], 0.0
            self.weight.register_hook(self.look)

        def forward(self, idx):
            logits = self.dropout(self.weight[idx[:, 1]]) + self.bias
            if self.heights is not None:
                height = torch.full((len(idx),), self.resting)
                if torch.is_grad_enabled():
                    now = self.heights[self.used : self.used + len(idx)]
                    height[: len(now)] = torch.tensor(now)
                    self.used += len(idx)
                logits = height[:, None] * self.right[idx[:, 0]] + logits - logits.detach()
            self.log.append(
                {
                    "numbers": idx[:, 0].tolist(),
                    "training": self.training,
                    "gradients": torch.is_grad_enabled(),
                }
            )
            return logits

        def look(self, gradient):
            """Called before a gradient is added to .grad, which may have earlier batches'
            gradients.
            """
            if self.weight.grad is not None:
                self.leftover = max(self.leftover, self.weight.grad.abs().max().item())

    answers = []
    for case in cases:
        torch.rand(len(answers) + 1)  # independent of earlier draws
        model = Learner(case).train(case["training"])
        x, y = torch.tensor(case["x"]), torch.tensor(case["y"])  # copies
        before = {name: value.detach().clone() for name, value in model.named_parameters()}
        keywords = {
            name: case[name]
            for name in ("batch_size", "learning_rate", "seed")
            if case[name] is not None
        }
        with forbid_builtins():
            result = train_classifier(model, x, y, case["epochs"], **keywords)
        moved = {
            name: (value.detach() - before[name]).abs().max().item()
            for name, value in model.named_parameters()
        }
        kept = all(
            torch.equal(data, torch.from_numpy(case[name])) for name, data in (("x", x), ("y", y))
        )
        answers.append(
            {
                "result": result,
                "log": model.log,
                "leftover": model.leftover,
                "training": model.training,
                "moved": moved,
                "weight": model.weight,
                "kept": kept,
            }
        )
    return answers


def draw_sentences(rng, count: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Draw sentences of a number and two words, the first of which gives the class: x, (count, 3),
    y, (count), and the number of classes.
    """
    y = rng.integers(N_CLASSES, size=count)
    other = rng.integers(N_CLASSES, WORDS, size=count)
    return np.stack((np.arange(count), FIRST_WORD + y, FIRST_WORD + other), axis=1), y, N_CLASSES


def learning(
    rng,
    count: int,
    epochs: int,
    batch_size: int | None = 16,
    learning_rate: float | None = 0.03,
    seed: int | None = None,
    dropout: float = 0.0,
) -> Case:
    """Make a case of train_classifier with a model that answers what it has learned, without an
    expected loss.
    """
    x, y, _ = draw_sentences(rng, count)
    return Case(
        {
            "x": x,
            "y": y,
            "epochs": epochs,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "seed": seed,
            "dropout": dropout,
            "training": True,
            "heights": None,
            "resting": 0.0,
        }
    )


def train(student, cases: list[Case]) -> list[Answer]:
    """Run the cases."""
    return student.run(run_training, cases=[case.inputs for case in cases]).items(len(cases))


def judge_trainings(student, cases: list[Case]) -> None:
    """Run and judge the cases, in one probe.

    Raises:
        WrongAnswer: something is wrong; names the likely cause.
    """
    for case, answer in zip(cases, train(student, cases)):
        require_training(case, answer)


def numbers_of(use: Answer) -> list[int]:
    """The numbers of the sentences that the model was run on, from its log."""
    return [int(number.number()) for number in use["numbers"].items()]


def require_training(case: Case, answer: Answer) -> None:
    """Check that every sentence was used once per epoch, in a new order, that the losses are right,
    or fall, and that modes are right.

    Raises:
        WrongAnswer: something is wrong; names the likely cause.
    """
    epochs, N = case.inputs["epochs"], len(case.inputs["y"])
    size = case.inputs["batch_size"] or DEFAULT_SIZE
    losses = _losses(answer["result"], epochs)
    batches = [
        (numbers_of(use), use["training"].flag())
        for use in answer["log"].items()
        if use["gradients"].flag()
    ]
    if not batches:
        raise WrongAnswer("train_classifier does not run the model with gradients.")
    if not all(training for _, training in batches):
        before = "" if case.inputs["training"] else ", in which the model came"
        raise WrongAnswer(
            f"train_classifier trains in evaluation mode{before}, without dropout. Call "
            "model.train() first, and again after anything that calls model.eval()."
        )
    if (most := max(len(numbers) for numbers, _ in batches)) > size:
        raise WrongAnswer(f"With batch_size={size}, train_classifier makes batches of {most}.")
    _require_orders([n for numbers, _ in batches for n in numbers], N, epochs)
    if answer["leftover"].number() > 1e-12:
        raise WrongAnswer(
            "Gradients of earlier batches are still in .grad when those of a new batch are added.\n"
            "Likely cause: optimizer.zero_grad() is missing before backward()."
        )
    if still := [
        name for name, distance in answer["moved"].entries().items() if distance.number() == 0
    ]:
        raise WrongAnswer(
            f"After train_classifier, the model's {still[0]} is unchanged. Are all of "
            "model.parameters() passed to the optimizer, and is optimizer.step() called?"
        )
    if case.right is not None:
        _require_losses(case, losses)
    elif (
        epochs >= 5 and not losses[-1] < losses[0]
    ):  # with fewer steps, a correct optimizer may be unlucky
        raise WrongAnswer(
            f"The training loss should fall; it was {losses[0]:.4f} in the first epoch and is "
            f"{losses[-1]:.4f} in the last one."
        )
    if answer["training"].flag():
        raise WrongAnswer(
            "train_classifier should leave the model in evaluation mode. Call model.eval() at the "
            "end."
        )
    if not answer["kept"].flag():
        raise WrongAnswer("train_classifier changes x or y in place.")


def _losses(answer, epochs):
    answer = answer.named("what train_classifier returns").present()
    if not isinstance(answer.value, (list, tuple)) or len(answer.value) != epochs:
        raise WrongAnswer(
            f"train_classifier should return a list of {epochs} floats, one for each epoch; it "
            f"returned {answer.describe()}."
        )
    if any(
        isinstance(loss.value, Array) and loss.value.kind == "tensor" for loss in answer.items()
    ):
        raise WrongAnswer("train_classifier should return Python floats, not tensors. Use .item().")
    return [loss.named("a loss that train_classifier returns").number() for loss in answer.items()]


def _require_orders(numbers, N, epochs):
    """Check that every epoch uses each sentence once, in a different order."""
    if len(numbers) != N * epochs:
        missing = N * epochs - len(numbers)
        last = (
            f"\nLikely cause: sentences that do not fill a batch are left out, {missing // epochs} "
            f"of {N}."
            if missing > 0 and missing % epochs == 0
            else ""
        )
        raise WrongAnswer(
            f"{epochs} epochs of {N} sentences are {N * epochs} uses of a sentence; there were "
            f"{len(numbers)}.{last}"
        )
    orders = [numbers[i * N : (i + 1) * N] for i in range(epochs)]
    if set(numbers) - set(range(N)):
        raise WrongAnswer("train_classifier gives the model sentences that are not in x.")
    for i, order in enumerate(orders):
        if absent := N - len(set(order)):
            raise WrongAnswer(
                f"In epoch {i + 1}, {absent} of {N} sentences are not used, and others more than "
                "once.\nLikely cause: they are drawn with replacement; torch.randperm(N) has each "
                "once."
            )
    # Two random orders of 20 or more sentences are equal less than once in 10 ** 18 runs.
    if N >= 20 and any(order == sorted(order) for order in orders):
        raise WrongAnswer(
            "The sentences are used in their given order. Draw a random order for each epoch."
        )
    if N >= 20 and epochs > 1 and orders[0] == orders[1]:
        raise WrongAnswer(
            "All epochs have the same order. Draw a new one for each, from one generator that is "
            "seeded once."
        )


def _require_losses(case, losses):
    off = np.abs(losses - case.right)
    if off.max() <= 1e-4 * max(1, case.right.max()):
        return
    cause = next(
        (
            sentence
            for sentence, values in case.wrong
            if np.allclose(losses, values, rtol=1e-4, atol=1e-5)
        ),
        "it is a different loss, or sentences and classes are not in the same order. It should be "
        "the mean cross-entropy over the sentences, from the model's outputs during training.",
    )
    i = int(off.argmax())
    raise WrongAnswer(
        f"The mean training loss of epoch {i + 1} was {case.right[i]:.4f} nats a sentence; "
        f"train_classifier returned {losses[i]:.4f}.\nLikely cause: {cause}"
    )


def require_repetition(student, rng) -> None:
    """Check that the loss falls, that the seed determines the order and dropout, and that the
    learning rate affects the steps.

    Raises:
        WrongAnswer: one of these fails.
    """
    seed = int(rng.integers(1, 1000))
    falling = learning(rng, 16 * int(rng.integers(4, 7)) + int(rng.integers(2, 6)), epochs=6)
    case = learning(rng, 45, epochs=2, seed=seed, dropout=0.5)
    other, slow = (
        Case(case.inputs | change) for change in ({"seed": seed + 1}, {"learning_rate": 1e-9})
    )
    answers = train(student, [falling, case, case, other, slow])
    require_training(falling, answers[0])
    once, again, other, slow = answers[1:]
    require_training(case, once)
    numbers = [
        [n for use in answer["log"].items() for n in numbers_of(use)]
        for answer in (once, again, other)
    ]
    if numbers[0] != numbers[1]:
        raise WrongAnswer(
            "With the same seed, train_classifier uses the sentences in a different order. Draw "
            "the order from a generator seeded with `seed`."
        )
    if numbers[0] == numbers[2]:
        raise WrongAnswer(
            "With another seed, train_classifier uses the sentences in the same order. Draw the "
            "order from a generator seeded with `seed`."
        )
    if not np.array_equal(
        *(
            answer["weight"].array("float32", (FIRST_WORD + WORDS, N_CLASSES))
            for answer in (once, again)
        )
    ):
        raise WrongAnswer(
            "With the same seed and a model with dropout, train_classifier ends with different "
            "weights. Call torch.manual_seed(seed) first."
        )
    if max(distance.number() for distance in slow["moved"].entries().values()) > 1e-5:
        raise WrongAnswer(
            "With learning_rate=1e-9, train_classifier changes the weights as much as with a "
            "larger one. Pass learning_rate to the optimizer."
        )
