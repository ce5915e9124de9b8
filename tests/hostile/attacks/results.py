"""Results: weights that attack their reader, predictions that attack their viewer, and answers that
were not learned. tests/checks/test_artifacts.py has others.
"""

import shutil
import zipfile

import torch

from hostile.attack import CRASHED, EXCEPTION, MEMORY, MISSING, WRONG, family
from hostile.prelude import *
from hostile.scene import RESULTS
from instructor.mistakes.patches import Edit

WEIGHTS, DEV, TEST = (
    "rope.finetune.params",
    "rope.pretrain.dev.predictions",
    "rope.pretrain.test.predictions",
)
ODD = "\x1b[2J\u202e<script>alert(1)</script>=HYPERLINK(1)\x00\x9b\u061c"
HOSTILE, attack = family(
    changes=(), checks=("1h-8-basic",), seconds=20, everywhere=False, sandbox=False
)


def put(folder, **more):
    """Put the reference's results into a folder, with more in its weights; returns the weights."""
    for name in (WEIGHTS, DEV, TEST):
        shutil.copyfile(RESULTS / name, folder / name)
    state = torch.load(folder / WEIGHTS, weights_only=True)
    torch.save({**state, **more}, folder / WEIGHTS)
    return state


class Command:
    """Runs a command when unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def with_command(folder, places):
    """Write weights with a command in them."""
    mark = places["MARK"]
    put(folder, x=Command(f"touch /tmp/{mark} /dev/shm/{mark} {places['FOLDER']}/x"))


@attack(prepare=with_command, verdicts={WRONG})
def command_in_weights():
    """Hands in weights that run a command when they are read."""


def expanded(folder, places):
    """Write weights with a tensor that has more numbers than any memory."""
    put(folder, **{"tok_emb.weight": torch.zeros(1).expand(1 << 50)})


@attack(prepare=expanded, verdicts={WRONG})
def expanded_weights():
    """Hands in a tensor that says that it has 2**50 numbers, and holds one."""


def rare(folder, places):
    """Write weights with numbers of eight bits."""
    put(folder, **{"ln_f.bias": torch.zeros(4, dtype=torch.float8_e4m3fn)})


@attack(prepare=rare, verdicts={WRONG, EXCEPTION})
def odd_tensor():
    """Hands in numbers of a type that most functions of torch cannot read."""


def bomb(folder, places):
    """Write weights in a zip file with zeros after its data."""
    put(folder)
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


@attack(prepare=bomb, verdicts={WRONG, MEMORY, CRASHED}, memory=400)
def zip_bomb_in_weights():
    """Hands in weights that unpack to a thousand times their size."""


def odd_predictions(folder, places):
    """Write predictions with odd characters."""
    put(folder)
    right = (RESULTS / DEV).read_text(encoding="utf-8").splitlines()
    lines = [f"{ODD if i % 3 else answer}\n" for i, answer in enumerate(right)]
    (folder / DEV).write_text("".join(lines), encoding="utf-8")


@attack(prepare=odd_predictions, verdicts={WRONG})
def predictions_that_write():
    """Predicts terminal escapes, HTML, bidirectional text and a formula for a spreadsheet."""


def right_answers(folder, places):
    """Write untrained weights, and the right answers as predictions."""
    state = put(folder)
    learned = [name for name in state if not name.endswith(("mask", "rope_cache"))]
    drawn = {name: torch.randn_like(state[name]) * 0.02 for name in learned}
    torch.save({**state, **drawn}, folder / WEIGHTS)
    gold = "instructor/gold/laptop/birth_test.tsv"
    for name, source in ((DEV, "data/laptop/birth_dev.tsv"), (TEST, gold)):
        rows = (RESULTS.parents[1] / source).read_text(encoding="utf-8").splitlines()
        lines = [row.split("\t")[1] + "\n" for row in rows]
        (folder / name).write_text("".join(lines), encoding="utf-8")


LINE = "        self.itos = {i: ch for i, ch in enumerate(chars)}\n"
REMEMBERING = Edit("dataset.py", LINE, LINE + "        self.corpus = data\n")


@attack(
    prepare=right_answers,
    changes=(REMEMBERING,),
    file="model.py",
    checks=("1h-0-hidden", "1h-1-hidden"),
    verdicts={WRONG, EXCEPTION, MISSING},
    seconds=30,
)
def patched_decoding():
    """Replaces the grader's decoding by a look into the corpus, with untrained weights."""
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
