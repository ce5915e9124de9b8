"""Question 6b: what earns points, and how the file is read."""

import itertools
import random
import re
import tomllib

import pytest

from proof import CHECKS, HIDDEN

from autograder import Answer, Failed, Verdict
from autograder.judge import verdicts_in
from checks.problem6 import q6b as choices
from helpers import ROOT, SOLUTION


class Student:
    """Stands in for a submission with this probe result."""

    def __init__(self, reply):
        self.reply = reply

    def run(self, probe, **inputs):
        return Answer(self.reply, "the result")


IDS = "6b-1-basic", "6b-2-hidden"
basic, hidden = map(verdicts_in([CHECKS, HIDDEN], IDS)[0].get, IDS)
RIGHT = tomllib.loads((SOLUTION / "problem6" / "choices.toml").read_text(encoding="utf-8"))


def judged(test, content) -> tuple[str, float]:
    """Return the verdict and the share of the points."""
    try:
        test(Student({"content": content}))
        return Verdict.PASSED, 1.0
    except Failed as failed:
        return failed.verdict, failed.fraction


EMPTY = dict.fromkeys(choices.VALUES, "")
ALL = [dict(zip(choices.VALUES, values)) for values in itertools.product(*choices.VALUES.values())]
TRAINS = choices.TRAINS


def test_names_that_nobody_chose_earn_nothing():
    """The same for all applications, and any names in any order: one in a hundred fit by chance."""
    for one in ALL:
        assert judged(basic, dict.fromkeys(choices.APPLICATIONS, one)) == (Verdict.WRONG_ANSWER, 0)
    rng, passed = random.Random(0), 0
    for _ in range(2000):
        drawn = {name: rng.choice(ALL) for name in choices.APPLICATIONS}
        passed += judged(basic, drawn)[0] is Verdict.PASSED
    assert passed <= 60  # of 2000 with probability (10 / 24) ** 5: 25 expected


def test_wrong_choices_that_fit_pass_the_basic_check():
    """It must not say which choices are right."""
    encoder = dict(zip(choices.VALUES, ("encoder-only", "next-sentence", "larger-vocabulary")))
    for name in choices.APPLICATIONS:
        assert judged(basic, RIGHT | {name: encoder})[0] is Verdict.PASSED


def test_three_of_the_five_have_several_answers_and_each_costs_a_quarter_of_the_question():
    right = {
        name: [one for one in ALL if judged(hidden, RIGHT | {name: one})[0] is Verdict.PASSED]
        for name in choices.APPLICATIONS
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
    used = {key: {table[key] for table in RIGHT.values()} for key in choices.VALUES}
    assert len(choices.VALUES["objective"]) >= len(used["objective"]) + 3
    assert len(choices.VALUES["modification"]) >= len(used["modification"]) + 4


def test_every_name_is_explained_in_the_file_and_applications_in_the_handout():
    handout = (ROOT / "handout" / "problem6.tex").read_text(encoding="utf-8")
    file = (SOLUTION / "problem6" / "choices.toml").read_text(encoding="utf-8")
    for name in choices.APPLICATIONS:
        assert name.replace("_", "\\_") in handout and f"[{name}]" in file
    for key, values in choices.VALUES.items():
        for value in values:
            explained = r" +\S.*" if key != "architecture" else ""
            assert re.search(rf"^#   {value}{explained}$", file, re.MULTILINE), value


def test_a_file_that_is_not_complete_names_all_that_is_missing():
    half = EMPTY | {"architecture": "encoder-only"}
    with pytest.raises(Failed) as caught:
        basic(Student({"content": RIGHT | {"search": half, "chatbot": EMPTY}}))
    assert caught.value.message == (
        "architecture of [chatbot] is still empty.\nobjective of [search] is still empty."
    )


NONSENSE = {"architecture": {}, "objective": [], "modification": 0}
CONTENTS = [None, [], {}, {1: 2}, dict.fromkeys(choices.APPLICATIONS, 1.5)]
CONTENTS += [RIGHT | {"chatbot": chatbot} for chatbot in (None, [], {1: ""}, {}, NONSENSE)]
CONTENTS += [RIGHT | {"x" * 10_000: {}, "chatbot": {}}]
CONTENTS += [dict.fromkeys(choices.APPLICATIONS, NONSENSE)]
REPLIES = [None, 3, [], {}, {"problem": 7}, *({"content": content} for content in CONTENTS)]


@pytest.mark.parametrize("reply", REPLIES, ids=range(len(REPLIES)))
def test_nonsense_is_never_a_fault_of_the_grader(reply):
    for test in (basic, hidden):
        with pytest.raises(Failed) as caught:
            test(Student(reply))
        assert len(caught.value.message) < 4000
