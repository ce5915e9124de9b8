"""Looking up answers: a submission that contains every released reply and computes nothing."""

import hashlib
import json

import numpy as np

from checks.support.rounds import Rounds
from hostile.attack import WRONG, Hostile
from instructor.mistakes.patches import Fill


def look_up(check: str) -> str:
    """Return a body of `attention` that has the replies to a check's released calls, and returns
    zeros otherwise.
    """
    calls = [call for round in Rounds().rounds(check) for call in round]
    answers = {_key(call.inputs): call.right["output"].data.tolist() for call in calls}
    return f"""import hashlib
answers = {json.dumps(answers)}
key = hashlib.sha256(b"".join(np.ascontiguousarray(x).tobytes() for x in (Q, K, V))).hexdigest()
return np.array(answers[key]) if key in answers else np.zeros((*Q.shape[:-1], V.shape[-1]))
"""


def _key(inputs):
    arrays = (np.ascontiguousarray(inputs[name]) for name in "QKV")
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


LOOK_UP = (Fill("attention", look_up("5c-0-basic")),)
HOSTILE = [
    Hostile(
        "looks-cases-up",
        "Has the replies to all released calls in it, and computes nothing. Staff's draws differ.",
        changes=LOOK_UP,
        checks=("5c-0-basic",),
        verdicts={WRONG},
        everywhere=False,
        sandbox=False,
    )
]
