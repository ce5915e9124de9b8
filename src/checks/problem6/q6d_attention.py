"""Questions 6d, step 2, basic, and 6g: attention along a pattern or across documents, its gradients
and its work.

What counts of the work is measured from outside: the processor seconds and the memory of the
student's process, beside the seconds of dense attention on the same machine. Where the work is done
makes no difference, so a thread, another process or NumPy hides nothing. Inside the process, FLOPs
are counted for the limit of three times; a submission could hide some, but then they take time.
"""

from dataclasses import dataclass

from autograder import Answer, Failed, Verdict, WrongAnswer, probe
from checks.problem6.q6d import given, shown
from checks.support.asked import Asked, Close, Same
from checks.support.gradients import UNREACHED, differentiate
from checks.support.unchanged import Unchanged, summarize

FLOPS = 3  # times those of the connections: the handout's limit
TIMED = 10_000  # positions and more; with fewer, starting a process would count too much


@probe
def summed(x, seed, stretch):
    """For other probes: what a tensor (B, n_head, n, head_dim) is, and the sum of the entries of
    each position, or each stretch of positions, with random signs, over the root of their number.

    Any wrong entry shows, and whole outputs would take too much room. An error of such a sum is
    about as large as those of single entries.
    """
    import numpy as np
    import torch

    if x is None:
        return None
    says = f"sums of {stretch} positions each, with random signs"
    what = f"{type(x).__name__} of shape {tuple(getattr(x, 'shape', ()))}"
    what = f"{x.dtype} {what} on {x.device}" if isinstance(x, torch.Tensor) else what
    if not isinstance(x, torch.Tensor) or x.dim() != 4:
        return {"type": what, says: None}
    entries = x.detach().cpu().double().numpy()
    entries = entries * (2 * np.random.RandomState(seed).randint(0, 2, x.shape) - 1)
    sums = np.add.reduceat(entries.sum(axis=(0, 1, 3)), np.arange(0, x.size(2), stretch))
    sums /= np.sqrt(stretch * x.size(0) * x.size(1) * x.size(3))
    return {"type": what, says: sums.astype("float32" if x.dtype == torch.float32 else "float64")}


@probe(uses=(given,))
def call_attention(function, q, k, v, arguments):
    """For other probes: run sparse_attention, cross_document_attention, or a SparseSelfAttention
    that passes its input on as q, k and v.
    """
    import torch

    from submission.problem6 import efficient_attention as student

    if function == "cross_document_attention":
        lengths, kinds = arguments["lengths"], {"list": list, "iterator": iter}
        lengths = kinds[kind](lengths) if (kind := arguments["kind"]) in kinds else lengths
        return student.cross_document_attention(q, k, v, lengths, arguments["window"])
    pattern, chosen = given(**arguments)
    if function == "sparse_attention":
        globals_ = [chosen] if arguments["chosen"] else []
        return student.sparse_attention(q, k, v, pattern, *globals_)
    layer = student.SparseSelfAttention(q.size(3), 1, pattern)
    for linear in (layer.query, layer.key, layer.value, layer.proj):
        torch.nn.init.eye_(linear.weight)
        torch.nn.init.zeros_(linear.bias)
    return layer.eval()(q[:, 0], chosen)[:, None]


@probe(uses=(call_attention, summed, differentiate, summarize))
def attend(function, arguments, shape, dtype, scale, transposed, gradients, seed, stretch):
    """Run attention on random q (times `scale`), k and v: its output, these afterwards, and
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
    with torch.set_grad_enabled(gradients):
        output = call_attention(function, *inputs.values(), arguments)
    found = differentiate([output], inputs if gradients else {})
    return {
        "output": summed(output, seed, stretch),
        "arguments": summarize({**inputs, "lengths": arguments.get("lengths")}),
        "unreached": found["unreached"],
        **{name: summed(found["gradients"].get(name), seed, stretch) for name in "qkv"},
    }


@probe(uses=(attend,))
def attend_long(**inputs):
    """Run attention on a long text. "loop" says that it was stopped after two operations of torch
    for each position, not counting views. Along a pattern, and in texts of up to 10,000 positions,
    "work" has the FLOPs of products and fused attention for each number of a head. (In longer ones,
    counting them would take longer than they do.)
    """
    import contextlib

    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

    from submission.problem6.efficient_attention import count_connections

    class TooMany(BaseException):
        """Not caught by `except Exception`."""

    class Counter(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            self.count += not operation.is_view
            if self.count > 2 * n:
                raise TooMany
            return operation(*args, **(kwargs or {}))

    def fused(q, k, v, *args, out_shape=None, **kwargs):  # on the CPU, unknown to flop_counter
        return sdpa_flop_count(q, k, v)

    # For matrices that may be sparse: flop_counter treats them as dense.
    def product(a, b, *args, out_val=None, **kwargs):
        numbers = a.numel() if a.layout == torch.strided else a.values().numel()
        return 2 * numbers * b.shape[-1]

    def added(_, *args, **kwargs):
        return product(*args, **kwargs)

    B, n_head, n, head_dim = inputs["shape"]
    product._get_raw = added._get_raw = True
    aten = torch.ops.aten
    known = {
        aten._scaled_dot_product_flash_attention_for_cpu: fused,
        aten.mm: product,
        aten.addmm: added,
        aten.mv: lambda a, *args, out_shape=None, **kwargs: 2 * a[0] * a[1],
    }
    counts_work = inputs["function"] == "sparse_attention" and n <= 10_000
    flops = FlopCounterMode(display=False, custom_mapping=known)
    try:
        with Counter(), flops if counts_work else contextlib.nullcontext():
            reply = attend(**inputs)
    except TooMany:
        return {"loop": True}
    work = None
    if counts_work:
        work = {
            "products": flops.get_total_flops() / (4 * head_dim * B * n_head),
            "connections": count_connections(n, *given(**inputs["arguments"])),
            "pairs": n**2,
        }
    return {"loop": False, "work": work, **reply}


def attention_as_written(inputs: dict) -> str:
    """A call of attention as a student would write it."""
    arguments, function = inputs["arguments"], inputs["function"]
    if function == "cross_document_attention":
        lengths = arguments["lengths"]
        some = lengths if len(lengths) < 9 else f"{len(lengths)} times {lengths[0]}"
        some = f"iter({some})" if arguments["kind"] == "iterator" else some
        words = f"{some}, {arguments['window']}"
    else:
        words = shown(**arguments)
    x = "x" if function == "SparseSelfAttention" else "q, k, v"
    return f"{function}({x}, {words}), with q {tuple(inputs['shape'])} {inputs['dtype']}"


@dataclass(frozen=True)
class Work:
    """FLOPs of at most FLOPS times those of the connections, or of half of all pairs."""

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if there are more; see `Asked`."""
        if right is None:  # not counted
            return
        products, count = Answer(got, call)["products"].number(), right["connections"]
        allowed = max(FLOPS * count, right["pairs"] / 2)
        if products > allowed:
            raise WrongAnswer(
                f"{call}, takes the FLOPs of {products:,.0f} connections in each head, where there "
                f"are {count:,} and {allowed / count:.1f} times as many are allowed. Does a block "
                "multiply keys that it hides?"
            )


@probe
def seconds_of_a_pair():
    """Time dense attention over 20,000 positions by some of its rows: the seconds for each pair, in
    the fastest of ten runs. (While another process shares the core, they take twice as long.) By
    the clock, since a virtual machine may count no processor seconds for a while. Nothing of the
    submission is imported.
    """
    import time

    import torch
    import torch.nn.functional as F

    q, k, v = torch.randn(3, 1, 1, 20_000, 4)
    mask = torch.rand(128, 20_000) < 0.01
    seconds = []
    for _ in range(10):
        started = time.perf_counter()
        F.scaled_dot_product_attention(q[:, :, :128], k, v, attn_mask=mask)
        seconds.append(time.perf_counter() - started)
    return min(seconds) / mask.numel()


@dataclass(frozen=True)
class Metered(Asked):
    """Long texts: beside the replies, the seconds of each call are judged. They are less than dense
    attention would take over each document, or over all if they are many and short. The memory has
    the check's limit.
    """

    def require(self, student, calls) -> list[Answer]:
        """As Asked.require.

        Raises:
            Failed: a result is wrong, or takes too much work or memory.
        """
        replies = []
        for call in (call for call in calls if call.asked == self.name):
            before = student.cpu_seconds
            try:
                replies += super().require(student, [call])
            except Failed as failed:
                if failed.verdict in (Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT):
                    failed.message += (
                        f"\nThe call was {self.written(call)}. Compute only the connected pairs, a "
                        "block at a time, and keep nothing of a block but its output."
                    )
                raise
            self._require_few(student, call, student.cpu_seconds - before)
        return replies

    def _require_few(self, student, call, seconds):
        n = call.inputs["shape"][2]
        if n < TIMED:
            return
        lengths = call.inputs["arguments"].get("lengths", [n])
        lengths = lengths if max(lengths) > 1000 else [n]
        pair = student.once("dense", lambda rng: student.run(seconds_of_a_pair).number())
        dense = pair * sum(length**2 for length in lengths)
        student.note(f"seconds at {n:,}, as a share of dense attention's", seconds / dense)
        if seconds > dense:
            raise WrongAnswer(
                f"{self.written(call)} takes {seconds:.1f} seconds, more than the {dense:.1f} that "
                "dense attention would take here. Compute only the connected pairs, many rows at "
                "once."
            )


# the handout's 1e-5 for each entry, and a margin: the errors of a sum add up
OUTPUT = Close("The output of {call}", {"float32": 3e-5, "float64": 3e-10})
GRADIENT = {"float32": 3e-4, "float64": 3e-9}
ATTENTION = Asked(
    attend,
    attention_as_written,
    {
        "output": OUTPUT,
        "arguments": Unchanged(),
        "unreached": UNREACHED,
        **{name: Close(f"The gradient of {{call}} in {name}", GRADIENT) for name in "qkv"},
    },
)
LONG = Metered(
    attend_long,
    attention_as_written,
    {
        "loop": Same(
            "{call} takes more than two operations of torch for each position. Is there a loop "
            "over positions? Process many rows at once."
        ),
        "output": OUTPUT,
        "work": Work(),
    },
    causes=False,  # dense attention takes too long
)
