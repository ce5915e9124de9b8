"""./run.sh show_corruption: what the student's span corruption makes of documents, beside what
question 1c asks for, on the terminal and as a page. It reads x and y alone.
"""

import math
from collections import Counter
from html import escape
from itertools import cycle, islice
from pathlib import Path
from statistics import fmean, pstdev
from typing import NamedTuple

import torch
from tqdm import tqdm

from common.charts import Axis, Plot, round_numbers
from common.files import UserError, read_documents, write_text
from jobs.errors import says_where
from jobs.options import ROOT
from jobs.web_page import MARKS, characters, document, figure, scroll, table

DRAWS, BLOCK_SIZE = 3000, 64  # rows of 64 characters fit on a screen
PRINTED, SHOWN = 4, 12  # examples on the terminal, and on the page
LENGTHS = range(4, BLOCK_SIZE * 3 // 4 + 1)  # of a truncated document, all equally likely

CSS = """
.cells { font: .9rem/1.7 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  white-space: pre; padding-bottom: 1rem; } .cells s { color: var(--muted); }
.cells mark { background: var(--accent); color: var(--paper); }
svg .asked { stroke: var(--second); stroke-width: 2; stroke-dasharray: 4 3; }
"""


class Draw(NamedTuple):
    """One example.

    Attributes:
        document: the whole document.
        x, y: as characters, MASK and PAD among them.
        parts: prefix, masked content and suffix, or () if the MASKs do not divide x into these.
        fault: what is not as asked, or "".
    """

    document: str
    x: str
    y: str
    parts: tuple[str, ...]
    fault: str


@says_where
def show_corruption(student, data: Path | None, out: Path) -> None:
    """Draw DRAWS examples with the student's code, print some, and write the page.

    Args:
        student: the submission's dataset.py.
        data: the folder of wiki.txt, by default that of the whole corpus.
        out: the file.

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
    draws = sorted((read_draw(dataset, i) for i in bar), key=lambda draw: not draw.fault)
    verdict = "All draws have the form that question 1c asks for."
    if faulty := sum(bool(draw.fault) for draw in draws):
        verdict = f"{faulty:,} of {DRAWS:,} draws are not as asked, such as: {draws[0].fault}"
    write_text(out, page(verdict, draws))
    for draw in draws[:PRINTED]:
        print(f"\ndocument: {draw.document}\nx: {draw.x}\ny: {draw.y}")
    print()
    for what, value, asked in measure(draws):
        print(f"{what}: {value}. Asked: {asked}.")
    print(f"{verdict}\nWrote {out}: open it in a browser.")


def read_draw(dataset, idx: int) -> Draw:
    """Draw an example of a CharCorruptionDataset, and read it.

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
    return Draw(text, x, y, parts, fault)


def spans(draws: list[Draw]) -> list[tuple[int, float, float]]:
    """By truncated length, of each draw that has its parts: that length, the masked share, and
    where the span starts, from 0 (the first character) to 1 (as late as possible).
    """
    sizes = [[*map(len, draw.parts)] for draw in draws if any(draw.parts)]
    return sorted(
        (sum(each), each[1] / sum(each), each[0] / max(1, each[0] + each[2])) for each in sizes
    )


def measure(draws: list[Draw]) -> list[list[str]]:
    """The three random numbers over all draws that have their parts: name, found, asked."""
    if not (found := spans(draws)):
        return []
    lengths, shares, starts = zip(*found)
    third = math.ceil(len(found) / 3)
    spread = "{} to {}, mean {:.1f}, standard deviation {:.1f}"
    return [
        [
            "Truncated length",
            spread.format(lengths[0], lengths[-1], fmean(lengths), pstdev(lengths)),
            spread.format(LENGTHS[0], LENGTHS[-1], fmean(LENGTHS), pstdev(LENGTHS)),
        ],
        [
            "Masked share",
            f"mean {fmean(shares):.3f}; {fmean(shares[:third]):.3f} of the shortest third, "
            f"{fmean(shares[-third:]):.3f} of the longest",
            "mean 0.25, whatever the length",
        ],
        [
            "Start of the span, from 0 (first character) to 1 (as late as possible)",
            f"mean {fmean(starts):.2f}, standard deviation {pstdev(starts):.2f}",
            "random; if all are equally likely, mean 0.50, standard deviation about 0.3",
        ],
    ]


def page(verdict: str, draws: list[Draw]) -> str:
    """The whole page: the numbers, a histogram, and the first examples."""
    top = f"""<h1>Span corruption</h1>
<p>Your <code>CharCorruptionDataset</code> of <code>dataset.py</code>, called {len(draws):,} times
with <code>block_size</code> {BLOCK_SIZE}. {escape(verdict)} The grader's checks try more
(<code>python src/grader.py 1c</code>).</p>
{table("Over all draws", ["", "found", "asked"], measure(draws))}
{histogram(Counter(length for length, _, _ in spans(draws)))}"""
    examples = {"Examples": "\n".join(map(example, draws[:SHOWN]))}
    footer = "Numbers and counts differ from those asked for by chance."
    return document("Span corruption", top, examples, footer, MARKS + CSS)


def histogram(counts: Counter) -> str:
    """How many draws have each truncated length."""
    level = counts.total() / len(LENGTHS)
    up = Axis(round_numbers(0, max([level, *counts.values()]), 4), "draws")
    across = Axis(round_numbers(0, max([LENGTHS[-1], *counts])), "truncated length")
    plot = Plot(320, (44, 22, 308, 156), across, up)
    for length, count in counts.items():
        plot.bar((length - 0.5, length + 0.5), (0, count), title=f"{length}: {count}")
    plot.line([(LENGTHS[0], level), (LENGTHS[-1], level)], "asked")
    says = f"Truncated lengths. Dashed: the expected count, {level:.1f} each."
    return figure(plot.svg(f"Histogram. {says}"), says)


def example(draw: Draw) -> str:
    """A draw: its document, in which the masked content stands out, above x and y."""
    text, kept = escape(draw.document), "".join(draw.parts)
    if kept and draw.document.startswith(kept):
        prefix, masked, suffix, cut = map(escape, (*draw.parts, draw.document[len(kept) :]))
        text = f"{prefix}<mark>{masked}</mark>{suffix}<s>{cut}</s>"
    rows = f"{text}\nx: {characters(draw.x)}\ny: {characters(draw.y)}"
    fault = draw.fault and f"<p>{escape(draw.fault)}</p>\n"
    return fault + scroll(f'<div class="cells">{rows}</div>', "a document, x and y")
