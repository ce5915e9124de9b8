"""Question 6e: what mends three broken trainings.

Shapes in this file: B is the batch, T the number of positions, C = n_embd = d_model the width of
the model, and V the number of different tokens. Logits are what a softmax turns into probabilities;
a logit of -inf becomes a probability of 0. No function here changes its arguments, except those
whose work that is: clip_gradients and init_depth_scaled.
"""

import math
from collections.abc import Iterable

import torch
import torch.nn as nn
import torch.nn.functional as F

# Case i: the loss explodes


def attention_scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """What the softmax of an attention gets: dot products of queries and keys, of which the
    variance must not grow with head_dim.

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
    """Limit the size of a step: scale all gradients by the same factor, so that their direction
    stays what it is.

    Call it between loss.backward() and optimizer.step().

    Args:
        parameters: those of a model, as model.parameters() gives them: a generator, which can be
            run through once. Some may have no gradient (grad is None); these count for nothing.
        max_norm: the largest norm that all gradients together may have.

    Returns:
        The norm before clipping, as a Python float: the root of the sum of the squares of all
        entries of all gradients. If it is larger than max_norm, each gradient is multiplied, in
        place, by max_norm / norm. If it is infinite or NaN, each gradient is None afterwards, so
        that the optimizer skips the step.
    """
    norm = None
    # [part 6e] One norm over all parameters, not one for each.
    # Hints: tensor.mul_(factor) multiplies in place. math.isfinite(norm) is False for infinity and
    #        for NaN. Of nothing at all, the norm is 0.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: clip_gradients")
    ### END_CODE_HERE ###
    return norm


# Case ii: the text repeats itself. Each function below gives new logits, of the same shape and
# dtype.


def apply_temperature(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    """Make the distribution sharper (a temperature below 1) or flatter (above 1).

    Args:
        logits: (..., V).
        temperature: above 0.

    Raises:
        ValueError: the temperature is not above 0.
    """
    if not temperature > 0:
        raise ValueError(f"the temperature must be above 0; it is {temperature}")
    result = None
    # [part 6e] Divide. The softmax then gives each probability to the power of 1 / temperature,
    # normalized anew.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: apply_temperature")
    ### END_CODE_HERE ###
    return result


def top_k_filter(logits: torch.Tensor, k: int) -> torch.Tensor:
    """Exclude all but the k most probable tokens: their logits become -inf.

    Args:
        logits: (..., V). Each row along the last dimension is filtered by itself.
        k: at least 1; more than V keeps all.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError(f"top-k must keep at least 1 token; k is {k}")
    result = None
    # [part 6e] Keep the logits that are at least as large as the k-th largest of their row. So ties
    # with it stay.
    # Hint: logits.topk(n) gives the n largest of each row in order, and refuses an n above V.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: top_k_filter")
    ### END_CODE_HERE ###
    return result


def top_p_filter(logits: torch.Tensor, p: float) -> torch.Tensor:
    """Exclude what is not in the nucleus, the smallest set of most probable tokens that sum to p
    (Holtzman et al. 2019).

    Args:
        logits: (..., V). Each row along the last dimension is filtered by itself.
        p: above 0, at most 1, which keeps all.

    Raises:
        ValueError: p is out of range.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top-p must be above 0 and at most 1; p is {p}")
    result = None
    # [part 6e] A token stays if the tokens before it, from the most probable on, sum to less than
    # p. So the one that reaches p stays, and one token stays at least. Of equally probable tokens,
    # the one with the smaller index comes first.
    #
    # Hints: logits.sort(dim=-1, descending=True, stable=True) gives the sorted logits, and the
    #        index that each had. The sum of the tokens before one is the cumulative sum, less the
    #        token's own probability. zeros.scatter(-1, index, values) puts the values of a sorted
    #        row back where they came from. Rounding can bring a cumulative sum to 1 before the last
    #        token; p = 1 keeps all nevertheless.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: top_p_filter")
    ### END_CODE_HERE ###
    return result


def repetition_penalty(
    logits: torch.Tensor, tokens: list[int], penalty: float = 1.2
) -> torch.Tensor:
    """Make tokens that have been there less probable (Keskar et al. 2019, CTRL, section 4.1).

    Args:
        logits: (V,).
        tokens: the numbers of the tokens so far; a number may occur often, or none at all.
        penalty: at least 1, which changes nothing.

    Raises:
        ValueError: the penalty is less than 1.
    """
    if not penalty >= 1:
        raise ValueError(f"the penalty must be at least 1; it is {penalty}")
    result = None
    # [part 6e] The logit of each token in the list becomes smaller, once, however often the token
    # occurs: a positive one is divided by the penalty, a negative one multiplied by it.
    # Hint: logits[index], with a tensor of token numbers for an index, picks those logits.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: repetition_penalty")
    ### END_CODE_HERE ###
    return result


def no_repeat_ngrams(logits: torch.Tensor, tokens: list[int], n: int) -> torch.Tensor:
    """Exclude every token that would complete n tokens in a row which have been there (Paulus et
    al. 2017, section 2.5).

    Args:
        logits: (V,).
        tokens: the numbers of the tokens so far, in their order.
        n: at least 1. With n = 1, no token may occur twice.

    Returns:
        The filtered logits; if all tokens would be excluded, the logits as they are.

    Raises:
        ValueError: n is less than 1.
    """
    if n < 1:
        raise ValueError(f"an n-gram has at least 1 token; n is {n}")
    result = None
    # [part 6e] The last n - 1 tokens begin the next n-gram. What has followed these n - 1 before
    # must not follow again.
    # Hint: tokens[-(n - 1):] is the whole list if n is 1; tokens[len(tokens) - (n - 1):] is not,
    #       but take care if the list is shorter than n - 1.
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
        model: model(x) gives (logits, loss) for x of shape (1, T), with logits of shape (1, T, V),
            as our GPT does; T may be model.get_block_size() at most.
        x: the prompt, int64 (1, T); it may be longer than the model reads.
        steps: how many tokens to add.
        temperature, top_k, top_p, penalty, ngram: those of the functions above. None leaves a step
            out.
        generator: of the random numbers; None for torch's own.

    Returns:
        int64 (1, T + steps), which begins with x.
    """
    for _ in range(steps):
        # [part 6e] Read as many of the last tokens as the model can, and take the logits of the
        # last position. Then, in this order: penalty, n-grams (both over the prompt and all that
        # was generated), temperature, top-k, top-p, and one draw by torch.multinomial, with the
        # generator. Append the token to x, in a new tensor.
        # Hints: x[0].tolist() is the list of all tokens. torch.cat makes a new tensor.
        ### START_CODE_HERE ###
        raise NotImplementedError("6e: generate")
        ### END_CODE_HERE ###
    return x


# Case iii: a deep model barely learns


class PreNormStack(nn.Module):
    """Sublayers (attentions, feed-forward parts) with pre-norm, along an undisturbed residual path
    (Xiong et al. 2020).

    Args:
        sublayers: modules from (B, T, C) to (B, T, C), in their order. 24 layers of a Transformer
            are 48 of them.
        d_model: C, the width.
    """

    def __init__(self, sublayers: list[nn.Module], d_model: int):
        super().__init__()
        # [part 6e] Keep the sublayers; make an nn.LayerNorm for each, and one more for the very
        # end, with torch's defaults.
        # Hint: modules in a plain list are invisible to model.parameters(), and so to the
        # optimizer. An nn.ModuleList shows them.
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
    """Draw the weights of all linear layers anew, so that the many sums of a deep model begin small
    (Radford et al. 2019, 2.3).

    Args:
        model: it is changed in place. Modules that are no nn.Linear stay as they are.
        n_layer: the number of layers; each adds to the residual stream twice.
        std: the standard deviation of the weights.
    """
    # [part 6e] Weights: normal with mean 0 and standard deviation std. Biases, where there are any:
    # 0. Only the layers whose output is added to x get std / sqrt(2 * n_layer) instead: each
    # nn.Linear named "proj", and the last nn.Linear in each module named "mlp".
    #
    # Hints: model.named_modules() gives all modules, those inside of others too, with names like
    #        "blocks.0.attn.proj", of which the last part is the module's own. nn.init has normal_
    #        and zeros_, which work in place.
    ### START_CODE_HERE ###
    raise NotImplementedError("6e: init_depth_scaled")
    ### END_CODE_HERE ###
