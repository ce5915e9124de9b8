"""Question 6a, hidden: sizes of 1, sizes whose counts no float holds, keyword arguments, and sizes that are refused."""
from autograder import check
from checks.accounting import Call, account
from checks.calls import require_right

# The sizes that each function takes by position, in their order.
SIZES = {
    "head_dim": "d_model n_head", "weight_shapes": "d_model n_head", "attention_parameters": "d_model",
    "layer_parameters": "d_model n_head d_ff", "model_parameters": "n_layer d_model n_head d_ff vocab_size block_size",
    "score_shape": "n_head seq_len", "score_count": "n_head seq_len", "multiply_adds": "d_model n_head d_ff seq_len",
    "flops": "d_model n_head d_ff seq_len", "model_flops": "n_layer d_model n_head d_ff vocab_size seq_len",
    "kv_cache_bytes": "n_layer d_model n_head seq_len",
}


@check("6a-4-hidden")
def test_any_sizes(student, rng):
    """Every function at all of these."""
    def odd(low, high):
        return int(rng.integers(low, high)) | 1

    def draw(high=50, width=50):
        n_head = odd(2, 50)
        return {"d_model": n_head * odd(width // 2, width), "n_head": n_head,
                **{name: odd(high // 2, high) for name in ("n_layer", "d_ff", "vocab_size", "block_size", "seq_len")}}

    # A float has 53 binary digits, so that no odd number beyond 10 ** 16 is exact. An integer of NumPy's or torch's has 63: the
    # sizes fit, and of any two the product does not, so that what is left of it is never the right count.
    small, large = draw(), draw(10 ** 10, 10 ** 17)
    one_head = {**draw(), "n_head": 1}
    narrow = {**draw(), "d_model": small["n_head"], "n_head": small["n_head"]}         # heads with a width of 1
    calls = []
    for sizes in (small, large, one_head, narrow, dict.fromkeys(small, 1)):
        calls += [Call(function, tuple(sizes[name] for name in names.split())) for function, names in SIZES.items()]
    calls += [Call(function, (), {name: small[name] for name in names.split()}) for function, names in SIZES.items()]
    sizes = draw(10 ** 10, 10 ** 17)
    by_position = {function: tuple(sizes[name] for name in names.split()) for function, names in SIZES.items()}
    for bias, learned, tied in ((False, True, True), (True, False, False), (False, False, True)):
        options = {"bias": bias, "learned_positions": learned, "tied": tied}
        calls.append(Call("model_parameters", by_position["model_parameters"], options))
    options = {"n_kv_head": 1, "dtype": "int8", "batch": sizes["d_ff"]}
    calls.append(Call("kv_cache_bytes", by_position["kv_cache_bytes"], options))

    for function, names in SIZES.items():
        right = [small[name] for name in names.split()]
        for i, name in enumerate(names.split()):
            for bad in (0, -right[i], True, float(right[i]), str(right[i])):
                calls.append(Call(function, (*right[:i], bad, *right[i + 1:]), refused=True))
            if name == "n_head" and "d_model" in names:         # none of these divides d_model, which is odd
                for bad in (2, right[i] + 1, small["d_model"] * 3):
                    calls.append(Call(function, (*right[:i], bad, *right[i + 1:]), refused=True))
    cache = 3, 48, 12, 7
    for option, values in {"n_kv_head": (0, 5, 24, -3, True, 4.0), "batch": (0, -1, 2.5, True),
                           "dtype": ("float64", "int4", "")}.items():
        calls += [Call("kv_cache_bytes", cache, {option: value}, refused=True) for value in values]
    require_right(student, account, calls)
