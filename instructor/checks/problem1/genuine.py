"""Checks that results are genuine: that the submitted weights give the predicted places without the
submission's code.

A submission's model could look up answers, in its corpus or in a table of its own, and leave its
weights untrained. So hidden checks read the weights where none of the submission's code runs, and
compute their answers with NumPy.
"""

import re

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.problem1.artifacts import Judged, judge_predictions
from checks.problem1.models import read_weights
from checks.support.context import Context
from common.files import read_documents
from instructor.checks.problem1.gpt import logits_of, shapes_of
from instructor.checks.reference import log_probabilities

MASK, PAD = "\u2047", "\u25a1"
# correct answers that are checked; one may differ where two characters are almost equally likely
CLAIMS = 20
# share of the loss of random guessing; any finetuning is far below it on its training data
TRAINED = 0.8


@probe
def load(path):
    """Read the tensors in a weights file without importing the submission."""
    import torch

    return {
        name: value.float()
        for name, value in torch.load(path, map_location="cpu", weights_only=True).items()
        if value.is_floating_point()
    }


def judge_results(student, rng, context: Context, target: str, threshold: bool) -> None:
    """Like judge_predictions, with a large sample; also, the weights must give the correct
    predictions in NumPy.

    Raises:
        as judge_predictions.
    """
    judged = judge_predictions(student, rng, context, target, sample=100, threshold=threshold)
    corpus = read_documents(context.data_of(judged.preset) / "wiki.txt")
    model = _Model(
        student.run(load, path=str(judged.weights.resolve())),
        judged,
        [PAD, MASK, *sorted(set(corpus))],
    )
    questions = [
        line.split("\t")
        for line in (context.data_of(judged.preset) / "birth_places_train.tsv")
        .read_text(encoding="utf-8")
        .splitlines()
    ]
    guessing = np.log(len(model.vocabulary))
    loss = model.loss([questions[i] for i in rng.choice(len(questions), size=10, replace=False)])
    if not loss < TRAINED * guessing:
        raise WrongAnswer(
            f"The weights in {judged.weights.name} seem untrained: on questions of "
            f"birth_places_train.tsv, their loss is {loss:.2f} nats a character; guessing has "
            f"{guessing:.2f}."
        )
    claims = [
        judged.right[i]
        for i in rng.choice(len(judged.right), size=min(CLAIMS, len(judged.right)), replace=False)
    ]
    wrong = [question for (question, _), right in zip(claims, model.answers(claims)) if not right]
    if len(wrong) > len(claims) // CLAIMS:
        raise WrongAnswer(
            f"{len(wrong)} of {len(claims)} correct predictions are not what a GPT with the "
            f"weights in {judged.weights.name} answers, the first one to {wrong[0]!r}. They come "
            "from code other than a correct model's."
        )


class _Model:
    """A GPT in NumPy, with submitted weights."""

    def __init__(self, weights: Answer, judged: Judged, vocabulary: list[str]):
        self.vocabulary = vocabulary
        self.rope = judged.variant == "rope"
        self.preset = judged.preset
        config = {
            "vocab_size": len(vocabulary),
            "block_size": self.preset.block_size,
            "n_layer": self.preset.n_layer,
            "n_embd": self.preset.n_embd,
        }
        buffers = re.compile(r"mask|cache")  # determined by the sizes
        own = {name: value for name, value in weights.entries().items() if not buffers.search(name)}
        sizes = {name: config[name] for name in ("vocab_size", "block_size", "n_layer", "n_embd")}
        self.weights = {
            name: value.astype(float)
            for name, value in read_weights(
                own, shapes_of(**sizes, rope=self.rope), self.rope
            ).items()
        }

    def _run(self, pairs):
        """Yield logits and targets for each place's characters and the MASK after it."""
        if not pairs:
            return
        texts = [question + MASK + place + MASK for question, place in pairs]
        longest = max(map(len, texts))  # attention is causal, so padding at the end changes nothing
        tokens = np.array(
            [[self.vocabulary.index(ch) for ch in text.ljust(longest, PAD)] for text in texts]
        )
        logits = logits_of(
            tokens[:, :-1],
            self.weights,
            self.preset.n_layer,
            self.preset.n_head,
            "qk" if self.rope else "",
            not self.rope,
        )
        for row, (text, (question, _)) in enumerate(zip(texts, pairs)):
            asked = slice(len(question), len(text) - 1)
            yield logits[row, asked], tokens[row, 1:][asked]

    def answers(self, pairs: list[tuple[str, str]]) -> list[bool]:
        """Whether greedy decoding gives each question's place."""
        return [
            bool((logits.argmax(axis=-1) == targets).all()) for logits, targets in self._run(pairs)
        ]

    def loss(self, pairs: list[tuple[str, str]]) -> float:
        """Return the mean loss over the places' characters, in nats."""
        return float(
            -np.concatenate([log_probabilities(*pair)[:-1] for pair in self._run(pairs)]).mean()
        )
