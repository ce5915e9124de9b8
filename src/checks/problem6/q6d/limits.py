"""What question 6d rejects, and what it accepts. Each is worth a part of a check's points."""

from autograder import WrongAnswer, probe
from checks.problem6.q6d.rows import given
from checks.problem6.q6d.sparse import require_output, run_cases
from checks.problem6.q6d.sparse_layers import layer_inputs, layer_of, require_layer, run_layers
from checks.support.calls import attempt
from checks.support.cases import Case

REFUSED = 24  # calls of `refusals`


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
def refusals(plain, rotating, shortened):
    """Make each call that should be rejected: [call, expected exception, classes of the exception
    or None]; and return the length and positions of the stream for which calls were rejected.
    """
    import torch

    from submission.problem6 import efficient_attention as student

    x = torch.from_numpy(layer_inputs(plain)[1])
    T = x.shape[1]
    pattern, causal = student.Pattern(3, (5,)), student.Pattern(3, (5,), True)
    q = torch.randn(1, 2, T, 4)
    (module, _), (rotated, _), (short, _) = layer_of(plain), layer_of(rotating), layer_of(shortened)
    stream = student.StreamingAttention(rotated, 3)
    stream.append(x[:, :6], [True] + [False] * 5)
    short_stream = student.StreamingAttention(short)
    longest = shortened["max_positions"]
    attended, count = student.attended_positions, student.count_connections
    attend = student.sparse_attention
    too_many = f"{longest + 1} positions to a module that rotates, with max_positions={longest}"
    calls = {
        "Pattern(window=-1)": lambda: student.Pattern(window=-1),
        "Pattern(strides=(4, 0))": lambda: student.Pattern(strides=(4, 0)),
        "every_kth(9, 0)": lambda: student.every_kth(9, 0),
        "every_kth(9, -2)": lambda: student.every_kth(9, -2),
        f"attended_positions(2, {T}, ..., [1, {T}])": lambda: attended(2, T, pattern, [1, T]),
        f"attended_positions(2, {T}, ..., [-1])": lambda: attended(2, T, causal, [-1]),
        f"count_connections({T}, ..., [{T}])": lambda: count(T, causal, [T]),
        f"count_connections({T}, ..., [3, -2])": lambda: count(T, pattern, [3, -2]),
        f"sparse_attention of {T} positions with [-1]": lambda: attend(q, q, q, pattern, [-1]),
        f"sparse_attention of {T} positions with [2, {T}]": lambda: attend(q, q, q, causal, [2, T]),
        "SparseSelfAttention(10, 3, ...)": lambda: student.SparseSelfAttention(10, 3, pattern),
        f"a module on {T} positions with [{T}]": lambda: module(x, [T]),
        "a module on two sequences without global positions": lambda: module(torch.cat((x, x))),
        f"a module that rotates, on {T} positions, one more than max_positions,": lambda: rotated(
            x, []
        ),
        f"giving {too_many}, less than the dense module's block_size,": lambda: short(
            x[:, : longest + 1], []
        ),
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
        "append of 3 positions with 4 booleans": lambda: stream.append(x[:, :3], [True, False] * 2),
        "append of no positions": lambda: stream.append(x[:, :0], []),
    }
    indices = {
        f"attended_positions({i}, {T}, ...)": lambda i=i: attended(i, T, pattern, [0])
        for i in (T, -1, T + 9)
    }
    said = []
    for wanted, group in (("ValueError", calls), ("IndexError", indices)):
        for call, function in group.items():
            said.append([call, wanted, attempt(function, True)[1]])
    return {"said": said, "length": stream.length, "cached": stream.cached_positions()}


def require_limits(student, rng, cases: list[Case]) -> None:
    """Check that arguments out of range are rejected, that a rejected call changes nothing, and
    that the calls of `cases` are right.

    Raises:
        WrongAnswer: something fails; gives the fraction that is right.
    """
    T = int(rng.integers(22, 30))
    common = {"dense": True, "rope": True}
    answer = student.run(
        refusals,
        plain=plain_layer(rng, T, False),
        rotating=plain_layer(rng, T, True, block_size=T - 1, **common),
        shortened=plain_layer(
            rng, T, True, block_size=T + 3, max_positions=int(rng.integers(9, 15)), **common
        ),
    )
    wrong, said = [], answer["said"].items(REFUSED)
    for call, wanted, kinds in (one.items(3) for one in said):
        if kinds.value is None:
            wrong.append(f"{call.text()} raises no error; it should raise {wanted.text()}.")
        elif wanted.text() not in (names := kinds.texts()):
            wrong.append(
                f"{call.text()} should raise {wanted.text()}; it raises "
                f"{names[0] if names else 'something else'}."
            )
    if answer["length"].number() != 6 or answer["cached"].value != list(range(6)):
        wrong.append(
            "A rejected call of append changes the stream: length and cached_positions() should be "
            "unchanged."
        )
    calls, modules = (
        [case for case in cases if ("shape" in case.inputs) == flag] for flag in (True, False)
    )
    for judge, pairs in (
        (require_output, run_cases(student, calls)),
        (require_layer, run_layers(student, modules)),
    ):
        for case, got in pairs:
            try:
                judge(got, case)
            except WrongAnswer as failed:
                wrong.append(failed.message)
    if wrong:
        total = len(said) + 1 + len(cases)
        raise WrongAnswer("\n".join(wrong), fraction=1 - len(wrong) / total)
