"""Batched decoding with a key-value cache answers as one-at-a-time decoding does."""

import random

import pytest
import torch

from jobs.problem1.answers import cache_works, generate, predict_places


@pytest.fixture
def corpus(submission):
    return submission.CharCorruptionDataset("Where was Ada Lovelace born?\nGrünberg", 48)


def one_at_a_time(submission, model, question, dataset, steps):
    x = torch.tensor([[dataset.stoi[ch] for ch in question + dataset.MASK_CHAR]])
    steps = min(steps, model.get_block_size() - x.size(1))
    completion = "".join(dataset.itos[int(i)] for i in submission.sample(model, x, steps)[0])
    return (
        completion.split(dataset.MASK_CHAR)[1]
        .replace(dataset.PAD_CHAR, "")
        .replace("\n", " ")
        .strip()
    )


@pytest.mark.parametrize("rope", [False, True])
def test_batched_equals_one_at_a_time(submission, tiny_model, corpus, seed, rope):
    x = torch.randint(2, 9, (3, 20))
    differ = False
    # one model in twenty or so says PAD or MASK whatever it is asked: six in a row, 1 in 10^7
    for _ in range(6):
        model = tiny_model(corpus.vocab_size, corpus.block_size, rope)
        names = ["".join(random.choices("Adeovlc", k=random.randint(1, 9))) for _ in range(14)]
        questions = [f"Where was {name} born?" for name in names]
        assert cache_works(model, x)
        got = predict_places(model, questions, corpus, steps=15, batch_size=7)
        assert got == [
            one_at_a_time(submission, model, question, corpus, 15) for question in questions
        ]
        differ = differ or len(set(got)) > 1
    assert differ


@pytest.mark.parametrize("rope", [False, True])
@pytest.mark.parametrize("cached", [False, True])
def test_prompts_of_all_lengths_together_as_one_by_one(submission, tiny_model, seed, rope, cached):
    """Also prompts that fill the block or nearly do. A stop in a prompt ends nothing."""
    model = tiny_model(5, 48, rope)
    lengths = [*(random.randint(1, 40) for _ in range(7)), 46, 47, 48]
    prompts = [torch.randint(5, (length,)) for length in random.sample(lengths, len(lengths))]
    for prompt, got in zip(prompts, generate(model, prompts, 9, stop=1, cached=cached)):
        right = submission.sample(model, prompt[None], min(9, 48 - len(prompt)))[
            0, len(prompt) :
        ].tolist()
        assert got == (right[: right.index(1)] if 1 in right else right)


def test_attention_that_cannot_use_a_cache_is_decoded_without(
    submission, tiny_model, corpus, seed, monkeypatch
):
    from submission import attention

    model = tiny_model(corpus.vocab_size, corpus.block_size, True)
    questions = ["Where was Ada born?", "Where was Lovelace born?"]
    expected = predict_places(model, questions, corpus)
    x = torch.randint(2, 9, (1, 20))
    table = model.blocks[0].attn.rope_cache
    right = attention.apply_rotary_emb
    # forgets where x starts, as code that rotates with self.rope_cache does
    with monkeypatch.context() as patch:
        patch.setattr(attention, "apply_rotary_emb", lambda x, rope_cache: right(x, table))
        assert not cache_works(model, x)
        assert predict_places(model, questions, corpus) == expected
    forward = attention.CausalSelfAttention.forward
    # knows no cache
    monkeypatch.setattr(attention.CausalSelfAttention, "forward", lambda self, x: forward(self, x))
    assert not cache_works(model, x)
    assert predict_places(model, questions, corpus) == expected


def test_answers_stay_on_their_lines(submission, corpus):
    class Chatty(torch.nn.Module):
        """Says a newline, an umlaut, a pad and then MASK, whatever it is asked."""

        script = "\nG□ü⁇"

        def get_block_size(self):
            return 48

        def forward(self, idx):
            said = idx.size(1) - 20
            logits = torch.zeros(*idx.shape, corpus.vocab_size)
            logits[:, -1, corpus.stoi[self.script[said % 5]]] = 1
            return logits, None

    assert predict_places(Chatty(), ["Where was Ada born?"], corpus) == ["Gü"]


def test_evaluate_places(submission, tmp_path):
    file = tmp_path / "answers.tsv"
    file.write_text("Q1\tParis\r\nQ2\tRome\nQ3\tOslo", encoding="utf-8")
    assert submission.evaluate_places(str(file), ["Paris", "Oslo", "Oslo"]) == (3, 2)
    with pytest.raises(ValueError, match="2 predictions for the 3"):
        submission.evaluate_places(str(file), ["Paris", "Oslo"])
    file.write_text("Q1\nQ2\n", encoding="utf-8")
    assert submission.evaluate_places(str(file), ["Paris", "Oslo"]) == (0, 0)
