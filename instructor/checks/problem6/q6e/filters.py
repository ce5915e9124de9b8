"""Cases of the functions that change logits, with known mistakes."""

import numpy as np

from checks.support.cases import Case
from instructor.checks.problem6.q6e.logit_mistakes import (
    ngram_mistakes,
    penalty_mistakes,
    top_k_mistakes,
    top_p_mistakes,
)
from instructor.checks.problem6.q6e.logits import penalized, top_k, top_p, unrepeated


def filter_case(
    function: str, logits: np.ndarray, *arguments, dtype: str = "float32", remark: str = ""
) -> Case:
    """Make a case of one of the functions.

    Args:
        logits: in any dtype; the function gets them in `dtype`.
        remark: on the inputs, for messages.
    """
    exact = logits.astype(dtype).astype(float)
    key, right, wrong = _solve(function, exact, arguments)
    return Case(
        _inputs(function, logits, arguments, dtype),
        {key: right},
        [(sentence, {key: value}) for sentence, value in wrong],
        {"remark": remark},
    )


def refused_case(function: str, logits: np.ndarray, *arguments) -> Case:
    """Make a case that must raise ValueError."""
    return Case(
        {**_inputs(function, logits, arguments, "float32"), "refused": True}, about={"remark": ""}
    )


def _inputs(function, logits, arguments, dtype):
    return {
        "function": function,
        "logits": logits,
        "arguments": list(arguments),
        "dtype": dtype,
        "refused": False,
    }


def _solve(function, logits, arguments):
    """Return ("values" or "kept", the right ones, the results of known mistakes)."""
    if function == "apply_temperature":
        return (
            "values",
            logits / arguments[0],
            [
                ("the logits are multiplied by the temperature. Divide.", logits * arguments[0]),
                ("the temperature is not used.", logits),
            ],
        )
    if function == "repetition_penalty":
        tokens, penalty = arguments if len(arguments) > 1 else (*arguments, 1.2)
        right = penalized(logits, tokens, penalty)
        return "values", right, penalty_mistakes(logits, tokens, penalty)
    if function == "no_repeat_ngrams":
        tokens, n = arguments
        return "kept", unrepeated(len(logits), tokens, n), ngram_mistakes(len(logits), tokens, n)
    kept, mistakes = {
        "top_k_filter": (top_k, top_k_mistakes),
        "top_p_filter": (top_p, top_p_mistakes),
    }[function]
    there = ~np.isneginf(logits)
    wrong = [(sentence, value & there) for sentence, value in mistakes(logits, *arguments)]
    return "kept", kept(logits, *arguments) & there, wrong
