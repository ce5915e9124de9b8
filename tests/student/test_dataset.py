"""Span corruption keeps its spec on random documents; NameDataset lines answers up, and refuses
what is wrong.
"""

import random
from collections import Counter

import pytest
import torch


def random_documents(n, shortest, longest):
    letters = "abcdefghijklmnopqrstuvwxyzÄö .,"
    return ["".join(random.choices(letters, k=random.randint(shortest, longest))) for _ in range(n)]


def parts(dataset, idx):
    """Draw an example and take it apart: (prefix, suffix, masked, x, y)."""
    x, y = dataset[idx]
    text = "".join(dataset.itos[int(i)] for i in x) + dataset.itos[int(y[-1])]
    body = text.rstrip(dataset.PAD_CHAR)
    prefix, suffix, masked, rest = body.split(dataset.MASK_CHAR)
    assert rest == ""
    return prefix, suffix, masked, x, y


def test_vocabulary(submission):
    dataset = submission.CharCorruptionDataset("ba\nc", 16)
    assert dataset.stoi == {"\u25a1": 0, "\u2047": 1, "\n": 2, "a": 3, "b": 4, "c": 5}
    assert dataset.vocab_size == 6 and all(dataset.stoi[dataset.itos[i]] == i for i in range(6))
    assert dataset.data == ["ba", "c"] and len(dataset) == 2


@pytest.mark.parametrize("data", ["", "\n\n", "a\u2047b", "a\u25a1b"])
def test_bad_corpora_are_refused(submission, data):
    with pytest.raises(ValueError):
        submission.CharCorruptionDataset(data, 16)


@pytest.mark.parametrize("block_size", [16, 37, 128])
def test_rearrangement(submission, seed, block_size):
    documents = random_documents(50, 1, 2 * block_size)
    dataset = submission.CharCorruptionDataset("\n".join(documents), block_size)
    for idx in list(range(50)) * 4:
        prefix, suffix, masked, x, y = parts(dataset, idx)
        assert x.dtype == y.dtype == torch.int64 and len(x) == len(y) == block_size
        assert torch.equal(x[1:], y[:-1])
        whole = prefix + masked + suffix
        assert dataset.data[idx].startswith(whole) and len(masked) >= 1
        assert min(4, len(dataset.data[idx])) <= len(whole) <= int(block_size * 3 / 4)


def test_lengths_are_spread_evenly_and_a_quarter_is_masked(submission, seed):
    block_size, n = 40, 27 * 800
    dataset = submission.CharCorruptionDataset("".join(random.choices("abc", k=60)), block_size)
    drawn = [parts(dataset, 0)[:3] for _ in range(n)]
    lengths = Counter(sum(map(len, parts_)) for parts_ in drawn)
    assert set(lengths) == set(range(4, 31))
    # 800 expected of each; 6 standard deviations: a false alarm in under 1e-7 of the runs.
    assert all(abs(count - 800) < 6 * 800**0.5 for count in lengths.values())
    for length in (4, 5, 6, 7, 13, 30):
        masked = [len(m) for p, s, m in drawn if len(p) + len(s) + len(m) == length]
        deviation = length / 6 + 0.5
        assert abs(sum(masked) / len(masked) - length / 4) < 6 * deviation / len(masked) ** 0.5
        assert length == 4 or len(set(masked)) > 1


def test_the_span_may_be_anywhere(submission, seed):
    dataset = submission.CharCorruptionDataset("".join(random.choices("abc", k=12)), 16)
    drawn = [parts(dataset, 0)[:3] for _ in range(6000)]
    whole = [(len(p), len(s)) for p, s, m in drawn if len(p) + len(s) + len(m) == 12]
    assert {start for start, _ in whole} >= set(range(10)) and {after for _, after in whole} >= set(
        range(10)
    )


def name_dataset(submission, rows, block_size=40):
    corpus = submission.CharCorruptionDataset(
        "Where was Ada Ben Lovelace born?Londn\nZürich", block_size
    )
    return corpus, submission.NameDataset(rows, corpus)


def test_name_dataset(submission):
    corpus, dataset = name_dataset(
        submission, "Where was Ada born?\tLondon\r\nWhere was Ben born?\tZürich"
    )
    assert len(dataset) == 2
    x, y = dataset[1]
    assert "".join(corpus.itos[int(i)] for i in x) == "Where was Ben born?⁇Zürich⁇".ljust(40, "□")
    assert "".join(corpus.itos[int(i)] for i in y) == ("□" * 19 + "Zürich⁇").ljust(40, "□")
    assert x.dtype == y.dtype == torch.int64


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("data/birth_places_train.tsv", "not its path"),
        ("Where was Ada born?", "no tab"),
        ("Where was Ada born?\tLondon\nWhere was Xu born?\tLondon", "row 2 contains 'X'"),
        ("Where was Ada" + " Ada" * 8 + " born?\tLondon", "block_size 40"),
    ],
)
def test_bad_rows_are_refused(submission, rows, problem):
    with pytest.raises(ValueError, match=problem):
        name_dataset(submission, rows)


def test_swapped_arguments_are_refused(submission):
    corpus, _ = name_dataset(submission, "Where was Ada born?\tLondon")
    with pytest.raises(TypeError, match="text of the file first"):
        submission.NameDataset(corpus, "Where was Ada born?\tLondon")
