"""./run.sh look: a page of the student's own checkpoints, look.html."""

import argparse
import time
import traceback
from pathlib import Path

import torch

from common.files import UserError, write_text
from jobs.options import STARTER, Options, choose_options
from jobs.package import load_submission, seed_everything
from jobs.presets import PRESETS
from jobs.problem1.answers import as_place, cache_works, generate
from jobs.problem1.data import Data
from jobs.problem1.look.page import page
from jobs.problem1.models import new_model, read_params
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
            state = torch.load(folder / file, "cpu", weights_only=True)
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
            looks: for each of MODELS, its name, positions and stage; seen, what see() found for
                each of the people, or None; weights, see weights_in_page(), or None.
            missing: what is not in the page and why, in sentences.
    """
    if not any((options.out / file).exists() for file in FILES.values()):
        raise UserError(
            f"{options.out} has no weights to look at yet. First run, with the same "
            "options: ./run.sh vanilla_finetune_without_pretrain"
        )
    submission, preset = load_submission(options.submission), options.preset
    data = Data(options.data, preset.block_size)
    dataset = submission.CharCorruptionDataset(data.corpus, preset.block_size)
    rows = data.questions("dev")
    questions, steps = [row[0] for row in rows[:PEOPLE]], 1 + max(len(place) for _, place in rows)
    numbers = {name: getattr(preset, name) for name in ("block_size", "n_layer", "n_head")}
    looks, missing, errors = [], [], []
    for (positions, stage), (variant, target) in MODELS.items():
        name, path = f"{positions}, {stage}", target and options.out / FILES[target]
        look = {"name": name, "positions": positions, "stage": stage, "seen": None, "weights": None}
        looks.append(look)
        if path and not path.exists():
            missing.append(f"{name}: ./run.sh {target} makes it.")
            continue
        try:
            seed_everything(options.seed)
            model = new_model(submission, variant, dataset.vocab_size, preset)
            if path:
                state = read_params(path, model, target, target)
                for key, value in state.items():
                    if not value.isfinite().all():
                        raise UserError(
                            f"{path} has weights that are not finite, in {key}: its training "
                            "diverged."
                        )
                model.load_state_dict(state)
            look["seen"] = see(model, questions, dataset, options.device, steps)
            if stage == "finetuned":
                look["weights"] = weights_in_page(submission, model)
        except Exception as caught:  # the student's code can raise anything
            errors.append(_in_short(caught, options.submission.resolve()))
            what = ", for a name of your own" if look["seen"] else ""
            missing.append(f"{name}{what}: {errors[-1]}")
    if not any(look["seen"] for look in looks if look["stage"] != "untrained"):
        raise errors[0]
    return {
        "chars": [dataset.itos[token] for token in range(dataset.vocab_size)],
        "sizes": numbers | {"steps": steps},
        "people": rows[:PEOPLE],
        "looks": looks,
        "missing": missing,
    }


def _in_short(error, folder):
    """The error, if it is written for users; else a UserError of one line, which says where in the
    folder's code it was raised, if it was raised there.
    """
    if isinstance(error, (UserError, NotImplementedError)):
        return error
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if Path(frame.filename).is_relative_to(folder):
            where = f"{Path(frame.filename).relative_to(folder)}, line {frame.lineno}: "
    reason = str(error).partition("\n")[0]
    return UserError(f"{where}{type(error).__name__}: {reason}", 1)


@torch.no_grad()
def see(model, questions: list[str], dataset, device: str, steps: int) -> list[dict]:
    """Ask a GPT questions without MASK; answers have at most `steps` characters. The model is moved
    to the device, put into eval mode, and watched from then on.

    Returns:
        For each question, where heads are counted through the layers:
            tokens: T of them: the question, MASK, the answer and, if the model ended it, MASK.
            answer: the place, as an evaluation would write it.
            muted: the answer without each head: with zeros in its columns of proj's weight.
            next: (T, vocab_size), the probabilities of the token after each.
            attention: (heads, T, T); None if the code doesn't pass its weights to attn_drop, as the
                given code does.
    """
    model.to(device).eval()
    stop, n_head = dataset.stoi[dataset.MASK_CHAR], model.config.n_head
    prompts = [
        torch.tensor([dataset.stoi[ch] for ch in question + dataset.MASK_CHAR], device=device)
        for question in questions
    ]
    cached = cache_works(model, prompts[0][None])
    answers = generate(model, prompts, steps, stop, cached)
    muted = []
    for block in model.blocks:
        for columns in block.attn.proj.weight.chunk(n_head, dim=1):
            kept = columns.clone()
            columns.zero_()
            without = generate(model, prompts, steps, stop, cached)
            muted.append([as_place(answer, dataset) for answer in without])
            columns.copy_(kept)
    result, weights = [], []
    for block in model.blocks:
        if hasattr(block.attn, "attn_drop"):
            block.attn.attn_drop.register_forward_hook(lambda *call: weights.append(call[-1]))
    for prompt, answer, without in zip(prompts, answers, zip(*muted)):
        ended = len(answer) < steps and len(prompt) + len(answer) < model.get_block_size()
        text, T = prompt.tolist() + answer + [stop] * ended, len(prompt) + len(answer) + ended
        weights.clear()
        logits = model(torch.tensor([text], device=device))[0][0].float()
        shown = [each.shape for each in weights] == [(1, n_head, T, T)] * len(model.blocks)
        result.append(
            {
                "tokens": text,
                "answer": as_place(answer, dataset),
                "muted": without,
                "next": logits.softmax(dim=-1).cpu(),
                "attention": torch.cat(weights, dim=1)[0].float().cpu() if shown else None,
            }
        )
    return result


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
