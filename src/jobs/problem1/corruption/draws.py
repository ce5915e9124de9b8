"""Draws of span corruption, read from x and y alone: what they show, and what is not as question 1c
asks.
"""

from dataclasses import dataclass

import torch

from common.files import UserError


@dataclass(frozen=True)
class Draw:
    """One example.

    Attributes:
        document: the whole document.
        x, y: as characters, MASK and PAD among them.
        parts: prefix, masked content and suffix, or None if the MASKs do not divide it into these.
        fault: what is not as asked, or "".
    """

    document: str
    x: str
    y: str
    parts: tuple[str, str, str] | None
    fault: str = ""

    @property
    def length(self) -> int:
        """Of the truncated document."""
        return sum(map(len, self.parts))


def lengths_asked(document: str, block_size: int) -> range:
    """The lengths to which a document may be truncated."""
    shortest = min(4, len(document))
    return range(shortest, max(shortest, min(len(document), int(block_size * 3 / 4))) + 1)


def read_draw(dataset, idx: int) -> Draw:
    """Draw an example, and read it.

    Args:
        dataset: a CharCorruptionDataset.

    Raises:
        UserError: these are no tensors of tokens.
    """
    ids = tokens(dataset[idx], dataset.itos)
    x, y = ("".join(dataset.itos[token] for token in row.tolist()) for row in ids)
    parts = split(x + y[-1:], dataset.MASK_CHAR, dataset.PAD_CHAR)
    document = dataset.data[idx]
    return Draw(document, x, y, parts, fault(dataset, document, x, y, ids, parts))


def tokens(returned, itos: dict) -> tuple[torch.Tensor, torch.Tensor]:
    """What __getitem__ returned, if it is x and y, tensors of tokens; else raise UserError."""
    wanted = "It should return x and y, int64 tensors of tokens."
    what = "CharCorruptionDataset.__getitem__ in dataset.py returned"
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        raise UserError(f"{what} {type(returned).__name__} {str(returned)[:60]}. {wanted}")
    for name, ids in zip("xy", returned):
        if not isinstance(ids, torch.Tensor):
            raise UserError(f"{what} {name} as {type(ids).__name__}. {wanted}")
        if ids.dim() != 1 or not len(ids) or ids.dtype.is_floating_point or ids.is_complex():
            raise UserError(f"{what} {name} of shape {tuple(ids.shape)} and {ids.dtype}. {wanted}")
        if unknown := [token for token in ids.tolist() if token not in itos]:
            raise UserError(f"{what} {name} with {unknown[0]}, which is not in the vocabulary.")
    return tuple(returned)


def split(text: str, mask: str, pad: str) -> tuple[str, str, str] | None:
    """Prefix, masked content and suffix of a rearranged text; None if it has not two or three
    MASKs.
    """
    prefix, *others = text.rstrip(pad).split(mask)
    if len(others) not in (2, 3) or others[2:] not in ([], [""]):
        return None
    return prefix, others[1], others[0]


def fault(dataset, document, x, y, ids, parts) -> str:
    """The first thing that is not as asked, as a sentence, or ""."""
    size, pad = dataset.block_size, dataset.PAD_CHAR
    for name, text, row in zip("xy", (x, y), ids):
        if len(text) != size:
            return f"{name} has {len(text)} tokens. Asked: block_size, {size}."
        if row.dtype != torch.int64:
            return f"{name} is {row.dtype}. Asked: torch.int64."
    if x[1:] != y[:-1]:
        at = next(i for i in range(size - 1) if x[i + 1] != y[i])
        return f"y is not x shifted by one: y[{at}] is {y[at]!r}, x[{at + 1}] is {x[at + 1]!r}."
    body = (x + y[-1]).rstrip(pad)
    if pad in body:
        return "There is a PAD before the end of the text. Asked: PADs at the end only."
    if (count := body.count(dataset.MASK_CHAR)) != 3 or not body.endswith(dataset.MASK_CHAR):
        where = "" if count != 3 else ", the last not at the end of the text"
        return f"There are {count} MASKs{where}. Asked: prefix MASK suffix MASK masked MASK PADs."
    prefix, masked, suffix = parts
    whole = prefix + masked + suffix
    if not document.startswith(whole):
        return (
            "Prefix, masked content and suffix together are not the start of the document: "
            f"{whole[:40]!r}."
        )
    if not masked:
        return "Nothing is masked. Asked: at least 1 character."
    asked = lengths_asked(document, size)
    if len(whole) not in asked:
        return f"The truncated length is {len(whole)}. Asked: from {asked[0]} to {asked[-1]}."
    return ""
