"""Answers in files: matrices by hand (question 5a) and choices (6b)."""

import itertools
import json
import math
import random
import re
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest

from proof import CHECKS, HIDDEN

from autograder import Answer, Failed, Verdict, WrongAnswer
from autograder.judge import verdicts_in
from checks.problem5 import q5a
from checks.problem5.q5a import TOLERANCE
from checks.problem6.q6b import APPLICATIONS, TRAINS, VALUES
from helpers import ROOT, SOLUTION
from instructor.datasets.worlds.exercises import make_matrices
from instructor.mistakes.q5a import softmax


def giving(reply):
    """Stands in for a submission with this probe result."""
    return SimpleNamespace(run=lambda probe, **inputs: Answer(reply, "the result"))


def solved(seed):
    """Draw Q, K, V of a cohort, and compute the four matrices."""
    given = {name: np.array(rows, float) for name, rows in make_matrices(seed).items()}
    scores = given["Q"] @ given["K"].T
    weights = softmax(scores / 2)
    matrices = scores, scores / 2, weights, weights @ given["V"]
    return given, dict(zip(("scores", "scaled_scores", "weights", "output"), matrices))


def judge(name, matrix, given, weights, seed=0):
    """The basic check's message on a matrix, an output by weights if there are some, or ""."""
    known = {**given, "weights": weights} if name == "output" and weights is not None else given
    try:
        q5a.judge(name, matrix, known, np.random.default_rng(seed))
    except WrongAnswer as wrong:
        return wrong.message
    return ""


def test_entries_within_the_tolerance_are_right_and_the_row_of_another_is_located(seed):
    rng = np.random.default_rng(seed)
    for cohort in range(200):
        given, right = solved(cohort)
        rounded = right["weights"] + rng.uniform(-TOLERANCE, TOLERANCE, right["weights"].shape)
        for name, matrix in right.items():
            off = rng.uniform(-TOLERANCE, TOLERANCE, matrix.shape)
            assert judge(name, matrix + off, given, rounded, seed) == ""
            place = tuple(map(int, rng.integers(matrix.shape)))
            wrong = matrix.copy()
            wrong[place] += rng.choice([-1, 1]) * rng.uniform(0.02, 1)
            message = judge(name, wrong, given, right["weights"], seed)
            assert message.startswith(f"{name}[{place[0]}]")


S, Z, A, V = "scores", "scaled_scores", "weights", "V"
CAUSES = {
    "already scaled": (S, lambda m: m[Z]),
    "the scores themselves": (Z, lambda m: m[S]),
    "divided by d_k": (Z, lambda m: m[S] / 4),
    "root of the number of keys": (Z, lambda m: m[S] / math.sqrt(3)),
    "scores are not scaled. Divide": (A, lambda m: softmax(m[S])),
    "the scores are divided by d_k": (A, lambda m: softmax(m[S] / 4)),
    "the softmax is over columns": (A, lambda m: softmax(m[Z], 0)),
    "divided by the sum of their row": (A, lambda m: np.exp(m[Z])),
    "multiplied by the scaled scores": ("output", lambda m: m[Z] @ m[V]),
    "multiplied by the scores": ("output", lambda m: m[S] @ m[V]),
}


def test_the_likely_cause_is_named():
    for cause, (name, mistake) in CAUSES.items():
        for seed in range(5):
            given, right = solved(seed)
            message = judge(name, mistake(given | right).round(4), given, right["weights"], seed)
            assert cause in message, message


def test_zeros_constants_and_copies_earn_nothing():
    """Nor do random numbers, whatever the cohort's Q, K and V are."""
    for seed in range(100):
        given, right = solved(seed)
        noise = np.random.default_rng(seed).standard_normal((3, 4)).round(1)
        for name, matrix in right.items():
            height, width = shape = matrix.shape
            flat = [np.full(shape, value, float) for value in (0, 1, 1 / width)]
            copies = [m[:height, :width] for m in (noise, *given.values())]
            for wrong in [each for each in flat + copies if each.shape == shape]:
                if np.abs(wrong - matrix).max() > 0.01:
                    assert judge(name, wrong, given, right["weights"], seed)


def test_an_output_waits_for_right_weights():
    given, right = solved(0)
    assert "once the weights are right" in judge("output", right["output"], given, None)


NO_MATRICES = {
    "scores should be a list of 2 rows with 3 numbers each; it is 7.": 7,
    "it is [-4.0, -2.0, 0.0, -2.0]": [-4.0, -2.0, 0.0, -2.0],
    "it is [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]. Rows and columns are swapped.": [[1.0] * 2] * 3,
    "it is [[1.0, 1.0, 1.0], [1.0, 1.0]]": [[1.0] * 3, [1.0] * 2],
    "no quotation marks, no fractions": [["-4"] * 3] * 2,
    "scores[0][0] should be a number": [[math.nan] * 3] * 2,
    "scores[1][2] should be a number": [[1, 1, 1], [1, 1, [1]]],
    "scores still contains a null": [[1, 1, 1], [1, 1, None]],
}


@pytest.mark.parametrize("message", NO_MATRICES)
def test_what_is_no_matrix_is_described(message):
    course = ROOT / "data" / "hand_attention.json"
    given = json.loads(course.read_text(encoding="utf-8"))
    given |= {"scores": NO_MATRICES[message], "output": [[1.0] * 2] * 2}
    with pytest.raises(WrongAnswer) as caught:
        q5a.grade_matrices(giving({"content": given}), course, lambda *matrix: None)
    assert message in caught.value.message and caught.value.fraction == 1 / 4


IDS = "6b-1-basic", "6b-2-hidden"
basic, hidden = map(verdicts_in([CHECKS, HIDDEN], IDS)[0].get, IDS)
FILE = (SOLUTION / "problem6" / "choices.toml").read_text(encoding="utf-8")
RIGHT = tomllib.loads(FILE)
EMPTY = dict.fromkeys(VALUES, "")
ALL = [dict(zip(VALUES, values)) for values in itertools.product(*VALUES.values())]


def judged(test, content) -> tuple[Verdict, float]:
    """Return the verdict and the share of the points."""
    try:
        test(giving({"content": content}))
        return Verdict.PASSED, 1.0
    except Failed as failed:
        return failed.verdict, failed.fraction


def test_names_that_nobody_chose_earn_nothing():
    """The same for all applications, and any names in any order: one in a hundred fit by chance."""
    for one in ALL:
        assert judged(basic, dict.fromkeys(APPLICATIONS, one)) == (Verdict.WRONG_ANSWER, 0)
    draws = ({name: random.choice(ALL) for name in APPLICATIONS} for _ in range(2000))
    # of 2000 with probability (10 / 24) ** 5: 25 expected; more than 60 with one of 1e-9
    assert sum(judged(basic, drawn)[0] is Verdict.PASSED for drawn in draws) <= 60


def test_wrong_choices_that_fit_pass_the_basic_check():
    """It must not say which choices are right."""
    encoder = dict(zip(VALUES, ("encoder-only", "next-sentence", "larger-vocabulary")))
    for name in APPLICATIONS:
        assert judged(basic, RIGHT | {name: encoder})[0] is Verdict.PASSED


def test_three_of_the_five_have_several_answers_and_each_costs_a_quarter_of_the_question():
    right = {
        name: [one for one in ALL if judged(hidden, RIGHT | {name: one})[0] is Verdict.PASSED]
        for name in APPLICATIONS
    }
    counts = {"spam_filter": 1, "chatbot": 3, "summarizer": 3, "sql_generator": 2, "search": 1}
    assert {name: len(found) for name, found in right.items()} == counts
    for name, answers in right.items():
        assert RIGHT[name] in answers
        for one in answers:
            assert one["objective"] in TRAINS[one["architecture"]]
            wrong = one | {"modification": "larger-vocabulary"}
            assert judged(hidden, RIGHT | {name: wrong}) == (Verdict.WRONG_ANSWER, 1 - 1.25 / 4)
    names = list(right)
    left = [judged(hidden, RIGHT | dict.fromkeys(names[:n], wrong))[1] for n in range(6)]
    assert left == [1, 1 - 1.25 / 4, 1 - 2.5 / 4, 1 - 3.75 / 4, 0, 0]
    assert judged(hidden, dict.fromkeys(names, EMPTY))[0] is Verdict.NOT_IMPLEMENTED


def test_elimination_answers_nothing():
    """Several names of each kind fit no application."""
    for key, others in {"objective": 3, "modification": 4}.items():
        assert len(VALUES[key]) >= len({table[key] for table in RIGHT.values()}) + others


def test_every_name_is_explained_in_the_file_and_applications_in_the_handout():
    handout = (ROOT / "handout" / "problem6.tex").read_text(encoding="utf-8")
    for name in APPLICATIONS:
        assert name.replace("_", "\\_") in handout and f"[{name}]" in FILE
    for key, values in VALUES.items():
        explained = r" +\S.*" if key != "architecture" else ""
        for value in values:
            assert re.search(rf"^#   {value}{explained}$", FILE, re.MULTILINE), value


def test_a_file_that_is_not_complete_names_all_that_is_missing():
    half = EMPTY | {"architecture": "encoder-only"}
    with pytest.raises(Failed) as caught:
        basic(giving({"content": RIGHT | {"search": half, "chatbot": EMPTY}}))
    missing = "architecture of [chatbot] is still empty.\nobjective of [search] is still empty."
    assert caught.value.message == missing


NONSENSE = {"architecture": {}, "objective": [], "modification": 0}
CONTENTS = [None, [], {}, {1: 2}, dict.fromkeys(APPLICATIONS, 1.5)]
CONTENTS += [RIGHT | {"chatbot": chatbot} for chatbot in (None, [], {1: ""}, {}, NONSENSE)]
CONTENTS += [RIGHT | {"x" * 10_000: {}, "chatbot": {}}, dict.fromkeys(APPLICATIONS, NONSENSE)]
REPLIES = [None, 3, [], {}, {"problem": 7}, *({"content": content} for content in CONTENTS)]


@pytest.mark.parametrize("reply", REPLIES, ids=range(len(REPLIES)))
def test_nonsense_is_never_a_fault_of_the_grader(reply):
    for test in (basic, hidden):
        with pytest.raises(Failed) as caught:
            test(giving(reply))
        assert len(caught.value.message) < 4000
