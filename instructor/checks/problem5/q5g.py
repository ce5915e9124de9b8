"""Question 5g: inputs of the four pieces, and the hidden checks of them."""

import numpy as np

from checks.problem5.q5g import ACCURACY, BAG, ENTROPY, LEARNING, TRAINING
from instructor.checks.drawing import draws


def bag(rng, idx: np.ndarray, vocab_size: int) -> dict:
    """Draw the inputs of BagOfWords on tokens (B, T)."""
    return {
        "vocab_size": vocab_size,
        "n_classes": int(rng.integers(3, 7)),
        "idx": idx,
        "seed": int(rng.integers(2**31)),
        # no gradient need reach the weights of words where there are none
        "graded": bool(idx.any()),
    }


@draws(BAG, "5g-1-basic", "5g-3-hidden")
def bags(rng):
    """Rows without PAD, and with PAD at the end."""
    vocab_size, T = int(rng.integers(11, 17)), int(rng.integers(5, 9))
    full = rng.integers(1, vocab_size, size=(3, T))
    lengths = rng.permutation([1, T - 2, T, T + 2])[:, None]
    padded = np.where(np.arange(T + 2) < lengths, rng.integers(1, vocab_size, size=(4, T + 2)), 0)
    return [bag(rng, full, vocab_size), bag(rng, padded, vocab_size)]


def draw_sentences(rng, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw sentences of a number and two words, the first of which gives the class: x, (count, 3),
    and y, (count).
    """
    y = rng.integers(4, size=count)
    return np.stack((np.arange(count), y, rng.integers(4, 12, size=count)), axis=1), y


def training(rng, count: int, epochs: int, batch_size: int | None, training: bool = True) -> dict:
    """Draw the inputs of a training of `count` sentences."""
    x, y = draw_sentences(rng, count)
    options = {"batch_size": batch_size} if batch_size else {}
    options["learning_rate"] = 0.03
    heights = rng.uniform(-1, 3, size=(epochs, count))
    given = {"options": options, "training": training, "heights": heights}
    return {"x": x, "y": y, "epochs": epochs, **given}


@draws(TRAINING, "5g-2-basic", "5g-3-hidden")
def trainings(rng):
    """A smaller last batch; the model is in training mode before, or in evaluation mode."""
    count = 8 * int(rng.integers(3, 5)) + int(rng.integers(2, 6))
    return [training(rng, count, 3, 8), training(rng, count, 3, 8, False)]


@draws(LEARNING, "5g-2-basic", "5g-3-hidden")
def learnings(rng):
    """Batches with a smaller last one."""
    x, y = draw_sentences(rng, 16 * int(rng.integers(3, 6)) + int(rng.integers(2, 6)))
    return [{"x": x, "y": y, "seed": int(rng.integers(1, 1000))}]


def measuring(rng, count: int, batch_size: int | None, training: bool) -> dict:
    """Draw the inputs of accuracy on `count` sentences. A smaller last batch is all wrong."""
    table, size = rng.standard_normal((count, 5)).astype(np.float32), batch_size or 256
    right = rng.random(count) < 0.8
    if count > size:
        right[count // size * size :] = False
    y = np.where(right, table.argmax(axis=1), table.argmin(axis=1))
    x = np.stack((np.arange(count), *rng.integers(1, 9, size=(2, count))), axis=1)
    options = {"batch_size": batch_size} if batch_size else {}
    return {"table": table, "x": x, "y": y, "options": options, "training": training}


@draws(ACCURACY, "5g-5-basic", "5g-3-hidden")
def accuracies(rng, large):
    """Numbers of sentences that fill batches and that don't, in both modes; others of one shape."""
    sizes = [(24, 8, False), (int(rng.integers(10, 14)), 8, True), (19, None, True)]
    sizes += [(300, None, True)] if large else []
    calls = [measuring(rng, *each) for each in sizes]
    again = dict(calls[0], training=True)
    again["y"] = again["table"].argmin(axis=1)  # all wrong
    return [*calls, again]


def draw_weights(rng, B: int, n_head: int, T: int) -> dict:
    """Draw attention weights, float32 (B, n_head, T, T), and a padding mask, (B, T), of sentences
    of different lengths, with heads of all kinds.
    """
    lengths = np.concatenate(([T], rng.choice(np.arange(1, T), size=B - 1, replace=False)))
    mask = np.arange(T) >= rng.permutation(lengths)[:, None]
    # later positions attend less widely, so that queries differ
    scale = np.linspace(0.3, 3, n_head)[:, None, None] * (1 + 2 * np.arange(T)[:, None] / T)
    scores = rng.standard_normal((B, n_head, T, T)) * scale
    weights = np.exp(np.where(mask[:, None, None, :], -np.inf, scores))
    weights /= weights.sum(axis=-1, keepdims=True)
    return {"weights": weights.astype(np.float32), "key_padding_mask": mask}


@draws(ENTROPY, "5g-6-basic", "5g-3-hidden")
def entropies(rng):
    """Sentences of all lengths, and others in the same shape."""
    n_head, T = int(rng.choice([2, 4])), int(rng.integers(5, 8))
    once = again = draw_weights(rng, 3, n_head, T)
    while np.array_equal(once["key_padding_mask"], again["key_padding_mask"]):
        again = draw_weights(rng, 3, n_head, T)
    return [once, again]


@draws(BAG, "5g-7-basic", "5g-8-hidden")
def odd_bags(rng):
    """PAD anywhere, rows of only PAD, one sentence."""
    vocab_size, T, n = rng.integers([9, 5, 0], [13, 8, 4]).tolist()
    anywhere = rng.integers(1, vocab_size, size=(6 + n, T))
    anywhere *= rng.random(anywhere.shape) > 0.4
    anywhere[0, :3] = 2, 0, 1  # a word, PAD, a word
    anywhere[2] = 0
    return [
        (bag(rng, anywhere, vocab_size), ", where a row is only PAD"),
        (bag(rng, np.zeros((2 + n, 3), int), vocab_size), ", which is only PAD"),
        bag(rng, rng.integers(1, vocab_size, size=(1, 1 + n)), vocab_size),
    ]


@draws(ACCURACY, "5g-7-basic", "5g-8-hidden")
def odd_accuracies(rng):
    """One sentence, one batch, batches of one."""
    n = int(rng.integers(4))
    sizes = (7 + n, 1, True), (5 + n, 64, False), (1, None, True)
    return [measuring(rng, *each) for each in sizes]


@draws(ENTROPY, "5g-7-basic", "5g-8-hidden")
def odd_entropies(rng):
    """A sentence of only padding, weights of 0 and 1, one token."""
    n = int(rng.integers(4))
    padded = draw_weights(rng, 4 + n, 2, 6 + n)
    padded["key_padding_mask"][2] = True
    padded["weights"] *= ~padded["key_padding_mask"][:, None, None, :]
    sure = np.eye(5 + n, dtype=np.float32)[rng.permutation(5 + n)]
    sure = {"weights": np.stack((sure, sure[::-1]))[None]}
    one = {"weights": np.ones((1, 2 + n, 1, 1), np.float32)}
    return [
        padded,
        sure | {"key_padding_mask": np.zeros((1, 5 + n), bool)},
        one | {"key_padding_mask": np.zeros((1, 1), bool)},
    ]


@draws(TRAINING, "5g-7-basic", "5g-8-hidden")
def odd_trainings(rng):
    """Batches of one, one sentence, one batch."""
    n = int(rng.integers(4))
    sizes = (9 + n, 2, 1), (1, 2 + n, 4 + n), (20 + n, 2, None)
    return [training(rng, *each) for each in sizes]
