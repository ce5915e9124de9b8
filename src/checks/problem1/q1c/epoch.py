"""An epoch drawn by DataLoader workers, as in training; and the vocabulary."""

import numpy as np

from autograder import WrongAnswer, probe
from checks.problem1.q1c.examples import (
    Examples,
    require_arranged,
    require_documents,
    require_shift,
    require_unchanged,
    require_vocabulary,
)
from checks.problem1.random_texts import MASK, PAD, random_corpus, vocabulary


@probe
def draw_epoch(text, block_size, workers):
    """Return the vocabulary and an epoch drawn by a DataLoader."""
    import sys

    import torch

    from submission.dataset import CharCorruptionDataset

    dataset = CharCorruptionDataset(text, block_size)
    documents = list(dataset.data)
    for i in range(min(3, len(dataset))):
        dataset[i]  # raises errors that occur without workers, too, in the main process
    changed = [[str(a), str(b)] for a, b in zip(documents, dataset.data) if a != b]
    workers = workers if sys.platform.startswith("linux") else 0
    context = {"multiprocessing_context": "fork"} if workers else {}

    def collate(examples):
        # Arrays are sent through a pipe; tensors need a socket, which not every sandbox allows.
        return [part.numpy() for part in torch.utils.data.default_collate(examples)]

    loader = torch.utils.data.DataLoader(
        dataset, batch_size=4, num_workers=workers, collate_fn=collate, **context
    )
    batches = [[torch.from_numpy(x), torch.from_numpy(y)] for x, y in loader]
    refused = []
    for special in dataset.MASK_CHAR, dataset.PAD_CHAR:
        try:
            CharCorruptionDataset(text + special, block_size)
        except Exception:
            refused.append(special)
    return {
        "documents": documents,
        "changed": changed[0] if changed else None,
        "stoi": dict(dataset.stoi),
        "itos": [dataset.itos[i] for i in range(len(dataset.itos))],
        "sizes": [dataset.vocab_size, dataset.block_size],
        "refused": refused,
        "x": torch.cat([x for x, _ in batches]),
        "y": torch.cat([y for _, y in batches]),
    }


def require_epoch(student, rng: np.random.Generator, block_size: int) -> None:
    """Check that the vocabulary is unchanged and that two workers draw correct examples.

    Raises:
        WrongAnswer: the vocabulary differs, or a worker's example is wrong.
    """
    text = "\n".join([random_corpus(rng, rng.integers(6, 2 * block_size, size=18)), "two  blanks"])
    answer = student.run(draw_epoch, text=text, block_size=block_size, workers=2)
    symbols = vocabulary(text)
    require_vocabulary(answer["stoi"].value, text)
    if answer["itos"].value != symbols:
        raise WrongAnswer("itos should be the inverse of stoi.")
    if [size.number() for size in answer["sizes"].items(2)] != [len(symbols), block_size]:
        raise WrongAnswer(
            f"vocab_size and block_size should be {len(symbols)} and {block_size}; "
            f"they are {answer['sizes'].value}."
        )
    if answer["refused"].texts() != [MASK, PAD]:
        raise WrongAnswer("Data that contains MASK or PAD should be refused with an error.")
    documents = answer["documents"].texts()
    require_documents(documents, text)
    require_unchanged(answer)
    x = answer["x"].array("int64", (len(documents), None))
    y = answer["y"].array("int64", x.shape)
    examples = Examples(x, y, documents, np.arange(len(documents)), symbols)
    try:
        require_shift(examples)
        require_arranged(examples, block_size)
    except WrongAnswer as error:
        raise WrongAnswer(f"In examples drawn by DataLoader workers: {error}") from None
