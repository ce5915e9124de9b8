"""Random characters and documents for the checks of problem 1."""

import numpy as np

PAD, MASK = "\u25a1", "\u2047"
LETTERS = np.array(
    list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZäöüéñçßøšŁ0123456789,.-    ")
)


def vocabulary(text: str) -> list[str]:
    """Return the characters in the order of their tokens."""
    return [PAD, MASK, *sorted(set(text))]


def random_text(rng: np.random.Generator, length: int) -> str:
    """Make a document of random characters, with spaces inside but not at its ends."""
    letters = rng.choice(LETTERS, size=length)
    letters[[0, -1]] = rng.choice(LETTERS[:62], size=2)
    return "".join(letters)


def random_corpus(rng: np.random.Generator, lengths) -> str:
    """Make a document of each of these lengths, one per line."""
    return "\n".join(random_text(rng, int(length)) for length in lengths)
