"""Question 5f, hidden: the copy task on models that should fail."""

from autograder import WrongAnswer, check
from checks.problem5.q5f.copying import GAP, judge_copiers, read_result
from instructor.checks.problem5.q5f.broken import measure_broken
from instructor.checks.problem5.q5f.cases import right_models, wrong_models

# For broken encoders: too few for any encoder to learn the task.
FEW_STEPS = 20, 30
FAULTS = {
    "residuals": "without residuals",
    "positions": "without positions",
    "mask": "that ignores the padding mask",
    "inverted": "that has the padding mask inverted",
}


@check("5f-1-hidden")
def test_broken_encoders(student, rng):
    """copy_task measures the loss and the gap of models whose values are known; then it fails
    encoders with a broken part.

    Broken encoders get few steps: an encoder that has not learned the task must fail, for whatever
    reason, and learning would take longer and depend on the optimizer. The models whose values are
    known test that a model that copies can fail because of its gap alone.
    """
    judge_copiers(student, rng, [*wrong_models(rng), right_models(rng)[-1]])
    steps = int(rng.integers(*FEW_STEPS))
    answers = student.run(
        measure_broken, faults=list(FAULTS), steps=steps, seed=int(rng.integers(1000))
    ).items(len(FAULTS))
    for fault, answer in zip(FAULTS, answers):
        measured = read_result(answer)
        if measured.passed:
            raise WrongAnswer(
                f"copy_task passes an encoder {FAULTS[fault]}, after {steps} steps, with a loss of "
                f"{measured.loss:.3g} and a gap of {measured.gap:.3g}."
            )
        if fault in ("mask", "inverted") and measured.gap < GAP:
            raise WrongAnswer(
                f"For an encoder {FAULTS[fault]}, the padding gap is {measured.gap:.3g}. It is not "
                "measured as the question asks."
            )
