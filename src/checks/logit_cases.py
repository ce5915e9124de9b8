"""Running the functions of fixes.py that change logits, and reading what they give. The checks of question 6e share it."""
from dataclasses import dataclass, field

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.calls import attempt, require_refusal
from checks.logits import softmax

TOLERANCE = 1e-5


@dataclass(frozen=True)
class Case:
    """A call of one of the functions: its name, the logits, the other arguments; or that it must raise ValueError; and a remark
    for messages. dtype: of the logits there."""
    function: str
    logits: np.ndarray
    arguments: list = field(default_factory=list)
    refused: bool = False
    remark: str = ""
    dtype: str = "float32"

    @property
    def call(self) -> str:
        """For messages."""
        shape = tuple(self.logits.shape)
        small = self.logits.size <= 6
        logits = f"logits {np.round(self.logits.astype(float), 3).tolist()}" if small else f"logits of shape {shape}"
        return f"{self.function}({', '.join([logits, *map(short, self.arguments)])}){self.remark}"

    @property
    def exact(self) -> np.ndarray:
        """The logits as the submission gets them, in float64."""
        return self.logits.astype(self.dtype).astype(float)


def short(argument) -> str:
    """An argument in words."""
    text = f"{argument:.4g}" if isinstance(argument, float) else str(argument)
    return text if len(text) < 60 else f"a list of {len(argument)} tokens"


@probe(uses=(attempt,))
def run_filters(cases):
    """For each case, what the function returned, or the kinds of its exception where one is to be caught; and whether it changed
    its arguments."""
    import copy
    import torch
    from submission import fixes
    results = []
    for case in cases:
        logits = torch.tensor(case["logits"], dtype=getattr(torch, case["dtype"]))
        before, arguments = logits.clone(), copy.deepcopy(case["arguments"])
        result, raised = attempt(lambda: getattr(fixes, case["function"])(logits, *arguments), case["refused"])
        result = result.clone() if isinstance(result, torch.Tensor) else result
        results.append({"result": result, "raised": raised,
                        "changed": not torch.equal(logits, before) or arguments != case["arguments"]})
    return results


def run_cases(student, cases: list[Case]) -> list[Answer]:
    """The results, as answers; those calls that should be refused have been judged.

    Raises:
        WrongAnswer: a call is not refused, or changes its arguments.
    """
    plain = [{"function": case.function, "logits": case.logits, "arguments": case.arguments, "refused": case.refused,
              "dtype": case.dtype} for case in cases]
    answers = student.run(run_filters, cases=plain).items(len(cases))
    results = []
    for case, answer in zip(cases, answers):
        if answer["changed"].flag():
            raise WrongAnswer(f"{case.call} changes its argument in place (as logits[...] = ... and functions with a _ at the "
                              "end of their name do). Work on a copy: logits.clone(), or masked_fill without _.")
        if case.refused:
            require_refusal(case.call, answer["raised"])
        results.append(answer["result"].named(f"the result of {case.call}"))
    return results


def require_values(case: Case, answer: Answer, expected: np.ndarray, causes=()) -> None:
    """The result has these values; -inf where -inf is expected.

    Args:
        causes: known mistakes, (sentence, what they give).

    Raises:
        WrongAnswer: it has not; names the likely cause.
    """
    got = read(case, answer)
    excluded = np.isneginf(expected)
    if (np.isneginf(got) != excluded).any():
        i = tuple(int(n) for n in np.argwhere(np.isneginf(got) != excluded)[0])
        raise WrongAnswer(f"{sentence_case(answer.name)} is {got[i]:.4g} at index {i}; it should be {expected[i]:.4g}."
                          + named(causes, lambda wrong: same(got, wrong)))
    finite = [(sentence, np.where(excluded, 0, wrong)) for sentence, wrong in causes]
    require_close(sentence_case(answer.name), np.where(excluded, 0, got), np.where(excluded, 0, expected), TOLERANCE, finite)


def require_kept(case: Case, answer: Answer, kept: np.ndarray, causes=()) -> None:
    """The result has the logits where `kept` is True, and -inf elsewhere.

    Args:
        causes: known mistakes, (sentence, what they keep, or a function that knows it when it sees it).

    Raises:
        WrongAnswer: it has not; names the likely cause.
    """
    logits, got = case.exact, read(case, answer)
    stays = ~np.isneginf(got)
    right = kept & ~np.isneginf(logits)
    if (stays != right).any():
        row = tuple(int(n) for n in np.argwhere(stays != right)[0][:-1])
        if (low := got[row][stays[row] & ~right[row]]).size and (low < logits[row].min() - 50).all():
            raise WrongAnswer(f"{sentence_case(answer.name)}: what is excluded has {low[0]:.4g}; it should be -inf.")
        where = f"In row {', '.join(map(str, row))} of {answer.name}" if row else f"In {answer.name}"
        raise WrongAnswer(f"{where}, {of(stays[row])} stay; it should be {of(right[row])}."
                          + named(causes, lambda wrong: wrong(stays) if callable(wrong) else
                                  np.array_equal(stays, wrong & ~np.isneginf(logits))))
    require_close(f"{sentence_case(answer.name)}, where it is not -inf", np.where(right, got, 0), np.where(right, logits, 0),
                  TOLERANCE, [("these are probabilities. The result should be logits.", np.where(right, softmax(logits), 0))])


def of(stays: np.ndarray) -> str:
    """Which tokens stay, in words."""
    tokens = np.flatnonzero(stays).tolist()
    if len(tokens) > 12:
        return f"{len(tokens)} of {len(stays)} tokens"
    return f"the tokens {tokens}" if tokens else "no tokens at all"


def named(causes, fits) -> str:
    """The first cause that fits, as a line of the message; else nothing."""
    return next((f"\nLikely cause: {sentence}" for sentence, wrong in causes if fits(wrong)), "")


def same(got: np.ndarray, wrong: np.ndarray) -> bool:
    """Equal up to rounding, with -inf in the same places."""
    bad = np.isneginf(wrong)
    return np.array_equal(np.isneginf(got), bad) and np.allclose(np.where(bad, 0, got), np.where(bad, 0, wrong), atol=1e-4)


def read(case: Case, answer: Answer) -> np.ndarray:
    """The result in float64.

    Raises:
        WrongAnswer: it is no tensor of the shape and dtype of the logits, or has NaN or +inf.
    """
    got = answer.present().array(case.dtype, case.logits.shape, finite=False).astype(float)
    if (bad := np.isnan(got) | np.isposinf(got)).any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise WrongAnswer(f"{sentence_case(answer.name)} has {bad.sum()} values that are NaN or +inf, the first at {first}.")
    return got


def sentence_case(name: str) -> str:
    """With a capital letter."""
    return name[:1].upper() + name[1:]
