"""Question 5f, basic: copy_task on copiers, which have nothing to learn, so that their losses and
gaps are known; and on the submission's own encoder, which has to learn.
"""

from dataclasses import asdict, dataclass

import numpy as np

from autograder import Answer, WrongAnswer, check, probe
from autograder.inside.wire import Array

LOSS, GAP = 0.01, 1e-4  # the handout's limits: a model below both passes
ROWS = 512
STEPS = 30, 41  # of copiers: from the one, below the other
LONG = 16**5  # the codes of rows with 6 or more symbols are larger


@dataclass(frozen=True)
class Copier:
    """A model that copies without learning.

    Attributes:
        what: it is, for messages.
        loss: its cross-entropy at every BLANK.
        training: that in training mode; None for the same.
        gap, where: 8 more columns of PAD add `gap` to one logit at the places `where`.
        uneven: the first BLANK of each row, and all in rows of up to 4 symbols, have a tenth of the
            loss.
    """

    what: str
    loss: float = 0.001
    training: float | None = None
    gap: float = 0.0
    where: str = ""
    uneven: bool = False


@probe
def make_copier(log, what, loss, training, gap, where, uneven):
    """Create a model as in Copier, which adds to the lists of `log` how it is used: the codes of
    rows seen in training and of those measured, the latter by the width of their batch.
    """
    import math

    import torch
    import torch.nn as nn

    def spread(loss):
        # How far the right logit of 16 must be above the others.
        return math.log(15) - math.log(math.expm1(loss))

    class Copier(nn.Module):
        def __init__(self):
            super().__init__()
            self.unused = nn.Parameter(torch.rand(4))

        def forward(self, idx, return_weights=False):
            codes = (idx[:, :8] * 16 ** torch.arange(8)).sum(dim=1)
            if self.training:
                log["trained"].append(codes)
            else:
                log["measured" if idx.size(1) == 16 else "padded"].append(codes)
                log["gradients"].append(torch.is_grad_enabled())
            now = training if self.training and training is not None else loss
            height = torch.full(idx.shape, spread(now))
            if uneven:
                height[idx[:, 4] == 0] = spread(loss / 10)
                height[:, 8] = spread(loss / 10)
            copied = torch.cat((torch.zeros_like(idx[:, :8]), idx[:, :-8]), dim=1)
            places = {
                "": idx < 0,
                "pads": idx == 0,
                "blanks": idx == 1,
                "symbols": idx > 1,
                "the last row": (idx > 0) & (torch.arange(len(idx)) == len(idx) - 1)[:, None],
            }[where]
            logits = nn.functional.one_hot(copied, 16) * height[:, :, None]
            logits[..., 5] += places * gap * (idx.size(1) - 16) / 8
            logits = logits + 0 * self.unused.sum()
            return (logits, []) if return_weights else logits

    return Copier()


@probe(uses=(make_copier,))
def measure_copiers(copiers, steps, seeds):
    """Return copy_task's result for copiers, each with its seed, and how it used each."""
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    from submission.problem5.encoder import copy_task

    answers = []
    for case, seed in zip(copiers, seeds):
        log = {"trained": [], "measured": [], "padded": [], "gradients": [], "steps": []}
        hook = register_optimizer_step_pre_hook(lambda *args: log["steps"].append(1))
        try:
            result = copy_task(lambda config: make_copier(log, **case), steps, seed)
        finally:
            hook.remove()
        nothing = torch.zeros(0, dtype=torch.int64)
        rows = {n: torch.cat((nothing, *log[n])) for n in ("trained", "measured", "padded")}
        gradients = any(log["gradients"])
        answers.append(
            {"result": result, "steps": len(log["steps"]), "gradients": gradients, **rows}
        )
    return answers


def read_result(answer: Answer) -> tuple[float, float]:
    """Read copy_task's dict: the loss and the gap.

    Raises:
        WrongAnswer: an entry is missing, has the wrong type, or contradicts another.
    """
    for name in ("loss", "padding_gap"):
        value = answer[name].value
        if isinstance(value, Array) and value.kind == "tensor":
            raise WrongAnswer(f'"{name}" should be a Python float, no tensor. Use .item().')
    loss, gap = (answer[name].named(f'"{name}"').number() for name in ("loss", "padding_gap"))
    passed = answer["passed"].value
    if isinstance(passed, Array):
        passed = bool(passed.data.all())  # np.bool_, from a comparison of NumPy floats
    if passed is not (loss < LOSS and gap < GAP):
        raise WrongAnswer(
            f'"passed" should say whether the loss is under {LOSS} and the gap under {GAP:g}. It '
            f"is {answer['passed'].describe()}, with a loss of {loss:.3g} and a gap of {gap:.3g}."
        )
    return loss, gap


def judge_copiers(student, rng, copiers: list[Copier]) -> None:
    """Check that copy_task measures each copier correctly and uses it as it should.

    Raises:
        WrongAnswer: it does not; names the likely cause.
    """
    steps = int(rng.integers(*STEPS))
    seeds = (1 + rng.choice(1000, size=len(copiers), replace=False)).tolist()
    given = [asdict(copier) for copier in copiers]
    answers = student.run(measure_copiers, copiers=given, steps=steps, seeds=seeds)
    drawn = []
    for copier, answer in zip(copiers, answers.items(len(copiers))):
        loss, gap = read_result(answer["result"])
        trained, measured = _require_use(answer, steps)
        _require_loss(copier, loss)
        _require_gap(copier, gap)
        drawn.append((trained[:64], measured[-64:]))
    for does, first, second in zip(("trains", "measures"), *drawn[:2]):
        if len(first) and np.array_equal(first, second):
            raise WrongAnswer(
                f"With another seed, copy_task {does} on the same rows. Draw all rows from "
                "`generator`, in each call."
            )


def _require_use(answer, allowed):
    """Require new rows, and no gradients; returns the rows of training and of measuring."""
    names = "trained", "measured", "padded"
    trained, measured, padded = (answer[name].array("int64", (None,)) for name in names)
    if len(measured) < ROWS or len(padded) < ROWS:
        raise WrongAnswer(
            f"copy_task runs the model of make_model in evaluation mode on {len(measured)} rows of "
            f"16 places and {len(padded)} of 24. It should measure the loss on {ROWS} new rows and "
            "the padding gap on the same rows with 8 columns of PAD appended."
        )
    if answer["gradients"].flag():
        raise WrongAnswer(
            "copy_task measures with gradients enabled. Measure within torch.no_grad()."
        )
    if (steps := answer["steps"].number()) > allowed:
        raise WrongAnswer(f"With steps={allowed}, copy_task makes {steps} steps of the optimizer.")
    # Of rows with 6 or more symbols, two in 10 ** 7 are equal, and batches of 4 have 50 of them.
    long, last = (rows[rows >= LONG] for rows in (trained, measured[-ROWS:]))
    if len(long) >= 40 and len({*long.tolist()}) < 0.25 * len(long):
        raise WrongAnswer(
            f"copy_task trains on the same rows repeatedly: only {len({*long.tolist()})} of "
            f"{len(long)} long rows are different. Draw a new batch for each step, from one "
            "generator that is seeded once."
        )
    if np.isin(last, long).sum() > 0.4 * len(last):
        raise WrongAnswer("copy_task measures on rows that it was trained on. Draw new ones.")
    return trained, measured


def _require_loss(copier, loss):
    expected, within = copier.loss, 0.02
    if copier.uneven:
        # Of 36 BLANKs, in rows of all lengths, 14 have a tenth of the loss. For 512 rows that
        # varies by 2.2%.
        expected, within = copier.loss * (14 * 0.1 + 22) / 36, 0.14
    ratio, blanks = loss / expected, 4.5 * ROWS  # blanks vary by 2%
    causes = {
        "it is the mean over all places, also those whose target is -100.": 0.25 < ratio < 0.31,
        "it is the sum over the BLANKs, not their mean.": 0.9 < ratio / blanks < 1.1,
        "F.cross_entropy takes the second axis for the classes. There are 16 places and 16 "
        "classes, so F.cross_entropy(model(x), y) runs, but treats places as classes. Flatten "
        "both, in the training, too: logits to (N, 16), targets to (N).": ratio > 50,
        "not all BLANKs count equally.": copier.uneven,
    }
    if abs(loss - expected) > within * expected + 1e-5:
        raise _measured(copier, "loss", expected, loss, causes)


def _require_gap(copier, gap):
    expected = 0.0 if copier.where == "pads" else abs(copier.gap)
    causes = {
        "places that are PAD are counted; compare only where x is not PAD.": copier.where == "pads",
        "the largest difference is taken without .abs(), or not at all places of all rows where x "
        "is not PAD.": gap == 0,
        "it is a mean, or the difference of two losses. The largest difference of a logit is asked "
        "for.": gap < 0.5 * expected,
    }
    if abs(gap - expected) > 0.02 * expected + 2e-6:
        raise _measured(copier, "padding gap", expected, gap, causes)


def _measured(copier, name, expected, found, causes):
    """What is wrong with a number, with the first of the causes that applies."""
    should = f"For {copier.what}, the {name} should be {expected:.4g}; it is {found:.4g}."
    applying = [f"\nLikely cause: {cause}" for cause, applies in causes.items() if applies]
    return WrongAnswer(should + "".join(applying[:1]))


def draw_rows(rng, count: int) -> list[np.ndarray]:
    """Draw rows of the copy task, int64, (count, 16): symbols, then as many BLANKs, each padded to
    8. Returns them, and them with 8 more columns of PAD.
    """
    used = np.arange(8) < rng.integers(1, 9, size=(count, 1))
    x = np.concatenate((rng.integers(2, 16, size=(count, 8)) * used, 1 * used), axis=1)
    return [x, np.pad(x, ((0, 0), (0, 8)))]


@probe
def run_copy_task(make_model, rows, **options):
    """For probes: run copy_task; its result, and the logits of the model that it measured for each
    of the `rows` (int64); None if it ran none.
    """
    import torch

    from submission.problem5.encoder import copy_task

    kept = []

    def make(config):
        model = make_model(config)
        # The measured model may be a copy, e.g. of the best weights so far; it has the hook, too.
        model.register_forward_hook(lambda module, *_: kept.append(module))
        return model

    result = copy_task(make_model=make, **options)
    with torch.no_grad():
        logits = [kept[-1].eval()(torch.as_tensor(x)) for x in rows] if kept else None
    return {"result": result, "logits": logits}


@probe(uses=(run_copy_task,))
def copy_own(rows):
    """Run copy_task on the submission's own encoder, as ./run.sh encoder_copy does."""
    from submission.problem5.encoder import Encoder

    return run_copy_task(Encoder, rows)


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
    x, _ = rows = draw_rows(rng, 256)
    answer = student.run(copy_own, rows=rows)
    loss, gap = read_result(answer["result"])
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
    # than ln 2; 5% of some 1,150 are allowed here.
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
