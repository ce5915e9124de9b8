"""Known mistakes in a layer and in the whole encoder, as (sentence, function that returns the
result).
"""

import math

import numpy as np

from instructor.checks.problem5.encoder import (
    encode,
    layer,
    layer_norm,
    multi_head,
    of,
    pool,
    softmax,
)

ACTIVATIONS = {
    "ReLU": lambda x: np.maximum(x, 0),
    "the tanh approximation of GELU": lambda x: (
        x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    ),
    "missing": lambda x: x,
    "tanh": np.tanh,
    "SiLU": lambda x: x / (1 + np.exp(-x)),
    "x * sigmoid(1.702 x)": lambda x: x / (1 + np.exp(-1.702 * x)),
}
IN_LAYERS = [
    ("the residual connection around the attention is missing", {"residual": "2"}),
    ("the residual connection around the feed-forward part is missing", {"residual": "1"}),
    ("both residual connections are missing", {"residual": ""}),
    ("norm1 is used in both places", {"norms": "11"}),
    ("norm2 is used in both places", {"norms": "22"}),
    ("norm1 and norm2 are swapped", {"norms": "21"}),
    ("both norms are missing", {"norms": "--"}),
    ("norm1 is missing", {"norms": "-2"}),
    ("norm2 is missing", {"norms": "1-"}),
    *(
        (f"the activation is {name}; it should be the exact GELU, F.gelu(x)", {"act": act})
        for name, act in ACTIVATIONS.items()
    ),
    ("the scores of the attention are not scaled", {"attention": {"divisor": 1.0}}),
]


def in_layers(pre_norm: bool) -> list[tuple[str, dict]]:
    """Return mistakes in a layer, as (sentence without a full stop, arguments of `layer`)."""
    if not pre_norm:
        return [
            *IN_LAYERS,
            ("it is pre-norm; it should be post-norm: norm(x + F(x))", {"pre_norm": True}),
        ]
    starts = (("12", ""), ("1", "around the attention "), ("2", "around the feed-forward part "))
    return [
        *IN_LAYERS,
        ("it is post-norm; it should be pre-norm: x + F(norm(x))", {"pre_norm": False}),
        *(
            (
                f"the residual {which}starts after the norm: add to the x before the norm",
                {"start": places},
            )
            for places, which in starts
        ),
        ("norm2 is applied at the end, too, as if it were post-norm", {"also": "norm2"}),
    ]


def layer_mistakes(
    inputs: dict, x: np.ndarray, weights: dict[str, np.ndarray], which: str = "all"
) -> list:
    """Return mistakes in a layer: "all", "masks" or "none"; `inputs` has n_head, padding and
    pre_norm.
    """
    pre = inputs["pre_norm"]

    def make(weights=weights, x=x, **wrong):
        return layer(x, weights, inputs["n_head"], inputs["padding"], **{"pre_norm": pre, **wrong})

    mute, still = (_without(weights, part) for part in ("attn.proj", "down"))
    known = in_layers(pre) if which == "all" else []
    if inputs["padding"] is not None and which != "none":
        known = [
            ("the padding mask does not reach the attention", {"attention": {"hide": "nothing"}}),
            ("the padding mask is inverted", {"attention": {"hide": "other"}}),
            *known,
        ]
    causes = [(f"{sentence}.", lambda wrong=wrong: make(**wrong)) for sentence, wrong in known]
    if which != "all":
        return causes
    causes += [
        ("the feed-forward part is missing.", lambda: make(still)),
        ("the attention is missing.", lambda: make(mute)),
    ]
    if not pre:
        return causes + [
            ("the feed-forward part is missing, with its norm.", lambda: make(still, norms="1-")),
            ("the attention is missing, with its norm.", lambda: make(mute, norms="-2")),
            (
                "a norm is applied to a part's output, before the sum: it should be norm(x + "
                "F(x)).",
                lambda: _inside(inputs, x, weights),
            ),
        ]
    return causes + [
        (
            "both parts start from the same x. The second should start from the first sum.",
            lambda: make(still) + make(mute) - x,
        ),
        (
            "the second sum starts from the layer's input x. It should start from the first sum.",
            lambda: make() - make(still) + x,
        ),
        (
            "the feed-forward part comes first; the attention should.",
            lambda: make(still, make(mute)),
        ),
    ]


def _without(weights, part):
    """Return the weights with zeros for a part."""
    return {
        **weights,
        **{f"{part}.{name}": 0 * weights[f"{part}.{name}"] for name in ("weight", "bias")},
    }


def _inside(inputs, x, weights):
    """Compute x + norm(F(x)), twice."""
    attended = multi_head(x, of(weights, "attn"), inputs["n_head"], inputs["padding"])[0]
    x = x + layer_norm(attended, of(weights, "norm1"))
    fed = layer(x, _without(weights, "attn.proj"), inputs["n_head"], None, False, norms="--") - x
    return x + layer_norm(fed, of(weights, "norm2"))


def encoder_mistakes(
    idx: np.ndarray, weights: dict[str, np.ndarray], config: dict, which: str = "all"
) -> list:
    """Return mistakes in the encoder: "all", its "own" (in positions and poolings), or "none"."""
    known = []
    if which != "none":
        known = [*_of_positions(idx, config), *_of_poolings(idx, config)]
    if which == "all":
        known = [*known, *_of_padding(idx), *_of_layers(config)]
    causes = [
        (sentence, lambda wrong=wrong: _encode(idx, weights, config, **wrong))
        for sentence, wrong in known
    ]
    if which != "all":
        return causes
    causes.append(
        (
            "these are probabilities. Logits are what comes before a softmax.",
            lambda: softmax(encode(idx, weights, config)),
        )
    )
    if config["pre_norm"] and config["pooling"] == "mean":
        causes.append(
            (
                "the last norm comes after the pooling; it should come before.",
                lambda: _late_norm(idx, weights, config),
            )
        )
    return causes


def _of_positions(idx, config):
    n_embd, T = config["n_embd"], idx.shape[1]
    known = [
        (
            f"the token embeddings are multiplied by the root of n_embd = {n_embd}. They should be "
            "added to the positions without a factor.",
            {"factor": math.sqrt(n_embd)},
        )
    ]
    if config["positions"] == "none":
        sentence = "there are sinusoidal positions, although there should be none."
        return [*known, (sentence, {"positions": "sinusoidal"})]
    known.append(("the positions are not added.", {"positions": "none"}))
    if T < config["max_len"]:
        last = "the last T rows of the positions are used. The first token has position 0."
        known.append(("the positions start at 1; they should start at 0.", {"first": 1}))
        known.append((last, {"first": config["max_len"] - T}))
    if config["positions"] == "learned":
        known.append(
            (
                "positions are sinusoidal, although they should be learned.",
                {"positions": "sinusoidal"},
            )
        )
    return known


def _of_layers(config):
    last = config["n_layer"] - 1
    known = [("the layers are not used.", {"layers": []})]
    if last:
        known += [
            (
                "only the last layer's output is used: each layer should start from the previous "
                "one's output.",
                {"layers": [last]},
            ),
            ("only the first layer is used.", {"layers": [0]}),
            ("the first layer is used each time.", {"layers": [0] * (last + 1)}),
            ("the layers come in the wrong order.", {"layers": range(last, -1, -1)}),
        ]
    if config["pre_norm"]:
        known.append(("the last norm, self.norm, is missing.", {"norm": False}))
    return known + [
        (f"in the layers, {sentence}.", wrong) for sentence, wrong in in_layers(config["pre_norm"])
    ]


def _of_poolings(idx, config):
    padded, needs_padding = (idx == 0).any(), ("all", "length", "counted")
    poolings = POOLINGS[config["pooling"]].items()
    return [
        (sentence, {"pooling": how})
        for how, sentence in poolings
        if padded or how not in needs_padding
    ]


def _of_padding(idx):
    if (idx != 0).all():
        return []
    names = ((1, "CLS"), (2, "UNK"))
    return [
        ("the layers do not get the padding mask.", {"seen": False}),
        ("the padding mask is inverted: True marks PAD.", {"attention": {"hide": "other"}}),
        ("nothing is treated as padding. PAD is token 0.", {"is_pad": lambda idx: idx < 0}),
        ("padding is inverted: only PAD counts.", {"is_pad": lambda idx: idx != 0}),
        *(
            (
                f"token {n} ({name}) is treated as padding. PAD is token 0.",
                {"is_pad": lambda idx, n=n: idx == n},
            )
            for n, name in names
        ),
        *(
            (
                f"token {n} is treated as padding, too. Only token 0 is PAD.",
                {"is_pad": lambda idx, n=n: (idx == 0) | (idx == n)},
            )
            for n, _ in names
        ),
    ]


POOLINGS = {
    "mean": {
        "all": "the mean counts PAD. Leave out the positions at PAD, and divide by the number of "
        "the others.",
        "length": "the sum leaves out PAD, but is divided by all T positions instead of the number "
        "of those that are not PAD.",
        "counted": "the sum includes PAD. Set the vectors at PAD to 0 first.",
        "sum": "the sum is not divided by the number of positions.",
        "cls": 'position 0 is taken, as for pooling "cls".',
        "last": "the last position is taken.",
        "max": "the maximum is taken instead of the mean.",
        "maximum": "the maximum is taken instead of the mean.",
    },
    "cls": {
        "last": 'the last position is taken. Pooling "cls" takes position 0.',
        "mean": 'the mean is taken, as for pooling "mean".',
        "all": 'the mean over all positions is taken. Pooling "cls" takes position 0.',
    },
    "none": {
        "cls": 'position 0 is taken, as for pooling "cls".',
        "mean": 'the mean is taken, as for pooling "mean".',
    },
}


def _encode(idx, weights, config, layers=None, **wrong):
    """Encode; layers: the indices of the layers to use instead."""
    if layers is None:
        return encode(idx, weights, config, **wrong)
    chosen = {
        f"layers.{i}.{name}": value
        for i, n in enumerate(layers)
        for name, value in of(weights, f"layers.{n}").items()
    }
    return encode(idx, {**weights, **chosen}, {**config, "n_layer": len(layers)}, **wrong)


def _late_norm(idx, weights, config):
    one = {**config, "n_classes": config["n_embd"], "pooling": "none"}
    plain = {**weights, "head.weight": np.eye(config["n_embd"]), "head.bias": 0.0}
    x = pool(encode(idx, plain, one, norm=False), idx == 0, "mean")
    return layer_norm(x, of(weights, "norm")) @ weights["head.weight"].T + weights["head.bias"]
