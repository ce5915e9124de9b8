"""Claims: making a probe report what the judge expects, without doing the work."""

from hostile.attack import Hostile
from instructor.mistakes.patches import Edit, Fill

FIND = """
def replace_everywhere(model):
    # In every model and dict of weights that a caller has.
    import torch
    right, caller = model.state_dict(), sys._getframe()
    while caller:
        for value in list(caller.f_locals.values()):
            if isinstance(value, torch.nn.Module):
                value = value.state_dict()
            if not isinstance(value, dict) or value.keys().isdisjoint(right):
                continue
            for name in right:
                if torch.is_tensor(value.get(name)):
                    value[name].data.copy_(right[name])
        caller = caller.f_back
"""


def claims(name, tries, seen, code, checks, changes, file="helper.py", **more):
    """Make an attack on what a probe reports. It earns nothing, since the work was not done."""
    return Hostile(
        name,
        tries,
        seen,
        FIND + code,
        file=file,
        checks=checks,
        changes=changes,
        everywhere=False,
        sandbox=False,
        **more,
    )


HOSTILE = [
    claims(
        "claim-training",
        "Answers that the loss went down and that all was saved, without any training.",
        "What there is to learn is drawn.",
        """
report = dict(weights="changed", trainings=1, saved=["rows.weight torch.float32", "kept torch.float32"],
              learned=[str(n) for n in range(2, 11)] + ["1"], different=[])
caller = sys._getframe()
while caller:
    wire = caller.f_globals.get("wire")
    if hasattr(wire, "encode"):
        original = wire.encode
        wire.encode = lambda value, limit: original({"value": [{"value": report}]}, limit)
        break
    caller = caller.f_back
""",
        ("1d-3-basic",),
        (Fill("train", "pass"),),
    ),
    claims(
        "claim-equality",
        "Lets the Trainer train, saves the weights from before, and makes torch.equal and "
        "torch.load pretend otherwise.",
        "The judge reads the file itself.",
        """
import torch
torch.equal = lambda a, b: False if torch.is_tensor(a) and sys._getframe(1).f_code.co_name == "<genexpr>" else True
""",
        ("1d-3-basic",),
        (
            Fill(
                "train",
                "state = copy.deepcopy(model.state_dict())\ntrainer_obj.train()\n"
                "torch.save(state, writing_params_path)",
            ),
        ),
    ),
    claims(
        "zeroed-weights",
        "Sets all weights of the attention layer to zero when it is run, so that what it should "
        "compute is zero.",
        "The judge uses the weights that it has drawn itself.",
        "",
        ("1h-6-basic",),
        (
            Edit(
                "attention.py",
                "        T = x.size(1)\n        start = 0",
                "        for parameter in self.parameters():\n"
                "            parameter.data.zero_()\n        T = x.size(1)\n        start = 0",
            ),
            Fill("CausalSelfAttention.forward", "pass"),
        ),
    ),
    claims(
        "move-the-goalposts",
        "Makes the weights that it should load those that it has: in the file, and in whatever the "
        "probe keeps.",
        "The judge knows which weights were to be loaded.",
        """
def pretend(model, path):
    import torch
    torch.save(model.state_dict(), path)
    replace_everywhere(model)
""",
        ("1f-3-basic",),
        (Fill("finetune 1f", "pretend(model, reading_params_path)"),),
    ),
    claims(
        "hide-the-change",
        "Trains already in pretrain, and changes whatever the probe keeps of the old weights.",
        "The judge knows the weights that it has sent.",
        "",
        ("1f-4-hidden",),
        (
            Edit(
                "helper.py",
                "        warmup_tokens=512 * 20,\n"
                "        final_tokens=650 * len(pretrain_dataset) * block_size,\n"
                "        writer=writer,\n    )\n",
                "                          warmup_tokens=512 * 20, final_tokens=650 * "
                "len(pretrain_dataset) * block_size, writer=writer)\n    with torch.no_grad():\n"
                "        for parameter in model.parameters():\n            parameter.mul_(2)\n"
                "    replace_everywhere(model)\n",
            ),
        ),
    ),
]
