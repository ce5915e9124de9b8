"""The randomness in span corruption: truncated length, masked length, and where the span starts.

Every rule takes the spans of many examples and states how rarely a correct submission fails it by
chance.
"""

from dataclasses import dataclass

import numpy as np

from autograder import WrongAnswer
from checks.problem1.q1c.examples import Examples

LONG = 12  # characters; shorter texts have their own rules, in short.py


@dataclass(frozen=True)
class Spans:
    """Positions of the spans.

    Attributes:
        length, start, masked: (draws,), the truncated length, the span's start in it, and the
            span's length.
    """

    length: np.ndarray
    start: np.ndarray
    masked: np.ndarray

    def __getitem__(self, chosen: np.ndarray) -> "Spans":
        """The spans of some draws."""
        return Spans(self.length[chosen], self.start[chosen], self.masked[chosen])


def take_apart(examples: Examples) -> Spans:
    """Find prefix, suffix and masked content by the MASKs in x.

    Raises:
        WrongAnswer: an example doesn't have two or three MASKs.
    """
    x = examples.x
    is_mask = x == 1
    count = is_mask.sum(axis=1)
    if not np.isin(count, (2, 3)).all():
        row = int(np.argmin(np.isin(count, (2, 3))))
        cause = "one MASK stands for the whole span, not for each of its characters."
        if count[row] < 2:
            cause = "the mask characters are missing. Use self.MASK_CHAR, one character."
        raise WrongAnswer(
            f"x has {count[row]} MASK characters where three are expected:\n"
            f"  {examples.text(row)}\nLikely cause: {cause}"
        )
    order = np.argsort(~is_mask, axis=1, kind="stable")  # the MASKs' positions first
    used = x.shape[1] - (x[:, ::-1] != 0).argmax(axis=1)
    end = np.where(count == 3, order[:, 2], used)
    first, second = order[:, 0], order[:, 1]
    masked = end - second - 1
    return Spans(second - 1 + masked, first, masked)


def bounds(block_size: int) -> tuple[int, int]:
    """Return the longest truncated length, of the handout and of other editions."""
    return int(block_size * 3 / 4), int(block_size * 7 / 8)


def require_truncated(student, length: np.ndarray, block_size: int) -> None:
    """Check that documents longer than the block are truncated to every length from 4 to the bound,
    uniformly.

    With at least 230 draws expected for each of at most 32 lengths, a uniform distribution exceeds
    the limits once in 10^11 runs, and a rounded real number, which reaches both ends half as often,
    once in 10^9.

    Raises:
        WrongAnswer: says which length is too frequent or too rare.
    """
    longest, longest_elsewhere = bounds(block_size)
    wanted = f"every length from 4 to int(block_size * 3/4) = {longest} should be possible"
    # Other editions' bound is accepted; the longest length shows which of the two was used.
    bound = longest if length.max() <= longest else longest_elsewhere
    if length.max() > bound or length.min() < 4:
        raise WrongAnswer(
            f"With block_size = {block_size}, truncated lengths go from "
            f"{length.min()} to {length.max()}; {wanted}, and no other."
        )
    counts = np.bincount(length, minlength=bound + 1)[4:]
    if np.count_nonzero(counts) == 1:
        raise WrongAnswer(
            f"With block_size = {block_size}, the truncated length is always {length[0]}; {wanted}."
        )
    if (counts == 0).any():
        never = [int(n) + 4 for n in np.flatnonzero(counts == 0)]
        cause = ""
        if never == [bound]:
            cause = (
                "\n"
                "Likely cause: randint(a, b) includes b only in Python's random, not in NumPy and "
                "torch; randrange(a, b) and int(uniform(a, b)) never give b."
            )
        raise WrongAnswer(
            f"With block_size = {block_size}, {len(length)} draws never truncated to "
            f"{', '.join(map(str, never[:8]))} characters; {wanted}.{cause}"
        )
    expected = len(length) / len(counts)
    for n, count in enumerate(counts, start=4):
        if not 0.25 * expected <= count <= 1.5 * expected:
            raise WrongAnswer(
                f"{count} of {len(length)} draws were truncated to {n} characters, where a uniform "
                f"distribution gives {expected:.0f}. Are lengths outside the range clipped to its "
                "ends, instead of drawn from the range?"
            )
    if bound != longest:
        student.hint(
            f"Truncated lengths go up to {bound} = int(block_size * 7/8), with block_size "
            f"= {block_size}: accepted, but the handout asks for int(block_size * 3/4)."
        )
    if counts[[0, -1]].max() < 0.75 * expected:
        student.hint(
            "The shortest and the longest truncated length occur half as often as the others: "
            "accepted, but the handout asks for all equally likely. Draw an integer instead of "
            "rounding a real number."
        )


def require_new(examples: Examples, again: Examples) -> None:
    """Check that every call draws a new example, and so does every run of the program.

    Args:
        again: the first examples of another run on the same documents.

    Raises:
        WrongAnswer: examples are repeated.
    """
    x, once = examples.x, len(examples.documents)
    if (x.reshape(-1, once, x.shape[1]) == x[:once]).all():
        raise WrongAnswer(
            "dataset[i] gives the same example on every call. Draw a new one each time, and set no "
            "seed in __getitem__."
        )
    if x.shape[1] == again.x.shape[1] and (x[: len(again.x)] == again.x).all():
        raise WrongAnswer(
            "Two runs of the program draw the same examples. Likely cause: a random "
            "generator of your own with a fixed seed. Draw from random, NumPy or "
            "torch themselves, which are seeded for every epoch."
        )


def require_masked(student, spans: Spans) -> None:
    """Check that the masked length is random, a quarter of the truncated length on average, and
    rarely 0.

    In 4200 draws, real numbers up to half the length, rounded down, give 7% empty spans, with a
    standard deviation of 0.4 points: the limit of 10% is 8 of them away. Of the accepted methods
    they also have the worst mean share, off by 0.010 with a standard deviation of 0.003. The
    nearest wrong share, a fifth, is off by 0.05: the limit of 0.033 is over 5 standard deviations
    from both.

    Raises:
        WrongAnswer: states the actual distribution.
    """
    empty = (spans.masked == 0).mean()
    if empty >= 0.1:
        raise WrongAnswer(f"{empty:.0%} of the examples mask nothing. Mask at least one character.")
    if empty > 0:
        student.hint(
            f"{empty:.1%} of the examples mask nothing, and so teach nothing: accepted, "
            "but the handout asks for at least one character."
        )
    if len(np.unique(spans.masked)) == 1:
        raise WrongAnswer(
            f"The masked content always has {spans.masked[0]} characters. Its length "
            "should be random."
        )
    for low in range(LONG, int(spans.length.max()) + 1, 8):
        require_free_length(spans, low, low + 7)
    share = spans.masked.sum() / max(1, spans.length.sum())
    if abs(share - 0.25) > 0.033:
        raise WrongAnswer(
            f"{share:.1%} of the truncated text is masked, on average over "
            f"{len(spans.masked)} draws. It should be 25%: the mean of the masked "
            "length is a quarter of the truncated length."
        )
    third = (int(spans.length.max()) + 1 - LONG) // 3
    for low in (LONG, LONG + third, LONG + 2 * third):
        require_quarter(spans, low, low + third)


def require_free_length(spans: Spans, low: int, high: int, most: float = 0.6) -> None:
    """Check that the masked length is not a function of the truncated length, for texts of low to
    high characters.

    The measure is the share of the most frequent masked length at one truncated length. Rounded
    normal numbers, with a standard deviation of a sixteenth of the text, are the least random
    lengths accepted. In 4200 draws their largest share for any eight long texts is 0.41, with a
    standard deviation of 0.02, 9 of them below 0.6; a function of the length with random rounding
    has 0.82.

    Args:
        most: the limit of that share, averaged over low to high.

    Raises:
        WrongAnswer: it is a function, or nearly one.
    """
    shares, weights = [], []
    for length in range(low, high + 1):
        masked = spans.masked[spans.length == length]
        if len(masked) >= 20:
            shares.append(np.bincount(masked).max() / len(masked))
            weights.append(len(masked))
    if weights and np.average(shares, weights=weights) > most:
        raise WrongAnswer(
            f"For texts of {low} to {high} characters, the length of the masked content is a "
            "function of the truncated length, or nearly one. It should be random, with a quarter "
            "of the truncated length as its mean."
        )


def require_quarter(spans: Spans, low: int, high: int) -> None:
    """Check that a quarter is masked on average, in texts of low to high characters.

    The tolerance is three quarters of a character for rounding and 2% of the length for chance.
    Real numbers up to half the length, rounded down, come closest to the limit, 7 standard
    deviations away.

    Raises:
        WrongAnswer: the share is different.
    """
    here = spans[(spans.length >= low) & (spans.length <= high)]
    if len(here.length) < 100:  # too few of these lengths: another check reports it
        return
    length, masked = here.length.mean(), here.masked.mean()
    if abs(masked - length / 4) > 0.75 + 0.02 * length:
        raise WrongAnswer(
            f"Of texts of {low} to {high} characters ({length:.1f} on average), "
            f"{masked:.1f} are masked on average. It should be a quarter of the "
            f"truncated length, {length / 4:.1f}."
        )


def _room(spans):
    """Return the spans whose start can be judged, and the last place where each could start."""
    masked = (spans.masked >= 1) & (spans.masked <= spans.length / 2)
    chosen = spans[masked & (spans.length >= LONG)]
    if len(chosen.length) < len(spans.length) / 3:
        raise WrongAnswer(
            f"In texts of {LONG} characters or more, hardly any example masks between one "
            "character and half."
        )
    return chosen, chosen.length - chosen.masked


def require_start(spans: Spans) -> None:
    """Check that the span can start anywhere, independent of the lengths. `require_ends` checks the
    first and last place.

    In 3000 draws, a uniform distribution puts at least 0.19 into each fifth of the places, with a
    standard deviation of 0.006, and independent numbers have a correlation of 0, with one of 0.02:
    the limits are over 14 of them away. Of over 1000 pairs of draws with equal lengths, about 4%
    start at the same place.

    Raises:
        WrongAnswer: states where spans start, or what that depends on.
    """
    chosen, room = _room(spans)
    place = chosen.start / room
    fifths = np.histogram(place, bins=5, range=(0, 1))[0] / len(place)
    if fifths.min() < 0.1:
        parts = ", ".join(f"{share:.0%}" for share in fifths)
        raise WrongAnswer(
            f"Spans are not spread over the text. Of their starts, {parts} are in the first, "
            "second, ... fifth of the possible places."
        )
    draws = {}
    lengths = zip(chosen.length.tolist(), chosen.masked.tolist())
    for key, start in zip(lengths, chosen.start.tolist()):
        draws.setdefault(key, []).append(start)
    pairs = sum(len(starts) * (len(starts) - 1) // 2 for starts in draws.values())
    equal = sum(starts.count(start) - 1 for starts in draws.values() for start in starts) // 2
    if pairs > 200 and equal > 0.5 * pairs:
        raise WrongAnswer(
            "Spans of one length in texts of one length always start at the same "
            "place. Where they start should be random."
        )
    for name, values in (
        ("the truncated length", chosen.length),
        ("the length of the span", chosen.masked / chosen.length),
    ):
        if np.std(values) > 0 and abs(np.corrcoef(place, values)[0, 1]) > 0.3:
            raise WrongAnswer(f"Where the span starts depends on {name}. Draw it independently.")


def require_ends(student, spans: Spans) -> None:
    """Check that the span reaches the first and the last character of the truncated document.

    In 5000 draws each end is expected at least 138 times. A rounded real number reaches it half as
    often, 69 times, and 27 times or fewer once in 10^8 runs.

    Raises:
        WrongAnswer: says which end is never or hardly ever reached.
    """
    chosen, room = _room(spans)
    expected = (1 / (room + 1)).sum()
    counts = {"first": (chosen.start == 0).sum(), "last": (chosen.start == room).sum()}
    for name, count in counts.items():
        if count < expected / 5:
            raise WrongAnswer(
                f"The {name} character of the truncated document is masked {count} times in "
                f"{len(room)} draws; about {expected:.0f} are expected. Every start from 0 to "
                "length - masked_length should be possible, both included."
            )
    if max(counts.values()) < 0.75 * expected:
        student.hint(
            "Spans reach the first and the last character half as often as other places: accepted, "
            "but the handout asks for all starts equally likely. Draw an integer instead of "
            "rounding a real number."
        )
