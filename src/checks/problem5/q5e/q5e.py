"""Question 5e, basic: positions, LayerNorm, layers, and the encoder's logits and gradients."""

from autograder import check
from checks.problem5.q5e.encoders import require_encoders, require_refusals
from checks.problem5.q5e.heads import run_each
from checks.problem5.q5e.layers import require_layers
from checks.problem5.q5e.norms import (
    describe_norm,
    normalize,
    require_norm,
    require_refusal,
    require_table,
    tables,
)


@check("5e-0-basic")
def test_positions(student, rng, cases):
    """Tables of several sizes; an odd number of features."""
    sizes = [[case.inputs["max_len"], case.inputs["n_embd"]] for case in cases]
    odd = [5, 2 * int(rng.integers(3, 7)) + 1]
    *answers, refused = student.run(tables, sizes=[*sizes, odd]).items(len(sizes) + 1)
    for case, answer in zip(cases, answers, strict=True):
        require_table(case, answer)
    require_refusal(refused, "sinusoidal_positions({}, {})".format(*odd), [])


def require_norms(student, cases: list) -> None:
    """Run and judge LayerNorm on all cases."""
    for case, answer in run_each(student, normalize, cases, describe_norm):
        require_norm(case, answer)


@check("5e-1-basic")
def test_norm(student, cases):
    """Ordinary vectors and vectors of tiny variance, where eps matters; any number of axes;
    gradients.
    """
    require_norms(student, cases)


@check("5e-2-basic")
def test_layer(student, cases):
    """Without padding (the default) and with it; dropout on each part's output."""
    require_layers(student, cases)


@check("5e-3-basic")
def test_encoder(student, cases):
    """The defaults, with PAD at the end; sentences shorter than max_len and of that length;
    gradients.
    """
    require_encoders(student, cases)


@check("5e-7-basic")
def test_post_norm(student, cases):
    """A layer as in 5e-2-basic, and an encoder of three layers."""
    require_layers(student, [case for case in cases if "x" in case.inputs])
    require_encoders(student, [case for case in cases if "idx" in case.inputs])


@check("5e-8-basic")
def test_poolings(student, cases):
    """Poolings, learned positions and none; dropout only in the layers."""
    require_encoders(student, cases)


@check("5e-9-basic")
def test_rare_norms(student, cases):
    """Vectors of equal entries, with gradients, and entries of thousands that differ by ones."""
    require_norms(student, cases)


@check("5e-10-basic")
def test_rare_tokens(student, cases):
    """PAD anywhere, also in front; a row of only PAD; inputs that are too long."""
    require_encoders(student, cases)
    require_refusals(student, cases[0].inputs["config"])
