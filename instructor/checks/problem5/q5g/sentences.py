"""Converts the occupation sentences to tokens without torch, like encoder_data.py, for the
judge.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np

from common.files import read_text

UNK, MAX_LEN, COMMON = 2, 24, 20


def words(sentence: str) -> list[str]:
    """Return the words of a sentence, lowercased and without punctuation."""
    return re.findall(r"[^\W_]+", sentence.lower())


def vocabulary(sentences: list[str]) -> dict[str, int]:
    """The words that occur at least COMMON times, alphabetically, with tokens from 3 on."""
    counts = Counter(word for sentence in sentences for word in words(sentence))
    return {
        word: 3 + i
        for i, word in enumerate(sorted(word for word, count in counts.items() if count >= COMMON))
    }


def read_sentences(path: Path) -> tuple[list[str], list[int]]:
    """Read the sentences of a file and their classes.

    Raises:
        UserError: there is no such file.
    """
    rows = [line.split("\t") for line in read_text(path).split("\n") if line.strip()]
    return [sentence for sentence, _ in rows], [int(group) for _, group in rows]


def encode(sentences: list[str], vocab: dict[str, int]) -> np.ndarray:
    """Convert sentences to tokens, int64 (N, MAX_LEN), with PAD at the end."""
    tokens = np.zeros((len(sentences), MAX_LEN), np.int64)
    for row, sentence in zip(tokens, sentences):
        known = [vocab.get(word, UNK) for word in words(sentence)][:MAX_LEN]
        row[: len(known)] = known
    return tokens
