"""Models with random weights for the tests of ./run.sh look, and what is found in them."""

import dataclasses
import shutil

import torch

from helpers import DATA, RESULTS, SOLUTION
from jobs.options import Options
from jobs.presets import LAPTOP, SMOKE
from jobs.problem1.look.command import find
from jobs.problem1.look.page import page
from jobs.problem1.models import new_model

PRESET = dataclasses.replace(SMOKE, n_layer=2, n_head=3, n_embd=24)
WEIGHTS = {"vanilla": "vanilla.finetune.params", "rope": "rope.finetune.params"}


def options_for(out, submission=SOLUTION, preset=PRESET):
    return Options(preset, DATA, submission, out, None, "cpu", 0, False, False)


def dataset_of(submission):
    return submission.CharCorruptionDataset((DATA / "wiki.txt").read_text("utf-8").strip(), 80)


def make_models(submission, out):
    """Models by their positions, whose weights are the finetuned ones in `out`."""
    result, count = {}, dataset_of(submission).vocab_size
    for positions, variant in (("learned positions", "vanilla"), ("RoPE", "rope")):
        model = new_model(submission, variant, count, PRESET)
        with torch.no_grad():  # so large that mistakes show
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.2)
                parameter.copy_(parameter.double().round(decimals=5))  # as a page keeps them
        torch.save(model.state_dict(), out / WEIGHTS[variant])
        result[positions] = model.eval()
    return result


def written(found, folder):
    path = folder / "look.html"
    path.write_text(page(found), encoding="utf-8")
    return path


def references(out):
    """What is found in the reference's results, copied to `out`, and its page."""
    for name in (*WEIGHTS.values(), "vanilla.model.params"):
        shutil.copy(RESULTS / name, out)
    found = find(options_for(out, preset=LAPTOP))
    return found, written(found, out)
