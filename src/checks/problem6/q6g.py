"""Question 6g, basic: attention across documents; a memory of documents, and questions to it;
gradients, work, and what is refused.
"""

from dataclasses import replace

from autograder import Failed, Verdict, WrongAnswer, check
from checks.problem6.q6d_attention import ATTENTION
from checks.problem6.q6d_work import require_little_work
from checks.problem6.q6g_memory import MEMORY, WORK


@check("6g-1-basic", "6g-2-basic", "6g-5-basic")
def test_documents(student, calls):
    """Outputs and gradients, as far as the calls ask for them; no dense attention over all."""
    for asked in (ATTENTION, MEMORY):
        asked.require(student, calls)
    require_little_work(student, calls)


@check("6g-6-basic")
def test_work(student, calls):
    """Long documents with a small window; projections that are applied once."""
    require_little_work(student, calls)
    WORK.require(student, calls)


@check("6g-7-basic")
def test_refusals(student, calls):
    """Plain calls are not refused. Each of the others, which do not fit or have an iterator, is
    worth a part of the points.
    """
    wrong, count = [], 0
    for asked in (ATTENTION, MEMORY):
        plain, *others = [call for call in calls if call.probe == asked.probe.name]
        replace(asked, reply={}).require(student, [plain])  # other checks judge what it gives
        count += len(others)
        for call in others:
            try:
                asked.require(student, [call])
            except Failed as failed:
                if failed.verdict not in (Verdict.WRONG_ANSWER, Verdict.EXCEPTION):
                    raise
                wrong.append(failed.message)
    if wrong:
        raise WrongAnswer("\n".join(wrong), fraction=1 - len(wrong) / count)
