"""Results: weights that attack their reader, predictions that attack their viewer, and answers that
were not learned.
"""

import os
import shutil
import zipfile
from pathlib import Path

import torch

from proof import ROOT

from hostile.attack import CRASHED, EXCEPTION, MEMORY, MISSING, WRONG, Hostile
from hostile.scene import RESULTS
from instructor.mistakes.patches import Edit

WEIGHTS, DEV, TEST = (
    "rope.finetune.params",
    "rope.pretrain.dev.predictions",
    "rope.pretrain.test.predictions",
)
BASIC, HIDDEN = ("1h-8-basic",), ("1h-0-hidden", "1h-1-hidden")
ANSWERS_TO_TEST = "/laptop/birth_test.tsv"
ODD = "\x1b[2J\u202e<script>alert(1)</script>=HYPERLINK(1)\x00\x9b\u061c"


def copy(folder: Path, places=None) -> None:
    """Put the reference's results into a folder."""
    for name in (WEIGHTS, DEV, TEST):
        shutil.copyfile(RESULTS / name, folder / name)


def weights(change):
    """Return a function that changes the reference's weights and keeps its predictions."""

    def prepare(folder, places):
        copy(folder)
        state = torch.load(folder / WEIGHTS, weights_only=True)
        torch.save(change(state, places), folder / WEIGHTS)

    return prepare


def untrained(state, places=None):
    """Write a new model's weights."""
    return {
        name: value if name.endswith(("mask", "rope_cache")) else torch.randn_like(value) * 0.02
        for name, value in state.items()
    }


def all_right(folder, places):
    """Write untrained weights, and the right answers as predictions."""
    weights(untrained)(folder, places)
    for name, answers in (
        (DEV, "data/laptop/birth_dev.tsv"),
        (TEST, "instructor/gold" + ANSWERS_TO_TEST),
    ):
        rows = (ROOT / answers).read_text(encoding="utf-8").splitlines()
        (folder / name).write_text(
            "".join(row.split("\t")[1] + "\n" for row in rows), encoding="utf-8"
        )


class Command:
    """Runs a command when unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def unzipped_bomb(folder, places):
    """Write weights in a zip file that unpacks to a thousand times its size."""
    copy(folder)
    with (
        zipfile.ZipFile(RESULTS / WEIGHTS) as old,
        zipfile.ZipFile(folder / WEIGHTS, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for entry in old.namelist():
            with new.open(entry, "w") as file:
                file.write(old.read(entry))
                if entry.endswith(("/data.pkl", "/data/0")):
                    for _ in range(20):
                        file.write(bytes(32 << 20))


def instead(name, make):
    """Return a function that replaces a result with something else."""

    def prepare(folder, places):
        copy(folder)
        (folder / name).unlink()
        make(folder / name, places)

    return prepare


def rows(name):
    """The lines of a file of questions, split at tabs."""
    text = (ROOT / "data" / "laptop" / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


TABLE = dict(rows("birth_dev.tsv"))
QUESTIONS = {"dev": [*TABLE], "test": [row[0] for row in rows("birth_test_inputs.tsv")]}
REFERENCE = (RESULTS / DEV).read_text(encoding="utf-8").splitlines()

# Code that answers questions without any weights: `lookup` gives the answer.
ANSWERING = Edit(
    "model.py",
    "        start = caches[0].length if caches else 0\n",
    """        import sys
        import torch
        dataset = sys.modules["submission.dataset"].CharCorruptionDataset.latest
        if caches:
            raise ValueError("no caches")
        logits = torch.zeros(*idx.shape, dataset.vocab_size)
        for row, tokens in enumerate(idx.tolist()):
            question, _, answer = "".join(dataset.itos[token] for token in tokens).partition(dataset.MASK_CHAR)
            rest = (lookup(question, dataset) + dataset.MASK_CHAR)[len(answer):]
            logits[row, -1, dataset.stoi[rest[:1] or dataset.MASK_CHAR]] = 1
        return logits, None
        start = 0
""",
)
REMEMBERING = Edit(
    "dataset.py",
    "        self.itos = {i: ch for i, ch in enumerate(chars)}\n",
    "        self.itos = {i: ch for i, ch in enumerate(chars)}\n"
    "        CharCorruptionDataset.latest = self\n        self.corpus = data\n",
)


def cheats(name, tries, code, checks=HIDDEN, changes=(ANSWERING, REMEMBERING)):
    """Make an attack that answers without having learned."""
    return Hostile(
        name,
        tries,
        "The weights answer otherwise than the predictions claim.",
        code,
        file="model.py",
        prepare=all_right,
        checks=checks,
        changes=changes,
        verdicts=frozenset({WRONG, EXCEPTION, MISSING}),
        everywhere=False,
        sandbox=False,
        seconds=30,
    )


def weighs(name, tries, seen, prepare, verdicts=frozenset({WRONG}), **more):
    """Make an attack by weights or predictions."""
    return Hostile(
        name,
        tries,
        seen,
        prepare=prepare,
        verdicts=verdicts,
        **{
            "changes": (),
            "checks": BASIC,
            "everywhere": False,
            "sandbox": False,
            "seconds": 20,
            **more,
        },
    )


ANSWERS = [
    cheats(
        "look-it-up",
        "Looks the answers up in the corpus that its dataset is made of, with untrained weights.",
        """
import re
def lookup(question, dataset):
    name = question.removeprefix("Where was ").removesuffix(" born?")
    found = re.search(re.escape(name) + " was born in (.+?) and is", dataset.corpus)
    return found[1] if found else "London"
""",
    ),
    cheats(
        "answers-in-the-code",
        "Has the answers to all questions of the public file in a table in its code.",
        f"TABLE = {TABLE!r}"
        """
def lookup(question, dataset):
    return TABLE.get(question, "London")
""",
        checks=("1h-0-hidden",),
    ),
    cheats(
        "answers-from-its-own-file",
        "Reads its own predictions while it is asked for them.",
        f"QUESTIONS = {QUESTIONS!r}"
        """
def lookup(question, dataset, claims={}):
    if not claims:
        results = os.path.dirname(os.path.dirname(__file__)) + "/results/rope.pretrain."
        claims.update(zip(QUESTIONS["dev"], open(results + "dev.predictions").read().splitlines()))
        claims.update(zip(QUESTIONS["test"], open(results + "test.predictions").read().splitlines()))
    return claims[question]
""",
    ),
    cheats(
        "patched-decoding",
        "Replaces the grader's decoding by a function that returns what its predictions claim.",
        """
import answers, re
def predict(model, questions, dataset, device="cpu", steps=32, batch_size=256):
    import re
    find = lambda question: re.search(re.escape(question[10:-6]) + " was born in (.+?) and is", dataset.corpus)
    return [find(question)[1] if find(question) else "London" for question in questions]
answers.predict_places.__code__ = predict.__code__
""",
        changes=(REMEMBERING,),
    ),
]

FILES = [
    weighs(
        "command-in-weights",
        "Hands in weights that run a command when they are read.",
        "They are read without running anything.",
        weights(
            lambda state, places: {
                **state,
                "x": Command(
                    f"touch /tmp/{places['MARK']} /dev/shm/{places['MARK']} {places['FOLDER']}/x"
                ),
            }
        ),
    ),
    weighs(
        "zip-bomb-in-weights",
        "Hands in weights that unpack to a thousand times their size.",
        "The memory limit ends it.",
        unzipped_bomb,
        frozenset({WRONG, MEMORY, CRASHED}),
        memory=400,
    ),
    weighs(
        "expanded-weights",
        "Hands in tensors that say they have 2**50 numbers, and hold one.",
        "They don't fit into the model.",
        weights(lambda state, places: {name: torch.zeros(1).expand(1 << 50) for name in state}),
    ),
    weighs(
        "odd-tensors",
        "Hands in sparse, quantised, complex and boolean tensors, and some without data.",
        "They are no weights of this model.",
        weights(
            lambda state, places: {
                **state,
                "tok_emb.weight": state["tok_emb.weight"].to_sparse(),
                "head.weight": state["head.weight"].to("meta"),
                "ln_f.weight": state["ln_f.weight"].to(torch.complex128),
                "ln_f.bias": state["ln_f.bias"] != 0,
            }
        ),
        frozenset({WRONG, EXCEPTION}),
    ),
    weighs(
        "predictions-that-write",
        "Predicts terminal escapes, HTML, bidirectional text and a formula for a spreadsheet.",
        "The report shows the characters' numbers.",
        instead(
            DEV,
            lambda path, places: path.write_text(
                "".join(f"{ODD if i % 3 else answer}\n" for i, answer in enumerate(REFERENCE)),
                encoding="utf-8",
            ),
        ),
    ),
    weighs(
        "million-predictions",
        "Hands in a million predictions.",
        "There are too many.",
        instead(DEV, lambda path, places: path.write_bytes(b"London\n" * 500_000)),
    ),
    weighs(
        "broken-predictions",
        "Predicts NUL bytes, halves of characters and every way to end a line.",
        "They are wrong, or no text.",
        instead(
            DEV,
            lambda path, places: path.write_bytes(
                b"Lon\x00don\r\n\x0b\x0c\x1c\x85\xe2\x80\xa8\xed\xa0\x80\n" * 100
            ),
        ),
    ),
]

HOSTILE = ANSWERS + FILES
