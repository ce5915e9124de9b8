"""Question 5f, hidden: the copy task on encoders that are broken on purpose."""

import numpy as np

from autograder import WrongAnswer, check, probe
from checks.problem5.q5f import GAP, LOSS, draw_rows, read_logits, read_result, run_copy_task

# Too few for any encoder to learn the task: it must fail, for whatever reason. Learning would take
# longer, and depend on the optimizer.
STEPS = 20, 31  # from the one, below the other
LOSS_WITHIN, GAP_WITHIN = 0.15, 3
FAULTS = {
    "residuals": "without residuals",
    "positions": "without positions",
    "mask": "that ignores the padding mask",
    "inverted": "that has the padding mask inverted",
}


@probe(uses=(run_copy_task,))
def copy_broken(faults, rows, steps, seed):
    """Run copy_task on encoders of one attention layer: without "residuals" or "positions", with
    the "mask" ignored, or "inverted".
    """
    from torch import nn

    class Broken(nn.Module):
        def __init__(self, fault):
            super().__init__()
            self.fault = fault
            self.tokens, self.places = nn.Embedding(16, 16), nn.Embedding(24, 16)
            self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
            self.head = nn.Linear(16, 16)

        def forward(self, idx, return_weights=False):
            x = self.tokens(idx)
            if self.fault != "positions":
                x = x + self.places.weight[: idx.size(1)]
            hidden = {"mask": idx < 0, "inverted": idx != 0}.get(self.fault, idx == 0)
            # not -inf, as all may be hidden
            attended, weights = self.attention(x, x, x, key_padding_mask=hidden * -1e9)
            logits = self.head(attended if self.fault == "residuals" else x + attended)
            return (logits, [weights]) if return_weights else logits

    return [
        run_copy_task(lambda config, fault=fault: Broken(fault), rows, steps=steps, seed=seed)
        for fault in faults
    ]


@check("5f-1-hidden")
def test_broken_encoders(student, rng):
    """copy_task fails encoders with a broken part, and measures what they do."""
    steps, seed = int(rng.integers(*STEPS)), int(rng.integers(1000))
    x, _ = rows = draw_rows(rng, 128)
    answers = student.run(copy_broken, faults=list(FAULTS), rows=rows, steps=steps, seed=seed)
    for fault, answer in zip(FAULTS.values(), answers.items(len(FAULTS))):
        loss, gap = read_result(answer["result"])
        logits, padded = (part.astype(float) for part in read_logits(answer, rows))
        sums = np.log(np.exp(logits[:, 8:]).sum(axis=2))
        picked = np.take_along_axis(logits[:, 8:], x[:, :8, None], axis=2)[..., 0]
        expected = (sums - picked)[x[:, 8:] > 0].mean()
        change = np.abs(padded[:, :16] - logits)[x > 0].max()
        does, others = f"For an encoder {fault}, after {steps} steps, copy_task", "on other rows"
        if loss < LOSS and gap < GAP:
            raise WrongAnswer(
                f"{does} passes, with a loss of {loss:.3g} and a gap of {gap:.3g}; {others}, they "
                f"are {expected:.3g} and {change:.3g}."
            )
        if abs(loss - expected) > LOSS_WITHIN * expected + 0.05:  # if one learns after all
            raise WrongAnswer(
                f"{does} measures a loss of {loss:.3g}; {others}, it is {expected:.3g}."
            )
        if not change / GAP_WITHIN - 1e-5 < gap < change * GAP_WITHIN + 1e-5:
            raise WrongAnswer(
                f"{does} measures a padding gap of {gap:.3g}; {others}, it is {change:.3g}."
            )
