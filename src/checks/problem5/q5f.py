"""Question 5f, basic: the copy task."""

import math

import numpy as np

from autograder import Answer, WrongAnswer, check, probe
from autograder.inside.wire import Array
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.q5f_copiers import AXES, SLOWLY, Copier, run_copiers

LOSS, GAP = 0.01, 1e-4  # the handout's limits: a model below both passes
ROWS = 512
OTHER_LOSS = 3.0  # of a copier where the loss should not be measured


def draw_rows(rng, n: int) -> np.ndarray:
    """Draw rows of the copy task, int64, (n, 16): symbols, then as many BLANKs, each padded to
    8.
    """
    used = np.arange(8) < rng.integers(1, 9, size=(n, 1))
    return np.concatenate((rng.integers(2, 16, size=(n, 8)) * used, 1 * used), axis=1)


def read_result(answer: Answer, seconds: float = math.inf) -> tuple[float, float, bool]:
    """Read copy_task's dict: the loss, the gap, and whether they pass.

    Args:
        seconds: the call's duration.

    Raises:
        WrongAnswer: an entry is missing, has the wrong type, or contradicts another.
    """
    entries = answer.named("what copy_task returns").present().entries()
    names = ("loss", "padding_gap", "seconds")
    if missing := [name for name in (*names, "passed") if name not in entries]:
        raise WrongAnswer(f"The dict that copy_task returns lacks {', '.join(missing)}.")
    for name in names:
        value = entries[name].value
        if isinstance(value, Array) and value.kind == "tensor":
            raise WrongAnswer(
                f'"{name}" should be a Python float; it is {entries[name].describe()}. Use .item().'
            )
    loss, gap, took = (entries[name].named(f'"{name}"').number() for name in names)
    passed = entries["passed"].value
    if isinstance(passed, Array) and (passed.kind, passed.dtype) == ("ndarray", "bool"):
        passed = bool(passed.data.all())  # np.bool_, from a comparison of NumPy floats
    if not isinstance(passed, bool):
        raise WrongAnswer(
            f'"passed" should be True or False; it is {entries["passed"].describe()}.'
        )
    if gap < 0:
        raise WrongAnswer(
            f'"padding_gap" should be the largest absolute difference; it is {gap:.3g}.'
        )
    if passed != (loss < LOSS and gap < GAP):
        raise WrongAnswer(
            f'"passed" should say whether the loss is under {LOSS} and the gap under {GAP:g}. '
            f"It is {passed}, with a loss of {loss:.3g} and a gap of {gap:.3g}."
        )
    if not 0 < took <= 1.1 * seconds + 0.5:
        raise WrongAnswer(
            f'"seconds" should be the time that everything took, {seconds:.1f} seconds here; '
            f"it is {took:.3g}."
        )
    return loss, gap, passed


def judge_copiers(student, rng, copiers: list[Copier]) -> None:
    """Check that copy_task measures each copier correctly and uses it as it should.

    Raises:
        WrongAnswer: it does not; names the likely cause.
    """
    for copier, result, log in run_copiers(student, rng, copiers):
        loss, gap, _ = read_result(result, log["seconds"].number())
        _require_loss(copier, loss, log)
        _require_gap(copier, gap)


def _require_loss(copier, loss, log):
    """Check the loss, which is exact, except where it matters which rows were seen or drawn."""
    if copier.unseen is not None:
        # Rows of up to 4 symbols may have been seen. Of all BLANKs, those of longer ones are 26 /
        # 36, with a standard deviation of 0.01, and this asks for 0.6.
        if loss < 0.6 * copier.unseen:
            raise WrongAnswer(
                f"For {copier.what}, the loss is {loss:.3g}; it should be about "
                f"{copier.unseen:.1f}.\nLikely cause: it is measured on training rows; draw new "
                "ones."
            )
        return
    expected, within = copier.loss, 0.02
    if copier.kind == "uneven":
        # Of 36 BLANKs, in rows of all lengths, 14 have a tenth of the loss. For 512 rows that
        # varies by 2.2%.
        expected, within = copier.loss * (14 * 0.1 + 22) / 36, 0.14
    if copier.kind == "slow":
        expected *= SLOWLY ** log["forward"].number()
    if abs(loss - expected) > within * expected + 1e-5:
        ratio, blanks = loss / expected, 4.5 * ROWS  # blanks vary by 2%
        causes = {
            "it is the training loss.": copier.training and abs(loss / copier.training - 1) < 0.05,
            "it is the mean over all places, also those whose target is -100.": 0.25 < ratio < 0.31,
            "it is a median, a mean of the rows' means, or not over all BLANKs. Each BLANK counts "
            "equally.": copier.kind == "uneven" and ratio < 50,
            "it is the sum over the BLANKs, not their mean.": 0.9 < ratio / blanks < 1.1,
            AXES: ratio > 50,
        }
        raise WrongAnswer(
            f"For {copier.what}, the loss should be {expected:.4g}; it is {loss:.4g}."
            f"{_first(causes)}"
        )
    short, long = (rows.number() for rows in log["measured"].items(2))
    if short < ROWS:
        raise WrongAnswer(
            f"copy_task measures the loss on {short} rows of 16 places; it should draw {ROWS} "
            "fresh ones."
        )
    if long < ROWS:
        raise WrongAnswer(
            f"copy_task measures the padding gap on {long} rows of 24 places; it should append 8 "
            f"columns of PAD to the same {ROWS} rows."
        )
    if log["gradients"].flag():
        raise WrongAnswer(
            "copy_task measures with gradients enabled. Measure within torch.no_grad()."
        )


def _require_gap(copier, gap):
    expected = 0.0 if copier.where == "pads" else abs(copier.gap)
    if abs(gap - expected) <= 0.02 * expected + 2e-6:
        return
    causes = {
        "places that are PAD are counted; compare only where x is not PAD.": copier.where == "pads",
        "the largest difference is taken without .abs(), or not over all rows.": gap == 0
        and copier.gap < 0,
        f"it is not measured, or not at {copier.where.replace('blanks', 'BLANKs')}. All places of "
        "all rows where x is not PAD count.": gap == 0,
        "it is a mean, or the difference of two losses. The largest difference of a logit is asked "
        "for.": gap < 0.5 * expected,
    }
    raise WrongAnswer(
        f"For {copier.what}, the padding gap should be {expected:.3g}; it is {gap:.3g}."
        f"{_first(causes)}"
    )


def _first(causes):
    """The line that names the first cause that applies, or ""."""
    return next((f"\nLikely cause: {cause}" for cause, applies in causes.items() if applies), "")


@probe
def run_copy_task(copy_task, make_model, rows, **options):
    """For probes: run copy_task, time it, and return the logits of the model that it measured for
    each of the `rows` (int64); None if it ran none.
    """
    import time

    import torch

    kept = []

    def keep(module, args, output):
        kept[:] = [module]

    def make(config):
        model = make_model(config)
        # The measured model may be a copy, e.g. of the best weights so far; it has the hook, too.
        model.register_forward_hook(keep)
        return model

    started = time.perf_counter()
    result = copy_task(make_model=make, **options)
    answer = {"result": result, "seconds": time.perf_counter() - started, "logits": None}
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
    judge_copiers(
        student,
        rng,
        [
            Copier(what, float(rng.uniform(0.002, 0.008))),
            Copier(f"{what}, but not in training mode, as with dropout", training=OTHER_LOSS),
            Copier(
                f"{what}, in which padding changes logits only at places that are PAD",
                gap=0.5,
                where="pads",
            ),
            Copier("a model that learns slowly", OTHER_LOSS, kind="slow"),
        ],
    )
    x = draw_rows(rng, ROWS)
    rows = [x, np.pad(x, ((0, 0), (0, 8)))]
    answer = student.run(copy_own, rows=rows)
    loss, gap, _ = read_result(answer["result"], answer["seconds"].number())
    logits, padded = read_logits(answer, rows)
    full = x[:, 7] > 0  # rows without PAD
    steady = np.allclose(logits[full], padded[full, :16], rtol=0, atol=3 * GAP)
    if loss >= LOSS:
        # Without positions, a model can learn only which symbols a row has.
        states = [
            (
                1.9,
                "nothing is learned. Look at the targets, at the optimizer, and at whether "
                "gradients reach all parts.",
            ),
            (
                1.3,
                "that is a guess among the row's own symbols, so positions do not arrive. See 5e.",
            ),
            (0.1, "the training is too slow, or its learning rate too high."),
            (LOSS, "it is nearly learned: lower the learning rate toward the end."),
        ]
        state = next(sentence for limit, sentence in states if loss >= limit)
        raise WrongAnswer(
            f"Your encoder does not pass: its loss is {loss:.3g} after all steps, and "
            f"should be under {LOSS}.\nLikely cause: {state}"
        )
    if gap >= GAP:
        cause = "attention does not mask PAD, see 5d; or positions depend on the length, see 5e."
        if steady:
            cause = (
                "the columns were not appended at the end, or the gap was measured where x is PAD. "
                "In rows without PAD, appending 8 columns does not change your encoder's logits."
            )
        raise WrongAnswer(
            "Your encoder does not pass: 8 more columns of PAD change a logit by "
            f"{gap:.3g}; it should be under {GAP:g}.\nLikely cause: {cause}"
        )
    # With a mean loss under 0.01, at most 1.5% of the answers are wrong, as each has a loss of more
    # than ln 2; 5% of some 2,300 are allowed here.
    wrong = float((logits[:, 8:].argmax(axis=2) != x[:, :8])[x[:, 8:] > 0].mean())
    if wrong > 0.05 or not steady:
        found = (
            f"it answers {wrong:.0%} of the BLANKs wrongly"
            if wrong > 0.05
            else "8 columns of PAD change its logits"
        )
        raise WrongAnswer(
            f"For your encoder, copy_task returns a loss of {loss:.3g} and a gap of "
            f"{gap:.3g}; on other rows, {found}.\n"
            "Likely cause: loss and gap are not measured on the trained model, or not on new rows "
            "of all lengths."
        )


@check("5f-2-basic")
def test_known_models(student, rng):
    """Measurements are right on models with a known loss and gap that should fail."""
    gap = float(rng.uniform(0.2, 0.4))
    ignores = "a model that ignores the padding mask"
    judge_copiers(
        student,
        rng,
        [
            Copier("a model whose loss is a little too large", float(rng.uniform(0.012, 0.02))),
            Copier(
                "a model that copies short rows, and the first symbol of others, better than the "
                "rest",
                float(rng.uniform(0.018, 0.02)),
                kind="uneven",
            ),
            Copier(f"{ignores} at BLANKs", gap=gap, where="blanks"),
            Copier(f"{ignores} at symbols", gap=gap, where="symbols"),
            Copier(f"{ignores}, and has smaller logits with padding", gap=-gap, where="symbols"),
            Copier(
                "a model that attends to padding in rows of 8 symbols", gap=-gap, where="full rows"
            ),
            Copier(
                "a model that attends to padding in the last row of a batch",
                gap=gap,
                where="the last row",
            ),
            Copier(
                "a model in which padding has a small effect",
                gap=float(rng.uniform(2e-4, 8e-4)),
                where="blanks",
            ),
            Copier("a model that copies only in training mode", 1.0, training=0.001),
            Copier("a model that knows only its training rows", unseen=OTHER_LOSS),
        ],
    )
