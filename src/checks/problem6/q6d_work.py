"""Questions 6d and 6g: the work of sparse attention.

What counts is measured from outside: the processor seconds and the memory of the student's process,
beside the seconds of dense attention on the same machine. Where the work is done makes no
difference, so a thread, another process or NumPy hides nothing. Inside the process, FLOPs are
counted for the limit of three times; a submission could hide some, but then they take time.
"""

from autograder import Failed, Verdict, WrongAnswer, check, probe
from checks.problem6.q6d import Count, given, shown
from checks.problem6.q6d_attention import ATTENTION, Summed, summed
from checks.support.asked import Asked, Same

FLOPS = 3  # times those of the connections: the handout's limit
# Processor seconds, as shares of those of dense attention. In a short text, Python's own time
# counts for much.
SHORT, SHARES = 12_000, {"short": 1.5, "long": 0.5}


@probe
def dense_seconds(lengths, n_head, head_dim):
    """Time dense attention over texts of these lengths, by some of the rows of each; short texts
    take next to nothing. Nothing of the submission is imported.
    """
    import time

    import torch
    import torch.nn.functional as F

    total, rows = 0.0, 256
    for n in (n for n in lengths if n > rows):
        q, k, v = torch.randn(3, 1, n_head, n, head_dim)
        mask = torch.rand(rows, n) < 0.01
        F.scaled_dot_product_attention(q[:, :, :8], k, v, attn_mask=mask[:8])
        started = time.process_time()
        F.scaled_dot_product_attention(q[:, :, :rows], k, v, attn_mask=mask)
        total += (time.process_time() - started) * n / rows
    return total


@probe(uses=(given, summed))
def long_text(function, shape, seed, operations, arguments):
    """Run sparse_attention, cross_document_attention, or a SparseSelfAttention that passes its
    input on as q, k and v, on a long text without gradients. "loop": it was stopped after so many
    operations of torch (not counting views; None: no limit).
    """
    import contextlib

    import numpy as np
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    from submission.problem6 import efficient_attention as student

    class TooMany(BaseException):
        """Not caught by `except Exception`."""

    class Counter(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            self.count += not operation.is_view
            if self.count > operations:
                raise TooMany
            return operation(*args, **(kwargs or {}))

    draw = np.random.RandomState(seed).standard_normal
    q, k, v = (torch.from_numpy(draw(tuple(shape)).astype("float32")) for _ in "qkv")
    if function != "cross_document_attention":
        pattern, chosen = given(**arguments)
    try:
        with torch.no_grad(), Counter() if operations else contextlib.nullcontext():
            if function == "cross_document_attention":
                output = student.cross_document_attention(q, k, v, **arguments)
            elif function == "sparse_attention":
                output = student.sparse_attention(q, k, v, pattern, chosen)
            else:
                layer = student.SparseSelfAttention(shape[3], 1, pattern)
                for linear in (layer.query, layer.key, layer.value, layer.proj):
                    torch.nn.init.eye_(linear.weight)
                    torch.nn.init.zeros_(linear.bias)
                output = layer.eval()(q[:, 0], chosen)[:, None]
    except TooMany:
        return {"loop": True, "output": None}
    return {"loop": False, "output": summed(output, seed, 1000)}


def text_as_written(inputs: dict) -> str:
    """The call as a student would write it."""
    function, arguments = inputs["function"], inputs["arguments"]
    if function == "cross_document_attention":
        lengths = arguments["lengths"]
        some = lengths if len(lengths) < 9 else f"{len(lengths)} times {lengths[0]}"
        words = f"q, k, v, {some}, {arguments['window']}"
    else:
        words = f"{'q, k, v' if function == 'sparse_attention' else 'x'}, {shown(arguments)}"
    return f"{function}({words}), with q of shape {tuple(inputs['shape'])}"


LONG = Asked(
    long_text,
    text_as_written,
    {
        "loop": Same(
            "{call} takes more than two operations of torch for each position. Is there a loop "
            "over positions? Process many rows at once."
        ),
        "output": Summed(tolerance={"float32": 1e-4}),
    },
    causes=False,  # dense attention would take minutes
)


def require_little_work(student, calls, dense=None) -> None:
    """Check the results of long texts, and the processor seconds that they take: less than dense
    attention would take over texts of some lengths.

    Args:
        dense: the lengths, as a function of a call's inputs; None: that of the whole text if it has
            one head. Where there are none, the check's limit of memory counts.

    Raises:
        Failed: a result is wrong, or takes too many seconds or too much memory.
    """
    for call in [call for call in calls if call.probe == LONG.probe.name]:
        what, (_, n_head, n, head_dim) = LONG.written(call), call.inputs["shape"]
        before = student.cpu_seconds
        try:
            LONG.require(student, [call])
        except Failed as failed:
            if failed.verdict in (Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT):
                failed.message = (
                    f"{what} takes too much: {failed.message}\nCompute only the connected pairs, a "
                    "block at a time, and keep nothing of a block but its output."
                )
            raise
        seconds = student.cpu_seconds - before
        lengths = dense(call.inputs) if dense else [n] * (n_head == 1)
        if not lengths:
            continue
        sizes = {"n_head": n_head, "head_dim": head_dim}
        share = seconds / student.run(dense_seconds, lengths=lengths, **sizes).number()
        most = SHARES["short" if n <= SHORT else "long"]
        student.note(f"seconds at {n:,}, as a share of dense attention's", share)
        if share > most:
            raise WrongAnswer(
                f"{what} takes {seconds:.1f} seconds of the processor: {share:.1f} times what "
                f"dense attention would take here; {most:g} times are allowed. Compute only the "
                "connected pairs, many rows at once."
            )


@probe(uses=(given,))
def counted(n, head_dim, pattern, chosen, kind):
    """Run count_connections; and sparse_attention on one sequence and one head, without gradients:
    the FLOPs of its products and fused attention.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

    from submission.problem6.efficient_attention import count_connections, sparse_attention

    def fused(q, k, v, *args, out_shape=None, **kwargs):  # on the CPU, unknown to flop_counter
        return sdpa_flop_count(q, k, v)

    # For matrices that may be sparse: flop_counter treats them as dense.
    def product(a, b, *args, out_val=None, **kwargs):
        numbers = a.numel() if a.layout == torch.strided else a.values().numel()
        return 2 * numbers * b.shape[-1]

    def added(_, *args, **kwargs):
        return product(*args, **kwargs)

    product._get_raw = added._get_raw = True
    aten = torch.ops.aten
    known = {
        aten._scaled_dot_product_flash_attention_for_cpu: fused,
        aten.mm: product,
        aten.addmm: added,
        aten.mv: lambda a, *args, out_shape=None, **kwargs: 2 * a[0] * a[1],
    }
    q, k, v = torch.randn(3, 1, 1, n, head_dim)
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=known) as flops:
        sparse_attention(q, k, v, *given(pattern, chosen, kind))
    count = count_connections(n, *given(pattern, chosen, kind))
    return {"count": count, "flops": flops.get_total_flops()}


COUNTED = Asked(
    counted,
    lambda inputs: f"count_connections({inputs['n']}, {shown(inputs)})",
    {"count": Count()},
    causes=False,
)


def require_few_flops(student, calls) -> None:
    """Check the numbers of connections, and that sparse_attention takes few FLOPs: FLOPS times
    those of the connections; causally half of dense attention's.

    Raises:
        WrongAnswer: a number is wrong, or there are more FLOPs.
    """
    calls = [call for call in calls if call.probe == COUNTED.probe.name]
    for call, reply in zip(calls, COUNTED.require(student, calls)):
        n, count, flops = call.inputs["n"], call.right["count"], reply["flops"].number()
        times = n**2 / 2 / count if call.inputs["pattern"]["causal"] else FLOPS
        taken = flops / (4 * call.inputs["head_dim"] * count)
        student.note(f"FLOPs, as a multiple of the connections' ({n})", taken)
        if taken > times:
            raise WrongAnswer(
                f"sparse_attention takes {flops:,.0f} FLOPs of matrix products: {taken:.1f} times "
                f"those of its {count:,} connections, where {times:.1f} times are allowed "
                f"({n} positions, {shown(call.inputs)}). Does a block multiply keys that it hides?"
            )


@check("6d-8-basic", "6d-16-basic")
def test_work(student, calls):
    """The output of short texts; connections and FLOPs; long texts."""
    require_work(student, calls)


def require_work(student, calls) -> None:
    """Judge the calls of each probe; also for the hidden checks."""
    ATTENTION.require(student, calls)
    require_few_flops(student, calls)
    require_little_work(student, calls)
