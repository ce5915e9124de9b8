"""Question 5d, basic: multi-head attention: output, padding, weights, gradients, dropout, sizes."""

import numpy as np

from autograder import WrongAnswer, probe
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.support.asked import TOLERANCE, Asked, Close, Same
from checks.support.gradients import GRADIENTS, differentiate
from checks.support.unchanged import Unchanged, summarize
from checks.support.weights import fill

RATE = 0.3  # of dropout


@probe(uses=(forbid_builtins, fill, differentiate, summarize))
def attend(arguments, x, key_padding_mask, return_weights, train, weights, graded):
    """Run MultiHeadAttention on x, or on copies of it where something is dropped: what it returns,
    the arguments afterwards, and gradients.

    It has run before on the rows in reverse order, with padding in any case: nothing of that may be
    kept.
    """
    import torch

    with forbid_builtins():
        from submission.problem5.encoder import MultiHeadAttention

        layer = MultiHeadAttention(*arguments)
        arrays = {"x": x, "key_padding_mask": key_padding_mask}
        given = {name: torch.from_numpy(a) for name, a in arrays.items() if a is not None}
        drops = train and sum(arguments[2:]) > 0
        given["x"] = given["x"].repeat(60 if drops else 1, 1, 1)
        layer.to(given["x"].dtype).train(train)
        fill(layer, **weights)
        others = {"key_padding_mask": torch.ones(given["x"].shape[:2], dtype=torch.bool).tril()}
        others |= {name: value.flip(0) for name, value in given.items()}
        given["x"].requires_grad_(graded)
        more = {"return_weights": True} if return_weights else {}
        layer(**others, **more)
        torch.default_generator.manual_seed(weights["seed"])
        output = layer(**given, **more)
        own = {
            name: parameter
            for name, parameter in layer.named_parameters()
            if name.startswith(("qkv.", "proj."))
        }
        first = output[0] if isinstance(output, tuple) else output
        return {
            "parameters": sorted(f"{name} {tuple(value.shape)}" for name, value in own.items()),
            "output": None if drops else output,
            "dropped": output if drops else None,
            "arguments": summarize(given),
            **differentiate([first], {"x": given["x"], **own} if graded else {}),
        }


class Dropped:
    """Some of the weights are 0, and the others 1 / (1 - rate) times as large, before they reach
    the output; those that are returned are neither.

    Values are such that the output, less 1, has each weight that was used, twice.
    """

    def require(self, call: str, got, right) -> None:
        """Compare the weights with the reference's, and judge what is dropped.

        Raises:
            WrongAnswer: something else is dropped, or not independently.
        """
        if right is None:
            return
        call += f", with x repeated {len(right[0].data)} times"
        Close(tolerance={"float32": np.inf}).require(call, got, right)
        Close("The weights of {call}", TOLERANCE).require(call, got[1], right[1])
        weights = right[1].data
        B, n_head, T, _ = weights.shape
        used, again = (got[0].data - 1).reshape(B, T, n_head, 2, T).transpose(3, 0, 2, 1, 4)
        kept = np.abs(used) > weights / 2
        whole = np.where(kept, weights / (1 - RATE), 0)
        if not (np.allclose(used, whole, atol=1e-5) and np.allclose(again, whole, atol=1e-5)):
            raise WrongAnswer(
                f"{call}: the output doesn't come from weights of which some are "
                f"dropped and the others divided by {1 - RATE:.1f}. Does dropout act on the "
                "weights, after the softmax?"
            )
        for name, axis in (("rows of the batch", 0), ("heads", 1), ("queries", 2), ("keys", 3)):
            if (kept == kept.take([0], axis)).all():
                raise WrongAnswer(
                    f"{call}: the same weights are dropped for all {name}. "
                    "Dropout draws for each weight separately."
                )
        require_share(f"{call}: of the weights", 1 - kept.mean())  # 3,000


def require_share(what: str, share: float) -> None:
    """Raise WrongAnswer unless this share of 2,400 numbers or more is dropped by RATE.

    0.06 is 6.4 standard deviations: once in a billion runs.
    """
    if not abs(share - RATE) < 0.06:
        raise WrongAnswer(f"{what}, a share of {share:.2f} is dropped; it should be {RATE}.")


HEADS = Asked(
    attend,
    "MultiHeadAttention({*arguments}).train({train})({x}, {key_padding_mask}, "
    "return_weights={return_weights})",
    {
        "parameters": Same("MultiHeadAttention should have {right}; it has {got}."),
        "output": Close(tolerance=TOLERANCE),
        "dropped": Dropped(),
        "arguments": Unchanged(),
        **GRADIENTS,
    },
)


@probe(uses=(forbid_builtins,))
def construct(arguments):
    """Create MultiHeadAttention: the names and shapes of all its parameters."""
    with forbid_builtins():
        from submission.problem5.encoder import MultiHeadAttention

        parameters = MultiHeadAttention(*arguments).named_parameters()
        return {"parameters": sorted(f"{name} {tuple(p.shape)}" for name, p in parameters)}


MADE = Asked(
    construct,
    "MultiHeadAttention({*arguments})",
    {"parameters": Same("{call} should have the parameters {right}; it has {got}.")},
    says=lambda inputs: [str(size) for size in inputs["arguments"]],
)
