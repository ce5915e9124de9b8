"""Running cross_document_attention, remember and ask, what they should give in float64 with NumPy, and known mistakes.

The checks of question 6g share it.
"""
from dataclasses import dataclass, field

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.encoder import softmax
from checks.patterns import Spec
from checks.sparse import Case, given
from checks.sparse_layers import TOLERANCE, Layer, draw_layer, layer_of
from checks.work import measured, read_counts, require_no_loop, require_seen


def documents_mask(lengths: tuple[int, ...], question: int, window: int, *, local=None, beyond: bool = False, rows: str = "right",
                   seen: bool = False) -> np.ndarray:
    """Which token (row) attends to which, boolean, (T, T). For mistakes: local, another rule for distances in a document; beyond:
    the window crosses from document to document; rows: what the question attends to; seen: documents see the question."""
    N = sum(lengths)
    number = np.repeat(np.arange(len(lengths) + 1), [*lengths, question])
    i, j = np.indices((N + question,) * 2, sparse=True)
    asks = i >= N
    near = (abs(i - j) <= window) if local is None else local(i, j)
    mask = ~asks & near & ((j < N) if beyond else (number[:, None] == number) | seen & (j >= N))
    of_question = {"right": (j <= i), "all": (j >= 0) & (i >= 0), "documents": (j < N) & (i >= 0), "self": (j < N) | (i == j),
                   "window": (j <= i) & ((j < N) | (i - j <= window)), "question": (j >= N) & (j <= i),
                   "document": (j >= N) & (abs(i - j) <= window), "strict": (j < i), "square": (j <= i - N),
                   "local": (j <= i) & (i - j <= window)}
    return mask | asks & of_question[rows]


def _mistakes(lengths, question, window):
    """(sentence, mask), where that differs from the right one."""
    right = documents_mask(lengths, question, window)
    for sentence, wrong in (
            ("the window crosses from one document into the next.", {"beyond": True}),
            ("documents attend to the question, too: then they depend on it.",
             {"local": lambda i, j: (abs(i - j) <= window) | (j >= sum(lengths)), "seen": True}),
            ("a document's tokens attend to all of it, whatever the window.", {"local": lambda i, j: (i >= 0) & (j >= 0)}),
            ("a document's tokens look back alone; the window reaches to both sides.",
             {"local": lambda i, j: (j <= i) & (i - j <= window)}),
            ("the default strides are in the pattern; a document has none: Pattern(window, strides=()).",
             {"local": lambda i, j: (abs(i - j) <= window) | np.isin(abs(i - j), (1024, 2048, 4096, 8192))}),
            ("tokens exactly `window` away are left out.", {"local": lambda i, j: abs(i - j) < window}),
            ("the window reaches one position too far.", {"local": lambda i, j: abs(i - j) <= window + 1}),
            ("the window is so wide altogether; it should reach so far to each side.",
             {"local": lambda i, j: abs(i - j) <= window // 2}),
            ("the question's tokens see those that come after them.", {"rows": "all"}),
            ("the question's tokens see the documents alone, and not the question.", {"rows": "documents"}),
            ("the question's tokens see none of the question but themselves.", {"rows": "self"}),
            ("the window is kept among the question's tokens, too; they attend to all earlier ones.", {"rows": "window"}),
            ("the question does not attend to the documents.", {"rows": "question"}),
            ("the question is treated as one more document.", {"rows": "document"}),
            ("the question's tokens do not see themselves.", {"rows": "strict"}),
            ("the diagonal of the question's mask starts in the first column; it belongs to the question's own, the last ones.",
             {"rows": "square"}),
            ("the question attends along the window alone.", {"rows": "local"})):
        mask = documents_mask(lengths, question, window, **wrong)
        if not np.array_equal(mask, right) and mask.any(axis=1).all():
            yield sentence, mask


def draw_documents(rng, lengths: tuple[int, ...], question: int, window: int, B: int, n_head: int, head_dim: int,
                   dtype: str = "float32",
                   **more) -> Case:
    """A case of cross_document_attention."""
    q, k, v = (rng.standard_normal((B, n_head, sum(lengths) + question, head_dim)).astype(dtype) for _ in range(3))
    call = f"cross_document_attention on {dtype} of shape {q.shape}, lengths {list(lengths)}, window {window}"
    return Case(q, k, v, documents_mask(lengths, question, window), call, None, tuple(lengths), window,
                wrong=lambda: _mistakes(lengths, question, window), **more)


@probe(uses=(given, measured))
def across_work(runs):
    """What cross_document_attention does for each (lengths, T, window), with 2 heads of 8."""
    import torch
    from submission.efficient_attention import cross_document_attention
    torch.set_num_threads(1)
    results = []
    with torch.no_grad():
        for lengths, T, window in runs:
            q, k, v = torch.randn(3, 1, 2, T, 8)
            results.append(measured(lambda: cross_document_attention(q, k, v, lengths, window), (q, k, v), 2 * T, 1 << 30))
    return results


def require_across_work(student, runs: list[tuple[tuple[int, ...], int, int]]) -> None:
    """cross_document_attention works out little more than the pairs that are connected, for each (lengths, question, window).

    Raises:
        WrongAnswer: it does not.
    """
    answers = student.run(across_work, runs=[(list(lengths), sum(lengths) + n, window) for lengths, n, window in runs])
    for (lengths, n, window), answer in zip(runs, answers.items(len(runs))):
        T = sum(lengths) + n
        documents = list(lengths) if len(lengths) < 9 else f"{len(lengths)} times {lengths[0]}"
        what = f"cross_document_attention, for documents of {documents} tokens, a question of {n} and a window of {window},"
        require_no_loop(answer, T, what)
        counts = read_counts(answer)
        if answer["stopped"].text() or counts["largest"] >= T * T or counts["elements"] > 8 * 2 * T * T:
            raise WrongAnswer(f"{what} makes tensors with a place for each pair of {T:,} tokens. Only pairs that are connected "
                              f"should be worked out.")
        local = sum(length * (2 * w + 1) - w * (w + 1) for length in lengths for w in [min(window, length - 1)])
        connections = local + n * sum(lengths) + n * (n + 1) // 2
        require_seen(counts, connections, 2 * 8, what)
        flops = 4 * 8 * 2 * connections
        if counts["flops"] > 3 * flops:
            raise WrongAnswer(f"{what} takes {counts['flops'] / flops:.1f} times the FLOPs of its connections; 3 times are "
                              f"allowed.")


@probe(uses=(given, layer_of))
def asked(cases):
    """For each case: Memory of its documents, and what ask gives; what became of the inputs; and the gradients of
    sum(y * upstream) + sum(shares * upstream), if there are upstreams."""
    import torch
    from submission.efficient_attention import ask, remember
    results = []
    for case in cases:
        layer, _ = layer_of(case["layer"])
        if layer is None:
            results.append(None)
            continue
        documents = [torch.from_numpy(x.copy()) for x in case["documents"]]
        x = torch.from_numpy(case["x"].copy())
        if case["upstream"] is not None:
            layer = layer.double()
            documents, x = [part.double().requires_grad_() for part in documents], x.double().requires_grad_()
        memory = remember(layer, documents)
        parts = {name: getattr(memory, name, memory) for name in ("keys", "values", "lengths")}
        answer = ask(layer, x, memory) if isinstance(memory, tuple) else None
        result = {**parts, "answer": answer, "after": [*(part.detach() for part in documents), x.detach()], "gradients": None}
        if case["upstream"] is not None:
            both = answer if isinstance(answer, tuple) and len(answer) == 2 else ()
            parts = [(part * torch.from_numpy(upstream)).sum() for part, upstream in zip(both, case["upstream"])
                     if isinstance(part, torch.Tensor) and part.requires_grad]
            if parts:
                sum(parts).backward()
            result["gradients"] = {"x": x.grad, **{f"document {n}": part.grad for n, part in enumerate(documents)},
                                   **{name: layer.get_parameter(name).grad for name in case["layer"]["weights"]}}
        results.append(result)
    return results


@dataclass
class Question:
    """Documents, (n, C) each, and a decoder's states x, (B, n, C)."""
    layer: Layer
    documents: list[np.ndarray]
    x: np.ndarray
    upstream: list | None = None
    lengths: list[int] = field(init=False)

    def __post_init__(self):
        self.lengths = [len(document) for document in self.documents]

    @property
    def data(self) -> dict:
        """For the probe."""
        return {"layer": self.layer.data, "documents": self.documents, "x": self.x, "upstream": self.upstream}

    def __str__(self):
        return f"documents of {self.lengths} tokens and x of shape {self.x.shape}, {self.layer.n_head} heads"

    def heads(self, name: str, x: np.ndarray) -> np.ndarray:
        """A projection, split: (..., n, C) -> (..., n_head, n, head_dim)."""
        w = self.layer.weights
        y = x.astype(float) @ w[f"{name}.weight"].T.astype(float) + w[f"{name}.bias"].astype(float)
        return y.reshape(*y.shape[:-1], self.layer.n_head, -1).swapaxes(-2, -3)

    def scores(self, query: np.ndarray | None = None) -> np.ndarray:
        """Scaled, (B, n_head, n, N); query: others than the right ones."""
        q = self.heads("query", self.x) if query is None else query
        return q @ self.heads("key", np.concatenate(self.documents)).swapaxes(-1, -2) / np.sqrt(q.shape[-1])

    def expected(self, causal: bool = False, scale: float = 1.0, mask=None, join: bool = True, project: bool = True,
                 apart: bool = False, query=None, values: str = "value", residual=False) -> tuple[np.ndarray, np.ndarray]:
        """Output and weights, (B, n, C) and (B, n_head, n, N), in float64; the arguments are for mistakes."""
        scores, v = scale * self.scores(query), self.heads(values, np.concatenate(self.documents))
        if causal:
            mask = np.tri(*scores.shape[-2:], dtype=bool)
        if mask is not None:
            scores[..., ~np.broadcast_to(mask, scores.shape[-2:])] = -np.inf
        weights = softmax(scores)
        if apart:
            pieces = np.split(scores, np.cumsum(self.lengths[:-1]), axis=-1)
            weights = np.concatenate([softmax(piece) / len(pieces) for piece in pieces], axis=-1)
        y = weights @ v
        y = (y.swapaxes(1, 2) if join else y).reshape(self.x.shape)
        w = self.layer.weights
        y = y @ w["proj.weight"].T.astype(float) + w["proj.bias"].astype(float) if project else y
        return y + residual * self.x, weights

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """(B, n, D), of weights (B, n_head, n, N)."""
        return np.add.reduceat(weights, np.cumsum([0, *self.lengths[:-1]]), axis=-1).mean(axis=1)


def draw_question(rng, lengths: list[int], B: int, n: int, n_head: int, head_dim: int) -> Question:
    """Random weights, documents and states."""
    layer = draw_layer(rng, Spec(4, 2), 1, n_head, head_dim)
    C = n_head * head_dim
    return Question(layer, [rng.standard_normal((length, C)).astype("float32") for length in lengths],
                    rng.standard_normal((B, n, C)).astype("float32"))


def run_questions(student, cases: list[Question]) -> list[tuple[Question, Answer]]:
    """Run `asked`."""
    return list(zip(cases, student.run(asked, cases=[case.data for case in cases]).items(len(cases))))


def require_memory(answer: Answer, case: Question) -> None:
    """Memory has the keys and values of all documents, and the inputs are as they were.

    Raises:
        WrongAnswer: names what is not, and the likely cause.
    """
    if answer.value is None:
        raise WrongAnswer("SparseSelfAttention should have the parameters of query, key, value, proj and predictor, in their "
                          "shapes.")
    states, n_head = np.concatenate(case.documents), case.layer.n_head
    shape = (n_head, len(states), states.shape[1] // n_head)
    lengths = answer["lengths"].named(f"Memory's lengths, for {case},")
    if not isinstance(lengths.value, tuple) or [item.number() for item in lengths.items()] != case.lengths:
        raise WrongAnswer(f"{lengths.name} should be {tuple(case.lengths)}; it is "
                          f"{lengths.value if isinstance(lengths.value, (list, tuple)) else lengths.describe()}.")
    for name, part, other in (("keys", "key", "value"), ("values", "value", "key")):
        got = answer[name].named(f"Memory's {name}, for {case},").array("float32", shape).astype(float)
        mixed = case.heads(part, states).swapaxes(0, 1).reshape(shape)
        require_close(answer[name].named(f"Memory's {name}, for {case},").name, got, case.heads(part, states), TOLERANCE, [
            (f"these are the {other}s.", lambda other=other: case.heads(other, states)),
            ("these are the queries.", lambda: case.heads("query", states)),
            ("the module is not applied; these are the documents themselves.",
             lambda: states.astype(float).reshape(len(states), n_head, -1).swapaxes(0, 1)),
            ("heads are mixed with the positions: view(N, n_head, head_dim), then transpose.", lambda mixed=mixed: mixed),
            ("the documents are in another order.", lambda part=part: case.heads(part, np.concatenate(case.documents[::-1])))])
    for before, after in zip((*case.documents, case.x), answer["after"].items(len(case.documents) + 1)):
        if not np.array_equal(after.array("float32", before.shape, finite=False), before):
            raise WrongAnswer(f"remember or ask changes its arguments in place, for {case}.")


def require_answer(answer: Answer, case: Question) -> None:
    """Output and shares of ask are right.

    Raises:
        WrongAnswer: they are not; names the likely cause.
    """
    y, shares = answer["answer"].named(f"what ask returns for {case}").items(2)
    got = y.named(f"the output of ask for {case}").array("float32", case.x.shape).astype(float)
    right, weights = case.expected()
    n, N, d = case.x.shape[1], sum(case.lengths), case.x.shape[2] // case.layer.n_head
    last = np.arange(N) >= N - case.lengths[-1]
    causes = [("there is a causal mask: the documents are complete, and each state sees all of them.", {"causal": True}),
              ("the scores are not scaled: divide by sqrt(head_dim).", {"scale": np.sqrt(d)}),
              ("the scores are divided by head_dim; it should be its square root.", {"scale": 1 / np.sqrt(d)}),
              ("the scores are divided by the root of n_embd; it should be that of head_dim.",
               {"scale": 1 / np.sqrt(case.layer.n_head)}),
              ("the projection at the end is missing.", {"project": False}),
              ("heads are joined in the wrong order: transpose before the reshape.", {"join": False}),
              ("each document has a softmax of its own; one softmax goes over all of memory.", {"apart": True}),
              ("the weights are multiplied with the keys.", {"values": "key"}),
              ("attention.query is not applied to x.",
               {"query": case.x.astype(float).reshape(*case.x.shape[:2], -1, d).swapaxes(1, 2)}),
              ("x is added; that is the layer's affair.", {"residual": True}),
              ("only the last document is attended to.", {"mask": last}),
              ("only the first document is attended to.", {"mask": np.arange(N) < case.lengths[0]})]
    require_close(f"The output of ask for {case}", got, right, TOLERANCE,
                  [(sentence, lambda wrong=wrong: case.expected(**wrong)[0]) for sentence, wrong in causes])
    name = f"the shares of ask for {case}"
    got = shares.named(name).array("float32", (case.x.shape[0], n, len(case.lengths))).astype(float)
    each = np.array(case.lengths, dtype=float)
    require_close(f"T{name[1:]}", got, case.shares(weights), TOLERANCE, [
        ("they are summed over the heads; average them.", lambda: case.shares(weights) * case.layer.n_head),
        ("they are averages over the tokens of a document; they should be sums.", lambda: case.shares(weights) / each),
        ("they are those of the first head; average over all.", lambda: case.shares(weights[:, :1])),
        ("they are the same for all states: averaged over them.",
         lambda: np.broadcast_to(case.shares(weights).mean(axis=1, keepdims=True), got.shape)),
        ("they are those of the last state, for all.",
         lambda: np.broadcast_to(case.shares(weights)[:, -1:], got.shape)),
        ("they are the documents' shares of the tokens, whatever the weights.", lambda: np.broadcast_to(each / N, got.shape)),
        ("the documents are in another order.", lambda: case.shares(weights)[..., ::-1]),
        ("they are made of scores; they should be sums of weights, after the softmax.",
         lambda: softmax(case.shares(case.scores())))])
