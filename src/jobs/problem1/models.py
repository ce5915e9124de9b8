"""The model of a job: the student's, in a preset's sizes, and its weights, with a clear message for
everything that can be wrong with their file.
"""

from pathlib import Path

import torch

from common.files import UserError
from jobs.presets import Preset
from jobs.weights import why_no_state, why_unreadable


def new_model(submission, variant: str, vocab_size: int, preset: Preset):
    """A new model of the student's, a variant of the jobs.

    Raises:
        UserError: the student's function returned no module.
    """
    config = submission.GPTConfig(
        vocab_size,
        preset.block_size,
        n_layer=preset.n_layer,
        n_head=preset.n_head,
        n_embd=preset.n_embd,
        embd_pdrop=preset.dropout,
        resid_pdrop=preset.dropout,
        attn_pdrop=preset.dropout,
    )
    function = getattr(submission, f"initialize_{variant}_model")
    model = function(config)
    if not isinstance(model, torch.nn.Module):
        raise returned_wrongly(function, model)
    return model


def returned_wrongly(function, returned) -> UserError:
    """The error for a student's function that returned something else than it should."""
    value = " ".join(str(returned).split())[:100]
    return UserError(
        f"{function.__name__} in helper.py returned {value}. Its docstring says what it should "
        "return."
    )


def read_params(path: Path, model, target: str, made_by: str) -> dict[str, torch.Tensor]:
    """Read a state_dict that fits a model; the model is not changed.

    Args:
        path: a file written by torch.save.
        model: the GPT that the weights are for.
        target: of `./run.sh`, which needs them.
        made_by: the target that writes the file, for advice.

    Returns:
        The state_dict, on the CPU.

    Raises:
        UserError: the file is missing, damaged, or of a model with other positions, sizes or
            vocabulary.
    """
    if not path.is_file():
        raise UserError(
            f"{target} reads {path}, which is not there. First run, with the same options: "
            f"./run.sh {made_by}"
        )
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        why = why_no_state(map(str, state)) if isinstance(state, dict) else ""
    except Exception as error:  # torch raises many kinds of errors for a damaged file
        state, why = {}, why_unreadable(path, str(error))
    if why:
        why = f"is not a usable weights file. {why}"
    elif not isinstance(state, dict) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in state.items()
    ):
        why = "is not a state_dict of tensors."
    else:
        why = _misfit(state, model.state_dict(), target)
    if why:
        raise UserError(f"{path} {why} ./run.sh {made_by} makes it again.")
    return state


def _misfit(state, wanted, target):
    """Why the weights don't fit, or ""."""
    found, needed = ({name: [*v.shape] for name, v in each.items()} for each in (state, wanted))
    if ("pos_emb" in found) != ("pos_emb" in needed):
        kinds = ("learned positions", "RoPE")
        has, needs = kinds if "pos_emb" in found else kinds[::-1]
        return f"has the weights of a model with {has}, but {target} needs {needs}."
    vocabularies = [shapes.get("tok_emb.weight", [])[:1] for shapes in (found, needed)]
    if all(vocabularies) and vocabularies[0] != vocabularies[1]:
        return (
            f"was made with a vocabulary of {vocabularies[0][0]} characters; the corpus has "
            f"{vocabularies[1][0]}. Use the --data that it was made with;"
        )
    for name in sorted(found.keys() | needed.keys()):
        if found.get(name) != needed.get(name):
            return (
                f"has the weights of a model of another size: {name} is "
                f"{found.get(name, 'missing')} there and {needed.get(name, 'missing')} in this "
                "model. Use the --preset that it was made with;"
            )
    return ""
