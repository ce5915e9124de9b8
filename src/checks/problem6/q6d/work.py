"""Measures the work of sparse attention.

What counts is measured from outside: the processor seconds and the memory of the student's process,
beside the seconds of dense attention on the same machine. Where the work is done makes no
difference, so a thread, another process or NumPy hides nothing. Inside the process, FLOPs are
counted for the limit of three times; a submission could hide some, but then they take time.
Shared by the checks of questions 6d and 6g.
"""

import numpy as np

from autograder import Failed, Verdict, WrongAnswer, probe
from checks.problem6.q6d.rows import describe, given
from checks.support.cases import Case

FLOPS = 3  # times those of the connections: the handout's limit
TOLERANCE = 1e-5
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


@probe
def long_inputs(case):
    """Draw q, k and v of a long text, (1, n_head, n, head_dim), from its seed."""
    import numpy as np

    draw = np.random.RandomState(case["seed"]).standard_normal
    shape = 1, case["n_head"], case["n"], case["head_dim"]
    return [draw(shape).astype("float32") for _ in "qkv"]


@probe(uses=(given, long_inputs))
def long_text(case, operations):
    """Attend over a long text without gradients: by cross_document_attention if there are lengths;
    by a module that passes its input on as q, k and v; or by sparse_attention. "loop": it was
    stopped after so many operations of torch (not counting views; None: no limit).
    """
    import contextlib

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

    q, k, v = map(torch.from_numpy, long_inputs(case))
    try:
        with torch.no_grad(), Counter() if operations else contextlib.nullcontext():
            if "lengths" in case:
                return student.cross_document_attention(q, k, v, case["lengths"], case["window"])
            pattern, chosen = given(case["spec"])
            if not case["module"]:
                return student.sparse_attention(q, k, v, pattern, chosen)
            layer = student.SparseSelfAttention(case["head_dim"], 1, pattern)
            for linear in (layer.query, layer.key, layer.value, layer.proj):
                torch.nn.init.eye_(linear.weight)
                torch.nn.init.zeros_(linear.bias)
            return layer.eval()(q[:, 0], chosen)[:, None]
    except TooMany:
        return "loop"


def call_of(case: dict) -> str:
    """Describe the call."""
    heads = f"{case['n_head']} heads of {case['head_dim']}"
    if "lengths" in case:
        lengths = case["lengths"]
        said = list(lengths) if len(lengths) < 9 else f"{len(lengths)} times {lengths[0]}"
        asked = case["n"] - sum(lengths)
        return (
            f"cross_document_attention, for documents of {said} tokens, a question of {asked} and "
            f"a window of {case['window']}"
        )
    name = "SparseSelfAttention" if case["module"] else "sparse_attention"
    return f"{name} ({heads}; {describe(case['spec'])})"


def require_little_work(student, cases: list[Case]) -> None:
    """Check the results of long texts, at some rows (`about["rows"]`), and the processor seconds
    that they take: less than dense attention would, over texts of the lengths `about["dense"]`.
    None where these are empty: there the check's limit of memory counts.

    Raises:
        Failed: a result is wrong, or takes too many seconds or too much memory.
    """
    for case in cases:
        what, dense, n = call_of(case.inputs), case.about["dense"], case.inputs["n"]
        short = n <= SHORT
        before = student.cpu_seconds
        try:
            answer = student.run(long_text, case=case.inputs, operations=2 * n if short else None)
        except Failed as failed:
            if failed.verdict in (Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT):
                failed.message = (
                    f"{what} takes too much: {failed.message}\nCompute only the connected pairs, a "
                    "block at a time, and keep nothing of a block but its output."
                )
                failed.args = (failed.message,)
            raise
        seconds = student.cpu_seconds - before
        if answer.value == "loop":
            raise WrongAnswer(
                f"{what} takes more than {2 * n:,} operations of torch. Is there a loop over "
                "positions? Process many rows at once."
            )
        shape = tuple(case.inputs[name] for name in ("n_head", "n", "head_dim"))
        got = answer.named(what).array("float32", (1, *shape))[0][:, case.about["rows"]]
        off = abs(got - case.right).max(axis=(0, 2)) > TOLERANCE * max(1, abs(case.right).max())
        if off.any():
            rows = np.array(case.about["rows"])[off]
            raise WrongAnswer(
                f"{what}: row {rows[0]} is wrong, and {len(rows) - 1} others of {len(off)} that "
                "were looked at. Compare with a dense mask on a short text."
            )
        if not dense:
            continue
        sizes = {name: case.inputs[name] for name in ("n_head", "head_dim")}
        share = seconds / student.run(dense_seconds, lengths=dense, **sizes).number()
        most = SHARES["short" if short else "long"]
        student.note(f"seconds at {n:,}, as a share of dense attention's", share)
        if share > most:
            raise WrongAnswer(
                f"{what} takes {seconds:.1f} seconds of the processor: {share:.1f} times what "
                f"dense attention would take here; {most:g} times are allowed. Compute only the "
                "connected pairs, many rows at once."
            )


@probe(uses=(given,))
def counted(runs):
    """For each run, on one sequence and one head: count_connections, and the FLOPs of
    sparse_attention's products and fused attention, without gradients.
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
    results = []
    for run in runs:
        q, k, v = torch.randn(3, 1, 1, run["spec"]["n"], run["head_dim"])
        pattern, chosen = given(run["spec"])
        with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=known) as flops:
            sparse_attention(q, k, v, pattern, chosen)
        count = count_connections(run["spec"]["n"], pattern, chosen)
        results.append([count, flops.get_total_flops()])
    return results


def require_few_flops(student, cases: list[Case]) -> None:
    """Check the numbers of connections, and that sparse_attention takes few FLOPs: so many times
    those of the connections (`about["times"]`).

    Raises:
        WrongAnswer: a number is wrong, or there are more FLOPs.
    """
    answers = student.run(counted, runs=[case.inputs for case in cases]).items(len(cases))
    for case, answer in zip(cases, answers):
        count, flops = answer.items(2)
        pattern, times = describe(case.inputs["spec"]), case.about["times"]
        count = count.named(f"count_connections with {pattern}")
        if (number := count.number()) != case.right:
            raise WrongAnswer(f"{count.name} is {number:,}; it should be {case.right:,}.")
        taken = flops.number() / (4 * case.inputs["head_dim"] * case.right)
        student.note(
            f"FLOPs, as a multiple of the connections' ({case.inputs['spec']['n']})", taken
        )
        if taken > times:
            raise WrongAnswer(
                f"sparse_attention takes {flops.number():,.0f} FLOPs of matrix products: "
                f"{taken:.1f} times those of its {case.right:,} connections, where {times:.1f} "
                f"times are allowed ({pattern}). Does a block multiply keys that it hides?"
            )
