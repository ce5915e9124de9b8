"""Results of known mistakes in the functions of fixes.py that change logits.

Each function returns (sentence, result): the tokens kept (True) or the logits.
"""

import numpy as np

from instructor.checks.problem6.q6e.logits import before, completing, penalized, softmax, top_k


def top_k_mistakes(logits: np.ndarray, k: int) -> list:
    """Return known mistakes with the tokens they keep."""
    V = logits.shape[-1]
    k = min(k, V)
    flat = np.sort(logits.ravel())
    return [
        (
            "the k-th largest itself is dropped: keep those that are at least as large.",
            logits > np.sort(logits, axis=-1)[..., -k, None],
        ),
        ("one token too many is kept.", top_k(logits, k + 1)),
        ("one token too few is kept.", top_k(logits, max(1, k - 1))),
        ("the least probable tokens are kept.", top_k(-logits, k)),
        (
            "the k largest of all rows together are kept. Filter each row separately.",
            logits >= flat[-k],
        ),
        (
            "the k-th largest of the first row is used for all rows.",
            logits >= np.sort(logits.reshape(-1, V)[0])[-k],
        ),
        ("nothing is excluded.", np.ones_like(logits, bool)),
    ]


def top_p_mistakes(logits: np.ndarray, p: float) -> list:
    """Return known mistakes with the tokens they keep."""
    probabilities, ahead = softmax(logits), before(logits)
    order = np.argsort(-logits, axis=-1, kind="stable")
    in_order = np.take_along_axis(ahead, order, axis=-1) < p
    shifted = (
        "the token that reaches p is dropped, too. A token stays if those before it sum to "
        "less than p: take the cumulative sum without the token itself."
    )
    later = np.concatenate((np.ones_like(in_order[..., :1]), in_order[..., :-1]), axis=-1)
    return [
        (shifted, ahead + probabilities <= p),
        (shifted, ahead + probabilities < p),
        (shifted, (ahead + probabilities <= p) | (ahead == 0)),
        (
            "one token too many is kept: the one after that which reaches p.",
            np.take_along_axis(later, np.argsort(order, axis=-1), axis=-1),
        ),
        (
            "the mask is for the sorted logits, but is applied to the unsorted ones. Map it back "
            "with scatter.",
            in_order,
        ),
        (
            "the mask is mapped back with the wrong index: order[i] says where the i-th largest "
            "came from.",
            np.take_along_axis(in_order, order, axis=-1),
        ),
        (
            "of equally probable tokens, the one with the larger index is taken first. Sort with "
            "stable=True.",
            before(logits, True) < p,
        ),
        ("the tokens are summed starting with the least probable.", 1 - ahead - probabilities < p),
        ("each probability is compared with p, without a sum.", probabilities >= p),
        (
            "each probability is compared with p times the largest, without a sum.",
            probabilities >= p * probabilities.max(axis=-1, keepdims=True),
        ),
        (
            "all rows keep as many tokens as the one that needs most. Filter each row separately.",
            np.take_along_axis(
                np.broadcast_to(in_order.any(axis=tuple(range(in_order.ndim - 1))), in_order.shape),
                np.argsort(order, axis=-1),
                axis=-1,
            ),
        ),
        ("tokens are dropped that have a probability of less than 1 - p.", probabilities >= 1 - p),
        (
            "all tokens that are as probable as the last one stay. Of those, the ones with smaller "
            "indices should come first.",
            probabilities >= np.where(ahead < p, probabilities, 1).min(axis=-1, keepdims=True),
        ),
        ("nothing is excluded.", np.ones_like(logits, bool)),
    ]


def penalty_mistakes(logits: np.ndarray, tokens: list[int], penalty: float) -> list:
    """Return known mistakes with their logits."""
    V = len(logits)
    count = np.bincount(tokens, minlength=V) if tokens else np.zeros(V)
    once = np.minimum(count, 1)
    right = penalized(logits, tokens, penalty)

    def times(power):
        return np.where(logits > 0, logits / penalty**power, logits * penalty**power)

    return [
        (
            "negative logits are divided, too, which makes these tokens more probable. Multiply "
            "them.",
            logits / penalty**once,
        ),
        ("all logits are multiplied. Positive ones are divided.", logits * penalty**once),
        (
            "positive logits are multiplied and negative ones divided. It should be the other way "
            "round.",
            np.where(logits > 0, logits * penalty**once, logits / penalty**once),
        ),
        (
            "a token that occurs several times is penalized several times. Once is enough, "
            "however often it occurs.",
            times(count),
        ),
        (
            "negative logits are divided, once for each time that a token occurs.",
            logits / penalty**count,
        ),
        ("the penalty is subtracted.", logits - penalty * once),
        (
            "the logarithm of the penalty is subtracted. Divide or multiply the logit itself.",
            logits - np.log(penalty) * once,
        ),
        (
            "penalty - 1 is subtracted for each time that a token occurs.",
            logits - (penalty - 1) * count,
        ),
        (
            "each logit is reduced by the same share of its size. Divide positive ones.",
            logits - np.abs(logits) * (penalty - 1) * once,
        ),
        (
            "the penalty is applied to probabilities; it should be applied to logits.",
            _on_probabilities(logits, penalty**once),
        ),
        ("all tokens are penalized, not only those in the list.", times(np.ones(V))),
        ("those tokens are penalized that are not in the list.", times(1 - once)),
        ("negative logits are unchanged.", np.where(logits > 0, right, logits)),
        (
            "only the last token of the list is penalized.",
            times(np.arange(V) == (tokens[-1] if tokens else -1)),
        ),
        ("nothing is penalized.", logits),
    ]


def _on_probabilities(logits, divisor):
    return np.log(softmax(logits) / divisor)


def ngram_mistakes(V: int, tokens: list[int], n: int) -> list:
    """Return known mistakes with the tokens they keep."""

    def kept(banned):
        return ~np.isin(np.arange(V), list(banned))

    followers = [
        tokens[i]
        for i in range(n - 1, len(tokens))
        if tokens[i - n + 1 : i] == tokens[len(tokens) - n + 1 :]
    ]
    return [
        ("all tokens are excluded. In that case, exclude none.", kept(range(V)))
        if len(set(followers)) == V
        else ("all tokens are excluded.", kept(range(V))),
        *(
            [
                (
                    "nothing is excluded. If you wrote tokens[-(n - 1):]: with n = 1 that is "
                    "tokens[-0:], the whole list. Count from the front, tokens[len(tokens) - n + "
                    "1:].",
                    np.ones(V, bool),
                )
            ]
            if n == 1
            else []
        ),
        (
            f"the last n = {n} tokens are compared; it should be the last n - 1 = {n - 1}, which "
            "the next one would complete.",
            kept(completing(tokens, n, n)),
        ),
        (
            f"the last {n - 2} tokens are compared; it should be n - 1 = {n - 1}.",
            kept(completing(tokens, n, max(0, n - 2))),
        ),
        (
            "only what followed the first time is excluded; all that ever followed should be.",
            kept(followers[:1]),
        ),
        (
            "only what followed the last time is excluded; all that ever followed should be.",
            kept(followers[-1:]),
        ),
        ("all tokens of the list are excluded.", kept(tokens)),
        (
            "what comes before the repeated tokens is excluded, instead of what follows.",
            kept(
                {
                    tokens[i - 1]
                    for i in range(1, len(tokens) - n + 2)
                    if tokens[i : i + n - 1] == tokens[len(tokens) - n + 1 :]
                }
            ),
        ),
        (
            "the last place where the n-gram could end is left out.",
            kept(completing_but_last(tokens, n)),
        ),
        ("nothing is excluded.", np.ones(V, bool)),
    ]


def completing_but_last(tokens: list[int], n: int) -> set[int]:
    """Like completing, with a loop that ends one too early."""
    last = tokens[len(tokens) - n + 1 :]
    if len(tokens) < n - 1:
        return set()
    return {tokens[i] for i in range(n - 1, len(tokens) - 1) if tokens[i - n + 1 : i] == last}
