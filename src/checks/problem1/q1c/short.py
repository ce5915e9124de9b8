"""Rules for short documents and short texts, which are rare in training."""

import numpy as np

from autograder import WrongAnswer
from checks.problem1.q1c.examples import complain, draw_examples
from checks.problem1.q1c.randomness import (
    LONG,
    bounds,
    require_free_length,
    require_quarter,
    take_apart,
)
from checks.problem1.random_texts import MASK, PAD, random_corpus

SHORT = 20  # a document shorter than most lengths drawn, in a block of 128


def require_short(student, rng: np.random.Generator, block_size: int) -> None:
    """Check all rules for short documents and short texts.

    Raises:
        WrongAnswer: a rule is violated.
    """
    _require_tiny(student, rng, block_size)
    _require_shorter_than_drawn(student, rng)
    _require_short_texts(student, rng)


def _require_tiny(student, rng, block_size):
    """Check documents of 0 to 6 characters: those under 4 stay whole, and something is masked."""
    times = 500
    lines = random_corpus(rng, range(1, 7)).split("\n")
    lines.insert(int(rng.integers(len(lines))), "")  # an empty line
    examples = draw_examples(student, "\n".join(lines), block_size, times)
    lengths, empty = {}, {}
    for row, index in enumerate(examples.index):
        document, example = examples.documents[index], examples.text(row)
        problem = complain(example, document)
        length = len(example.replace(PAD, "").replace(MASK, ""))
        if problem is None and not min(4, len(document)) <= length <= len(document):
            problem = f"{length} characters are left of {len(document)}."
        if problem:
            raise WrongAnswer(
                f"With block_size = {block_size}: {problem}\n"
                f"  document: {document}\n  x:        {example}"
            )
        lengths.setdefault(len(document), set()).add(length)
        empty.setdefault(len(document), []).append(not example.rstrip(PAD).split(MASK)[2])
    for size in range(1, 7):
        if all(empty[size]) and size > 1:
            raise WrongAnswer(
                f"In a document of {size} characters nothing is ever masked. Mask at "
                "least one character."
            )
    if any(empty[1]):
        student.hint(
            "A document of one character does not always have it masked: accepted, but "
            "the handout asks for at least one character."
        )
    # If truncation slices beyond the document's end, 4 or 5 is drawn twice in 46 draws (7/8 of a
    # block of 56): 500 draws have neither once in 10^9 runs. Both documents stay whole at least
    # every third time.
    if len(lengths[6]) < 2:
        raise WrongAnswer(
            f"A document of 6 characters is always truncated to {lengths[6].pop()}. "
            "Lengths of 4, 5 and 6 should occur."
        )
    for size in (5, 6):
        if size not in lengths[size]:
            raise WrongAnswer(
                f"A document of {size} characters never stays whole, though it is short enough."
            )


def _require_shorter_than_drawn(student, rng):
    """Check that a quarter is masked of a document shorter than most lengths drawn.

    Real numbers rounded down mask nothing in 18% of such draws, with a standard deviation of 1
    point in 1500 draws.
    """
    spans = take_apart(draw_examples(student, random_corpus(rng, [SHORT]), 128, 1500))
    empty = (spans.masked == 0).mean()
    if empty > 0.3:
        raise WrongAnswer(
            f"In a document of {SHORT} characters, {empty:.0%} of the examples mask nothing. "
            "Likely cause: the span is chosen within the drawn length, although the document is "
            "shorter."
        )
    require_quarter(spans, LONG, SHORT)


def _require_short_texts(student, rng):
    """Check texts of 6 to 11 characters, over 1000 draws. Shorter ones leave hardly anything to
    draw.

    The most frequent rounded normal number has a share of 0.57 here, with a standard deviation of
    0.015: the limit of 0.68 is 7 of them away. With half the spread it has 0.74.
    """
    block_size, times = 20, 800
    longest = bounds(block_size)[1]
    text = random_corpus(rng, rng.integers(2 * longest, 3 * longest, size=3))
    spans = take_apart(draw_examples(student, text, block_size, times))
    spans = spans[(spans.length >= 6) & (spans.length < LONG)]
    if len(spans.length) and (spans.masked == 0).mean() > 0.4:
        raise WrongAnswer(
            f"Of texts of 6 to {LONG - 1} characters, "
            f"{(spans.masked == 0).mean():.0%} mask nothing."
        )
    require_free_length(spans, 6, LONG - 1, 0.68)
    require_quarter(spans, 6, LONG - 1)
