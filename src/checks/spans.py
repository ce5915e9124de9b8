"""Drawing examples of span corruption, and taking them apart. The checks of question 1c share it."""
from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe

PAD, MASK = "\u25A1", "\u2047"
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZäöüéñçßøšŁ0123456789,.-    "))


@probe
def draw(text, block_size, times):
    """Draw every document of a corpus `times` times, in turn."""
    import torch
    from submission.dataset import CharCorruptionDataset
    dataset = CharCorruptionDataset(text, block_size)
    if len(dataset) > text.count("\n") + 1:        # not the lines of the text, and perhaps very many
        times = 1
    examples = [dataset[i] for _ in range(times) for i in range(len(dataset))]

    def kind(example):
        parts = example if isinstance(example, (tuple, list)) else [example]
        return [type(example)] + [(type(part), getattr(part, "dtype", None), tuple(getattr(part, "shape", ()))) for part in parts]

    def stack(part):
        try:
            return torch.stack([example[part] for example in examples]).reshape(len(examples), -1).long().numpy()
        except TypeError:       # no tensors: most checks are about something else
            return torch.stack([torch.as_tensor(example[part]).reshape(-1).long() for example in examples]).numpy()

    odd = [example for example in examples[:1000] if kind(example) != kind(examples[0])]
    try:
        tokens = [stack(0), stack(1)]
    except Exception:
        tokens = None
    return {"documents": list(dataset.data), "first": examples[0], "odd": odd[0] if odd else None, "tokens": tokens}


@dataclass(frozen=True)
class Examples:
    """Examples as tokens: x and y, (draws, length) int64; documents, the dataset's list; index, (draws,), which of them each
    draw is of."""
    x: np.ndarray
    y: np.ndarray
    documents: list[str]
    index: np.ndarray
    itos: list[str]

    def text(self, row: int) -> str:
        """x of a draw as characters."""
        return "".join(self.itos[i] if 0 <= i < len(self.itos) else "?" for i in self.x[row])


def vocabulary(text: str) -> list[str]:
    """The characters in the order of their tokens."""
    return [PAD, MASK, *sorted(set(text))]


def read_examples(answer: Answer, text: str, times: int) -> Examples:
    """What `draw` sent back, whatever the dtype.

    Raises:
        WrongAnswer: the examples are no pairs of sequences of one length.
    """
    documents = answer["documents"].texts()
    if answer["tokens"].value is None:
        answer["first"].named("dataset[i]").present()
        raise WrongAnswer("The examples are no pairs (x, y) of tensors that all have one length, so this check cannot "
                          "read them. 1c-0-basic says more.")
    x, y = (part.raw("int64", 2) for part in answer["tokens"].items(2))
    if [document for document in documents if document] != [line for line in text.split("\n") if line]:
        raise WrongAnswer("The dataset's list `data` should have the lines of the text, in their order and as they are.")
    if min(x.shape[1], y.shape[1]) < 4:
        raise WrongAnswer(f"x and y have lengths {x.shape[1]} and {y.shape[1]}. They should have block_size.")
    if len(x) != len(y) or len(x) != times * len(documents) or not documents:
        raise WrongAnswer(f"The dataset has {len(documents)} documents in its list `data`, and gave {len(x)} examples in "
                          f"{times} rounds.")
    return Examples(x, y, documents, np.tile(np.arange(len(documents)), times), vocabulary(text))


@dataclass(frozen=True)
class Spans:
    """Where the spans are, each (draws,): the truncated length, where in it the span starts, and how long it is."""
    length: np.ndarray
    start: np.ndarray
    masked: np.ndarray


def take_apart(examples: Examples) -> Spans:
    """Find prefix, suffix and masked content by the MASKs in x.

    Raises:
        WrongAnswer: an example has other than two or three MASKs.
    """
    x = examples.x
    is_mask = x == 1
    count = is_mask.sum(axis=1)
    if not np.isin(count, (2, 3)).all():
        row = int(np.argmin(np.isin(count, (2, 3))))
        raise WrongAnswer(f"x has {count[row]} MASK characters where three are expected:\n  {examples.text(row)}\n"
                          "Likely cause: " + ("the mask characters are missing. Use self.MASK_CHAR, one "
                                              "character." if count[row] < 2 else
                                              "one MASK stands for the whole span, not for each of its characters."))
    order = np.argsort(~is_mask, axis=1, kind="stable")         # the MASKs' positions first
    used = x.shape[1] - (x[:, ::-1] != 0).argmax(axis=1)
    end = np.where(count == 3, order[:, 2], used)
    first, second = order[:, 0], order[:, 1]
    masked = end - second - 1
    return Spans(second - 1 + masked, first, masked)


def random_text(rng: np.random.Generator, length: int) -> str:
    """A document of random characters, blanks among them, but not at its ends."""
    letters = rng.choice(LETTERS, size=length)
    letters[[0, -1]] = rng.choice(LETTERS[:62], size=2)
    return "".join(letters)


def bounds(block_size: int) -> tuple[int, int]:
    """The longest truncated length: that of the handout, and that of other editions."""
    return int(block_size * 3 / 4), int(block_size * 7 / 8)
