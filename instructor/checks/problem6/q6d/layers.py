"""SparseSelfAttention in float64 with NumPy, its known mistakes, and its cases."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import numpy as np

from checks.problem6.q6d.rows import thin
from checks.problem6.q6d.sparse_layers import NAMES, layer_inputs
from checks.support.cases import Case
from instructor.checks.problem5.encoder import softmax
from instructor.checks.problem6.q6d.attention import draw_seed, listed, scores_of
from instructor.checks.problem6.q6d.patterns import Spec, connected, mistakes
from instructor.checks.reference import rotate


@dataclass(frozen=True)
class Layer:
    """A module and a call of it. dense: created from a dense module with this block_size, rotating
    or not; predict: no positions are given, and the predictor chooses those of spec.
    """

    spec: Spec
    B: int
    n_embd: int
    n_head: int
    seed: int
    dense: bool = False
    block_size: int | None = None
    rope: bool = False
    max_positions: int | None = None
    predict: bool = False
    max_global: int | None = None

    @property
    def data(self) -> dict:
        """The inputs for probes."""
        # without the positions that the predictor chooses, which would reveal the answer
        spec = replace(self.spec, chosen=()) if self.predict else self.spec
        return {**asdict(self), "spec": spec.data}

    @cached_property
    def drawn(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Draw weights and x, in float64."""
        weights, x = layer_inputs.function(self.data)
        return {name: value.astype(float) for name, value in weights.items()}, x.astype(float)

    def right(self) -> np.ndarray:
        """The part of the output that a case keeps."""
        return self.kept(self.expected())

    def kept(self, y: np.ndarray) -> np.ndarray:
        """Pick one number per position."""
        return thin(y[:, None])

    def angles(self, stretch: float | None = None) -> np.ndarray | None:
        """The angles, (T, head_dim/2), or None without rotation."""
        if not self.rope:
            return None
        longest = self.block_size if self.max_positions is None else self.max_positions
        stretch = min(1.0, self.block_size / longest) if stretch is None else stretch
        d = self.n_embd // self.n_head
        return np.outer(np.arange(self.spec.n) * stretch, 10000.0 ** (-2 * np.arange(d // 2) / d))

    def expected(
        self,
        mask: np.ndarray | None = None,
        angles="right",
        rotated: str = "qk",
        project: bool = True,
        split: str = "heads",
        join: str = "heads",
        order: tuple = NAMES,
        scale: float = 1.0,
        twice=False,
        weights: dict | None = None,
    ) -> np.ndarray:
        """Compute the output, (B, T, C), in float64; the arguments are for mistakes (twice: pairs
        that count twice).
        """
        w, x = self.drawn if weights is None else (weights, self.drawn[1])
        B, T, C = x.shape
        angles = self.angles() if isinstance(angles, str) else angles
        heads = {}
        for letter, name in zip("qkv", order):
            part = x @ w[f"{name}.weight"].T + w[f"{name}.bias"]
            part = (
                part.reshape(B, self.n_head, T, -1)
                if split == "view"
                else part.reshape(B, T, self.n_head, -1).transpose(0, 2, 1, 3)
            )
            turned = angles is not None and letter in rotated
            heads[letter] = rotate(part, angles) if turned else part
        scores = scale * scores_of(heads["q"], heads["k"]) + np.log(2) * twice
        mask = connected(self.spec) if mask is None else mask
        y = softmax(np.where(mask, scores, -np.inf)) @ heads["v"]
        y = (y if join == "view" else y.transpose(0, 2, 1, 3)).reshape(B, T, C)
        return y @ w["proj.weight"].T + w["proj.bias"] if project else y

    def _rounded(self, longest):
        """The angles for rounded interpolated positions."""
        return self.angles(1.0)[
            np.rint(np.arange(self.spec.n) * min(1.0, self.block_size / longest)).astype(int)
        ]

    def _by_halves(self):
        """The output with entries i and i + head_dim/2 paired, computed from adjacent pairs with
        reordered queries and keys.
        """
        d = self.n_embd // self.n_head
        order = (
            np.arange(self.n_head)[:, None] * d + np.arange(d).reshape(2, -1).T.ravel()
        ).ravel()
        weights = {
            name: value[order] if name.startswith(("query", "key")) else value
            for name, value in self.drawn[0].items()
        }
        return self.expected(weights=weights)

    def causes(self, known: str) -> Iterator:
        """Known mistakes with their results, (B, T, C); known: of "masks", "modules", "angles" and
        "choices".
        """
        causes = []
        if "masks" in known:
            causes += [
                (sentence, lambda mask=mask: self.expected(mask))
                for sentence, mask in mistakes(self.spec)
            ]
        if "modules" in known:
            causes += [
                ("the final projection is missing.", lambda: self.expected(project=False)),
                (
                    "heads are mixed with the sequence: view(B, T, n_head, "
                    "head_dim).transpose(1, 2), and back.",
                    lambda: self.expected(split="view", join="view"),
                ),
                (
                    "heads are mixed with the sequence when they are split: view(B, T, n_head, "
                    "head_dim).transpose(1, 2).",
                    lambda: self.expected(split="view"),
                ),
                (
                    "heads are mixed with the sequence when they are joined: transpose(1, 2) "
                    "before the reshape.",
                    lambda: self.expected(join="view"),
                ),
                (
                    "the scores are not scaled: divide by sqrt(head_dim).",
                    lambda: self.expected(scale=np.sqrt(self.n_embd / self.n_head)),
                ),
                ("there is only one head.", lambda: replace(self, n_head=1, rope=False).expected()),
                (
                    "queries and keys are swapped.",
                    lambda: self.expected(order=("key", "query", "value")),
                ),
                (
                    "queries and values are swapped.",
                    lambda: self.expected(order=("value", "key", "query")),
                ),
                (
                    "keys and values are swapped.",
                    lambda: self.expected(order=("query", "value", "key")),
                ),
            ]
        if "angles" in known and self.rope:
            longest = self.max_positions or self.block_size
            shortest = min(1.0, self.block_size / self.spec.n)
            causes += [
                (
                    "nothing is rotated, though the dense module rotates.",
                    lambda: self.expected(angles=None),
                ),
                (
                    "position t is rotated by its own angle; it should be that of t * block_size / "
                    "max_positions, since the module is for longer sequences than the dense one.",
                    lambda: self.expected(angles=self.angles(1.0)),
                ),
                (
                    "angles are stretched by max_positions / block_size; it should be the "
                    "other way around.",
                    lambda: self.expected(angles=self.angles(longest / self.block_size)),
                ),
                (
                    "angles are made larger, though max_positions is shorter than the "
                    "block_size: then they are those of t.",
                    lambda: self.expected(angles=self.angles(self.block_size / longest)),
                ),
                (
                    "interpolated positions are rounded; keep the fractions.",
                    lambda: self.expected(angles=self._rounded(longest)),
                ),
                (
                    "the angles depend on the length of the sequence; they should be those of "
                    "t * block_size / max_positions "
                    "for short sequences, too.",
                    lambda: self.expected(angles=self.angles(shortest)),
                ),
                ("the values are rotated, too.", lambda: self.expected(rotated="qkv")),
                (
                    "entries half a head apart are rotated together; apply_rotary_emb rotates "
                    "neighbors.",
                    self._by_halves,
                ),
                ("only the queries are rotated.", lambda: self.expected(rotated="q")),
                ("only the keys are rotated.", lambda: self.expected(rotated="k")),
            ]
        if "choices" in known and self.predict:
            (weights, x), chosen = self.drawn, sorted(self.spec.chosen)
            scores = x[0] @ weights["predictor.weight"][0] + weights["predictor.bias"][0]
            over = tuple(np.flatnonzero(scores > 0).tolist())
            first = over[: len(chosen)]
            causes += [
                (
                    "the predictor is not used: there are no global positions.",
                    lambda: self.expected(connected(replace(self.spec, chosen=()))),
                ),
                (
                    "max_global is ignored.",
                    lambda: self.expected(connected(replace(self.spec, chosen=over))),
                ),
                (
                    "of more scores above 0 than max_global, the first are taken; it should be "
                    "the highest.",
                    lambda: self.expected(connected(replace(self.spec, chosen=first))),
                ),
            ]
        yield from causes


def draw_layer(
    rng,
    spec: Spec,
    B: int,
    n_head: int,
    head_dim: int,
    predict: bool = False,
    max_global: int | None = None,
    **more,
) -> Layer:
    """Draw a module with random weights, and an x. predict: the predictor chooses about half of the
    positions, at most max_global.
    """
    while True:
        layer = Layer(
            spec,
            B,
            n_head * head_dim,
            n_head,
            draw_seed(rng),
            predict=predict,
            max_global=max_global,
            **more,
        )
        if not predict:
            return layer
        weights, x = layer.drawn
        scores = x[0] @ weights["predictor.weight"][0] + weights["predictor.bias"][0]
        # Even in float32, it must be clear which scores are above 0 and which are the highest.
        if min(np.diff(np.sort(scores)).min(), abs(scores).min()) > 1e-5:
            best = np.argsort(-scores)[:max_global]
            return replace(
                layer, spec=replace(spec, chosen=tuple(int(i) for i in best if scores[i] > 0))
            )


def layer_case(layer: Layer, known: str = "masks modules angles choices") -> Case:
    """Make a case of the module, with the mistakes that it should recognize."""
    right = layer.right()
    causes = (
        (sentence, lambda make=make: layer.kept(make())) for sentence, make in layer.causes(known)
    )
    return Case(layer.data, {"y": right.astype("float32")}, listed(right, causes))
