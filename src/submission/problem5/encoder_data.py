"""The data of problem 5: batches of the copy task, and two corpora to classify. Given: read, do not
change.
"""

import re
from collections import Counter
from pathlib import Path

import torch
import torch.nn.functional as F

# padding; the start of a sentence, for pooling "cls"; words that are not in the vocabulary
PAD, CLS, UNK = 0, 1, 2
MAX_LEN = 24  # tokens in a sentence, CLS not counted
N_CLASSES = 5
COMMON = 20  # a word needs this many occurrences in training to be in the vocabulary
OCCUPATIONS = Path(__file__).resolve().parents[3] / "data" / "occupations"

HALF = 8  # positions in each half of a row of the copy task
BLANK = 1  # in the copy task: repeat here the symbol HALF positions before
SYMBOLS = range(2, 16)  # the symbols to copy


def copy_batch(n: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw rows of the copy task: an encoder has to repeat each symbol HALF positions later.

    Args:
        n: the number of rows.
        generator: the random number generator.

    Returns:
        x and y, int64, (n, 2 * HALF). A row of x has k symbols and PADs up to HALF, then k BLANKs
        and PADs, with k random from 1 to HALF. y has the symbols at the BLANKs, and -100, which
        the loss ignores, elsewhere.
    """
    length = torch.randint(1, HALF + 1, (n, 1), generator=generator)
    used = torch.arange(HALF) < length  # (n, HALF)
    symbols = torch.randint(SYMBOLS.start, SYMBOLS.stop, (n, HALF), generator=generator)
    x = torch.cat(
        (symbols.where(used, PAD), torch.full_like(symbols, BLANK).where(used, PAD)), dim=1
    )
    y = torch.cat((torch.full_like(symbols, -100), symbols.where(used, -100)), dim=1)
    return x, y


def random_corpus(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """2,000 "sentences" of 24 random tokens with random classes, unrelated to the tokens.

    Returns:
        x, int64 (2000, 24), tokens 3 to 999; y, int64 (2000), classes 0 to 4. The first 1,600 are
        for training.
    """
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randint(3, 1000, (2000, MAX_LEN), generator=generator),
        torch.randint(N_CLASSES, (2000,), generator=generator),
    )


def words(sentence: str) -> list[str]:
    """The words of a sentence, in lower case and without punctuation."""
    return re.findall(r"[^\W_]+", sentence.lower())


def vocabulary(sentences: list[str]) -> dict[str, int]:
    """The words that occur at least COMMON times, alphabetically, with tokens from 3 on."""
    counts = Counter(word for sentence in sentences for word in words(sentence))
    return {
        word: 3 + i
        for i, word in enumerate(sorted(word for word, count in counts.items() if count >= COMMON))
    }


def read_occupations(split: str, folder: Path = OCCUPATIONS) -> tuple[list[str], list[int]]:
    """The sentences about teachers, and the class of each, 0 to 4; split is "train" or "dev"."""
    rows = [
        line.split("\t")
        for line in (folder / f"{split}.tsv").read_text(encoding="utf-8").splitlines()
    ]
    return [sentence for sentence, _ in rows], [int(group) for _, group in rows]


def encode(sentences: list[str], vocab: dict[str, int], cls: bool = False) -> torch.Tensor:
    """Sentences as tokens, int64 (N, 24), padded with PAD; with cls, (N, 25), starting with CLS."""
    rows = [[vocab.get(word, UNK) for word in words(sentence)][:MAX_LEN] for sentence in sentences]
    x = torch.tensor([row + [PAD] * (MAX_LEN - len(row)) for row in rows])
    return F.pad(x, (1, 0), value=CLS) if cls else x


def occupations(
    split: str, cls: bool = False, folder: Path = OCCUPATIONS
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sentences about teachers, with the group of the teacher's occupation as their class.

    Args:
        split: "train" or "dev".
        cls: prepend CLS to each sentence.
        folder: has train.tsv, which defines the vocabulary, and dev.tsv.

    Returns:
        x, int64 (N, 24), or (N, 25) with cls; y, int64 (N), classes 0 to 4.
    """
    sentences, groups = read_occupations(split, folder)
    vocab = vocabulary(read_occupations("train", folder)[0])
    return encode(sentences, vocab, cls), torch.tensor(groups)


def occupations_vocab_size(folder: Path = OCCUPATIONS) -> int:
    """The number of tokens, including PAD, CLS and UNK."""
    return 3 + len(vocabulary(read_occupations("train", folder)[0]))
