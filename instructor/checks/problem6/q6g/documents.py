"""Attention across documents in float64 with NumPy, memories and queries to them, and the known
mistakes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from checks.problem6.q6g.documents import direction, texts_of
from checks.support.cases import Case
from instructor.checks.problem5.encoder import softmax
from instructor.checks.problem6.q6d import runs
from instructor.checks.problem6.q6d.attention import listed, masked_case, scores_of
from instructor.checks.problem6.q6d.layers import Layer, draw_layer
from instructor.checks.problem6.q6d.patterns import Spec
from instructor.checks.problem6.q6d.sparse_mistakes import causes_of_masks, causes_of_scales


def documents_mask(
    lengths: tuple[int, ...],
    question: int,
    window: int,
    at: np.ndarray | None = None,
    *,
    local=None,
    beyond: bool = False,
    rows: str = "right",
    seen: bool = False,
) -> np.ndarray:
    """Return which token (row) attends to which, boolean, (T, T), or only the rows `at`. For
    mistakes: local: another rule
    for distances in a document; beyond: the window crosses documents; rows: what the question
    attends to; seen: documents attend to the question.
    """
    N = sum(lengths)
    number = np.repeat(np.arange(len(lengths) + 1), [*lengths, question])
    i, j = np.indices((N + question,) * 2, sparse=True)
    i = i if at is None else at[:, None]
    asks = i >= N
    near = (abs(i - j) <= window) if local is None else local(i, j)
    mask = ~asks & near & ((j < N) if beyond else (number[i] == number) | seen & (j >= N))
    of_question = {
        "right": (j <= i),
        "all": (j >= 0) & (i >= 0),
        "documents": (j < N) & (i >= 0),
        "self": (j < N) | (i == j),
        "window": (j <= i) & ((j < N) | (i - j <= window)),
        "question": (j >= N) & (j <= i),
        "document": (j >= N) & (abs(i - j) <= window),
        "strict": (j < i),
        "square": (j <= i - N),
        "local": (j <= i) & (i - j <= window),
    }
    return mask | asks & of_question[rows]


def _mistakes(lengths, question, window, beginnings=("",)):
    """Return (sentence, mask) for masks that differ from the right one and sentences with these
    beginnings.
    """
    right = documents_mask(lengths, question, window)
    for sentence, wrong in (
        ("the window crosses from one document into the next.", {"beyond": True}),
        (
            "documents attend to the question, too: then they depend on it.",
            {"local": lambda i, j: (abs(i - j) <= window) | (j >= sum(lengths)), "seen": True},
        ),
        (
            "a document's tokens attend to all of it, regardless of the window.",
            {"local": lambda i, j: (i >= 0) & (j >= 0)},
        ),
        (
            "a document's tokens attend only backward; the window reaches to both sides.",
            {"local": lambda i, j: (j <= i) & (i - j <= window)},
        ),
        (
            "the default strides are in the pattern; a document has none: Pattern(window, "
            "strides=()).",
            {
                "local": lambda i, j: (
                    (abs(i - j) <= window) | np.isin(abs(i - j), (1024, 2048, 4096, 8192))
                )
            },
        ),
        ("tokens exactly `window` away are left out.", {"local": lambda i, j: abs(i - j) < window}),
        (
            "the window reaches one position too far.",
            {"local": lambda i, j: abs(i - j) <= window + 1},
        ),
        (
            "`window` is used as the total width; the window should reach that far to each side.",
            {"local": lambda i, j: abs(i - j) <= window // 2},
        ),
        ("the question's tokens attend to later ones.", {"rows": "all"}),
        (
            "the question's tokens attend only to the documents, not to the question.",
            {"rows": "documents"},
        ),
        ("within the question, tokens attend only to themselves.", {"rows": "self"}),
        (
            "the window is applied to the question's tokens, too; they should attend to all "
            "earlier ones.",
            {"rows": "window"},
        ),
        ("the question does not attend to the documents.", {"rows": "question"}),
        ("the question is treated as one more document.", {"rows": "document"}),
        ("the question's tokens do not attend to themselves.", {"rows": "strict"}),
        (
            "the diagonal of the question's mask starts in the first column; it belongs to the "
            "question's own, the last ones.",
            {"rows": "square"},
        ),
        ("the question attends only within the window.", {"rows": "local"}),
    ):
        if not sentence.startswith(beginnings):
            continue
        mask = documents_mask(lengths, question, window, **wrong)
        if not np.array_equal(mask, right) and mask.any(axis=1).all():
            yield sentence, mask


def documents_case(
    rng,
    lengths: tuple[int, ...],
    question: int,
    window: int,
    B: int,
    n_head: int,
    head_dim: int,
    known: str = "",
    **more,
) -> Case:
    """Make a case of cross_document_attention; known: which mistakes to recognize, of "masks",
    "strides" and "scales".
    """
    mask, N = documents_mask(lengths, question, window), sum(lengths)

    def causes(rows, scores, v):
        if "masks" in known:
            yield from causes_of_masks(rows, scores, v, _mistakes(lengths, question, window))
        if "strides" in known:  # in long documents, where the others would be slow
            masks = _mistakes(lengths, question, window, ("the default strides",))
            yield from causes_of_masks(rows, scores, v, masks)
        if "scales" in known:
            yield from causes_of_scales(scores, v, mask[rows], n_head, head_dim)

    special = [0, lengths[0] - 1, lengths[0] % N, N - 1, N, N + question // 2]
    return masked_case(
        rng,
        {"lengths": list(lengths), "window": window},
        (B, n_head, N + question, head_dim),
        mask,
        causes if known else None,
        special,
        **more,
    )


def _long(rng, lengths, question, window, dense) -> Case:
    """Make a long text of documents; dense: the lengths over which dense attention is too slow."""
    inputs = {"lengths": list(lengths), "window": window, "n_head": 1, "head_dim": 4}
    N = sum(lengths)
    return runs.long_case(
        rng,
        {**inputs, "n": N + question},
        [lengths[0] - 1, lengths[0], N],
        lambda rows: documents_mask(lengths, question, window, rows),
        dense,
    )


def many_documents(rng) -> Case:
    """Make a text of many documents, each of which may be dense attention, but not all together."""
    lengths = (int(rng.integers(190, 210)),) * 120
    return _long(rng, lengths, 20, int(rng.integers(250, 270)), [sum(lengths) + 20])


def long_documents(rng) -> list[Case]:
    """Make a short and a long text of documents, over which dense attention would be too slow."""
    return [
        _long(rng, lengths, 30, int(rng.integers(240, 260)), lengths)
        for lengths in ((10_000, 900), (30_000, 1, int(rng.integers(2_000, 3_000))))
    ]


@dataclass(frozen=True)
class Question:
    """Documents and a decoder's states, (B, n, C); order: a permutation of the documents."""

    layer: Layer
    lengths: tuple[int, ...]
    B: int
    n: int
    order: tuple[int, ...] | None = None
    gradients: bool = False

    @property
    def data(self) -> dict:
        """The inputs for the probe."""
        return {
            "layer": self.layer.data,
            "lengths": list(self.lengths),
            "B": self.B,
            "n": self.n,
            "order": None if self.order is None else list(self.order),
            "gradients": self.gradients,
        }

    @cached_property
    def drawn(self) -> tuple:
        """Draw weights, documents, states and upstreams, in float64."""
        documents, x, both = texts_of.function(self.data)
        return (
            self.layer.drawn[0],
            [document.astype(float) for document in documents],
            x.astype(float),
            both,
        )

    def heads(self, weights: dict, name: str, x: np.ndarray) -> np.ndarray:
        """Project and split into heads: (..., n, C) -> (..., n_head, n, head_dim)."""
        y = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
        return y.reshape(*y.shape[:-1], self.layer.n_head, -1).swapaxes(-2, -3)

    def expected(
        self,
        drawn: tuple | None = None,
        causal: bool = False,
        scale: float = 1.0,
        mask=None,
        join: bool = True,
        project: bool = True,
        apart: bool = False,
        projected: bool = True,
        values: str = "value",
        residual: bool = False,
    ) -> dict[str, np.ndarray]:
        """Compute output, weights and scores: "y", (B, n, C), "weights" and "scores", (B, n_head,
        n, N); the arguments are for mistakes.

        drawn: replaces the weights, documents and states.
        """
        w, documents, x, _ = self.drawn if drawn is None else drawn
        states, lengths = np.concatenate(documents), [len(document) for document in documents]
        q = (
            self.heads(w, "query", x)
            if projected
            else x.reshape(*x.shape[:2], self.layer.n_head, -1).swapaxes(1, 2)
        )
        scores, v = (
            scale * scores_of(q, self.heads(w, "key", states)),
            self.heads(w, values, states),
        )
        if causal:
            mask = np.tri(*scores.shape[-2:], dtype=bool)
        if mask is not None:
            scores[..., ~np.broadcast_to(mask, scores.shape[-2:])] = -np.inf
        weights = softmax(scores)
        if apart:
            pieces = np.split(scores, np.cumsum(lengths[:-1]), axis=-1)
            weights = np.concatenate([softmax(piece) / len(pieces) for piece in pieces], axis=-1)
        y = weights @ v
        y = (y.swapaxes(1, 2) if join else y).reshape(x.shape)
        y = y @ w["proj.weight"].T + w["proj.bias"] if project else y
        return {"y": y + residual * x, "weights": weights, "scores": scores}

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """Compute the shares (B, n, D) from weights (B, n_head, n, N)."""
        lengths = [len(document) for document in self.drawn[1]]
        return np.add.reduceat(weights, np.cumsum([0, *lengths[:-1]]), axis=-1).mean(axis=1)

    def directions(self, rng) -> dict[str, list]:
        """Return, for each gradient of sum(y * upstream) + sum(shares * upstream), a direction's
        seed, its shape, and the derivative along it, by finite differences.
        """
        weights, documents, x, (upstream, of_shares) = self.drawn
        inputs = {"x": x, **{f"document {d}": part for d, part in enumerate(documents)}, **weights}

        def value(inputs):
            drawn = (
                {name: inputs[name] for name in weights},
                [inputs[f"document {d}"] for d in range(len(documents))],
                inputs["x"],
                (),
            )
            got = self.expected(drawn)
            return (got["y"] * upstream).sum() + (self.shares(got["weights"]) * of_shares).sum()

        # the errors are its square times a third derivative, and 1e-16 / step; both far below the
        # tolerance
        found, step = {}, 1e-5
        for name, part in inputs.items():
            seed = int(rng.integers(2**31))
            ahead, behind = (
                value({**inputs, name: part + sign * step * direction(seed, part.shape)})
                for sign in (1, -1)
            )
            found[name] = [seed, list(part.shape), float((ahead - behind) / (2 * step))]
        return found


def draw_question(
    rng, lengths: list[int], B: int, n: int, n_head: int, head_dim: int, **more
) -> Question:
    """Draw random weights, documents and states."""
    return Question(draw_layer(rng, Spec(4, 2), 1, n_head, head_dim), tuple(lengths), B, n, **more)


def question_case(rng, question: Question, known: bool = False) -> Case:
    """Make a case of Memory and ask; known: whether to recognize mistakes."""
    weights, documents, x, _ = question.drawn
    states = np.concatenate(documents)
    got = question.expected()
    right = {
        "keys": question.heads(weights, "key", states),
        "values": question.heads(weights, "value", states),
        "y": got["y"],
        "shares": question.shares(got["weights"]),
    }
    wrong = []
    if known:
        causes = {
            "keys": _of_memory(question, "key", "value"),
            "values": _of_memory(question, "value", "key"),
            "y": _of_output(question),
            "shares": _of_shares(question),
        }
        for part, some in causes.items():
            wrong += [
                (
                    sentence,
                    lambda make=make, part=part: (
                        {part: value} if (value := make()) is not None else None
                    ),
                )
                for sentence, make in listed(right[part], some)
            ]
    right = {name: value.astype("float32") for name, value in right.items()}
    if question.gradients:
        right["gradients"] = question.directions(rng)
    return Case(question.data, right, wrong)


def _of_memory(question, part, other):
    """Return mistakes in keys or values."""
    weights, documents, _, _ = question.drawn
    states, n_head = np.concatenate(documents), question.layer.n_head
    right = question.heads(weights, part, states)
    return [
        (f"these are the {other}s.", lambda: question.heads(weights, other, states)),
        ("these are the queries.", lambda: question.heads(weights, "query", states)),
        (
            "the module is not applied; these are the documents.",
            lambda: states.reshape(len(states), n_head, -1).swapaxes(0, 1),
        ),
        (
            "heads are mixed with the positions: view(N, n_head, head_dim), then transpose.",
            lambda: right.swapaxes(0, 1).reshape(right.shape),
        ),
        (
            "the documents are in another order.",
            lambda: question.heads(weights, part, np.concatenate(documents[::-1])),
        ),
    ]


def _of_output(question):
    """Return mistakes in the output of ask."""
    lengths, d = (
        [len(document) for document in question.drawn[1]],
        question.layer.n_embd // question.layer.n_head,
    )
    N = sum(lengths)
    causes = [
        (
            "there is a causal mask; each state should attend to all of every document.",
            {"causal": True},
        ),
        ("the scores are not scaled: divide by sqrt(head_dim).", {"scale": np.sqrt(d)}),
        (
            "the scores are divided by head_dim; it should be its square root.",
            {"scale": 1 / np.sqrt(d)},
        ),
        (
            "the scores are divided by the root of n_embd; it should be that of head_dim.",
            {"scale": 1 / np.sqrt(question.layer.n_head)},
        ),
        ("the final projection is missing.", {"project": False}),
        ("heads are joined in the wrong order: transpose before the reshape.", {"join": False}),
        (
            "each document has a softmax of its own; use one softmax over all of memory.",
            {"apart": True},
        ),
        ("the weights are multiplied by the keys.", {"values": "key"}),
        ("attention.query is not applied to x.", {"projected": False}),
        ("x is added; the layer does that.", {"residual": True}),
        ("only the last document is attended to.", {"mask": np.arange(N) >= N - lengths[-1]}),
        ("only the first document is attended to.", {"mask": np.arange(N) < lengths[0]}),
    ]
    return [
        (sentence, lambda wrong=wrong: question.expected(**wrong)["y"])
        for sentence, wrong in causes
    ]


def _of_shares(question):
    """Return mistakes in the shares."""
    got, each = (
        question.expected(),
        np.array([len(document) for document in question.drawn[1]], dtype=float),
    )
    weights = got["weights"]
    right = question.shares(weights)
    return [
        ("they are summed over the heads; average them.", lambda: right * question.layer.n_head),
        (
            "they are averages over the tokens of a document; they should be sums.",
            lambda: right / each,
        ),
        (
            "they are those of the first head; average over all.",
            lambda: question.shares(weights[:, :1]),
        ),
        (
            "they are the same for all states: averaged over them.",
            lambda: np.broadcast_to(right.mean(axis=1, keepdims=True), right.shape),
        ),
        (
            "they are those of the last state, for all.",
            lambda: np.broadcast_to(right[:, -1:], right.shape),
        ),
        (
            "they are the documents' shares of the tokens, independent of the weights.",
            lambda: np.broadcast_to(each / each.sum(), right.shape),
        ),
        ("the documents are in another order.", lambda: right[..., ::-1]),
        (
            "they are sums of scores; they should be sums of weights, after the softmax.",
            lambda: softmax(question.shares(got["scores"])),
        ),
    ]
