"""Question 5g, hidden: the four pieces in all kinds of cases, and the weights that learned the occupations."""
from dataclasses import replace

import numpy as np

from autograder import WrongAnswer, check, probe
from checks.artifacts import require_result
from checks.classify import N_CLASSES, NEEDED, draw_weights, judge_accuracy, judge_bag, require_entropy, run_entropy
from checks.encoder import own_work
from checks.fitting import draw_case, numbers_of, require_training, train
from checks.sentences import MAX_LEN, encode, read_sentences, vocabulary
from instructor.corpus.exercises import make_occupations

FRESH_NEEDED = 0.65     # of 500 others: four standard errors below NEEDED, and six above what a bag of words may have
BATCH = 256             # sentences that the Encoder gets at a time
CLOSE = 1e-3            # of logits of weights that were only numbered otherwise


@check("5g-3-hidden")
def test_all_cases(student, rng):
    """PAD anywhere and nothing but PAD; one sentence, one batch, batches of one; every mode before; and the same again."""
    vocab_size, T = int(rng.integers(11, 17)), int(rng.integers(7, 10))
    anywhere = np.where(rng.random((6, T)) < 0.4, 0, rng.integers(1, vocab_size, size=(6, T)))
    anywhere[2] = 0
    judge_bag(student, rng, [anywhere, np.zeros((2, 3), int), rng.integers(1, vocab_size, size=(1, 1))], vocab_size)
    judge_accuracy(student, rng, [(600, None, False), (23, 7, True), (300, None, True), (7, 1, True), (5, 64, False),
                                  (1, None, True)])

    weights, mask = draw_weights(rng, 4, 3, int(rng.integers(6, 10)))
    sure = np.eye(weights.shape[-1], dtype=np.float32)[None, None].repeat(2, axis=1)[..., rng.permutation(weights.shape[-1])]
    even = np.full((2, 1, 5, 5), 0.2, np.float32)
    cases = [(weights, mask), (sure, np.zeros((1, sure.shape[-1]), bool)), (even, np.zeros((2, 5), bool)),
             (np.ones((1, 2, 1, 1), np.float32), np.zeros((1, 1), bool))]
    emptied, hidden = draw_weights(rng, 5, 2, 7)
    hidden[3] = True        # a sentence of nothing but padding: its weights are 0
    cases.append((np.where(hidden[:, None, None, :], 0, emptied), hidden))
    for answer, case in zip(student.run(run_entropy, cases=cases).items(len(cases)), cases):
        require_entropy(answer, *case)

    odd = [draw_case(rng, 33, epochs=3, batch_size=8, training=False), draw_case(rng, 40, epochs=2, batch_size=8),
           draw_case(rng, 21, epochs=2), draw_case(rng, 9, epochs=2, batch_size=1),
           draw_case(rng, 130, epochs=1, batch_size=None, learning_rate=None)]
    _test_repetition(student, rng)
    for case, answer in zip(odd, train(student, odd)):
        require_training(case, answer)


def _test_repetition(student, rng):
    """The seed decides on the order and on dropout; the learning rate on the steps."""
    case = draw_case(rng, 45, epochs=2, batch_size=16, seed=int(rng.integers(1, 1000)), dropout=0.5)
    once, again, other, slow = train(student, [case, case, replace(case, seed=case.seed + 1), replace(case, learning_rate=1e-9)])
    require_training(case, once)
    numbers = [[n for use in answer["log"].items() for n in numbers_of(use)] for answer in (once, again, other)]
    if numbers[0] != numbers[1]:
        raise WrongAnswer("With the same seed, train_classifier uses the sentences in another order. Draw the order from a "
                          "generator seeded with `seed`.")
    if numbers[0] == numbers[2]:
        raise WrongAnswer("With another seed, train_classifier uses the sentences in the same order. Draw the order from a "
                          "generator seeded with `seed`.")
    shape = case.weight.shape
    if not np.array_equal(once["weight"].array("float32", shape), again["weight"].array("float32", shape)):
        raise WrongAnswer("With the same seed and model, train_classifier ends with other weights, where the model has dropout. "
                          "torch.manual_seed(seed) comes first.")
    if max(distance.number() for distance in slow["moved"].entries().values()) > 1e-5:
        raise WrongAnswer("With learning_rate=1e-9, train_classifier changes the weights as much as with a larger one. Give "
                          "learning_rate to the optimizer.")


@probe(uses=(own_work,))
def classify(path, vocab_size, tokens, renumbered, order, batch):
    """What the submission's encoder answers with the weights of a file; and the same with tokens renumbered, in weights and
    sentences, and classes in another order."""
    import torch
    with own_work():
        from submission.encoder import Encoder, EncoderConfig
        try:
            state = torch.load(path, weights_only=True, map_location="cpu")
            if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
                return {"unreadable": "it is no state_dict, a dict of tensors"}
            odd = [name for name, value in state.items() if value.layout != torch.strided or value.nelement() > 10**7]
            if odd:
                return {"unreadable": f"{str(odd[0])[:60]} is a sparse tensor, or has more than 10 million numbers"}
            if not all(torch.isfinite(value).all() for value in state.values()):
                return {"unreadable": "some of the weights are NaN or infinite"}
        except Exception as error:
            return {"unreadable": str(error)[:300]}

        def answer(state, tokens):
            model = Encoder(EncoderConfig(vocab_size, tokens.shape[1], 5))
            model.load_state_dict(state)
            model.eval()
            with torch.no_grad():
                return [model(part) for part in torch.from_numpy(tokens).split(batch)]
        try:
            plain = answer(state, tokens)
        except RuntimeError as error:
            if "state_dict" not in str(error):
                raise
            return {"mismatch": str(error)[:600]}
        renumbered, order = torch.from_numpy(renumbered), torch.from_numpy(order)
        moved = dict(state)
        moved["tok_emb.weight"] = torch.empty_like(state["tok_emb.weight"])
        moved["tok_emb.weight"][renumbered] = state["tok_emb.weight"]
        moved["head.weight"], moved["head.bias"] = state["head.weight"][order], state["head.bias"][order]
        return {"plain": plain, "moved": answer(moved, renumbered.numpy()[tokens])}


@check("5g-4-hidden")
def test_weights(student, rng, context):
    """On the sentences kept for grading, and on others that nobody has seen. The answers come from the weights: where tokens
    and classes have other numbers there, the answers follow."""
    path = require_result(context.artifacts, "encoder.params")
    vocab = vocabulary(read_sentences(context.path("occupations/train.tsv"))[0])
    kept, truth = read_sentences(context.gold_path("occupations/test.tsv"))
    others = make_occupations(int(rng.integers(2**32)))["test"]
    tokens = encode([*kept, *(sentence for sentence, _ in others)], vocab)
    truth = np.array([*truth, *(group for _, group in others)])
    # PAD, CLS and UNK have numbers of their own.
    size = 3 + len(vocab)
    renumbered = np.concatenate((np.arange(3), 3 + rng.permutation(len(vocab))))
    order = np.roll(np.arange(N_CLASSES), int(rng.integers(1, N_CLASSES)))
    answer = student.run(classify, path=str(path.resolve()), vocab_size=size, tokens=tokens, renumbered=renumbered, order=order,
                         batch=BATCH)
    entries = answer.entries()
    if "unreadable" in entries:
        raise WrongAnswer(f"encoder.params is no file of weights that can be used: {answer['unreadable'].text()}. ./run.sh "
                          "encoder_report makes it anew.")
    if "mismatch" in entries:
        raise WrongAnswer(f"encoder.params does not fit into your Encoder with default options, {size} tokens, {MAX_LEN} "
                          f"positions and {N_CLASSES} classes: {answer['mismatch'].text()}\n./run.sh encoder_report makes it anew.")
    plain, moved = (_logits(answer[name], len(tokens)) for name in ("plain", "moved"))
    right = plain.argmax(axis=1) == truth
    on_kept, on_others = right[:len(kept)].mean(), right[len(kept):].mean()
    student.note("needed encoder", NEEDED)
    student.note("accuracy encoder", float(on_kept))
    if on_kept < NEEDED:
        bag = " A bag of words may have a half: does your encoder know the order?" if on_kept < 0.55 else ""
        raise WrongAnswer(f"With the weights in encoder.params, your Encoder is right about {on_kept:.1%} of the {len(kept)} "
                          f"sentences kept for grading; {NEEDED:.0%} are asked for.{bag}")
    if on_others < FRESH_NEEDED:
        raise WrongAnswer(f"With the weights in encoder.params, your Encoder is right about {on_kept:.1%} of the sentences kept "
                          f"for grading, but about {on_others:.1%} of others of the same kind, drawn just now.")
    if not np.abs(moved - plain[:, order]).max() <= CLOSE * max(1, np.abs(plain).max()):
        raise WrongAnswer("With the rows of tok_emb and head in another order, and tokens numbered accordingly, your Encoder "
                          "gives other answers. They do not come from the weights.")


def _logits(answer, count):
    sizes = [min(BATCH, count - start) for start in range(0, count, BATCH)]
    parts = [part.named("the Encoder's logits").array("float32", (size, N_CLASSES)).astype(float)
             for part, size in zip(answer.items(len(sizes)), sizes)]
    return np.concatenate(parts)
