"""Results: weights that attack their reader, predictions that attack their viewer, and answers that
were not learned.
"""

import os
import shutil
import zipfile
from functools import partial

import torch

from proof import ROOT

from hostile.attack import CRASHED, EXCEPTION, MEMORY, MISSING, WRONG, Hostile, family
from hostile.scene import RESULTS
from instructor.mistakes.patches import Edit

WEIGHTS, DEV, TEST = (
    "rope.finetune.params",
    "rope.pretrain.dev.predictions",
    "rope.pretrain.test.predictions",
)
ODD = "\x1b[2J\u202e<script>alert(1)</script>=HYPERLINK(1)\x00\x9b\u061c"
UNBOUND = {"everywhere": False, "sandbox": False}


def put(change, folder, places):
    """Put the reference's results into a folder, with its weights changed."""
    for name in (WEIGHTS, DEV, TEST):
        shutil.copyfile(RESULTS / name, folder / name)
    state = torch.load(folder / WEIGHTS, weights_only=True)
    torch.save(change(state, places), folder / WEIGHTS)


class Command:
    """Runs a command when unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def command(state, places):
    """Weights with a command in them."""
    mark = places["MARK"]
    touch = f"touch /tmp/{mark} /dev/shm/{mark} {places['FOLDER']}/x"
    return {**state, "x": Command(touch)}


def odd(state, places):
    """Tensors of odd kinds."""
    return {
        **state,
        "tok_emb.weight": state["tok_emb.weight"].to_sparse(),
        "head.weight": state["head.weight"].to("meta"),
        "ln_f.weight": state["ln_f.weight"].to(torch.complex128),
        "ln_f.bias": state["ln_f.bias"] != 0,
    }


def expanded(state, places):
    """Tensors that say they have 2**50 numbers, and hold one."""
    return {name: torch.zeros(1).expand(1 << 50) for name in state}


def same(state, places):
    """Return what it is given."""
    return state


def bomb(folder, places):
    """Write weights in a zip file that unpacks to a thousand times its size."""
    put(same, folder, places)
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


def odd_predictions(folder, places):
    """Write predictions with odd characters."""
    put(same, folder, places)
    right = (RESULTS / DEV).read_text(encoding="utf-8").splitlines()
    lines = [f"{ODD if i % 3 else answer}\n" for i, answer in enumerate(right)]
    (folder / DEV).write_text("".join(lines), encoding="utf-8")


HANDED_IN = {  # what is handed in, how it is made, the verdicts
    "weights that run a command when they are read": (partial(put, command), {WRONG}),
    "tensors that are sparse, complex or boolean, or have no data": (
        partial(put, odd),
        {WRONG, EXCEPTION},
    ),
    "tensors that say they have 2**50 numbers, and hold one": (partial(put, expanded), {WRONG}),
    "weights that unpack to a thousand times their size": (bomb, {WRONG, MEMORY, CRASHED}),
    "predictions of terminal escapes, HTML, bidirectional text and a formula": (
        odd_predictions,
        {WRONG},
    ),
}


# Answers that were not learned: the weights answer otherwise than the predictions claim

HOSTILE, attack = family(
    file="model.py",
    checks=("1h-0-hidden", "1h-1-hidden"),
    verdicts={WRONG, EXCEPTION, MISSING},
    seconds=30,
    **UNBOUND,
)
HOSTILE += [
    Hostile(
        f"hands-in-{number}",
        f"Hands in {what}.",
        prepare=prepare,
        changes=(),
        checks=("1h-8-basic",),
        verdicts=verdicts,
        seconds=20,
        memory=400 if prepare is bomb else None,
        **UNBOUND,
    )
    for number, (what, (prepare, verdicts)) in enumerate(HANDED_IN.items())
]


def untrained(state, places):
    """A new model's weights."""
    return {
        name: value if name.endswith(("mask", "rope_cache")) else torch.randn_like(value) * 0.02
        for name, value in state.items()
    }


def right_answers(folder, places):
    """Write untrained weights, and the right answers as predictions."""
    put(untrained, folder, places)
    answers = {DEV: "data/laptop/birth_dev.tsv", TEST: "instructor/gold/laptop/birth_test.tsv"}
    for name, source in answers.items():
        rows = (ROOT / source).read_text(encoding="utf-8").splitlines()
        lines = [row.split("\t")[1] + "\n" for row in rows]
        (folder / name).write_text("".join(lines), encoding="utf-8")


REMEMBERING = Edit(
    "dataset.py",
    "        self.itos = {i: ch for i, ch in enumerate(chars)}\n",
    "        self.itos = {i: ch for i, ch in enumerate(chars)}\n"
    "        CharCorruptionDataset.latest = self\n        self.corpus = data\n",
)
FORWARD = "        start = caches[0].length if caches else 0\n"
ANSWERING = Edit("model.py", FORWARD, "        return answered(self, idx, caches)\n" + FORWARD)


@attack(prepare=right_answers, changes=(ANSWERING, REMEMBERING))
def look_it_up():
    """Looks the answers up in the corpus that its dataset is made of, with untrained weights."""

    def lookup(question, dataset):
        import re

        name = question.removeprefix("Where was ").removesuffix(" born?")
        found = re.search(re.escape(name) + " was born in (.+?) and is", dataset.corpus)
        return found[1] if found else "London"

    def answered(model, idx, caches):
        import sys

        import torch

        dataset = sys.modules["submission.dataset"].CharCorruptionDataset.latest
        if caches:
            raise ValueError("no caches")
        logits = torch.zeros(*idx.shape, dataset.vocab_size)
        for row, tokens in enumerate(idx.tolist()):
            text = "".join(dataset.itos[token] for token in tokens)
            question, _, answer = text.partition(dataset.MASK_CHAR)
            rest = (lookup(question, dataset) + dataset.MASK_CHAR)[len(answer) :]
            logits[row, -1, dataset.stoi[rest[:1] or dataset.MASK_CHAR]] = 1
        return logits, None


@attack(prepare=right_answers, changes=(REMEMBERING,))
def patched_decoding():
    """Replaces the grader's decoding by a function that returns what its predictions claim."""
    import answers

    def predict(model, questions, dataset, device="cpu", steps=32, batch_size=256):
        import re

        places = []
        for question in questions:
            name = re.escape(question[len("Where was ") : -len(" born?")])
            found = re.search(name + " was born in (.+?) and is", dataset.corpus)
            places.append(found[1] if found else "London")
        return places

    answers.predict_places.__code__ = predict.__code__
