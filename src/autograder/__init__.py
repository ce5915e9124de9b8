"""An engine that grades untrusted code. It is independent of what it grades:
docs/adding-a-question.md explains how to use it.

A check is a probe, sent as source to the student's process, and a verdict, a function that judges
the answer:

    @probe
    def add(a, b):
        import submission
        return submission.add(a, b)

    @check("9a-0-basic")
    def test_add(student, rng):
        a, b = rng.integers(100, size=2).tolist()
        assert student.run(add, a=a, b=b).number() == a + b, f"{a} + {b} is not what add returned"
"""

from autograder.inside.wire import describe

from .allowance import Allowance
from .answer import Answer
from .compare import matches, require_close
from .grade import Report, draw_seed, grade
from .judge import check
from .manifest import Check, Manifest, ManifestError, Question, read_manifest
from .probe import Probe, probe
from .process import ProcessError, SameProcess, StudentProcess
from .student import Student, Submission
from .verdicts import Failed, NotImplementedYet, Outcome, Verdict, WrongAnswer
