"""Judges cases of the four pieces of question 5g, each with its own judge; shared by basic and
hidden checks.
"""

from checks.problem5.q5g.classify import judge_accuracies, judge_bags, judge_entropies
from checks.problem5.q5g.fitting import judge_trainings
from checks.support.cases import Case

JUDGES = {
    "bag": judge_bags,
    "training": judge_trainings,
    "accuracy": judge_accuracies,
    "entropy": judge_entropies,
}


def judge_pieces(student, cases: list[Case]) -> None:
    """Judge cases, each of the piece about["piece"], with one probe per piece.

    Raises:
        WrongAnswer: a case is wrong; names the likely cause.
    """
    for piece, judge in JUDGES.items():
        if mine := [case for case in cases if case.about["piece"] == piece]:
            judge(student, mine)
