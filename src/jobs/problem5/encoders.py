"""The models of encoder_report: encoders and bags of words, trained and measured by the student's
functions on two corpora.
"""

from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

import torch
from tqdm import tqdm

from common.files import UserError, read_text
from jobs.returned import wrong_result

PRE, POST, BAG = "encoder, pre-norm", "encoder, post-norm", "bag of words"
SEEDS = 3  # of each encoder; a bag of words is trained once
EPOCHS = {"occupations": 14, "random labels": 18}
BAG_EPOCHS, BAG_LEARNING_RATE = 40, 0.03


@dataclass
class Run:
    """A trained model. What is measured of encoders alone is of new sentences, without padding."""

    model: torch.nn.Module
    losses: list[float]  # of each epoch
    trained: float  # accuracy on training sentences
    new: float  # and on new ones
    entropies: list[list[float]] = ()  # of the heads, [layer][head], in nats
    # of the embeddings, then of each layer's output: mean, standard deviation, and the share of the
    # layer's GELU inputs below 0; None is unknown
    activations: list[list[float | None]] = ()


@dataclass
class Corpus:
    """Sentences, int64 (N, 24), and their classes, int64 (N), for training and new ones."""

    name: str
    vocab_size: int
    pad: int  # the token of padding
    training: tuple[torch.Tensor, torch.Tensor]
    new: tuple[torch.Tensor, torch.Tensor]
    # of the new sentences, in brackets if they have no token; None: there are only tokens
    words: list[list[str]] | None = None
    # by kind, in the order of their seeds
    runs: dict[str, list[Run]] = field(default_factory=lambda: {PRE: [], POST: [], BAG: []})


def read_corpora(data, folder: Path, seed: int) -> list[Corpus]:
    """Occupations, from train.tsv and dev.tsv in `folder`, and random labels, by the submission's
    module encoder_data.

    Raises:
        UserError: a row is not a sentence with a class.
    """
    for path in (folder / "train.tsv", folder / "dev.tsv"):
        for number, line in enumerate(read_text(path).splitlines(), start=1):
            sentence, _, group = line.partition("\t")
            if not sentence.strip() or group not in tuple("01234"):
                raise UserError(
                    f"{path}, line {number}: expected a sentence, a tab and a class from 0 to 4, "
                    f"got {line[:60]!r}."
                )
    train, dev = (data.occupations(split, folder=folder) for split in ("train", "dev"))
    words = [
        [f"[{word}]" if token == data.UNK else word for token, word in zip(row, data.words(text))]
        for row, text in zip(dev[0].tolist(), data.read_occupations("dev", folder)[0])
    ]
    size = data.occupations_vocab_size(folder)
    x, y = data.random_corpus(seed)
    return [
        Corpus("occupations", size, data.PAD, train, dev, words),
        Corpus("random labels", 1000, data.PAD, (x[:1600], y[:1600]), (x[1600:], y[1600:])),
    ]


def train_all(encoder, data, corpora: list[Corpus], seed: int) -> None:
    """Train and measure all models, from `seed` on, with the submission's modules encoder and
    encoder_data, and keep them as the corpora's runs.

    Raises:
        UserError: train_classifier, accuracy or attention_entropy returned something invalid.
    """
    # bags first, since they are quick and find a missing part early
    bags, seeds = product(corpora, [BAG], [seed]), range(seed, seed + SEEDS)
    trainings = [*bags, *product(corpora, (PRE, POST), seeds)]
    bar = {"leave": False, "unit": "model", "delay": 1}  # not before a message on a missing part
    for corpus, kind, number in tqdm(trainings, "Training", **bar):
        torch.manual_seed(number)
        if kind == BAG:
            model = encoder.BagOfWords(corpus.vocab_size, data.N_CLASSES)
            epochs, options = BAG_EPOCHS, {"learning_rate": BAG_LEARNING_RATE}
        else:
            sizes = corpus.vocab_size, data.MAX_LEN, data.N_CLASSES
            model = encoder.Encoder(encoder.EncoderConfig(*sizes, pre_norm=kind == PRE))
            epochs, options = EPOCHS[corpus.name], {}
        losses = encoder.train_classifier(model, *corpus.training, epochs, seed=number, **options)
        floats = isinstance(losses, list) and all(isinstance(loss, float) for loss in losses)
        if not floats or len(losses) != epochs:
            should = f"a list of {epochs} floats, the mean training loss of each epoch"
            raise wrong_result("train_classifier", losses, should)
        shares = [encoder.accuracy(model, *part) for part in (corpus.training, corpus.new)]
        for share in shares:
            if not isinstance(share, float) or not 0 <= share <= 1:
                raise wrong_result("accuracy", share, "a float from 0 to 1")
        run = Run(model, losses, *shares)
        if kind != BAG:
            run.entropies, run.activations = measure(encoder, model, corpus)
        corpus.runs[kind].append(run)


def measure(encoder, model, corpus: Corpus) -> tuple[list, list]:
    """The entropies and activations of a Run."""
    used = corpus.new[0] != corpus.pad
    rows = [[None, None, None] for _ in range(len(model.layers) + 1)]

    def features(row, module, *passed):  # inputs before a layer; inputs and output after it
        if len(passed[-1]):  # not if they are named
            value = passed[-1][0] if isinstance(passed[-1], tuple) else passed[-1]
            value = value[used].double()
            rows[row][:2] = value.mean().item(), value.std(correction=0).item()

    def below_zero(row, module, inputs, output):
        rows[row][2] = (output[used] < 0).double().mean().item()

    hooks = [model.layers[0].register_forward_pre_hook(partial(features, 0))]
    for row, layer in enumerate(model.layers, start=1):
        hooks.append(layer.register_forward_hook(partial(features, row)))
        hooks.append(layer.up.register_forward_hook(partial(below_zero, row)))
    _, weights = attended(model, corpus.new[0])
    for hook in hooks:
        hook.remove()
    entropies = []
    for layer in weights:
        values = encoder.attention_entropy(layer, ~used)
        if not isinstance(values, torch.Tensor) or values.shape != (layer.size(1),):
            should = f"a tensor with one entropy for each of {layer.size(1)} heads"
            raise wrong_result("attention_entropy", values, should)
        entropies.append(values.tolist())
    return entropies, rows


def attended(model, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Logits and each layer's weights, (B, n_head, T, T), in evaluation mode."""
    model.eval()
    with torch.no_grad():
        return model(x, return_weights=True)
