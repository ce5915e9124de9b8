"""Question 6a, basic: random sizes and the handout's; counts that no float can hold, and sizes that
must be rejected.
"""

from autograder import check
from checks.problem6.q6a.accounting import Call, account, refused
from checks.support.calls import require_right

# The sizes that each function takes by position, in their order.
SIZES = {
    "head_dim": "d_model n_head",
    "weight_shapes": "d_model n_head",
    "attention_parameters": "d_model",
    "layer_parameters": "d_model n_head d_ff",
    "model_parameters": "n_layer d_model n_head d_ff vocab_size block_size",
    "score_shape": "n_head seq_len",
    "score_count": "n_head seq_len",
    "multiply_adds": "d_model n_head d_ff seq_len",
    "flops": "d_model n_head d_ff seq_len",
    "model_flops": "n_layer d_model n_head d_ff vocab_size seq_len",
    "kv_cache_bytes": "n_layer d_model n_head seq_len",
}
OPTIONS = {  # invalid options of kv_cache_bytes(3, 48, 12, 7)
    "n_kv_head": (0, 5, 24, -3, True, 4.0),
    "batch": (0, -1, 2.5, True),
    "dtype": ("float64", "int4", ""),
}


@check("6a-0-basic")
def test_shapes(student, cases):
    """head_dim, weight_shapes, score_shape, score_count."""
    require_right(student, account, [Call(case) for case in cases])


@check("6a-1-basic")
def test_parameters(student, cases):
    """With and without biases, learned positions and tied embeddings."""
    require_right(student, account, [Call(case) for case in cases])


@check("6a-2-basic")
def test_operations(student, cases):
    """FLOPs and multiply-adds of a layer and of a model."""
    require_right(student, account, [Call(case) for case in cases])


@check("6a-3-basic")
def test_cache(student, cases):
    """Every dtype, fewer key and value heads, several sequences; the handout's case."""
    require_right(student, account, [Call(case) for case in cases])


@check("6a-5-basic")
def test_unusual_sizes(student, rng, cases):
    """Counts that no float and no NumPy integer can hold, and sizes of 1; then, in every function,
    invalid sizes.
    """
    n_head, width = 2 * int(rng.integers(2, 25)) + 1, 2 * int(rng.integers(10, 25)) + 1
    others = "n_layer", "d_ff", "vocab_size", "block_size", "seq_len"
    sizes = {"d_model": n_head * width, "n_head": n_head}
    sizes |= {name: int(rng.integers(20, 50)) for name in others}
    calls = [Call(case) for case in cases]
    for function, names in SIZES.items():
        right = [sizes[name] for name in names.split()]
        for i, name in enumerate(names.split()):
            bad = [0, -right[i], True, float(right[i]), str(right[i])]
            if name == "n_head" and "d_model" in names:
                bad += [2, right[i] + 1, sizes["d_model"] * 3]  # don't divide d_model, which is odd
            calls += [refused(function, *right[:i], size, *right[i + 1 :]) for size in bad]
    calls += [
        refused("kv_cache_bytes", 3, 48, 12, 7, **{option: value})
        for option, values in OPTIONS.items()
        for value in values
    ]
    require_right(student, account, calls)
