"""Running sparse_attention and cross_document_attention, and what they should give in float64 with NumPy.

The checks of questions 6d and 6g share it; sparse_mistakes.py has mistakes that are known by name.
"""
from dataclasses import dataclass, field
from typing import Callable, Iterator

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.encoder import softmax
from checks.patterns import Spec, connected, mistakes
from checks.sparse_mistakes import causes_of, causes_of_pieces

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}         # the handout's


@probe
def given(spec):
    """The submission's Pattern, and the global positions, as what they are to be passed on."""
    import torch
    from submission.efficient_attention import Pattern
    torch.set_num_threads(1)        # the tensors of the checks are small, and other checks may run beside this one
    kinds = {"list": list, "tuple": tuple, "set": set, "iterator": iter}
    return Pattern(window=spec["window"], strides=tuple(spec["strides"]),
                   causal=spec["causal"]), kinds[spec["kind"]](spec["chosen"])


@probe(uses=(given,))
def attend(cases):
    """sparse_attention, or cross_document_attention, for each case: the output, what became of the inputs, and the gradients of
    sum(output * upstream), if there is an upstream."""
    import torch
    from submission import efficient_attention as student
    results = []
    for case in cases:
        inputs = []
        for name in "qkv":
            x = torch.from_numpy(case[name].copy())
            if case["transposed"]:          # as heads lie after they have been split
                x = x.transpose(1, 2).contiguous().transpose(1, 2)
            inputs.append(x.requires_grad_(case["upstream"] is not None))
        if case["spec"] is None:
            y = student.cross_document_attention(*inputs, case["lengths"], case["window"])
        else:
            pattern, chosen = given(case["spec"])
            y = student.sparse_attention(*inputs, pattern,
                                         chosen) if case["spec"]["chosen"] else student.sparse_attention(*inputs, pattern)
        result = {"y": y, "after": [x.detach() for x in inputs], "gradients": None}
        if case["upstream"] is not None:
            if isinstance(y, torch.Tensor) and y.requires_grad:
                (y * torch.from_numpy(case["upstream"])).sum().backward()
            result["gradients"] = [x.grad for x in inputs]
        results.append(result)
    return results


@dataclass
class Case:
    """A call: q, k, v, (B, n_head, T, head_dim), the mask that they are attended with, and how to call it.

    spec: of sparse_attention; None: cross_document_attention with lengths and window. wrong: mistakes known by name, (sentence,
    mask). upstream: if there is one, the gradients of sum(output * upstream) are asked for.
    """
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray
    call: str
    spec: Spec | None = None
    lengths: tuple[int, ...] = ()
    window: int = 0
    wrong: Callable[[], Iterator[tuple[str, np.ndarray]]] = field(default=lambda: iter(()))
    upstream: np.ndarray | None = None
    transposed: bool = False

    @property
    def data(self) -> dict:
        """For the probe."""
        return {"q": self.q, "k": self.k, "v": self.v, "spec": self.spec and self.spec.data, "lengths": list(self.lengths),
                "window": self.window, "upstream": self.upstream, "transposed": self.transposed}

    @property
    def special(self) -> np.ndarray:
        """The rows of which a message should say that they alone are wrong: those that attend to all before, at least."""
        full = self.mask.sum(axis=1) >= np.arange(1, len(self.mask) + 1)
        return full & (full.sum() < len(full))

    def scores(self) -> np.ndarray:
        """Scaled, of all pairs."""
        return self.q.astype(float) @ self.k.astype(float).swapaxes(-1, -2) / np.sqrt(self.q.shape[-1])

    def expected(self) -> np.ndarray:
        """The output in float64."""
        return softmax(np.where(self.mask, self.scores(), -np.inf)) @ self.v.astype(float)

    def gradients(self, upstream: np.ndarray | None = None) -> list[np.ndarray]:
        """Those with respect to q, k and v, in float64."""
        q, k, v = (x.astype(float) for x in (self.q, self.k, self.v))
        upstream, scale = self.upstream.astype(float) if upstream is None else upstream, 1 / np.sqrt(q.shape[-1])
        weights = softmax(np.where(self.mask, self.scores(), -np.inf))
        towards = upstream @ v.swapaxes(-1, -2)
        through = weights * (towards - (towards * weights).sum(axis=-1, keepdims=True))
        return [through @ k * scale, through.swapaxes(-1, -2) @ q * scale, weights.swapaxes(-1, -2) @ upstream]

    def causes(self) -> Iterator:
        """Mistakes known by name, for require_close; they are worked out when one is asked for."""
        scores, v = self.scores(), self.v.astype(float)
        yield from causes_of(scores, v, self.mask, self.wrong(), *self.q.shape[1::2])
        if self.spec is not None:
            yield from causes_of_pieces(self.spec, scores, v)


def draw_case(rng, spec: Spec, B: int, n_head: int, head_dim: int, dtype: str = "float32", scale: float = 1.0, **more) -> Case:
    """A case of sparse_attention."""
    q, k, v = (rng.standard_normal((B, n_head, spec.n, head_dim)) for _ in range(3))
    call = f"sparse_attention on {dtype} of shape {q.shape}, {spec}"
    return Case((scale * q).astype(dtype), k.astype(dtype), v.astype(dtype), connected(spec), call, spec,
                wrong=lambda: mistakes(spec), **more)


def read(answer: Answer, case: Case) -> np.ndarray:
    """The output, in float64.

    Raises:
        WrongAnswer: it is not what it should be; of NaN, says in which rows.
    """
    dtype = case.q.dtype.name
    data = answer.array(dtype, case.q.shape, finite=False).astype(float)
    bad = ~np.isfinite(data).all(axis=(0, 1, 3))
    if bad.any():
        raise WrongAnswer(f"{answer.name} has NaN or infinity in {bad.sum()} of {len(bad)} rows, the first of them "
                          f"{bad.argmax()}."
                          f"\nLikely cause: a softmax over nothing but -inf (a row or a piece of it that is empty), or an "
                          f"exponential of a large score.")
    return data


def require_output(answer: Answer, case: Case) -> None:
    """The output is right, and the inputs are as they were.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    for name, before, after in zip("qkv", (case.q, case.k, case.v), answer["after"].items(3)):
        if not np.array_equal(after.named(f"{name} after the call").array(case.q.dtype.name, before.shape, finite=False), before):
            raise WrongAnswer(f"{case.call} changes {name}, which is not its own, in place (as {name} /= ... and functions with "
                              f"a _ at the end of their name do).")
    got, right = read(answer["y"].named(case.call), case), case.expected()
    off = (abs(got - right) > TOLERANCE[case.q.dtype.name] * max(1.0, abs(right).max())).any(axis=(0, 1, 3))
    try:
        require_close(case.call, got, right, TOLERANCE[case.q.dtype.name], case.causes())
    except WrongAnswer as wrong:
        near = abs(got - right).max() < 0.02 * abs(right).max() and "Likely cause" not in wrong.message
        precision = f"It is nearly right. Is a part of it worked out in a lower precision than {case.q.dtype.name}?\n"
        raise WrongAnswer(f"{wrong.message}\n{precision if near else ''}{_rows(off, case)}") from None


def _rows(off, case):
    """Which rows are wrong, in words."""
    if off.all():
        return "All rows are wrong."
    first = ", ".join(map(str, np.flatnonzero(off)[:8])) + ", ..." * bool(off.sum() > 8)
    if case.special.any() and not off[~case.special].any():
        return f"Wrong rows: {first}. They are rows that attend to all keys (before them); the others are right."
    return f"Wrong rows: {first} ({off.sum()} of {len(off)})."


def require_gradients(answer: Answer, case: Case) -> None:
    """The gradients are right, to 1e-4 in float32.

    Raises:
        WrongAnswer: they are not; names the likely cause.
    """
    tolerance = 10 * TOLERANCE[case.q.dtype.name]
    cut = np.where(case.special[:, None], 0, case.upstream).astype(float)
    gradients = answer["gradients"].items(3)
    for name, gradient, right, without in zip("qkv", gradients, case.gradients(), case.gradients(cut)):
        gradient = gradient.named(f"the gradient of {case.call}, with respect to {name}")
        if gradient.value is None:
            raise WrongAnswer(f"No gradient of {case.call} reaches {name}. Avoid .data, .detach(), .numpy(), .item() and "
                              f"torch.no_grad().")
        got = gradient.array(case.q.dtype.name, right.shape)
        require_close(f"T{gradient.name[1:]}", got.astype(float), right, tolerance, [
            ("the rows that attend to everything pass no gradient on.", without),
            ("the gradient is 0 everywhere.", np.zeros_like(right))])


def run_cases(student, cases: list[Case]) -> list[tuple[Case, Answer]]:
    """Run all cases in one probe."""
    return list(zip(cases, student.run(attend, cases=[case.data for case in cases]).items(len(cases))))
