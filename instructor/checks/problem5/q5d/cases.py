"""Cases of question 5d: calls of MultiHeadAttention with their results."""

import numpy as np

from checks.support.cases import Case
from instructor.checks.makers import makes
from instructor.checks.problem5.encoder import attention_shapes, draw
from instructor.checks.problem5.q5d.mistakes import brief, floats, known_mistakes, short, solve
from instructor.checks.problem5.slopes import slopes


def draw_padding(rng, B: int, T: int) -> np.ndarray:
    """Draw padding anywhere: in each row somewhere, but not everywhere."""
    padding = rng.random((B, T)) < 0.4
    places = np.array([rng.choice(T, 2, replace=False) for _ in range(B)])
    padding[np.arange(B), places[:, 0]], padding[np.arange(B), places[:, 1]] = True, False
    return padding


def heads_case(
    rng,
    B: int,
    T: int,
    n_head: int,
    head_dim: int,
    mistakes: str = "all",
    scale: float = 0.3,
    **more,
) -> Case:
    """Make a case of MultiHeadAttention with random weights, of standard deviation `scale`, and a
    random x.

    Args:
        mistakes: which known mistakes to include: "all", "masks" or "none".
        more: replaces any of the inputs. With an `upstream`, the case has slopes of sum(output *
            upstream).
    """
    C = n_head * head_dim
    inputs = {
        "n_embd": C,
        "n_head": n_head,
        "dropout": None,
        "dtype": "float32",
        "train": False,
        "pair": False,
    }
    inputs |= {
        "upstream": None,
        "padding": None,
        "repeat": 1,
        "weights": draw(rng, attention_shapes(C), scale),
    }
    inputs |= {"x": rng.standard_normal((B, T, C)).astype(np.float32), **more}
    right = solve(inputs)
    about = {}
    if inputs["upstream"] is not None:
        given = {"x": inputs["x"].astype(float), **floats(inputs["weights"])}

        def number(given):
            return (
                solve({**inputs, "x": given["x"], "weights": given})["y"] * inputs["upstream"]
            ).sum()

        about["slopes"] = slopes(given, number, rng)
    if not inputs["pair"]:
        del right["weights"]
    return Case(inputs, short(right), known_mistakes(inputs, right, mistakes), about)


# All dimensions differ, so that none can be confused with another, and none is another's square
# root.
SIZE = {"T": 5, "n_head": 3, "head_dim": 2}


@makes("5d-1-basic")
def plain(rng):
    """The output alone, without a mask."""
    return [
        heads_case(rng, 2, **SIZE),
        heads_case(rng, 4, T=7, n_head=2, head_dim=3, mistakes="none"),
        heads_case(rng, 3, T=4, n_head=1, head_dim=5, mistakes="none"),
    ]


@makes("5d-2-basic")
def padded(rng):
    """Padding anywhere in each row; and a mask that marks nothing."""
    more = {"mistakes": "none", "weights": draw(rng, attention_shapes(6))}
    return [
        heads_case(rng, 2, **SIZE, padding=draw_padding(rng, 2, 5)),
        heads_case(rng, 4, **SIZE, padding=draw_padding(rng, 4, 5), **more),
        heads_case(rng, 2, **SIZE, padding=np.zeros((2, 5), bool), **more),
    ]


@makes("5d-3-basic")
def weighted(rng):
    """The pair of output and weights, with and without padding."""
    return [
        heads_case(rng, 2, **SIZE, pair=True),
        heads_case(rng, 2, **SIZE, padding=draw_padding(rng, 2, 5), pair=True, mistakes="masks"),
        heads_case(rng, 3, 4, 2, 3, padding=draw_padding(rng, 3, 4), pair=True, mistakes="none"),
    ]


@makes("5d-7-basic")
def formats(rng):
    """Sizes from one up; float64; gradients, with and without padding."""
    more = {"pair": True, "mistakes": "none"}
    double = {**more, "dtype": "float64", "upstream": rng.standard_normal((2, 4, 6))}
    return [
        heads_case(rng, 1, 1, 1, 1, mistakes="none"),
        heads_case(rng, 1, 6, 3, 1, **more),
        heads_case(rng, 3, 1, 2, 3, **more),
        heads_case(rng, 3, 2, 1, 4, padding=draw_padding(rng, 3, 2), **more),
        heads_case(rng, 2, 4, 3, 2, **double),
        heads_case(rng, 2, 4, 3, 2, padding=draw_padding(rng, 2, 4), **double),
    ]


def empty_case(rng, B: int, T: int, n_head: int, head_dim: int, **more) -> Case:
    """Make a case in which half of the rows are only padding, one has none, and the others some."""
    padding = draw_padding(rng, B, T)
    full, *empty = rng.permutation(B)[: (B + 1) // 2]
    padding[full], padding[empty] = False, True
    case = heads_case(
        rng, B, T, n_head, head_dim, padding=padding, pair=True, mistakes="none", **more
    )
    rows = padding.all(axis=1)
    known = [
        (
            "the weights are uniform, as from a softmax of equal scores.",
            {"padding": None},
            {"divisor": 1e9},
        ),
        ("the weights are those without the mask.", {"padding": padding & ~rows[:, None]}, {}),
    ]
    wrong = []
    for sentence, inputs, mistake in known:
        parts = solve({**case.inputs, **inputs}, **mistake)
        parts["weights"] = np.where(
            rows[:, None, None, None], parts["weights"], case.right["weights"]
        )
        wrong.append((f"in rows of only padding, {sentence}", brief(parts, case.right)))
    zero = {"y": np.where(rows[:, None, None], 0.0, case.right["y"])}
    sentence = "in rows of only padding, the output is 0; it should be the bias of proj."
    wrong.append((sentence, brief(zero, case.right)))
    return Case(case.inputs, case.right, wrong, case.about)


def low_case(rng, B: int, T: int, n_head: int, head_dim: int) -> Case:
    """Make a case with padding in which all scores are near -200, so that -100 hides nothing.

    In float64: in float32, such scores have too few digits.
    """
    shapes = attention_shapes(n_head * head_dim)
    weights = draw(rng, shapes, 0.1)
    size = np.sqrt(200 / np.sqrt(head_dim))  # q k is about -head_dim size ** 2
    weights["qkv.bias"] += np.repeat([size, -size, 0], n_head * head_dim).astype(np.float32)
    more = {
        "padding": draw_padding(rng, B, T),
        "dtype": "float64",
        "pair": True,
        "weights": weights,
    }
    return heads_case(rng, B, T, n_head, head_dim, mistakes="masks", **more)


@makes("5d-8-basic")
def rare(rng):
    """Rows of only padding, with gradients; scores below -100."""
    B, T, n_head, head_dim = 3, 4, 2, 3
    upstream = rng.standard_normal((B, T, n_head * head_dim))
    return [
        empty_case(rng, B, T, n_head, head_dim),
        empty_case(rng, B, T, n_head, head_dim, dtype="float64", upstream=upstream),
        low_case(rng, 2, **SIZE),
    ]


def dropout_cases(rng, repeat: int, T: int, n_head: int, head_dim: int) -> list[Case]:
    """Make four cases with dropout: in evaluation; in training with a rate of 0, and with the
    default; in training.

    In the last, x is repeated, since dropping is random; about["values"] are the averaged values,
    (n_head, T, head_dim): from these and the output, the weights used can be computed, if T <
    head_dim.
    """
    p = float(rng.choice([0.2, 0.3, 0.4]))
    more = {"pair": True, "dtype": "float64", "mistakes": "none"}
    # Scores are small, so that no weight is nearly 0 and taken for a dropped one.
    C = n_head * head_dim
    more["weights"] = draw(rng, attention_shapes(C), 0.85 / np.sqrt(C))
    cases = [
        heads_case(rng, 2, T, n_head, head_dim, dropout=rate, train=train, **more)
        for rate, train in ((p, False), (0.0, True), (None, True))
    ]
    case = heads_case(rng, 1, T, n_head, head_dim, dropout=p, train=True, repeat=repeat, **more)
    weights = floats(more["weights"])
    values = case.inputs["x"][0] @ weights["qkv.weight"][2 * C :].T + weights["qkv.bias"][2 * C :]
    about = {"values": values.reshape(T, n_head, head_dim).swapaxes(0, 1)}
    return [*cases, Case(case.inputs, case.right, case.wrong, about)]


@makes("5d-9-basic")
def dropping(rng):
    """See `dropout_cases`; 2,880 weights."""
    return dropout_cases(rng, 160, 3, 2, 4)
