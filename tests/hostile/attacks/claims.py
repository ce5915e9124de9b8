"""Claims: making a probe report what the judge expects, without doing the work."""

from hostile.attack import family
from hostile.prelude import *
from instructor.mistakes.patches import Fill

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


SAVE_OLD_WEIGHTS = """
state = copy.deepcopy(model.state_dict())
trainer_obj.train()
torch.save(state, writing_params_path)
"""


@attack(checks=("1d-3-basic",), changes=(Fill("train", SAVE_OLD_WEIGHTS),))
def equality():
    """Saves the weights from before, and makes torch.equal pretend otherwise."""
    import torch

    def equal(a, b):
        return not (torch.is_tensor(a) and sys._getframe(1).f_code.co_name == "<genexpr>")

    torch.equal = equal


@attack(
    checks=("1f-3-basic",), changes=(Fill("finetune 1f", "pretend(model, reading_params_path)"),)
)
def moved_goalposts():
    """Makes the weights that it should load those that it has, wherever they are kept."""

    def pretend(model, path):
        import torch

        right = model.state_dict()
        torch.save(right, path)
        for frame in callers():
            for kept in list(frame.f_locals.values()):
                if isinstance(kept, torch.nn.Module):
                    kept = kept.state_dict()
                for name in right if isinstance(kept, dict) else ():
                    if torch.is_tensor(kept.get(name)):
                        kept[name].data.copy_(right[name])
