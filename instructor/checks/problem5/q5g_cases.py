"""Cases of question 5g: each piece on small inputs, with the right result and those of known
mistakes.

`about["piece"]` says which of the four a case is for.
"""

import numpy as np

from checks.problem5.q5g_training import draw_sentences
from checks.support.cases import Case
from instructor.checks.makers import makes

N_CLASSES = 5


def bag_case(rng, idx: np.ndarray, vocab_size: int) -> Case:
    """Make a case of BagOfWords on tokens (B, T), with random weights, called after the same rows
    in the opposite order.
    """
    n_classes = int(rng.integers(3, 7))
    weight, bias = (
        rng.standard_normal(shape).astype(np.float32)
        for shape in ((vocab_size, n_classes), (n_classes,))
    )
    inputs = {
        "vocab_size": vocab_size,
        "n_classes": n_classes,
        "weights": {"weight.weight": weight, "bias": bias},
        "idx": idx,
    }
    weight, bias, real = weight.astype(float), bias.astype(float), idx != 0
    vectors, counts = weight[idx], real.sum(axis=1)[:, None]
    sums = (vectors * real[..., None]).sum(axis=1)
    right = sums / np.maximum(counts, 1) + bias
    first = real & (np.cumsum(~real, axis=1) == 0)
    early = (vectors * first[..., None]).sum(axis=1) / np.maximum(first.sum(axis=1), 1)[:, None]
    exp = np.exp(right - right.max(axis=1, keepdims=True))

    return Case(
        inputs,
        right,
        [
            ("PAD is counted: the mean is over all places.", vectors.mean(axis=1) + bias),
            ("PAD counts in the divisor; the sum is divided by T.", sums / idx.shape[1] + bias),
            (
                "the weights of PAD are added, too.",
                vectors.sum(axis=1) / np.maximum(counts, 1) + bias,
            ),
            ("it is a sum, not a mean.", sums + bias),
            (
                "all rows are divided by the number of words in the longest one.",
                sums / max(1, counts.max()) + bias,
            ),
            ("tokens after the first PAD are left out; PAD may stand anywhere.", early + bias),
            ("the bias is not added.", right - bias),
            (
                "the bias is averaged, too, so a row of only PAD does not get it.",
                right - bias * (counts == 0),
            ),
            ("the divisor has 1 added to it.", sums / (counts + 1) + bias),
            (
                "the number of words in each row is kept from an earlier call.",
                sums / np.maximum(counts[::-1], 1) + bias,
            ),
            (
                "it returns probabilities; logits come before the softmax.",
                exp / exp.sum(axis=1, keepdims=True),
            ),
        ],
        {"piece": "bag"},
    )


def accuracy_case(rng, count: int, batch_size: int | None, training: bool) -> Case:
    """Make a case of accuracy on `count` sentences; `training`: the model's mode before."""
    table, size = rng.standard_normal((count, N_CLASSES)).astype(np.float32), batch_size or 256
    y = np.where(rng.random(count) < 0.8, table.argmax(axis=1), table.argmin(axis=1))
    if count > size:  # all wrong in the last batch, if that is smaller
        y[count // size * size :] = table.argmin(axis=1)[count // size * size :]
    x = np.stack((np.arange(count), *rng.integers(1, 9, size=(2, count))), axis=1)
    right = table.argmax(axis=1) == y
    batches = np.split(right, range(size, count, size))
    wrong = [
        (
            "it is measured in training mode. Call model.eval() first.",
            (table.argmin(axis=1) == y).mean(),
        ),
        (
            "it is the mean of the batches' accuracies, in which a smaller last batch counts too "
            "much.",
            np.mean([batch.mean() for batch in batches]),
        ),
        (
            "the last batch is left out, where it is smaller.",
            right[: count // size * size].sum() / count,
        ),
        (
            "the last batch is left out.",
            right[: count // size * size].mean() if count >= size else -1.0,
        ),
        (
            "the number of right answers is divided by that of all batches times batch_size.",
            right.sum() / (len(batches) * size),
        ),
        ("only the last batch counts.", batches[-1].mean()),
        ("it is a percentage.", 100 * right.mean()),
        ("it is the number of right answers.", right.sum()),
        ("it is the share of wrong answers.", 1 - right.mean()),
        (
            "it is divided by the number of sentences twice. The given last line divides; before "
            "it, `right` should be the number of right answers.",
            right.mean() / count,
        ),
    ]
    return Case(
        {"table": table, "x": x, "y": y, "batch_size": batch_size, "training": training},
        float(right.mean()),
        [(sentence, float(value)) for sentence, value in wrong],
        {"piece": "accuracy"},
    )


def draw_weights(rng, B: int, n_head: int, T: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw attention weights, float32 (B, n_head, T, T), and a padding mask, (B, T); sentences of
    all lengths, heads of all kinds.
    """
    lengths = np.concatenate(([T], rng.integers(1, T, size=B - 1)))
    mask = np.arange(T) >= rng.permutation(lengths)[:, None]
    scores = rng.standard_normal((B, n_head, T, T)) * np.linspace(0.3, 3, n_head)[:, None, None]
    # Later positions attend less widely, so that queries differ.
    scores = np.where(mask[:, None, None, :], -np.inf, scores * (1 + np.arange(T)[:, None] / T * 2))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32), mask


def entropy_case(weights: np.ndarray, mask: np.ndarray, earlier: np.ndarray | None = None) -> Case:
    """Make a case of attention_entropy for weights (B, n_head, T, T) and a padding mask (B, T), if
    need be with that of an earlier call.
    """
    B, n_head, T, _ = weights.shape
    p = weights.astype(float)

    def entr(p):
        return np.where(p > 0, -p * np.log(np.where(p > 0, p, 1)), 0)

    def over(rows, which):
        return (rows * which[:, None, :]).sum(axis=(0, 2)) / max(1, which.sum())

    terms, real = entr(p), ~mask
    rows = terms.sum(axis=-1)
    right, counts = over(rows, real), real.sum(axis=1)
    each = (rows * real[:, None, :]).sum(axis=2) / np.maximum(counts, 1)[
        :, None
    ]  # of each sentence
    mixed = entr((p * real[:, None, :, None]).sum(axis=(0, 2)) / max(1, counts.sum())).sum(axis=-1)
    return Case(
        {"weights": weights, "mask": mask},
        right,
        [
            ("the entropy is in bits; ln gives nats.", right / np.log(2)),
            (
                "which queries count is kept from an earlier call.",
                None if earlier is None else over(rows, ~earlier),
            ),
            ("the sign is wrong: it is minus the sum of p ln p.", -right),
            ("the queries that are padding count, too.", rows.mean(axis=(0, 2))),
            (
                "only the queries that are padding count: True in the mask marks padding.",
                over(rows, mask),
            ),
            (
                "the sum over the real queries is divided by B times T.",
                right * counts.sum() / (B * T),
            ),
            (
                "it is the mean of the sentences' means; short sentences count too much.",
                each.mean(axis=0),
            ),
            ("only the first sentence counts.", each[0]),
            ("it is the entropy of the mean weights, not the mean of the entropies.", mixed),
            (
                "the entropy is taken over the queries; it should be over the keys, dim=-1.",
                over(terms.sum(axis=-2), real),
            ),
            ("the terms are averaged over the keys, not summed.", right / T),
            ("it is the sum over the queries, not the mean.", right * counts.sum()),
            ("the average is over the heads, too.", np.full(n_head, right.mean())),
            (
                "it is divided by the largest possible one, ln T.",
                right / np.log(T) if T > 1 else None,
            ),
        ],
        {"piece": "entropy"},
    )


def training_case(
    rng, count: int, epochs: int, batch_size: int | None = 64, training: bool = True
) -> Case:
    """Make a case of train_classifier on a model whose loss for each use of a sentence is given,
    independent of learning.
    """
    x, y, n_classes = draw_sentences(rng, count)
    heights, resting = rng.uniform(-1, 3, size=(epochs, count)), 4.0
    inputs = {
        "x": x,
        "y": y,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": 0.03,
        "seed": None,
        "dropout": 0.0,
        "training": training,
        "heights": heights,
        "resting": resting,
    }
    losses = np.log1p((n_classes - 1) * np.exp(-heights))
    right = losses.mean(axis=1)
    batches = [np.split(of, range(batch_size or 64, count, batch_size or 64)) for of in losses]
    means = [[batch.mean() for batch in of] for of in batches]
    wrong = [
        (
            "it is the mean of the batches' losses, in which a smaller last batch counts too much. "
            "Weigh each by its size.",
            [np.mean(of) for of in means],
        ),
        ("it is only the loss of the last batch.", [of[-1] for of in means]),
        ("it is the sum over the batches, not the mean.", [sum(of) for of in means]),
        ("it is the sum over the sentences, not the mean.", losses.sum(axis=1)),
        (
            "the sum of the batches' losses is divided by the number of sentences.",
            [sum(of) / count for of in means],
        ),
        (
            "it includes losses of earlier epochs: the sum should start at 0 in each epoch.",
            np.cumsum(right),
        ),
        (
            "it includes losses of earlier epochs: the mean should restart in each epoch.",
            np.cumsum(right) / np.arange(1, epochs + 1),
        ),
        (
            "it is measured again after the epoch. It should be what the model answered while it "
            "was trained.",
            np.full(epochs, np.log1p((n_classes - 1) * np.exp(-resting))),
        ),
        (
            "labels are smoothed; use plain cross-entropy.",
            right + 0.1 * (n_classes - 1) / n_classes * heights.mean(axis=1),
        ),
    ]
    return Case(
        inputs,
        right,
        [(sentence, np.array(values, float)) for sentence, values in wrong],
        {"piece": "training"},
    )


@makes("5g-1-basic")
def bags(rng):
    """Rows without PAD, and with PAD at the end."""
    vocab_size, T = int(rng.integers(11, 17)), int(rng.integers(5, 9))
    full = rng.integers(1, vocab_size, size=(3, T))
    lengths = rng.permutation([1, T - 2, T, T + 2])[:, None]
    padded = np.where(np.arange(T + 2) < lengths, rng.integers(1, vocab_size, size=(4, T + 2)), 0)
    return [bag_case(rng, full, vocab_size), bag_case(rng, padded, vocab_size)]


@makes("5g-2-basic")
def trainings(rng):
    """A smaller last batch; the model is initially in evaluation mode."""
    count = 8 * int(rng.integers(3, 5)) + int(rng.integers(2, 6))
    return [training_case(rng, count, epochs=3, batch_size=8, training=False)]


@makes("5g-5-basic")
def accuracies(rng):
    """Numbers of sentences that fill batches and that don't, in both modes; others of one shape."""
    count = int(rng.integers(10, 14))
    calls = ((24, 8, False), (count, 8, True), (19, None, True))
    cases = [accuracy_case(rng, *call) for call in calls]
    while (again := accuracy_case(rng, 24, 8, True)).right == cases[0].right:
        pass
    kept = ("the number of right answers is kept from an earlier call.", cases[0].right)
    again.wrong.append(kept)
    return [*cases, again]


@makes("5g-6-basic")
def entropies(rng):
    """Sentences of all lengths, and others in the same shape."""
    n_head, T = int(rng.choice([2, 4])), int(rng.integers(5, 8))
    once = again = draw_weights(rng, 3, n_head, T)
    while np.array_equal(once[1], again[1]):
        again = draw_weights(rng, 3, n_head, T)
    return [entropy_case(*once), entropy_case(*again, earlier=once[1])]


@makes("5g-7-basic")
def odd(rng, more: int = 0):
    """PAD anywhere, rows of only PAD; one sentence, one batch, batches of one; weights of 0 and
    1. `more`: by how much sizes are larger.
    """
    vocab_size, T = int(rng.integers(9, 13)) + more, int(rng.integers(5, 8)) + more
    anywhere = rng.integers(1, vocab_size, size=(6 + more, T))
    anywhere *= rng.random(anywhere.shape) > 0.4
    anywhere[0, :3] = 2, 0, 1  # a word, PAD, a word
    anywhere[2] = 0
    weights, mask = draw_weights(rng, 4 + more, 2, 6 + more)
    mask[2] = True  # a sentence of only padding: its weights are 0
    sure = np.eye(5 + more, dtype=np.float32)[rng.permutation(5 + more)]
    return [
        bag_case(rng, anywhere, vocab_size),
        bag_case(rng, np.zeros((2 + more, 3), int), vocab_size),
        bag_case(rng, rng.integers(1, vocab_size, size=(1, 1 + more)), vocab_size),
        accuracy_case(rng, 7 + more, 1, True),
        accuracy_case(rng, 5 + more, 64, False),
        accuracy_case(rng, 1, None, True),
        entropy_case(np.where(mask[:, None, None, :], 0, weights).astype(np.float32), mask),
        entropy_case(np.stack((sure, sure[::-1]))[None], np.zeros((1, 5 + more), bool)),
        entropy_case(np.ones((1, 2 + more, 1, 1), np.float32), np.zeros((1, 1), bool)),
        training_case(rng, 9 + more, epochs=2, batch_size=1),
        training_case(rng, 1, epochs=2 + more, batch_size=4 + more),
        training_case(rng, 20 + more, epochs=2, batch_size=None),
    ]
