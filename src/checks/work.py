"""How much work sparse attention does: products counted by torch.utils.flop_counter, tensors made, the memory that they hold.

The checks of questions 6d and 6g share it.
"""
from autograder import Answer, WrongAnswer, probe
from checks.patterns import Spec, count
from checks.sparse import given


@probe
def measured(function, inputs, steps, memory):
    """Run function() and count what torch does in it: "flops" of matrix products and of fused attention; "steps", operations
    that are no mere views; "elements" of the tensors that they make, "numbers", those of floating point among them, and the
    "largest"; "peak", the bytes that are held at a time beyond the inputs. "stopped" says what it was stopped for: more steps,
    or more bytes of memory, than allowed."""
    import weakref
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
    from torch.utils.flop_counter import FlopCounterMode

    class Stopped(BaseException):
        """Goes through an `except Exception`."""

    def parts(x):
        """The tensors of which one is made: of a sparse one, its values and indices."""
        if x.layout == torch.strided:
            return [x]
        if x.layout == torch.sparse_coo:
            return [x._values(), x._indices()]
        names = {torch.sparse_csr: ("crow_indices", "col_indices"), torch.sparse_bsr: ("crow_indices", "col_indices"),
                 torch.sparse_csc: ("ccol_indices", "row_indices"), torch.sparse_bsc: ("ccol_indices", "row_indices")}
        return [getattr(x, name)() for name in ("values", *names[x.layout])] if x.layout in names else []

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
            counts["stopped"] = "steps" if counts["steps"] > steps else "memory" if self.held > memory else ""
            if counts["stopped"]:
                raise Stopped
            return result

        def release(self, storage, size):
            self.known.discard(storage)
            self.held -= size

    def fused(q, k, v, *args, out_shape=None, **kwargs):        # of the CPU: flop_counter does not know it
        return 4 * q[0] * q[1] * q[2] * k[2] * q[3]

    def product(a, b, *args, out_val=None, **kwargs):       # of matrices that may be sparse: flop_counter takes them for dense
        return 2 * parts(a)[0].numel() * b.shape[-1]

    def added(_, *args, **kwargs):
        return product(*args, **kwargs)

    product._get_raw = added._get_raw = True
    meter = Meter()
    aten = torch.ops.aten
    flops = FlopCounterMode(display=False, custom_mapping={
        aten._scaled_dot_product_flash_attention_for_cpu: fused, aten.mm: product, aten.addmm: added,
        aten.mv: lambda a, *args, out_shape=None, **kwargs: 2 * a[0] * a[1],
        aten.dot: lambda a, *args, out_shape=None, **kwargs: 2 * a[0]})
    try:
        with flops, meter:
            result = function()
            del result
    except Stopped:
        pass
    return {**meter.counts, "flops": flops.get_total_flops()}


@probe(uses=(given, measured))
def sparse_work(runs, module=False):
    """What sparse_attention does, or a module with it, for each (spec, n_head, head_dim, memory), on one sequence and without
    gradients."""
    import torch
    from submission.efficient_attention import SparseSelfAttention, sparse_attention
    results = []
    with torch.no_grad():
        for spec, n_head, head_dim, memory in runs:
            q, k, v = torch.randn(3, 1, n_head, spec["n"], head_dim)
            pattern, chosen = given(spec)
            inputs, function = (q, k, v), lambda: sparse_attention(q, k, v, pattern, chosen)
            if module:
                layer, x = SparseSelfAttention(n_head * head_dim, n_head, pattern).eval(), torch.randn(1, spec["n"], n_head * head_dim)
                inputs, function = (x, *layer.parameters(), *layer.buffers()), lambda: layer(x, chosen)
            results.append(measured(function, inputs, 2 * spec["n"], memory))
    return results


def read_counts(answer: Answer) -> dict[str, float]:
    """What `measured` returned, as numbers."""
    return {name: answer[name].number() for name in ("flops", "steps", "elements", "numbers", "largest", "peak")}


def require_no_loop(answer: Answer, n: int, what: str) -> None:
    """It was not stopped for too many operations.

    Raises:
        WrongAnswer: it was.
    """
    if answer["stopped"].text() == "steps":
        raise WrongAnswer(f"{what} takes more than {2 * n:,} operations of torch for {n:,} positions. Is there a loop over "
                          f"positions? Work on many rows at once.")


def require_seen(counts: dict[str, float], connections: int, width: int, what: str) -> None:
    """At least the work that the connections need has been counted: 4 * head_dim FLOPs for each, in all heads together. (An
    operation that is no product of matrices counts as two FLOPs for each number that it makes, such as q * k and w * v.)

    Args:
        width: n_head * head_dim.

    Raises:
        WrongAnswer: less was seen, as of work in other threads, which are not measured, or outside of torch.
    """
    least = 4 * width * connections
    if counts["flops"] + 2 * counts["numbers"] < 0.9 * least:
        raise WrongAnswer(f"{what} takes {counts['flops']:,.0f} FLOPs of torch, and makes {counts['numbers']:,.0f} numbers, where "
                          f"its {connections:,} connections need {least:,} FLOPs: there is work that was not seen. Write it with "
                          f"torch (not with NumPy), in one thread.")


def require_not_dense(student, rng, module: bool = False) -> None:
    """sparse_attention, or a module with it, does less than dense attention does with a mask.

    Raises:
        WrongAnswer: it does not.
    """
    n = int(rng.integers(2900, 3100))
    far, chosen = int(rng.integers(1000, 1400)), tuple(rng.choice(n, 5, replace=False).tolist())
    specs = [Spec(n, int(rng.integers(40, 60)), (far,), causal, chosen) for causal in (False, True)]
    answers = student.run(sparse_work, runs=[(spec.data, 1, 3, 1 << 30) for spec in specs], module=module).items(2)
    name = "SparseSelfAttention" if module else "sparse_attention"
    for spec, answer in zip(specs, answers):
        require_no_loop(answer, n, name)
        counts = read_counts(answer)
        if counts["largest"] >= n * n:
            raise WrongAnswer(f"{name} makes a tensor with a place for each of the {n:,} x {n:,} pairs ({spec}). That "
                              f"is dense attention with a mask; only the pairs that are connected should be worked out.")
        dense = 4 * 3 * n * n
        if counts["flops"] > 0.6 * dense or counts["elements"] > 6 * n * n:
            raise WrongAnswer(f"{name} does {counts['flops'] / dense:.0%} of the products of dense attention, and makes tensors of "
                              f"{counts['elements'] / n / n:.1f} numbers for each of all {n:,} x {n:,} pairs ({spec}, which "
                              f"connects {count(spec) / n / n:.1%} of them). Only the pairs that are connected should be worked out.")
        if answer["stopped"].text():
            raise WrongAnswer(f"{name} takes more than 1 GB ({spec}).")
        require_seen(counts, count(spec), 3, f"{name} ({spec})")
