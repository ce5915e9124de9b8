"""Tests copy_task on copiers, whose losses and gaps are known; shared by the checks of question
5f.
"""

import math
from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer
from autograder.inside.wire import Array
from checks.problem5.q5f.copiers import measure_copiers
from checks.support.cases import Case

LOSS, GAP = 0.01, 1e-4  # the handout's limits: a model below both passes
ROWS = 512
STEPS = 60, 80  # of copiers, which have nothing to learn: from the one to the other
SHARE_OF_BLANKS = (0.25, 0.31)  # of the 16 places of a row: 4.5 on average
AXES = (
    "F.cross_entropy takes the second axis for the classes. There are 16 places and 16 classes, so "
    "F.cross_entropy(model(x), y) runs, but treats places as classes. Flatten both: logits to (N, "
    "16), targets to (N)."
)


def draw_rows(rng, n: int) -> np.ndarray:
    """Draw rows of the copy task, int64, (n, 16): symbols, then as many BLANKs, each padded to
    8.
    """
    used = np.arange(8) < rng.integers(1, 9, size=(n, 1))
    return np.concatenate((rng.integers(2, 16, size=(n, 8)) * used, 1 * used), axis=1)


@dataclass(frozen=True)
class Measured:
    """What copy_task returned."""

    loss: float
    gap: float
    passed: bool


def read_result(answer: Answer, seconds: float = math.inf) -> Measured:
    """Read copy_task's dict.

    Args:
        seconds: the call's duration.

    Raises:
        WrongAnswer: an entry is missing, has the wrong type, or contradicts another.
    """
    answer = answer.named("what copy_task returns")
    entries = answer.present().entries()
    if missing := [
        name for name in ("loss", "padding_gap", "seconds", "passed") if name not in entries
    ]:
        raise WrongAnswer(f"The dict that copy_task returns lacks {', '.join(missing)}.")
    loss, gap, took = (_float(entries[name], name) for name in ("loss", "padding_gap", "seconds"))
    passed = entries["passed"].value
    if (
        isinstance(passed, Array)
        and passed.kind == "ndarray"
        and passed.dtype == "bool"
        and passed.data.size == 1
    ):
        passed = bool(passed.data)  # np.bool_, from a comparison of NumPy floats
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
    return Measured(loss, gap, passed)


def _float(answer, name):
    if isinstance(answer.value, Array) and answer.value.kind == "tensor":
        raise WrongAnswer(
            f'"{name}" should be a Python float; it is {answer.describe()}. Use .item().'
        )
    return answer.named(f'"{name}"').number()


def judge_copiers(student, rng, cases: list[Case]) -> None:
    """Check that copy_task measures each copier correctly and uses it as it should.

    Args:
        cases: `inputs` are those of make_copier. `about` has `what` it is, for messages, and the
            `loss` to be measured, to a relative tolerance (`within`); `wrong` has losses.

    Raises:
        WrongAnswer: it does not; names the likely cause.
    """
    seed, steps = int(rng.integers(1, 1000)), int(rng.integers(*STEPS))
    draws = set()
    # The first one alone: code that trains another model would take too long for all of them.
    for some in (cases[:1], cases[1:]):
        inputs = [case.inputs for case in some]
        answers = student.run(measure_copiers, cases=inputs, steps=steps, seed=seed)
        for case, answer in zip(some, answers.items(len(some))):
            log = answer["log"]
            _require_model(log)
            measured = read_result(answer["result"], log["seconds"].number())
            _require_use(case, log, steps)
            _require_loss(case, measured, log)
            _require_gap(case, measured)
            draws.add(log["draw"].number())
    if len(draws) > 1:
        raise WrongAnswer(
            "With the same seed, copy_task creates models with different random weights. Call "
            "torch.manual_seed(seed) first."
        )


def _require_model(log):
    """Check that the model from make_model was run, in evaluation mode as well."""
    measured = sum(rows.number() for rows in log["measured"].items(2))
    if log["made"].number() == 0:
        raise WrongAnswer(
            "copy_task did not call make_model. The model to test is make_model(config)."
        )
    if log["forward"].number() + measured == 0:
        raise WrongAnswer(
            "copy_task calls make_model, but never runs the model that it returns. Train and "
            "measure that model."
        )
    if measured == 0 and log["wide"].flag():
        raise WrongAnswer(
            "copy_task measures in training mode. Call model.eval() first, and then draw new rows."
        )
    if measured == 0:
        raise WrongAnswer(
            "copy_task trains the model that make_model returns, but never runs it in evaluation "
            "mode.\n"
            "Likely cause: the results were measured during training, or on another model."
        )


def _require_use(case, log, allowed):
    fields = {
        "vocab_size": 16,
        "max_len": 24,
        "n_classes": 16,
        "pooling": "none",
        "n_embd": 32,
        "n_layer": 2,
    }
    wrong = [
        f"{name}={field.describe()}"
        for name, field in log["fields"].entries().items()
        if field.value != fields.get(name)
    ]
    if wrong:
        raise WrongAnswer(
            "The config that make_model gets should have vocab_size=16, max_len=24, n_classes=16, "
            f'pooling="none", and otherwise the defaults. It has {", ".join(wrong)}.'
        )
    if (steps := log["steps"].number()) > allowed:
        raise WrongAnswer(f"With steps={allowed}, copy_task makes {steps} steps of the optimizer.")
    if case.inputs["kind"] == "slow" and steps < allowed / 2:
        raise WrongAnswer(
            f"With steps={allowed}, copy_task makes {steps} steps of the optimizer for "
            f"{case.about['what']}. It should stop early only if the loss is already small."
        )
    if case.inputs["kind"] == "slow" and (runs := log["forward"].number()) < steps / 2:
        raise WrongAnswer(
            f"copy_task makes {steps} steps of the optimizer, and runs the model that make_model "
            f"returns {runs} times in training mode. That is the one to train."
        )
    # The right loss reaches all classes, at the places of the BLANKs: never none of the first 8
    # classes, and some first places.
    touched = log["touched"].array("bool", (16, 16))
    if touched[:8].any() and not touched[:, :8].any():
        raise WrongAnswer(
            "copy_task's training loss has no gradient for half of the classes, and has one at "
            "places that are not BLANKs.\n"
            f"Likely cause: {AXES} Look at the loss that is measured, too."
        )
    rows, distinct = log["long"].number(), log["distinct"].number()
    if rows > 200 and distinct < 0.25 * rows:
        raise WrongAnswer(
            f"copy_task trains on the same rows repeatedly: only {distinct} of {rows} long rows "
            "are different. Draw a new batch for each step, from one generator that is seeded once."
        )


def _require_loss(case, measured, log):
    """Check the loss. Copiers' losses are known to 2%, except where it matters which rows were
    seen.
    """
    what, unseen, training = case.about["what"], case.inputs["unseen"], case.inputs["training"]
    if unseen is not None:
        # Rows of up to 4 symbols may have been seen. Of all BLANKs, those of longer ones are 26 /
        # 36, with a standard deviation of 0.01, and this asks for 0.6.
        if measured.loss < 0.6 * unseen:
            raise WrongAnswer(
                f"For {what}, the loss is {measured.loss:.3g}; it should be about {unseen:.1f}.\n"
                "Likely cause: it is measured on training rows; draw new ones."
            )
        return
    expected, within = case.about["loss"], case.about["within"]
    if case.inputs["kind"] == "slow":
        expected *= case.inputs["slowly"] ** log["forward"].number()
    if abs(measured.loss - expected) > within * expected + 1e-5:
        ratio = measured.loss / expected
        causes = [
            (_near(measured.loss, training), "it is the training loss."),
            (
                SHARE_OF_BLANKS[0] < ratio < SHARE_OF_BLANKS[1],
                "it is the mean over all places, also those whose target is -100.",
            ),
            (
                case.inputs["kind"] == "uneven" and ratio < 50,
                "it is a median, a mean of the rows' means, or not over all BLANKs. Each BLANK "
                "counts equally.",
            ),
            *(
                (abs(measured.loss / value - 1) < 0.1, sentence)
                for sentence, value in case.solved().wrong
            ),
            (ratio > 50, "it is the sum over the BLANKs, not their mean."),
        ]
        cause = next((f"\nLikely cause: {sentence}" for applies, sentence in causes if applies), "")
        raise WrongAnswer(
            f"For {what}, the loss should be {expected:.4g}; it is {measured.loss:.4g}.{cause}"
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


def _near(got, known):
    return known is not None and abs(got - known) < 0.05 * known


def _require_gap(case, measured):
    gap, where = case.inputs["gap"], case.inputs["where"]
    expected = 0.0 if where == "pads" else abs(gap)
    if abs(measured.gap - expected) <= 0.02 * expected + 2e-6:
        return
    causes = [
        (
            where == "pads" and _near(measured.gap, abs(gap)),
            "places that are PAD are counted; compare only where x is not PAD.",
        ),
        (
            measured.gap == 0 and gap < 0,
            "the largest difference is taken without .abs(), or not over all rows.",
        ),
        (
            measured.gap == 0,
            f"it is not measured, or not at {where.replace('blanks', 'BLANKs')}. All places of all "
            "rows where x is not PAD count.",
        ),
        (
            0 < measured.gap < 0.5 * expected,
            "it is a mean, or the difference of two losses. The largest difference of a logit is "
            "asked for.",
        ),
    ]
    cause = next((f"\nLikely cause: {sentence}" for applies, sentence in causes if applies), "")
    raise WrongAnswer(
        f"For {case.about['what']}, the padding gap should be {expected:.3g}; it is "
        f"{measured.gap:.3g}.{cause}"
    )
