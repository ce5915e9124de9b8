"""Runs the functions of fixes.py that change logits and judges their results."""

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.problem6.q6e.runs import run_cases
from checks.support.calls import attempt, require_refusal, sentence_case
from checks.support.cases import Case

TOLERANCE = 1e-5


def words(argument) -> str:
    """Describe an argument."""
    text = f"{argument:.4g}" if isinstance(argument, float) else str(argument)
    return text if len(text) < 60 else f"a list of {len(argument)} tokens"


def call_of(case: Case) -> str:
    """Describe the call, for messages."""
    logits = case.inputs["logits"]
    small = logits.size <= 6
    first = f"logits {np.round(logits.astype(float), 3).tolist()}"
    first = first if small else f"logits of shape {logits.shape}"
    given = ", ".join([first, *map(words, case.inputs["arguments"])])
    return f"{case.inputs['function']}({given}){case.about['remark']}"


@probe(uses=(attempt,))
def run_filters(calls):
    """Run each case: the function's result, or the classes of its exception if one is to be caught;
    and whether it changed its arguments.
    """
    import copy

    import torch

    from submission.problem6 import fixes

    results = []
    for case in calls:
        logits = torch.tensor(case["logits"], dtype=getattr(torch, case["dtype"]))
        before, arguments = logits.clone(), copy.deepcopy(case["arguments"])
        result, raised = attempt(
            lambda: getattr(fixes, case["function"])(logits, *arguments), case["refused"]
        )
        result = result.clone() if isinstance(result, torch.Tensor) else result
        results.append(
            {
                "result": result,
                "raised": raised,
                "changed": not torch.equal(logits, before) or arguments != case["arguments"],
            }
        )
    return results


def judge_filters(student, cases: list[Case]) -> None:
    """Judge the calls. `right` of a case has "kept", True where a logit stays, or the "values" of
    all; or is None if ValueError should be raised.

    Raises:
        WrongAnswer: one is wrong; names the likely cause.
    """
    for case, answer in zip(cases, run_cases(student, run_filters, cases, call_of)):
        call = call_of(case)
        if answer["changed"].flag():
            raise WrongAnswer(
                f"{call} changes its argument in place (as logits[...] = ... and functions whose "
                "name ends with _ do). Work on a copy: logits.clone(), or masked_fill without _."
            )
        if case.right is None:
            require_refusal(call, answer["raised"])
        elif "kept" in case.right:
            _require_kept(case, answer["result"].named(f"the result of {call}"))
        else:
            _require_values(case, answer["result"].named(f"the result of {call}"))


def _require_values(case, answer):
    got, name = _read(case, answer), sentence_case(answer.name)
    if (gone := np.isneginf(got)).any():
        i = tuple(int(n) for n in np.argwhere(gone)[0])
        raise WrongAnswer(
            f"{name} is -inf at index {i}; it should be {case.right['values'][i]:.4g}."
        )
    case.require(name, got, TOLERANCE, "values")


def _require_kept(case, answer):
    logits = case.inputs["logits"].astype(case.inputs["dtype"]).astype(float)
    got, right = _read(case, answer), case.right["kept"]
    stays = ~np.isneginf(got)
    if (stays != right).any():
        row = tuple(int(n) for n in np.argwhere(stays != right)[0][:-1])
        low = got[row][stays[row] & ~right[row]]
        if low.size and (low < logits[row].min() - 50).all():
            raise WrongAnswer(
                f"{sentence_case(answer.name)}: an excluded token has {low[0]:.4g}; it should have "
                "-inf."
            )
        where = f"In row {', '.join(map(str, row))} of " if row else "In "
        raise WrongAnswer(
            f"{where}{answer.name}, {_tokens(stays[row])} are kept; it should be "
            f"{_tokens(right[row])}.{_cause(case, stays)}"
        )
    require_close(
        f"{sentence_case(answer.name)}, where it is not -inf",
        np.where(right, got, 0),
        np.where(right, logits, 0),
        TOLERANCE,
    )


def _cause(case, stays):
    """Return the first known mistake that keeps these tokens, as a line of the message; else ""."""
    right, function = case.right["kept"], case.inputs["function"]
    argument = case.inputs["arguments"][-1]
    found = [sentence for sentence, wrong in case.wrong if np.array_equal(stays, wrong["kept"])]
    fewer = (stays <= right).all()
    if function == "top_k_filter" and fewer and (stays.sum(axis=-1) == argument).all():
        found.insert(
            0,
            "of the logits equal to the k-th largest, only some are kept. Keep all: compare with "
            "the k-th largest value.",
        )
    if function == "top_p_filter" and argument == 1 and stays.sum() > 1 and not found:
        found = ["rounding: the earlier tokens already sum to 1. p = 1 keeps all tokens."]
    return f"\nLikely cause: {found[0]}" if found else ""


def _tokens(stays):
    """Describe which tokens stay."""
    tokens = np.flatnonzero(stays).tolist()
    if len(tokens) > 12:
        return f"{len(tokens)} of {len(stays)} tokens"
    return f"the tokens {tokens}" if tokens else "no tokens at all"


def _read(case: Case, answer: Answer) -> np.ndarray:
    """Read the result as float64.

    Raises:
        WrongAnswer: it is not a tensor with the logits' shape and dtype, or has NaN, +inf or
            probabilities.
    """
    shape = case.inputs["logits"].shape
    got = answer.present().array(case.inputs["dtype"], shape, finite=False).astype(float)
    if (bad := np.isnan(got) | np.isposinf(got)).any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise WrongAnswer(
            f"{sentence_case(answer.name)} has {bad.sum()} values that are NaN or +inf, "
            f"the first at {first}."
        )
    if (got >= 0).all() and np.allclose(got.sum(axis=-1), 1, atol=1e-4):
        raise WrongAnswer(
            f"{sentence_case(answer.name)} has probabilities, each row with a sum of 1. "
            "It should be logits."
        )
    return got
