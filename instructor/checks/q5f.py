"""Question 5f, hidden: the copy task on models that should fail."""
from autograder import WrongAnswer, check
from checks.copiers import measure_broken
from checks.copying import FEW_STEPS, GAP, OTHER_LOSS, Copier, judge_copiers, read_result

FAULTS = {"residuals": "without residuals", "positions": "without positions", "mask": "that ignores the padding mask",
          "inverted": "that has the padding mask upside down"}


@check("5f-1-hidden")
def test_broken_encoders(student, rng):
    """What is measured and how, on models with a known loss and gap; then encoders in which a part is broken.

    The latter get few steps: an encoder that has not learned the task must fail, whatever the reason. Learning would take
    longer, and depend on the optimizer. That a model which copies fails for its gap alone is seen with the former.
    """
    gap = float(rng.uniform(0.2, 0.4))
    judge_copiers(student, rng, [
        Copier("a model whose loss is a little too large", loss=float(rng.uniform(0.012, 0.02))),
        Copier("a model that copies short rows, and the first symbol of others, better than the rest",
               loss=float(rng.uniform(0.018, 0.02)), kind="uneven"),
        Copier("a model that ignores the padding mask at BLANKs", gap=gap, where="blanks"),
        Copier("a model that ignores the padding mask at symbols", gap=gap, where="symbols"),
        Copier("a model that ignores the padding mask, and has smaller logits with padding", gap=-gap, where="symbols"),
        Copier("a model that attends to padding in rows of 8 symbols", gap=-gap, where="full rows"),
        Copier("a model that attends to padding in the last row of a batch", gap=gap, where="the last row"),
        Copier("a model of which padding changes little", gap=float(rng.uniform(2e-4, 8e-4)), where="blanks"),
        Copier("a model that learns slowly", loss=OTHER_LOSS, kind="slow"),
        Copier("a model that copies only in training mode", loss=1.0, training=0.001),
        Copier("a model that knows only the rows of its training", unseen=OTHER_LOSS),
    ])
    steps = int(rng.integers(*FEW_STEPS))
    answers = student.run(measure_broken, faults=list(FAULTS), steps=steps, seed=int(rng.integers(1000))).items(len(FAULTS))
    for fault, answer in zip(FAULTS, answers):
        measured = read_result(answer)
        if measured.passed:
            raise WrongAnswer(f"copy_task passes an encoder {FAULTS[fault]}, after {steps} steps, with a loss of "
                              f"{measured.loss:.3g} and a gap of {measured.gap:.3g}.")
        if fault in ("mask", "inverted") and measured.gap < GAP:
            raise WrongAnswer(f"For an encoder {FAULTS[fault]}, the padding gap is {measured.gap:.3g}. It is not measured as the "
                              "question says.")
