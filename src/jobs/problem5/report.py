"""encoder_report: train the student's encoders and bags of words on both corpora, and measure what
the page and the picture of maps show.
"""

import io
import math
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from common.files import UserError, read_text, writing
from jobs.problem5.maps import Corpus, attended, choose_maps, picture
from jobs.problem5.report_page import page

CLASSES = 5
SEEDS = 3  # of each encoder
EPOCHS = {"occupations": 14, "random": 18}
BAG_EPOCHS, BAG_LEARNING_RATE = 40, 0.03


@dataclass
class Run:
    """A trained model: its losses by epoch, and its accuracies on training sentences and on new
    ones.
    """

    model: torch.nn.Module
    losses: list[float]
    trained: float
    new: float


def report(encoder, data, folder: Path, out: Path, seed: int) -> None:
    """Write encoder.params, encoder_report.html and encoder_maps.png into `out`.

    Args:
        encoder, data: the submission's modules encoder and encoder_data.
        folder: has train.tsv and dev.tsv of the occupations.
        out: the folder to write to.
        seed: the first of SEEDS seeds, and that of the random corpus.

    Raises:
        UserError: the data is invalid, the files cannot be written, or a function of the submission
            returned something invalid.
    """
    started = time.monotonic()
    corpora = read_corpora(data, folder, seed)
    print(f"Occupations from {folder}", flush=True)
    params, html, maps = (
        out / f"encoder{name}" for name in (".params", "_report.html", "_maps.png")
    )
    with writing(params) as params_file, writing(html) as html_file, writing(maps) as maps_file:
        runs = train_all(encoder, corpora, seed)
        found = measure(encoder, data, corpora, runs, seed)
        buffer = io.BytesIO()
        state = runs["occupations", "pre"][0].model.state_dict()
        torch.save({name: value.detach().float().clone() for name, value in state.items()}, buffer)
        params_file.write_bytes(buffer.getvalue())
        html_file.write_bytes(page(found, seconds=time.monotonic() - started).encode("utf-8"))
        maps_file.write_bytes(picture(found["maps"]))
    for name, title in (("occupations", "occupations"), ("random", "random labels")):
        for kind, model in (
            ("pre", "encoder"),
            ("post", "encoder, post-norm"),
            ("bag", "bag of words"),
        ):
            shares = [(run.trained, run.new) for run in runs[name, kind]]
            print(
                f"{title + ',':<14} {model:<18}  in training {percents(a for a, _ in shares):>20}  "
                f"new sentences {percents(b for _, b in shares):>20}"
            )
    print(
        f"Took {time.monotonic() - started:.0f} seconds.\nWrote {params}\n"
        f"Wrote {html}: open it in a browser.\nWrote {maps}: the attention maps to hand in (5g)."
    )


def percents(shares) -> str:
    """Shares as percentages, one for each seed."""
    return " ".join(f"{share:.1%}" for share in shares)


def read_corpora(data, folder: Path, seed: int) -> list[Corpus]:
    """Both corpora; raises UserError for a row that is not a sentence with a class."""
    for split in ("train", "dev"):
        path = folder / f"{split}.tsv"
        for number, line in enumerate(read_text(path).rstrip("\n").split("\n"), start=1):
            sentence, tab, group = line.partition("\t")
            if not sentence.strip() or group not in tuple("01234"):
                raise UserError(
                    f"{path}, line {number}: expected a sentence, a tab and a class from 0 to 4, "
                    f"got {line[:60]!r}."
                )
    new = data.read_occupations("dev", folder)[0]
    x, y = data.random_corpus(seed)
    return [
        Corpus(
            "occupations",
            data.occupations_vocab_size(folder),
            *data.occupations("train", folder=folder),
            *data.occupations("dev", folder=folder),
            words=[data.words(sentence) for sentence in new],
        ),
        Corpus("random", 1000, x[:1600], y[:1600], x[1600:], y[1600:]),
    ]


def train_all(encoder, corpora: list[Corpus], seed: int) -> dict[tuple[str, str], list[Run]]:
    """Train all models: (corpus, "pre", "post" or "bag") -> one run per seed (only one for a bag of
    words).
    """
    runs = {}
    for corpus in corpora:  # first, since they are quick and find a missing part early
        torch.manual_seed(seed)
        bag = encoder.BagOfWords(corpus.vocab_size, CLASSES)
        runs[corpus.name, "bag"] = [
            train(encoder, bag, corpus, BAG_EPOCHS, seed, learning_rate=BAG_LEARNING_RATE)
        ]
    steps = {corpus.name: EPOCHS[corpus.name] * math.ceil(len(corpus.x) / 64) for corpus in corpora}
    with tqdm(
        total=2 * SEEDS * sum(steps.values()),
        unit="step",
        leave=False,
        bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed} elapsed, {remaining} left",
    ) as bar:
        done = 0
        for corpus in corpora:
            for kind in ("pre", "post"):
                bar.set_description(f"{corpus.name}, {kind}-norm")
                for number in range(SEEDS):
                    torch.manual_seed(seed + number)
                    config = encoder.EncoderConfig(
                        corpus.vocab_size, corpus.x.size(1), CLASSES, pre_norm=kind == "pre"
                    )
                    model = encoder.Encoder(config)
                    hook = model.register_forward_pre_hook(
                        lambda model, _: bar.update(1 if model.training else 0) and None
                    )
                    run = train(encoder, model, corpus, EPOCHS[corpus.name], seed + number)
                    runs.setdefault((corpus.name, kind), []).append(run)
                    hook.remove()
                    done += steps[corpus.name]
                    bar.update(done - bar.n)
    return runs


def train(encoder, model, corpus: Corpus, epochs: int, seed: int, **options) -> Run:
    """Train one model with the student's train_classifier, and measure it with the student's
    accuracy.
    """
    losses = encoder.train_classifier(model, corpus.x, corpus.y, epochs, seed=seed, **options)
    if (
        not isinstance(losses, list)
        or len(losses) != epochs
        or not all(isinstance(loss, float) for loss in losses)
    ):
        raise UserError(
            f"train_classifier returned {str(losses)[:80]}. It should return a list of {epochs} "
            "floats, the mean training loss of each epoch."
        )
    shares = [
        encoder.accuracy(model, *pair)
        for pair in ((corpus.x, corpus.y), (corpus.new_x, corpus.new_y))
    ]
    if not all(isinstance(share, float) and 0 <= share <= 1 for share in shares):
        raise UserError(
            f"accuracy returned {str(shares[0])[:80]} and {str(shares[1])[:80]}. It should return "
            "a float from 0 to 1."
        )
    return Run(model, losses, *shares)


def measure(encoder, data, corpora: list[Corpus], runs: dict, seed: int) -> dict:
    """Everything that the page shows, as plain data."""
    corpus_facts = {
        corpus.name: {
            "training": len(corpus.x),
            "new": len(corpus.new_x),
            "accuracy": {
                kind: [(run.trained, run.new) for run in runs[corpus.name, kind]]
                for kind in ("pre", "post", "bag")
            },
            "losses": {
                kind: [run.losses for run in runs[corpus.name, kind]] for kind in ("pre", "post")
            },
            "entropies": [
                entropy
                for run in runs[corpus.name, "pre"]
                for entropy in entropies(encoder, data.PAD, run.model, corpus.new_x)
            ],
            "largest_entropy": largest_entropy(corpus.new_x, data.PAD),
            "activations": {
                kind: activations(runs[corpus.name, kind][0].model, corpus.new_x, data.PAD)
                for kind in ("pre", "post")
            },
        }
        for corpus in corpora
    }
    return {
        "seed": seed,
        "seeds": SEEDS,
        "corpora": corpus_facts,
        "maps": choose_maps(
            data, *corpora, *(runs[corpus.name, "pre"][0].model for corpus in corpora)
        ),
        "parameters": parameters(runs["occupations", "pre"][0].model),
    }


def entropies(encoder, pad: int, model, x: torch.Tensor) -> list[tuple[int, int, float]]:
    """(layer, head, entropy in nats) of all heads; layers count from 1, heads from 0."""
    result = []
    for layer, weights in enumerate(attended(model, x)[1], start=1):
        values = encoder.attention_entropy(weights, x == pad)
        if not isinstance(values, torch.Tensor) or values.shape != (weights.size(1),):
            raise UserError(
                f"attention_entropy returned {str(values)[:80]}. It should return a tensor with "
                f"one entropy for each of {weights.size(1)} heads."
            )
        result += [(layer, head, value) for head, value in enumerate(values.tolist())]
    return result


def largest_entropy(x: torch.Tensor, pad: int) -> float:
    """The entropy in nats of uniform weights over all tokens but padding, averaged over the queries
    that are not padding.
    """
    lengths = [length for length in (x != pad).sum(dim=1).tolist() if length]
    return sum(length * math.log(length) for length in lengths) / sum(lengths)


def activations(model, x: torch.Tensor, pad: int) -> list[dict[str, float | None]]:
    """Statistics of activations, without padding: "mean" and "std" of the features before the first
    layer and after each, and "below_zero", the share of a layer's GELU inputs below 0 (None before
    the first layer, or if `up` or `layers` is not called).
    """
    rows = [{"mean": None, "std": None, "below_zero": None} for _ in range(len(model.layers) + 1)]
    used = x != pad

    def features(row, value):
        value = (value[0] if isinstance(value, tuple) else value)[used].double()
        rows[row].update(mean=value.mean().item(), std=value.std(correction=0).item())

    def share(row, value):
        rows[row].update(below_zero=(value[used] < 0).double().mean().item())

    hooks = [
        model.layers[0].register_forward_pre_hook(
            lambda module, inputs: features(0, inputs[0]) if inputs else None
        )
    ]
    for row, layer in enumerate(model.layers, start=1):
        hooks.append(
            layer.register_forward_hook(
                lambda module, inputs, output, row=row: features(row, output)
            )
        )
        hooks.append(
            layer.up.register_forward_hook(
                lambda module, inputs, output, row=row: share(row, output)
            )
        )
    attended(model, x)
    for hook in hooks:
        hook.remove()
    return rows


PARTS = {
    "embeddings": ("tok_emb.", "pos_emb."),
    "attention": (".attn.",),
    "feed-forward": (".up.", ".down."),
    "norms": ("norm",),
    "head": ("head.",),
    "other": ("",),
}


def parameters(model) -> dict[str, int]:
    """The number of trained parameters by part; "other" are those in no other part."""
    counts = dict.fromkeys(PARTS, 0)
    for name, value in model.named_parameters():
        part = next(part for part, marks in PARTS.items() if any(mark in name for mark in marks))
        counts[part] += value.numel()
    if not counts["other"]:
        del counts["other"]
    return counts
