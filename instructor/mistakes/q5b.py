"""Wrong scaling experiments (question 5b)."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

SMALL, SIZES, EDGES = "5b-1-basic", "5b-2-hidden", "5b-3-basic"


def scaling(draw: str = "q = rng.standard_normal((n_query, d_k))\n"
                        "k = rng.standard_normal((n_key, d_k))",
            generator: str = "np.random.default_rng(seed)", scores: str = "q @ k.T / divisor",
            divisor: str = "math.sqrt(d_k)",
            top: str = "scores.max(axis=1, keepdims=True)", axis: str = "1",
            variance: str = "scores.var()",
            entropy: str = "-(p * np.log(np.where(p > 0, p, 1))).sum(axis=1).mean()",
            saturation: str = "(p.max(axis=1) > 0.9).mean()",
            norm: str = "np.median(np.sqrt((J ** 2).sum(axis=(1, 2))))",
            jacobians: str = "p[:, :, None] * np.eye(n_key) - p[:, :, None] * p[:, None, :]",
            names: str = '"unscaled", "scaled"',
            keys: str = '"variance", "entropy", "saturation", "gradient_norm"',
            number: str = "float") -> tuple[Fill]:
    """A right body of scaling_experiment with some of its expressions replaced."""
    return (Fill("scaling_experiment", f"rng = {generator}\n{draw}\n"
                                       f"for name, divisor in zip(({names}), (1.0, {divisor})):\n"
                            f"    scores = {scores}\n    p = np.exp(scores - {top})\n"
                            f"    p = p / p.sum(axis={axis}, keepdims=True)\n    J = {jacobians}\n"
                            f"    values = {variance}, {entropy}, {saturation}, {norm}\n"
                            f"    result[name] = {{key: {number}(value) for key, value in "
                            f"zip(({keys}), values)}}"),)


MISTAKES = [
    slip("scaling-sample-variance", "The variance is the sample variance.",
         scaling(variance="scores.var(ddof=min(1, scores.size - 1))"), (SMALL,)),
    slip("scaling-deviation", "The standard deviation is taken for the variance.",
         scaling(variance="scores.std()"), (SMALL, SIZES)),
    slip("scaling-bits", "The entropy is in bits.",
         scaling(entropy="-(p * np.log2(np.where(p > 0, p, 1))).sum(axis=1).mean()"),
         (SMALL, SIZES)),
    slip("scaling-entropy-sum", "The entropies of the queries are added up.",
         scaling(entropy="-(p * np.log(np.where(p > 0, p, 1))).sum()"), (SMALL, SIZES)),
    edge("scaling-zero-log-zero", "0 ln 0 becomes NaN.",
         scaling(entropy="-(p * np.log(p)).sum(axis=1).mean()"), (EDGES,)),
    slip("scaling-log-epsilon",
         "A small number is added inside the logarithm, too large for what it is to mend.",
         scaling(entropy="-(p * np.log(p + 1e-3)).sum(axis=1).mean()"), (SMALL, SIZES)),
    slip("scaling-half", "Weights above 0.5 count as saturated.",
         scaling(saturation="(p.max(axis=1) > 0.5).mean()"), (SMALL, SIZES)),
    misconception("scaling-share-of-weights", "Saturation is the share of all weights.",
          scaling(saturation="(p > 0.9).mean()"), (SMALL, SIZES)),
    slip("scaling-mean-norm", "The gradient norm is averaged.",
         scaling(norm="np.sqrt((J ** 2).sum(axis=(1, 2))).mean()"), (SMALL, SIZES)),
    misconception("scaling-spectral", "The norm is the spectral one.",
          scaling(norm="np.median(np.linalg.norm(J, 2, axis=(1, 2)))"), (SMALL, SIZES)),
    slip("scaling-squared-norm", "The root of the norm is missing.",
         scaling(norm="np.median((J ** 2).sum(axis=(1, 2)))"), (SMALL, SIZES)),
    misconception("scaling-diagonal", "The Jacobian is taken for diagonal.",
          scaling(jacobians="(p - p ** 2)[:, :, None] * np.eye(n_key)"), (SMALL, SIZES)),
    slip("scaling-short-formula", "The formula of the norm that subtracts nearly equal numbers, "
                                  "whose root is NaN now and then.",
         scaling(norm="np.median(np.sqrt((p ** 2).sum(1) - 2 * (p ** 3).sum(1) + (p ** 2).sum(1) "
                      "** 2))"), (EDGES,)),
    slip("scaling-keys-first", "The keys are drawn first.",
         scaling(draw="k = rng.standard_normal((n_key, d_k))\n"
                      "q = rng.standard_normal((n_query, d_k))"), (SMALL, SIZES)),
    slip("scaling-seed-unused", "The seed is not used.",
         scaling(generator="np.random.default_rng(0)"), (SMALL, SIZES)),
    slip("scaling-old-generator", "The numbers come from np.random.RandomState.",
         scaling(generator="np.random.RandomState(seed)"), (SMALL, SIZES)),
    misconception("scaling-d-k",
          "The scores are divided by d_k.", scaling(divisor="d_k"), (SMALL, SIZES)),
    slip("scaling-swapped", "Unscaled and scaled are swapped.",
         scaling(names='"scaled", "unscaled"'), (SMALL, SIZES)),
    misconception("scaling-over-queries", "The softmax goes over the queries.",
          scaling(top="scores.max(axis=0, keepdims=True)", axis="0"), (SMALL, SIZES)),
    edge("scaling-no-maximum",
         "The softmax subtracts no maximum, or not each row's own: exponentials overflow, or all "
         "of a row are 0.", scaling(top="0"), (EDGES,)),
    slip("scaling-float32-alone",
         "All is float32, which shows where the largest weights are nearly 1.",
         scaling(scores="q.astype(np.float32) @ k.astype(np.float32).T / divisor"), (EDGES,)),
    edge("scaling-root-epsilon",
         "A small number under the root: a seventh of the norm at d_k = 4096.",
         scaling(norm="np.median(np.sqrt((J ** 2).sum(axis=(1, 2)) + 1.5e-13))"), (EDGES,)),
    slip("scaling-other-names", "The gradient norm is called gradient.",
         scaling(keys='"variance", "entropy", "saturation", "gradient"'), (SMALL, SIZES)),
    slip("scaling-rounded", "The numbers are rounded to two digits.",
         scaling(number="(lambda x: round(float(x), 2))"), (SMALL, SIZES)),
    misconception("scaling-torch", "torch does the work.", scaling(
        draw="import torch\nq, k = (torch.Tensor(rng.standard_normal((n, d_k)).tolist()).double() "
             "for n in (n_query, n_key))",
        scores="(q @ k.T / divisor).numpy()"), (SMALL, SIZES)),
    slip("scaling-memory",
         "Queries and keys are repeated for all pairs, and multiplied entry by entry.",
         scaling(scores="(np.repeat(q[:, None], n_key, axis=1) * np.repeat(k[None], n_query, "
                        "axis=0)).sum(axis=-1) / divisor"), (SIZES, EDGES)),
    slip("scaling-slow", "The Jacobians are filled in and added up one entry at a time.",
         scaling(jacobians='''np.zeros((n_query, n_key, n_key))
    for n in range(n_query):
        for i in range(n_key):
            for j in range(n_key):
                J[n, i, j] = (i == j) * p[n, i] - p[n, i] * p[n, j]''',
                 norm='''np.median([np.sqrt(sum(np.square(J[n, i, j]) \
for i in range(n_key) for j in range(n_key)))
                                             for n in range(n_query)])'''), (SIZES, EDGES)),
    slip("scaling-entropy-median", "The median of the entropies is taken; it should be their mean.",
         scaling(entropy="np.median(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=1))"),
         (SMALL, SIZES)),
    misconception("scaling-largest-weights",
                  "The largest weights are averaged; count those above 0.9.",
                  scaling(saturation="p.max(axis=1).mean()"), (SMALL, SIZES)),
    slip("scaling-one-seed-twice",
         "Queries and keys come from two generators with the same seed; use one for both.",
         scaling(draw="q = rng.standard_normal((n_query, d_k))\n"
                      "k = np.random.default_rng(seed).standard_normal((n_key, d_k))"),
         (SMALL, SIZES)),
    slip("scaling-kept", "The result of the first call is kept for all seeds.",
         (Edit("numpy_attention.py", "    result = {}\n",
               "    result = scaling_experiment.__dict__.setdefault("
               "str((d_k, n_query, n_key)), {})\n"
               "    if result:\n        return result\n"),), (SMALL, SIZES)),
]
