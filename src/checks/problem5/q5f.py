"""Question 5f, basic: the copy task."""

import numpy as np

from autograder import Answer, WrongAnswer, check, probe
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.q5f_copiers import GAP, LOSS, ROWS, Copier, judge_copiers, read_result


def draw_rows(rng) -> list[np.ndarray]:
    """Draw rows of the copy task, int64, (ROWS, 16): symbols, then as many BLANKs, each padded to
    8. Returns them, and them with 8 more columns of PAD.
    """
    used = np.arange(8) < rng.integers(1, 9, size=(ROWS, 1))
    x = np.concatenate((rng.integers(2, 16, size=(ROWS, 8)) * used, 1 * used), axis=1)
    return [x, np.pad(x, ((0, 0), (0, 8)))]


@probe
def run_copy_task(copy_task, make_model, rows, **options):
    """For probes: run copy_task; its result, and the logits of the model that it measured for each
    of the `rows` (int64); None if it ran none.
    """
    import torch

    kept = []

    def keep(module, args, output):
        kept[:] = [module]

    def make(config):
        model = make_model(config)
        # The measured model may be a copy, e.g. of the best weights so far; it has the hook, too.
        model.register_forward_hook(keep)
        return model

    answer = {"result": copy_task(make_model=make, **options), "logits": None}
    if kept:
        model = kept[0].eval()
        with torch.no_grad():
            answer["logits"] = [model(torch.as_tensor(x)) for x in rows]
    return answer


@probe(uses=(forbid_builtins, run_copy_task))
def copy_own(rows):
    """Run copy_task on the submission's own encoder, as ./run.sh encoder_copy does."""
    with forbid_builtins():
        from submission.problem5.encoder import Encoder, copy_task

        return run_copy_task(copy_task, Encoder, rows)


def read_logits(answer: Answer, rows: list[np.ndarray]) -> list[np.ndarray]:
    """Read the logits that run_copy_task returned for each of the `rows`.

    Raises:
        WrongAnswer: copy_task ran no model of make_model's, or the logits have another shape.
    """
    if answer["logits"].value is None:
        raise WrongAnswer(
            "copy_task did not run a model of make_model's. The model to test is "
            "make_model(config)."
        )
    return [
        logits.named("the encoder's logits").array("float32", (*x.shape, 16))
        for x, logits in zip(rows, answer["logits"].items(len(rows)))
    ]


@check("5f-0-basic")
def test_right_encoders(student, rng):
    """Models that copy correctly pass: some that need no training, and then the submission's."""
    what = "a model that copies correctly"
    copiers = [
        Copier(what, float(rng.uniform(0.002, 0.008))),
        Copier(f"{what}, but not in training mode, as with dropout", training=3.0),
        Copier(f"{what}, in which padding changes logits only at PAD", gap=0.5, where="pads"),
    ]
    judge_copiers(student, rng, copiers)
    x, _ = rows = draw_rows(rng)
    answer = student.run(copy_own, rows=rows)
    loss, gap, _ = read_result(answer["result"])
    logits, others = read_logits(answer, rows)
    if loss >= LOSS:
        causes = {
            1.9: "nothing is learned. Are logits and targets flattened, (N, 16) and (N)? Does each "
            "step have a new batch, do gradients reach all parts, and is the rate right?",
            # without positions, a model can learn only which symbols a row has
            1.3: "that is a guess among the row's own symbols, so positions do not arrive. See 5e.",
            LOSS: "the training is too slow, or its learning rate too high, above all at the end.",
        }
        cause = next(sentence for least, sentence in causes.items() if loss >= least)
        raise WrongAnswer(
            f"Your encoder does not pass: its loss is {loss:.3g} after all steps, and should be "
            f"under {LOSS}.\nLikely cause: {cause}"
        )
    if gap >= GAP:
        raise WrongAnswer(
            f"Your encoder does not pass: 8 more columns of PAD change a logit by {gap:.3g}; it "
            f"should be under {GAP:g}. Does attention mask PAD (5d), are positions independent of "
            "the length (5e), and are the columns appended at the end?"
        )
    # With a mean loss under 0.01, at most 1.5% of the answers are wrong, as each has a loss of more
    # than ln 2; 5% of some 2,300 are allowed here.
    wrong = float((logits[:, 8:].argmax(axis=2) != x[:, :8])[x[:, 8:] > 0].mean())
    change = float(np.abs(logits - others[:, :16])[x > 0].max())
    if wrong > 0.05 or change > 3 * GAP:
        raise WrongAnswer(
            f"For your encoder, copy_task returns a loss of {loss:.3g} and a gap of {gap:.3g}; on "
            f"other rows, it answers {wrong:.0%} of the BLANKs wrongly, and the gap is "
            f"{change:.3g}.\nLikely cause: loss and gap are not measured on the trained model, or "
            "not on new rows of all lengths."
        )


@check("5f-2-basic")
def test_known_models(student, rng):
    """Measurements are right on models with a known loss and gap that should fail."""
    gap, ignores = float(rng.uniform(0.2, 0.4)), "a model that ignores the padding mask"
    uneven = "a model that copies short rows, and the first symbol of others, better than the rest"
    copiers = [
        Copier("a model whose loss is a little too large", float(rng.uniform(0.012, 0.02))),
        Copier(uneven, float(rng.uniform(0.018, 0.02)), uneven=True),
        Copier(f"{ignores} at BLANKs", gap=float(rng.uniform(2e-4, 8e-4)), where="blanks"),
        Copier(f"{ignores} at symbols, whose logits sink", gap=-gap, where="symbols"),
        Copier(f"{ignores} in the last row of a batch", gap=gap, where="the last row"),
    ]
    judge_copiers(student, rng, copiers)
