"""Question 5e, basic: positions, LayerNorm, layers, and the encoder's logits and gradients."""

import numpy as np

from autograder import WrongAnswer, probe
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.q5d import RATE, require_share
from checks.support.asked import TOLERANCE, Asked, Close, Same
from checks.support.gradients import GRADIENTS, differentiate
from checks.support.weights import fill


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
def normalize(arguments, x, seed, graded):
    """Run LayerNorm on x: its output, apart if entries are large, and gradients."""
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import LayerNorm

        large = abs(x).max() > 100
        x = torch.from_numpy(x).requires_grad_(graded)
        norm = LayerNorm(*arguments).to(x.dtype)
        fill(norm, seed)
        output = norm(x)
        return {
            "output": None if large else output,
            "large": output if large else None,
            **differentiate([output], {"x": x, **dict(norm.named_parameters())} if graded else {}),
        }


NORM = Asked(
    normalize,
    "LayerNorm({*arguments})({x})",
    {
        "output": Close(tolerance=TOLERANCE),
        # Entries of thousands are rounded: right formulas differ by up to 1e-3.
        "large": Close(tolerance={"float32": 1e-2}),
        **GRADIENTS,
    },
)


@probe(uses=(forbid_builtins, fill))
def run_layer(arguments, train, x, key_padding_mask, seed, values):
    """Run EncoderLayer on x, or on copies of it where something is dropped: the output; and before,
    on the rows in reverse order, output and attention weights. Nothing of that may be kept.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import EncoderLayer

        layer = EncoderLayer(*arguments).train(train)
        fill(layer, seed, values=values)
        x = torch.from_numpy(x).repeat(80 if train else 1, 1, 1)
        mask = None if key_padding_mask is None else torch.from_numpy(key_padding_mask)
        with torch.no_grad():
            flipped = x.flip(0), None if mask is None else mask.flip(0)
            pair = layer(*flipped, return_weights=True)
            torch.default_generator.manual_seed(seed)
            output = layer(x, mask)
        return {
            "output": None if train else output,
            "pair": None if train else pair,
            "dropped": {"x": x, "output": output} if train else None,
        }


class Dropped:
    """A share of what each part of a layer returns is dropped, and the rest divided by 1 - RATE.

    With pre-norm, the attention returns 1 and the feed-forward part 2, so what is added to x shows
    which was dropped. With post-norm, x is 0, and one part returns 1 everywhere: where that was
    dropped, the output is at least 0.4 below the vector's mean, which is 0.
    """

    def require(self, call: str, got, right) -> None:
        """Judge what is dropped.

        Raises:
            WrongAnswer: it is something else, or another share.
        """
        if right is None:
            return
        call += f", with x repeated {len(right['x'].data)} times"
        Close(tolerance={"float32": np.inf}).require(call, got, right)
        added = got["output"].data - right["x"].data.astype(float)
        if not right["x"].data.any():
            # Post-norm doesn't show a vector that is dropped completely, one in 1,400.
            require_share(f"{call}: of what a part returns", (added < -0.1).mean())
            return
        near = np.abs((1 - RATE) * added[..., None] - np.arange(4))
        if not near.min(axis=-1).max() < 1e-4:
            raise WrongAnswer(
                f"{call}: what is added to x is not the output of the two parts, with some of it "
                f"dropped and the rest divided by {1 - RATE:.1f}. Dropout acts on the outputs of "
                "both parts, just before they are added, and otherwise only on the attention "
                "weights."
            )
        which = near.argmin(axis=-1)
        require_share(f"{call}: of what the attention returns", 1 - (which % 2).mean())
        require_share(f"{call}: of what the feed-forward part returns", (which < 2).mean())


LAYER = Asked(
    run_layer,
    "EncoderLayer({*arguments}).train({train})({x}, {key_padding_mask})",
    {
        "output": Close(tolerance=TOLERANCE),
        "pair": Close("{call}, with the rows in reverse order and return_weights=True,", TOLERANCE),
        "dropped": Dropped(),
    },
)


@probe(uses=(forbid_builtins, fill, differentiate))
def encode(config, idx, train, seed, values, graded):
    """Run Encoder on idx: its parameters, the logits, gradients; and before, on the rows in reverse
    order, logits and attention weights. Nothing of that may be kept.

    Nothing depends on what is computed at PAD itself, so this is blanked, NaN apart. Where pooling
    "cls" finds PAD at position 0, logits are relative to those of the first such row.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import Encoder, EncoderConfig

        model = Encoder(EncoderConfig(**config)).train(train)
        model = model.double() if graded else model
        fill(model, seed, values=values)
        parameters = dict(model.named_parameters())
        idx = torch.from_numpy(idx)

        def judged(logits, real):
            if not isinstance(logits, torch.Tensor) or len(logits) != len(real):
                return logits
            if config["pooling"] == "none" and logits.shape[:2] == real.shape:
                return logits * real[:, :, None]
            first = real[:, 0]
            if config["pooling"] == "cls" and not first.all():
                return logits - logits[~first][:1] * ~first[:, None]
            return logits

        pair = model(idx.flip(0), return_weights=True)
        output = judged(model(idx), idx != 0)
        if isinstance(pair, tuple) and len(pair) == 2:
            real = idx.flip(0) != 0
            pair = judged(pair[0], real), [seen * real[:, None, :, None] for seen in pair[1]]
        return {
            "parameters": sorted(f"{name} {tuple(p.shape)}" for name, p in parameters.items()),
            "logits": output,
            "pair": pair,
            **differentiate([output], parameters if graded else {}),
        }


ENCODER = Asked(
    encode,
    "Encoder(EncoderConfig({**config})).train({train})({idx})",
    {
        "parameters": Same("{call} should have the parameters {right}; it has {got}."),
        "logits": Close(tolerance=TOLERANCE),
        "pair": Close("{call}, with the rows in reverse order and return_weights=True,", TOLERANCE),
        **GRADIENTS,
    },
)
