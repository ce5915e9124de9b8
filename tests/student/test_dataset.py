"""Bad corpora and rows are refused; NameDataset lines answers up."""

import pytest
import torch


def test_vocabulary(submission):
    dataset = submission.CharCorruptionDataset("ba\nc", 16)
    assert dataset.stoi == {"\u25a1": 0, "\u2047": 1, "\n": 2, "a": 3, "b": 4, "c": 5}
    assert dataset.vocab_size == 6 and all(dataset.stoi[dataset.itos[i]] == i for i in range(6))
    assert dataset.data == ["ba", "c"] and len(dataset) == 2


@pytest.mark.parametrize("data", ["", "\n\n", "a\u2047b", "a\u25a1b"])
def test_bad_corpora_are_refused(submission, data):
    with pytest.raises(ValueError):
        submission.CharCorruptionDataset(data, 16)


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
