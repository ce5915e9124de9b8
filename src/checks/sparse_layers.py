"""Running SparseSelfAttention, what it should give in float64 with NumPy, and the mistakes that are known by name.

The checks of question 6d share it; streams.py has streams.
"""
from dataclasses import dataclass, replace
from typing import Iterator

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.encoder import softmax
from checks.patterns import Spec, connected, mistakes
from checks.reference import rotate
from checks.sparse import given

TOLERANCE = 1e-5
NAMES = ("query", "key", "value", "proj")


@probe(uses=(given,))
def layer_of(case):
    """The submission's SparseSelfAttention with the weights of a case: from a dense module or made anew; and the dense module.
    None instead of a module that lacks parameters."""
    import types
    import torch
    from submission.attention import CausalSelfAttention
    from submission.efficient_attention import SparseSelfAttention

    def fill(module, weights):
        parameters = dict(module.named_parameters())
        if any(name not in parameters or parameters[name].shape != value.shape for name, value in weights.items()):
            return None
        with torch.no_grad():
            for name, value in weights.items():
                parameters[name].copy_(torch.from_numpy(value))
        return module

    pattern, _ = given(case["spec"])
    weights = {name: value for name, value in case["weights"].items() if not name.startswith("predictor")}
    dense = None
    if case["dense"]:
        config = types.SimpleNamespace(n_embd=case["n_embd"], n_head=case["n_head"], block_size=case["block_size"],
                                       attn_pdrop=0.1,
                                       resid_pdrop=0.1, rope=case["rope"])
        dense = fill(CausalSelfAttention(config), weights).eval()
        more = {} if case["max_positions"] is None else {"max_positions": case["max_positions"]}
        layer = SparseSelfAttention.from_dense(dense, pattern, **more)
    else:
        more = {} if case["max_global"] is None else {"max_global": case["max_global"]}
        layer = fill(SparseSelfAttention(case["n_embd"], case["n_head"], pattern, **more), case["weights"])
    return layer if layer is None else layer.eval(), dense


@probe(uses=(given, layer_of))
def layers(cases):
    """For each case: the parameters of the module as it is made, its output, and what became of x and of the dense module's
    weights; `shares` says whether a parameter of the two is the same."""
    import torch
    results = []
    for case in cases:
        layer, dense = layer_of(case)
        if layer is None:
            results.append({"parameters": None})
            continue
        parameters = {name: value.detach().clone() for name, value in layer.named_parameters()}
        x = torch.from_numpy(case["x"].copy())
        _, chosen = given(case["spec"])
        with torch.no_grad():
            y = layer(x) if case["predict"] else layer(x, chosen)
            theirs = [] if dense is None else [value.data_ptr() for value in dense.parameters()]
            results.append({"parameters": parameters, "y": y, "x": x,
                            "dense": {} if dense is None
                            else {name: value.detach().clone() for name, value in dense.named_parameters()},
                            "shares": any(value.data_ptr() in theirs for value in layer.parameters())})
    return results


@dataclass
class Layer:
    """A module, with weights, and a call of it. dense: made from a dense module with this block_size, that rotates or not;
    predict: no positions are given, and the predictor chooses those of spec."""
    spec: Spec
    n_embd: int
    n_head: int
    weights: dict[str, np.ndarray]
    x: np.ndarray
    dense: bool = False
    block_size: int | None = None
    rope: bool = False
    max_positions: int | None = None
    predict: bool = False
    max_global: int | None = None

    @property
    def data(self) -> dict:
        """For probes."""
        return {**vars(self), "spec": self.spec.data}

    def __str__(self):
        made = "SparseSelfAttention"
        if self.dense:
            longest = "" if self.max_positions is None else f", max_positions={self.max_positions}"
            made = f"SparseSelfAttention.from_dense (block_size {self.block_size}{', rotating' if self.rope else ''}{longest})"
        chosen = ", global_positions=None" if self.predict else ""
        return f"{made} on x of shape {self.x.shape}{chosen}, {self.spec}"

    def angles(self, stretch: float | None = None) -> np.ndarray | None:
        """(T, head_dim/2), or None where nothing is rotated."""
        if not self.rope:
            return None
        longest = self.block_size if self.max_positions is None else self.max_positions
        stretch = min(1.0, self.block_size / longest) if stretch is None else stretch
        d = self.n_embd // self.n_head
        return np.outer(np.arange(self.x.shape[1]) * stretch, 10000.0 ** (-2 * np.arange(d // 2) / d))

    def expected(self, mask: np.ndarray | None = None, angles="right", rotated: str = "qk", project: bool = True,
                 split: str = "heads", join: str = "heads", order: tuple = NAMES, scale: float = 1.0, twice=False) -> np.ndarray:
        """The output, (B, T, C), in float64; the arguments are for mistakes (twice: pairs that count twice)."""
        B, T, C = self.x.shape
        w = {name: value.astype(float) for name, value in self.weights.items()}
        angles = self.angles() if isinstance(angles, str) else angles
        heads = {}
        for letter, name in zip("qkv", order):
            part = self.x @ w[f"{name}.weight"].T + w[f"{name}.bias"]
            part = part.reshape(B, self.n_head, T, -1) if split == "view" else part.reshape(B, T, self.n_head, -1).transpose(0, 2,
                                                                                                                             1, 3)
            heads[letter] = rotate(part, angles) if angles is not None and letter in rotated else part
        scores = scale * heads["q"] @ heads["k"].swapaxes(-1, -2) / np.sqrt(C // self.n_head) + np.log(2) * twice
        y = softmax(np.where(connected(self.spec) if mask is None else mask, scores, -np.inf)) @ heads["v"]
        y = (y if join == "view" else y.transpose(0, 2, 1, 3)).reshape(B, T, C)
        return y @ w["proj.weight"].T + w["proj.bias"] if project else y

    def _rounded(self, longest):
        """The angles of interpolated positions that have been rounded."""
        return self.angles(1.0)[np.rint(np.arange(self.x.shape[1]) * min(1.0, self.block_size / longest)).astype(int)]

    def _by_halves(self):
        """The output where entries i and i + head_dim/2 make a pair: what neighbours give, if queries and keys are reordered."""
        d = self.n_embd // self.n_head
        order = (np.arange(self.n_head)[:, None] * d + np.arange(d).reshape(2, -1).T.ravel()).ravel()
        weights = {name: value[order] if name.startswith(("query", "key")) else value for name, value in self.weights.items()}
        return replace(self, weights=weights).expected()

    def causes(self) -> Iterator:
        """Mistakes known by name, for require_close; they are worked out when one is asked for."""
        causes = [(sentence, lambda mask=mask: self.expected(mask)) for sentence, mask in mistakes(self.spec)]
        causes += [("the projection at the end is missing.", lambda: self.expected(project=False)),
                   ("heads are mixed with the sequence: view(B, T, n_head, head_dim).transpose(1, 2), and back.",
                    lambda: self.expected(split="view", join="view")),
                   ("heads are mixed with the sequence when they are split: view(B, T, n_head, head_dim).transpose(1, 2).",
                    lambda: self.expected(split="view")),
                   ("heads are mixed with the sequence when they are joined: transpose(1, 2) before the reshape.",
                    lambda: self.expected(join="view")),
                   ("the scores are not scaled: divide by sqrt(head_dim).",
                    lambda: self.expected(scale=np.sqrt(self.n_embd / self.n_head))),
                   ("there is one head alone.", lambda: replace(self, n_head=1, rope=False).expected()),
                   ("queries and keys have changed places.", lambda: self.expected(order=("key", "query", "value"))),
                   ("queries and values have changed places.", lambda: self.expected(order=("value", "key", "query"))),
                   ("keys and values have changed places.", lambda: self.expected(order=("query", "value", "key")))]
        if self.rope:
            longest = self.max_positions or self.block_size
            causes += [("nothing is rotated, though the dense module rotates.", lambda: self.expected(angles=None)),
                       ("position t is rotated by its own angle; it should be that of t * block_size / max_positions, since the "
                        "module is made for longer sequences than the dense one.",
                        lambda: self.expected(angles=self.angles(1.0))),
                       ("angles are stretched by max_positions / block_size; it should be the other way around.",
                        lambda: self.expected(angles=self.angles(longest / self.block_size))),
                       ("angles are made larger, though max_positions is shorter than the block_size: then they are those of t.",
                        lambda: self.expected(angles=self.angles(self.block_size / longest))),
                       ("interpolated positions are rounded; fractions are meant.",
                        lambda: self.expected(angles=self._rounded(longest))),
                       ("the angles depend on the length of the sequence; they should be those of t * block_size / max_positions "
                        "for short sequences, too.",
                        lambda: self.expected(angles=self.angles(min(1.0, self.block_size / self.x.shape[1])))),
                       ("the values are rotated, too.", lambda: self.expected(rotated="qkv")),
                       ("numbers half a head apart are rotated together; apply_rotary_emb rotates neighbours.", self._by_halves),
                       ("only the queries are rotated.", lambda: self.expected(rotated="q")),
                       ("only the keys are rotated.", lambda: self.expected(rotated="k"))]
        if self.predict:
            chosen = sorted(self.spec.chosen)
            scores = self.x[0] @ self.weights["predictor.weight"][0] + self.weights["predictor.bias"][0]
            over = tuple(np.flatnonzero(scores > 0).tolist())
            causes += [("the predictor is not used: there are no global positions.",
                        lambda: self.expected(connected(replace(self.spec, chosen=())))),
                       ("max_global is not kept.", lambda: self.expected(connected(replace(self.spec, chosen=over)))),
                       ("of more scores above 0 than max_global, the first are taken; it should be the highest.",
                        lambda: self.expected(connected(replace(self.spec, chosen=over[:len(chosen)]))))]
        yield from causes


def draw_layer(rng, spec: Spec, B: int, n_head: int, head_dim: int, predict: bool = False, max_global: int | None = None,
               **more) -> Layer:
    """A module with random weights, and an x. predict: the predictor chooses, about half of the positions, max_global at most."""
    C = n_head * head_dim
    weights = {f"{name}.{part}": (0.4 * rng.standard_normal((C, C) if part == "weight" else C)).astype("float32")
               for name in NAMES for part in ("weight", "bias")}
    x = rng.standard_normal((B, spec.n, C)).astype("float32")
    if predict:
        weights |= {"predictor.weight": rng.standard_normal((1, C)).astype("float32"),
                    "predictor.bias": np.full(1, 0.1, "float32")}
        scores = x[0].astype(float) @ weights["predictor.weight"][0].astype(float) + 0.1
        # It must be clear, in float32 as well, which scores are above 0 and which are the highest.
        if min(np.diff(np.sort(scores)).min(), abs(scores).min()) < 1e-5:
            return draw_layer(rng, spec, B, n_head, head_dim, predict, max_global, **more)
        best = np.argsort(-scores)[:max_global]
        spec = replace(spec, chosen=tuple(int(i) for i in best if scores[i] > 0))
    return Layer(spec, C, n_head, weights, x, predict=predict, max_global=max_global, **more)


def run_layers(student, cases: list[Layer]) -> list[tuple[Layer, Answer]]:
    """Run `layers`."""
    return list(zip(cases, student.run(layers, cases=[case.data for case in cases]).items(len(cases))))


def require_parameters(answer: Answer, case: Layer) -> None:
    """The module has its parameters, with the dense module's weights in them, and a predictor of zeros; the dense module is as it
    was.

    Raises:
        WrongAnswer: names what is not.
    """
    C = case.n_embd
    wanted = {f"{name}.{part}": (C, C) if part == "weight" else (C,) for name in NAMES for part in ("weight", "bias")}
    wanted |= {"predictor.weight": (1, C), "predictor.bias": (1,)}
    if answer["parameters"].value is None:
        raise WrongAnswer(f"SparseSelfAttention({C}, {case.n_head}, ...) should have these parameters: {', '.join(wanted)}, in "
                          f"their shapes.")
    parameters = answer["parameters"].entries()
    for name, shape in wanted.items():
        if name not in parameters:
            raise WrongAnswer(f"{case} lacks the parameter {name}. It has {', '.join(sorted(parameters)) or 'none'}.")
        got = parameters[name].named(f"{name} of {case}").array("float32", shape)
        if name in case.weights and not np.array_equal(got, case.weights[name]):
            raise WrongAnswer(f"{name} of {case} is not that of the dense module.")
        if case.dense and name.startswith("predictor") and got.any():
            raise WrongAnswer(f"{name} of {case} should begin with zeros.")
    if case.dense:
        for name, value in answer["dense"].entries().items():
            if name in case.weights and not np.array_equal(value.array("float32", case.weights[name].shape, finite=False),
                                                           case.weights[name]):
                raise WrongAnswer(f"{case} changes {name} of the dense module, which should be left as it was.")
        if answer["shares"].flag():
            raise WrongAnswer(f"{case} shares parameters with the dense module: training one would change the other. Copy them.")


def require_layer(answer: Answer, case: Layer) -> None:
    """Parameters and output are right, and x is as it was.

    Raises:
        WrongAnswer: they are not; names the likely cause.
    """
    require_parameters(answer, case)
    got = answer["y"].named(f"the output of {case}").array("float32", case.x.shape).astype(float)
    require_close(f"The output of {case}", got, case.expected(), TOLERANCE, case.causes())
    if not np.array_equal(answer["x"].array("float32", case.x.shape, finite=False), case.x):
        raise WrongAnswer(f"{case} changes x in place.")
