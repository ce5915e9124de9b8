"""Runs rope_scores of positions.py and judges its results; shared by the checks of question 6c."""

from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.problem6.q6c.positions import ROPE
from checks.support.calls import attempt, require_refusal
from checks.support.cases import Case


@probe(uses=(attempt,))
def score(calls):
    """Run rope_scores for each call: its result, or the classes of its exception if one is to be
    caught; whether its arguments are unchanged; and apply_rotary_emb of call["rows"], if there are
    any.
    """
    import torch

    from submission.attention import apply_rotary_emb, precompute_rotary_emb
    from submission.problem6.positions import rope_scores

    results = []
    for call in calls:
        dtype = getattr(torch, call["dtype"])
        q, k = (torch.from_numpy(call[name]).to(dtype) for name in ("q", "k"))
        at, of = list(call["queries"]), list(call["keys"])
        before = q.clone(), k.clone()
        scores, raised = attempt(lambda: rope_scores(q, k, at, of), call["caught"])
        unchanged = (
            torch.equal(q, before[0])
            and torch.equal(k, before[1])
            and at == call["queries"]
            and of == call["keys"]
        )
        rotated = None
        try:
            rows = torch.from_numpy(call["rows"])
            rotated = apply_rotary_emb(rows, precompute_rotary_emb(len(q), rows.size(2)))
        except Exception:  # then it cannot be judged
            pass
        results.append(dict(scores=scores, raised=raised, unchanged=unchanged, turned=rotated))
    return results


@dataclass(frozen=True)
class ScoreCall:
    """A call of rope_scores.

    Args:
        case: its inputs are q, k, the positions of queries and keys, the dtype, and whether
            ValueError is to be caught; "rows" are for testing the submission's own rotation, or
            None. `right` has the scores, and is None for calls that should raise ValueError.
            about["turned"] has the rotated rows, and about["turned_wrong"] known mistakes of
            attention.py as [sentence, rows rotated with that mistake].
    """

    case: Case

    def __str__(self):
        inputs = self.case.inputs
        return (
            f"rope_scores(q, k, {inputs['queries']}, {inputs['keys']}), {inputs['dtype']} vectors "
            f"of width {len(inputs['q'])}"
        )

    def judge(self, answer: Answer) -> None:
        """Raise WrongAnswer if the probe's answer is wrong; names the likely cause."""
        inputs, right = self.case.inputs, self.case.right
        if right is None:
            returned = f"it returned {answer['scores'].describe()}"
            require_refusal(str(self), answer["raised"], returned)
            return
        scores = answer["scores"].named(str(self)).present()
        got = scores.array(inputs["dtype"], right.shape).astype(float)
        try:
            with np.errstate(all="ignore"):
                self.case.require(str(self), got, ROPE)
        except WrongAnswer as wrong:
            if not (cause := self._cause_in_rotation(answer["turned"])):
                raise
            seen = wrong.message.partition("\n")[0]
            raise WrongAnswer(f"{seen}\nLikely cause: {cause}") from None
        if not answer["unchanged"].flag():
            raise WrongAnswer(f"{self} changes its arguments. Work on copies.")
        distances = np.subtract(inputs["queries"], inputs["keys"])
        for distance in set(distances.tolist()):
            same = got[distances == distance]
            if (spread := np.ptp(same)) > ROPE:
                raise WrongAnswer(
                    f"{self}: the scores at distance {distance} differ by {spread:.1g}; "
                    f"{ROPE:g} is allowed."
                )

    def _cause_in_rotation(self, answer):
        """Describe what is wrong with the submission's own rotation, which rope_scores uses; "" if
        no fault is found.
        """
        if answer.value is None:
            return ""
        right = self.case.about["turned"]
        try:
            got = answer.array("float64", (1, 1, *right.shape)).astype(float)[0, 0]
            known = [tuple(each) for each in self.case.about["turned_wrong"]]
            require_close("x", got, right, 1e-3, known)
        except WrongAnswer as wrong:
            cause = wrong.message.partition("Likely cause: ")[2] or (
                "precompute_rotary_emb or apply_rotary_emb in your attention.py is wrong."
            )
            return f"{cause} Fix that in attention.py first."
        return ""


def make_inputs(
    q: np.ndarray,
    k: np.ndarray,
    queries: list[int],
    keys: list[int],
    dtype: str = "float32",
    caught: bool = False,
    rows: np.ndarray | None = None,
) -> dict:
    """The inputs of a ScoreCall."""
    return dict(q=q, k=k, queries=queries, keys=keys, dtype=dtype, caught=caught, rows=rows)


def refused_scores(q: np.ndarray, k: np.ndarray, queries: list[int], keys: list[int]) -> ScoreCall:
    """A call that should raise ValueError."""
    return ScoreCall(Case(make_inputs(q, k, queries, keys, caught=True)))


def require_scores(student, calls: list[ScoreCall]) -> None:
    """Run all calls and judge them.

    Raises:
        Failed: the first that is wrong; names the likely cause.
    """
    answers = student.run(score, calls=[call.case.inputs for call in calls])
    for call, answer in zip(calls, answers.items(len(calls))):
        call.judge(answer)
