"""Question 5g, hidden: the weights trained on the occupations."""

import re
from collections import Counter
from pathlib import Path

import numpy as np

from autograder import WrongAnswer, check, probe
from checks.problem1.artifacts import require_result, require_weights
from checks.problem1.asking import read_state
from common.files import read_text
from instructor.datasets.worlds.exercises import make_occupations

# Of sentences converted to tokens without torch, as in encoder_data.py.
UNK, MAX_LEN, COMMON = 2, 24, 20
N_CLASSES = 5
# The accuracy that encoder.params needs on the sentences kept for grading. No bag of words exceeds
# a half, except by luck (the standard error is 2.2%). The reference reaches 100% after 10 epochs.
NEEDED = 0.75
# On 500 others: four standard errors below NEEDED, and six above the best bag of words.
FRESH_NEEDED = 0.65
CLOSE = 1e-3  # tolerance for logits after a mere renumbering


def words(sentence: str) -> list[str]:
    """Return the words of a sentence, lowercased and without punctuation."""
    return re.findall(r"[^\W_]+", sentence.lower())


def vocabulary(sentences: list[str]) -> dict[str, int]:
    """The words that occur at least COMMON times, alphabetically, with tokens from 3 on."""
    counts = Counter(word for sentence in sentences for word in words(sentence))
    common = sorted(word for word, count in counts.items() if count >= COMMON)
    return {word: 3 + i for i, word in enumerate(common)}


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


@probe(uses=(read_state,))
def classify(path, vocab_size, tokens, renumbered, order):
    """Run the submission's encoder with a file's weights; and on every fourth sentence with tokens
    renumbered, in weights and sentences, and classes permuted.
    """
    import torch

    from submission.problem5.encoder import Encoder, EncoderConfig

    state, about = read_state(path)
    if not state:
        return about

    def answer(state, tokens):
        model = Encoder(EncoderConfig(vocab_size, tokens.shape[1], 5))
        model.load_state_dict(state)
        model.eval()
        with torch.no_grad():
            return torch.cat([model(part) for part in torch.from_numpy(tokens).split(256)])

    try:
        plain = answer(state, tokens)
    except RuntimeError as error:
        if "state_dict" not in str(error):
            raise
        return {**about, "mismatch": str(error)[:600]}
    renumbered, order = torch.from_numpy(renumbered), torch.from_numpy(order)
    moved = dict(state)
    moved["tok_emb.weight"] = torch.empty_like(state["tok_emb.weight"])
    moved["tok_emb.weight"][renumbered] = state["tok_emb.weight"]
    for name in ("head.weight", "head.bias"):
        moved[name] = state[name][order]
    return {"plain": plain, "moved": answer(moved, renumbered.numpy()[tokens[::4]])}


@check("5g-4-hidden")
def test_weights(student, rng, context):
    """Accuracy on the sentences kept for grading, and on new ones. The answers come from the
    weights: if tokens and classes are renumbered there, the answers follow.
    """
    path = require_result(context.artifacts, "encoder.params")
    vocab = vocabulary(read_sentences(context.path("occupations/train.tsv"))[0])
    kept, truth = read_sentences(context.gold_path("occupations/test.tsv"))
    others = make_occupations(int(rng.integers(2**32)))["test"]
    tokens = encode([*kept, *(sentence for sentence, _ in others)], vocab)
    truth = np.array([*truth, *(group for _, group in others)])
    # PAD, CLS and UNK have fixed numbers.
    size = 3 + len(vocab)
    renumbered = np.concatenate((np.arange(3), 3 + rng.permutation(len(vocab))))
    order = np.roll(np.arange(N_CLASSES), int(rng.integers(1, N_CLASSES)))
    given = {"tokens": tokens, "renumbered": renumbered, "order": order}
    answer = student.run(classify, path=str(path.resolve()), vocab_size=size, **given)
    require_weights(answer, path, "./run.sh encoder_report creates it again.")
    if "mismatch" in answer.entries():
        raise WrongAnswer(
            f"encoder.params doesn't fit your Encoder with default options, {size} tokens, "
            f"{MAX_LEN} positions and {N_CLASSES} classes: {answer['mismatch'].text()}\n"
            "./run.sh encoder_report creates it again."
        )
    plain, moved = (
        answer[name].named("the Encoder's logits").array("float32", (count, N_CLASSES))
        for name, count in (("plain", len(tokens)), ("moved", len(tokens[::4])))
    )
    right = plain.argmax(axis=1) == truth
    on_kept, on_others = right[: len(kept)].mean(), right[len(kept) :].mean()
    student.note("needed encoder", NEEDED)
    student.note("accuracy encoder", float(on_kept))
    if on_kept < NEEDED:
        low = on_kept < 0.55
        bag = " A bag of words may reach a half: does your encoder use word order?" if low else ""
        raise WrongAnswer(
            f"With the weights in encoder.params, your Encoder classifies {on_kept:.1%} of the "
            f"{len(kept)} sentences kept for grading correctly; {NEEDED:.0%} are needed.{bag}"
        )
    if on_others < FRESH_NEEDED:
        raise WrongAnswer(
            f"With the weights in encoder.params, your Encoder classifies {on_kept:.1%} of the "
            f"sentences kept for grading correctly, but only {on_others:.1%} of newly drawn ones "
            "of the same kind."
        )
    if not np.abs(moved - plain[::4, order]).max() <= CLOSE * max(1, np.abs(plain).max()):
        raise WrongAnswer(
            "With the rows of tok_emb and head in another order, and tokens numbered accordingly, "
            "your Encoder's answers change. They do not come from the weights."
        )
