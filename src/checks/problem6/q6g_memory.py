"""Question 6g: runs remember and ask; what is compared, and the seconds that they take."""

from autograder import WrongAnswer, probe
from checks.support.asked import Asked, Close, Same

PROJECTIONS = 4  # times the seconds of two projections
TOLERANCE = {"float32": 1e-5, "float64": 1e-5}


@probe
def differentiate(outputs, upstreams, inputs):
    """For other probes: the gradients of the sum of outputs * upstreams in each of the named
    inputs, and the names of those that no gradient reaches.
    """
    import torch

    parts = [
        (output * upstream).sum()
        for output, upstream in zip(outputs, upstreams)
        if isinstance(output, torch.Tensor)
        and output.requires_grad
        and output.shape == upstream.shape
    ]
    if parts:
        sum(parts).backward()
    reached = {name: value.grad for name, value in inputs.items() if value.grad is not None}
    return {"unreached": [name for name in inputs if name not in reached], "gradients": reached}


@probe(uses=(differentiate,))
def remembered(seed, n_head, head_dim, lengths, B, n, dtype, gradients, rotates):
    """Remember random documents, and ask of random states: Memory, ask's results, which arguments
    were changed, and gradients.

    Before and between, the module has remembered others of the same lengths: of each memory,
    nothing may be kept outside it.
    """
    import types

    import numpy as np
    import torch

    from submission.attention import CausalSelfAttention
    from submission.problem6 import efficient_attention as student

    state = np.random.RandomState(seed)  # gives the same numbers in all NumPy versions
    kind, C, pattern = getattr(torch, dtype), n_head * head_dim, student.Pattern(4, (2,))

    def drawn(*shape):
        return torch.from_numpy(state.standard_normal(shape)).to(kind)

    def remember_and_ask(documents, x, others):
        memory = student.remember(layer, documents)
        with torch.no_grad():
            student.remember(layer, others)
        return memory, student.ask(layer, x, memory) if isinstance(memory, tuple) else None

    layer = student.SparseSelfAttention(C, n_head, pattern)
    if rotates:
        sizes = {"n_embd": C, "n_head": n_head, "block_size": 9, "rope": True}
        config = types.SimpleNamespace(**sizes, attn_pdrop=0.0, resid_pdrop=0.0)
        layer = student.SparseSelfAttention.from_dense(CausalSelfAttention(config), pattern)
    layer.to(kind).eval()
    weights = {}
    for name in "query key value proj".split():
        linear = getattr(layer, name)
        weights |= {f"{name}.weight": linear.weight, f"{name}.bias": linear.bias}
    inputs = {f"document {d}": drawn(length, C) for d, length in enumerate(lengths)}
    inputs["x"] = drawn(B, n, C)
    with torch.no_grad():
        for weight in weights.values():
            weight.copy_(0.4 * drawn(*weight.shape))
        *others, other_x = (-value for value in inputs.values())
        remember_and_ask([2 * other for other in others], other_x, others)
    copies = {name: value.clone() for name, value in inputs.items()}
    upstreams = [drawn(B, n, width) for width in (C, len(lengths))]
    *documents, x = (value.requires_grad_(gradients) for value in inputs.values())
    memory, answer = remember_and_ask(documents, x, others)
    pair = answer if isinstance(answer, (tuple, list)) and len(answer) == 2 else (answer, None)
    parts = {name: getattr(memory, name, memory) for name in ("keys", "values", "lengths")}
    if isinstance(parts["lengths"], tuple):
        parts["lengths"] = tuple(map(int, parts["lengths"]))
    return {
        **parts,
        "output": pair[0],
        "shares": pair[1],
        "changed": [name for name in inputs if not torch.equal(inputs[name], copies[name])],
        **differentiate(pair, upstreams, {**inputs, **weights} if gradients else {}),
    }


def written(inputs: dict) -> str:
    """The calls of remember and ask as a student would write them."""
    width = inputs["n_head"] * inputs["head_dim"]
    return (
        f"ask(attention, x {(inputs['B'], inputs['n'], width)} {inputs['dtype']}, "
        f"remember(attention, documents of {inputs['lengths']} tokens)), "
        f"{inputs['n_head']} heads{' that rotate' * inputs['rotates']}"
    )


MEMORY = Asked(
    remembered,
    written,
    {
        "lengths": Close("Memory's lengths in {call}"),
        "keys": Close("Memory's keys in {call}", TOLERANCE),
        "values": Close("Memory's values in {call}", TOLERANCE),
        "output": Close("The output of {call}", TOLERANCE),
        "shares": Close("The shares of {call}", TOLERANCE),
        "changed": Same("{call} changes its argument {got} in place."),
        "unreached": Same(
            "No gradient of {call} reaches {got}. Avoid .data, .detach(), .numpy(), .item() and "
            "torch.no_grad() in both functions."
        ),
        "gradients": Close("The gradients of {call}", TOLERANCE),
    },
)


@probe
def projected(documents, tokens, questions, n_embd):
    """Apply two linear maps to as many tokens as `memory_work` has. Nothing of the submission is
    imported.
    """
    import torch

    x = torch.randn(documents * tokens, n_embd)
    with torch.no_grad():
        for _ in range(2):
            torch.nn.functional.linear(x, torch.randn(n_embd, n_embd))


@probe
def memory_work(documents, tokens, questions, n_embd):
    """Remember documents, and ask them questions of one state."""
    import torch

    from submission.problem6 import efficient_attention as student

    module = student.SparseSelfAttention(n_embd, 4, student.Pattern(4, (2,))).eval()
    texts = torch.randn(documents, tokens, n_embd)
    with torch.no_grad():
        memory = student.remember(module, list(texts))
        for _ in range(questions):
            student.ask(module, torch.randn(1, 1, n_embd), memory)


def require_memory_work(student) -> None:
    """Check that remember projects each token once and ask only its states, by the processor
    seconds of documents and many questions.

    Raises:
        WrongAnswer: they do more.
    """
    sizes = {"documents": 12, "tokens": 1_000, "questions": 12, "n_embd": 512}
    used = [student.cpu_seconds]
    for run in (projected, memory_work):
        student.run(run, **sizes)
        used.append(student.cpu_seconds)
    seconds, needed = used[2] - used[1], used[1] - used[0]
    student.note("seconds of remember and ask, as a multiple of the projections'", seconds / needed)
    if seconds > PROJECTIONS * needed:
        raise WrongAnswer(
            f"remember, for {sizes['documents']} documents of {sizes['tokens']:,} tokens, and "
            f"{sizes['questions']} calls of ask take {seconds:.1f} seconds of the processor, "
            f"{seconds / needed:.1f} times as many as two projections of all tokens; {PROJECTIONS} "
            "times are allowed. remember applies the modules key and value once to each token; ask "
            "uses the keys and values in memory."
        )
