"""What a file is that should be a model's weights, but isn't. Imports no torch, so that the grader
can ask before the submission's process has read the file.
"""

import io
import os
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

SAVE = "Save the weights alone: torch.save(model.state_dict(), path)."

# How files begin that people hand in instead.
BEGINNINGS = {
    rb"version https://git-lfs": "It is a pointer of Git LFS, not the file that it stands for: "
    "`git lfs pull` fetches that.",
    rb"(?i)\s*<(!doctype|html|\?xml)": "It is a web page, as after a download that needs a login. "
    "Download the file again.",
    rb'(?s).{8}\s*\{"': f"It is a safetensors file. {SAVE}",
}
# What wrappers call the model in them.
WRAPPERS = {
    "_orig_mod": "torch.compile",
    "module": "DataParallel or DistributedDataParallel",
    "_fsdp_wrapped_module": "FullyShardedDataParallel",
}
# What checkpoints call their parts.
PARTS = {"model", "model_state_dict", "net", "params", "state_dict"}
PARTS |= {"optimizer", "optimizer_state_dict", "epoch"}


def why_unreadable(path: Path, error: str) -> str:
    """Why torch.load(path, weights_only=True) fails, in sentences that say what to do; error: what
    torch said.
    """
    with path.open("rb") as file:
        beginning = file.read(200)
    if not beginning:
        return "It is empty: 0 bytes. Was it saved, or downloaded, to the end?"
    if why := why_other(beginning):
        return why
    if "GLOBAL" in error:
        return f"It is a whole Python object, such as a model. {SAVE}"
    return f"It is damaged, or was not written by torch.save. {SAVE}"


def why_other(content: bytes) -> str:
    """What a file is instead of a result, by its beginning, and what to do; "" if unknown."""
    return next((why for pattern, why in BEGINNINGS.items() if re.match(pattern, content)), "")


def why_cut_off(content: bytes) -> str:
    """Why these bytes are not all of a file that torch.save wrote; "" if they may be: it writes
    zips, or, if asked to, pickles.
    """
    if content.startswith(b"PK") and not zipfile.is_zipfile(io.BytesIO(content)):
        return "It ends too early, as after a copy or a training that was broken off."
    return "" if content.startswith((b"PK", b"\x80")) else "It was not written by torch.save."


def why_no_state(names: Iterable[str]) -> str:
    """Why a dict with these keys is not the state_dict of a model, in sentences that say what to
    do; "" if it may be one.
    """
    names = [*names]
    if not names:
        return f"It is an empty dict. {SAVE}"
    start = os.path.commonprefix(names)
    prefix = start[: start.rfind(".") + 1]
    if len(names) > 1 and prefix:
        known = [WRAPPERS[part] for part in prefix.split(".") if part in WRAPPERS]
        return (
            f"All names in it begin with {prefix!r}, which "
            f"{' and '.join(known) or 'a module around the model'} puts before them. Save "
            f"model.{prefix}state_dict() instead."
        )
    if found := sorted(PARTS & {*names}):
        return f"It is a checkpoint, a dict with {', '.join(map(repr, found))}. {SAVE}"
    return ""
