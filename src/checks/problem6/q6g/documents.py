"""Runs remember and ask and judges their results; measures the work of cross_document_attention.

Shared by the checks of question 6g.
"""

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.problem6.q6d.rows import given, require_part
from checks.problem6.q6d.sparse_layers import TOLERANCE, layer_inputs, layer_of
from checks.problem6.q6d.work import measured, read_counts, require_no_loop, require_seen
from checks.support.cases import Case


@probe(uses=(given, measured))
def across_work(runs):
    """Measure cross_document_attention for each (lengths, question, window), with 2 heads of width
    8.
    """
    import torch

    from submission.problem6.efficient_attention import cross_document_attention

    results = []
    with torch.no_grad():
        for run in runs:
            T = sum(run["lengths"]) + run["question"]
            q, k, v = torch.randn(3, 1, 2, T, 8)
            results.append(
                measured(
                    lambda: cross_document_attention(q, k, v, run["lengths"], run["window"]),
                    (q, k, v),
                    2 * T,
                    1 << 30,
                )
            )
    return results


def require_across_work(student, cases: list[Case]) -> None:
    """Check that cross_document_attention computes little more than the connected pairs
    (`about["connections"]`).

    Raises:
        WrongAnswer: it does not.
    """
    answers = student.run(across_work, runs=[case.inputs for case in cases]).items(len(cases))
    for case, answer in zip(cases, answers):
        lengths, n, window = (case.inputs[name] for name in ("lengths", "question", "window"))
        T = sum(lengths) + n
        documents = list(lengths) if len(lengths) < 9 else f"{len(lengths)} times {lengths[0]}"
        what = (
            f"cross_document_attention, for documents of {documents} tokens, a question of {n} "
            f"and a window of {window},"
        )
        require_no_loop(answer, T, what)
        counts = read_counts(answer)
        large = counts["largest"] >= T * T or counts["elements"] > 8 * 2 * T * T
        if large or answer["stopped"].text():
            raise WrongAnswer(
                f"{what} creates tensors with an entry for each pair of {T:,} tokens. Compute only "
                "the connected pairs."
            )
        require_seen(counts, case.about, what)
        flops = case.about["flops"]
        if counts["flops"] > 3 * flops:
            raise WrongAnswer(
                f"{what} takes {counts['flops'] / flops:.1f} times the FLOPs of its "
                f"connections; 3 times are "
                f"allowed."
            )


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


@probe(uses=(given, layer_inputs, layer_of, measured, texts_of))
def memory_work(case):
    """Measure the work of remember and ask."""
    import torch

    from submission.problem6 import efficient_attention as student

    module, _ = layer_of(case["layer"])
    documents, x, _ = texts_of(case)
    documents, x = [torch.from_numpy(document) for document in documents], torch.from_numpy(x)
    with torch.no_grad():
        memory = student.remember(module, documents)
        inputs = [*documents, x, *module.parameters(), memory.keys, memory.values]
        return [
            measured(lambda: student.remember(module, documents), inputs, 10_000, 1 << 30),
            measured(lambda: student.ask(module, x, memory), inputs, 10_000, 1 << 30),
        ]


def require_memory_work(student, case: Case) -> None:
    """Check that remember projects each token once, and that ask projects only the states.

    Raises:
        WrongAnswer: they do more.
    """
    for name, counted in zip(
        ("remember", "ask"), student.run(memory_work, case=case.inputs).items(2)
    ):
        what, needed = f"{name}, for {describe(case.inputs)},", case.about[name]
        flops = counted["flops"].number()
        if counted["stopped"].text():
            raise WrongAnswer(f"{what} takes more than 10,000 operations, or 1 GB.")
        # the shares may be computed separately
        if flops > (1.2 if name == "remember" else 2) * needed:
            more = {
                "ask": "Use the keys and values in memory.",
                "remember": "Apply the modules key and value once to each token.",
            }[name]
            raise WrongAnswer(
                f"{what} takes {flops:,.0f} FLOPs, where {needed:,} are needed. {more}"
            )
