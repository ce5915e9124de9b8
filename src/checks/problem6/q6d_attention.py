"""Question 6d, basic: the output of sparse_attention, its gradients, and what it rejects."""

from dataclasses import dataclass

import numpy as np

from autograder import NotImplementedYet, WrongAnswer, check, describe, probe
from autograder.inside.wire import Array
from checks.problem6.q6d import given, shown
from checks.support.asked import Asked, Close, Same


@probe
def summed(x, seed, stretch):
    """For other probes: what a tensor (B, n_head, n, head_dim) is, and the sum of the entries of
    each position, or each stretch of positions, with random signs, over the root of their number.

    Any wrong entry shows, and whole outputs would take too much room.
    """
    import numpy as np
    import torch

    if not isinstance(x, torch.Tensor) or x.dim() != 4:
        return x
    what = f"a {x.dtype} tensor of shape {tuple(x.shape)} on {x.device}".replace("torch.", "")
    entries = x.detach().cpu().double().numpy()
    entries = entries * (2 * np.random.RandomState(seed).randint(0, 2, x.shape) - 1)
    sums = np.add.reduceat(entries.sum(axis=(0, 1, 3)), np.arange(0, x.size(2), stretch))
    sums /= np.sqrt(stretch * x.size(0) * x.size(1) * x.size(3))
    return {
        "what": what,
        "stretch": stretch,
        "sums": sums.astype("float32" if x.dtype == torch.float32 else "float64"),
    }


@dataclass(frozen=True)
class Summed(Close):
    """What `summed` gives. An error of such a sum is about as large as those of single entries."""

    def require(self, call: str, got, right) -> None:
        """Compare two values of a reply; see `Asked`.

        Raises:
            WrongAnswer: they differ.
        """
        name = self.name.format(call=call)
        if right is None:  # no gradients were asked for
            return
        if got is None:
            raise NotImplementedYet(f"{name} is None. Is it filled in, and returned?")
        found = got if isinstance(got, dict) and "sums" in got else {"what": describe(got)}
        if found.get("what") != right["what"]:
            raise WrongAnswer(f"{name} should be {right['what']}; it is {found.get('what')}.")
        each = "each position" if right["stretch"] == 1 else f"{right['stretch']} positions each"
        sums, wanted = found["sums"], right["sums"]
        try:
            self._require(f"{name}, summed over {each} with random signs", sums, wanted)
        except WrongAnswer as wrong:
            alike = isinstance(sums, Array) and describe(sums) == describe(wanted)
            if not (alike and np.abs(sums.data - wanted.data).max() < 1e-3):
                raise
            # a known mistake's reply would look right
            advice = "It is nearly right. Is a part of it computed in a lower precision?"
            raise WrongAnswer(f"{wrong.message}\n{advice}", compared=wrong.compared) from None


@probe(uses=(given, summed))
def attend(shape, pattern, chosen, kind, dtype, scale, transposed, gradients, seed, stretch):
    """Run sparse_attention on random numbers: its output, which inputs it changed, and the
    gradients of sum(output * upstream).
    """
    import numpy as np
    import torch

    from submission.problem6.efficient_attention import sparse_attention

    # RandomState gives the same numbers in all NumPy versions
    draw, inputs = np.random.RandomState(seed).standard_normal, []
    drawn = [
        (factor * draw(tuple(shape))).astype("float32").astype(dtype) for factor in (scale, 1, 1, 1)
    ]
    for array in drawn[:3]:
        x = torch.from_numpy(array.copy())
        if transposed:  # the memory layout of heads after splitting
            x = x.transpose(1, 2).contiguous().transpose(1, 2)
        inputs.append(x.requires_grad_(gradients))
    pattern, positions = given(pattern, chosen, kind)
    output = sparse_attention(*inputs, pattern, *([positions] if chosen else []))
    changed = [
        name
        for name, x, array in zip("qkv", inputs, drawn)
        if not torch.equal(x.detach(), torch.from_numpy(array))
    ]
    if gradients and isinstance(output, torch.Tensor) and output.requires_grad:
        (output * torch.from_numpy(drawn[3])).sum().backward()
    return {
        "output": summed(output, seed, stretch),
        "changed": changed,
        "unreached": [name for name, x in zip("qkv", inputs) if gradients and x.grad is None],
        **{name: summed(x.grad, seed, stretch) for name, x in zip("qkv", inputs)},
    }


def written(inputs: dict) -> str:
    """The call as a student would write it."""
    return (
        f"sparse_attention(q, k, v, {shown(inputs)}), with {inputs['dtype']} of shape "
        f"{tuple(inputs['shape'])}"
    )


CHANGED = Same(
    "{call} changes its argument {got} in place (as q /= ... and functions whose name ends "
    "with _ do)."
)
UNREACHED = Same(
    "No gradient of {call} reaches {got}. Avoid .data, .detach(), .numpy(), .item() and "
    "torch.no_grad()."
)
GRADIENT = {"float32": 3e-4, "float64": 3e-9}
ATTENTION = Asked(
    attend,
    written,
    {
        # the handout's 1e-5 for each entry, and a margin: the errors of a sum add up
        "output": Summed(tolerance={"float32": 3e-5, "float64": 3e-10}),
        "changed": CHANGED,
        "unreached": UNREACHED,
        **{name: Summed(f"The gradient of {{call}} in {name}", GRADIENT) for name in "qkv"},
    },
)


@check("6d-15-basic", "6d-19-basic")
def test_attention(student, calls):
    """Output and gradients, or the exception that is raised; q6d_work.py has 6d-8."""
    ATTENTION.require(student, calls)
