"""Running the four pieces of question 5g on small cases, and the mistakes in them that are known by name."""
import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from autograder.inside.wire import Array
from checks.encoder import own_work

# The share of right answers that encoder.params needs on the sentences kept for grading. No bag of words has more than a half,
# but for luck (a standard error is 2.2%). The reference has all of them after 10 epochs.
NEEDED = 0.75
N_CLASSES = 5


@probe(uses=(own_work,))
def run_bag(vocab_size, n_classes, weights, cases):
    """A BagOfWords as it is made, and what it computes with the given weights."""
    import torch
    with own_work():
        from submission.encoder import BagOfWords
        model = BagOfWords(vocab_size, n_classes)
        fresh = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name in weights and weights[name].shape == tuple(parameter.shape):
                    parameter.copy_(torch.from_numpy(weights[name]))
            if getattr(model.weight, "padding_idx", None) == 0:
                model.weight.weight[0] = 0          # where it stays, in an embedding that was made with padding_idx=0
        logits = [model(torch.from_numpy(idx)) for idx in cases]
        if all(isinstance(part, torch.Tensor) and part.requires_grad for part in logits):
            sum(part.sum() for part in logits).backward()
        return {"fresh": fresh, "weights": dict(model.named_parameters()), "logits": logits,
                "untrained": [name for name, parameter in model.named_parameters() if parameter.grad is None]}


def judge_bag(student, rng, cases: list[np.ndarray], vocab_size: int) -> None:
    """BagOfWords computes what it should on cases, each int64 (B, T).

    Raises:
        WrongAnswer: it does not; names the likely cause.
    """
    n_classes = int(rng.integers(3, 7))
    shapes = {"weight.weight": (vocab_size, n_classes), "bias": (n_classes,)}
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    answer = student.run(run_bag, vocab_size=vocab_size, n_classes=n_classes, weights=weights, cases=cases)
    fresh = answer["fresh"].entries()
    if fresh.keys() != shapes.keys():
        raise WrongAnswer(f"BagOfWords should have the parameters {' and '.join(shapes)}; it has "
                          f"{', '.join(sorted(fresh)) or 'none'}.")
    fresh = {name: fresh[name].named(f"BagOfWords' {name}").array("float32", shape) for name, shape in shapes.items()}
    if fresh["bias"].any():
        raise WrongAnswer("BagOfWords' bias should be zeros at first.")
    used = {name: answer["weights"][name].array("float32", shape).astype(float) for name, shape in shapes.items()}
    for idx, logits in zip(cases, answer["logits"].items(len(cases))):
        logits = logits.named("BagOfWords' logits").array("float32", (len(idx), n_classes)).astype(float)
        _require_bag(idx, logits, used["weight.weight"], used["bias"])
    if untrained := answer["untrained"].texts():
        raise WrongAnswer(f"No gradient of BagOfWords' logits reaches {', '.join(untrained[:2])}.")


def _require_bag(idx, logits, weight, bias):
    real = idx != 0
    vectors, counts = weight[idx], real.sum(axis=1)[:, None]
    sums = (vectors * real[..., None]).sum(axis=1)
    right = sums / np.maximum(counts, 1) + bias
    before = np.array([[word in row[:t] for t, word in enumerate(row)] for row in idx.tolist()])
    distinct = real & ~before
    exp = np.exp(right - right.max(axis=1, keepdims=True))
    padded = "" if counts.any(axis=1).all() else ", a row of nothing but PAD among them"
    require_close(f"BagOfWords on {idx.shape[0]} rows of {idx.shape[1]} tokens{padded}", logits, right, 1e-5, [
        ("PAD is counted: the mean goes over all places.", lambda: vectors.mean(axis=1) + bias),
        ("PAD counts in the divisor; the sum is divided by T.", lambda: sums / idx.shape[1] + bias),
        ("the weights of PAD are added, too.", lambda: vectors.sum(axis=1) / np.maximum(counts, 1) + bias),
        ("it is a sum, not a mean.", lambda: sums + bias),
        ("the bias is not added.", lambda: right - bias),
        ("the bias is averaged, too, so that a row of nothing but PAD does not get it.", lambda: right - bias * (counts == 0)),
        ("the divisor has 1 added to it.", lambda: sums / (counts + 1) + bias),
        ("it counts which words occur, not how often.",
         lambda: (vectors * distinct[..., None]).sum(axis=1) / np.maximum(distinct.sum(axis=1), 1)[:, None] + bias),
        ("it returns chances; logits come before the softmax.", lambda: exp / exp.sum(axis=1, keepdims=True)),
        ("it takes the largest, not the mean.", lambda: np.where(real[..., None], vectors, -np.inf).max(axis=1) + bias),
    ])


@probe(uses=(own_work,))
def run_accuracy(cases):
    """accuracy of a model that answers from a table, differently in training mode, and writes down how it is used."""
    import torch
    with own_work():
        from submission.encoder import accuracy

    class Table(torch.nn.Module):
        def __init__(self, table):
            super().__init__()
            self.table = torch.nn.Parameter(table)
            self.uses = []

        def forward(self, idx):
            self.uses.append([len(idx), self.training, torch.is_grad_enabled()])
            return self.table[idx[:, 0]] * (-1 if self.training else 1)
    answers = []
    for table, x, y, batch_size, training in cases:
        model = Table(torch.from_numpy(table)).train(training)
        size = {} if batch_size is None else {"batch_size": batch_size}
        result = accuracy(model, torch.from_numpy(x), torch.from_numpy(y), **size)
        answers.append({"accuracy": result, "uses": model.uses, "training": model.training})
    return answers


def judge_accuracy(student, rng, cases: list[tuple[int, int | None, bool]]) -> None:
    """accuracy is right in cases of (number of sentences, batch size, whether the model is in training mode before).

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    inputs = []
    for count, batch_size, training in cases:
        table = rng.standard_normal((count, N_CLASSES)).astype(np.float32)
        size = batch_size or 256
        y = np.where(rng.random(count) < 0.8, table.argmax(axis=1), table.argmin(axis=1))
        if count > size:        # all wrong in the last batch, if that is smaller
            y[count // size * size:] = table.argmin(axis=1)[count // size * size:]
        x = np.stack((np.arange(count), *rng.integers(1, 9, size=(2, count))), axis=1)
        inputs.append((table, x, y, batch_size, training))
    for (table, _, y, batch_size, training), answer in zip(inputs, student.run(run_accuracy, cases=inputs).items(len(cases))):
        _require_accuracy(table, y, batch_size or 256, training, answer)


def _require_accuracy(table, y, size, training, answer):
    N = len(y)
    right = table.argmax(axis=1) == y
    batches = np.split(right, range(size, N, size))
    got = _number(answer["accuracy"], "what accuracy returns")
    uses = [use.items(3) for use in answer["uses"].items()]
    uses = [(rows.number(), mode.flag(), gradients.flag()) for rows, mode, gradients in uses]
    most = max((rows for rows, _, _ in uses), default=0)
    causes = [("it is measured in training mode. model.eval() comes first.", (table.argmin(axis=1) == y).mean()),
              ("it is the mean of the batches' accuracies, in which a smaller last batch counts too much.",
               np.mean([batch.mean() for batch in batches])),
              ("the last batch is left out.", right[:N // size * size].mean() if N >= size else np.nan),
              ("the last batch is left out, where it is smaller.", right[:N // size * size].sum() / N),
              ("the number of right answers is divided by that of all batches times "
               "batch_size.", right.sum() / (len(batches) * size)),
              ("only the last batch counts.", batches[-1].mean()),
              ("it is a percentage.", 100 * right.mean()), ("it is the number of right answers.", right.sum()),
              ("it is the share of wrong answers.", 1 - right.mean()),
              ("it is divided by the number of sentences twice. The given last line divides: before it, `right` is the number "
               "of right answers.", right.mean() / N)]
    if not abs(got - right.mean()) < 1e-6:
        cause = next((f"\nLikely cause: {sentence}" for sentence, value in causes if abs(got - value) < 1e-6), "")
        raise WrongAnswer(f"accuracy on {N} sentences, with batch_size={size}, should be {right.mean():.6g}; it is "
                          f"{got:.6g}.{cause}")
    if any(mode for _, mode, _ in uses):
        raise WrongAnswer("accuracy runs the model in training mode. model.eval() comes first.")
    if any(gradients for _, _, gradients in uses):
        raise WrongAnswer("accuracy runs the model with gradients switched on. Run it within torch.no_grad().")
    if most > size:
        raise WrongAnswer(f"With batch_size={size}, accuracy gives the model {most} sentences at a time.")
    if answer["training"].flag() is not training:
        modes = ("training", "evaluation") if training else ("evaluation", "training")
        raise WrongAnswer(f"The model was in {modes[0]} mode before accuracy, and is in {modes[1]} mode afterwards.")


def _number(answer, name):
    if isinstance(answer.value, Array) and answer.value.kind == "tensor":
        raise WrongAnswer(f"{name} should be a Python float; it is {answer.describe()}. Its .item() is one.")
    return answer.named(name).number()


@probe(uses=(own_work,))
def run_entropy(cases):
    """attention_entropy of weights and masks."""
    import torch
    with own_work():
        from submission.encoder import attention_entropy
        return [attention_entropy(torch.from_numpy(weights), torch.from_numpy(mask)) for weights, mask in cases]


def draw_weights(rng, B: int, n_head: int, T: int) -> tuple[np.ndarray, np.ndarray]:
    """Attention weights, float32 (B, n_head, T, T), and a padding mask, (B, T); sentences of all lengths, heads of all kinds."""
    lengths = np.concatenate(([T], rng.integers(1, T, size=B - 1)))
    mask = np.arange(T) >= rng.permutation(lengths)[:, None]
    scores = rng.standard_normal((B, n_head, T, T)) * np.linspace(0.3, 3, n_head)[:, None, None]
    # Positions later in a sentence look less around, so that all queries are not alike.
    scores = np.where(mask[:, None, None, :], -np.inf, scores * (1 + np.arange(T)[:, None] / T * 2))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32), mask


def require_entropy(answer: Answer, weights: np.ndarray, mask: np.ndarray) -> None:
    """The answer is the entropy of each head, (n_head).

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    B, n_head, T, _ = weights.shape
    answer = answer.named("attention_entropy").present()
    if isinstance(answer.value, Array) and answer.value.data.dtype.kind == "f" and np.isnan(answer.value.data).any():
        raise WrongAnswer("attention_entropy is NaN for some heads.\nLikely cause: 0 ln 0 counts as 0; torch.log(0) times 0 is "
                          "NaN.")
    got = answer.array(None, (n_head,)).astype(float)
    weights = weights.astype(float)
    terms = np.where(weights > 0, -weights * np.log(np.where(weights > 0, weights, 1)), 0)
    rows, down, real = terms.sum(axis=-1), terms.sum(axis=-2), ~mask
    count = real.sum()

    def over(rows, which):
        return (rows * which[:, None, :]).sum(axis=(0, 2)) / max(1, which.sum())

    right = over(rows, real)
    # Handed over as float32, and summed over at most a few hundred rows; a tiny number inside the logarithm does no harm, either.
    require_close("attention_entropy", got, right, 1e-4, [
        ("the entropy is in bits; ln gives nats.", right / np.log(2)),
        ("the sign is wrong: it is minus the sum of p ln p.", -right),
        ("the queries that are padding count, too.", rows.mean(axis=(0, 2))),
        ("only the queries that are padding count: True in the mask marks padding.", lambda: over(rows, mask)),
        ("the sum over the real queries is divided by B times T.", (rows * real[:, None, :]).sum(axis=(0, 2)) / (B * T)),
        ("it is the mean of the sentences' means; short sentences count too much.",
         ((rows * real[:, None, :]).sum(axis=2) / np.maximum(real.sum(axis=1), 1)[:, None]).mean(axis=0)),
        ("the entropy is taken over the queries; it should be over the keys, dim=-1.", lambda: over(down, real)),
        ("the terms are averaged over the keys, not added up.", right / T),
        ("it is the sum over the queries, not the mean.", right * count),
        ("the average goes over the heads, too.", np.full(n_head, right.mean())),
        ("it is divided by the largest possible one, ln T.", right / np.log(T) if T > 1 else None),
    ])

