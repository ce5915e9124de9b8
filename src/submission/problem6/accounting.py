"""Question 6a: what a Transformer holds (parameters), computes (multiply-adds and FLOPs) and keeps
while it generates (bytes).

The names of the sizes are the same everywhere: d_model the width of the model, n_head the number of
heads, d_ff the inner width of the feed-forward part, seq_len the number of tokens, n_layer the
number of layers. All counts are exact Python ints: // divides without leaving them, / does not. A
size that no Transformer has raises ValueError, in every function below.
"""

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}  # of one number, by its dtype


def require_sizes(**sizes: int) -> None:
    """Refuse sizes that no Transformer has: require_sizes(d_model=512, n_head=8) does nothing, and
    with n_head=7 it raises.

    The other functions call this with the sizes that they are given. It is not graded by itself.

    Raises:
        ValueError: a size is no int (True and 8.0 are none) or less than 1; or d_model and n_head
            are both there, and n_head does not divide d_model.
    """
    # [part 6a] Look at each size, and then at d_model and n_head together.
    # Hint: isinstance(True, int) is True in Python; type(size) is int tells the two apart.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: require_sizes")
    ### END_CODE_HERE ###


# What it holds


def head_dim(d_model: int, n_head: int) -> int:
    """The width of a query, of a key and of a value in one head: d_k = d_v."""
    # [part 6a] The heads divide the width of the model among themselves.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: head_dim")
    ### END_CODE_HERE ###


def weight_shapes(d_model: int, n_head: int) -> dict[str, tuple[int, int]]:
    """The shapes of the weights of multi-head attention, each (in, out) as in x W.

    Returns:
        "query_head", "key_head", "value_head": what makes the queries, keys and values of one head
        from x. "query", "key", "value": the same for all heads together, one head's columns beside
        the next one's. "output": what makes the result from the outputs of all heads, side by side.
    """
    # [part 6a] Hint: each head sees all of x, and makes something narrower of it.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: weight_shapes")
    ### END_CODE_HERE ###


def attention_parameters(d_model: int, *, bias: bool = True) -> int:
    """The parameters of multi-head attention: the three input projections and the output
    projection.
    """
    # [part 6a] Hint: there is no n_head among the arguments, and none is needed.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: attention_parameters")
    ### END_CODE_HERE ###


def layer_parameters(d_model: int, n_head: int, d_ff: int, *, bias: bool = True) -> int:
    """The parameters of a layer: attention, two linear maps (d_model to d_ff and back), and two
    LayerNorms.

    Args:
        bias: whether the linear maps and the LayerNorms have one.
            nn.TransformerEncoderLayer(d_model, n_head, d_ff, bias=bias) counts the same.
    """
    # [part 6a] Hints: the bias of a linear map is as wide as its output. A LayerNorm has a weight
    # for each feature in any case.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: layer_parameters")
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
        vocab_size: the number of tokens; each has an embedding, and a logit at the end.
        block_size: the number of positions; each has a vector of its own with learned_positions,
            and costs nothing without.
        bias: of the layers and of the final LayerNorm. The output layer never has one.
        tied: whether the output layer is the matrix of token embeddings once more.
    """
    # [part 6a] Hint: the GPT of model.py is such a model, with d_ff = 4 * d_model: count its
    # parameters and compare.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: model_parameters")
    ### END_CODE_HERE ###


# What it computes


def score_shape(n_head: int, seq_len: int) -> tuple[int, int, int]:
    """The shape of the attention scores of one layer and one sequence: (heads, queries, keys)."""
    # [part 6a] Each query meets each key of its own head.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: score_shape")
    ### END_CODE_HERE ###


def score_count(n_head: int, seq_len: int) -> int:
    """The number of attention scores of one layer and one sequence."""
    # [part 6a] Hint: math.prod multiplies the lengths of a shape.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: score_count")
    ### END_CODE_HERE ###


def multiply_adds(d_model: int, n_head: int, d_ff: int, seq_len: int) -> dict[str, int]:
    """The multiply-adds in the products of matrices, for one layer and one sequence. (m, k) times
    (k, n) takes m k n.

    Returns:
        "projections": x with W_Q, W_K and W_V, and the joined heads with W_O.
        "scores": queries with keys, all heads, without a mask. "weighted_sum": weights with values,
        all heads. "feed_forward": both linear maps. "total": all of these.
    """
    # [part 6a] Hint: write down the three sizes of each product first, for one head where there are
    # heads.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: multiply_adds")
    ### END_CODE_HERE ###


def flops(d_model: int, n_head: int, d_ff: int, seq_len: int) -> dict[str, int]:
    """The FLOPs of the same products, and of the softmax, for one layer and one sequence.

    Returns:
        The keys of multiply_adds, and "softmax". A multiply-add is two FLOPs, and the softmax takes
        three for each score. "total" is the sum of all the others.
    """
    # [part 6a] Hint: what multiply_adds calls total lacks the softmax.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: flops")
    ### END_CODE_HERE ###


def model_flops(
    n_layer: int, d_model: int, n_head: int, d_ff: int, vocab_size: int, seq_len: int
) -> int:
    """The FLOPs of a forward pass of a language model: all layers, and the output layer at all
    seq_len positions.

    Embeddings are looked up, which is no product; LayerNorms and additions don't count, as
    everywhere here.
    """
    # [part 6a] Hint: the output layer is a product of (seq_len, d_model) and (d_model, vocab_size).
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: model_flops")
    ### END_CODE_HERE ###


# What it keeps


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
    """The bytes that the keys and values of all earlier tokens take, in all layers, for a batch of
    sequences.

    Args:
        n_kv_head: how many heads of keys and values there are; several heads of queries may share
            one. None: as many as n_head. It must divide n_head. The width of a head stays d_model /
            n_head.
        dtype: one of BYTES.

    Raises:
        ValueError: a size or a dtype that does not exist.
    """
    # [part 6a] Hint: 0 is no number of heads, but it is not None either: `n_kv_head or n_head`
    # would take it for None.
    ### START_CODE_HERE ###
    raise NotImplementedError("6a: kv_cache_bytes")
    ### END_CODE_HERE ###
