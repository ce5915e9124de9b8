"""Question 6e, basic: filters, repetition, generate."""

from autograder import check
from checks.problem6.q6e.filters import judge_filters
from checks.problem6.q6e.generation import judge_generate, judge_random_numbers
from checks.problem6.q6e.runs import rare_cases


def judge(student, judgment, cases) -> None:
    """Judge the usual cases, then the rare ones."""
    judgment(student, [case for case in cases if not case.about.get("rare")])
    with rare_cases():
        judgment(student, [case for case in cases if case.about.get("rare")])


@check("6e-4-basic")
def test_filters(student, cases):
    """Rows, batches of rows, the handout's examples; rare: ties, limits, and arguments out of
    range.
    """
    judge(student, judge_filters, cases)


@check("6e-5-basic")
def test_repetition(student, cases):
    """The handout's example, repeated tokens; rare: no tokens, n = 1, n greater than their number,
    all excluded.
    """
    judge(student, judge_filters, cases)


@check("6e-9-basic")
def test_generate(student, cases):
    """Options alone and combined, prompts and texts longer than the model's context; rare: limits,
    and options out of range.
    """
    for case in cases:
        if case.about.get("random numbers"):
            judge_random_numbers(student, case)
    judge(student, judge_generate, [case for case in cases if not case.about.get("random numbers")])
