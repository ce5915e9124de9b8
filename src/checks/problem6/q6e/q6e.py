"""Question 6e, basic: the functions of fixes.py, and the three setups before and after."""

from autograder import check
from checks.problem6.q6e.clipping import judge_clipping, judge_scores
from checks.problem6.q6e.runs import rare_cases
from checks.problem6.q6e.setups import EXPLODING, SLOW, judge_training
from checks.problem6.q6e.stacks import judge_init, judge_stacks
from checks.problem6.q6e_texts import require_texts


def judge(student, judgment, cases) -> None:
    """Judge the usual cases, then the rare ones."""
    judgment(student, [case for case in cases if not case.about.get("rare")])
    with rare_cases():
        judgment(student, [case for case in cases if case.about.get("rare")])


@check("6e-3-basic")
def test_scores_and_clipping(student, cases):
    """Two to four axes; norms above and below the limit; rare: no gradients, and norms that are not
    finite.
    """
    judge_scores(student, [case for case in cases if "q" in case.inputs])
    judge(student, judge_clipping, [case for case in cases if "gradients" in case.inputs])


@check("6e-6-basic")
def test_stack_and_init(student, cases):
    """One or more sublayers; a model with the usual modules; rare: no sublayers, and a model with
    unusual modules.
    """
    stacks, models = ([case for case in cases if key in case.inputs] for key in ("x", "n_layer"))
    judge_stacks(student, [case for case in stacks if not case.about.get("rare")])
    judge(student, judge_init, models)
    with rare_cases():
        judge_stacks(student, [case for case in stacks if case.about.get("rare")])


@check("6e-7-basic")
def test_set_ups(student, rng, calls):
    """Each at a size that takes seconds: an exploding training, a model that repeats itself, a slow
    training.
    """
    require_texts(student, calls)
    judge_training(student, rng, EXPLODING)
    judge_training(student, rng, SLOW)
