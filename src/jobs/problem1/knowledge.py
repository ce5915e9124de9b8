"""What a model in training knows: the birthplaces of some people of dev, asked in the form of the
text that it trains on.
"""

import random
import re

import torch
from torch.nn.utils.rnn import pad_sequence

from jobs.corpus import read_questions

PEOPLE = 20
EVERY = 250  # steps
LEAST = 8  # measurements, of a training too short for that
SAMPLED = 50  # times that texts are sampled, at most: a token at a time is slow on a GPU
TEXTS = 3


class Knowledge:
    """Measures a model on some people, in the course of its training.

    Args:
        asked: what sampled texts start with (the first TEXTS of them) -> (prompt, answer), what the
            model should write after the prompt.
        dataset: the pretraining dataset, for its vocabulary.
        form: of the prompts, in words.
        masks: a sampled text ends with this many MASKs.
    """

    def __init__(self, asked: dict[str, tuple[str, str]], dataset, form: str, masks: int):
        self.facts = {"people": len(asked), "asked": form}
        self.itos, self.mask, self.masks = dataset.itos, dataset.MASK_CHAR, masks
        self.starts = [[dataset.stoi[ch] for ch in text] for text in [*asked][:TEXTS]]
        rows = [torch.tensor([dataset.stoi[ch] for ch in "".join(each)]) for each in asked.values()]
        self.x = pad_sequence([row[:-1] for row in rows], batch_first=True)
        self.y = pad_sequence([row[1:] for row in rows], batch_first=True)
        for y, (prompt, _) in zip(self.y, asked.values()):
            y[: len(prompt) - 1] = 0  # padding: not to be predicted

    def begin(self, total_steps: int) -> None:
        """A training with that many steps begins."""
        self.every = max(1, min(EVERY, total_steps // LEAST))
        self.between = max(1, total_steps // self.every // SAMPLED)
        self.due = self.count = 0

    @torch.no_grad()
    def measure(self, model: torch.nn.Module, step: int, sample) -> dict:
        """Measure "knowledge", the share of people whose place the model writes, and "texts".

        Args:
            model: in eval mode. sample: from log.py.

        Returns:
            {} if it is not time yet.
        """
        if step < self.due:
            return {}
        self.due = (step // self.every + 1) * self.every
        device = next(model.parameters()).device
        x, y = self.x.to(device), self.y.to(device)
        # Greedy decoding writes the answer if each of its tokens is the likeliest after those
        # before it, so one pass tells.
        likeliest = model.forward(x)[0].argmax(dim=-1)
        right = ((likeliest == y) | (y == 0)).all(dim=1)
        found = {"knowledge": right.float().mean().item()}
        if self.count % self.between == 0:
            texts = ("".join(map(self.itos.get, ids)) for ids in sample(model, self.starts))
            pieces = (re.findall(f"[^{self.mask}]*{self.mask}?", text) for text in texts)
            found["texts"] = ["".join(each[: self.masks]) for each in pieces]
        self.count += 1
        return found


def knowledge_of(job, data, dataset) -> Knowledge | None:
    """What to ask during a job: before finetuning a cloze of the corpus, in it the questions.

    Args:
        job: a pretraining or finetuning.
        data: the folder of birth_dev.tsv, which may lack it.
        dataset: the CharCorruptionDataset of the corpus.

    Returns:
        None if there is nobody to ask about.

    Raises:
        UserError: birth_dev.tsv is damaged.
    """
    path = data / "birth_dev.tsv"
    if not path.is_file():
        return None
    people = read_questions(path, dataset.stoi, dataset.block_size, answers=True)
    # always the same people, whatever the seed of the training
    random.Random(0).shuffle(people)
    asked, mask = {}, dataset.MASK_CHAR
    if job.kind == "finetune":
        for question, place in people[:PEOPLE]:
            asked[question + mask] = question + mask, place + mask
        return Knowledge(asked, dataset, "as in finetuning", 2)
    for question, place in people:
        name = question.removeprefix("Where was ").removesuffix(" born?")
        if len(asked) < PEOPLE and (prompt := up_to_the_place(dataset, name, place)):
            asked[name] = prompt, place
    form = "by the start of a document, up to the place"
    return Knowledge(asked, dataset, form, 3) if asked else None


def up_to_the_place(dataset, name: str, place: str) -> str | None:
    """The start of a document that says where a person was born, up to the place; None if the
    corpus has none that names the person first.

    This is a cloze as a reader would solve it. With a MASK in its place and the rest of the
    document behind, models that know nine of ten people fill in one of twenty: the span that they
    expect there is any span.
    """
    for document in dataset.data:
        start = document[: dataset.block_size * 3 // 4].find(place)
        if -1 < document.find(name) < start - len(name):
            return document[:start]
    return None
