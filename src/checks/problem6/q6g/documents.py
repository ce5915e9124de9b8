"""Runs remember and ask, and judges their results and the seconds that they take.

Shared by the checks of question 6g.
"""

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.problem6.q6d.rows import given, require_part
from checks.problem6.q6d.sparse_layers import TOLERANCE, layer_inputs, layer_of
from checks.support.cases import Case

PROJECTIONS = 4  # times the seconds of two projections


@probe
def texts_of(case):
    """Draw documents, (n, C) each, a decoder's states x, (B, n, C), and upstreams of ask's results,
    from the module's seed.
    """
    import numpy as np

    draw = np.random.RandomState(case["layer"]["seed"] ^ 1).standard_normal
    C, lengths = case["layer"]["n_embd"], case["lengths"]
    drawn = [draw((n, C)).astype("float32") for n in lengths]
    x, both = (
        draw((case["B"], case["n"], C)).astype("float32"),
        [draw((case["B"], case["n"], width)) for width in (C, len(lengths))],
    )
    documents = [drawn[d] for d in case["order"] or range(len(lengths))]
    return documents, x, both


@probe(uses=(given, layer_inputs, layer_of, texts_of))
def asked(cases):
    """For each case: the Memory of its documents, and ask's results; which inputs were changed;
    and, if asked for, the gradients of sum(y * upstream) + sum(shares * upstream).
    """
    import torch

    from submission.problem6.efficient_attention import ask, remember

    results = []
    for case in cases:
        layer, _ = layer_of(case["layer"])
        if layer is None:
            results.append(None)
            continue
        documents, x, upstreams = texts_of(case)
        before = [torch.from_numpy(part) for part in (*documents, x)]
        inputs = [part.clone() for part in before]
        if case["gradients"]:
            layer, inputs = layer.double(), [part.double().requires_grad_() for part in inputs]
        *documents, x = inputs
        with torch.no_grad():  # others of the same shape first, of which nothing should be kept
            other = remember(layer, [-document for document in documents])
            if isinstance(other, tuple):
                ask(layer, -x, other)
        memory = remember(layer, documents)
        parts = {name: getattr(memory, name, memory) for name in ("keys", "values", "lengths")}
        answer = ask(layer, x, memory) if isinstance(memory, tuple) else None
        changed = [not torch.equal(part.detach().float(), old) for part, old in zip(inputs, before)]
        result = {**parts, "answer": answer, "changed": any(changed), "gradients": None}
        if case["gradients"]:
            both = answer if isinstance(answer, tuple) and len(answer) == 2 else ()
            parts = [
                (part * torch.from_numpy(upstream)).sum()
                for part, upstream in zip(both, upstreams)
                if isinstance(part, torch.Tensor) and part.requires_grad
            ]
            if parts:
                sum(parts).backward()
            result["gradients"] = {
                "x": x.grad,
                **{f"document {n}": part.grad for n, part in enumerate(documents)},
                **{name: layer.get_parameter(name).grad for name in layer_inputs(case["layer"])[0]},
            }
        results.append(result)
    return results


def lengths_of(question: dict) -> list[int]:
    """Return the documents' lengths in order."""
    lengths = question["lengths"]
    return [lengths[d] for d in question["order"] or range(len(lengths))]


def describe(question: dict) -> str:
    """Describe documents and states."""
    shape = (question["B"], question["n"], question["layer"]["n_embd"])
    return (
        f"documents of {lengths_of(question)} tokens and x of shape {shape}, "
        f"{question['layer']['n_head']} heads"
    )


def run_questions(student, cases: list[Case]) -> list[tuple[Case, Answer]]:
    """Run `asked`."""
    return list(
        zip(cases, student.run(asked, cases=[case.inputs for case in cases]).items(len(cases)))
    )


def require_memory(answer: Answer, case: Case) -> None:
    """Check that Memory has the keys and values of all documents, and that the inputs are
    unchanged.

    Raises:
        WrongAnswer: names what is wrong, and the likely cause.
    """
    if answer.value is None:
        raise WrongAnswer(
            "SparseSelfAttention should have the parameters of query, key, value, "
            "proj and predictor, in their "
            "shapes."
        )
    said, wanted = describe(case.inputs), lengths_of(case.inputs)
    lengths = answer["lengths"].named(f"Memory's lengths, for {said},")
    if (
        not isinstance(lengths.value, tuple)
        or [item.number() for item in lengths.items()] != wanted
    ):
        found = lengths.value if isinstance(lengths.value, (list, tuple)) else lengths.describe()
        raise WrongAnswer(f"{lengths.name} should be {tuple(wanted)}; it is {found}.")
    for part in ("keys", "values"):
        name = f"Memory's {part}, for {said},"
        require_part(
            name,
            answer[part].named(name).array("float32", case.right[part].shape),
            case,
            part,
            TOLERANCE,
        )
    if answer["changed"].flag():
        raise WrongAnswer(f"remember or ask changes its arguments in place, for {said}.")


def require_answer(answer: Answer, case: Case) -> None:
    """Check Memory, and ask's output and shares.

    Raises:
        WrongAnswer: one is wrong; names the likely cause.
    """
    require_memory(answer, case)
    said = describe(case.inputs)
    for part, got, name in zip(
        ("y", "shares"),
        answer["answer"].named(f"what ask returns for {said}").items(2),
        (f"The output of ask for {said}", f"The shares of ask for {said}"),
    ):
        got = got.named(f"t{name[1:]}").array("float32", case.right[part].shape)
        require_part(name, got, case, part, TOLERANCE)


def require_directions(answer: Answer, case: Case) -> None:
    """Check the gradients of remember and ask together: each has the expected slope along a
    direction.

    Raises:
        WrongAnswer: a gradient is missing, has NaN, or is wrong.
    """
    said, gradients = describe(case.inputs), answer["gradients"]
    for name, (seed, shape, right) in case.right["gradients"].items():
        gradient = gradients[name].named(
            f"the gradient of remember and ask with respect to {name}, for {said},"
        )
        if gradient.value is None:
            raise WrongAnswer(
                f"No gradient of remember and ask reaches {name}, for {said}. Avoid "
                f".data, .detach(), .numpy(), "
                f".item() and torch.no_grad() in them."
            )
        got = gradient.array("float64", tuple(shape))
        if not got.any() and abs(right) > 1e-6:
            raise WrongAnswer(f"T{gradient.name[1:]} is 0 everywhere.")
        along = (got * direction(seed, tuple(shape))).sum()
        if not abs(along - right) <= 1e-5 * max(1.0, abs(right)):
            raise WrongAnswer(
                f"T{gradient.name[1:]} is wrong: along a random direction, it is "
                f"{along:.6g}; it should be {right:.6g}."
            )


def direction(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Draw a random direction of length 1."""
    drawn = np.random.RandomState(seed).standard_normal(shape)
    return drawn / np.linalg.norm(drawn)


@probe
def projected(case):
    """Apply two linear maps to as many tokens as `memory_work` has. Nothing of the submission is
    imported.
    """
    import torch

    x = torch.randn(case["documents"] * case["tokens"], case["n_embd"])
    with torch.no_grad():
        for _ in range(2):
            torch.nn.functional.linear(x, torch.randn(case["n_embd"], case["n_embd"]))


@probe
def memory_work(case):
    """Remember documents, and ask them questions of one state."""
    import torch

    from submission.problem6 import efficient_attention as student

    C = case["n_embd"]
    module = student.SparseSelfAttention(C, 4, student.Pattern(4, (2,))).eval()
    documents = torch.randn(case["documents"], case["tokens"], C)
    with torch.no_grad():
        memory = student.remember(module, list(documents))
        for _ in range(case["questions"]):
            student.ask(module, torch.randn(1, 1, C), memory)


def require_memory_work(student) -> None:
    """Check that remember projects each token once and ask only its states, by the processor
    seconds of documents and many questions.

    Raises:
        WrongAnswer: they do more.
    """
    case = {"documents": 12, "tokens": 1_000, "questions": 12, "n_embd": 512}
    used = [student.cpu_seconds]
    for run in (projected, memory_work):
        student.run(run, case=case)
        used.append(student.cpu_seconds)
    seconds, needed = used[2] - used[1], used[1] - used[0]
    student.note("seconds of remember and ask, as a multiple of the projections'", seconds / needed)
    if seconds > PROJECTIONS * needed:
        raise WrongAnswer(
            f"remember, for {case['documents']} documents of {case['tokens']:,} tokens, and "
            f"{case['questions']} calls of ask take {seconds:.1f} seconds of the processor, "
            f"{seconds / needed:.1f} times as many as two projections of all tokens; {PROJECTIONS} "
            "times are allowed. remember applies the modules key and value once to each token; ask "
            "uses the keys and values in memory."
        )
