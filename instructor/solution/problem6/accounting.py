"""Question 6a: a Transformer's parameters, computation (multiply-adds, FLOPs) and key-value cache.

Names of sizes: d_model is the width of the model, n_head the number of heads, d_ff the inner width
of the feed-forward network, seq_len the number of tokens, n_layer the number of layers. All sizes
are ints of at least 1 (True and 8.0 are not), and n_head divides d_model, even where the count does
not depend on it; for anything else, every function raises ValueError. All counts are exact Python
ints, however large, so divide with //, not /.
"""

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}  # per number


def require_sizes(**sizes: int) -> None:
    """Check sizes: require_sizes(d_model=512, n_head=8) does nothing, and with n_head=7 it raises.

    The other functions call this with their sizes. It is not graded on its own.

    Raises:
        ValueError: a size is not an int (True and 8.0 are not) or is less than 1; or d_model and
            n_head are both given, and n_head does not divide d_model.
    """
    # [part 6a] Check each size, and then d_model and n_head together.
    # Hint: isinstance(True, int) is True in Python; type(size) is int tells the two apart.
    ### START_CODE_HERE ###
    for name, size in sizes.items():
        if type(size) is not int or size < 1:
            raise ValueError(f"{name} must be an integer of at least 1, not {size!r}")
    if "d_model" in sizes and "n_head" in sizes and sizes["d_model"] % sizes["n_head"]:
        raise ValueError(
            f"n_head must divide d_model, but {sizes['n_head']} does not divide {sizes['d_model']}"
        )
    ### END_CODE_HERE ###


# Parameters


def head_dim(d_model: int, n_head: int) -> int:
    """The width of a query, key or value in one head: d_k = d_v."""
    # [part 6a] The heads divide the width of the model evenly.
    ### START_CODE_HERE ###
    require_sizes(d_model=d_model, n_head=n_head)
    return d_model // n_head
    ### END_CODE_HERE ###


def weight_shapes(d_model: int, n_head: int) -> dict[str, tuple[int, int]]:
    """The shapes of the weights of multi-head attention, each (in, out) as in x W.

    Returns:
        "query_head", "key_head", "value_head": from x to the queries, keys and values of one head.
        "query", "key", "value": the same for all heads, with the heads' columns side by side.
        "output": from the concatenated outputs of all heads to the result.
    """
    # [part 6a] Hint: each head reads all of x, and projects it to fewer features.
    ### START_CODE_HERE ###
    one, all_heads = (d_model, head_dim(d_model, n_head)), (d_model, d_model)
    return {
        "query_head": one,
        "key_head": one,
        "value_head": one,
        "query": all_heads,
        "key": all_heads,
        "value": all_heads,
        "output": all_heads,
    }
    ### END_CODE_HERE ###


def attention_parameters(d_model: int, *, bias: bool = True) -> int:
    """The parameters of multi-head attention: the three input projections and the output
    projection.
    """
    # [part 6a] Hint: the count does not depend on the number of heads.
    ### START_CODE_HERE ###
    require_sizes(d_model=d_model)
    return 4 * (d_model * d_model + bias * d_model)
    ### END_CODE_HERE ###


def layer_parameters(d_model: int, n_head: int, d_ff: int, *, bias: bool = True) -> int:
    """The parameters of a layer: attention, two linear maps (d_model to d_ff and back), and two
    LayerNorms.

    Args:
        bias: whether the linear maps and the LayerNorms have biases.
            nn.TransformerEncoderLayer(d_model, n_head, d_ff, bias=bias) has the same count.
    """
    # [part 6a] Hints: the bias of a linear map is as wide as its output. A LayerNorm always has one
    #           weight per feature.
    ### START_CODE_HERE ###
    require_sizes(d_model=d_model, n_head=n_head, d_ff=d_ff)
    feed_forward = 2 * d_model * d_ff + bias * (d_ff + d_model)
    norm = d_model + bias * d_model
    return attention_parameters(d_model, bias=bias) + feed_forward + 2 * norm
    ### END_CODE_HERE ###


def model_parameters(
    n_layer: int,
    d_model: int,
    n_head: int,
    d_ff: int,
    vocab_size: int,
    block_size: int,
    *,
    bias: bool = True,
    learned_positions: bool = True,
    tied: bool = False,
) -> int:
    """The parameters of a language model: embeddings, n_layer layers, a final LayerNorm and an
    output layer.

    Args:
        vocab_size: the number of tokens; each has an embedding and a logit.
        block_size: the number of positions; with learned_positions, each has a learned vector.
        bias: whether the layers and the final LayerNorm have biases. The output layer has none.
        tied: whether the output layer shares the matrix of token embeddings.
    """
    # [part 6a] Hint: nn.TransformerEncoderLayer(d_model, n_head, d_ff) is such a layer: count its
    #           parameters and compare.
    ### START_CODE_HERE ###
    require_sizes(n_layer=n_layer, vocab_size=vocab_size, block_size=block_size)
    embeddings = (vocab_size + learned_positions * block_size) * d_model
    final_norm = d_model + bias * d_model
    output = 0 if tied else d_model * vocab_size
    return (
        embeddings
        + n_layer * layer_parameters(d_model, n_head, d_ff, bias=bias)
        + final_norm
        + output
    )
    ### END_CODE_HERE ###


# Computation


def score_shape(n_head: int, seq_len: int) -> tuple[int, int, int]:
    """The shape of the attention scores of one layer and one sequence: (heads, queries, keys)."""
    # [part 6a] Each query is compared with each key of its head.
    ### START_CODE_HERE ###
    require_sizes(n_head=n_head, seq_len=seq_len)
    return n_head, seq_len, seq_len
    ### END_CODE_HERE ###


def score_count(n_head: int, seq_len: int) -> int:
    """The number of attention scores of one layer and one sequence."""
    # [part 6a] Hint: math.prod multiplies the lengths of a shape.
    ### START_CODE_HERE ###
    require_sizes(n_head=n_head, seq_len=seq_len)
    return n_head * seq_len * seq_len
    ### END_CODE_HERE ###


def multiply_adds(d_model: int, n_head: int, d_ff: int, seq_len: int) -> dict[str, int]:
    """The multiply-adds of the matrix products of one layer and one sequence.

    (m, k) times (k, n) takes m k n. Biases, LayerNorms, residuals and activations do not count. All
    scores count, those that a causal mask hides as well.

    Returns:
        "projections": x times W_Q, W_K and W_V, and the joined heads times W_O.
        "scores": queries times keys, all heads, no mask. "weighted_sum": weights times values, all
        heads. "feed_forward": both linear maps. "total": the sum of these.
    """
    # [part 6a] Hint: write down the three sizes of each product first, for one head where there are
    #           heads.
    ### START_CODE_HERE ###
    require_sizes(d_ff=d_ff)
    # each is a dot product of two vectors of one head
    scores = score_count(n_head, seq_len) * head_dim(d_model, n_head)
    counts = {
        "projections": 4 * seq_len * d_model * d_model,
        "scores": scores,
        "weighted_sum": scores,
        "feed_forward": 2 * seq_len * d_model * d_ff,
    }
    return counts | {"total": sum(counts.values())}
    ### END_CODE_HERE ###


def flops(d_model: int, n_head: int, d_ff: int, seq_len: int) -> dict[str, int]:
    """The FLOPs of the same products, and of the softmax, for one layer and one sequence.

    Returns:
        The keys of multiply_adds, and "softmax". A multiply-add is two FLOPs; the softmax takes
        three FLOPs per score. "total" is the sum of all the others.
    """
    # [part 6a] Hint: the total of multiply_adds does not include the softmax.
    ### START_CODE_HERE ###
    counts = {
        name: 2 * count for name, count in multiply_adds(d_model, n_head, d_ff, seq_len).items()
    }
    counts["softmax"] = 3 * score_count(n_head, seq_len)
    counts["total"] += counts["softmax"]
    return counts
    ### END_CODE_HERE ###


def model_flops(
    n_layer: int, d_model: int, n_head: int, d_ff: int, vocab_size: int, seq_len: int
) -> int:
    """The FLOPs of a language model's forward pass: all layers, and the output layer at all
    seq_len positions.

    Embedding lookups, LayerNorms and additions are not counted.
    """
    # [part 6a] Hint: the output layer is a product of (seq_len, d_model) and (d_model, vocab_size).
    ### START_CODE_HERE ###
    require_sizes(n_layer=n_layer, vocab_size=vocab_size)
    return (
        n_layer * flops(d_model, n_head, d_ff, seq_len)["total"]
        + 2 * seq_len * d_model * vocab_size
    )
    ### END_CODE_HERE ###


# Key-value cache


def kv_cache_bytes(
    n_layer: int,
    d_model: int,
    n_head: int,
    seq_len: int,
    *,
    n_kv_head: int | None = None,
    dtype: str = "float16",
    batch: int = 1,
) -> int:
    """The bytes of the keys and values of all earlier tokens, in all layers, for a batch of
    sequences: 2 (a key and a value) times n_layer, n_kv_head, the width of a head, seq_len, the
    bytes of a number, and batch.

    Args:
        n_kv_head: the number of key and value heads, which divides n_head; several query heads may
            share one. None: n_head. The width of a head is still d_model / n_head.
        dtype: a key of BYTES.

    Raises:
        ValueError: a size is invalid, or the dtype is unknown.
    """
    # [part 6a] Hint: n_kv_head = 0 is an error, not None: `n_kv_head or n_head` would confuse them.
    ### START_CODE_HERE ###
    width = head_dim(d_model, n_head)
    if n_kv_head is None:
        n_kv_head = n_head
    require_sizes(n_layer=n_layer, seq_len=seq_len, n_kv_head=n_kv_head, batch=batch)
    if n_head % n_kv_head:
        raise ValueError(f"n_kv_head must divide n_head, but {n_kv_head} does not divide {n_head}")
    if dtype not in BYTES:
        raise ValueError(f"dtype must be one of {', '.join(BYTES)}, not {dtype!r}")
    return 2 * n_layer * n_kv_head * width * seq_len * BYTES[dtype] * batch
    ### END_CODE_HERE ###
