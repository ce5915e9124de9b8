"""Question 1c, basic: span corruption, judged by what is drawn.

Each rule of randomness states how rarely a correct submission fails it. Most checks read only x, so
that a mistake fails only its own check and the comprehensive one: the epoch, or all distributions
(hidden).
"""

import numpy as np

from autograder import WrongAnswer, check
from checks.problem1.q1c_corruption import (
    Examples,
    draw,
    draw_epoch,
    draw_examples,
    read_examples,
    require_arranged,
    require_attempt,
    require_rows,
    require_shift,
)
from checks.problem1.random_texts import MASK, PAD, random_corpus, vocabulary


def mixed_corpus(rng, block_size: int, documents: int) -> str:
    """Make documents of various lengths, from 6 characters to twice the block."""
    return random_corpus(rng, rng.integers(6, 2 * block_size, size=documents))


def long_corpus(rng, block_size: int, documents: int) -> str:
    """Make documents longer than the block. They have no spaces, so that only 1c-11 sees whether
    spaces are stripped.
    """
    lengths = rng.integers(block_size + 1, 2 * block_size, size=documents)
    return random_corpus(rng, lengths).replace(" ", "-")


def draw_spans(student, text: str, block_size: int, times: int) -> np.recarray:
    """Draw every document `times` times; see `take_apart`."""
    return take_apart(draw_examples(student, text, block_size, times))


def take_apart(examples: Examples) -> np.recarray:
    """Find each draw's truncated `length`, the span's `start` in it, and how much is `masked`.

    Raises:
        WrongAnswer: an example doesn't have two or three MASKs.
    """
    x = examples.x
    count = (x == 1).sum(axis=1)
    if (odd := (count < 2) | (count > 3)).any():
        row = int(odd.argmax())
        raise WrongAnswer(
            f"x has {count[row]} MASK characters where three are expected:\n"
            f"  {examples.text(row)}\nUse self.MASK_CHAR, one for the whole span."
        )
    first, second, third = np.argsort(x != 1, axis=1, kind="stable")[:, :3].T
    used = x.shape[1] - (x[:, ::-1] != 0).argmax(axis=1)
    masked = np.where(count == 3, third, used) - second - 1
    return np.rec.fromarrays([second - 1 + masked, first, masked], names="length,start,masked")


def require_truncated(student, text: str, block_size: int, times: int) -> None:
    """Check that documents longer than the block are truncated to every length from 4 to the bound,
    uniformly.

    With 200 draws or more for each of at most 19 lengths, a uniform distribution exceeds the limits
    once in 10^10 runs, and a rounded real number, which reaches both ends half as often and the
    others up to 6% more often, once in 10^7.

    Raises:
        WrongAnswer: says which length is too frequent or too rare.
    """
    length = draw_spans(student, text, block_size, times).length
    longest = int(block_size * 3 / 4)
    # Other editions' bound is accepted; the longest length shows which of the two was used.
    bound = longest if length.max() <= longest else int(block_size * 7 / 8)
    counts = np.bincount(length, minlength=bound + 1)
    expected = len(length) / (bound - 3)
    cause = ""
    if not counts[bound] and counts[4:bound].all():
        cause = (
            " randint(a, b) includes b only in Python's random, not in NumPy and torch; "
            "randrange(a, b) and int(uniform(a, b)) never give b."
        )
    for n, count in enumerate(counts.tolist()):
        usual = expected * (4 <= n <= bound)
        if not 0.25 * usual <= count <= 1.5 * usual:
            raise WrongAnswer(
                f"With block_size = {block_size}, {count} of {len(length)} draws were truncated to "
                f"{n} characters; about {usual:.0f} are expected, since every length from 4 to "
                f"int(block_size * 3/4) = {longest} should be equally likely, and no other "
                f"possible.{cause}"
            )
    if bound != longest:
        student.hint(
            f"Truncated lengths go up to {bound} = int(block_size * 7/8), with block_size = "
            f"{block_size}: accepted, but the handout asks for int(block_size * 3/4)."
        )
    if counts[[4, -1]].max() < 0.75 * expected:
        student.hint(
            "The shortest and the longest truncated length occur half as often as the others: "
            "accepted, but the handout asks for all equally likely. Draw an integer instead of "
            "rounding a real number."
        )


def require_masked(student, spans: np.recarray) -> None:
    """Check that the masked length is random, a quarter of the truncated length on average, and
    rarely 0.

    In 3000 draws, real numbers up to half the length, rounded down, give 7% empty spans, with a
    standard deviation of 0.5 points: the limit of 10% is 6 of them away.

    Raises:
        WrongAnswer: states the actual distribution.
    """
    empty = (spans.masked == 0).mean()
    if empty >= 0.1:
        raise WrongAnswer(f"{empty:.0%} of the examples mask nothing. Mask at least one character.")
    if empty > 0:
        student.hint(
            f"{empty:.1%} of the examples mask nothing, and so teach nothing: accepted, but the "
            "handout asks for at least one character."
        )
    longest = int(spans.length.max())
    for low in range(12, longest + 1, 12):
        require_free_length(spans, low, low + 11)
    third = (longest - 11) // 3
    require_quarter(spans, 4, longest)
    for low in (12, 12 + third, 12 + 2 * third):
        require_quarter(spans, low, low + third)


def require_free_length(spans: np.recarray, low: int, high: int) -> None:
    """Check that the masked length is not a function of the truncated length, for texts of low to
    high characters.

    The measure is the share of the most frequent masked length at one truncated length. Rounded
    normal numbers, with a standard deviation of a sixteenth of the text, are the least random
    lengths accepted: in texts of 8 to 11 characters their share is 0.56, in 640 draws with a
    standard deviation of 0.019, 5 of them below the limit; in longer texts it is 0.39. A function
    of the length with random rounding has 0.75.

    Raises:
        WrongAnswer: it is a function, or nearly one.
    """
    most, draws = 0, 0
    for length in range(low, high + 1):
        masked = spans.masked[spans.length == length]
        if len(masked) >= 20:
            most, draws = most + np.bincount(masked).max(), draws + len(masked)
    if most > 0.66 * draws:
        raise WrongAnswer(
            f"For texts of {low} to {high} characters, the length of the masked content is a "
            "function of the truncated length, or nearly one. It should be random, with a quarter "
            "of the truncated length as its mean."
        )


def require_quarter(spans: np.recarray, low: int, high: int) -> tuple[float, float]:
    """Check that a quarter is masked on average, in texts of low to high characters. Returns how
    many characters more are masked on average, and its standard error.

    Rounding takes or gives half a character at most, over lengths of all remainders modulo 4, so
    the limit is over 6 standard errors away: all limits together are exceeded once in 10^8 runs.

    Raises:
        WrongAnswer: the share is different.
    """
    here = spans[(spans.length >= low) & (spans.length <= high)]
    if len(here) < 100:  # too few of these lengths: another check reports it
        return 0.0, 0.0
    more = here.masked - here.length / 4
    mean, error = more.mean(), more.std() / len(more) ** 0.5
    if abs(mean) > 0.55 + 6 * error:
        raise WrongAnswer(
            f"Of texts of {low} to {high} characters ({here.length.mean():.1f} on average), "
            f"{here.masked.mean():.1f} are masked on average. It should be a quarter of the "
            f"truncated length, {here.length.mean() / 4:.1f}."
        )
    return mean, error


def starts(spans: np.recarray) -> tuple[np.recarray, np.ndarray]:
    """Return the spans of texts of 8 characters or more, and the last start at which each fits.

    Raises:
        WrongAnswer: hardly any span has between one character and half of the text.
    """
    chosen = spans[(spans.length >= 8) & (spans.masked >= 1) & (spans.masked <= spans.length / 2)]
    if len(chosen) < len(spans) / 3:
        raise WrongAnswer(
            "In texts of 8 characters or more, hardly any example masks between one character and "
            "half of the text."
        )
    return chosen, chosen.length - chosen.masked


def require_start(spans: np.recarray) -> None:
    """Check that the span can start anywhere, whatever the lengths. `require_ends` checks the first
    and last start.

    In 2500 draws, rounded real numbers put between 0.17 and 0.23 into each fifth of the places,
    with a standard deviation of 0.008, 9 of them from the limits. Those between first and last have
    a mean 5 standard errors from its limits, which are exceeded once in 1.7 million runs. Of over
    1400 pairs of draws with equal lengths, a tenth start at the same place. A correlation of
    independent numbers is 15 standard deviations from its limit. Some number before or after the
    span that is expected 50 times or more comes a quarter as often once in 10^9 runs.

    Raises:
        WrongAnswer: states where spans start.
    """
    chosen, room = starts(spans)
    place = (chosen.start + 0.5) / (room + 1)
    fifths = np.histogram(place, bins=5, range=(0, 1))[0] / len(place)
    inner = (chosen.start / room)[(chosen.start > 0) & (chosen.start < room)]
    off = abs(inner.mean() - 0.5) if len(inner) else 0
    if fifths.min() < 0.1 or fifths.max() > 0.3 or off > 5 * inner.std() / len(inner) ** 0.5:
        raise WrongAnswer(
            "Spans are not spread evenly over the text. Of their starts, "
            f"{', '.join(f'{share:.0%}' for share in fifths)} are in the first, second, ... fifth "
            "of the possible places."
        )
    lengths = chosen.length * 1000 + chosen.masked
    pairs, equal = (
        (repeats * (repeats - 1)).sum()
        for values in (lengths, lengths * 1000 + chosen.start)
        for _, repeats in [np.unique(values, return_counts=True)]
    )
    if pairs > 400 and equal > 0.5 * pairs:
        raise WrongAnswer(
            "Spans of one length in texts of one length always start at the same place. Where they "
            "start should be random."
        )
    for name, values in (
        ("the truncated length", chosen.length),
        ("the length of the span", chosen.masked / chosen.length),
    ):
        if np.std(values) > 0 and abs(np.corrcoef(place, values)[0, 1]) > 0.3:
            raise WrongAnswer(f"Where the span starts depends on {name}. Draw it independently.")
    for side, sizes in ("before", chosen.start), ("after", room - chosen.start):
        sums = [(size, 1 / (room[room > size] + 1)) for size in range(1, room.max())]
        rare = [
            str(size)
            for size, shares in sums
            if shares.sum() >= 50 and (sizes[room > size] == size).sum() < shares.sum() / 4
        ]
        if rare:
            raise WrongAnswer(
                f"Of {len(room)} examples, hardly any or none has {', '.join(rare[:8])} characters "
                f"{side} the span. Every start at which the span fits should be equally likely."
            )


def require_ends(student, spans: np.recarray) -> None:
    """Check that the span reaches the first and the last character of the truncated document.

    In 2500 draws each end is expected at least 130 times, with a standard deviation of 11: one is
    reached 1.5 times as often once in 10^7 runs. A rounded real number reaches it half as often,
    and a fifth as often once in 10^9 runs.

    Raises:
        WrongAnswer: says which end is too rare or too frequent.
    """
    chosen, room = starts(spans)
    expected = (1 / (room + 1)).sum()
    counts = {"first": (chosen.start == 0).sum(), "last": (chosen.start == room).sum()}
    for name, count in counts.items():
        if not expected / 5 <= count <= 1.5 * expected:
            raise WrongAnswer(
                f"The {name} character of the truncated document is masked {count} times in "
                f"{len(room)} draws; about {expected:.0f} are expected. Every start from 0 to "
                "length - masked_length should be equally likely, both included."
            )
    if max(counts.values()) < 0.75 * expected:
        student.hint(
            "Spans reach the first and the last character half as often as other places: accepted, "
            "but the handout asks for all starts equally likely. Draw an integer instead of "
            "rounding a real number."
        )


def require_short(student, rng, block_size: int) -> None:
    """Check documents of 0 to 6 characters, some with spaces at an end; texts of 4 to 11; and a
    document shorter than most lengths drawn.

    Where a document of 6 is a slice that may go beyond its end, 4 or 5 is drawn twice in 15 draws,
    and not in 120 once in 10^7 runs. One of 5 or 6 stays whole at least every third time.
    In four characters more, one more is masked on average, or a quarter of a character less where a
    quarter is rounded to even: the limit is over 6 standard errors from that.
    Of 20 characters in a block of 128, real numbers rounded down mask nothing in 21% of the draws
    at most, with a standard deviation of 1.7 points in 600: the limit is 6 of them away.

    Raises:
        WrongAnswer: a rule is violated.
    """
    lines = random_corpus(rng, range(1, 7)).split("\n")
    lines += ["", f"{lines[2]}   ", f"  {lines[3]}", *long_corpus(rng, block_size, 16).split("\n")]
    examples = draw_examples(student, "\n".join(rng.permutation(lines)), block_size, 120)
    require_rows(examples, block_size)
    spans, documents = take_apart(examples), examples.documents
    sizes = np.array([len(document) for document in documents])
    for i in np.flatnonzero((sizes > 0) & (sizes <= 6)):
        size, drawn = int(sizes[i]), spans[i :: len(documents)]
        lengths = {*drawn.length.tolist()}
        possible = {*range(min(4, size), size + 1)}
        if not {size} <= lengths <= possible or (size == 6 and len(lengths) == 1):
            raise WrongAnswer(
                f"The document {documents[i]!r} is truncated to lengths of {lengths} characters; "
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

    spans = spans[(sizes > 6)[np.arange(len(spans)) % len(sizes)]]
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

    spans = draw_spans(student, random_corpus(rng, [20]), 128, 600)
    empty = (spans.masked == 0).mean()
    if empty > 0.32:
        raise WrongAnswer(
            f"In a document of 20 characters, {empty:.0%} of the examples mask nothing. Likely "
            "cause: the span is chosen within the drawn length, although the document is shorter."
        )
    require_quarter(spans, 12, 20)


def require_epoch(student, rng, block_size: int) -> None:
    """Check that the vocabulary is unchanged and that two workers draw correct examples.

    Raises:
        WrongAnswer: the vocabulary differs, or a worker's example is wrong.
    """
    text = f"{mixed_corpus(rng, block_size, 18)}\ntwo  blanks"
    answer = student.run(draw_epoch, text=text, block_size=block_size, workers=2)
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
def test_shape(student, rng):
    """dataset[i] is a pair of int64 tensors of length block_size (in other editions: one less)."""
    block_size = int(rng.integers(33, 60))
    text = mixed_corpus(rng, block_size, 12)
    answer = student.run(draw, text=text, block_size=block_size, times=20)
    kinds = answer["kinds"].items()
    for example in kinds:
        x, y = example.named("dataset[i]").present().items(2)
        x, y = x.named("x").array("int64", (None,)), y.named("y").array("int64", (None,))
        if len(x) != len(y) or len(x) not in (block_size, block_size - 1):
            raise WrongAnswer(
                f"x and y should have length block_size = {block_size}; they have {len(x)} and "
                f"{len(y)}."
            )
    if len(kinds) > 1:
        raise WrongAnswer(
            "The length of x and y differs from draw to draw. Pad every example to the same length."
        )
    require_attempt(read_examples(answer, text))
    if len(x) < block_size:
        student.hint(
            f"x and y have {len(x)} tokens, with block_size = {block_size}: accepted, but the "
            "handout asks for block_size. Pad to block_size + 1 before you cut x and y."
        )


@check("1c-1-basic")
def test_rearrangement(student, rng):
    """prefix + masked content + suffix is the document's beginning, and PADs fill the end."""
    block_size = int(rng.integers(33, 60))
    text = mixed_corpus(rng, block_size, 20)
    answer = student.run(draw, text=text, block_size=block_size, times=15)
    examples = require_arranged(answer, text, block_size)
    if ((examples.x == 1).sum(axis=1) == 2).all():
        student.hint(
            "No third MASK ends the masked content: accepted, but the handout asks for one. It "
            "tells the model where to stop."
        )


@check("1c-2-basic")
def test_shift(student, rng):
    """y[i] is x[i + 1], and y's last token continues x."""
    block_size = int(rng.integers(33, 60))
    examples = draw_examples(student, mixed_corpus(rng, block_size, 12), block_size, 20)
    require_shift(examples)
    require_attempt(examples)


@check("1c-3-basic")
def test_masked_length(student, rng):
    """The masked length is a quarter of the truncated length on average, random for each length,
    and new on every call.
    """
    text = long_corpus(rng, 128, 4)
    examples, again = (draw_examples(student, text, 128, times) for times in (750, 3))
    if (examples.x.reshape(-1, 4, examples.x.shape[1]) == examples.x[:4]).all():
        raise WrongAnswer(
            "dataset[i] gives the same example on every call. Draw a new one each time, and set no "
            "seed in __getitem__."
        )
    if np.array_equal(examples.x[:12], again.x):
        raise WrongAnswer(
            "Two runs of the program draw the same examples. Likely cause: a random generator of "
            "your own with a fixed seed. Draw from random, NumPy or torch themselves, which are "
            "seeded for every epoch."
        )
    require_masked(student, take_apart(examples))


@check("1c-8-basic")
def test_truncated_length(student, rng):
    """Documents longer than the block are truncated to all lengths from 4 to three quarters of
    it: 19.5, to be rounded down.
    """
    require_truncated(student, long_corpus(rng, 26, 4), 26, 950)


@check("1c-9-basic")
def test_start(student, rng):
    """Where the span starts is random."""
    block_size = int(rng.integers(56, 65))
    require_start(draw_spans(student, long_corpus(rng, block_size, 4), block_size, 1000))


@check("1c-10-basic")
def test_ends(student, rng):
    """Prefix and suffix may be empty."""
    block_size = int(rng.integers(36, 41))
    require_ends(student, draw_spans(student, long_corpus(rng, block_size, 4), block_size, 625))


@check("1c-11-basic")
def test_short_documents(student, rng):
    """Documents of 0 to 6 and of 20 characters, and texts of 4 to 11."""
    require_short(student, rng, 18)


@check("1c-12-basic")
def test_epoch(student, rng):
    """An epoch drawn by a DataLoader with two workers, and the vocabulary."""
    require_epoch(student, rng, int(rng.integers(33, 60)))
