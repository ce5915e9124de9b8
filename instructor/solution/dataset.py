"""The two datasets: span corruption for pretraining (question 1c) and questions with answers for
finetuning.

To print some examples of each, run in this folder:

    python dataset.py namedata
    python dataset.py charcorruption
"""

import argparse
import math
import random
import sys
from pathlib import Path

import torch
from torch.utils.data import Dataset


class CharCorruptionDataset(Dataset):
    """Documents with a span cut out, which the model learns to fill in (after T5, Raffel et al.
    2020, section 3.1.4).

    Args:
        data: the text of the corpus, one document a line.
        block_size: the longest sequence that the model reads, in characters.

    Raises:
        ValueError: the data is empty or contains one of the two special characters.

    The vocabulary (`stoi` from character to token, `itos` back) is PAD = 0, MASK = 1, then the
    sorted characters of the data. Finetuning and evaluation must use the same vocabulary, so they
    take it from here.
    """

    MASK_CHAR = "\u2047"  # a double question mark: marks where the span was cut out
    PAD_CHAR = "\u25a1"  # an empty square: pads sequences to their fixed length

    def __init__(self, data: str, block_size: int):
        for special in (self.MASK_CHAR, self.PAD_CHAR):
            if special in data:
                raise ValueError(
                    f"the corpus contains {special!r} (U+{ord(special):04X}), which is reserved"
                )
        self.data = [document for document in data.split("\n") if document]
        if not self.data:
            raise ValueError("the corpus has no documents")
        chars = [self.PAD_CHAR, self.MASK_CHAR] + sorted(set(data))
        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.itos = {i: ch for i, ch in enumerate(chars)}
        self.vocab_size = len(chars)
        self.block_size = block_size

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return one document, corrupted differently at every call.

        Args:
            idx: which document, an index into self.data.

        Returns:
            x and y, int64 tensors of length block_size; y is x shifted by one, so that y[i] is the
            character that the model should predict after reading x[0..i].
        """
        x = y = None
        # [part 1c] Make one training example from document idx.
        #
        # 1. Truncate the document to a random length: an integer from 4 to int(block_size * 3/4),
        #    all equally likely. A document shorter than the length drawn stays whole (drawing only
        #    from the lengths that it has is right, too).
        # 2. Split the truncated document into prefix, masked_content and suffix. The length of
        #    masked_content is random, at least 1, and on average 1/4 of the truncated length, for
        #    every truncated length. Its start is random, too.
        # 3. Rearrange the parts, with the single characters self.MASK_CHAR and self.PAD_CHAR, as
        #
        #        prefix MASK suffix MASK masked_content MASK PAD PAD ... PAD
        #
        #    with enough PADs to make it block_size + 1 characters.
        # 4. Convert it to tokens with self.stoi. x is all tokens but the last, y all but the first.
        #
        # "Ada was born in London." could become "Ada was ⁇ in London.⁇born⁇□□□□□□": to predict what
        # comes after the second ⁇, the model has to use what it remembers about Ada, or at least
        # about English.
        #
        # Hints: random.randint(a, b) includes both ends. A length drawn uniformly from 1 to twice
        #        the mean, less 1, has that mean; the mean need not be an integer. Use Python's
        #        `random`, torch or numpy: all three are seeded for every epoch.
        ### START_CODE_HERE ###
        document = self.data[idx]
        length = random.randint(
            min(4, len(document)), min(len(document), int(self.block_size * 3 / 4))
        )
        document = document[:length]

        # Uniform on 1 .. 2m - 1 has mean m; rounding length/4 up or down at random makes it exact.
        mean = max(1, math.floor(length / 4 + random.random()))
        masked_length = random.randint(1, 2 * mean - 1)
        start = random.randint(0, length - masked_length)
        end = start + masked_length
        prefix, masked_content, suffix = document[:start], document[start:end], document[end:]

        text = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked_content + self.MASK_CHAR
        text += self.PAD_CHAR * (self.block_size + 1 - len(text))
        ids = torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
        x, y = ids[:-1], ids[1:]
        ### END_CODE_HERE ###
        return x, y


class NameDataset(Dataset):
    """Questions with answers, `Where was NAME born?` and PLACE, for finetuning (question 1b: read,
    do not change).

    Args:
        data: the *text* of a file of rows `question<TAB>place` (not the file's name).
        pretraining_dataset: the CharCorruptionDataset whose vocabulary and block_size the model was
            made for.

    Raises:
        TypeError: an argument has the wrong type, or the two are swapped.
        ValueError: there are no rows, or a row has no tab, a character that is not in the
            vocabulary, or too much text.

    An example is, as characters,

        x: Where was Ada Lovelace born?⁇London⁇□□□□
        y: □□□□□□□□□□□□□□□□□□□□□□□□□□□□London⁇□□□□□

    y is x shifted by one, with PAD in place of the question, so that only the answer counts in the
    loss. As in pretraining, the text to predict follows a MASK.
    """

    def __init__(self, data: str, pretraining_dataset: CharCorruptionDataset):
        if not isinstance(data, str) or not hasattr(pretraining_dataset, "stoi"):
            raise TypeError(
                "NameDataset(data, pretraining_dataset) takes the text of the file first, then "
                f"the pretraining dataset; it got {type(data).__name__} and "
                f"{type(pretraining_dataset).__name__}"
            )
        self.MASK_CHAR = pretraining_dataset.MASK_CHAR
        self.PAD_CHAR = pretraining_dataset.PAD_CHAR
        self.stoi = pretraining_dataset.stoi
        self.itos = pretraining_dataset.itos
        self.block_size = pretraining_dataset.block_size
        self.data = [
            self._parse(number, row)
            for number, row in enumerate(data.split("\n"), start=1)
            if row.strip()
        ]
        if not self.data:
            raise ValueError(
                "there are no rows `question<TAB>place` to finetune on: the text is empty"
            )

    def _parse(self, number: int, row: str) -> tuple[str, str]:
        """Split and check one row."""
        question, tab, place = row.rstrip("\r").partition("\t")
        if not tab:
            hint = (
                " Pass the file's text, open(path).read(), not its path."
                if number == 1 and row.endswith(".tsv")
                else ""
            )
            raise ValueError(
                f"row {number} has no tab between question and place: {row[:60]!r}.{hint}"
            )
        for ch in question + place:
            if ch not in self.stoi:
                raise ValueError(
                    f"row {number} contains {ch!r}, which the pretraining corpus does not have: "
                    f"{row[:60]!r}"
                )
        if len(question) + len(place) + 2 > self.block_size + 1:
            raise ValueError(
                f"row {number} needs {len(question) + len(place) + 2} characters with its two "
                f"MASKs; block_size {self.block_size} leaves {self.block_size + 1}: {row[:60]!r}"
            )
        return question, place

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Row idx as (x, y), int64 tensors of length block_size."""
        question, place = self.data[idx]
        text = question + self.MASK_CHAR + place + self.MASK_CHAR
        text += self.PAD_CHAR * (self.block_size + 1 - len(text))
        x = text[:-1]
        y = self.PAD_CHAR * len(question) + text[len(question) + 1 :]
        return (
            torch.tensor([self.stoi[ch] for ch in x], dtype=torch.long),
            torch.tensor([self.stoi[ch] for ch in y], dtype=torch.long),
        )


def main() -> None:
    """Print four examples of a dataset, as characters."""
    parser = argparse.ArgumentParser(description="Print four (x, y) examples of a dataset.")
    parser.add_argument("dataset", choices=("namedata", "charcorruption"))
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(__file__).resolve().parents[2] / "data",
        help="the folder of wiki.txt and birth_places_train.tsv",
    )
    args = parser.parse_args()
    # not every console can print the special characters
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    random.seed(0)
    try:
        dataset = CharCorruptionDataset(
            (args.data / "wiki.txt").read_text(encoding="utf-8"), block_size=128
        )
        if args.dataset == "namedata":
            dataset = NameDataset(
                (args.data / "birth_places_train.tsv").read_text(encoding="utf-8"), dataset
            )
        for _, example in zip(range(4), dataset):
            for name, ids in zip("xy", example):
                print(f"{name}:", "".join(dataset.itos[int(i)] for i in ids))
    except (NotImplementedError, OSError, ValueError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
