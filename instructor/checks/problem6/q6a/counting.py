"""The formulas of question 6a, and the known mistakes in them.

Each function has the name and arguments of one in accounting.py, and returns the right value and a
list of mistakes as (sentence, result); for several values, a dict of such pairs.
"""

from checks.problem6.q6a.accounting import UNITS

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}
_LAYER = "12 d_model^2 is a rule of thumb for a whole layer with d_ff = 4 d_model, without biases"


def head_dim(d_model, n_head):
    """The width of one head."""
    return d_model // n_head, [
        ("it is the width of all heads together; each gets an equal share of d_model.", d_model),
        ("it is the number of heads.", n_head),
    ]


def weight_shapes(d_model, n_head):
    """The shapes (in, out) of the matrices of one head, and of all heads together."""
    width = d_model // n_head
    one = (
        (d_model, width),
        [
            (
                "it is transposed: (in, out), as in x W. nn.Linear stores the transpose.",
                (width, d_model),
            ),
            (
                "it is the shape for all heads together; one head's output is narrower.",
                (d_model, d_model),
            ),
            ("each head sees all of x, not a slice of it.", (width, width)),
        ],
    )
    whole = (
        (d_model, d_model),
        [
            ("it is the shape for one head, not for all heads together.", (d_model, width)),
            ("it is transposed, and for one head.", (width, d_model)),
            (
                "each head is assumed to be as wide as the model; the heads share its width.",
                (d_model, n_head * d_model),
            ),
            (
                "each head is assumed to be as wide as the model; the heads share its width.",
                (n_head * d_model, d_model),
            ),
        ],
    )
    return {f"{name}_head": one for name in ("query", "key", "value")} | {
        name: whole for name in ("query", "key", "value", "output")
    }


def attention_parameters(d_model, *, bias=True):
    """W_Q, W_K, W_V and W_O."""
    d, b = d_model, int(bias)
    return 4 * d * d + 4 * d * b, [
        _biases(b, 4 * d * d, 4 * d * d + 4 * d),
        ("W_O is missing: there are four square matrices.", 3 * d * d + 3 * d * b),
        ("one matrix is counted; there are four.", d * d + d * b),
        ("W_O has a bias, too.", 4 * d * d + 3 * d),
        ("each of the four has its own bias.", 4 * d * d + d),
        ("a bias is as wide as the output, d_model; it is one number here.", 4 * d * d + 4),
        *(
            (f"{_LAYER}; attention has four square matrices.", 12 * d * d + more)
            for more in (0, 4 * d * b, 13 * d * b)
        ),
    ]


def layer_parameters(d_model, n_head, d_ff, *, bias=True):
    """Attention, the feed-forward part, two LayerNorms."""
    d, f, b = d_model, d_ff, int(bias)
    right = _layer(d, f, b)
    return right, [
        _biases(b, _layer(d, f, 0), _layer(d, f, 1)),
        ("the LayerNorms are missing.", right - 2 * (d + d * b)),
        ("there are two LayerNorms; one is counted.", right - (d + d * b)),
        ("there are two LayerNorms; three are counted.", right + (d + d * b)),
        (
            "with bias=False the LayerNorms have no bias, either."
            if not b
            else "the biases of the LayerNorms are missing.",
            right + (-2 * d if b else 2 * d),
        ),
        ("the biases of the feed-forward part are missing.", right - f - d),
        (
            "the two biases of the feed-forward part have d_ff and d_model numbers; both are taken "
            "as d_model.",
            right - f + d,
        ),
        (
            "the two biases of the feed-forward part have d_ff and d_model numbers; both are taken "
            "as d_ff.",
            right + f - d,
        ),
        ("the feed-forward part has a second bias, of d_model numbers.", right - d),
        ("the feed-forward part has a first bias, of d_ff numbers.", right - f),
        ("the biases of attention are missing.", right - 4 * d),
        ("there are biases in attention with bias=False.", right + 4 * d),
        ("there are biases in the feed-forward part with bias=False.", right + f + d),
        ("there are two linear maps in the feed-forward part; one is counted.", right - d * f),
        (
            "there are two linear maps in the feed-forward part; three are counted, as with a "
            "gate.",
            right + d * f,
        ),
        (
            "there are two linear maps in the feed-forward part; three are counted, as with a "
            "gate.",
            right + d * f + f,
        ),
        (f"{_LAYER}, and without LayerNorms.", 12 * d * d),
        ("W_O is missing: attention has four square matrices.", right - d * d - d * b),
        ("d_ff is not used: 4 d_model is used instead.", _layer(d, 4 * d, b)),
        (
            "each head is counted as wide as the model.",
            right + (n_head - 1) * (4 * d * d + 4 * d * b),
        ),
    ]


def model_parameters(
    n_layer,
    d_model,
    n_head,
    d_ff,
    vocab_size,
    block_size,
    *,
    bias=True,
    learned_positions=True,
    tied=False,
):
    """Embeddings, layers, a final LayerNorm, the output layer."""
    d, b, V, layer = d_model, int(bias), vocab_size, _layer(d_model, d_ff, int(bias))
    norm, positions = d + d * b, block_size * d
    right = (2 - bool(tied)) * V * d + bool(learned_positions) * positions + n_layer * layer + norm
    return right, [
        ("the final LayerNorm is missing.", right - norm),
        ("there is one final LayerNorm, not one for each layer.", right + (n_layer - 1) * norm),
        (
            "the bias of the final LayerNorm is missing."
            if b
            else "with bias=False the final LayerNorm has no bias, either.",
            right + (-d if b else d),
        ),
        ("the output layer never has a bias.", right + V),
        ("with tied=True the output layer adds nothing.", right + V * d)
        if tied
        else (
            "the output layer is missing; it is tied to the embeddings only with tied=True.",
            right - V * d,
        ),
        (
            "with tied=True, the matrix is still there once: it adds nothing, but the embeddings "
            "count.",
            right - V * d,
        ),
        ("the vectors of the positions are missing.", right - positions)
        if learned_positions
        else (
            "learned_positions=False is not used: positions that are not learned have no "
            "parameters.",
            right + positions,
        ),
        ("there are n_layer layers; one is counted.", right - (n_layer - 1) * layer),
        (
            "bias is not passed on to the layers.",
            right + n_layer * (_layer(d, d_ff, 1 - b) - layer),
        ),
        ("bias is not used.", right + n_layer * (_layer(d, d_ff, 1) - layer) + d - d * b),
        (
            "the embeddings are counted once for each layer.",
            right + (n_layer - 1) * (V * d + bool(learned_positions) * positions),
        ),
        (
            "there are two linear maps in the feed-forward part; three are counted, as with a "
            "gate.",
            right + n_layer * d * d_ff,
        ),
        (
            "there are two linear maps in the feed-forward part; three are counted, as with a "
            "gate.",
            right + n_layer * (d * d_ff + d_ff),
        ),
        (f"{_LAYER}, and without LayerNorms.", right + n_layer * (12 * d * d - layer)),
        (
            "each position has a vector of d_model numbers; here it has one number.",
            right - positions + block_size,
        ),
    ]


def score_shape(n_head, seq_len):
    """Of all heads."""
    return (n_head, seq_len, seq_len), [
        ("the heads are missing.", (seq_len, seq_len)),
        ("the heads come first.", (seq_len, seq_len, n_head)),
        ("there is no batch: one sequence.", (1, n_head, seq_len, seq_len)),
    ]


def score_count(n_head, seq_len):
    """The number of scores of all heads."""
    T = seq_len
    return n_head * T * T, [
        ("it is the count of one head.", T * T),
        ("each query has a score for each key: the length counts twice.", n_head * T),
        *(
            (
                "half of the scores are left out; those that a causal mask hides count, too.",
                n_head * half // 2,
            )
            for half in (T * (T + 1), T * T, T * (T - 1))
        ),
    ]


def multiply_adds(d_model, n_head, d_ff, seq_len):
    """The multiply-adds of one layer, by part and in total."""
    counts = _products(d_model, d_ff, seq_len)
    total = sum(counts.values())
    return {
        name: (count, _of_product(name, count, d_model, n_head, d_ff, seq_len, 1))
        for name, count in counts.items()
    } | {
        "total": (
            total,
            [
                ("the weighted sum is missing.", total - counts["scores"]),
                ("the projections are missing.", total - counts["projections"]),
                ("the feed-forward part is missing.", total - counts["feed_forward"]),
                ("the total includes itself.", 2 * total),
                (
                    "the softmax doesn't count here: it is not a matrix product.",
                    total + 3 * n_head * seq_len**2,
                ),
            ],
        )
    }


def flops(d_model, n_head, d_ff, seq_len):
    """The FLOPs of one layer, by part and in total."""
    counts, per_head = _products(d_model, d_ff, seq_len), seq_len**2
    products, softmax = sum(counts.values()), 3 * n_head * per_head
    result = {
        name: (2 * count, _of_product(name, count, d_model, n_head, d_ff, seq_len, 2))
        for name, count in counts.items()
    }
    result["softmax"] = (
        softmax,
        [
            ("it is the softmax of one head.", 3 * per_head),
            ("a score costs three FLOPs (exponential, sum, division), not one.", n_head * per_head),
            (
                "a score costs three FLOPs; here they are doubled like multiply-adds, which they "
                "are not.",
                2 * softmax,
            ),
            ("each row has seq_len scores, and there are seq_len rows.", 3 * n_head * seq_len),
            ("a score costs three FLOPs; five are counted.", 5 * n_head * per_head),
        ],
    )
    result["total"] = (
        2 * products + softmax,
        [
            ("the softmax is missing.", 2 * products),
            (
                "it mixes both conventions: multiply-adds, and the FLOPs of the softmax. A "
                "multiply-add is two FLOPs.",
                products + softmax,
            ),
            (
                "the softmax is doubled, too; its three per score are already FLOPs.",
                2 * (products + softmax),
            ),
            ("the softmax is counted twice.", 2 * products + 2 * softmax),
            ("the softmax of one head is counted; there are n_head.", 2 * products + 3 * per_head),
        ],
    )
    return result


def model_flops(n_layer, d_model, n_head, d_ff, vocab_size, seq_len):
    """Layers, and the output layer."""
    products, softmax = sum(_products(d_model, d_ff, seq_len).values()), 3 * n_head * seq_len**2
    layer, output = 2 * products + softmax, 2 * seq_len * d_model * vocab_size
    right = n_layer * layer + output
    return right, [
        ("the output layer is missing.", right - output),
        ("a multiply-add of the output layer is two FLOPs.", right - output // 2),
        (
            "the output layer is counted at one position; it is at all seq_len.",
            right - output + 2 * d_model * vocab_size,
        ),
        ("there is one output layer, not one per layer.", n_layer * (layer + output)),
        ("there are n_layer layers; one is counted.", layer + output),
        ("the softmax is missing in the layers.", right - n_layer * softmax),
        ("the softmax is counted once; it is in each layer.", right - (n_layer - 1) * softmax),
        (
            "the layers are counted in multiply-adds, the output layer in FLOPs.",
            n_layer * products + output,
        ),
        (
            "the layers are counted in multiply-adds, with the FLOPs of the softmax.",
            n_layer * (products + softmax) + output,
        ),
        ("embeddings are looked up, which is not a matrix product.", right + output),
        (
            "there are two linear maps in the feed-forward part; three are counted, as with a "
            "gate.",
            right + n_layer * 2 * seq_len * d_model * d_ff,
        ),
        *(
            (
                f"{passes} FLOPs for each parameter and token are a rule of thumb{hint}: scores, "
                "weighted sum and softmax have no parameters, and biases, LayerNorms and "
                "embeddings no matrix products.",
                passes * seq_len * count,
            )
            for passes, hint in ((2, ""), (6, " for training, backward pass included"))
            for count in _model_counts(n_layer, d_model, d_ff, vocab_size, seq_len)
        ),
    ]


def kv_cache_bytes(n_layer, d_model, n_head, seq_len, *, n_kv_head=None, dtype="float16", batch=1):
    """Keys and values."""
    width, heads, size = d_model // n_head, n_kv_head or n_head, BYTES[dtype]
    right = 2 * n_layer * heads * width * seq_len * size * batch
    return right, [
        ("keys or values are missing: both are kept.", right // 2),
        (
            "n_kv_head is not used: there are n_kv_head heads of keys and values, each d_model / "
            "n_head wide.",
            right // heads * n_head,
        ),
        (
            "a head is assumed to be as wide as the model; the heads share its width.",
            right * n_head,
        ),
        ("the queries are counted, too; they are not kept.", right // 2 * 3),
        ("numbers are counted; each takes several bytes.", right // size),
        ("bits are counted; a byte has 8.", right * 8),
        *(
            (
                f"a number of {dtype} has {size} {'byte' if size == 1 else 'bytes'}; {other} are "
                "counted. Is dtype used?",
                right // size * other,
            )
            for other in (2, 4, 8)
            if other != size
        ),
        ("batch is not used.", right // batch),
        ("it is what one layer takes; there are n_layer.", right // n_layer),
        ("the cache grows with seq_len, not with its square.", right * seq_len),
        *(
            (
                f"it is in {unit if right >= divisor else 'MiB, GiB or the like'} and truncated; "
                "it should be in bytes.",
                right // divisor,
            )
            for divisor, unit in UNITS.items()
        ),
    ]


RIGHT = {
    function.__name__: function
    for function in (
        head_dim,
        weight_shapes,
        attention_parameters,
        layer_parameters,
        model_parameters,
        score_shape,
        score_count,
        multiply_adds,
        flops,
        model_flops,
        kv_cache_bytes,
    )
}


def _layer(d, f, b):
    return 4 * d * d + 4 * d * b + 2 * d * f + (f + d) * b + 2 * (d + d * b)


def _model_counts(n_layer, d, f, V, T):
    """Return what may be used as a model's number of parameters to estimate its FLOPs."""
    layers = 12 * d * d, 4 * d * d + 2 * d * f, _layer(d, f, 0), _layer(d, f, 1)
    embeddings = 0, V * d, 2 * V * d, (V + T) * d, (2 * V + T) * d
    return [
        n_layer * layer + table + norm
        for layer in layers
        for table in embeddings
        for norm in (0, d, 2 * d)
    ]


def _products(d, f, T):
    """Return the multiply-adds of one layer; the number of heads cancels."""
    return {
        "projections": 4 * T * d * d,
        "scores": T * T * d,
        "weighted_sum": T * T * d,
        "feed_forward": 2 * T * d * f,
    }


def _biases(bias, without, with_):
    return (
        ("the biases are missing.", without)
        if bias
        else ("there are biases with bias=False.", with_)
    )


def _of_product(name, count, d, h, f, T, factor):
    """Return mistakes in the count of one kind of product; factor: 1 for multiply-adds, 2 for
    FLOPs.
    """
    if factor == 2:
        causes = [
            ("multiply-adds are counted; each is two FLOPs.", count),
            ("a multiply-add is two FLOPs, and here it is four.", 4 * count),
        ]
    else:
        causes = [("FLOPs are counted; a multiply-add is one here.", 2 * count)]
    wrong = {
        "projections": [
            ("W_O is missing: there are four square matrices.", 3 * T * d * d),
            ("one matrix is counted; there are four.", T * d * d),
            ("each token goes through the matrices: seq_len is missing.", 4 * d * d),
            ("W_Q, W_K and W_V of one head are counted.", 3 * T * d * (d // h) + T * d * d),
            ("it is the count of one head.", 4 * T * d * (d // h)),
            (
                "each head is assumed to be as wide as the model; the heads share its width.",
                4 * T * d * d * h,
            ),
            (
                "each head is assumed to be as wide as the model; the heads share its width.",
                3 * T * d * d * h + T * d * d,
            ),
            ("the sum over in-features is missing: (m, k) times (k, n) takes m k n.", 4 * T * d),
            ("adding a bias is not a matrix product.", count + 4 * T * d),
        ],
        "feed_forward": [
            ("there are two linear maps; one is counted.", T * d * f),
            ("there are two linear maps; three are counted, as with a gate.", 3 * T * d * f),
            ("each token goes through them: seq_len is missing.", 2 * d * f),
            ("d_ff is not used: 4 d_model is used instead.", 8 * T * d * d),
            ("the second map goes from d_ff to d_model, not to d_ff.", T * d * f + T * f * f),
            ("adding a bias is not a matrix product.", count + T * (f + d)),
        ],
    }
    wrong["scores"] = wrong["weighted_sum"] = [
        ("each head is assumed to be as wide as the model; the heads share its width.", h * count),
        ("it is the count of one head.", T * T * (d // h)),
        ("the scores are counted; each is a dot product.", h * T * T),
        ("scores and weighted sum are counted together.", 2 * count),
        *(
            ("half is left out; the part that a causal mask hides counts, too.", half * d // 2)
            for half in (T * (T + 1), T * T, T * (T - 1))
        ),
        ("the length counts twice: each query has a score for each key.", T * d),
    ]
    return causes + [(sentence, factor * value) for sentence, value in wrong[name]]
