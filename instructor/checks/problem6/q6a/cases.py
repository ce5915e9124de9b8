"""Cases of question 6a: calls of the functions of accounting.py with the formulas' results."""

import itertools

from checks.problem6.q6a.accounting import make_inputs
from checks.problem6.q6a.q6a import SIZES
from checks.support.cases import Case
from instructor.checks.makers import makes
from instructor.checks.problem6.q6a.counting import RIGHT

EXAMPLE = {"d_model": 512, "n_head": 8, "d_ff": 2048, "seq_len": 100}  # the handout's


def count_case(function: str, *sizes: int, **options) -> Case:
    """Make a case of a function of accounting.py."""
    found = RIGHT[function](*sizes, **options)
    if isinstance(found, dict):
        right = {key: value for key, (value, _) in found.items()}
        wrong = [
            (sentence, {key: changed})
            for key, (value, causes) in found.items()
            for sentence, changed in _distinct(causes, value)
        ]
    else:
        right, wrong = found[0], _distinct(found[1], found[0])
    return Case(make_inputs(function, *sizes, **options), right, wrong)


def _distinct(causes, right):
    """Return the mistakes that change the result, only the first for each value."""
    kept = {}
    for sentence, value in causes:
        if value != right:
            kept.setdefault(value, sentence)
    return [(sentence, value) for value, sentence in kept.items()]


def by_position(sizes: dict[str, int], function: str, **options) -> Case:
    """Make a case with the sizes that the function takes."""
    return count_case(function, *(sizes[name] for name in SIZES[function].split()), **options)


def by_name(sizes: dict[str, int], function: str, **options) -> Case:
    """Make the same case with all sizes by name."""
    given = {name: sizes[name] for name in SIZES[function].split()}
    return count_case(function, **given, **options)


def draw_sizes(rng) -> dict[str, int]:
    """Draw sizes of a small model. Only d_model is a multiple of another size, n_head; d_ff is not
    4 d_model.
    """
    n_head, width = int(rng.integers(2, 10)), int(rng.integers(3, 20))
    return {
        "n_layer": int(rng.integers(3, 8)),
        "d_model": n_head * width,
        "n_head": n_head,
        "d_ff": int(rng.integers(20, 300)),
        "vocab_size": int(rng.integers(30, 200)),
        "block_size": int(rng.integers(20, 100)),
        "seq_len": int(rng.integers(5, 70)),
    }


def draw_odd_sizes(rng, high: int = 50, width: int = 50) -> dict[str, int]:
    """Draw odd sizes: n_head below 50, a head's width from half of `width` up, others from half of
    `high` up.
    """

    def odd(low, high):
        return int(rng.integers(low, high)) | 1

    n_head = odd(2, 50)
    names = ("n_layer", "d_ff", "vocab_size", "block_size", "seq_len")
    sizes = {"d_model": n_head * odd(width // 2, width), "n_head": n_head}
    return sizes | {name: odd(high // 2, high) for name in names}


def draw_large_sizes(rng) -> dict[str, int]:
    """Draw sizes whose counts no float and no NumPy integer can hold.

    A float has 53 bits, so no odd number beyond 10 ** 16 is exact. A NumPy or torch integer has 63:
    the sizes fit, but no product of two does, so an overflowed count is never right.
    """
    return draw_odd_sizes(rng, high=10**10, width=10**17)


@makes("6a-0-basic")
def shapes(rng):
    """head_dim, weight_shapes, score_shape, score_count."""
    functions = "head_dim", "weight_shapes", "score_shape", "score_count"
    return [
        by_position(sizes, function)
        for sizes in (EXAMPLE, draw_sizes(rng))
        for function in functions
    ]


@makes("6a-1-basic")
def parameters(rng):
    """With and without biases, learned positions and tied embeddings."""
    parts, switch = ("attention_parameters", "layer_parameters"), (True, False)
    cases = [by_position(EXAMPLE, function) for function in parts]
    for bias in switch:
        sizes = draw_sizes(rng)
        cases += [by_position(sizes, function, bias=bias) for function in parts]
    cases.append(by_position(draw_sizes(rng), "model_parameters"))
    for bias, learned, tied in itertools.product(switch, switch, switch):
        options = {"bias": bias, "learned_positions": learned, "tied": tied}
        cases.append(by_position(draw_sizes(rng), "model_parameters", **options))
    return cases


@makes("6a-2-basic")
def operations(rng):
    """FLOPs and multiply-adds of a layer and of a model."""
    cases = []
    for sizes in (EXAMPLE, draw_sizes(rng)):
        cases += [by_position(sizes, function) for function in ("multiply_adds", "flops")]
    return cases + [by_position(draw_sizes(rng), "model_flops") for _ in range(2)]


@makes("6a-3-basic")
def cache(rng):
    """Every dtype, fewer key and value heads, several sequences; the handout's case."""
    cases = []
    # The first two distinguish a missing 2 from the bytes.
    for dtype in ("int8", "float32", "bfloat16", "float16"):
        n_head, n_kv_head = [(6, 2), (8, 2), (9, 3), (10, 5)][rng.integers(4)]
        sizes = draw_sizes(rng) | {"n_head": n_head, "d_model": n_head * int(rng.integers(3, 20))}
        batch = int(rng.integers(3, 6))
        cases += [
            by_position(sizes, "kv_cache_bytes", dtype=dtype),
            by_position(sizes, "kv_cache_bytes", dtype=dtype, n_kv_head=n_kv_head),
            by_position(sizes, "kv_cache_bytes", dtype=dtype, n_kv_head=n_kv_head, batch=batch),
        ]
    cases.append(by_position(sizes, "kv_cache_bytes", n_kv_head=n_kv_head))
    return cases + [count_case("kv_cache_bytes", 40, 5120, heads, 4096) for heads in (40, 32)]


@makes("6a-5-basic")
def unusual(rng):
    """Counts that no float can hold, by name and with options; sizes of 1."""
    cases = [by_name(draw_large_sizes(rng), function) for function in SIZES] + large_options(rng)
    cases += [by_position(dict.fromkeys(draw_odd_sizes(rng), 1), function) for function in SIZES]
    # A wrong formula also fails the other checks, which name it; here the numbers would be long.
    return [Case(case.inputs, case.right) for case in cases]


def large_options(rng) -> list[Case]:
    """Draw options with counts that no float can hold."""
    sizes = draw_large_sizes(rng)
    bias, learned, tied = (bool(rng.integers(2)) for _ in range(3))
    options = {"n_kv_head": 1, "dtype": "int8", "batch": sizes["d_ff"]}
    return [
        by_position(sizes, "model_parameters", bias=bias, learned_positions=learned, tied=tied),
        by_position(sizes, "kv_cache_bytes", **options),
    ]
