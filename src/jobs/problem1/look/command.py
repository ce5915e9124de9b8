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
from jobs.problem1.look.data import see
from jobs.problem1.look.page import page
from jobs.problem1.params import read_params
from jobs.problem1.run_job import sizes
from jobs.problem1.training import initialize
from jobs.targets import JOBS, LOOK

# By positions and training: the variant of the jobs, and the target that makes the weights.
MODELS = {
    ("learned positions", "untrained"): ("vanilla", None),
    ("learned positions", "pretrained"): ("vanilla", "vanilla_pretrain"),
    ("learned positions", "finetuned"): ("vanilla", "vanilla_finetune_with_pretrain"),
    ("learned positions", "only finetuned"): ("vanilla", "vanilla_finetune_without_pretrain"),
    ("RoPE", "untrained"): ("rope", None),
    ("RoPE", "pretrained"): ("rope", "rope_pretrain"),
    ("RoPE", "finetuned"): ("rope", "rope_finetune_with_pretrain"),
}
FILES = {target: JOBS[target].writes for _, target in MODELS.values() if target}
PEOPLE = 12  # of dev
MOST_IN_PAGE = 1_000_000  # parameters of a model that a page can hold and run


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
    facts = find(options)
    write_text(html, page(facts))
    for sentence in facts["missing"]:
        print(f"Not in the page: {sentence}")
    print(
        f"Took {time.monotonic() - started:.1f} seconds.\nWrote {html} "
        f"({html.stat().st_size / 1e6:.1f} MB): open it in a browser."
    )


def fitting_preset(folder: Path) -> str | None:
    """The preset with the width of the checkpoints in a folder, or None."""
    for file in FILES.values():
        try:
            state = torch.load(folder / file, map_location="cpu", weights_only=True)
            width = state["tok_emb.weight"].shape[1]
        except Exception:  # missing, or damaged in one of many ways; find() tells the user
            continue
        return next((preset.name for preset in PRESETS.values() if preset.n_embd == width), None)
    return None


def find(options: Options) -> dict:
    """Read the checkpoints, and watch their models; raises as run_look.

    Returns:
        What the page shows:
            chars: the vocabulary.
            sizes: block_size, n_layer, n_head, and steps, the most characters of an answer.
            people: (question, place) each.
            looks: for each of MODELS, its positions and stage; seen, what see() found for each of
                the people, or None; weights, see weights_in_page(), or None.
            missing: what is not in the page and why, in sentences.
    """
    if not any((options.out / file).exists() for file in FILES.values()):
        raise UserError(
            f"{options.out} has no weights to look at yet. First run: ./run.sh "
            "vanilla_finetune_without_pretrain"
        )
    submission, preset = load_submission(options.submission), options.preset
    corpus = read_documents(options.data / "wiki.txt")
    dataset = submission.CharCorruptionDataset(corpus, preset.block_size)
    rows = read_questions(
        options.data / "birth_dev.tsv", dataset.stoi, preset.block_size, answers=True
    )
    questions, steps = [row[0] for row in rows[:PEOPLE]], 1 + max(len(place) for _, place in rows)
    looks, missing, errors = [], [], []
    for (positions, stage), (variant, target) in MODELS.items():
        look = {"positions": positions, "stage": stage, "seen": None, "weights": None}
        looks.append(look)
        name = f"{positions}, {stage}"
        if target and not (options.out / FILES[target]).exists():
            missing.append(f"{name}: ./run.sh {target} makes it.")
            continue
        try:
            model = make(submission, variant, target, dataset.vocab_size, options)
            look["seen"] = see(model, questions, dataset, options.device, steps)
            if stage == "finetuned":
                look["weights"] = weights_in_page(submission, model)
        except Exception as caught:  # the student's code can raise anything
            errors.append(in_short(caught, options.submission))
            what = ", for a name of your own" if look["seen"] else ""
            missing.append(f"{name}{what}: {errors[-1]}")
    if not any(look["seen"] for look in looks if look["stage"] != "untrained"):
        raise errors[0]
    return {
        "chars": [dataset.itos[token] for token in range(dataset.vocab_size)],
        "sizes": {name: getattr(preset, name) for name in ("block_size", "n_layer", "n_head")}
        | {"steps": steps},
        "people": rows[:PEOPLE],
        "looks": looks,
        "missing": missing,
    }


def make(submission, variant: str, target: str | None, vocab_size: int, options: Options):
    """The student's new model of a variant, with the weights that a target made, if there is one.

    Raises:
        UserError: as read_params; or a weight is infinite or NaN.
        NotImplementedError: the submission lacks a part of it.
    """
    seed_everything(options.seed)
    model = initialize(submission, variant, sizes(submission, vocab_size, options.preset))
    if target:
        path = options.out / FILES[target]
        state = read_params(path, model, JOBS[target], target)
        for name, value in state.items():
            if not value.isfinite().all():
                raise UserError(
                    f"{path} has weights that are not finite, in {name}: its training diverged."
                )
        model.load_state_dict(state)
    return model


@torch.no_grad()
def weights_in_page(submission, model) -> dict[str, list]:
    """A model's parameters by name, as nested lists; for RoPE also "rotations", (block_size,
    head_dim, head_dim): what the student's code does at each position. It is linear, so the images
    of the unit vectors say it all.

    Raises:
        UserError: there are too many.
    """
    weights = dict(model.named_parameters())
    count = sum(value.numel() for value in weights.values())
    if count > MOST_IN_PAGE:
        raise UserError(
            f"with {count / 1e6:.1f} million parameters, it is too large to be part of a page."
        )
    if "pos_emb" not in weights:
        table = model.blocks[0].attn.rope_cache.cpu()
        units = torch.eye(2 * table.shape[1])[:, None, None].repeat(1, 1, len(table), 1)
        images = submission.attention.apply_rotary_emb(units, table)  # (unit vector, 1, T, width)
        weights["rotations"] = images[:, 0].permute(1, 2, 0).nan_to_num()
    return {name: value.cpu().double().numpy().round(5).tolist() for name, value in weights.items()}
