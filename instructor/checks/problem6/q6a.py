"""Question 6a: sizes, and the hidden check."""

import itertools

from checks.problem6.q6a import COUNTS
from instructor.checks.drawing import draws

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
BAD_OPTIONS = {  # of kv_cache_bytes(3, 48, 12, 7)
    "n_kv_head": (0, 5, 24, -3, True, 4.0),
    "batch": (0, -1, 2.5, True),
    "dtype": ("float64", "int4", ""),
}
CHOICES = (True, False)  # bias, learned positions, tied embeddings
MODEL_OPTIONS = [
    {"bias": bias, "learned_positions": learned, "tied": tied}
    for bias, learned, tied in itertools.product(CHOICES, CHOICES, CHOICES)
]
EXAMPLE = {"d_model": 512, "n_head": 8, "d_ff": 2048, "seq_len": 100}  # the handout's


def call(function: str, sizes: dict[str, int], **options) -> dict:
    """The inputs of a call with the sizes that the function takes."""
    given = [sizes[name] for name in SIZES[function].split()]
    return {"function": function, "sizes": given, "options": options}


def small_sizes(rng) -> dict[str, int]:
    """Draw sizes of a small model. Only d_model is a multiple of another size, n_head; d_ff is not
    4 d_model.
    """
    n_head, width = int(rng.integers(2, 10)), int(rng.integers(3, 20))
    ranges = {"n_layer": (3, 8), "d_ff": (20, 300), "vocab_size": (30, 200)}
    ranges |= {"block_size": (20, 100), "seq_len": (5, 70)}
    others = {name: int(rng.integers(*ends)) for name, ends in ranges.items()}
    return {"d_model": n_head * width, "n_head": n_head, **others}


def large_sizes(rng) -> dict[str, int]:
    """Draw odd sizes of ten digits; d_model has eighteen."""
    n_head = int(rng.integers(3, 50)) | 1
    width = int(rng.integers(5 * 10**16, 10**17)) | 1
    others = "n_layer", "d_ff", "vocab_size", "block_size", "seq_len"
    drawn = {name: int(rng.integers(5 * 10**9, 10**10)) | 1 for name in others}
    return {"d_model": n_head * width, "n_head": n_head, **drawn}


@draws(COUNTS, "6a-0-basic")
def shapes(rng):
    """The handout's sizes, and others."""
    functions = "head_dim", "weight_shapes", "score_shape", "score_count"
    return [call(name, sizes) for sizes in (EXAMPLE, small_sizes(rng)) for name in functions]


@draws(COUNTS, "6a-1-basic")
def parameters(rng):
    """With and without biases, learned positions and tied embeddings; also for the same sizes."""
    parts, same = ("attention_parameters", "layer_parameters"), small_sizes(rng)
    calls = [call(name, EXAMPLE) for name in parts]
    calls += [call(name, same, bias=bias) for bias in CHOICES for name in parts]
    calls.append(call("model_parameters", small_sizes(rng)))
    calls += [call("model_parameters", same, **each) for each in MODEL_OPTIONS]
    return calls + [call("model_parameters", small_sizes(rng), **each) for each in MODEL_OPTIONS]


@draws(COUNTS, "6a-2-basic")
def operations(rng):
    """Of a layer and of a model."""
    drawn = [small_sizes(rng) for _ in range(2)]
    functions = "multiply_adds", "flops"
    calls = [call(name, sizes) for sizes in (EXAMPLE, drawn[0]) for name in functions]
    return calls + [call("model_flops", sizes) for sizes in drawn]


@draws(COUNTS, "6a-3-basic")
def cache(rng):
    """Every dtype, fewer key and value heads, several sequences; the handout's case."""
    calls = []
    # The first two distinguish a missing 2 from the bytes.
    for dtype in ("int8", "float32", "bfloat16", "float16"):
        n_head, n_kv_head = [(6, 2), (8, 2), (9, 3), (10, 5)][rng.integers(4)]
        sizes = small_sizes(rng) | {"n_head": n_head, "d_model": n_head * int(rng.integers(3, 20))}
        batch = int(rng.integers(3, 6))
        for more in ({}, {"n_kv_head": n_kv_head}, {"n_kv_head": n_kv_head, "batch": batch}):
            calls.append(call("kv_cache_bytes", sizes, dtype=dtype, **more))
    calls.append(call("kv_cache_bytes", sizes, n_kv_head=n_kv_head))
    example = {"n_layer": 40, "d_model": 5120, "seq_len": 4096}
    return calls + [call("kv_cache_bytes", example | {"n_head": heads}) for heads in (40, 32)]


@draws(COUNTS, "6a-5-basic")
def unusual(rng):
    """Counts that no float and no NumPy integer can hold, and sizes of 1.

    A float has 53 bits, so no odd number beyond 10 ** 16 is exact. A NumPy or torch integer has 63:
    the sizes fit, but no product of two does, so an overflowed count is never right.
    """
    large = [large_sizes(rng) for _ in range(len(SIZES) + 1)]
    calls = [call(name, sizes) for name, sizes in zip(SIZES, large)]
    calls.append(call("model_parameters", large[-1], **MODEL_OPTIONS[rng.integers(8)]))
    cached = {"n_kv_head": 1, "dtype": "int8", "batch": large[0]["d_ff"]}
    calls.append(call("kv_cache_bytes", large[-1], **cached))
    ones = dict.fromkeys(large[0], 1)
    return calls + [call(name, ones) for name in SIZES]


@draws(COUNTS, "6a-5-basic")
def refused(rng):
    """Sizes that don't exist, in every function, and options."""
    right, calls = {"n_layer": 3, "d_model": 45, "n_head": 5, "d_ff": 77}, []
    right |= {"vocab_size": 91, "block_size": 31, "seq_len": 19}
    for function, names in SIZES.items():
        for name in names.split():
            size = right[name]
            bad = [0, -size, True, float(size), str(size)]
            if name == "n_head" and "d_model" in names:
                bad += [2, size + 1, 3 * right["d_model"]]  # don't divide d_model
            calls += [call(function, right | {name: value}) for value in bad]
    return calls + [
        {"function": "kv_cache_bytes", "sizes": [3, 48, 12, 7], "options": {option: value}}
        for option, values in BAD_OPTIONS.items()
        for value in values
    ]


@draws(COUNTS, "6a-4-hidden")
def any_sizes(rng):
    """Any heads, one head, and heads of width 1, with every option."""
    small = small_sizes(rng)
    heads = small["n_head"], 1, small["d_model"]
    calls = [call(name, small | {"n_head": n_head}) for n_head in heads for name in SIZES]
    calls += [call("model_parameters", small, **options) for options in MODEL_OPTIONS]
    for dtype in ("int8", "float32", "bfloat16"):
        cached = {"n_kv_head": 1, "dtype": dtype, "batch": int(rng.integers(2, 9))}
        calls.append(call("kv_cache_bytes", small, **cached))
    return calls
