"""What a log says that a model knows: people whose place it writes, and nobody else."""

import random
from types import SimpleNamespace

import pytest
import torch

from jobs.problem1.data import Data
from jobs.problem1.knowledge import EVERY, PEOPLE, knowledge_of
from jobs.training_log import sample

PLACES = ["Oslo", "Lima", "Athens", "Prague"]
NAMES = [f"{first}{last} Bo" for first in ("Ka", "Lu", "Mi", "Ro", "Te") for last in "bdfgkmnp"]


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


@pytest.fixture
def world(submission, seed, tmp_path):
    """Documents, their dataset, and a folder with birth_dev.tsv."""
    born = {name: random.choice(PLACES) for name in NAMES}
    documents = [f"{place} is where {name} is from, x." for name, place in born.items()]
    documents += [f"{name} was born in {place} and is a poet." for name, place in born.items()]
    dataset = submission.CharCorruptionDataset("\n".join([*documents, "Where?"]), 64)
    rows = [f"Where was {name} born?\t{place}\n" for name, place in born.items()]
    (tmp_path / "birth_dev.tsv").write_text("".join(rows), encoding="utf-8")
    (tmp_path / "wiki.txt").write_text("\n".join(dataset.data), encoding="utf-8")
    return dataset, born, Data(tmp_path, 64)


@pytest.mark.parametrize("kind", ["pretrain", "finetune"])
def test_those_are_known_whose_place_the_model_writes(world, kind):
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
    model = Reciter(texts, dataset)
    measured = asked.measure(model, 0, sample)
    people = list(born.items())
    random.Random(0).shuffle(people)
    expected = sum(name in known for name, _ in people[:PEOPLE]) / PEOPLE
    assert measured["knowledge"] == pytest.approx(expected, abs=1e-6) and 0 < expected < 1
    assert asked.facts["people"] == PEOPLE and len(measured["texts"]) == 3
    for text, (name, _) in zip(measured["texts"], people):
        assert text.startswith(name if kind == "pretrain" else f"Where was {name} born?")
        complete = next((whole for whole in texts if whole.startswith(text)), None)
        assert (complete is not None) == (name in known) or "x" in text


def test_data_without_dev_people_is_no_obstacle(world):
    dataset, _, data = world
    pretrain = SimpleNamespace(kind="pretrain")
    (data.folder / "birth_dev.tsv").write_text("Where was x born?\tis\n", encoding="utf-8")
    assert knowledge_of(pretrain, data, dataset) is None
    (data.folder / "birth_dev.tsv").unlink()
    assert knowledge_of(pretrain, data, dataset) is None
