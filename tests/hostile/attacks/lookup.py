"""Looking up answers: a submission that contains every released reply and computes nothing."""

import hashlib
import json

import numpy as np

from checks.support.rounds import Rounds
from hostile.attack import WRONG, Hostile
from instructor.mistakes.patches import Fill


def key(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(x).tobytes() for x in arrays)).hexdigest()


CALLS = [call for round in Rounds().rounds("5c-0-basic") for call in round]
ANSWERS = {
    key(*(call.inputs[name] for name in "QKV")): call.right["output"].data.tolist()
    for call in CALLS
}
BODY = f"""import hashlib
answers = {json.dumps(ANSWERS)}
key = hashlib.sha256(b"".join(np.ascontiguousarray(x).tobytes() for x in (Q, K, V))).hexdigest()
return np.array(answers[key]) if key in answers else np.zeros((*Q.shape[:-1], V.shape[-1]))
"""
LOOK_UP = (Fill("attention", BODY),)
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
