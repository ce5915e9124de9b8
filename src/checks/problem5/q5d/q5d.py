"""Question 5d, basic: multi-head attention with and without padding; gradients, dropout, sizes."""

import re

from autograder import WrongAnswer, check, probe
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.gradients import require_slopes
from checks.problem5.q5d.dropout import require_dropout
from checks.problem5.q5d.heads import (
    require_output,
    require_parameters,
    require_weights,
    run_heads,
    shapes_of,
    split_answer,
)


def require_heads(student, cases: list) -> None:
    """Check output, weights and gradients, as far as the cases ask for them.

    Raises:
        Failed: the first that is wrong; names the likely cause.
    """
    for case, answer in run_heads(student, cases):
        y, weights = split_answer(case, answer)
        if weights is not None:
            require_weights(weights, case)
        require_output(y, case)
        if case.inputs["upstream"] is not None:
            shapes = {"x": case.inputs["x"].shape, **shapes_of(case)}
            require_slopes(answer["gradients"], case.about["slopes"], shapes, "MultiHeadAttention")


@check("5d-1-basic")
def test_output(student, cases):
    """The output alone, without a mask."""
    require_heads(student, cases)


@check("5d-2-basic")
def test_padding(student, cases):
    """Padding anywhere in each row; and a mask that marks nothing."""
    require_heads(student, cases)


@check("5d-3-basic")
def test_weights(student, cases):
    """The pair of output and weights, with and without padding."""
    require_heads(student, cases)


@check("5d-7-basic")
def test_formats_and_gradients(student, cases):
    """Sizes from one up; float64; gradients, with and without padding."""
    require_heads(student, cases)


@check("5d-8-basic")
def test_rare_rows(student, cases):
    """Rows of only padding, with gradients; scores below -100."""
    require_heads(student, cases)


@check("5d-9-basic")
def test_dropout(student, cases):
    """In evaluation, with a rate of 0, by default, and in training."""
    for case, answer in run_heads(student, cases):
        require_dropout(case, answer)


@probe(uses=(forbid_builtins,))
def construct(sizes):
    """Create MultiHeadAttention for each (n_embd, n_head): its parameters, or its error.

    An error is given as its type, whether it is a ValueError, and its text.
    """
    with forbid_builtins():
        from submission.problem5.encoder import MultiHeadAttention

        made = []
        for n_embd, n_head in sizes:
            try:
                made.append(dict(MultiHeadAttention(n_embd, n_head).named_parameters()))
            except NotImplementedError:
                raise
            except Exception as error:
                made.append([type(error).__name__, isinstance(error, ValueError), str(error)])
        return made


def require_refusals(student, sizes: list[tuple[int, int]]) -> None:
    """Check that unsuitable pairs of n_embd and n_head raise a ValueError whose text has both
    numbers.

    Raises:
        WrongAnswer: one is not.
    """
    answers = student.run(construct, sizes=[list(pair) for pair in sizes]).items(len(sizes))
    for (n_embd, n_head), answer in zip(sizes, answers, strict=True):
        call = f"MultiHeadAttention({n_embd}, {n_head})"
        if isinstance(answer.value, dict):
            raise WrongAnswer(f"{call} raises no error: {n_embd} is not a multiple of {n_head}.")
        kind, fits, text = answer.items(3)
        if not fits.flag():
            raise WrongAnswer(
                f"{call} raises {kind.text()}: {text.text()[:200]}. It should raise ValueError."
            )
        if not {str(n_embd), str(n_head)} <= set(re.findall(r"\d+", text.text())):
            said = text.text()[:200]
            raise WrongAnswer(
                f"The error of {call} should mention both numbers. It says: {said!r}."
            )


@check("5d-10-basic")
def test_constructor(student, rng):
    """Only the parameters of qkv and proj; sizes that do not fit."""
    n_head, head_dim = (int(n) for n in rng.permutation([2, 3, 5])[:2])
    n = n_head * head_dim
    shapes = {
        "qkv.weight": (3 * n, n),
        "qkv.bias": (3 * n,),
        "proj.weight": (n, n),
        "proj.bias": (n,),
    }
    made = student.run(construct, sizes=[[n, n_head]]).items(1)[0]
    call = f"MultiHeadAttention({n}, {n_head})"
    if isinstance(made.value, list):
        kind, _, text = made.items(3)
        raise WrongAnswer(
            f"{call} raises {kind.text()}: {text.text()[:200]}. {n} is a multiple of {n_head}."
        )
    require_parameters(made, shapes, call, exact=True)
    require_refusals(student, [(n + 1, n_head), (n_head, n), (8 * n + 1, 4)])
