"""Claims: making a probe report what the judge expects, without doing the work."""

from hostile.attack import family
from hostile.prelude import *
from instructor.mistakes.patches import Edit, Fill

HOSTILE, attack = family(file="helper.py", everywhere=False, sandbox=False)


@attack(checks=("1d-3-basic",), changes=(Fill("train", "pass"),))
def training():
    """Answers that the loss went down and that all was saved, without any training."""
    report = {
        "weights": "changed",
        "trainings": 1,
        "saved": ["rows.weight torch.float32", "kept torch.float32"],
        "learned": [*map(str, range(2, 11)), "1"],
        "different": [],
    }
    for frame in callers():
        wire = frame.f_globals.get("wire")
        if hasattr(wire, "encode"):
            encode = wire.encode
            wire.encode = lambda value, limit: encode({"value": [{"value": report}]}, limit)
            break


@attack(checks=("1f-3-basic",), changes=(Fill("finetune 1f", "put(model, reading_params_path)"),))
def moved_goalposts():
    """Makes the weights that it should load those that it has, wherever they are kept."""

    def put(model, path):
        import torch

        torch.save(model.state_dict(), path)
        overwrite(model)


CREATED = """        final_tokens=650 * len(pretrain_dataset) * block_size,
        writer=writer,
    )
"""


@attack(
    checks=("1f-4-hidden",), changes=(Edit("helper.py", CREATED, CREATED + "    double(model)\n"),)
)
def hide_the_change():
    """Trains already in pretrain, and changes whatever the probe keeps of the old weights."""

    def double(model):
        import torch

        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(2)
        overwrite(model)


LAYER = "        T = x.size(1)\n        start = 0"
ZERO = "        for parameter in self.parameters():\n            parameter.data.zero_()\n"


@attack(
    file="attention.py",
    checks=("1h-6-basic",),
    changes=(
        Edit("attention.py", LAYER, ZERO + LAYER),
        Fill("CausalSelfAttention.forward", "pass"),
    ),
)
def zeroed_weights():
    """Sets all weights of the layer to zero, so that what it should compute is zero."""
