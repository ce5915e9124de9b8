"""./run.sh look: a page of the student's own checkpoints, look.html."""

import argparse
import time
from pathlib import Path

import torch

from common.files import UserError, read_documents, read_questions, write_text
from jobs.errors import in_short
from jobs.options import STARTER, Options, choose_options
from jobs.package import load_submission, seed_everything
from jobs.presets import PRESETS
from jobs.problem1.look.data import (
    FINETUNED,
    FROM_SCRATCH,
    MOST_IN_PAGE,
    POSITIONS,
    PRETRAINED,
    UNTRAINED,
    Found,
    Look,
    see,
)
from jobs.problem1.look.page import page
from jobs.problem1.params import read_params
from jobs.problem1.run_job import sizes
from jobs.problem1.training import initialize
from jobs.targets import JOBS, LOOK, Job

PEOPLE = 12  # of dev


def run_look(args: argparse.Namespace) -> None:
    """Write look.html into the results folder.

    Raises:
        UserError: there is no checkpoint, or none that fits and whose model runs; or the data is
            invalid.
        NotImplementedError: the submission lacks a part that all models need.
    """
    started = time.monotonic()
    fitting = fitting_preset(args.out or args.submission or STARTER)
    options = choose_options(args, own=fitting, quiet=True)
    print(f"Preset {options.preset.name}, data from {options.data}", flush=True)
    html = options.out / LOOK.writes
    found = find(options)
    write_text(html, page(found))
    for sentence in found.missing:
        print(f"Not in the page: {sentence}")
    print(
        f"Took {time.monotonic() - started:.1f} seconds.\nWrote {html} "
        f"({html.stat().st_size / 1e6:.1f} MB): open it in a browser."
    )


def trainings() -> list[Job]:
    """The jobs that write weights."""
    return [job for job in JOBS.values() if job.kind != "evaluate"]


def shown() -> list[tuple[Job | None, str, str]]:
    """The models of the page: the job that makes its weights, or None for an untrained one, its
    positions and its stage.
    """
    result = []
    for variant in POSITIONS:
        result.append((None, variant, UNTRAINED))
        for job in trainings():
            stage = PRETRAINED if job.kind == "pretrain" else FINETUNED
            if job.variant == variant:
                result.append((job, variant, stage if job.pretrained else FROM_SCRATCH))
    return result


def fitting_preset(folder: Path) -> str | None:
    """The preset with the width of the checkpoints in a folder, or None."""
    for job in trainings():
        try:
            state = torch.load(folder / job.writes, map_location="cpu", weights_only=True)
            width = state["tok_emb.weight"].shape[1]
        except Exception:  # missing, or damaged in one of many ways; find() tells the user
            continue
        return next((preset.name for preset in PRESETS.values() if preset.n_embd == width), None)
    return None


def find(options: Options) -> Found:
    """Read the checkpoints, and watch their models; raises as run_look."""
    if not any((options.out / job.writes).exists() for job in trainings()):
        raise UserError(
            f"{options.out} has no weights to look at yet. First run: ./run.sh "
            f"{trainings()[0].target}"
        )
    submission, preset = load_submission(options.submission), options.preset
    corpus = read_documents(options.data / "wiki.txt")
    dataset = submission.CharCorruptionDataset(corpus, preset.block_size)
    rows = read_questions(
        options.data / "birth_dev.tsv", dataset.stoi, preset.block_size, answers=True
    )
    people, steps = rows[:PEOPLE], 1 + max(len(place) for _, place in rows)
    config = sizes(submission, dataset.vocab_size, preset)
    looks, missing, rotations, count, error = [], [], None, 0, None
    for job, variant, stage in shown():
        name = f"{POSITIONS[variant]}, {stage}"
        if job and not (options.out / job.writes).exists():
            missing.append(f"{name}: ./run.sh {job.target} makes it.")
            continue
        try:
            model = make(submission, job, variant, config, options)
            seen = see(model, [question for question, _ in people], dataset, options.device, steps)
        except Exception as caught:  # the student's code can raise anything
            failed = in_short(caught, options.submission)
            error = error or failed
            missing.append(f"{name}: {failed}")
            continue
        weights, count = None, sum(each.numel() for each in model.parameters())
        if stage == FINETUNED and count <= MOST_IN_PAGE:
            weights = {key: each.detach().cpu() for key, each in model.named_parameters()}
            try:
                if variant == "rope":
                    rotations = rotations_of(submission, model)
            except Exception as caught:
                weights = None
                failed = in_short(caught, options.submission)
                missing.append(f"{name}, for a name of your own: {failed}")
        looks.append(Look(variant, stage, job and job.writes, seen, weights))
    if not any(look.source for look in looks):
        raise error
    numbers = {name: getattr(preset, name) for name in ("block_size", "n_layer", "n_head")}
    numbers |= {"n_embd": preset.n_embd, "parameters": count, "steps": steps}
    chars = [dataset.itos[token] for token in range(dataset.vocab_size)]
    return Found(chars, numbers, people, looks, rotations, missing)


def make(submission, job: Job | None, variant: str, config, options: Options):
    """The student's new model of a variant, with the weights of `job`, if there is one.

    Raises:
        UserError: as read_params; or a weight is infinite or NaN.
        NotImplementedError: the submission lacks a part of it.
    """
    seed_everything(options.seed)
    model = initialize(submission, variant, config)
    if job is None:
        return model
    path = options.out / job.writes
    state = read_params(path, model, job, job.target)
    for name, value in state.items():
        if not value.isfinite().all():
            raise UserError(
                f"{path} has weights that are not finite, in {name}: its training diverged."
            )
    model.load_state_dict(state)
    return model


@torch.no_grad()
def rotations_of(submission, model) -> torch.Tensor:
    """What the student's apply_rotary_emb does at each position, as matrices: it is linear, so the
    images of the unit vectors say it all.

    Returns:
        (T, head_dim, head_dim); row i of [t] is the image of unit vector i at position t.
    """
    table = model.blocks[0].attn.rope_cache.cpu()
    T, width = table.shape[0], 2 * table.shape[1]
    units = torch.eye(width).view(width, 1, 1, width).repeat(1, 1, T, 1)
    return submission.attention.apply_rotary_emb(units, table)[:, 0].transpose(0, 1)
