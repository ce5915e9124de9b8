"""Question 6a, basic: accounting at sizes that are drawn, and those of the handout."""
from autograder import check
from checks.accounting import Call, account
from checks.calls import require_right


def draw(rng) -> dict[str, int]:
    """Sizes of a small model, none of which is a product or a multiple of others by design: d_ff is not 4 d_model."""
    n_head, width = int(rng.integers(2, 10)), int(rng.integers(3, 20))
    return {"n_layer": int(rng.integers(3, 8)), "d_model": n_head * width, "n_head": n_head, "d_ff": int(rng.integers(20, 300)),
            "vocab_size": int(rng.integers(30, 200)), "block_size": int(rng.integers(20, 100)),
            "seq_len": int(rng.integers(5, 70))}


def call(sizes: dict[str, int], function: str, names: str, **options) -> Call:
    """A call with the sizes of these names."""
    return Call(function, tuple(sizes[name] for name in names.split()), options)


EXAMPLE = {"d_model": 512, "n_head": 8, "d_ff": 2048, "seq_len": 100}       # the handout's


@check("6a-0-basic")
def test_shapes(student, rng):
    """head_dim, weight_shapes, score_shape, score_count."""
    require_right(student, account, [each for sizes in (EXAMPLE, *(draw(rng) for _ in range(3))) for each in (
        call(sizes, "head_dim", "d_model n_head"), call(sizes, "weight_shapes", "d_model n_head"),
        call(sizes, "score_shape", "n_head seq_len"), call(sizes, "score_count", "n_head seq_len"))])


@check("6a-1-basic")
def test_parameters(student, rng):
    """With and without biases, learned positions and tied embeddings."""
    calls = [call(EXAMPLE, "attention_parameters", "d_model"), call(EXAMPLE, "layer_parameters", "d_model n_head d_ff")]
    for bias in (True, False):
        sizes = draw(rng)
        calls += [call(sizes, "attention_parameters", "d_model", bias=bias),
                  call(sizes, "layer_parameters", "d_model n_head d_ff", bias=bias)]
    model = "n_layer d_model n_head d_ff vocab_size block_size"
    calls.append(call(draw(rng), "model_parameters", model))
    calls += [call(draw(rng), "model_parameters", model, bias=bias, learned_positions=learned, tied=tied)
              for bias in (True, False) for learned in (True, False) for tied in (True, False)]
    require_right(student, account, calls)


@check("6a-2-basic")
def test_operations(student, rng):
    """Of a layer and of a model."""
    calls = []
    for sizes in (EXAMPLE, *(draw(rng) for _ in range(3))):
        calls += [call(sizes, function, "d_model n_head d_ff seq_len") for function in ("multiply_adds", "flops")]
    calls += [call(draw(rng), "model_flops", "n_layer d_model n_head d_ff vocab_size seq_len") for _ in range(3)]
    require_right(student, account, calls)


@check("6a-3-basic")
def test_cache(student, rng):
    """Every dtype, fewer heads of keys and values, several sequences; then the handout's case with 40 and with 32 heads."""
    names, calls = "n_layer d_model n_head seq_len", []
    for dtype in ("int8", "float32", "bfloat16", "float16"):        # the first two tell a missing 2 from the bytes
        sizes = draw(rng)
        n_head, n_kv_head = [(6, 2), (8, 2), (9, 3), (10, 5)][rng.integers(4)]
        sizes |= {"n_head": n_head, "d_model": n_head * int(rng.integers(3, 20))}
        calls += [call(sizes, "kv_cache_bytes", names, dtype=dtype),
                  call(sizes, "kv_cache_bytes", names, dtype=dtype, n_kv_head=n_kv_head),
                  call(sizes, "kv_cache_bytes", names, dtype=dtype, n_kv_head=n_kv_head, batch=int(rng.integers(3, 6)))]
    calls.append(call(sizes, "kv_cache_bytes", names, n_kv_head=n_kv_head))
    require_right(student, account, [*calls, *(Call("kv_cache_bytes", (40, 5120, heads, 4096)) for heads in (40, 32))])
