"""encoder_copy: run the student's sanity check of the encoder, and explain its numbers."""

import math

from common.files import UserError


def copy(task, seed: int) -> None:
    """Run encoder_copy: the student's sanity check on the student's encoder."""
    print("Training your encoder to copy; a correct one needs less than 60 seconds.", flush=True)
    result = task(seed=seed)
    try:
        loss, gap, seconds = (float(result[name]) for name in ("loss", "padding_gap", "seconds"))
        passed = bool(result["passed"])
    except (TypeError, KeyError, ValueError, IndexError):
        raise UserError(
            f"copy_task returned {str(result)[:200]}. It should return a dict with the floats "
            "loss, padding_gap and seconds, and the bool passed."
        ) from None
    for name, value in (
        ("loss", f"{loss:.5f}"),
        ("padding_gap", f"{gap:.2e}"),
        ("seconds", f"{seconds:.1f}"),
        ("passed", passed),
    ):
        print(f"  {name:<12} {value}")
    print(copy_advice(loss, gap, seconds, passed))


def copy_advice(loss: float, gap: float, seconds: float, passed: bool) -> str:
    """What the four results of the copy task mean, and where to look."""
    if passed != (loss < 0.01 and gap < 1e-4):
        return (
            f"copy_task says {passed}, but its own numbers say {not passed}: passed means a loss "
            "under 0.01 and a gap under 1e-4. Look at the last line of copy_task."
        )
    if passed:
        return "Passed: symbols are copied from the right places, and padding has no effect." + (
            " But it took more than the allowed 60 seconds: use fewer steps or larger learning "
            "rates; or is the machine busy with something else?"
            if seconds > 60
            else ""
        )
    advice = []
    if not gap < 1e-4:
        advice.append(
            "More PADs change the logits of other positions: look at key_padding_mask, in "
            "MultiHeadAttention and on its way there."
        )
    if not math.isfinite(loss):
        advice.append(
            "The loss is not finite: look for a row of scores that are all -inf, and for a "
            "learning rate that is too large."
        )
    elif loss > 2.3:
        advice.append(
            "The loss is near ln 14 = 2.64, that of guessing among all symbols, so nothing is "
            "learned: look at the targets and the optimizer, then at the attention."
        )
    elif loss > 0.1:
        advice.append(
            "Something is learned, but not which position to copy from: look at the positions, the "
            "residuals and the heads."
        )
    elif loss >= 0.01:
        advice.append("The loss is nearly small enough: lower the learning rate toward the end.")
    if loss >= 0.01:
        advice.append(
            "If nothing helps: does the loss get logits of shape (N, 16) and targets of shape (N)? "
            "Without flattening, the 16 positions are treated as classes, also 16, without an "
            "error."
        )
    return "Not passed. " + " ".join(advice)
