"""Wrong numbers by hand (question 5a)."""
import json
import math

import numpy as np

from instructor.mistakes.patches import Text, misconception, slip
from instructor.release.starter import SOLUTION

GIVEN = json.loads((SOLUTION / "problem5" / "hand_attention.json").read_text(encoding="utf-8"))
Q, K, V = (np.array(GIVEN[name], float) for name in "QKV")


def softmax(scores: np.ndarray, axis: int | None = 1) -> np.ndarray:
    """Weights of small scores."""
    return np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=True)


def by_hand(**matrices) -> tuple[Text]:
    """The right file with some of its entries replaced: arrays, or whatever JSON can hold."""
    plain = {name: value.round(4).tolist() if isinstance(value, np.ndarray) else value for name,
             value in matrices.items()}
    return (Text("hand_attention.json", json.dumps({**GIVEN, **plain})),)


def follow(scaled: np.ndarray, axis: int = 1) -> tuple[Text]:
    """All that follows from wrong scaled scores, or from a softmax over another axis."""
    weights = softmax(scaled, axis)
    return by_hand(scaled_scores=scaled, weights=weights, output=weights @ V)


S = Q @ K.T
BOTH = "5a-0-basic", "5a-1-hidden"
MISTAKES = [
    misconception("hand-not-scaled", "The scores are not scaled.", follow(S), BOTH),
    misconception("hand-scaled-by-d-k", "The scores are divided by d_k.", follow(S / 4), BOTH),
    misconception("hand-three-roots", "The scores are divided by the root of the example's d_k.",
          follow(S / math.sqrt(3)), BOTH),
    misconception("hand-softmax-columns",
          "The softmax goes over columns.", follow(S / 2, axis=0), BOTH),
    misconception("hand-exponentials", "The exponentials are not divided by their sum.",
          by_hand(weights=np.exp(S / 2)), BOTH),
    misconception("hand-scores-times-v",
          "The output is the scores times V.", by_hand(output=S @ V), BOTH),
    slip("hand-two-decimals", "The weights are rounded to two decimals.",
         by_hand(weights=softmax(S / 2).round(2)), BOTH),
    slip("hand-mistakes-that-cancel",
         "Four scores are wrong, and all rows and columns have the right sums.",
         by_hand(scores=S + [[1, -1, 0], [-1, 1, 0]]), BOTH),
    slip("hand-nonsense-that-fits",
         "Each matrix follows from the one before it, and the first is made up.",
         by_hand(scores=0 * S, scaled_scores=0 * S, weights=softmax(0 * S),
                 output=softmax(0 * S) @ V), BOTH),
    slip("hand-other-inputs", "The queries were changed, and all that follows with them.",
         by_hand(Q=-Q, scores=-S, scaled_scores=-S / 2, weights=softmax(-S / 2),
                 output=softmax(-S / 2) @ V), BOTH),
    slip("hand-huge", "An entry has a thousand digits.", by_hand(scores=[[10 ** 1000] * 3] * 2),
         BOTH),
    slip("hand-fractions", "Fractions make the file no JSON.",
         (Text("hand_attention.json", json.dumps(GIVEN).replace("-1.5", "-3/2")),), BOTH),
]
