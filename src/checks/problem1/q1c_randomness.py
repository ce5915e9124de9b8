"""Question 1c: what is drawn is judged by rules of randomness. Each states how rarely a correct
submission fails it.
"""

import numpy as np

from autograder import WrongAnswer
from checks.problem1.q1c_corruption import Examples


def require_truncated(student, examples: Examples) -> None:
    """Check that documents longer than the block are truncated to every length from 4 to the bound,
    uniformly.

    In 2400 draws of 10 to 13 lengths, a uniform distribution exceeds the limits once in 10^9 runs,
    and a rounded real number, which reaches both ends half as often and the others up to 11% more
    often, once in 2 million.

    Raises:
        WrongAnswer: says which length is too frequent or too rare.
    """
    block_size, length = examples.block_size, examples.spans().length
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

    In 4000 draws, real numbers up to half the length, rounded down, give 7% empty spans in a block
    of 128 and 7.8% in one of 112, with a standard deviation of 0.4 points: the limit of 10% is 5 of
    them away, which is exceeded once in 5 million runs.

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
    require_quarter(spans, 4, longest)
    for low in range(12, longest + 1, 28):
        require_quarter(spans, low, low + 27)


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
    many characters more than that, and the standard error.

    Rounding takes or gives half a character at most, over lengths of all remainders modulo 4, so
    the limit is over 6 standard errors away: all limits together are exceeded once in 10^8 runs.

    Raises:
        WrongAnswer: the share is different.
    """
    here = spans[(spans.length >= low) & (spans.length <= high)]
    if len(here) < 100:  # too few of these lengths: another check reports it
        return 0.0, np.inf
    more = here.masked - here.length / 4
    error = more.std() / len(more) ** 0.5
    if abs(more.mean()) > 0.55 + 6 * error:
        raise WrongAnswer(
            f"Of texts of {low} to {high} characters ({here.length.mean():.1f} on average), "
            f"{here.masked.mean():.1f} are masked on average. It should be a quarter of the "
            f"truncated length, {here.length.mean() / 4:.1f}."
        )
    return more.mean(), error


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

    In 3500 draws, rounded real numbers put between 0.17 and 0.23 into each fifth of the places,
    with a standard deviation of 0.008, 9 of them from the limits. Those between first and last have
    a mean 5 standard errors from its limits, which are exceeded once in 1.7 million runs. Two of
    their starts are equal 1.03 times as often as by chance, with a standard deviation of 0.02, 8 of
    them from the limit. A correlation of independent numbers is 15 of its own from its limit.

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
    spaces = [(chosen.start[room == size], size + 1) for size in np.unique(room)]
    expected = sum(len(here) * (len(here) - 1) / places for here, places in spaces)
    equal = sum((np.bincount(here) * (np.bincount(here) - 1)).sum() for here, _ in spaces)
    if equal > 1.2 * expected:
        raise WrongAnswer(
            "Two spans with equally many possible starts start at the same place "
            f"{equal / expected:.1f} times as often as by chance. Where they start should be "
            "random, and every start at which the span fits equally likely."
        )
    for name, values in (
        ("the truncated length", chosen.length),
        ("the length of the span", chosen.masked / chosen.length),
    ):
        if np.std(values) > 0 and abs(np.corrcoef(place, values)[0, 1]) > 0.3:
            raise WrongAnswer(f"Where the span starts depends on {name}. Draw it independently.")


def require_ends(student, spans: np.recarray) -> None:
    """Check that the span reaches the first and the last character of the truncated document.

    In 4000 draws and a block of 136, each end is expected 136 times or more: one is reached 1.5
    times as often once in 2 * 10^7 runs. A rounded real number reaches it half as often, and a
    fifth as often once in 5 * 10^7 runs. With other editions' truncation it is 109 times for those
    who leave some spans empty, and 1.5 times as often once in a million runs.

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
