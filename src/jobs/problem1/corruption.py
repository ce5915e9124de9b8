"""./run.sh show_corruption: what the student's span corruption makes of documents, beside what
question 1c asks for: examples on the terminal, and a plot. It reads x and y alone.
"""

from itertools import cycle, islice
from pathlib import Path
from statistics import fmean

import torch
from tqdm import tqdm

from common.files import UserError, writing
from jobs.options import ROOT
from jobs.problem1.data import read_documents

DRAWS, BLOCK_SIZE, PRINTED = 3000, 64, 4  # rows of 64 characters fit on a screen
LENGTHS = range(4, BLOCK_SIZE * 3 // 4 + 1)  # of a truncated document, all equally likely
ASKED = {
    "truncated length": f"{LENGTHS[0]} to {LENGTHS[-1]}, each as often: mean {fmean(LENGTHS):.1f}",
    "masked share": "mean 0.25, whatever the length",
    "start of the span": "random; mean 0.50 if all are as likely",
}


def show_corruption(student, data: Path | None, out: Path) -> None:
    """Draw DRAWS examples with the student's code, print some, and write the plot.

    Args:
        student: the submission's dataset.py.
        data: the folder of wiki.txt, by default that of the whole corpus.
        out: the PNG file.

    Raises:
        UserError: __getitem__ raised an error or returned no tensors of tokens, or no document is
            long enough for all truncated lengths.
    """
    source = (data or ROOT / "data") / "wiki.txt"
    dataset = student.CharCorruptionDataset(read_documents(source), BLOCK_SIZE)
    long = [i for i, text in enumerate(dataset.data) if len(text) >= LENGTHS[-1]]
    if not long:
        raise UserError(f"No document of {source} has {LENGTHS[-1]} characters. Use other --data.")
    print(f"Drawing {DRAWS:,} examples ...", flush=True)
    bar = tqdm(islice(cycle(long), DRAWS), "Drawing", DRAWS, leave=False, unit="example")
    drawn = [(dataset.data[i], *draw(dataset, i)) for i in bar]
    faulty = [example for example in drawn if example[-1]]
    for document, x, y, *_ in [*faulty, *drawn][:PRINTED]:
        print(f"\ndocument: {document}\nx: {x}\ny: {y}")
    sizes = [[*map(len, parts)] for *_, parts, _ in drawn if any(parts)]
    found = {
        "truncated length": [sum(size) for size in sizes],
        "masked share": [size[1] / sum(size) for size in sizes],
        "start of the span": [size[0] / max(1, size[0] + size[2]) for size in sizes],
    }
    print("\nThe span starts at 0 with the first character, at 1 as late as possible.")
    for what, values in found.items():
        if values:
            spread = f"{min(values):.3g} to {max(values):.3g}, mean {fmean(values):.3g}"
            print(f"{what}: {spread}. Asked: {ASKED[what]}.")
    plot(found, out)
    print(
        f"{len(faulty):,} of {DRAWS:,} draws are not as asked, such as: {faulty[0][-1]}"
        if faulty
        else "All draws have the form that question 1c asks for."
    )
    print(f"Wrote {out}")


def draw(dataset, idx: int) -> tuple[str, str, tuple[str, ...], str]:
    """Draw an example of a CharCorruptionDataset, and read it.

    Returns:
        x and y as characters, MASK and PAD among them; prefix, masked content and suffix, or () if
        the MASKs do not divide x into these; and what is not as asked, or "".

    Raises:
        UserError: these are no tensors of tokens.
    """
    returned, text, mask, pad = dataset[idx], dataset.data[idx], dataset.MASK_CHAR, dataset.PAD_CHAR
    pair = isinstance(returned, (tuple, list)) and len(returned) == 2
    if not pair or not all(
        isinstance(ids, torch.Tensor) and ids.dim() == 1 and {*ids.tolist()} <= {*dataset.itos}
        for ids in returned
    ):
        raise UserError(
            "CharCorruptionDataset.__getitem__ in dataset.py should return x and y, tensors of "
            f"block_size tokens of the vocabulary; it returned {type(returned).__name__} "
            f"{str(returned)[:80]}."
        )
    x, y = ("".join(dataset.itos[token] for token in ids.tolist()) for ids in returned)
    prefix, *rest = (x + y[-1:]).rstrip(pad).split(mask)
    parts = (prefix, rest[1], rest[0]) if len(rest) in (2, 3) else ()
    whole, fault = "".join(parts), ""
    if any(ids.shape != (BLOCK_SIZE,) or ids.dtype != torch.int64 for ids in returned):
        found = " and ".join(f"{tuple(ids.shape)}, {ids.dtype}" for ids in returned)
        fault = f"x and y are {found}. Asked: ({BLOCK_SIZE},), the block_size, torch.int64."
    elif x[1:] != y[:-1]:
        at = next(i for i in range(BLOCK_SIZE - 1) if x[i + 1] != y[i])
        fault = f"y is not x shifted by one: y[{at}] is {y[at]!r}, x[{at + 1}] is {x[at + 1]!r}."
    elif len(rest) != 3 or rest[2]:
        fault = f"x has {len(rest)} MASKs. Asked: 3, and PADs alone after the third."
    elif not text.startswith(whole):
        fault = f"Prefix, masked content and suffix do not make the document's start: {whole!r}."
    elif not parts[1] or len(whole) not in LENGTHS:
        fault = f"{len(parts[1])} of {len(whole)} characters are masked. Asked: at least 1, "
        fault += f"of {LENGTHS[0]} to int(block_size * 3/4), {LENGTHS[-1]}."
    return x, y, parts, fault


def plot(found: dict[str, list[float]], out: Path) -> None:
    """Histograms of what was found, as a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure((12, 3.4), layout="constrained")
    for axes, (what, values) in zip(figure.subplots(1, 3), found.items()):
        steps = range(BLOCK_SIZE + 2) if what == "truncated length" else [i / 20 for i in range(22)]
        axes.hist(values, bins=steps, align="left", rwidth=0.9)
        axes.set(title=what, xlabel=f"asked: {ASKED[what]}", ylabel="draws")
    with writing(out) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
