"""Wrong counts of parameters, operations and bytes (question 6a)."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

SHAPES, PARAMETERS, OPERATIONS, CACHE = (f"6a-{n}-basic" for n in range(4))
ANY, UNUSUAL = "6a-4-hidden", "6a-5-basic"


def edit(old: str, new: str) -> tuple[Edit]:
    """Another line in accounting.py."""
    return (Edit("accounting.py", old, new),)


SIZES = [
    slip("accounting-true-division", "The width of a head is a float.",
         edit("return d_model // n_head", "return d_model / n_head"),
         (SHAPES, OPERATIONS, CACHE, ANY, UNUSUAL)),
    edge("accounting-int-of-float",
         "A quotient is a float that is made an int again; it has too few digits.",
         edit("return d_model // n_head", "return int(d_model / n_head)"), (UNUSUAL,)),
    misconception("accounting-width-of-all",
         "Each head is taken to be as wide as the model; the heads share its width.",
         edit("return d_model // n_head", "return d_model"), (SHAPES, OPERATIONS, CACHE, ANY)),
    slip("accounting-shapes-transposed", "Shapes are (out, in), as nn.Linear stores them.",
         edit("one, all_heads = (d_model, head_dim(d_model, n_head))",
              "one, all_heads = (head_dim(d_model, n_head), d_model)"), (SHAPES, ANY)),
    misconception("accounting-causal-scores",
         "Only the scores that a causal mask leaves are counted; the others are computed, too.",
         edit("    return n_head * seq_len * seq_len",
              "    return n_head * seq_len * (seq_len + 1) // 2"), (SHAPES, OPERATIONS, ANY)),
    edge("accounting-numpy-overflows",
         "NumPy's or torch's integers are made ints after they have overflowed.",
         edit("    return n_head * seq_len * seq_len",
              "    import numpy as np\n    return int(np.prod((n_head, seq_len, seq_len)))"),
         (UNUSUAL,)),
]

PARAMETER = [
    misconception("accounting-no-output-projection",
         "W_O is missing: attention has four square matrices.",
         edit("return 4 * (d_model * d_model + bias * d_model)",
              "return 3 * (d_model * d_model + bias * d_model)"), (PARAMETERS, ANY)),
    misconception("accounting-attention-as-a-layer",
         "12 d_model^2 is a rule of thumb for a whole layer with d_ff = 4 d_model, without biases; "
         "attention has four square matrices.",
         edit("return 4 * (d_model * d_model + bias * d_model)", "return 12 * d_model * d_model"),
         (PARAMETERS, ANY)),
    slip("accounting-norms-keep-bias", "With bias=False, LayerNorms still have a bias.",
         edit("    norm = d_model + bias * d_model\n", "    norm = 2 * d_model\n"), (PARAMETERS,)),
    slip("accounting-no-final-norm", "The final LayerNorm is missing.",
         edit("+ final_norm\n        + output", "+ output"), (PARAMETERS, ANY)),
    slip("accounting-bias-not-passed-on", "bias is not passed on to the layers.",
         edit("n_layer * layer_parameters(d_model, n_head, d_ff, bias=bias)",
              "n_layer * layer_parameters(d_model, n_head, d_ff)"), (PARAMETERS, ANY)),
    slip("accounting-kept-by-size",
         "A count is kept from an earlier call with the same sizes, whatever the options are.",
         (*edit("BYTES = {", "KEPT = {}\nBYTES = {"),
          *edit("    embeddings = (vocab_size", "    key = n_layer, d_model, n_head, d_ff, "
                "vocab_size, block_size\n    if key in KEPT:\n        return KEPT[key]\n"
                "    embeddings = (vocab_size"),
          *edit("    return (\n        embeddings", "    KEPT[key] = (embeddings"),
          *edit("        + final_norm\n        + output\n    )",
                "        + final_norm + output)\n    return KEPT[key]")), (PARAMETERS, ANY)),
]

OPERATION = [
    misconception("accounting-flops-for-multiply-adds",
         "multiply_adds counts FLOPs; a multiply-add is one here.",
         edit('return counts | {"total": sum(counts.values())}',
              'counts = {name: 2 * count for name, count in counts.items()}\n'
              '    return counts | {"total": sum(counts.values())}'), (OPERATIONS, ANY)),
    slip("accounting-total-without-softmax", "The total lacks the softmax.",
         edit('    counts["total"] += counts["softmax"]\n', ""), (OPERATIONS, ANY)),
    misconception("accounting-last-position-alone",
         "The output layer is counted at the last position alone, as in generation.",
         edit('["total"]\n        + 2 * seq_len * d_model * vocab_size',
              '["total"] + 2 * d_model * vocab_size'), (OPERATIONS, ANY)),
    misconception("accounting-two-for-each-parameter",
         "Two FLOPs for each parameter and token are a rule of thumb: scores, weighted sum and "
         "softmax have no parameters, and biases, LayerNorms and embeddings no matrix products.",
         edit('return (\n        n_layer * flops(d_model, n_head, d_ff, seq_len)["total"]\n'
              '        + 2 * seq_len * d_model * vocab_size',
              'return (2 * seq_len * model_parameters(n_layer, d_model, n_head, d_ff, vocab_size, '
              'seq_len)'), (OPERATIONS, ANY)),
]

BYTES = "return 2 * n_layer * n_kv_head * width * seq_len * BYTES[dtype] * batch"
KEPT = [
    misconception("kv-cache-of-keys-alone", "Keys or values are missing: both are kept.",
         edit(BYTES, BYTES.replace("2 * ", "")), (CACHE, ANY)),
    misconception("kv-cache-wider-heads",
         "Fewer heads of keys and values are not used, or wider; each has d_model / n_head "
         "numbers.", edit(BYTES, BYTES.replace("n_kv_head * width", "d_model")), (CACHE, ANY)),
    slip("kv-cache-of-one-sequence", "batch is not used.",
         edit(BYTES, BYTES.replace(" * batch", "")), (CACHE, ANY)),
    edge("kv-cache-zero-is-none", "n_kv_head=0 is taken for None.",
         edit("    if n_kv_head is None:\n        n_kv_head = n_head\n",
              "    n_kv_head = n_kv_head or n_head\n"), (UNUSUAL,)),
    edge("kv-cache-groups-need-not-divide", "n_kv_head need not divide n_head.",
         edit("if n_head % n_kv_head:", "if False:"), (UNUSUAL,)),
    edge("kv-cache-key-error", "An unknown dtype raises KeyError.",
         edit("    if dtype not in BYTES:\n", "    if False:\n"), (UNUSUAL,)),
]

REFUSED = [  # the general ones last: a student reads the first that fits
    edge("accounting-true-is-a-size", "True is taken for 1.",
         edit("type(size) is not int", "not isinstance(size, int)"), (UNUSUAL,)),
    edge("accounting-whole-floats", "8.0 is taken for 8.",
         edit("type(size) is not int or size < 1",
         "isinstance(size, (bool, str)) or size < 1 or size != int(size)"), (UNUSUAL,)),
    edge("accounting-layer-takes-any-heads",
         "n_head makes no difference to the parameters, so it is not checked.",
         edit("require_sizes(d_model=d_model, n_head=n_head, d_ff=d_ff)",
              "require_sizes(d_model=d_model, d_ff=d_ff)"), (UNUSUAL,)),
    slip("accounting-sizes-unchecked", "No size is refused.", (Fill("require_sizes", "pass"),),
         (UNUSUAL,)),
]

MISTAKES = SIZES + PARAMETER + OPERATION + KEPT + REFUSED
