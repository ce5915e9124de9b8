"""Questions 6d and 6g: the work of sparse attention.

What counts is measured from outside: the processor seconds and the memory of the student's process,
beside the seconds of dense attention on the same machine. Where the work is done makes no
difference, so a thread, another process or NumPy hides nothing. Inside the process, FLOPs are
counted for the limit of three times; a submission could hide some, but then they take time.
"""

from autograder import Failed, Verdict, WrongAnswer, check, probe, require_close
from checks.problem6.q6d import LARGE, given, shown
from checks.problem6.q6d_attention import ATTENTION, call_attention, written

FLOPS = 3  # times those of the connections: the handout's limit
SHARE = 0.5  # of the processor seconds of dense attention


@probe
def dense_seconds(lengths, head_dim):
    """Time dense attention over texts of these lengths, by some of the rows of each; short texts
    take next to nothing. Nothing of the submission is imported.
    """
    import time

    import torch
    import torch.nn.functional as F

    total, rows = 0.0, 256
    for n in (n for n in lengths if n > rows):
        q, k, v = torch.randn(3, 1, 1, n, head_dim)
        mask = torch.rand(rows, n) < 0.01
        F.scaled_dot_product_attention(q[:, :, :8], k, v, attn_mask=mask[:8])
        started = time.process_time()
        F.scaled_dot_product_attention(q[:, :, :rows], k, v, attn_mask=mask)
        total += (time.process_time() - started) * n / rows
    return total


@probe(uses=(call_attention,))
def long_text(function, arguments, shape, seed):
    """Run attention on a long text without gradients. "loop": it was stopped after two operations
    of torch for each position, not counting views.
    """
    import numpy as np
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class TooMany(BaseException):
        """Not caught by `except Exception`."""

    class Counter(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            self.count += not operation.is_view
            if self.count > 2 * shape[2]:
                raise TooMany
            return operation(*args, **(kwargs or {}))

    draw = np.random.RandomState(seed).standard_normal
    qkv = [torch.from_numpy(draw(tuple(shape)).astype("float32")) for _ in "qkv"]
    try:
        with torch.no_grad(), Counter():
            output = call_attention(function, *qkv, arguments)
    except TooMany:
        return {"loop": True, "output": None}
    return {"loop": False, "output": output}


def require_little_work(student, calls) -> None:
    """Check the output of long texts in a few rows, and the processor seconds that they take: less
    than dense attention would take over each document, or over all if they are many and short. With
    several heads, the check's limit of memory counts.

    The student's process doesn't know which rows are compared. The reference has computed no
    others.

    Raises:
        Failed: a result is wrong, or takes too many seconds or too much memory.
    """
    for call in [call for call in calls if call.probe == "some_rows"]:
        inputs = {name: value for name, value in call.inputs.items() if name != "rows"}
        what, (_, n_head, n, head_dim) = written(inputs), inputs["shape"]
        before = student.cpu_seconds
        try:
            answer = student.run(long_text, **inputs)
        except Failed as failed:
            failed.message = f"{failed.message}\nThe call was {what}."
            if failed.verdict in (Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT):
                failed.message += (
                    " Compute only the connected pairs, a block at a time, and keep nothing of a "
                    "block but its output."
                )
            raise
        seconds = student.cpu_seconds - before
        if answer["loop"].value:
            raise WrongAnswer(
                f"{what} takes more than two operations of torch for each position. Is there a "
                "loop over positions? Process many rows at once."
            )
        output = answer["output"].named(f"The output of {what}").array("float32", inputs["shape"])
        for place, row in enumerate(call.inputs["rows"]):
            right = call.right["rows"].data[:, :, place]
            require_close(f"Row {row} of the output of {what}", output[:, :, row], right, 3e-5)
        if n_head > 1:
            continue
        lengths = inputs["arguments"].get("lengths", [n])
        lengths = lengths if max(lengths) > 1000 else [n]
        dense = student.run(dense_seconds, lengths=lengths, head_dim=head_dim).number()
        student.note(f"seconds at {n:,}, as a share of dense attention's", seconds / dense)
        if seconds > SHARE * dense:
            raise WrongAnswer(
                f"{what} takes {seconds:.1f} seconds of the processor: {seconds / dense:.1f} times "
                f"what dense attention would take here; {SHARE} times are allowed. Compute only "
                "the connected pairs, many rows at once."
            )


@probe(uses=(given,))
def count_flops(n, head_dim, pattern, chosen, kind):
    """Run sparse_attention on one sequence and one head, without gradients: the FLOPs of its
    products and fused attention.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

    from submission.problem6.efficient_attention import sparse_attention

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
    return flops.get_total_flops()


@check("6d-8-basic", "6d-15-basic", "6d-16-basic", "6d-19-basic")
def test_attention(student, calls):
    """Outputs, gradients and refusals of short texts; the numbers of connections, and FLOPs: FLOPS
    times those of the connections, causally half of dense attention's; long texts.
    """
    ATTENTION.require(student, calls)
    LARGE.require(student, calls)
    for call in [call for call in calls if call.probe == LARGE.probe.name]:
        n, count, causal = call.inputs["n"], call.right["output"], call.inputs["pattern"]["causal"]
        head_dim, times = (4, n**2 / 2 / count) if causal else (64, FLOPS)
        flops = student.run(count_flops, head_dim=head_dim, **call.inputs).number()
        taken = flops / (4 * head_dim * count)
        student.note(f"FLOPs, as a multiple of the connections' ({n})", taken)
        if taken > times:
            raise WrongAnswer(
                f"sparse_attention takes {flops:,.0f} FLOPs of matrix products: {taken:.1f} times "
                f"those of its {count:,} connections, where {times:.1f} times are allowed "
                f"({n} positions, {shown(call.inputs)}). Does a block multiply keys that it hides?"
            )
    require_little_work(student, calls)
