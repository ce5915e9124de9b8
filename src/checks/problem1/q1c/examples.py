"""Span corruption examples: draws them, reads them, and judges each on its own."""

from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.problem1.random_texts import MASK, PAD, vocabulary


@probe
def draw(text, block_size, times):
    """Draw every document of a corpus `times` times, in turn."""
    import torch

    from submission.dataset import CharCorruptionDataset

    dataset = CharCorruptionDataset(text, block_size)
    if len(dataset) > text.count("\n") + 1:  # not the lines of the text; there may be very many
        times = 1
    documents, examples, changed = list(dataset.data), [], None
    for _ in range(times):
        for i in range(len(dataset)):
            examples.append(dataset[i])
            now = list(dataset.data)
            if now != documents:
                differ = [k for k, pair in enumerate(zip(documents, now)) if pair[0] != pair[1]]
                k = differ[0] if differ else len(documents)
                there = [part[k : k + 1] for part in (documents, now)]
                changed = changed or ["".join(map(str, part)) for part in there]
                dataset.data = list(documents)  # so that one mistake costs one check

    def kind(example):
        parts = example if isinstance(example, (tuple, list)) else [example]
        kinds = [(getattr(part, "dtype", None), *getattr(part, "shape", ())) for part in parts]
        return [type(example), *map(type, parts), *kinds]

    def stack(part):
        rows = [example[part] for example in examples]
        try:
            stacked = torch.stack(rows)
        except TypeError:  # not tensors; only one check is about that
            stacked = torch.stack([torch.as_tensor(row).reshape(-1) for row in rows])
        return stacked.reshape(len(examples), -1).long().numpy()

    odd = [example for example in examples[:1000] if kind(example) != kind(examples[0])]
    try:
        tokens = [stack(0), stack(1)]
    except Exception:
        tokens = None
    return {
        "documents": documents,
        "changed": changed,
        "stoi": dict(dataset.stoi),
        "first": examples[0],
        "odd": odd[0] if odd else None,
        "tokens": tokens,
    }


@dataclass(frozen=True)
class Examples:
    """Examples as tokens.

    Attributes:
        x, y: (draws, length) int64.
        documents: the list of the dataset.
        index: (draws,), which document each draw is of.
        itos: the character of each token.
    """

    x: np.ndarray
    y: np.ndarray
    documents: list[str]
    index: np.ndarray
    itos: list[str]

    def text(self, row: int) -> str:
        """x of a draw as characters."""
        return "".join(self.itos[i] if 0 <= i < len(self.itos) else "?" for i in self.x[row])


def read_examples(answer: Answer, text: str, times: int) -> Examples:
    """Read what `draw` returned, whatever the dtype.

    Raises:
        WrongAnswer: the examples are not pairs of sequences of the same length.
    """
    documents = answer["documents"].texts()
    if answer["tokens"].value is None:
        answer["first"].named("dataset[i]").present()
        raise WrongAnswer(
            "The examples are not pairs (x, y) of tensors of the same length, so this check cannot "
            "read them. See 1c-0-basic."
        )
    x, y = (part.raw("int64", 2) for part in answer["tokens"].items(2))
    require_documents(documents, text)
    if min(x.shape[1], y.shape[1]) < 4:
        raise WrongAnswer(
            f"x and y have lengths {x.shape[1]} and {y.shape[1]}. They should have block_size."
        )
    if len(x) != len(y) or len(x) != times * len(documents) or not documents:
        raise WrongAnswer(
            f"The dataset has {len(documents)} documents in its list `data`, and "
            f"gave {len(x)} examples in {times} rounds."
        )
    return Examples(x, y, documents, np.tile(np.arange(len(documents)), times), vocabulary(text))


def draw_examples(student, text: str, block_size: int, times: int) -> Examples:
    """Run `draw` and read what it sends back."""
    answer = student.run(draw, text=text, block_size=block_size, times=times)
    return read_examples(answer, text, times)


def require_documents(documents: list[str], text: str) -> None:
    """Check that the dataset's list has the lines of the text; empty ones may be left out.

    Raises:
        WrongAnswer: it has other lines.
    """
    if list(filter(None, documents)) != list(filter(None, text.split("\n"))):
        raise WrongAnswer(
            "After CharCorruptionDataset(text, block_size), its list `data` should "
            "have the lines of the text, in their order and as they are. Leave "
            "__init__ as it is."
        )


def require_unchanged(answer: Answer) -> None:
    """Check that drawing an example leaves the list `data` unchanged.

    Raises:
        WrongAnswer: it was changed.
    """
    if answer["changed"].value is not None:
        before, after = (part.text() for part in answer["changed"].items(2))
        raise WrongAnswer(
            "__getitem__ changed the dataset's list `data`:\n"
            f"  before: {before}\n"
            f"  after:  {after}\n"
            "Likely cause: an assignment to self.data[idx]. Every epoch draws from these documents "
            "again, so assign the truncated text to a new variable."
        )


def require_vocabulary(stoi, text: str) -> None:
    """Check the vocabulary: PAD, MASK, then the sorted characters.

    Raises:
        WrongAnswer: the mapping from characters to tokens is different.
    """
    if stoi != {symbol: i for i, symbol in enumerate(vocabulary(text))}:
        raise WrongAnswer(
            "stoi should be PAD = 0, MASK = 1, then the sorted characters of the "
            "data, the newline included. Leave __init__ as it is."
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
    if document.startswith((prefix + suffix + masked, prefix + masked + suffix[len(masked) :])):
        return "what is masked is not the text between prefix and suffix. Cut it out of the middle."
    if document.startswith(prefix + masked[::-1] + suffix):
        return "the masked content is reversed."
    if document.startswith(suffix + masked + prefix):
        return "prefix and suffix are swapped."
    if prefix + masked + suffix in document:
        return "it is a window from within the document. Truncate it: keep its beginning."
    return "prefix + masked content + suffix is not the beginning of the document."


def require_arranged(examples: Examples, block_size: int) -> None:
    """Check that every example is the rearranged beginning of its document, and that hardly any has
    an empty span.

    Raises:
        WrongAnswer: shows a wrong example.
    """
    x, last = examples.x, len(examples.itos) - 1
    if x.min() < 0 or x.max() > last:
        raise WrongAnswer(
            f"x has tokens from {x.min()} to {x.max()}; the vocabulary has 0 to "
            f"{last}. Take them from self.stoi."
        )
    if set((x == 1).sum(axis=1).tolist()) == {2, 3}:
        raise WrongAnswer(
            "Some examples end with a third MASK, and some don't. Always put one "
            "after the masked content."
        )
    empty = 0
    for row, index in enumerate(examples.index):
        document, example = examples.documents[index], examples.text(row)
        if problem := complain(example, document):
            raise WrongAnswer(
                f"With block_size = {block_size}: {problem}\n"
                f"  document: {document}\n  x:        {example}"
            )
        empty += not example.rstrip(PAD).split(MASK)[2]
    if empty > 0.8 * len(x):  # a tenth is accepted
        raise WrongAnswer(
            f"{empty} of {len(x)} examples mask nothing: there is nothing after the second MASK. "
            "At least one character should be masked.\n"
            f"  x:        {examples.text(0)}"
        )


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
    message = (
        "y should be x shifted by one, y[i] = x[i + 1], so that each position predicts the "
        "next character. "
    )
    if x.shape != y.shape:
        message += f"Here they have lengths {x.shape[1]} and {y.shape[1]}."
    elif (x == y).all():
        message += "Here y equals x: it is not shifted."
    elif (y[:, 1:] == x[:, :-1]).all():
        message += "Here it is shifted the wrong way: x[i + 1] = y[i]. Are x and y swapped?"
    elif (x[:, 2:] == y[:, :-2]).all():
        message += "Here it is shifted by two."
    else:
        row, i = (int(n) for n in np.argwhere(x[:, 1:] != y[:, :-1])[0])
        message += (
            f"Here, with x = {examples.text(row)!r}, y[{i}] is "
            f"{_name(examples, y[row, i])}, and x[{i + 1}] "
            f"{_name(examples, x[row, i + 1])}."
        )
    raise WrongAnswer(message)


def _name(examples, token):
    return repr(examples.itos[token]) if 0 <= token < len(examples.itos) else f"token {token}"
