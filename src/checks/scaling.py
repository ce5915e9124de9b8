"""The scaling experiment in float64 with NumPy, and the mistakes in it that are known by name. The checks of question 5b share
it."""
import math

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.attention_formula import softmax
from checks.softmax_attention import numpy_alone

KINDS = ("unscaled", "scaled")
QUANTITIES = ("variance", "entropy", "saturation", "gradient_norm")
TOLERANCE, ZERO = 1e-4, 1e-7        # relative; and absolute, for what is 0 but for rounding: the root of 1e-16 is 1e-8


def draw(d_k: int, n_query: int, n_key: int, seed: int, how: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Queries (n_query, d_k) and keys (n_key, d_k); `how` names a mistake."""
    rng = np.random.RandomState(seed) if how == "old" else np.random.default_rng(0 if how == "seed 0" else seed)
    normal = rng.standard_normal
    if how == "keys first":
        keys = normal((n_key, d_k))
        return normal((n_query, d_k)), keys
    if how == "uniform":
        return rng.random((n_query, d_k)), rng.random((n_key, d_k))
    if how == "again":          # another draw for the scaled scores
        normal((n_query, d_k)), normal((n_key, d_k))
    if how == "transposed":
        return normal((d_k, n_query)).T, normal((d_k, n_key)).T
    if how == "same seed":
        return normal((n_query, d_k)), np.random.default_rng(seed).standard_normal((n_key, d_k))
    return normal((n_query, d_k)), normal((n_key, d_k))


def scores_of(kind: str, d_k: int, n_query: int, n_key: int, seed: int, how: str = "", power: float = 0.5) -> np.ndarray:
    """q . k of all pairs, (n_query, n_key), for "scaled" divided by d_k ** power."""
    queries, keys = draw(d_k, n_query, n_key, seed, how)
    return queries @ keys.T / (d_k ** power if kind == "scaled" else 1.0)


def variance(scores: np.ndarray, ddof: int = 0) -> float:
    """Of all scores."""
    return float(scores.var(ddof=ddof)) if scores.size > ddof else 0.0


def entropies(p: np.ndarray) -> np.ndarray:
    """In nats, of each row of weights (n_query, n_key)."""
    return -(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1)


def jacobians(p: np.ndarray) -> np.ndarray:
    """diag(p) - p p^T of each row, (n_query, n_key, n_key)."""
    return p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :]


def gradient_norms(p: np.ndarray) -> np.ndarray:
    """The Frobenius norm of each row's Jacobian."""
    return np.sqrt((jacobians(p) ** 2).sum(axis=(1, 2)))


def of_weights(p: np.ndarray) -> dict[str, float]:
    """The three quantities that are worked out from weights, (n_query, n_key)."""
    saturated = p.max(axis=1) > 0.9
    return {"entropy": float(entropies(p).mean()), "saturation": float(saturated.mean()),
            "gradient_norm": float(np.median(gradient_norms(p)))}


def measure(scores: np.ndarray) -> dict[str, float]:
    """The four quantities."""
    return {"variance": variance(scores), **of_weights(softmax(scores))}


def mistaken(kind: str, quantity: str, sizes: dict, got: dict[str, float]) -> list:
    """Known mistakes as (sentence, function that works out what they give, or None) for one quantity of one kind of scores;
    `got` has all quantities that were returned."""
    right = scores_of(kind, **sizes)
    d_k, p = sizes["d_k"], softmax(right)
    flipped = scores_of(KINDS[kind == "unscaled"], **sizes)
    others = [
        ("unscaled and scaled have changed places, or one is used for both.", lambda: flipped),
        ("the keys are drawn before the queries.", lambda: scores_of(kind, **sizes, how="keys first")),
        ("the seed is not used.", lambda: scores_of(kind, **sizes, how="seed 0")),
        ("the numbers are drawn by np.random.seed or RandomState; use np.random.default_rng(seed).",
         lambda: scores_of(kind, **sizes, how="old")),
        ("the numbers are drawn evenly from 0 to 1; use rng.standard_normal.", lambda: scores_of(kind, **sizes, how="uniform")),
        ("queries and keys are drawn in the shape (d_k, n) and transposed; draw them as (n, d_k).",
         lambda: scores_of(kind, **sizes, how="transposed")),
        ("queries and keys are drawn by two generators of the same seed; use one for both.",
         lambda: scores_of(kind, **sizes, how="same seed")),
        ("unscaled and scaled scores are made from two draws; both should be of the same one.",
         lambda: scores_of(kind, **sizes, how="again")),
        ("the scores are divided by d_k; it should be its square root.",
         lambda: right / d_k if kind == "unscaled" else flipped / d_k),
        ("the scores are multiplied by sqrt(d_k); they should be divided.",
         lambda: right * (d_k if kind == "scaled" else math.sqrt(d_k))),
    ]
    def from_scores(values):
        """Wrong scores are in all that is worked out from them: one number alone may be right, or the same, by chance."""
        agree = quantity == "variance" or all(close(got.get(name, math.nan), value) for name, value in values.items()
                                              if name != "variance")
        return values[quantity] if agree else None

    causes = [(sentence, lambda make=make: from_scores(measure(make()))) for sentence, make in others]
    if quantity != "variance":
        for axis, over in ((0, "the queries"), (None, "all scores at once")):
            causes.append((f"the softmax goes over {over}; it should go over the keys, axis=1.",
                           lambda axis=axis: from_scores(of_weights(softmax(right, axis)))))
    if quantity == "variance":
        causes += [("it is the sample variance; np.var divides by the number of scores, ddof=0.", lambda: variance(right, 1)),
                   ("it is the standard deviation.", lambda: float(right.std())),
                   ("it is the variance of the weights; it should be that of the scores.", lambda: float(p.var())),
                   ("it is the variance of the scores of a query, averaged; it should be that of all scores.",
                    lambda: float(right.var(axis=1).mean())),
                   ("it is the mean of the squares, from which the square of the mean has not been subtracted.",
                    lambda: float((right ** 2).mean()))]
    if quantity == "entropy":
        rows = entropies(p)
        causes += [("the entropy is in bits; use the natural logarithm.", lambda: float(rows.mean() / math.log(2))),
                   ("the entropies of the queries are added up; average them.", lambda: float(rows.sum())),
                   ("it is the median over the queries; it should be their mean.", lambda: float(np.median(rows))),
                   ("the mean goes over queries and keys; add up over the keys, and average over the queries.",
                    lambda: float(rows.mean() / p.shape[1])),
                   ("the minus sign is missing.", lambda: float(-rows.mean())),
                   ("the entropy is divided by the largest one, ln n_key.",
                    lambda: float(rows.mean() / math.log(max(2, p.shape[1]))))]
    if quantity == "saturation":
        top = p.max(axis=1)
        causes += [(f"the limit is {limit:g}; it should be 0.9.",
                    lambda limit=limit: float((top > limit).mean())) for limit in (0.5, 0.8, 0.95, 0.99)]
        causes += [("the queries are counted; it should be their share.", lambda: float((top > 0.9).sum())),
                   ("it is a percentage; it should be a share, from 0 to 1.", lambda: float(100 * (top > 0.9).mean())),
                   ("the share is that of all weights; it should be that of the queries.", lambda: float((p > 0.9).mean())),
                   ("the largest weights are averaged; count those above 0.9.", lambda: float(top.mean()))]
    if quantity == "gradient_norm":
        norms, J = gradient_norms(p), jacobians(p)
        causes += [("it is the mean over the queries; it should be the median.", lambda: float(norms.mean())),
                   ("it is the spectral norm, the largest singular value; it should be the Frobenius norm.",
                    lambda: float(np.median(np.linalg.norm(J, 2, axis=(1, 2))))),
                   ("it is the square of the Frobenius norm; the root is missing.", lambda: float(np.median(norms) ** 2)),
                   ("only the diagonal of the Jacobian is used.",
                    lambda: float(np.median(np.sqrt(((p - p ** 2) ** 2).sum(axis=1))))),
                   ("it is the trace of the Jacobian; it should be the Frobenius norm.",
                    lambda: float(np.median((p - p ** 2).sum(axis=1)))),
                   ("it is the sum of the absolute entries; it should be the Frobenius norm.",
                    lambda: float(np.median(np.abs(J).sum(axis=(1, 2))))),
                   ("it is the norm of all Jacobians together; it should be the median of their norms.",
                    lambda: float(np.sqrt((J ** 2).sum()))),
                   ("it is the largest column sum, which np.linalg.norm(J, 1) is; it should be the Frobenius norm.",
                    lambda: float(np.median(np.abs(J).sum(axis=1).max(axis=1)))),
                   ("the root of d_k is in the Jacobian, too; it should be that of the softmax alone.",
                    lambda: float(np.median(norms) / math.sqrt(d_k)))]
    return causes


@probe(uses=(numpy_alone,))
def experiment(calls):
    """scaling_experiment for each of the keyword arguments: the result, warnings, and the seconds that it took, of the processor
    or of all time, whichever is less. torch computes nothing in the meantime."""
    import time
    import warnings
    from submission.numpy_attention import scaling_experiment
    results = []
    for arguments in calls:
        with warnings.catch_warnings(record=True) as caught, numpy_alone():
            warnings.simplefilter("always")
            started = time.perf_counter(), time.process_time()
            result = scaling_experiment(**arguments)
            seconds = min(time.perf_counter() - started[0], time.process_time() - started[1])
        # Apple's library for products raises flags without a reason, and NumPy warns of them.
        texts = [str(one.message) for one in caught if issubclass(one.category, RuntimeWarning)]
        texts = [text for text in texts if "in matmul" not in text]
        results.append({"result": result, "warnings": texts[:3], "seconds": seconds})
    return results


def close(got: float, expected: float) -> bool:
    """Whether a number is as near as it should be."""
    return abs(got - expected) <= TOLERANCE * abs(expected) + ZERO


def require_measured(student, *calls: dict) -> list[Answer]:
    """Run the experiment for each of the keyword arguments (those left out have their defaults), and compare what it returns.

    Returns:
        What the probe returned for each.

    Raises:
        Failed: something is wrong; names the likely cause.
    """
    answers = student.run(experiment, calls=list(calls)).items(len(calls))
    for call, answer in zip(calls, answers):
        name = f"scaling_experiment({', '.join(f'{key}={value}' for key, value in call.items())})"
        sizes = {"n_query": 512, "n_key": 64, "seed": 0, **call}
        warned = f" NumPy warned: {'; '.join(texts)}." if (texts := answer["warnings"].texts()) else ""
        result = answer["result"].named(name).present().entries()
        if not result:
            raise WrongAnswer(f"{name} returned an empty dict. It should have two entries, 'unscaled' and 'scaled'.")
        for kind in KINDS:
            _require_kind(name, result, kind, sizes, warned)
        if warned:
            raise WrongAnswer(f"{name} is right, but there should be no warning.{warned}")
    return answers


def _require_kind(name, result, kind, sizes, warned):
    if kind not in result:
        raise WrongAnswer(f"{name} has no entry {kind!r}; it has {', '.join(map(repr, sorted(result)[:6]))}.")
    entries, expected = result[kind].named(f"{name}[{kind!r}]").entries(), measure(scores_of(kind, **sizes))
    found = {}
    for quantity in QUANTITIES:
        place = f"{name}[{kind!r}][{quantity!r}]"
        if quantity not in entries:
            raise WrongAnswer(f"{name}[{kind!r}] has no entry {quantity!r}; it has "
                              f"{', '.join(map(repr, sorted(entries)[:6])) or 'none'}.")
        try:
            found[quantity] = entries[quantity].named(place).number()
        except WrongAnswer as wrong:
            raise WrongAnswer(f"{wrong.message}{warned}") from None
    for quantity, got in found.items():
        if close(got, expected[quantity]):
            continue
        message = f"{name}[{kind!r}][{quantity!r}]: expected {expected[quantity]:.6g}, got {got:.6g}; a relative error of "
        message += f"{TOLERANCE:g} is allowed.{warned}"
        with np.errstate(all="ignore"):
            values = ((sentence, work()) for sentence, work in mistaken(kind, quantity, sizes, found))
            cause = next((sentence for sentence, value in values if value is not None and close(got, value)), None)
        raise WrongAnswer(f"{message}\nLikely cause: {cause}" if cause else message)
