"""Examples of span corruption (question 1c): the probes that draw them, and what each must be."""

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
    if len(documents) > text.count("\n") + 1:  # not the lines of the text; there may be very many
        times = 1
    for _ in range(times):
        for i in range(len(documents)):
            examples.append(dataset[i])
            if list(dataset.data) != documents:
                changed = changed or [documents[i], str(list(dataset.data)[i : i + 1])]
                dataset.data = list(documents)  # so that one mistake costs one check

    def kind(example):
        parts = example if isinstance(example, (tuple, list)) else [example]
        kinds = [
            (type(part), getattr(part, "dtype", 0), getattr(part, "shape", 0)) for part in parts
        ]
        return str([type(example), *kinds])

    def stack(part):  # lists, arrays and columns, too: only one check is about types
        rows = [torch.as_tensor(example[part]).flatten() for example in examples]
        return torch.stack(rows).long().numpy()

    try:
        tokens = [stack(0), stack(1)]
    except Exception:
        tokens = None
    return {
        "documents": documents,
        "changed": changed,
        "stoi": dict(dataset.stoi),
        "kinds": list({kind(example): example for example in examples[999::-1]}.values())[-2:],
        "tokens": tokens,
    }


@probe(uses=(draw,))
def draw_epoch(text, block_size, workers):
    """Draw every document once with a DataLoader, and the vocabulary: what `draw` returns, and
    more.
    """
    import sys

    import numpy as np
    import torch

    from submission.dataset import CharCorruptionDataset

    reply = draw(text, block_size, 1)  # raises errors that occur without workers, too
    dataset = CharCorruptionDataset(text, block_size)
    workers = workers if sys.platform.startswith("linux") else 0
    context = {"multiprocessing_context": "fork"} if workers else {}

    def collate(examples):
        # Arrays are sent through a pipe; tensors need a socket, which not every sandbox allows.
        x, y = torch.utils.data.default_collate(examples)
        return x.numpy(), y.numpy()

    loader = torch.utils.data.DataLoader(
        dataset, batch_size=4, num_workers=workers, collate_fn=collate, **context
    )
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
        x, y: (draws, length) int64.
        documents: the list of the dataset, drawn in turn.
        itos: the character of each token.
    """

    x: np.ndarray
    y: np.ndarray
    documents: list[str]
    itos: list[str]

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


def long_corpus(rng, block_size: int) -> str:
    """Make four documents longer than the block. They have no spaces, so that only 1c-11 sees
    whether spaces are stripped.
    """
    lengths = rng.integers(block_size + 1, 2 * block_size, size=4)
    return random_corpus(rng, lengths).replace(" ", "-")


def draw_examples(student, text: str, block_size: int, times: int) -> Examples:
    """Run `draw` and read what it sends back."""
    answer = student.run(draw, text=text, block_size=block_size, times=times)
    return read_examples(answer, text)


def share_examples(student, rng, context, name: str, smallest: int, largest: int) -> Examples:
    """Draw 4000 examples of documents longer than the block, for all checks that give this name."""

    def drawn():
        block_size = int(rng.integers(smallest, largest + 1))
        return draw_examples(student, long_corpus(rng, block_size), block_size, 1000)

    return context.once(student, name, drawn)


def read_examples(answer: Answer, text: str) -> Examples:
    """Read what a probe returned.

    Raises:
        WrongAnswer: the documents are not the lines of the text (empty ones may be left out), or
            the examples are not pairs of sequences of the same length.
    """
    documents = answer["documents"].texts()
    if answer["tokens"].value is None:
        answer["kinds"].items()[-1].named("dataset[i]").present()
        raise WrongAnswer(
            "The examples are not pairs (x, y) of tensors of the same length, so this check cannot "
            "read them. See 1c-0-basic."
        )
    x, y = (part.raw("int64", 2) for part in answer["tokens"].items(2))
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
    return Examples(x, y, documents, vocabulary(text))


def require_attempt(examples: Examples) -> None:
    """Check that most examples are made from the documents, and are not just their beginnings: the
    right shape, and y shifted, are worth nothing without any corruption.

    Raises:
        WrongAnswer: most examples have nothing of the documents, or nothing else.
    """
    documents, attempts = examples.documents, 0
    known = {a + b for document in documents for a, b in zip(document, document[1:])}
    for _, example in examples.pairs():
        pairs = [a + b for a, b in zip(example, example[1:]) if not {a, b} & {PAD, MASK, "\n"}]
        # Of pairs of random characters, about a tenth occur in the documents.
        related = pairs and sum(pair in known for pair in pairs) > 0.25 * len(pairs)
        body = example.rstrip(PAD)
        attempts += bool(related) and not any(each.startswith(body) for each in documents)
    if attempts < 0.5 * len(examples.x):
        raise WrongAnswer(
            "The examples are not corrupted documents. Most of them have nothing of the document, "
            f"or nothing else:\n  document: {documents[0]!r}\n  x:        {examples.text(0)!r}"
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
        before, after = (part.text() for part in answer["changed"].items(2))
        raise WrongAnswer(
            f"__getitem__ changed the dataset's list `data`:\n  before: {before}\n"
            f"  after:  {after}\nLikely cause: an assignment to self.data[idx]. Every epoch draws "
            "from these documents again, so assign the truncated text to a new variable."
        )
    examples = read_examples(answer, text)
    if {*(examples.x == 1).sum(axis=1).tolist()} == {2, 3}:
        raise WrongAnswer(
            "Some examples end with a third MASK, and some don't. Always put one after the masked "
            "content."
        )
    require_rows(examples, block_size)
    return examples


def require_rows(examples: Examples, block_size: int) -> None:
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
                f"With block_size = {block_size}: {problem}\n"
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
    if len(parts) == 4 and parts[3]:
        return "there is text after the third MASK, where only PADs belong."
    if len(parts) not in (3, 4):
        return (
            f"there are {len(parts) - 1} MASKs instead of three. Use self.MASK_CHAR: one "
            "stands for the whole span."
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
        WrongAnswer: y is something else; says what it seems to be.
    """
    x, y = examples.x, examples.y
    if x.shape == y.shape and (x[:, 1:] == y[:, :-1]).all():
        # y's last token: PAD after text that has ended, else any token.
        ended = (x == 0).any(axis=1)
        if (y[ended, -1] == 0).all() and ((y >= 0) & (y < len(examples.itos))).all():
            return
        raise WrongAnswer(
            "y's last token doesn't continue x: after PADs there should be another PAD."
        )
    if x.shape != y.shape:
        found = f"they have lengths {x.shape[1]} and {y.shape[1]}"
    elif (x == y).all():
        found = "y equals x: it is not shifted"
    else:
        row, i = np.argwhere(x[:, 1:] != y[:, :-1])[0].tolist()
        found = (
            f"with x = {examples.text(row)!r}, y[{i}] is token {y[row, i]}, and x[{i + 1}] is "
            f"token {x[row, i + 1]}"
        )
    raise WrongAnswer(
        "y should be x shifted by one, y[i] = x[i + 1], so that each position predicts the next "
        f"character. Here {found}."
    )
