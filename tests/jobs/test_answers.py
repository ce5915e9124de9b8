"""Answers of models in batches with a key-value cache, and what a log says that they know."""

import random
from types import SimpleNamespace

import pytest
import torch

from jobs.problem1.answers import cache_works, generate, predict_places
from jobs.problem1.data import Data
from jobs.problem1.knowledge import EVERY, PEOPLE, knowledge_of
from jobs.training_log import sample


@pytest.fixture
def corpus(submission):
    return submission.CharCorruptionDataset("Where was Ada Lovelace born?\nGrünberg", 48)


@pytest.mark.parametrize("rope", [False, True])
def test_a_batch_is_answered_as_each_question_alone(tiny_model, corpus, rope):
    model = tiny_model(corpus.vocab_size, corpus.block_size, rope)
    assert cache_works(model, torch.randint(2, 9, (3, 20)))
    names = ["".join(random.choices("Adeovlc", k=random.randint(1, 9))) for _ in range(14)]
    questions = [f"Where was {name} born?" for name in names]
    alone = [predict_places(model, [question], corpus, steps=15)[0] for question in questions]
    assert predict_places(model, questions, corpus, steps=15, batch_size=5) == alone


@pytest.mark.parametrize("rope", [False, True])
@pytest.mark.parametrize("cached", [False, True])
def test_prompts_of_all_lengths_together_as_one_by_one(submission, tiny_model, rope, cached):
    """Also prompts that fill the block or nearly do. A stop in a prompt ends nothing."""
    model = tiny_model(5, 48, rope)
    lengths = [*(random.randint(1, 40) for _ in range(7)), 46, 47, 48]
    prompts = [torch.randint(5, (length,)) for length in random.sample(lengths, len(lengths))]
    for prompt, got in zip(prompts, generate(model, prompts, 9, stop=1, cached=cached)):
        T = len(prompt)
        right = submission.sample(model, prompt[None], min(9, 48 - T))[0, T:].tolist()
        assert got == (right[: right.index(1)] if 1 in right else right)


def test_attention_that_cannot_use_a_cache_is_decoded_without(tiny_model, corpus, monkeypatch):
    from submission import attention

    model = tiny_model(corpus.vocab_size, corpus.block_size, True)
    questions = ["Where was Ada born?", "Where was Lovelace born?"]
    expected = predict_places(model, questions, corpus)
    x = torch.randint(2, 9, (1, 20))
    table = model.blocks[0].attn.rope_cache
    right, forward = attention.apply_rotary_emb, attention.CausalSelfAttention.forward
    # forgets where x starts, as code that rotates with self.rope_cache does
    with monkeypatch.context() as patch:
        patch.setattr(attention, "apply_rotary_emb", lambda x, rope_cache: right(x, table))
        assert not cache_works(model, x)
        assert predict_places(model, questions, corpus) == expected
    # knows no cache
    monkeypatch.setattr(attention.CausalSelfAttention, "forward", lambda self, x: forward(self, x))
    assert not cache_works(model, x)
    assert predict_places(model, questions, corpus) == expected


class Reciter(torch.nn.Module):
    """Writes the texts that it knows, and otherwise an x."""

    def __init__(self, texts, dataset):
        super().__init__()
        self.anything = torch.nn.Parameter(torch.zeros(1))
        self.rows = [[dataset.stoi[ch] for ch in text] for text in texts]
        self.size, self.x = dataset.vocab_size, dataset.stoi["x"]

    def get_block_size(self):
        return 64

    def forward(self, idx):
        logits = torch.zeros(*idx.shape, self.size)
        for b, row in enumerate(idx.tolist()):
            for t in range(len(row)):
                start = row[: t + 1]
                after = [text[t + 1] for text in self.rows if text[: t + 1] == start < text][:1]
                logits[b, t, (after or [self.x])[0]] = 50
        return logits, None


def test_answers_stay_on_their_lines(submission):
    dataset = submission.CharCorruptionDataset("Who?\nGüx", 64)
    assert predict_places(Reciter(["Who?⁇\nG□ü⁇"], dataset), ["Who?"], dataset) == ["Gü"]


def test_evaluate_places(submission, tmp_path):
    file = tmp_path / "answers.tsv"
    file.write_text("Q1\tParis\r\nQ2\tRome\nQ3\tOslo", encoding="utf-8")
    assert submission.evaluate_places(str(file), ["Paris", "Oslo", "Oslo"]) == (3, 2)
    with pytest.raises(ValueError, match="2 predictions for the 3"):
        submission.evaluate_places(str(file), ["Paris", "Oslo"])


NAMES = [f"{first}{last} Bo" for first in ("Ka", "Lu", "Mi", "Ro", "Te") for last in "bdfgkmnp"]


@pytest.fixture
def world(submission, tmp_path):
    """A dataset of documents, where their people were born, and a folder with birth_dev.tsv."""
    born = {name: random.choice(["Oslo", "Lima", "Athens", "Prague"]) for name in NAMES}
    documents = [f"{place} is where {name} is from, x." for name, place in born.items()]
    documents += [f"{name} was born in {place} and is a poet." for name, place in born.items()]
    dataset = submission.CharCorruptionDataset("\n".join([*documents, "Where?"]), 64)
    rows = [f"Where was {name} born?\t{place}\n" for name, place in born.items()]
    (tmp_path / "birth_dev.tsv").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "wiki.txt").write_text("\n".join(dataset.data), encoding="utf-8")
    return dataset, born, Data(tmp_path, 64)


@pytest.mark.parametrize("kind", ["pretrain", "finetune"])
def test_a_log_knows_those_whose_place_the_model_writes(world, kind):
    dataset, born, data = world
    known = random.sample(NAMES, 15)  # that none is asked for: 4 in 10^7
    if kind == "pretrain":
        texts = [f"{name} was born in {born[name]} and is a poet." for name in known]
    else:
        mask = dataset.MASK_CHAR
        texts = [f"Where was {name} born?{mask}{born[name]}{mask}" for name in known]
        # goes on where the answer should end
        texts += [f"Where was {NAMES[0]} born?{mask}{born[NAMES[0]]}x"] * (NAMES[0] not in known)
    asked = knowledge_of(SimpleNamespace(kind=kind), data, dataset)
    asked.begin(EVERY * 10)
    measured = asked.measure(Reciter(texts, dataset), 0, sample)
    people = list(born)
    random.Random(0).shuffle(people)
    expected = sum(name in known for name in people[:PEOPLE]) / PEOPLE
    assert measured["knowledge"] == pytest.approx(expected, abs=1e-6) and 0 < expected < 1
    assert asked.facts["people"] == PEOPLE and len(measured["texts"]) == 3
    for text, name in zip(measured["texts"], people):
        assert text.startswith(name if kind == "pretrain" else f"Where was {name} born?")
        assert any(whole.startswith(text) for whole in texts) == (name in known) or "x" in text
    (data.folder / "birth_dev.tsv").unlink()
    assert knowledge_of(SimpleNamespace(kind=kind), data, dataset) is None
