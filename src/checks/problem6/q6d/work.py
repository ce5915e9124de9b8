"""Measures the work of sparse attention: FLOPs counted by torch.utils.flop_counter, tensors
created, memory held.

The cases have the patterns' numbers of connections (`about["connections"]`). Shared by the checks
of questions 6d and 6g.
"""

import math

from autograder import Answer, WrongAnswer, probe
from checks.problem6.q6d.rows import describe, given
from checks.support.cases import Case

N, N_EMBD, MEMORY, FLOPS = 75_000, 512, 1.5e9, 3  # the handout's limits
EXPONENT = 1.25  # the handout's is 1.15, up to 75,000; in short texts, more is beyond the ends


@probe
def measured(function, inputs, steps, memory):
    """Run function() and count torch's work: "flops" of matrix products and fused attention;
    "steps", operations other than views; "elements" of the tensors that they create, "numbers", the
    floating-point ones among them, and the "largest" tensor; "peak", the most bytes held at once
    beyond the inputs. "stopped" is the limit at which it was stopped: steps, or bytes of memory.
    """
    import weakref

    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
    from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

    class Stopped(BaseException):
        """Not caught by `except Exception`."""

    def parts(x):
        """The tensors that make up a tensor: for a sparse one, its values and indices."""
        if x.layout == torch.strided:
            return [x]
        if x.layout == torch.sparse_coo:
            return [x._values(), x._indices()]
        names = {
            torch.sparse_csr: ("crow_indices", "col_indices"),
            torch.sparse_bsr: ("crow_indices", "col_indices"),
            torch.sparse_csc: ("ccol_indices", "row_indices"),
            torch.sparse_bsc: ("ccol_indices", "row_indices"),
        }
        return (
            [getattr(x, name)() for name in ("values", *names[x.layout])]
            if x.layout in names
            else []
        )

    class Meter(TorchDispatchMode):
        counts = {"steps": 0, "elements": 0, "numbers": 0, "largest": 0, "peak": 0, "stopped": ""}
        held = 0
        storages = [x.untyped_storage() for x in inputs]
        known = {id(storage) for storage in storages}

        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            result = operation(*args, **(kwargs or {}))
            if operation.is_view:
                return result
            counts = self.counts
            counts["steps"] += 1
            for tensor in tree_leaves(result):
                for made in parts(tensor) if isinstance(tensor, torch.Tensor) else ():
                    counts["elements"] += made.numel()
                    counts["numbers"] += made.numel() * made.is_floating_point()
                    counts["largest"] = max(counts["largest"], made.numel())
                    storage = made.untyped_storage()
                    if id(storage) not in self.known:
                        self.known.add(id(storage))
                        self.held += storage.nbytes()
                        counts["peak"] = max(counts["peak"], self.held)
                        weakref.finalize(storage, self.release, id(storage), storage.nbytes())
            counts["stopped"] = "memory" if self.held > memory else ""
            counts["stopped"] = "steps" if counts["steps"] > steps else counts["stopped"]
            if counts["stopped"]:
                raise Stopped
            return result

        def release(self, storage, size):
            self.known.discard(storage)
            self.held -= size

    def fused(q, k, v, *args, out_shape=None, **kwargs):  # on the CPU, unknown to flop_counter
        return sdpa_flop_count(q, k, v)

    # For matrices that may be sparse: flop_counter treats them as dense.
    def product(a, b, *args, out_val=None, **kwargs):
        return 2 * parts(a)[0].numel() * b.shape[-1]

    def added(_, *args, **kwargs):
        return product(*args, **kwargs)

    product._get_raw = added._get_raw = True
    meter = Meter()
    aten = torch.ops.aten
    flops = FlopCounterMode(
        display=False,
        custom_mapping={
            aten._scaled_dot_product_flash_attention_for_cpu: fused,
            aten.mm: product,
            aten.addmm: added,
            aten.mv: lambda a, *args, out_shape=None, **kwargs: 2 * a[0] * a[1],
            aten.dot: lambda a, *args, out_shape=None, **kwargs: 2 * a[0],
        },
    )
    try:
        with flops, meter:
            result = function()
            del result
    except Stopped:
        pass
    return {**meter.counts, "flops": flops.get_total_flops()}


@probe(uses=(given, measured))
def sparse_work(runs, module=False):
    """Measure sparse_attention, or a module with it, for each run, on one sequence and without
    gradients.
    """
    import torch

    from submission.problem6.efficient_attention import SparseSelfAttention, sparse_attention

    results = []
    with torch.no_grad():
        for run in runs:
            n, n_head, head_dim = run["spec"]["n"], run["n_head"], run["head_dim"]
            q, k, v = torch.randn(3, 1, n_head, n, head_dim)
            pattern, chosen = given(run["spec"])
            inputs = q, k, v
            if module:
                layer = SparseSelfAttention(n_head * head_dim, n_head, pattern).eval()
                x = torch.randn(1, n, n_head * head_dim)
                inputs = x, *layer.parameters(), *layer.buffers()

            def function():
                return layer(x, chosen) if module else sparse_attention(q, k, v, pattern, chosen)

            results.append(measured(function, inputs, 2 * n, run["memory"]))
    return results


def read_counts(answer: Answer) -> dict[str, float]:
    """Return the result of `measured` as numbers."""
    return {
        name: answer[name].number()
        for name in ("flops", "steps", "elements", "numbers", "largest", "peak")
    }


def require_no_loop(answer: Answer, n: int, what: str) -> None:
    """Check that it was not stopped for too many operations.

    Raises:
        WrongAnswer: it was.
    """
    if answer["stopped"].text() == "steps":
        raise WrongAnswer(
            f"{what} takes more than {2 * n:,} operations of torch for {n:,} positions. Is there a "
            "loop over positions? Process many rows at once."
        )


def require_seen(counts: dict[str, float], about: dict, what: str) -> None:
    """Check that at least the work that the connections need was counted. (An operation that is not
    a matrix product, such as q * k or w * v, counts as two FLOPs per number in its result.)

    Args:
        about: the case's: the number of connections, and the FLOPs that they need.

    Raises:
        WrongAnswer: less was counted, e.g. because of work outside torch or in other threads, which
            are not measured.
    """
    least, connections = about["flops"], about["connections"]
    if counts["flops"] + 2 * counts["numbers"] < 0.9 * least:
        raise WrongAnswer(
            f"{what} takes {counts['flops']:,.0f} FLOPs of torch, and makes "
            f"{counts['numbers']:,.0f} numbers, where its {connections:,} connections need "
            f"{least:,} FLOPs: some work was not counted. Use torch (not NumPy), in one thread."
        )


def require_not_dense(student, cases: list[Case], module: bool = False) -> None:
    """Check that sparse_attention, or a module with it, does less work than dense attention with a
    mask.

    Raises:
        WrongAnswer: it does not.
    """
    answers = student.run(sparse_work, runs=[case.inputs for case in cases], module=module).items(
        len(cases)
    )
    name = "SparseSelfAttention" if module else "sparse_attention"
    for case, answer in zip(cases, answers):
        pattern, n = describe(case.inputs["spec"]), case.inputs["spec"]["n"]
        require_no_loop(answer, n, name)
        counts, connections = read_counts(answer), case.about["connections"]
        if counts["largest"] >= n * n:
            raise WrongAnswer(
                f"{name} creates a tensor with an entry for each of the {n:,} x {n:,} pairs "
                f"({pattern}). That is dense attention with a mask; compute only the connected "
                "pairs."
            )
        dense = case.about["dense"]
        if counts["flops"] > 0.6 * dense or counts["elements"] > 6 * n * n:
            raise WrongAnswer(
                f"{name} needs {counts['flops'] / dense:.0%} of the FLOPs of dense attention, and "
                f"creates tensors of {counts['elements'] / n / n:.1f} numbers for each of all "
                f"{n:,} x {n:,} pairs ({pattern}, which connects {connections / n / n:.1%} of "
                "them). Compute only the connected pairs."
            )
        if answer["stopped"].text():
            raise WrongAnswer(f"{name} takes more than 1 GB ({pattern}).")
        require_seen(counts, case.about, f"{name} ({pattern})")


def require_growth(student, cases: list[Case]) -> None:
    """Check that work and memory grow as they should, that the FLOPs are few, and that the memory
    at 75,000 positions is within the limit: that of 8 heads on a short text, plus 8 times what each
    further position takes for one head. Everything is counted, not timed.

    Args:
        cases: runs of sparse_attention: a short and a long text, another pair, the first of which
            has a limit of FLOPs, and a short text with 8 heads.

    Raises:
        WrongAnswer: they do not.
    """
    answers = student.run(sparse_work, runs=[case.inputs for case in cases]).items(len(cases))
    counts, lengths = [], [case.inputs["spec"]["n"] for case in cases]
    for case, answer in zip(cases, answers):
        given, pattern = case.inputs, describe(case.inputs["spec"])
        what = (
            f"sparse_attention (heads: {given['n_head']}, of width {given['head_dim']}; {pattern})"
        )
        require_no_loop(answer, given["spec"]["n"], what)
        counts.append(read_counts(answer))
        if answer["stopped"].text():
            raise WrongAnswer(f"{what} takes more than {given['memory'] / 1e6:.0f} MB.")
        require_seen(counts[-1], case.about, what)
    for first in (0, 2):
        (small, large), (n, longer) = counts[first : first + 2], lengths[first : first + 2]
        pattern = describe(cases[first + 1].inputs["spec"])
        for name, what in (
            ("flops", "the FLOPs of its products"),
            ("elements", "the numbers that it computes"),
            ("peak", "its memory"),
        ):
            exponent = math.log(max(large[name], 1) / max(small[name], 1), longer / n)
            student.note(f"exponent of {name}{', causal' if first == 0 else ''}", exponent)
            if exponent > EXPONENT:
                raise WrongAnswer(
                    f"From {n:,} to {longer:,} positions, {what} grow from "
                    f"{small[name]:,.0f} to "
                    f"{large[name]:,.0f}: with an exponent of {exponent:.2f}, where "
                    f"{EXPONENT} is allowed here "
                    f"({pattern})."
                )
    case, heads = cases[2], cases[4].inputs["n_head"]
    needed = case.about["flops"]
    if counts[2]["flops"] > FLOPS * needed:
        raise WrongAnswer(
            f"sparse_attention takes {counts[2]['flops']:,.0f} FLOPs for "
            f"{describe(case.inputs['spec'])}. {FLOPS} "
            f"times those of its connections are {FLOPS * needed:,}."
        )
    # The layer also holds queries, keys and values.
    short = lengths[4]
    each = (
        heads * (counts[3]["peak"] - counts[2]["peak"]) / (lengths[3] - lengths[2]) + 3 * N_EMBD * 4
    )
    peak = counts[4]["peak"] + 3 * short * N_EMBD * 4 + each * (N - short)
    student.note("GB at 75,000 positions", peak / 1e9)
    if peak > MEMORY:
        raise WrongAnswer(
            f"With 8 heads of 64, sparse_attention holds "
            f"{counts[4]['peak'] / 1e6:.0f} MB at {short:,} positions, "
            f"and the layer {each:,.0f} bytes more for each further one. At 75,000 "
            f"that makes {peak / 1e9:.2f} GB, "
            f"where {MEMORY / 1e9} are allowed. Are the weights of all blocks held "
            f"at once?"
        )
