"""Question 1c, basic: span corruption, judged by what is drawn.

Most checks read only x, so that a mistake fails only its own check and the comprehensive one: the
epoch, or all distributions (hidden). Several checks look at the same draws.
"""

import numpy as np

from autograder import WrongAnswer, check
from checks.problem1.q1c_corruption import (
    Examples,
    draw,
    draw_epoch,
    draw_examples,
    draw_long,
    read_examples,
    require_arranged,
    require_attempt,
    require_rows,
    require_shift,
)
from checks.problem1.q1c_randomness import (
    require_ends,
    require_free_length,
    require_masked,
    require_quarter,
    require_start,
    require_truncated,
)
from checks.problem1.random_texts import MASK, PAD, random_corpus, vocabulary

SMALL, LARGE = (18,), (128,)  # 18: three quarters are 13.5, to be rounded down


def mixed_corpus(rng, block_size: int) -> str:
    """Make 20 documents of 6 characters to twice the block."""
    return random_corpus(rng, rng.integers(6, 2 * block_size, size=20))


def share_mixed(student):
    """Draw a mixed corpus 15 times, for 1c-0 to 1c-2. Returns the answer, text and block size."""

    def drawn(rng):
        block_size = int(rng.integers(33, 60))
        text = mixed_corpus(rng, block_size)
        return student.run(draw, text=text, block_size=block_size, times=15), text, block_size

    return student.once("mixed", drawn)


def require_short(student, rng, long: Examples, block_size: int) -> None:
    """Check documents of 0 to 6 characters, some with spaces at an end; texts of 4 to 11; and a
    document shorter than most lengths drawn.

    Where a document of 6 is a slice that may go beyond its end, 4 or 5 is drawn twice in 15 draws,
    and not in 120 once in 10^7 runs. One of 5 or 6 stays whole at least every third time.
    In four characters more, one more is masked on average, or a quarter of a character less where a
    quarter is rounded to even: the limit is over 6 standard errors from that.
    Of 20 characters in a block of 128, real numbers rounded down mask nothing in 21% of the draws
    at most, with a standard deviation of 1.7 points in 600: the limit is 6 of them away.

    Args:
        long: examples of documents longer than a small block.

    Raises:
        WrongAnswer: a rule is violated.
    """
    lines = ["", *random_corpus(rng, range(1, 7)).split("\n")]
    lines += [f"{lines[3]}   ", f"  {lines[4]}"]
    examples = draw_examples(student, "\n".join(rng.permutation(lines)), block_size, 120)
    require_rows(examples)
    spans, documents = examples.spans(), examples.documents
    for i, document in enumerate(documents):
        size, drawn = len(document), spans[i :: len(documents)]
        lengths = {*drawn.length.tolist()}
        possible = {*range(min(4, size), size + 1)}
        if not {size} <= lengths <= possible or (size == 6 and len(lengths) == 1):
            raise WrongAnswer(
                f"The document {document!r} is truncated to lengths of {lengths} characters; "
                f"it should be {possible}. A document shorter than the length drawn stays whole."
            )
        if size > 1 and not drawn.masked.any():
            raise WrongAnswer(
                f"In a document of {size} characters nothing is ever masked. Mask at least one "
                "character."
            )
        if not drawn.masked.all() and size == 1:
            student.hint(
                "A document of one character does not always have it masked: accepted, but the "
                "handout asks for at least one character."
            )

    spans = long.spans()
    empty = (spans.masked[spans.length < 12] == 0).mean()
    if empty > 0.4:
        raise WrongAnswer(f"Of texts of under 12 characters, {empty:.0%} mask nothing.")
    require_free_length(spans, 8, 11)
    (shorter, error), (longer, other) = (require_quarter(spans, low, low + 3) for low in (4, 8))
    if abs(longer - shorter) > 0.3 + 6 * np.hypot(error, other):
        raise WrongAnswer(
            f"In texts of 8 to 11 characters, {1 + longer - shorter:.1f} more are masked on "
            "average than in texts of 4 to 7. It should be one more: a quarter of the truncated "
            "length, in short texts, too."
        )

    spans = draw_examples(student, random_corpus(rng, [20]), 128, 600).spans()
    empty = (spans.masked == 0).mean()
    if empty > 0.32:
        raise WrongAnswer(
            f"In a document of 20 characters, {empty:.0%} of the examples mask nothing. Likely "
            "cause: the span is chosen within the drawn length, although the document is shorter."
        )


def require_epoch(student, rng, block_size: int) -> None:
    """Check that the vocabulary is unchanged and that two workers draw correct examples.

    Raises:
        WrongAnswer: the vocabulary differs, or a worker's example is wrong.
    """
    text = f"{mixed_corpus(rng, block_size)}\ntwo  blanks"
    answer = student.run(draw_epoch, text=text, block_size=block_size)
    symbols = vocabulary(text)
    if answer["itos"].value != symbols:
        raise WrongAnswer("itos should be the inverse of stoi, which should be as it was given.")
    if answer["sizes"].value != [len(symbols), block_size]:
        raise WrongAnswer(
            f"vocab_size and block_size should be {len(symbols)} and {block_size}; they are "
            f"{answer['sizes'].describe()}."
        )
    if answer["refused"].texts() != [MASK, PAD]:
        raise WrongAnswer("Data that contains MASK or PAD should be refused with an error.")
    try:
        require_shift(require_arranged(answer, text, block_size))
    except WrongAnswer as error:
        raise WrongAnswer(f"In examples drawn by DataLoader workers: {error}") from None


@check("1c-0-basic")
def test_shape(student):
    """dataset[i] is a pair of int64 tensors of length block_size (in other editions: one less)."""
    answer, text, block_size = share_mixed(student)
    lengths = set()
    for example in answer["first"].items():
        x, y = example.named("dataset[i]").present().items(2)
        x, y = x.named("x").array("int64", (None,)), y.named("y").array("int64", (None,))
        lengths |= {len(x), len(y)}
    if len(lengths) > 1 or not lengths <= {block_size, block_size - 1}:
        raise WrongAnswer(
            f"x and y should always have length block_size = {block_size}; they have "
            f"{', '.join(map(str, sorted(lengths)))}. Pad every example to the same length."
        )
    require_attempt(read_examples(answer, text, block_size))
    if block_size not in lengths:
        student.hint(
            f"x and y have {block_size - 1} tokens, with block_size = {block_size}: accepted, but "
            "the handout asks for block_size. Pad to block_size + 1 before you cut x and y."
        )


@check("1c-1-basic")
def test_rearrangement(student):
    """prefix + masked content + suffix is the document's beginning, and PADs fill the end."""
    examples = require_arranged(*share_mixed(student))
    if ((examples.x == 1).sum(axis=1) == 2).all():
        student.hint(
            "No third MASK ends the masked content: accepted, but the handout asks for one. It "
            "tells the model where to stop."
        )


@check("1c-2-basic")
def test_shift(student):
    """y[i] is x[i + 1], and y's last token continues x."""
    examples = read_examples(*share_mixed(student))
    require_shift(examples)
    require_attempt(examples)


@check("1c-3-basic")
def test_masked_length(student):
    """The masked length is a quarter of the truncated length on average, random for each length,
    and new on every call.
    """
    examples = draw_long(student, LARGE, 1000)
    if (examples.x.reshape(-1, 4, examples.x.shape[1]) == examples.x[:4]).all():
        raise WrongAnswer(
            "dataset[i] gives the same example on every call. Draw a new one each time, and set no "
            "seed in __getitem__."
        )
    again = draw_examples(student, "\n".join(examples.documents), 128, 3)
    if np.array_equal(examples.x[:12], again.x):
        raise WrongAnswer(
            "Two runs of the program draw the same examples. Likely cause: a random generator of "
            "your own with a fixed seed. Draw from random, NumPy or torch themselves, which are "
            "seeded for every epoch."
        )
    require_masked(student, examples.spans())


@check("1c-8-basic")
def test_truncated_length(student):
    """Documents longer than the block are truncated to all lengths from 4 to three quarters."""
    require_truncated(student, draw_long(student, SMALL, 600))


@check("1c-9-basic")
def test_start(student):
    """Where the span starts is random."""
    require_start(draw_long(student, LARGE, 1000).spans())


@check("1c-10-basic")
def test_ends(student):
    """Prefix and suffix may be empty."""
    require_ends(student, draw_long(student, LARGE, 1000).spans())


@check("1c-11-basic")
def test_short_documents(student, rng):
    """Documents of 0 to 6 and of 20 characters, and texts of 4 to 11."""
    require_short(student, rng, draw_long(student, SMALL, 600), 18)


@check("1c-12-basic")
def test_epoch(student, rng):
    """An epoch drawn by a DataLoader with two workers, and the vocabulary."""
    require_epoch(student, rng, int(rng.integers(33, 60)))
