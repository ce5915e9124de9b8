"""Question 6e, basic: the functions of fixes.py, and the three set-ups before and after."""
import numpy as np

from autograder import check
from checks.clipping import judge_clipping, judge_scores
from checks.logit_cases import Case, require_kept, require_values, run_cases
from checks.logit_mistakes import ngram_mistakes, penalty_mistakes, top_k_mistakes, top_p_mistakes
from checks.logits import draw_logits, draw_p, draw_rows, penalized, top_k, top_p, unrepeated
from checks.setups import EXPLODING, SLOW, judge_training
from checks.stacks import draw_stack, judge_init, judge_stacks
from checks.writing import judge_texts


@check("6e-3-basic")
def test_scores_and_clipping(student, rng):
    """With two to four axes; norms above and below the limit, none at all, and such that are no numbers."""
    T, T_kv, head_dim, B, n_head = (int(n) for n in rng.permutation([3, 5, 6, 7, 11]))
    cases = [{"q": rng.standard_normal((*more, T, head_dim)), "k": rng.standard_normal((*more, T_kv, head_dim)), "dtype": dtype}
             for more, dtype in (((), "float64"), ((B,), "float32"), ((B, n_head), "float32"))]
    judge_scores(student, cases)

    def draw(*shapes):
        return [None if shape is None else rng.standard_normal(shape) for shape in shapes]

    def norm(gradients):
        return float(np.sqrt(sum((gradient ** 2).sum() for gradient in gradients if gradient is not None)))

    several = draw((4, 3), None, (5,), (2, 3, 2), None, (1,))
    largest = max(float(np.sqrt((gradient ** 2).sum())) for gradient in several if gradient is not None)
    some = "gradients of several parameters, of which some have none"
    cases = [(some, several, norm(several) * float(rng.uniform(0.2, 0.5)), False),
             ("gradients of which each is small enough, but not all together", several, (largest + norm(several)) / 2, False),
             (some, several, norm(several) * float(rng.uniform(1.5, 3)), False),
             ("a list of parameters", draw((3, 2), (7,)), 0.5, True),
             ("gradients of 0", [np.zeros((2, 3)), np.zeros(4)], 1.0, False),
             ("parameters without gradients", draw(None, None), 1.0, False)]
    for value in (np.inf, np.nan):
        broken = draw((4, 3), (5,), None)
        broken[int(rng.integers(2))].flat[0] = value
        cases.append((f"gradients with one entry that is {value}", broken, 1.0, False))
    judge_clipping(student, [{"what": what, "gradients": gradients, "max_norm": limit, "listed": listed, "dtype": dtype}
                             for (what, gradients, limit, listed), dtype in zip(cases, 4 * ["float32", "float64"])])


@check("6e-4-basic")
def test_filters(student, rng):
    """Rows and batches of rows, ties, the handout's examples, limits, and arguments out of range."""
    V = int(rng.integers(9, 14))
    row, rows = draw_logits(rng, V), draw_rows(rng, V)
    temperatures = [Case("apply_temperature", logits, [float(temperature)], dtype=dtype) for logits, temperature, dtype in (
        (row, rng.uniform(0.3, 0.8), "float32"), (rows, rng.uniform(1.3, 3), "float64"))]

    # The second to the fifth are equal.
    ties = rng.permuted(np.tile([3, 1, 1, 1, 1, *range(0, 5 - V, -1)], (4, 1)), axis=-1)
    k = int(rng.integers(2, V - 2))
    largest = [Case("top_k_filter", row, [k]), Case("top_k_filter", rows, [k], dtype="float64"),
               Case("top_k_filter", ties, [int(rng.integers(2, 5))]), Case("top_k_filter", row, [1]),
               Case("top_k_filter", rows, [V]), Case("top_k_filter", row, [V + 5])]

    order = rng.permutation(4)
    example = np.log([0.5, 0.3, 0.15, 0.05]).astype(np.float32)[order]
    cut = np.where(np.arange(V) == int(rng.integers(V)), -np.inf, draw_logits(rng, V)).astype(np.float32)
    steep = -rng.permutation(100).astype(np.float32)        # e^-99: rounding makes the sum of the first ones 1
    equal = np.zeros((2, 8), np.float32)
    shown = np.exp(example.astype(float)).round(2).tolist()
    nucleus = [Case("top_p_filter", example, [0.9], remark=f" (the probabilities are {shown})"),
               Case("top_p_filter", np.log([0.05, 0.95]).astype(np.float32), [0.9], remark=" (probabilities 0.05 and 0.95)"),
               Case("top_p_filter", row, [draw_p(rng, row)]),
               Case("top_p_filter", rows, [draw_p(rng, rows, 0.5)], dtype="float64"),
               Case("top_p_filter", rows, [draw_p(rng, rows, 0.5)]),
               Case("top_p_filter", cut, [draw_p(rng, cut)], remark=" (one of them is -inf)"),
               Case("top_p_filter", equal, [float(rng.choice([0.3, 0.45, 0.6, 0.8]))], remark=" (all are equal)"),
               Case("top_p_filter", steep, [1.0]), Case("top_p_filter", row, [1e-6])]

    refused = [Case(name, row, [argument], refused=True) for name, arguments in (
        ("apply_temperature", (0.0, -1.0)), ("top_k_filter", (0, -2)),
        ("top_p_filter", (0.0, 1.5, -0.5))) for argument in arguments]
    cases = [*temperatures, *largest, *nucleus, *refused]
    for case, answer in zip(cases, run_cases(student, cases)):
        if case.refused:
            continue
        logits, argument = case.exact, case.arguments[0]
        if case.function == "apply_temperature":
            require_values(case, answer, logits / argument, [
                ("the logits are multiplied by the temperature. Divide.", logits * argument),
                ("the temperature is not used.", logits)])
        elif case.function == "top_k_filter":
            require_kept(case, answer, top_k(logits, argument), top_k_mistakes(logits, argument))
        else:
            require_kept(case, answer, top_p(logits, argument), top_p_mistakes(logits, argument))


@check("6e-5-basic")
def test_repetition(student, rng):
    """The handout's example, tokens that occur often or not at all; n from 1 to more than there are tokens."""
    V = int(rng.integers(9, 14))
    logits = draw_logits(rng, V)
    often = rng.integers(V, size=5).repeat(3).tolist()
    penalty = float(rng.uniform(1.3, 2.5))
    penalties = [Case("repetition_penalty", np.array([2, -1, 0.5], np.float32), [[0, 1], 1.2]),
                 Case("repetition_penalty", logits, [rng.permutation(V)[:4].tolist()]),         # 1.2 by default
                 Case("repetition_penalty", logits, [often, penalty]), Case("repetition_penalty", logits, [[], penalty]),
                 Case("repetition_penalty", logits, [list(range(V)) * 2, penalty], dtype="float64"),
                 Case("repetition_penalty", logits, [often, 1.0]),
                 Case("repetition_penalty", logits, [often, float(rng.uniform(0.2, 0.9))], refused=True)]

    few = draw_logits(rng, 4)
    every = [0, 1, 0, 2, 0, 3, 0, 0]        # each of 4 tokens has followed a 0
    ngrams = [Case("no_repeat_ngrams", logits, [tokens, n]) for n in (1, 2, 3, 4) for tokens in draw_texts(rng, V, n)]
    ngrams += [Case("no_repeat_ngrams", logits, [[3, 1, 2], n]) for n in (3, 4, 5, 9)]
    ngrams += [Case("no_repeat_ngrams", logits, [[], n]) for n in (1, 2, 3)]
    ngrams += [Case("no_repeat_ngrams", few, [every, 2]), Case("no_repeat_ngrams", few, [[2, 0, 3, 1, 0], 1]),
               Case("no_repeat_ngrams", logits, [often, 0], refused=True),
               Case("no_repeat_ngrams", logits, [often, -1], refused=True)]
    cases = penalties + ngrams
    for case, answer in zip(cases, run_cases(student, cases)):
        if case.refused:
            continue
        logits, tokens = case.exact, case.arguments[0]
        if case.function == "repetition_penalty":
            penalty = case.arguments[1] if len(case.arguments) > 1 else 1.2
            require_values(case, answer, penalized(logits, tokens, penalty), penalty_mistakes(logits, tokens, penalty))
        else:
            n = case.arguments[1]
            require_kept(case, answer, unrepeated(len(logits), tokens, n), ngram_mistakes(len(logits), tokens, n))


def draw_texts(rng, V: int, n: int) -> list[list[int]]:
    """Lists of tokens in which the last n - 1 tokens have occurred several times, and others of few different tokens."""
    end = rng.permutation(V)[:n - 1].tolist()
    text = []
    for follower in rng.permutation(V)[:3].tolist():
        text += [*rng.integers(V, size=2).tolist(), *end, follower]
    return [text + end, rng.integers(3, size=25).tolist(), rng.integers(4, size=12).tolist()]


@check("6e-6-basic")
def test_stack_and_init(student, rng):
    """With one sublayer to several, and none; all kinds of modules in a model."""
    judge_stacks(student, [draw_stack(rng, count) for count in (3, 1, int(rng.integers(4, 7)), 0)])
    n_layer = rng.permutation([3, 5, 7, 12, 24, 36]).tolist()
    judge_init(student, [{"n_layer": n_layer[0], "std": None}, {"n_layer": n_layer[1], "std": float(rng.uniform(0.05, 0.3))}])


@check("6e-7-basic")
def test_set_ups(student, rng):
    """Each at a size of seconds: a training that explodes, a model that repeats itself, a training that is slow."""
    judge_texts(student, rng)
    judge_training(student, rng, EXPLODING)
    judge_training(student, rng, SLOW)
