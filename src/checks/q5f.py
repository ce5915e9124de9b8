"""Question 5f, basic: the copy task."""
import numpy as np

from autograder import WrongAnswer, check, probe
from checks.copying import GAP, LOSS, OTHER_LOSS, ROWS, Copier, draw_rows, judge_copiers, read_result
from checks.encoder import own_work


@probe(uses=(own_work,))
def copy_own(x):
    """copy_task on the submission's own encoder, as ./run.sh encoder_copy does it, and how long it took; then the logits of the
    trained model for x (int64, (n, 16)), and for x with 8 more columns of PAD."""
    import time
    import torch
    kept = []

    def keep(module, args=None, output=None):
        kept[:] = [module]

    def make(config):
        model = Encoder(config)
        keep(model)
        # What is measured in the end may be a copy, as of the best weights so far; the hook is in it, too.
        model.register_forward_hook(keep)
        return model
    with own_work():
        from submission.encoder import Encoder, copy_task
        started = time.perf_counter()
        result = copy_task(make_model=make)
        seconds = time.perf_counter() - started
        if not kept:
            return {"result": result, "seconds": seconds, "logits": None}
        model, x = kept[0].eval(), torch.as_tensor(x)
        with torch.no_grad():
            logits = [model(rows) for rows in (x, torch.nn.functional.pad(x, (0, 8)))]
        return {"result": result, "seconds": seconds, "logits": logits}


def measure(x: np.ndarray, logits: np.ndarray, padded: np.ndarray) -> tuple[float, float]:
    """Loss and padding gap from logits for x, (n, 16, 16), and for x with more columns of PAD, (n, 24, 16)."""
    logits, padded = logits.astype(float), padded[:, :16].astype(float)
    answers = logits[:, 8:][x[:, 8:] > 0]
    wanted = x[:, :8][x[:, 8:] > 0]
    top = answers.max(axis=1)
    losses = top + np.log(np.exp(answers - top[:, None]).sum(axis=1)) - answers[np.arange(len(wanted)), wanted]
    return float(losses.mean()), float(np.abs(logits - padded)[x > 0].max())


@check("5f-0-basic")
def test_right_encoders(student, rng):
    """Models that copy rightly pass: some of the judge's own, of which nothing needs to be learned, and then the submission's."""
    judge_copiers(student, rng, [
        Copier("a model that copies rightly", loss=float(rng.uniform(0.002, 0.008))),
        Copier("a model that copies rightly, but not in training mode, as with dropout", training=OTHER_LOSS),
        Copier("a model that copies rightly, and of which padding changes logits only at places that are "
               "PAD", gap=0.5, where="pads"),
        Copier("a model that learns slowly", loss=OTHER_LOSS, kind="slow"),
    ])
    x = draw_rows(rng, ROWS)
    answer = student.run(copy_own, x=x)
    measured = read_result(answer["result"], answer["seconds"].number())
    if measured.loss >= LOSS:
        # Without positions, all that can be learned is which symbols a row has.
        states = [(1.9, "nothing is learned. Look at the targets, at the optimizer, and at whether gradients reach all parts."),
                  (1.3, "that is a guess among the row's own symbols, so positions do not arrive."),
                  (0.1, "the training is too slow, or its learning rate too high."),
                  (LOSS, "it is nearly learned: lower the learning rate toward the end.")]
        state = next(sentence for limit, sentence in states if measured.loss >= limit)
        raise WrongAnswer(f"Your encoder does not pass: its loss is {measured.loss:.3g} after all steps, and should be under "
                          f"{LOSS}.\nLikely cause: {state}")
    if measured.gap >= GAP:
        raise WrongAnswer(f"Your encoder does not pass: 8 more columns of PAD change a logit by {measured.gap:.3g}; it should be "
                          "under "
                          f"{GAP:g}.\nLikely cause: the layers do not get the padding mask, or positions depend on the length. "
                          "See 5e; or the columns were not appended at the end.")
    if answer["logits"].value is None:
        raise WrongAnswer("copy_task did not call make_model. The model to test is make_model(config).")
    logits, padded = (part.named("your encoder's logits").array(shape=(ROWS, width, 16))
                      for part, width in zip(answer["logits"].items(2), (16, 24)))
    loss, gap = measure(x, logits, padded)
    if loss > 2 * measured.loss + LOSS or gap > 3 * GAP:        # other rows than copy_task's: about the same, not more
        raise WrongAnswer(f"For your encoder, copy_task returns a loss of {measured.loss:.3g} and a gap of {measured.gap:.3g}. "
                          f"On other rows, the model that it made has {loss:.3g} and {gap:.3g}.\nLikely cause: the two are not "
                          "measured on the model that was trained, or not on fresh rows of all lengths.")
