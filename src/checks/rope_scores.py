"""Running rope_scores of positions.py, and the mistakes in it that are known by name. The checks of question 6c share it."""
from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.calls import attempt, require_refusal
from checks.positions import ROPE
from checks.reference import angles, rotate


@probe(uses=(attempt,))
def score(cases):
    """rope_scores for each case, or the kinds of its exception where one is to be caught; whether its arguments stayed as they
    were; and what apply_rotary_emb makes of the query at positions 0, 1, ..."""
    import torch
    from submission.attention import apply_rotary_emb, precompute_rotary_emb
    from submission.positions import rope_scores
    results = []
    for case in cases:
        dtype = getattr(torch, case["dtype"])
        q, k = (torch.from_numpy(case[name]).to(dtype) for name in ("q", "k"))
        at, of = list(case["queries"]), list(case["keys"])
        before = q.clone(), k.clone()
        scores, raised = attempt(lambda: rope_scores(q, k, at, of), case["caught"])
        unchanged = torch.equal(q, before[0]) and torch.equal(k, before[1]) and at == case["queries"] and of == case["keys"]
        turned = None
        try:
            table = precompute_rotary_emb(len(q), 9)
            turned = apply_rotary_emb(before[0].expand(1, 1, 9, len(q)).clone(), table)
        except Exception:       # then there is nothing to say about it
            pass
        results.append({"scores": scores, "raised": raised, "unchanged": unchanged, "turned": turned})
    return results


@dataclass(frozen=True)
class Case:
    """A call of rope_scores, which should raise ValueError if it is `refused`."""
    q: np.ndarray
    k: np.ndarray
    queries: list[int]
    keys: list[int]
    dtype: str = "float32"
    refused: bool = False

    def __str__(self):
        return f"rope_scores(q, k, {self.queries}, {self.keys}), {self.dtype} vectors of width {len(self.q)}"

    @property
    def inputs(self) -> dict:
        """What the probe is told."""
        return {"q": self.q, "k": self.k, "queries": self.queries, "keys": self.keys, "dtype": self.dtype,
                "caught": self.refused}

    def judge(self, answer: Answer) -> None:
        """Raise WrongAnswer if the probe's answer is wrong; names the likely cause."""
        if self.refused:
            require_refusal(str(self), answer["raised"], f"it returned {answer['scores'].describe()}")
            return
        got = answer["scores"].named(str(self)).present().array(self.dtype, (len(self.queries),)).astype(float)
        try:
            with np.errstate(all="ignore"):
                require_close(str(self), got, self._scores(self.queries, self.keys), ROPE, self._mistakes())
        except WrongAnswer as wrong:
            if "Likely cause" in wrong.message or self._turns(answer["turned"]):
                raise
            raise WrongAnswer(f"{wrong.message}\nLikely cause: precompute_rotary_emb or apply_rotary_emb of your attention.py is "
                              "not right. Look at question 1h first: python src/grader.py 1h.") from None
        if not answer["unchanged"].flag():
            raise WrongAnswer(f"{self} changes its arguments. Work on copies.")
        distances = np.subtract(self.queries, self.keys)
        for distance in set(distances.tolist()):
            same = got[distances == distance]
            if (spread := np.ptp(same)) > ROPE:
                raise WrongAnswer(f"{self}: the scores at distance {distance} differ by {spread:.1g}; {ROPE:g} is allowed.")

    def _rotated(self, x, positions, sign=1):
        table = sign * angles(len(x), max(positions) + 1)[positions]
        return rotate(np.broadcast_to(x.astype(float), (len(positions), len(x))), table)

    def _scores(self, queries, keys, q=None, signs=(1, 1)):
        q = self.q if q is None else q
        return (self._rotated(q, queries, signs[0]) * self._rotated(self.k, keys, signs[1])).sum(axis=1)

    def _mistakes(self):
        P, nowhere, first = len(self.queries), [0] * len(self.queries), list(range(len(self.queries)))
        right = self._scores(self.queries, self.keys)
        halves = np.r_[0:len(self.q):2, 1:len(self.q):2].argsort()         # what rotating halves does to pairs
        other = Case(self.q[halves], self.k[halves], self.queries, self.keys)
        return [
            ("the scores are scaled; here they should not be.", lambda: right / np.sqrt(len(self.q))),
            ("the key is not rotated.", lambda: self._scores(self.queries, nowhere)),
            ("the query is not rotated.", lambda: self._scores(nowhere, self.keys)),
            ("neither is rotated.", lambda: self._scores(nowhere, nowhere)),
            ("both are rotated to the query's position.", lambda: self._scores(self.queries, self.queries)),
            ("query and key positions have changed places.", lambda: self._scores(self.keys, self.queries)),
            ("entry j is rotated to position j. apply_rotary_emb takes row t of the table for row t of x: give it the rows of "
             "the positions, table[query_positions].", lambda: self._scores(first, first)),
            ("the query of entry j is rotated to position j, not to query_positions[j].", lambda: self._scores(first, self.keys)),
            ("the key of entry j is rotated to position j, not to key_positions[j].", lambda: self._scores(self.queries, first)),
            ("the query is turned one way and the key the other, so that the sum of their positions counts.",
             lambda: self._scores(self.queries, self.keys, signs=(1, -1))),
            ("both are turned the wrong way.", lambda: self._scores(self.queries, self.keys, signs=(-1, -1))),
            ("positions begin at 1 for one of the two.", lambda: self._scores([p + 1 for p in self.queries], self.keys)),
            ("the key is used in the query's place.", lambda: self._scores(self.queries, self.keys, q=self.k)),
            ("all entries have the score of the first.", lambda: np.full(P, right[0])),
            ("the pairs are taken from the two halves of the vectors; they should be neighbors.",
             lambda: other._scores(self.queries, self.keys)),
        ]

    def _turns(self, answer):
        """Whether the submission's own rotation is right, as far as can be told."""
        if answer.value is None:
            return True
        right = self._rotated(self.q, list(range(9)))[None, None]
        try:
            require_close("x", answer.array(self.dtype, right.shape).astype(float), right, 1e-3)
        except WrongAnswer:
            return False
        return True


def require_scores(student, cases: list[Case]) -> None:
    """Run all cases and judge them.

    Raises:
        Failed: the first that is wrong; names the likely cause.
    """
    for case, answer in zip(cases, student.run(score, cases=[case.inputs for case in cases]).items(len(cases))):
        case.judge(answer)
