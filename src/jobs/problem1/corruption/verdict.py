"""Whether the draws of span corruption, taken together, are far from what question 1c asks for."""

import math
from statistics import fmean, stdev

from jobs.problem1.corruption.draws import Draw, lengths_asked

FAR = 5  # standard deviations: about 3 right programs in 10 million are beyond
ROUNDING = 0.033  # by which the grader lets the masked share differ, for its rounding


def verdicts(draws: list[Draw], block_size: int) -> list[str]:
    """A sentence for each distribution that is far from the one asked for.

    Args:
        draws: those whose parts are known.
    """
    if len(draws) < 2:
        return []
    found = []
    # the number of a draw among equally likely ones, as a share of their number, from 0 to 1
    lengths = [
        (draw.length - ends[0], len(ends)) for draw, ends in _with_lengths(draws, block_size)
    ]
    if _uneven(lengths):
        found.append("The truncated lengths are far from equally likely: see the first plot.")
    values = [len(draw.parts[1]) / max(1, draw.length) for draw in draws]
    error = stdev(values) / math.sqrt(len(values))
    if abs(fmean(values) - 0.25) > ROUNDING + FAR * error:
        found.append("The masked share is far from 0.25 on average: see the second plot.")
    starts = [(len(draw.parts[0]), draw.length - len(draw.parts[1]) + 1) for draw in draws]
    if _uneven(starts):
        found.append("The starts are far from random: see the third plot.")
    return found


def _with_lengths(draws, block_size):
    return ((draw, lengths_asked(draw.document, block_size)) for draw in draws)


def _uneven(numbers: list[tuple[int, int]], parts: int = 10) -> bool:
    """Whether numbers, each asked to be any of 0 to size - 1, are far from equally likely, by the
    chi-squared statistic of their tenths; its cube root is nearly normal (Wilson and
    Hilferty 1931).
    """
    found, asked = [0] * parts, [0.0] * parts
    for number, size in numbers:
        if size > 1:
            found[min(parts - 1, max(0, parts * number // size))] += 1
            for each in range(size):
                asked[parts * each // size] += 1 / size
    terms = [(f - a) ** 2 / a for f, a in zip(found, asked) if a >= 10]
    if not terms:
        return False
    spread = 2 / (9 * len(terms))
    return (sum(terms) / len(terms)) ** (1 / 3) > 1 - spread + FAR * math.sqrt(spread)
