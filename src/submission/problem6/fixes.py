"""Question 6e: fixes for three broken trainings.

Shapes in this file: B is the batch, T the number of positions, C = n_embd = d_model the width of
the model, and vocab_size the number of tokens. Logits are the inputs of a softmax; a logit of -inf
becomes a probability of 0. No function changes its arguments, except clip_gradients and
init_depth_scaled, which work in place.
"""

import math
from collections.abc import Iterable

import torch
import torch.nn as nn
import torch.nn.functional as F

# Case i: the loss explodes


def attention_scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """The inputs of attention's softmax: dot products of queries and keys, scaled so that their
    variance does not grow with head_dim.

    Args:
        q: queries, (..., T, head_dim).
        k: keys, (..., T_kv, head_dim).

    Returns:
        (..., T, T_kv), same dtype: entry [..., i, j] compares query i with key j.
    """
    scores = None
    # [part 6e] Dot products, scaled as in attention.py.
    # Hint: a dot product of head_dim terms of variance 1 has variance head_dim.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: attention_scores")
    ### END_CODE_HERE ###
    return scores


def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> float:
    """Limit the size of a step: scale all gradients by one factor, which keeps their direction.

    Call it between loss.backward() and optimizer.step().

    Args:
        parameters: a model's parameters. model.parameters() is a generator, which can be iterated
            only once. Those without a gradient (grad is None) are ignored.
        max_norm: the largest norm of all gradients together.

    Returns:
        The norm before clipping, as a Python float: the square root of the sum of squares over all
        entries of all gradients. If it is larger than max_norm, each gradient is multiplied in
        place by max_norm / norm. If it is infinite or NaN, each gradient is set to None, so that
        the optimizer skips the step.
    """
    norm = None
    # [part 6e] One norm over all parameters, not one for each.
    # Hints: tensor.mul_(factor) multiplies in place. math.isfinite(norm) is False for infinity and
    #        NaN. Without any gradients, the norm is 0.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: clip_gradients")
    ### END_CODE_HERE ###
    return norm


# Case ii: the text repeats itself. Each function below returns new logits of the same shape and
# dtype.


def apply_temperature(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    """Make the distribution sharper (a temperature below 1) or flatter (above 1).

    Args:
        logits: (..., vocab_size).
        temperature: above 0.

    Raises:
        ValueError: the temperature is not above 0.
    """
    if not temperature > 0:
        raise ValueError(f"the temperature must be above 0; it is {temperature}")
    result = None
    # [part 6e] Divide. The softmax then raises each probability to the power of 1 / temperature,
    # and normalizes again.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: apply_temperature")
    ### END_CODE_HERE ###
    return result


def top_k_filter(logits: torch.Tensor, k: int) -> torch.Tensor:
    """Exclude all but the k most probable tokens: their logits become -inf.

    Args:
        logits: (..., vocab_size). Each row along the last dimension is filtered separately.
        k: at least 1; more than vocab_size keeps all.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError(f"top-k must keep at least 1 token; k is {k}")
    result = None
    # [part 6e] Keep the logits that are at least as large as the k-th largest of their row,
    # including ties.
    # Hint: logits.topk(n) gives the n largest of each row in order, and raises if n is above
    #       vocab_size.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: top_k_filter")
    ### END_CODE_HERE ###
    return result


def top_p_filter(logits: torch.Tensor, p: float) -> torch.Tensor:
    """Exclude tokens outside the nucleus, the smallest set of most probable tokens that sum to p
    (Holtzman et al. 2019).

    Args:
        logits: (..., vocab_size). Each row along the last dimension is filtered separately.
        p: above 0, at most 1, which keeps all.

    Raises:
        ValueError: p is out of range.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top-p must be above 0 and at most 1; p is {p}")
    result = None
    # [part 6e] Keep a token if the tokens before it, from the most probable on, sum to less than p.
    # So the token that reaches p is kept, and at least one token always is. Among equally probable
    # tokens, the one with the smaller index comes first.
    #
    # Hints: logits.sort(dim=-1, descending=True, stable=True) gives the sorted logits and their
    #        indices. The sum before a token is the cumulative sum less the token's own probability.
    #        zeros.scatter(-1, index, values) puts the values of a sorted row back in place.
    #        Rounding can bring a cumulative sum to 1 before the last token; p = 1 must still keep
    #        all tokens.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: top_p_filter")
    ### END_CODE_HERE ###
    return result


def repetition_penalty(
    logits: torch.Tensor, tokens: list[int], penalty: float = 1.2
) -> torch.Tensor:
    """Make tokens that occurred before less probable (Keskar et al. 2019, CTRL, section 4.1).

    Args:
        logits: (vocab_size,).
        tokens: the token ids so far, possibly repeated, possibly empty.
        penalty: at least 1; 1 changes nothing.

    Raises:
        ValueError: the penalty is less than 1.
    """
    if not penalty >= 1:
        raise ValueError(f"the penalty must be at least 1; it is {penalty}")
    result = None
    # [part 6e] Lower the logit of each token in the list, once, however often the token occurs:
    # divide positive logits by the penalty, multiply negative ones by it.
    # Hint: logits[index], with a tensor of token ids as the index, selects those logits.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: repetition_penalty")
    ### END_CODE_HERE ###
    return result


def no_repeat_ngrams(logits: torch.Tensor, tokens: list[int], n: int) -> torch.Tensor:
    """Exclude every token that would complete an n-gram that occurred before (Paulus et al. 2017,
    section 2.5).

    Args:
        logits: (vocab_size,).
        tokens: the token ids so far, in order.
        n: at least 1. With n = 1, no token may occur twice.

    Returns:
        The filtered logits; if all tokens would be excluded, the unchanged logits.

    Raises:
        ValueError: n is less than 1.
    """
    if n < 1:
        raise ValueError(f"an n-gram has at least 1 token; n is {n}")
    result = None
    # [part 6e] The last n - 1 tokens start the next n-gram. Tokens that followed the same n - 1
    # tokens before are excluded.
    # Hint: tokens[-(n - 1):] is the whole list if n is 1; tokens[len(tokens) - (n - 1):] is not,
    #       but beware of lists shorter than n - 1.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: no_repeat_ngrams")
    ### END_CODE_HERE ###
    return result


@torch.no_grad()
def generate(
    model: nn.Module,
    x: torch.Tensor,
    steps: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    penalty: float = 1.0,
    ngram: int | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Extend a sequence by sampled tokens, one at a time.

    Args:
        model: model(x) returns (logits, loss) for x of shape (1, T), with logits of shape
            (1, T, vocab_size), as our GPT does; T is at most model.get_block_size().
        x: the prompt, int64 (1, T); it may be longer than the model reads.
        steps: the number of tokens to add.
        temperature, top_k, top_p, penalty, ngram: as in the functions above. None skips a step; a
            temperature and a penalty of 1 change nothing.
        generator: the random number generator; None for torch's default.

    Returns:
        int64 (1, T + steps), starting with x.
    """
    for _ in range(steps):
        # [part 6e] Pass the last tokens to the model, as many as it can read, and take the logits
        # of the last position. Then, in this order: penalty, n-grams (both over the prompt and all
        # generated tokens), temperature, top-k, top-p, and one draw by torch.multinomial with the
        # generator. Append the token to x, in a new tensor.
        # Hints: x[0].tolist() is the list of all tokens. torch.cat returns a new tensor.
        ### START_CODE_HERE ###
        raise NotImplementedError("6e: generate")
        ### END_CODE_HERE ###
    return x


# Case iii: a deep model barely learns


class PreNormStack(nn.Module):
    """Sublayers (attention, feed-forward) with pre-norm and a residual path (Xiong et al. 2020).

    Args:
        sublayers: modules from (B, T, C) to (B, T, C), in order. A Transformer of 24 layers has 48.
        d_model: C, the width.
    """

    def __init__(self, sublayers: list[nn.Module], d_model: int):
        super().__init__()
        # [part 6e] Store the sublayers; create an nn.LayerNorm for each, and one more for the end,
        # with torch's defaults.
        # Hint: modules in a plain list are invisible to model.parameters(), and so to the
        #       optimizer. An nn.ModuleList registers them.
        ### START_CODE_HERE ###
        raise NotImplementedError("6e: PreNormStack")
        ### END_CODE_HERE ###

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, C) -> (B, T, C)."""
        y = None
        # [part 6e] x = x + sublayer(norm(x)) for each sublayer, and the last LayerNorm at the end.
        # Hint: x += ... would change the caller's x.
        ### START_CODE_HERE ###
        raise NotImplementedError("6e: PreNormStack.forward")
        ### END_CODE_HERE ###
        return y


def init_depth_scaled(model: nn.Module, n_layer: int, std: float = 0.02) -> None:
    """Reinitialize all linear layers, so that the residual sums of a deep model start small
    (Radford et al. 2019, section 2.3).

    Args:
        model: changed in place. Modules other than nn.Linear stay as they are.
        n_layer: the number of layers; each adds to the residual stream twice.
        std: the standard deviation of the weights.
    """
    # [part 6e] Weights: normal with mean 0 and standard deviation std. Biases, if any: 0. Only the
    # layers whose output is added to x get std / sqrt(2 * n_layer) instead: each nn.Linear named
    # "proj", and the last nn.Linear in each module named "mlp".
    #
    # Hints: model.named_modules() yields all modules, including nested ones, with names like
    #        "blocks.0.attn.proj", whose last part is the module's own name. nn.init has normal_
    #        and zeros_, which work in place.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: init_depth_scaled")
    ### END_CODE_HERE ###
