"""Question 5f, basic: the copy task."""

import numpy as np

from autograder import WrongAnswer, check, probe
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.q5f.copying import GAP, LOSS, ROWS, draw_rows, judge_copiers, read_result


@probe
def watch_masks(model, kind):
    """For probes: watch the padding masks that the model's attention (modules of a `kind`) gets
    from now on.

    Returns a dict that is kept up to date: how often it got a mask and none, and whether one was
    changed in place.
    """
    import torch

    seen, before = {"given": 0, "none": 0, "changed": False}, {}

    def boolean(args, kwargs):
        masks = [
            value
            for value in (*args[1:], *kwargs.values())
            if isinstance(value, torch.Tensor) and value.dtype == torch.bool
        ]
        return masks[0] if masks else None

    def look(module, args, kwargs):
        mask = boolean(args, kwargs)
        seen["none" if mask is None else "given"] += 1
        before[module] = None if mask is None else mask.clone()

    def look_again(module, args, kwargs, output):
        mask = before.get(module)
        seen["changed"] |= mask is not None and not torch.equal(boolean(args, kwargs), mask)

    for part in model.modules():
        if isinstance(part, kind):
            part.register_forward_pre_hook(look, with_kwargs=True)
            part.register_forward_hook(look_again, with_kwargs=True)
    return seen


@probe(uses=(forbid_builtins, watch_masks))
def copy_own(rows):
    """Run copy_task on the submission's own encoder, as ./run.sh encoder_copy does, and time it;
    then return the trained model's logits for each of the `rows` (int64), and the masks that its
    attention got.
    """
    import time

    import torch

    kept = []

    def keep(module, args=None, output=None):
        kept[:] = [module]

    def make(config):
        model = Encoder(config)
        keep(model)
        # The measured model may be a copy, e.g. of the best weights so far; it has the hook, too.
        model.register_forward_hook(keep)
        return model

    with forbid_builtins():
        from submission.problem5.encoder import Encoder, MultiHeadAttention, copy_task

        started = time.perf_counter()
        result = copy_task(make_model=make)
        seconds = time.perf_counter() - started
        if not kept:
            return {"result": result, "seconds": seconds, "logits": None}
        model = kept[0].eval()
        masks = watch_masks(model, MultiHeadAttention)
        with torch.no_grad():
            logits = [model(torch.as_tensor(x)) for x in rows]
        return {"result": result, "seconds": seconds, "logits": logits, "masks": masks}


@check("5f-0-basic")
def test_right_encoders(student, rng, cases):
    """Models that copy correctly pass: some that need no training, and then the submission's."""
    judge_copiers(student, rng, cases)
    x = draw_rows(rng, ROWS)
    longer = np.concatenate((x, np.zeros_like(x[:, :8])), axis=1)
    answer = student.run(copy_own, rows=[x, longer])
    if answer["logits"].value is None:
        raise WrongAnswer(
            "copy_task did not call make_model. The model to test is make_model(config)."
        )
    measured = read_result(answer["result"], answer["seconds"].number())
    logits, padded = (
        part.named("your encoder's logits").array("float32", (ROWS, width, 16))
        for part, width in zip(answer["logits"].items(2), (16, 24))
    )
    full = x[:, 7] > 0  # rows without PAD
    steady = np.allclose(logits[full], padded[full, :16], rtol=0, atol=3 * GAP)
    masks = _masks(answer["masks"])
    if measured.loss >= LOSS:
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
        state = next(sentence for limit, sentence in states if measured.loss >= limit)
        raise WrongAnswer(
            f"Your encoder does not pass: its loss is {measured.loss:.3g} after all steps, and "
            f"should be under {LOSS}.\nLikely cause: {masks or state}"
        )
    if measured.gap >= GAP:
        cause = "attention does not mask PAD, see 5d; or positions depend on the length, see 5e."
        if steady:
            cause = (
                "the columns were not appended at the end, or the gap was measured where x is PAD. "
                "In rows without PAD, appending 8 columns does not change your encoder's logits."
            )
        raise WrongAnswer(
            "Your encoder does not pass: 8 more columns of PAD change a logit by "
            f"{measured.gap:.3g}; it should be under {GAP:g}.\nLikely cause: {masks or cause}"
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
            f"For your encoder, copy_task returns a loss of {measured.loss:.3g} and a gap of "
            f"{measured.gap:.3g}; on other rows, {found}.\n"
            "Likely cause: loss and gap are not measured on the trained model, or not on new rows "
            "of all lengths."
        )


def _masks(answer):
    """Describe what is wrong with the padding masks that attention got; "" if nothing is."""
    if answer["changed"].flag():
        return (
            "MultiHeadAttention changes the padding mask in place, so the next layer gets a wrong "
            "one. Make a new tensor: ~mask, not mask.logical_not_(). See 5d."
        )
    if answer["none"].number() and not answer["given"].number():
        return "the layers don't pass the padding mask to MultiHeadAttention. See 5e."
    return ""


@check("5f-2-basic")
def test_known_models(student, rng, cases):
    """Measurements are right on models with a known loss and gap that should fail."""
    judge_copiers(student, rng, cases)
