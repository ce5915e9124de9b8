"""Several calls in one process: each gets its own answer or exception."""

from dataclasses import replace

import pytest
from toy_course import MANIFEST, answers

from autograder import Answer, SameProcess, Student, StudentProcess, Submission, probe
from autograder.judge import verdicts_in
from autograder.trial import choose
from autograder.verdicts import Failed, Verdict

COUNTS = answers(
    "global calls",
    "calls += 1",
    "if x == 1: raise ValueError('one')",
    "if x == 2: raise NotImplementedError('2: answer')",
    "if x == 3: exit(3)",
    "return calls, x",
    before="calls = 0",
)


@probe
def call(argument):
    """Answer one argument."""
    from toy import answer

    return answer(argument)


@pytest.fixture(params=[True, False], ids=["its own process", "the same process"])
def student(request, tmp_path):
    """A function that returns a Student for a toy.py, in a student's process or in this one."""
    tmp_path.chmod(0o755)

    def of(source):
        (tmp_path / "toy.py").write_text(source, encoding="utf-8")
        limits = replace(MANIFEST.checks["9a-0-basic"], seconds=20)
        return Student(process, Submission((tmp_path,), tmp_path, "toy"), limits, seed=1)

    with StudentProcess(choose(), (), (tmp_path,)) if request.param else SameProcess() as process:
        yield of


def test_each_call_has_its_answer_or_its_exception(student):
    replies = student(COUNTS).each(call, [{"argument": x} for x in (0, 1, 2, 3, 4)])
    kinds = [reply.verdict if isinstance(reply, Failed) else Answer for reply in replies]
    assert kinds == [Answer, Verdict.EXCEPTION, Verdict.NOT_IMPLEMENTED, Verdict.EXCEPTION, Answer]
    assert replies[1].error.type == "ValueError" and replies[1].error.text == "one"
    assert "toy.py, line 5: ValueError: one" in replies[1].message
    # one process: the last call is the fifth
    assert replies[0].value == (1, 0) and replies[4].value == (5, 4)


def test_what_cannot_be_imported_fails_every_call(student):
    replies = student("1 / 0").each(call, [{"argument": 0}] * 2)
    assert [reply.error.type for reply in replies] == ["ZeroDivisionError"] * 2


def test_draws_that_checks_share_depend_on_their_name_alone(student):
    """Not on which check comes first, nor on what it has drawn."""

    def draw(student):
        return student.run(call, argument=0).number()

    drawn = []
    for id, calls in (("9a-0-basic", 0), ("9a-1-basic", 2)):
        sharing = student(answers("import random", "return random.random()"))
        sharing.check, sharing.name = replace(sharing.check, id=id), id
        own = [draw(sharing) for _ in range(calls)]
        drawn.append(sharing.once("shared", lambda rng: (rng.random(), draw(sharing))))
        assert len({*own, draw(sharing), drawn[-1][1]}) == calls + 2
    assert drawn[0] == drawn[1]


def test_a_check_is_judged_by_its_function_or_by_default(tmp_path):
    """Not by default where the function may be in a file that cannot be read."""
    code = "from autograder import check\n@check('1a-0-basic')\ndef f(student): pass"
    ids = ["1a-0-basic", "1a-1-basic"]
    for file, text in (("q1a.py", code), ("q1b.py", '# "1a-1-basic"\n1 / 0')):
        (tmp_path / file).write_text(text, encoding="utf-8")
        functions, errors = verdicts_in([tmp_path], ids, print)
        assert functions.pop(ids[0]) is not print
        assert functions == ({} if errors else {ids[1]: print})
        assert ["ZeroDivisionError" in error for error in errors] == [True] * (file == "q1b.py")
