"""Models with random weights for the tests of ./run.sh look, and what is found in them."""

import dataclasses

import torch

from conftest import DATA, SOLUTION
from jobs.options import Options
from jobs.presets import SMOKE
from jobs.problem1.look import make, shown
from jobs.problem1.run_job import sizes

PRESET = dataclasses.replace(SMOKE, n_layer=2, n_head=3, n_embd=24)
WEIGHTS = {"vanilla": "vanilla.finetune.params", "rope": "rope.finetune.params"}


def options_for(out, submission=SOLUTION, preset=PRESET):
    return Options(preset, DATA, submission, out, None, "cpu", 0, False, False)


def dataset_of(submission):
    return submission.CharCorruptionDataset((DATA / "wiki.txt").read_text("utf-8").strip(), 80)


def make_models(submission, out):
    """Models by variant, whose weights are the finetuned ones in `out`."""
    result = {}
    for job, variant, stage in shown():
        if stage == "finetuned":
            config = sizes(submission, dataset_of(submission).vocab_size, PRESET)
            model = make(submission, None, variant, config, options_for(out))
            with torch.no_grad():  # so large that mistakes show
                for parameter in model.parameters():
                    parameter.add_(torch.randn_like(parameter) * 0.2)
                    parameter.copy_(parameter.half())  # as a page keeps them
            torch.save(model.state_dict(), out / job.writes)
            result[variant] = model.eval()
    return result
