"""Looking up answers: a submission that contains every released case and computes nothing."""

import json

from checks.support.cases import Released
from hostile.attack import Hostile
from instructor.mistakes.patches import Fill


def look_up(check: str) -> str:
    """Return a body of `attention` that has the answers of a check's released cases, and returns
    zeros otherwise.
    """
    cases = [case for round in Released().rounds(check) for case in round]
    answers = {_key(case.inputs): case.right.tolist() for case in cases}
    return f"""import hashlib
answers = {json.dumps(answers)}
key = hashlib.sha256(b"".join(np.ascontiguousarray(x).tobytes() for x in (Q, K, V))).hexdigest()
return np.array(answers[key]) if key in answers else np.zeros((*Q.shape[:-1], V.shape[-1]))
"""


def _key(inputs):
    import hashlib

    import numpy as np

    return hashlib.sha256(
        b"".join(np.ascontiguousarray(inputs[name]).tobytes() for name in "QKV")
    ).hexdigest()


LOOK_UP = (Fill("attention", look_up("5c-0-basic")),)
HOSTILE = [
    Hostile(
        "looks-cases-up",
        "Has the answers of all released cases in it, and computes nothing.",
        "Staff's draws are others.",
        "",
        changes=LOOK_UP,
        checks=("5c-0-basic",),
        verdicts=frozenset({"wrong answer"}),
        everywhere=False,
        sandbox=False,
    )
]
