"""Question 5g, basic: a bag of words, training, accuracy, and the entropy of attention."""

from dataclasses import dataclass

from autograder import probe
from checks.support.asked import Asked, Close, Same
from checks.support.gradients import GRADIENTS, differentiate
from checks.support.unchanged import Unchanged, summarize
from checks.support.weights import fill


@dataclass(frozen=True)
class AtMost(Same):
    """A count that is not above the reference's."""

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if a count is larger; see `Asked`."""
        if type(got) is not int or got > right:
            super().require(call, got, right)


TENSORS = Same("{call} should give Python floats, no tensors. Use .item().")


@probe(uses=(fill, differentiate, summarize))
def bag(vocab_size, n_classes, idx, seed, graded):
    """Run BagOfWords, first with the rows in another order: its logits, gradients, and the
    input afterwards.
    """
    import torch

    from submission.problem5.encoder import BagOfWords

    model = BagOfWords(vocab_size, n_classes)
    fill(model, seed, 1.0)
    if getattr(model.weight, "padding_idx", None) == 0:  # such a row of zeros stays so
        with torch.no_grad():
            model.weight.weight[0] = 0
    tokens = torch.tensor(idx)
    model(tokens.flip(0))
    logits = model(tokens)
    return {
        "logits": logits,
        "arguments": summarize({"idx": tokens}),
        **differentiate([logits], dict(model.named_parameters()) if graded else {}),
    }


BAG = Asked(
    bag,
    "BagOfWords({vocab_size}, {n_classes})({idx})",
    {"logits": Close(), "arguments": Unchanged(), **GRADIENTS},
)


@probe(uses=(summarize,))
def train(x, y, epochs, options, training, heights, dropout=0.0):
    """Run train_classifier on a model that records how it is used: what it returns and does.

    Token 0 of a sentence is its number; the model reads token 1, one of 12 words. With `heights`,
    (epochs, N), it learns, but answers the i-th sentence of each epoch with a logit of that height
    for the right class and 0 for the others; without gradients, the height is 4.
    """
    import torch

    from submission.problem5.encoder import train_classifier

    sentences, classes = torch.tensor(x), torch.tensor(y)
    batches, modes, leftover = [], [], []

    class Learner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(12, 4))
            self.bias = torch.nn.Parameter(torch.zeros(4))
            self.dropout = torch.nn.Dropout(dropout)

        def forward(self, idx):
            logits = self.dropout(self.weight[idx[:, 1]]) + self.bias
            numbers, height = idx[:, 0].tolist(), torch.full((len(idx), 1), 4.0)
            if torch.is_grad_enabled():
                if heights is not None:
                    used = sum(map(len, batches))
                    now = torch.from_numpy(heights.ravel()[used : used + len(idx)])
                    height[: len(now), 0] = now.float()
                batches.append(numbers)
                modes.append(self.training)
            if heights is not None:
                right = torch.nn.functional.one_hot(torch.from_numpy(y), 4)[numbers]
                logits = height * right + logits - logits.detach()
            return logits

    model = Learner().train(training)
    model.weight.register_hook(  # called before a gradient is added to .grad
        lambda gradient: leftover.append(model.weight.grad is not None and model.weight.grad.any())
    )
    losses = train_classifier(model, sentences, classes, epochs, **options)
    N, order = len(y), [number for batch in batches for number in batch]
    passes = [order[start : start + N] for start in range(0, len(order), N)]
    return {
        "losses": losses,
        "tensors": any(
            isinstance(loss, torch.Tensor) for loss in (() if losses is None else losses)
        ),
        "modes": sorted({"training" if mode else "evaluation" for mode in modes}),
        "largest": max(map(len, batches), default=0),
        "once each": len(passes) == epochs and all(sorted(p) == list(range(N)) for p in passes),
        # of fewer sentences, random orders may be the same
        "one order": N >= 20 and len(passes) > 1 and passes[0] == passes[1],
        "leftover": any(map(bool, leftover)),
        "still": [name for name, value in model.named_parameters() if not value.any()],
        "mode": "training" if model.training else "evaluation",
        "arguments": summarize({"x": sentences, "y": classes}),
        "order": order,
        "weight": model.weight.detach(),
    }


TRAINING = Asked(
    train,
    "train_classifier(model.train({training}), {x}, {y}, {epochs}, {**options})",
    {
        "modes": Same(
            "{call} trains in {got} mode. Call model.train() first, and again after anything that "
            "calls model.eval()."
        ),
        "largest": AtMost("{call} makes batches of {got}; they should have at most {right}."),
        "once each": Same(
            "{call} should use each sentence once in an epoch: none left out, none twice. "
            "torch.randperm(N) has each once."
        ),
        "one order": Same(
            "{call} has the same order in all epochs. Draw a new random one for each, from one "
            "generator that is seeded once."
        ),
        "leftover": Same(
            "In {call}, gradients of earlier batches are still in .grad when those of a new batch "
            "are added. Call optimizer.zero_grad() before backward()."
        ),
        "still": Same(
            "After {call}, the model's {got} is unchanged. Are all of model.parameters() passed to "
            "the optimizer, and is optimizer.step() called?"
        ),
        # whatever is learned, the model's answers are given
        "losses": Close("The losses of {call}", {"float64": 1e-4}),
        "tensors": TENSORS,
        "mode": Same("{call} should leave the model in {right} mode; it is in {got} mode."),
        "arguments": Unchanged(),
    },
)


@probe(uses=(train,))
def learn(x, y, seed):
    """Run train_classifier on a model with dropout twice with the same seed, with another one, and
    with a tiny learning rate; and without dropout: whether they differ, and losses fall.
    """
    import torch

    def run(epochs=2, dropout=0.5, **options):
        torch.rand(1)  # independent of earlier draws
        options = {"batch_size": 16, "learning_rate": 0.03, "seed": seed, **options}
        return train(x, y, epochs, options, training=True, heights=None, dropout=dropout)

    once, again, other, slow = run(), run(), run(seed=seed + 1), run(learning_rate=1e-9)
    losses = run(epochs=6, dropout=0.0)["losses"]
    return {
        "another order": once["order"] != other["order"],
        "same weights": torch.equal(once["weight"], again["weight"]),
        "largest step": slow["weight"].abs().max().item(),
        "falling": losses[-1] < losses[0],
    }


LEARNING = Asked(
    learn,
    "train_classifier(model, {x}, {y}, 2, seed={seed})",
    {
        "another order": Same(
            "With another seed, train_classifier uses the sentences in the same order. Draw the "
            "order from a generator seeded with `seed`."
        ),
        "same weights": Same(
            "With the same seed and a model with dropout, train_classifier ends with different "
            "weights. Call torch.manual_seed(seed) first, and draw the order from a generator "
            "seeded with `seed`."
        ),
        "largest step": Close(
            "The largest change of a weight in {call} with learning_rate=1e-9", {"float64": 1e-5}
        ),
        "falling": Same("The training loss should fall over 6 epochs, and it does not."),
    },
)


@probe(uses=(summarize,))
def share(table, x, y, options, training):
    """Run accuracy on a model that answers from a table, with the other sign in training mode: what
    it returns, and how it used the model.
    """
    import torch

    from submission.problem5.encoder import accuracy

    uses = []

    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.from_numpy(table))

        def forward(self, idx):
            uses.append((len(idx), torch.is_grad_enabled()))
            return self.table[idx[:, 0]] * (-1 if self.training else 1)

    model = Table().train(training)
    sentences, classes = torch.tensor(x), torch.tensor(y)
    result = accuracy(model, sentences, classes, **options)
    return {
        "accuracy": result,
        "tensors": isinstance(result, torch.Tensor),
        "gradients": any(gradients for _, gradients in uses),
        "largest": max((count for count, _ in uses), default=0),
        "mode": "training" if model.training else "evaluation",
        "arguments": summarize({"x": sentences, "y": classes}),
    }


ACCURACY = Asked(
    share,
    "accuracy(model.train({training}), {x}, {y}, {**options})",
    {
        "accuracy": Close(tolerance={"float64": 1e-6}),
        "tensors": TENSORS,
        "gradients": Same("{call} computes gradients. Run the model within torch.no_grad()."),
        "largest": AtMost("{call} gives the model {got} sentences at a time, not {right}."),
        "mode": Same("{call} leaves the model in {got} mode."),
        "arguments": Unchanged(),
    },
)


@probe(uses=(summarize,))
def spread(weights, key_padding_mask):
    """Run attention_entropy: what it returns, and its arguments afterwards."""
    import torch

    from submission.problem5.encoder import attention_entropy

    weights, mask = torch.from_numpy(weights), torch.from_numpy(key_padding_mask)
    entropy = attention_entropy(weights, mask)
    given = {"weights": weights, "key_padding_mask": mask}
    return {"entropy": entropy, "arguments": summarize(given)}


ENTROPY = Asked(
    spread,
    "attention_entropy({weights}, {key_padding_mask})",
    {
        # a tiny number inside the logarithm is accepted
        "entropy": Close(tolerance={"float32": 1e-4}, dtypes=("float64",)),
        "arguments": Unchanged(),
    },
)
