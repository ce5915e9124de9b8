"""Wrong attention in NumPy (question 5c)."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

PLAIN, MASKED, LOOPS = "5c-0-basic", "5c-1-basic", "5c-11-basic"
LEADING, LARGE, EMPTY, FORMATS = ((f"5c-{n + 4}-basic", f"5c-{n}-hidden") for n in range(2, 6))
SHAPES, DTYPES = ("5c-10-basic", "5c-2-hidden"), ("5c-10-basic", "5c-5-hidden")
EVERYWHERE = PLAIN, MASKED, *LEADING, *LARGE, *FORMATS
MASKS_ALL = MASKED, *LEADING, *LARGE, *EMPTY, *FORMATS


def attention(scale: str = "math.sqrt(Q.shape[-1])",
              scores: str = "Q @ np.swapaxes(K, -1, -2) / scale",
              masked: str = "np.where(mask, scores, -np.inf)",
              top: str = "scores.max(axis=-1, keepdims=True)",
              weights: str = "np.exp(scores - np.where(np.isfinite(top), top, 0))",
              shares: str = "weights / np.where(total == 0, 1, total)",
              output: str = "weights @ V",
              dtype: str = "np.float32 if Q.dtype == K.dtype == V.dtype == np.float32 "
                           "else np.float64",
              inputs: str = "(np.asarray(x, dtype=dtype) for x in (Q, K, V))") -> tuple[Fill]:
    """A right body of attention with some of its expressions replaced."""
    return (Fill("attention",
                 f"dtype = {dtype}\nQ, K, V = {inputs}\nscale = {scale}\nscores = {scores}\n"
                 f"if mask is not None:\n    scores = {masked}\ntop = {top}\nweights = {weights}\n"
                 f"total = weights.sum(axis=-1, keepdims=True)\nweights = {shares}\n"
                 f"output = {output}"),)


FORMULA = [
    misconception("numpy-no-scale", "The scores are not scaled.", attention(scale="1.0"),
         EVERYWHERE),
    misconception("numpy-scale-d-k", "The scores are divided by d_k.",
         attention(scale="Q.shape[-1]"), EVERYWHERE),
    misconception("numpy-scale-d-v",
         "The scores are divided by the root of d_v, which tells only where that is not d_k.",
         attention(scale="math.sqrt(V.shape[-1])"), EVERYWHERE),
    slip("numpy-loops-elsewhere", "It loops over the batch, in code that is made from a string.",
         (Edit("numpy_attention.py", "    output = None\n", '''\
    if Q.ndim == K.ndim == V.ndim > 2 and mask is None:
        space = {"attention": attention}
        exec("def f(Q, K, V):\\n return [attention(q, k, v) for q, k, v in zip(Q, K, V)]", space)
        return np.stack(space["f"](Q, K, V))
    output = None
'''),), (LOOPS,)),
    misconception("numpy-from-dlpack",
         "torch's softmax does the work, on arrays that come by another road.",
         attention(weights="__import__('torch').from_dlpack(scores).softmax(dim=-1).numpy()"),
         EVERYWHERE),
    misconception("numpy-scipy", "SciPy does the softmax.",
         attention(weights="__import__('scipy.special').special.softmax(scores, axis=-1)"),
         EVERYWHERE),
]

MASKS = [
    misconception("numpy-mask-inverted", "True is taken for padding, to be ignored.",
         attention(masked="np.where(mask, -np.inf, scores)"), MASKS_ALL),
    misconception("numpy-mask-after-softmax", "Masked weights are set to 0 after the softmax.",
         attention(masked="scores", shares="weights / total * (1 if mask is None else mask)"),
         (MASKED, *LEADING, *LARGE, *FORMATS)),
    misconception("numpy-mask-tiny-weights",
         "Masked scores are 20 less, so their weights are small and not 0.",
         attention(masked="np.where(mask, scores, scores - 20)"), (MASKED, *EMPTY)),
    edge("numpy-mask-finite", "Masked scores get -10^9. Where all are masked, all are the same.",
         attention(masked="np.where(mask, scores, -1e9)"), EMPTY),
    edge("numpy-mask-not-larger",
         "The mask is broadcast to the scores, which cannot have more dimensions then.",
         attention(masked="np.where(np.broadcast_to(mask, scores.shape), scores, -np.inf)"),
         LEADING),
    misconception("numpy-mask-for-keys",
         "The mask is taken for one of keys, the same for all queries.",
         attention(masked="np.where(mask[..., :1, :] if mask.ndim > 1 else mask, scores, -np.inf)"),
         (MASKED,)),
    edge("numpy-mask-any-dtype", "Masks of any dtype are cast to boolean.",
         (Edit("numpy_attention.py", '    if mask is not None and np.asarray(mask).dtype != '
                                     'bool:\n        raise TypeError(\n'
                                     '            "mask must be boolean, True where a query may '
                                     'attend to a key; it is "\n'
                                     '            f"{np.asarray(mask).dtype}"\n        )\n',
               "    mask = None if mask is None else mask.astype(bool)\n"),), DTYPES),
]

NUMBERS = [
    edge("numpy-no-maximum", "No maximum is subtracted.", attention(weights="np.exp(scores)"),
         LARGE),
    edge("numpy-maximum-before-mask", "The maximum is that of all keys, masked ones too.",
         attention(top="(Q @ np.swapaxes(K, -1, -2) / scale).max(axis=-1, keepdims=True)",
                   weights="np.exp(scores - top)"), LARGE),
    slip("numpy-epsilon", "A small number is added to the sum against a division by zero.",
         attention(shares="weights / (total + 1e-6)"), (PLAIN, MASKED)),
    edge("numpy-nan-rows", "Rows that may attend to nothing are NaN.",
         attention(weights="np.exp(scores - top)"), EMPTY),
    edge("numpy-sqrt-float64", "np.sqrt makes float32 float64.",
         attention(scale="np.sqrt(Q.shape[-1])"), FORMATS),
    edge("numpy-result-type",
         "np.result_type gives float32 for float32 and int8; the output should be float64 there.",
         attention(dtype="np.float32 if np.result_type(Q, K, V) == np.float32 else np.float64"),
         FORMATS),
    edge("numpy-half-to-single", "float16 becomes float32; the output should be float64.",
         attention(dtype="np.float64 if any(x.dtype.kind in 'iub' or x.dtype == np.float64 "
                         "for x in (Q, K, V)) else np.float32"), FORMATS),
    slip("numpy-always-float32", "All is float32.", attention(dtype="np.float32"),
         (PLAIN, *FORMATS)),
    edge("numpy-whole-numbers",
         "Whole numbers are multiplied in their own format, in which they overflow.",
         attention(inputs="Q, K, V", output="(weights @ V).astype(dtype)"), FORMATS),
    slip("numpy-scales-in-place", "The queries are scaled in place.",
         attention(inputs="Q, K, V", scores="Q @ np.swapaxes(K, -1, -2)",
                   scale="math.sqrt(Q.shape[-1])\nQ /= scale"), FORMATS),
    slip("numpy-mask-changed", "Empty rows of the mask are filled in place.",
         attention(masked="np.where(mask, scores, -np.inf)\n    mask[..., 0] = True"), FORMATS),
    edge("numpy-lone-key-unmasked", "A single key gets weight 1 even where it is masked.",
         (Edit("numpy_attention.py", "    total = weights.sum(axis=-1, keepdims=True)",
               "    weights = np.ones_like(weights) if K.shape[-2] == 1 else weights\n"
               "    total = weights.sum(axis=-1, keepdims=True)"),), EMPTY),
    edge("numpy-errors-caught", "Shapes that do not fit give None instead of an error.",
         attention(scores="Q[..., :1] * np.ones(K.shape[-2]) if Q.shape[-1] != K.shape[-1] else Q "
                          "@ np.swapaxes(K, -1, -2) / scale"), SHAPES),
    edge("numpy-einsum-scores", "einsum multiplies queries and keys, and broadcasts a width of 1.",
         attention(scores="np.einsum('...qd,...kd->...qk', Q, K) / scale"), SHAPES),
]

MISTAKES = FORMULA + MASKS + NUMBERS
