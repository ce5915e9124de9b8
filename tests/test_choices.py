"""Question 6b: what the points are given for, and how the file is read."""
import itertools
import tomllib

import pytest
from conftest import ROOT, SOLUTION
from proof import verdicts

from autograder import Answer, Failed, Verdict
from checks import choices

pytestmark = pytest.mark.filterwarnings("ignore:Unknown pytest.mark.check")         # a plugin of the grader's knows it
OTHERS = [name for name in choices.APPLICATIONS if name != "spam_filter"]


class Student:
    """Stands for a submission of which the probe says this."""

    def __init__(self, reply):
        self.reply, self.hints = reply, []

    def run(self, probe, **inputs):
        return Answer(self.reply, "the result")

    def hint(self, sentence):
        self.hints.append(sentence)


@pytest.fixture(scope="module")
def basic():
    """The check of the file and of the filter."""
    return verdicts()["6b-1-basic"]


@pytest.fixture(scope="module")
def hidden():
    """The check of the other four."""
    return verdicts()["6b-2-hidden"]


def tables(**changed):
    """The right file's tables, some of them changed."""
    return tomllib.loads((SOLUTION / "choices.toml").read_text(encoding="utf-8")) | changed


def judged(test, content) -> tuple[str, float]:
    """The verdict and the part of the points."""
    try:
        test(Student({"content": content}))
        return Verdict.PASSED, 1.0
    except Failed as failed:
        return failed.verdict, failed.fraction


ALL = [dict(zip(choices.VALUES, values)) for values in itertools.product(*choices.VALUES.values())]


def test_one_combination_in_ninety_is_right_for_the_filter(basic):
    right = [one for one in ALL if judged(basic, tables(spam_filter=one))[0] is Verdict.PASSED]
    assert len(ALL) == 90 and right == [tables()["spam_filter"]]


def test_two_of_the_five_have_two_answers_and_each_is_a_quarter(hidden):
    right = {name: [one for one in ALL if judged(hidden, tables(**{name: one}))[0] is Verdict.PASSED] for name in OTHERS}
    assert {name: len(found) for name, found in right.items()} == {"chatbot": 1, "summarizer": 2, "sql_generator": 2, "search": 1}
    for name, answers in right.items():
        for one in answers:
            choices.require_fit(name, one["architecture"], one["objective"])
            wrong = one | {"modification": "larger-vocabulary"}
            assert judged(hidden, tables(**{name: wrong})) == (Verdict.WRONG_ANSWER, 0.75)
    empty = dict.fromkeys(choices.VALUES, "")
    assert judged(hidden, tables(**dict.fromkeys(OTHERS, empty)))[0] is Verdict.NOT_IMPLEMENTED


def test_every_name_stands_in_the_handout_and_in_the_file():
    handout = (ROOT / "handout" / "problem6.tex").read_text(encoding="utf-8")
    for text, names in ((handout, [name.replace("_", "\\_") for name in choices.APPLICATIONS]),
                        ((SOLUTION / "choices.toml").read_text(encoding="utf-8"), choices.APPLICATIONS)):
        assert all(name in text for name in names)
        assert all(f"{value}}}" in text or f"#   {value}" in text for values in choices.VALUES.values() for value in values)


def test_tables_that_are_empty_are_a_hint(basic):
    student = Student({"content": tables(search=dict.fromkeys(choices.VALUES, ""))})
    basic(student)
    assert student.hints == ["choices.toml: search is still empty."]
    student = Student({"content": tables(search={"architecture": "encoder-only", "objective": "", "modification": ""})})
    with pytest.raises(Failed, match="objective of .search. is still empty"):
        basic(student)


@pytest.mark.parametrize("reply", [
    None, 3, [], {}, {"content": None}, {"content": []}, {"content": {}}, {"problem": 7}, {"content": {1: 2}},
    {"content": tables(chatbot=None)}, {"content": tables(chatbot=[])}, {"content": tables(chatbot={1: ""})},
    {"content": tables(chatbot={})}, {"content": tables(search={"architecture": {}, "objective": [], "modification": 0})},
    {"content": dict.fromkeys(choices.APPLICATIONS, 1.5)}, {"content": {"x" * 10_000: {}} | tables()},
], ids=range(16))
def test_nonsense_is_never_a_fault_of_the_grader(basic, hidden, reply):
    for test in (basic, hidden):
        with pytest.raises(Failed) as caught:
            test(Student(reply))
        assert len(caught.value.message) < 2000
