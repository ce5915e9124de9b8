"""Question 5e, basic: positions, LayerNorm, layers, and the encoder's logits and gradients."""

from dataclasses import dataclass, replace

import numpy as np

from autograder import WrongAnswer, check, probe
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.q5d import TOLERANCE, UNREACHED, differentiate, fill
from checks.support.asked import Asked, Close, Same


@probe(uses=(forbid_builtins,))
def tabulate(max_len, n_embd):
    """Run sinusoidal_positions."""
    with forbid_builtins():
        from submission.problem5.encoder import sinusoidal_positions

        return {"table": sinusoidal_positions(max_len, n_embd)}


TABLE = Asked(
    tabulate, "sinusoidal_positions({max_len}, {n_embd})", {"table": Close(tolerance=TOLERANCE)}
)


@probe(uses=(forbid_builtins, fill, differentiate))
def normalize(n_embd, eps, x, seed, upstream):
    """Run LayerNorm on x: its output and gradients."""
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import LayerNorm

        x = torch.from_numpy(x).requires_grad_(upstream is not None)
        norm = LayerNorm(n_embd, *([] if eps is None else [eps])).to(x.dtype)
        fill(norm, seed, 0.3, {})
        output = norm(x)
        inputs = {"x": x, **dict(norm.named_parameters())}
        return {"output": output, **differentiate(output, upstream, inputs)}


NORM = Asked(
    normalize,
    "LayerNorm({n_embd}, {eps})({x})",
    {
        "output": Close(tolerance=TOLERANCE),
        "unreached": UNREACHED,
        "gradients": Close("The gradients of {call}", TOLERANCE),
    },
)


@probe(uses=(normalize,))
def normalize_large(**inputs):
    """Run LayerNorm on entries of some thousands that differ by ones."""
    return normalize(**inputs)


# Right formulas differ there by up to 1e-3, since the entries are rounded.
LARGE = replace(NORM, probe=normalize_large, reply={"output": Close(tolerance={"float32": 1e-2})})


@probe(uses=(forbid_builtins, fill))
def run_layer(sizes, dropout, pre_norm, train, x, key_padding_mask, repeat, seed, values):
    """Run EncoderLayer on x: the output, and output and attention weights.

    It has run before on the rows in reverse order: nothing of that may be kept.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import EncoderLayer

        layer = EncoderLayer(*sizes, dropout, pre_norm).train(train)
        fill(layer, seed, 0.3, values)
        x = torch.from_numpy(x).repeat(repeat, 1, 1)
        mask = None if key_padding_mask is None else torch.from_numpy(key_padding_mask)
        with torch.no_grad():
            layer(x.flip(0), None if mask is None else mask.flip(0))
            torch.default_generator.manual_seed(seed)
            return {
                "output": layer(x.clone(), mask),
                "pair": layer(x.clone(), mask, return_weights=True),
            }


CALL = "EncoderLayer({*sizes}, {dropout}, {pre_norm}).train({train})({x}, {key_padding_mask})"
LAYER = Asked(
    run_layer,
    CALL,
    {
        "output": Close(tolerance=TOLERANCE),
        "pair": Close("{call}, with return_weights=True,", TOLERANCE),
    },
)


@probe(uses=(run_layer,))
def drop_in_layer(**inputs):
    """Run EncoderLayer in training mode on many copies of one x."""
    import torch

    added = run_layer(**inputs)["output"]
    if isinstance(added, torch.Tensor):
        added = added - torch.from_numpy(inputs["x"])
    return {"dropped": {name: inputs[name] for name in ("dropout", "pre_norm")} | {"added": added}}


@dataclass(frozen=True)
class DroppedInLayer:
    """A share of what each part returns is dropped, and the rest divided by 1 - rate.

    With pre-norm, the attention returns 1 and the feed-forward part 2 for any x, so what is added
    to x shows which was dropped. With post-norm, one part returns 1 everywhere, and x is 0: where
    that was dropped, the output is at least 0.4 below the vector's mean, which is 0.
    """

    def require(self, call: str, got, right) -> None:
        """Judge what is dropped.

        Raises:
            WrongAnswer: it is something else, or another share.
        """
        call += f", with x repeated {len(right['added'].data)} times"
        got = got["added"] if isinstance(got, dict) and "added" in got else got
        Close(tolerance={"float32": np.inf}).require(call, got, right["added"])
        p, added = right["dropout"], got.data.astype(float)
        if not right["pre_norm"]:
            self._require_share(f"{call}: of what a part returns", (added < -0.1).mean(), p)
            return
        near = np.abs((1 - p) * added[..., None] - np.arange(4))
        if not near.min(axis=-1).max() < 1e-4:
            raise WrongAnswer(
                f"{call}: what is added to x is not the output of the two parts, with some of it "
                f"dropped and the rest divided by {1 - p:.1f}. Dropout acts on the outputs of both "
                "parts, just before they are added, and otherwise only on the attention weights."
            )
        which = near.argmin(axis=-1)
        attended, fed = 1 - (which % 2).mean(), 1 - (which // 2).mean()
        self._require_share(f"{call}: of what the attention returns", attended, p)
        self._require_share(f"{call}: of what the feed-forward part returns", fed, p)

    @staticmethod
    def _require_share(what, share, p):
        # 2,400 features: 0.06 is 6 standard deviations, or 5.6 with post-norm, which doesn't show
        # a vector that is dropped completely (0.4%): once in 40 million runs.
        if not abs(share - p) < 0.06:
            raise WrongAnswer(f"{what}, a share of {share:.2f} is dropped; it should be {p}.")


LAYER_DROPS = Asked(drop_in_layer, CALL, {"dropped": DroppedInLayer()})


@probe(uses=(forbid_builtins, fill, differentiate))
def encode(config, idx, train, seed, values, upstream):
    """Run Encoder on idx: its parameters, the logits, logits and attention weights, gradients.

    It has run before on the rows in reverse order: nothing of that may be kept. Nothing depends on
    what is computed at PAD itself, so this is blanked, NaN apart. Where pooling "cls" finds PAD at
    position 0, logits are relative to those of the first such row.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import Encoder, EncoderConfig

        model = Encoder(EncoderConfig(**config)).train(train)
        model = model if upstream is None else model.double()
        fill(model, seed, 0.3, values)
        parameters = dict(model.named_parameters())
        idx = torch.from_numpy(idx)
        real, first = idx != 0, (idx != 0)[:, 0]

        def judged(logits):
            if not isinstance(logits, torch.Tensor) or len(logits) != len(idx):
                return logits
            if config["pooling"] == "none" and logits.shape[:2] == idx.shape:
                return logits * real[:, :, None]
            if config["pooling"] == "cls" and not first.all():
                return logits - logits[~first][:1] * ~first[:, None]
            return logits

        model(idx.flip(0))
        output, pair = model(idx), model(idx, return_weights=True)
        if isinstance(pair, tuple) and len(pair) == 2:
            maps = [weights * real[:, None, :, None] for weights in pair[1]]
            pair = (judged(pair[0]), maps)
        return {
            "parameters": sorted(f"{name} {tuple(p.shape)}" for name, p in parameters.items()),
            "logits": judged(output),
            "pair": pair,
            **differentiate(output, upstream, parameters),
        }


ENCODER = Asked(
    encode,
    "Encoder(EncoderConfig({**config})).train({train})({idx})",
    {
        "parameters": Same("{call} should have the parameters {right}; it has {got}."),
        "logits": Close(tolerance=TOLERANCE),
        "pair": Close("{call}, with return_weights=True,", TOLERANCE),
        "unreached": UNREACHED,
        "gradients": Close("The gradients of {call}", TOLERANCE),
    },
)


@check(
    "5e-0-basic",
    "5e-1-basic",
    "5e-2-basic",
    "5e-3-basic",
    "5e-7-basic",
    "5e-8-basic",
    "5e-9-basic",
    "5e-10-basic",
)
def test_encoder(student, calls):
    """Positions, LayerNorm, layers and the encoder, as far as the calls ask for them."""
    for asked in (TABLE, NORM, LARGE, LAYER, LAYER_DROPS, ENCODER):
        asked.require(student, calls)
