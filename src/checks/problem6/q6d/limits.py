"""What the steps of question 6d reject, and what they accept: iterables that can be read once, and
float64. Each is worth a part of a check's points.
"""

import numpy as np

from autograder import Answer, Failed, WrongAnswer, probe
from checks.problem6.q6d.rows import given
from checks.problem6.q6d.sparse_layers import layer_inputs, layer_of, require_layer, run_layers
from checks.support.calls import attempt
from checks.support.cases import Case

REFUSED = {3: 5, 4: 6}  # calls of `refusals`, by step
ALIKE = {3: 3, 4: 1}  # calls that should give what others give


def plain_layer(rng, n: int, causal: bool, **more) -> dict:
    """Describe a module for probes, with an x of one sequence of n positions."""
    spec = {
        "n": n,
        "window": int(rng.integers(2, 5)),
        "strides": [int(rng.integers(5, 9))],
        "causal": causal,
        "chosen": [],
        "kind": "list",
    }
    return {
        "spec": spec,
        "B": 1,
        "n_embd": 8,
        "n_head": 2,
        "seed": int(rng.integers(2**31)),
        "dense": False,
        "block_size": None,
        "rope": False,
        "max_positions": None,
        "predict": False,
        "max_global": None,
        **more,
    }


@probe(uses=(attempt, given, layer_inputs, layer_of))
def refusals(step, plain, rotating, shortened):
    """Make each call of a step that should be rejected: [call, expected exception, classes of the
    exception or None]; and, of step 4, return the length and positions of the stream for which
    calls were rejected. "alike": [call, its result, the classes of an exception, what it should
    give].
    """
    import torch

    from submission.problem6 import efficient_attention as student

    x = torch.from_numpy(layer_inputs(plain)[1])
    T, longest, stream = x.shape[1], shortened["max_positions"], None
    pattern = student.Pattern(3, (5,))
    too_many = f"{longest + 1} positions to a module that rotates, with max_positions={longest}"
    alike = {}
    if step == 3:
        (module, _), (rotated, _), (short, _) = map(layer_of, (plain, rotating, shortened))
        double, cut = layer_of(plain)[0], student.Pattern(T, (), True)
        few = x[:, :longest].double()
        dense = layer_of({**shortened, "rope": False})[1].double()
        alike = {
            "a module with global positions from a generator": (
                lambda: module(x, (position for position in (4, 1))),
                lambda: module(x, [4, 1]),
            ),
            "a new module and an x in float64": (
                lambda: double.double()(x.double(), [4, 1]),
                lambda: module(x, [4, 1]).double(),
            ),
            "from_dense of a module in float64": (
                lambda: student.SparseSelfAttention.from_dense(dense, cut)(few, []),
                lambda: dense(few),
            ),
        }
        calls = {
            "SparseSelfAttention(10, 3, ...)": lambda: student.SparseSelfAttention(10, 3, pattern),
            f"a module on {T} positions with [{T}]": lambda: module(x, [T]),
            "a module on two sequences without global positions": lambda: module(torch.cat((x, x))),
            f"a module that rotates, on {T} positions, one more than max_positions,": lambda: (
                rotated(x, [])
            ),
            f"giving {too_many}, less than the dense module's block_size,": lambda: short(
                x[:, : longest + 1], []
            ),
        }
    else:
        (module, _), (rotated, _), (short, _) = map(layer_of, (plain, rotating, shortened))
        stream = student.StreamingAttention(rotated, 3)
        stream.append(x[:, :6], [True] + [False] * 5)
        short_stream = student.StreamingAttention(short)
        flags = [True] + [False] * 5
        alike["append with booleans from a generator"] = (
            lambda: student.StreamingAttention(rotated, 3).append(
                x[:, :6], (flag for flag in flags)
            ),
            lambda: student.StreamingAttention(rotated, 3).append(x[:, :6], flags),
        )
        calls = {
            f"appending {too_many}, less than the dense module's block_size,": lambda: (
                short_stream.append(x[:, : longest + 1])
            ),
            "StreamingAttention of a module whose pattern is not causal": lambda: (
                student.StreamingAttention(module)
            ),
            "append of more positions than max_positions, to a stream that rotates,": lambda: (
                stream.append(x)
            ),
            "append of 3 positions with 2 booleans": lambda: stream.append(x[:, :3], [True, False]),
            "append of 3 positions with 4 booleans": lambda: stream.append(
                x[:, :3], [True, False] * 2
            ),
            "append of no positions": lambda: stream.append(x[:, :0], []),
        }
    alike = [
        [call, *attempt(function, True), attempt(wanted, True)[0]]
        for call, (function, wanted) in alike.items()
    ]
    said = []
    for call, function in calls.items():
        said.append([call, "ValueError", attempt(function, True)[1]])
    left = {"length": stream.length, "cached": stream.cached_positions()} if stream else {}
    return {"said": said, "alike": alike, **left}


def unlike(answer: Answer, count: int) -> list[str]:
    """Describe which of `count` calls, [call, result, exception, what it should give], did not give
    that.
    """
    wrong = []
    for call, got, kinds, wanted in (item.items(4) for item in answer.items(count)):
        name = call.text()
        if kinds.value is not None:
            wrong.append(f"{name} raises {(kinds.texts() or ['something'])[0]}; it should not.")
            continue
        try:
            if isinstance(wanted.value, list):
                same = got.value == wanted.value
            else:
                right = wanted.named(name).array()
                same = np.allclose(
                    got.named(name).array(str(right.dtype), right.shape), right, 0, 1e-4
                )
            if not same:
                wrong.append(f"{name} does not give what it should.")
        except Failed as failed:
            wrong.append(failed.message)
    return wrong


def require_limits(student, rng, step: int, cases: list[Case] = ()) -> None:
    """Check that a step's arguments out of range are rejected, that a rejected call changes
    nothing, and that the calls of `cases` are right.

    Raises:
        WrongAnswer: something fails; gives the fraction that is right.
    """
    T = int(rng.integers(22, 30))
    common = {"dense": True, "rope": True}
    answer = student.run(
        refusals,
        step=step,
        plain=plain_layer(rng, T, False),
        rotating=plain_layer(rng, T, True, block_size=T - 1, **common),
        shortened=plain_layer(
            rng, T, True, block_size=T + 3, max_positions=int(rng.integers(9, 15)), **common
        ),
    )
    said, wrong = answer["said"].items(REFUSED[step]), unlike(answer["alike"], ALIKE[step])
    for call, wanted, kinds in (one.items(3) for one in said):
        if kinds.value is None:
            wrong.append(f"{call.text()} raises no error; it should raise {wanted.text()}.")
        elif wanted.text() not in (names := kinds.texts()):
            wrong.append(
                f"{call.text()} should raise {wanted.text()}; it raises "
                f"{names[0] if names else 'something else'}."
            )
    if step == 4 and (answer["length"].number() != 6 or answer["cached"].value != list(range(6))):
        wrong.append(
            "A rejected call of append changes the stream: length and cached_positions() should be "
            "unchanged."
        )
    for case, got in run_layers(student, cases) if cases else ():
        try:
            require_layer(got, case)
        except WrongAnswer as failed:
            wrong.append(failed.message)
    if wrong:
        total = len(said) + ALIKE[step] + (step == 4) + len(cases)
        raise WrongAnswer("\n".join(wrong), fraction=1 - len(wrong) / total)
