"""Examples of span corruption (question 1c): the probes that draw them, and what each must be."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.problem1.random_texts import MASK, PAD, random_corpus, vocabulary


@probe
def draw(text, block_size, times):
    """Draw every document of a corpus `times` times, in turn."""
    import torch

    from submission.dataset import CharCorruptionDataset

    dataset = CharCorruptionDataset(text, block_size)
    documents, examples, changed = list(dataset.data), [], None
    for _ in range(times):
        for i in range(len(documents)):
            examples.append(dataset[i])
            if list(dataset.data) != documents:
                changed = documents[i]
                dataset.data = list(documents)  # so that one mistake costs one check

    def stack(part):  # lists, arrays and columns, too: only one check is about types
        rows = [torch.as_tensor(example[part]).flatten() for example in examples]
        return torch.stack(rows).int().numpy()

    try:
        tokens = [stack(0), stack(1)]
    except Exception:
        tokens = None
    return {
        "documents": documents,
        "changed": changed,
        "stoi": dict(dataset.stoi),
        "first": examples[:20],
        "tokens": tokens,
    }


@probe(uses=(draw,))
def draw_epoch(text, block_size):
    """Draw every document once with two workers of a DataLoader, and read the vocabulary: what
    `draw` returns, and more.
    """
    import sys

    import numpy as np
    import torch

    from submission.dataset import CharCorruptionDataset

    reply = draw(text, block_size, 1)  # raises errors that occur without workers, too
    dataset = CharCorruptionDataset(text, block_size)
    linux = sys.platform.startswith("linux")
    workers = {"num_workers": 2, "multiprocessing_context": "fork"} if linux else {}

    def collate(examples):
        # Arrays are sent through a pipe; tensors need a socket, which not every sandbox allows.
        x, y = torch.utils.data.default_collate(examples)
        return x.int().numpy(), y.int().numpy()

    loader = torch.utils.data.DataLoader(dataset, batch_size=4, collate_fn=collate, **workers)
    reply["tokens"] = [np.concatenate(batches) for batches in zip(*loader)]
    reply["itos"] = [dataset.itos[i] for i in range(len(dataset.itos))]
    reply["sizes"] = [dataset.vocab_size, dataset.block_size]
    reply["refused"] = []
    for special in dataset.MASK_CHAR, dataset.PAD_CHAR:
        try:
            CharCorruptionDataset(text + special, block_size)
        except Exception:
            reply["refused"].append(special)
    return reply


@dataclass(frozen=True)
class Examples:
    """Examples as tokens.

    Attributes:
        x, y: (draws, length) int32.
        documents: the list of the dataset, drawn in turn.
        itos: the character of each token.
        block_size: of the dataset.
    """

    x: np.ndarray
    y: np.ndarray
    documents: list[str]
    itos: list[str]
    block_size: int

    def text(self, row: int) -> str:
        """x of a draw as characters; "?" where the vocabulary has none."""
        known = range(len(self.itos))
        return "".join(self.itos[i] if i in known else "?" for i in self.x[row].tolist())

    def pairs(self) -> list[tuple[str, str]]:
        """The document of every draw, and its example as characters."""
        return [
            (self.documents[row % len(self.documents)], self.text(row))
            for row in range(len(self.x))
        ]

    def spans(self) -> np.recarray:
        """Each draw's truncated `length`, the span's `start` in it, and how much is `masked`.

        Raises:
            WrongAnswer: an example doesn't have two or three MASKs.
        """
        x, count = self.x, (self.x == 1).sum(axis=1)
        if (odd := (count < 2) | (count > 3)).any():
            row = int(odd.argmax())
            raise WrongAnswer(
                f"x has {count[row]} MASK characters where three are expected:\n"
                f"  {self.text(row)}\nUse self.MASK_CHAR, one for the whole span."
            )
        first, second, third = np.argsort(x != 1, axis=1, kind="stable")[:, :3].T
        used = x.shape[1] - (x[:, ::-1] != 0).argmax(axis=1)
        masked = np.where(count == 3, third, used) - second - 1
        return np.rec.fromarrays([second - 1 + masked, first, masked], names="length,start,masked")


def draw_examples(student, text: str, block_size: int, times: int) -> Examples:
    """Run `draw` and read what it sends back."""
    answer = student.run(draw, text=text, block_size=block_size, times=times)
    return read_examples(answer, text, block_size)


def draw_long(student, block_sizes: Sequence[int], times: int) -> Examples:
    """Draw four documents longer than the block, once for all checks that ask for these sizes. The
    documents have no spaces, so that only 1c-11 sees whether spaces are stripped.
    """

    def drawn(rng):
        block_size = int(rng.choice(block_sizes))
        lengths = rng.integers(block_size + 1, 2 * block_size, size=4)
        corpus = random_corpus(rng, lengths).replace(" ", "-")
        return draw_examples(student, corpus, block_size, times)

    return student.once(f"blocks of {block_sizes}", drawn)


def read_examples(answer: Answer, text: str, block_size: int) -> Examples:
    """Read what a probe returned.

    Raises:
        WrongAnswer: the documents are not the lines of the text (empty ones may be left out), or
            the examples are not pairs of sequences of the same length.
    """
    documents = answer["documents"].texts()
    if answer["tokens"].value is None:
        answer["first"].items()[-1].named("dataset[i]").present()
        raise WrongAnswer(
            "The examples are not pairs (x, y) of tensors of the same length, so this check cannot "
            "read them. See 1c-0-basic."
        )
    x, y = (part.raw("int32", 2) for part in answer["tokens"].items(2))
    if list(filter(None, documents)) != list(filter(None, text.split("\n"))):
        raise WrongAnswer(
            "After CharCorruptionDataset(text, block_size), its list `data` should have the lines "
            "of the text, in their order and as they are. Leave __init__ as it is."
        )
    if len(x) != len(y) or len(x) % len(documents) or min(x.shape[1], y.shape[1]) < 4:
        raise WrongAnswer(
            f"{len(documents)} documents gave x of shape {x.shape} and y of shape {y.shape}. There "
            "should be a row of block_size tokens for every document."
        )
    return Examples(x, y, documents, vocabulary(text), block_size)


def require_attempt(examples: Examples) -> None:
    """Check that most examples have a MASK and text of the documents: the right shape, and y
    shifted, are worth nothing without any corruption.

    Raises:
        WrongAnswer: most examples lack one of them.
    """
    documents, attempts = examples.documents, 0
    known = {a + b for document in documents for a, b in zip(document, document[1:])}
    for _, example in examples.pairs():
        pairs = [a + b for a, b in zip(example, example[1:]) if not {a, b} & {PAD, MASK, "\n"}]
        # Of pairs of random characters a tenth occur in the documents, of the commonest a quarter.
        attempts += MASK in example and sum(pair in known for pair in pairs) > 0.5 * len(pairs)
    if attempts < 0.5 * len(examples.x):
        raise WrongAnswer(
            "The examples are not corrupted documents. Most of them have no MASK, or nothing of "
            f"the document:\n  document: {documents[0]!r}\n  x:        {examples.text(0)!r}"
        )


def require_arranged(answer: Answer, text: str, block_size: int) -> Examples:
    """Read examples; check the vocabulary, that drawing leaves the list `data` unchanged, and each
    example.

    Raises:
        WrongAnswer: shows what is wrong.
    """
    if answer["stoi"].value != {symbol: i for i, symbol in enumerate(vocabulary(text))}:
        raise WrongAnswer(
            "stoi should be PAD = 0, MASK = 1, then the sorted characters of the data, the newline "
            "included. Leave __init__ as it is."
        )
    if answer["changed"].value is not None:
        raise WrongAnswer(
            f"__getitem__ changed {answer['changed'].describe()} in the dataset's list `data`. "
            "Likely cause: an assignment to self.data[idx]. Every epoch draws from these documents "
            "again, so assign the truncated text to a new variable."
        )
    examples = read_examples(answer, text, block_size)
    if {*(examples.x == 1).sum(axis=1).tolist()} == {2, 3}:
        raise WrongAnswer(
            "Some examples end with a third MASK, and some don't. Always put one after the masked "
            "content."
        )
    require_rows(examples)
    return examples


def require_rows(examples: Examples) -> None:
    """Check that each example is the rearranged beginning of its document, and that hardly any has
    an empty span.

    Raises:
        WrongAnswer: shows a wrong example.
    """
    x, last = examples.x, len(examples.itos) - 1
    if x.min() < 0 or x.max() > last:
        raise WrongAnswer(
            f"x has tokens from {x.min()} to {x.max()}; the vocabulary has 0 to {last}. Take them "
            "from self.stoi."
        )
    empty = 0
    for document, example in examples.pairs():
        if problem := complain(example, document):
            raise WrongAnswer(
                f"With block_size = {examples.block_size}: {problem}\n"
                f"  document: {document!r}\n  x:        {example!r}"
            )
        empty += not example.rstrip(PAD).split(MASK)[2]
    if empty > 0.8 * len(x):  # a tenth is accepted
        raise WrongAnswer(
            f"{empty} of {len(x)} examples mask nothing: there is nothing after the second MASK. "
            f"At least one character should be masked.\n  x:        {examples.text(0)!r}"
        )


def complain(example: str, document: str) -> str | None:
    """Describe what is wrong with the arrangement of an example, given as characters; None if
    nothing is.
    """
    body = example.rstrip(PAD)
    if PAD in body:
        return "there are PADs before or within the text; they belong at the end."
    parts = body.split(MASK)
    if len(parts) not in (3, 4) or any(parts[3:]):
        return (
            f"there are {len(parts) - 1} MASKs; there should be three, the last one at the end. "
            "Use self.MASK_CHAR: one stands for the whole span."
        )
    prefix, suffix, masked = parts[:3]
    if document.startswith(prefix + masked + suffix):
        return None
    if prefix + masked + suffix in document:
        return "it is a window from within the document. Truncate it: keep its beginning."
    return "prefix + masked content + suffix is not the beginning of the document."


def require_shift(examples: Examples) -> None:
    """Check that y[i] is x[i + 1], and that y's last token continues x.

    Raises:
        WrongAnswer: y is something else.
    """
    x, y = examples.x, examples.y
    if x.shape != y.shape:
        raise WrongAnswer(f"x and y have {x.shape[1]} and {y.shape[1]} tokens; y is x shifted.")
    if (wrong := x[:, 1:] != y[:, :-1]).any():
        row, i = np.argwhere(wrong)[0].tolist()
        found = "y equals x: " if (x == y).all() else ""
        raise WrongAnswer(
            "y should be x shifted by one, y[i] = x[i + 1], so that each position predicts the "
            f"next character. Here {found}y[{i}] is token {y[row, i]}, and x[{i + 1}] is token "
            f"{x[row, i + 1]}, with x = {examples.text(row)!r}"
        )
    # y's last token: PAD after text that has ended, else any token
    ended = (x == 0).any(axis=1)
    if y[ended, -1].any() or y.min() < 0 or y.max() >= len(examples.itos):
        raise WrongAnswer(
            "y's last token doesn't continue x: after PADs there should be another PAD."
        )
