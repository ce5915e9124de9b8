"""Questions 6d and 6g: the output of attention along a pattern or across documents, its gradients,
and what it rejects.
"""

from dataclasses import dataclass

from autograder import Answer, WrongAnswer, describe, probe
from checks.problem6.q6d import given, shown
from checks.problem6.shared import CHANGED, UNREACHED, differentiate
from checks.support.asked import Asked, Close


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
        Answer(got, name).present()
        found = got if isinstance(got, dict) and "sums" in got else {"what": describe(got)}
        if found.get("what") != right["what"]:
            raise WrongAnswer(f"{name} should be {right['what']}; it is {found.get('what')}.")
        each = "each position" if right["stretch"] == 1 else f"{right['stretch']} positions each"
        words = f"{name}, summed over {each} with random signs"
        self._require(words, found["sums"], right["sums"])


@probe(uses=(given,))
def call_attention(function, q, k, v, arguments):
    """For other probes: run sparse_attention, cross_document_attention, or a SparseSelfAttention
    that passes its input on as q, k and v.
    """
    import torch

    from submission.problem6 import efficient_attention as student

    if function == "cross_document_attention":
        lengths, window = arguments["lengths"], arguments["window"]
        lengths = iter(lengths) if arguments["kind"] == "iterator" else lengths
        return student.cross_document_attention(q, k, v, lengths, window)
    pattern, chosen = given(**arguments)
    if function == "sparse_attention":
        globals_ = [chosen] if arguments["chosen"] else []
        return student.sparse_attention(q, k, v, pattern, *globals_)
    layer = student.SparseSelfAttention(q.size(3), 1, pattern)
    for linear in (layer.query, layer.key, layer.value, layer.proj):
        torch.nn.init.eye_(linear.weight)
        torch.nn.init.zeros_(linear.bias)
    return layer.eval()(q[:, 0], chosen)[:, None]


@probe(uses=(call_attention, summed, differentiate))
def attend(function, arguments, shape, dtype, scale, transposed, gradients, seed, stretch):
    """Run attention on random q (times `scale`), k and v: its output, which of them it changed, and
    gradients.
    """
    import numpy as np
    import torch

    # RandomState gives the same numbers in all NumPy versions
    draw, inputs = np.random.RandomState(seed).standard_normal, {}
    for name, factor in zip("qkv", (scale, 1, 1)):
        x = torch.from_numpy((factor * draw(tuple(shape))).astype("float32").astype(dtype))
        if transposed:  # the memory layout of heads after splitting
            x = x.transpose(1, 2).contiguous().transpose(1, 2)
        inputs[name] = x.requires_grad_(gradients)
    copies = {name: x.detach().clone() for name, x in inputs.items()}
    output = call_attention(function, *inputs.values(), arguments)
    changed = [name for name, x in inputs.items() if not torch.equal(x, copies[name])]
    found = differentiate([output], inputs if gradients else {})
    return {
        "output": summed(output, seed, stretch),
        "changed": changed,
        "unreached": found["unreached"],
        **{name: summed(found["gradients"].get(name), seed, stretch) for name in "qkv"},
    }


def written(inputs: dict) -> str:
    """The call as a student would write it."""
    arguments, given = inputs["arguments"], "q, k, v"
    if inputs["function"] == "cross_document_attention":
        lengths = arguments["lengths"]
        some = lengths if len(lengths) < 9 else f"{len(lengths)} times {lengths[0]}"
        some = f"iter({some})" if arguments["kind"] == "iterator" else some
        words = f"{some}, {arguments['window']}"
    else:
        given = given if inputs["function"] == "sparse_attention" else "x"
        words = shown(arguments)
    dtype = inputs.get("dtype", "float32")
    return f"{inputs['function']}({given}, {words}), with q {tuple(inputs['shape'])} {dtype}"


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
