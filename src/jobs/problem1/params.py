"""Read weights for a model, with a clear message for everything that can be wrong with the file."""

from pathlib import Path

import torch

from common.files import UserError
from jobs.weights import why_no_state, why_unreadable


def read_params(path: Path, model, job, made_by: str) -> dict[str, torch.Tensor]:
    """Read a state_dict that fits a model; the model is not changed.

    Args:
        path: a file written by torch.save.
        model: the GPT that the weights are for.
        job: the jobs.Job that needs it; error messages name its target.
        made_by: the target that writes the file, for advice.

    Returns:
        The state_dict, on the CPU.

    Raises:
        UserError: the file is damaged, or of a model with other positions, sizes or vocabulary.
    """
    again = f"./run.sh {made_by} makes it again."
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds of errors for a damaged file
        why = why_unreadable(path, str(error))
        raise UserError(f"{path} is not a usable weights file. {why} {again}") from None
    wanted = model.state_dict()
    if isinstance(state, dict) and (why := why_no_state(map(str, state))):
        raise UserError(f"{path} is not a usable weights file. {why} {again}")
    if not isinstance(state, dict) or not all(
        isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in state.items()
    ):
        raise UserError(f"{path} is not a state_dict of tensors. {again}")
    if ("pos_emb" in state) != ("pos_emb" in wanted):
        found, needed = (
            ("learned positions", "RoPE") if "pos_emb" in state else ("RoPE", "learned positions")
        )
        raise UserError(
            f"{path} has the weights of a model with {found}, but {job.target} needs {needed}. "
            f"{again}"
        )
    sizes = [
        s["tok_emb.weight"].shape[0]
        for s in (state, wanted)
        if "tok_emb.weight" in s and s["tok_emb.weight"].dim() == 2
    ]
    if len(sizes) == 2 and sizes[0] != sizes[1]:
        raise UserError(
            f"{path} was made with a vocabulary of {sizes[0]} characters; the corpus has "
            f"{sizes[1]}. Use the --data that it was made with; {again}"
        )
    for name in sorted(wanted.keys() | state.keys()):
        if name not in state or name not in wanted or state[name].shape != wanted[name].shape:
            found, needed = (
                list(s[name].shape) if name in s else "missing" for s in (state, wanted)
            )
            raise UserError(
                f"{path} has the weights of a model of another size: {name} is {found} there and "
                f"{needed} in this model. Use the --preset that it was made with; {again}"
            )
    return state
