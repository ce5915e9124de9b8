"""Question 5f, basic: the copy task."""
from autograder import WrongAnswer, check, probe
from checks.copying import GAP, LOSS, OTHER_LOSS, Copier, judge_copiers, read_result
from checks.encoder import own_work


@probe(uses=(own_work,))
def copy_own():
    """copy_task on the submission's own encoder, as ./run.sh encoder_copy does it; and how long it took."""
    import time
    with own_work():
        from submission.encoder import copy_task
        started = time.perf_counter()
        result = copy_task()
        return {"result": result, "seconds": time.perf_counter() - started}


@check("5f-0-basic")
def test_right_encoders(student, rng):
    """Models that copy rightly pass: some of the judge's own, of which nothing needs to be learned, and then the submission's."""
    judge_copiers(student, rng, [
        Copier("a model that copies rightly", loss=float(rng.uniform(0.002, 0.008))),
        Copier("a model that copies rightly, but not in training mode, as with dropout", training=OTHER_LOSS),
        Copier("a model that copies rightly, and of which padding changes logits only at places that are "
               "PAD", gap=0.5, where="pads"),
    ])
    answer = student.run(copy_own)
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
