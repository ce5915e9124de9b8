"""Question 1c, basic: span corruption.

Most checks read only x, so that a mistake fails only its own check and the comprehensive one: the
epoch, or all distributions (hidden).
"""

from autograder import WrongAnswer, check
from checks.problem1.q1c.epoch import require_epoch
from checks.problem1.q1c.examples import (
    draw,
    draw_examples,
    read_examples,
    require_arranged,
    require_shift,
    require_unchanged,
    require_vocabulary,
)
from checks.problem1.q1c.randomness import (
    require_ends,
    require_masked,
    require_new,
    require_start,
    require_truncated,
    take_apart,
)
from checks.problem1.q1c.short import require_short
from checks.problem1.random_texts import random_corpus


def mixed_corpus(rng, block_size, documents):
    """Make documents of various lengths, from 6 characters to twice the block."""
    return random_corpus(rng, rng.integers(6, 2 * block_size, size=documents))


@check("1c-0-basic")
def test_shape(student, rng):
    """dataset[i] is a pair of int64 tensors of length block_size (in other editions: one less)."""
    block_size = int(rng.integers(33, 60))
    text = mixed_corpus(rng, block_size, 12)
    answer = student.run(draw, text=text, block_size=block_size, times=20)
    for example in ("odd", "first"):
        if answer[example].value is None and example == "odd":
            continue
        x, y = answer[example].named("dataset[i]").present().items(2)
        x, y = x.named("x").array("int64", (None,)), y.named("y").array("int64", (None,))
        if len(x) != len(y) or len(x) not in (block_size, block_size - 1):
            raise WrongAnswer(
                f"x and y should have length block_size = {block_size}; they have "
                f"{len(x)} and {len(y)}."
            )
    if answer["odd"].value is not None:
        raise WrongAnswer(
            "The length of x and y differs from draw to draw. Pad every example to the same length."
        )
    if len(x) < block_size:
        student.hint(
            f"x and y have {len(x)} tokens, with block_size = {block_size}: accepted, but "
            "the handout asks for block_size. Pad to block_size + 1 before you cut x and "
            "y."
        )


@check("1c-1-basic")
def test_rearrangement(student, rng):
    """prefix + masked content + suffix is the document's beginning, and PADs fill the end."""
    block_size, times = int(rng.integers(33, 60)), 15
    text = mixed_corpus(rng, block_size, 20)
    answer = student.run(draw, text=text, block_size=block_size, times=times)
    require_vocabulary(answer["stoi"].value, text)
    require_unchanged(answer)
    examples = read_examples(answer, text, times)
    require_arranged(examples, block_size)
    if ((examples.x == 1).sum(axis=1) == 2).all():
        student.hint(
            "No third MASK ends the masked content: accepted, but the handout asks for "
            "one. It tells the model where to stop."
        )


@check("1c-2-basic")
def test_shift(student, rng):
    """y[i] is x[i + 1], and y's last token continues x."""
    block_size = int(rng.integers(33, 60))
    require_shift(draw_examples(student, mixed_corpus(rng, block_size, 12), block_size, 20))


@check("1c-3-basic")
def test_masked_length(student, rng):
    """The masked length is a quarter of the truncated length on average, random for each length,
    and new on every call.
    """
    block_size, times = 128, 1400
    text = random_corpus(rng, rng.integers(130, 200, size=3))
    examples = draw_examples(student, text, block_size, times)
    require_new(examples, draw_examples(student, text, block_size, 4))
    require_masked(student, take_apart(examples))


@check("1c-8-basic")
def test_truncated_length(student, rng):
    """Documents longer than the block are truncated to all lengths from 4 to three quarters of
    it.
    """
    block_size = int(rng.integers(33, 41))
    text = random_corpus(rng, rng.integers(block_size + 1, 3 * block_size, size=3))
    spans = take_apart(draw_examples(student, text, block_size, 2500))
    require_truncated(student, spans.length, block_size)


@check("1c-9-basic")
def test_start(student, rng):
    """Where the span starts is random."""
    text = random_corpus(rng, rng.integers(130, 200, size=2))
    require_start(take_apart(draw_examples(student, text, 128, 1500)))


@check("1c-10-basic")
def test_ends(student, rng):
    """Prefix and suffix may be empty."""
    text = random_corpus(rng, rng.integers(130, 200, size=2))
    require_ends(student, take_apart(draw_examples(student, text, 128, 2500)))


@check("1c-11-basic")
def test_short_documents(student, rng):
    """Documents of 0 to 6 and of 20 characters, and texts of 6 to 11."""
    require_short(student, rng, int(rng.integers(33, 41)))


@check("1c-12-basic")
def test_epoch(student, rng):
    """An epoch drawn by a DataLoader with two workers, and the vocabulary."""
    require_epoch(student, rng, int(rng.integers(33, 60)))
