"""Question 5g, basic: a bag of words, training, accuracy, and the entropy of attention."""

import numpy as np

from autograder import WrongAnswer, check, probe
from autograder.inside.wire import Array
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.q5g_training import judge_trainings, require_repetition
from checks.support.cases import Case


@probe(uses=(forbid_builtins,))
def run_bag(cases):
    """Create a BagOfWords for each case, and run it with the given weights, first with the rows in
    another order.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import BagOfWords

        answers = []
        for case in cases:
            model = BagOfWords(case["vocab_size"], case["n_classes"])
            fresh = {
                name: parameter.detach().clone() for name, parameter in model.named_parameters()
            }
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    given = case["weights"].get(name)
                    if given is not None and given.shape == tuple(parameter.shape):
                        parameter.copy_(torch.from_numpy(given))
                # A row of zeros stays so, in an embedding made with padding_idx=0.
                if getattr(model.weight, "padding_idx", None) == 0:
                    model.weight.weight[0] = 0
            idx = torch.tensor(case["idx"])
            model(idx.flip(0))
            logits = model(idx)
            if isinstance(logits, torch.Tensor) and logits.requires_grad:
                logits.sum().backward()
            answers.append(
                {
                    "fresh": fresh,
                    "logits": logits,
                    "idx": idx,
                    "untrained": [
                        name for name, value in model.named_parameters() if value.grad is None
                    ],
                }
            )
        return answers


def judge_bags(student, cases: list[Case]) -> None:
    """Check BagOfWords' parameters and output.

    Raises:
        WrongAnswer: one is wrong; names the likely cause.
    """
    answers = student.run(run_bag, cases=[case.inputs for case in cases]).items(len(cases))
    for case, answer in zip(cases, answers):
        idx, n_classes = case.inputs["idx"], case.inputs["n_classes"]
        shapes = {name: weight.shape for name, weight in case.inputs["weights"].items()}
        fresh = answer["fresh"].entries()
        if fresh.keys() != shapes.keys():
            raise WrongAnswer(
                f"BagOfWords should have the parameters {' and '.join(shapes)}; it has "
                f"{', '.join(sorted(fresh)) or 'none'}."
            )
        fresh = {
            name: fresh[name].named(f"BagOfWords' {name}").array("float32", shape)
            for name, shape in shapes.items()
        }
        if fresh["bias"].any():
            raise WrongAnswer("BagOfWords' bias should be zeros at first.")
        logits = answer["logits"].named("BagOfWords' logits")
        padded = "" if idx.any(axis=1).all() else ", one of them only PAD"
        try:
            logits = logits.array("float32", (len(idx), n_classes)).astype(float)
        except WrongAnswer as wrong:
            if not padded or "NaN" not in wrong.message:
                raise
            cause = "a row of only PAD is divided by its number of words, which is 0."
            raise WrongAnswer(f"{wrong.message}\nLikely cause: {cause}") from None
        case.require(
            f"BagOfWords on {idx.shape[0]} rows of {idx.shape[1]} tokens{padded}", logits, 1e-5
        )
        _require_kept("BagOfWords", case, answer, "idx")
        untrained = answer["untrained"].texts() if idx.any() else []  # no words, no gradient
        if untrained:
            raise WrongAnswer(
                f"No gradient of BagOfWords' logits reaches {', '.join(untrained[:2])}."
            )


@probe(uses=(forbid_builtins,))
def run_accuracy(cases):
    """Run accuracy on a model that answers from a table, differently in training mode, and records
    how it is used.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import accuracy

    class Table(torch.nn.Module):
        def __init__(self, table):
            super().__init__()
            self.table = torch.nn.Parameter(table)
            self.uses = []

        def forward(self, idx):
            self.uses.append([len(idx), self.training, torch.is_grad_enabled()])
            return self.table[idx[:, 0]] * (-1 if self.training else 1)

    answers = []
    for case in cases:
        model = Table(torch.from_numpy(case["table"])).train(case["training"])
        size = {} if case["batch_size"] is None else {"batch_size": case["batch_size"]}
        x, y = torch.tensor(case["x"]), torch.tensor(case["y"])
        result = accuracy(model, x, y, **size)
        answers.append(
            {"accuracy": result, "uses": model.uses, "training": model.training, "x": x, "y": y}
        )
    return answers


def judge_accuracies(student, cases: list[Case]) -> None:
    """Check that accuracy is right and uses the model correctly.

    Raises:
        WrongAnswer: it does not; names the likely cause.
    """
    answers = student.run(run_accuracy, cases=[case.inputs for case in cases]).items(len(cases))
    for case, answer in zip(cases, answers):
        _require_accuracy(case, answer)


def _require_accuracy(case, answer):
    size, training = case.inputs["batch_size"] or 256, case.inputs["training"]
    result = answer["accuracy"].named("what accuracy returns")
    if isinstance(result.value, Array) and result.value.kind == "tensor":
        raise WrongAnswer(
            f"accuracy should return a Python float, not {result.describe()}. Use .item()."
        )
    got = result.number()
    if not abs(got - case.right) < 1e-6:
        raise WrongAnswer(
            f"accuracy on {len(case.inputs['y'])} sentences, with batch_size={size}, should be "
            f"{case.right:.6g}; it is {got:.6g}.{case.cause(got)}"
        )
    uses = [use.items(3) for use in answer["uses"].items()]
    uses = [(rows.number(), mode.flag(), gradients.flag()) for rows, mode, gradients in uses]
    if any(mode for _, mode, _ in uses):
        raise WrongAnswer("accuracy runs the model in training mode. Call model.eval() first.")
    if any(gradients for _, _, gradients in uses):
        raise WrongAnswer(
            "accuracy runs the model with gradients enabled. Run it within torch.no_grad()."
        )
    if (most := max((rows for rows, _, _ in uses), default=0)) > size:
        raise WrongAnswer(
            f"With batch_size={size}, accuracy gives the model {most} sentences at a time."
        )
    if answer["training"].flag() is not training:
        modes = ("training", "evaluation") if training else ("evaluation", "training")
        raise WrongAnswer(
            f"The model was in {modes[0]} mode before accuracy, and is in {modes[1]} mode "
            "afterwards."
        )
    _require_kept("accuracy", case, answer, "x", "y")


@probe(uses=(forbid_builtins,))
def run_entropy(cases):
    """Run attention_entropy on weights and masks."""
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import attention_entropy

    answers = []
    for case in cases:
        weights, mask = torch.tensor(case["weights"]), torch.tensor(case["mask"])
        with forbid_builtins():
            entropy = attention_entropy(weights, mask)
        answers.append({"entropy": entropy, "weights": weights, "mask": mask})
    return answers


def judge_entropies(student, cases: list[Case]) -> None:
    """Check that attention_entropy returns the entropy of each head, (n_head).

    Raises:
        WrongAnswer: it does not; names the likely cause.
    """
    answers = student.run(run_entropy, cases=[case.inputs for case in cases]).items(len(cases))
    for case, answer in zip(cases, answers):
        entropy = answer["entropy"].named("attention_entropy").present()
        data = entropy.value.data if isinstance(entropy.value, Array) else np.zeros(0)
        if data.dtype.kind == "f" and np.isnan(data).any():
            raise WrongAnswer(
                "attention_entropy is NaN for some heads.\nLikely cause: 0 ln 0 counts as 0; "
                "torch.log(0) times 0 is NaN."
            )
        # A float32 sum over a few hundred rows; a tiny number inside the logarithm is accepted.
        case.require("attention_entropy", entropy.array(None, case.right.shape).astype(float), 1e-4)
        _require_kept("attention_entropy", case, answer, "weights", "mask")


def _require_kept(call, case, answer, *names):
    """Check that a call left its arguments as they were."""
    for name in names:
        given, after = case.inputs[name], answer[name]
        if not np.array_equal(after.array(given.dtype.name, given.shape), given):
            raise WrongAnswer(f"{call} changes {name} in place. It belongs to the caller.")


JUDGES = {
    "bag": judge_bags,
    "training": judge_trainings,
    "accuracy": judge_accuracies,
    "entropy": judge_entropies,
}


def judge_pieces(student, cases: list[Case]) -> None:
    """Judge cases, each of the piece about["piece"], with one probe per piece.

    Raises:
        WrongAnswer: a case is wrong; names the likely cause.
    """
    for piece, judge in JUDGES.items():
        if mine := [case for case in cases if case.about["piece"] == piece]:
            judge(student, mine)


@check("5g-1-basic")
def test_bag(student, cases):
    """Rows without and with PAD at the end."""
    judge_pieces(student, cases)


@check("5g-2-basic")
def test_training(student, rng, cases):
    """Batches with a smaller last one; seeds, dropout and the learning rate."""
    judge_pieces(student, cases)
    require_repetition(student, rng)


@check("5g-5-basic")
def test_accuracy(student, cases):
    """Numbers of sentences that fill batches and that don't."""
    judge_pieces(student, cases)


@check("5g-6-basic")
def test_entropy(student, cases):
    """Sentences of all lengths."""
    judge_pieces(student, cases)


@check("5g-7-basic")
def test_odd_cases(student, cases):
    """PAD anywhere, rows of only PAD; one sentence, one batch, batches of one."""
    judge_pieces(student, cases)
