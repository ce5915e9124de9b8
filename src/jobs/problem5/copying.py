"""encoder_copy: run the student's sanity check of the encoder, and explain its numbers."""

import math

from jobs.returned import wrong_result


def copy(task, seed: int) -> None:
    """Run the student's copy_task; print its results, what they mean, and where to look.

    Raises:
        UserError: it returned something invalid.
    """
    print("Training your encoder to copy; a correct one needs less than 60 seconds.", flush=True)
    result = task(seed=seed)
    try:
        loss, gap, seconds = (float(result[name]) for name in ("loss", "padding_gap", "seconds"))
        passed = bool(result["passed"])
    except (TypeError, KeyError, ValueError, IndexError):
        should = "a dict with the floats loss, padding_gap and seconds, and the bool passed"
        raise wrong_result("copy_task", result, should) from None
    print(f"  loss         {loss:.5f}\n  padding_gap  {gap:.2e}")
    print(f"  seconds      {seconds:.1f}\n  passed       {passed}")
    if passed != (loss < 0.01 and gap < 1e-4):
        print(
            f"copy_task says {passed}, but its own numbers say {not passed}: passed means a loss "
            "under 0.01 and a gap under 1e-4. Look at the last line of copy_task."
        )
        return
    sentences = {
        "Passed: symbols are copied from the right places, and padding has no effect.": passed,
        "But it took more than the allowed 60 seconds: use fewer steps or larger learning rates; "
        "or is the machine busy with something else?": passed and seconds > 60,
        "Not passed.": not passed,
        "More PADs change the logits of other positions: look at key_padding_mask, in "
        "MultiHeadAttention and on its way there.": not gap < 1e-4,
        "The loss is not finite: look for a row of scores that are all -inf, and for a learning "
        "rate that is too large.": not math.isfinite(loss),
        "The loss is near ln 14 = 2.64, that of guessing among all symbols, so nothing is learned: "
        "look at the targets and the optimizer, then at the attention.": 2.3 < loss < math.inf,
        "Something is learned, but not which position to copy from: look at the positions, the "
        "residuals and the heads.": 0.1 < loss <= 2.3,
        "The loss is nearly small enough: lower the learning rate toward the end.": (
            0.01 <= loss <= 0.1
        ),
        "If nothing helps: does the loss get logits of shape (N, 16) and targets of shape (N)? "
        "Without flattening, the 16 positions are treated as classes, also 16, without an "
        "error.": loss >= 0.01,
    }
    print(*(sentence for sentence, holds in sentences.items() if holds))
