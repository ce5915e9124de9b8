"""Cases of question 6e: calls of the functions of fixes.py. `rare` ones cost only a part of a
check's points.
"""

import dataclasses

import numpy as np

from checks.problem6.q6e.sampled_texts import STEPS, surprise
from checks.problem6.q6e_setups import VOCAB, draw_language
from checks.support.cases import Case, same
from common.ngrams import repetition_rate
from instructor.checks.makers import makes
from instructor.checks.problem6.q6e.filters import filter_case, refused_case
from instructor.checks.problem6.q6e.generation import draw_model, generate_case
from instructor.checks.problem6.q6e.logits import draw_logits, draw_p, draw_rows, softmax, top_p


def rare(case: Case) -> Case:
    """Mark a case as rare."""
    return dataclasses.replace(case, about={**case.about, "rare": True})


def small(cases: list[Case]) -> list[Case]:
    """Return the cases with only the first of mistakes that have the same result."""
    result = []
    for case in cases:
        distinct = []
        for sentence, value in case.solved().wrong:
            if not any(same(value, other) for _, other in distinct):
                distinct.append((sentence, value))
        result.append(dataclasses.replace(case, wrong=distinct))
    return result


@makes("6e-4-basic")
def filters(rng):
    """Rows and batches of rows, ties, the handout's examples, limits, and arguments out of
    range.
    """
    V = int(rng.integers(8, 11))
    row, rows = draw_logits(rng, V), draw_rows(rng, V)
    temperatures = [
        filter_case("apply_temperature", row, float(rng.uniform(0.3, 0.8))),
        filter_case("apply_temperature", rows[0], float(rng.uniform(1.3, 3)), dtype="float64"),
    ]

    # The second to fifth are equal.
    ties = rng.permuted(np.tile([3, 1, 1, 1, 1, *range(0, 5 - V, -1)], (4, 1)), axis=-1)
    k = int(rng.integers(2, V - 2))
    largest = [
        filter_case("top_k_filter", row, k),
        filter_case("top_k_filter", rows, k, dtype="float64"),
        filter_case("top_k_filter", row, 1),
        filter_case("top_k_filter", rows[1], V),
        rare(filter_case("top_k_filter", ties, int(rng.integers(2, 5)))),
        rare(filter_case("top_k_filter", row, V + 5)),
    ]

    example = np.log([0.5, 0.3, 0.15, 0.05]).astype(np.float32)[rng.permutation(4)]
    cut = draw_logits(rng, V)
    cut[int(rng.integers(V))] = -np.inf
    # e^-99: rounding makes the first ones sum to 1.
    steep = -rng.permutation(100).astype(np.float32)
    shown = np.exp(example.astype(float)).round(2).tolist()
    nucleus = [
        filter_case("top_p_filter", example, 0.9, remark=f" (the probabilities are {shown})"),
        filter_case(
            "top_p_filter",
            np.log([0.05, 0.95]).astype(np.float32),
            0.9,
            remark=" (probabilities 0.05 and 0.95)",
        ),
        filter_case("top_p_filter", row, draw_p(rng, row)),
        filter_case("top_p_filter", rows, draw_p(rng, rows, 0.5), dtype="float64"),
        filter_case("top_p_filter", rows, draw_p(rng, rows, 0.5)),
        filter_case("top_p_filter", row, 1e-6),
        rare(filter_case("top_p_filter", cut, draw_p(rng, cut), remark=" (one of them is -inf)")),
        rare(
            filter_case(
                "top_p_filter",
                np.zeros((2, 8), np.float32),
                float(rng.choice([0.3, 0.45, 0.6, 0.8])),
                remark=" (all are equal)",
            )
        ),
        rare(filter_case("top_p_filter", steep, 1.0)),
    ]

    refused = [
        rare(refused_case(name, row, argument))
        for name, arguments in (
            ("apply_temperature", (0.0, -1.0)),
            ("top_k_filter", (0, -2)),
            ("top_p_filter", (0.0, 1.5, -0.5)),
        )
        for argument in arguments
    ]
    return small([*temperatures, *largest, *nucleus, *refused])


@makes("6e-5-basic")
def repetition(rng):
    """The handout's example, tokens that occur often or not at all; n from 1 to more than the
    number of tokens.
    """
    V = int(rng.integers(8, 12))
    logits = draw_logits(rng, V)
    often = rng.integers(V, size=5).repeat(3).tolist()
    penalty = float(rng.uniform(1.3, 2.5))
    cases = [
        filter_case("repetition_penalty", np.array([2, -1, 0.5], np.float32), [0, 1], 1.2),
        filter_case("repetition_penalty", logits, rng.permutation(V)[:4].tolist()),
        filter_case("repetition_penalty", logits, often, penalty),
        filter_case("repetition_penalty", logits, list(range(V)) * 2, penalty, dtype="float64"),
        filter_case("repetition_penalty", logits, often, 1.0),
        rare(filter_case("repetition_penalty", logits, [], penalty)),
        rare(refused_case("repetition_penalty", logits, often, float(rng.uniform(0.2, 0.9)))),
    ]

    few = draw_logits(rng, 4)
    every = [0, 1, 0, 2, 0, 3, 0, 0]  # each of 4 tokens has followed a 0
    cases += [
        filter_case("no_repeat_ngrams", logits, tokens, n)
        for n in (2, 3, 4)
        for tokens in draw_texts(rng, V, n)
    ]
    cases += [
        rare(filter_case("no_repeat_ngrams", logits, tokens, 1))
        for tokens in draw_texts(rng, V, 1)[:2]
    ]
    cases += [rare(filter_case("no_repeat_ngrams", logits, [3, 1, 2], n)) for n in (3, 4, 9)]
    cases += [rare(filter_case("no_repeat_ngrams", logits, [], n)) for n in (1, 2)]
    cases += [
        rare(filter_case("no_repeat_ngrams", few, every, 2)),
        rare(filter_case("no_repeat_ngrams", few, [2, 0, 3, 1, 0], 1)),
        rare(refused_case("no_repeat_ngrams", logits, often, 0)),
        rare(refused_case("no_repeat_ngrams", logits, often, -1)),
    ]
    return small(cases)


def draw_texts(rng, V: int, n: int) -> list[list[int]]:
    """Draw lists of tokens in which the last n - 1 tokens have occurred several times, once in
    another order; and others of few different tokens.
    """
    end = rng.permutation(V)[: n - 1].tolist()
    text = []
    followers = rng.permutation(V).tolist()
    for follower in followers[:3]:
        text += [*rng.integers(V, size=2).tolist(), *end, follower]
    if n > 2:
        other = next(token for token in followers[3:] if token not in end)
        text += [*end[::-1], other]
    return [text + end, rng.integers(3, size=25).tolist(), rng.integers(4, size=12).tolist()]


@makes("6e-9-basic")
def generation(rng):
    """Texts and prompts longer than the model's context; all steps in one call, some alone; limits,
    and options out of range.
    """
    V, size = int(rng.integers(6, 8)), int(rng.integers(4, 6))

    def number(low, high):
        return round(float(rng.uniform(low, high)), 3)

    drawn = int(rng.integers(1 << 30))

    def case(prompt, steps, seed=drawn, **options):
        return generate_case(rng, draw_model(rng, V, size), prompt, steps, seed=seed, **options)

    def all_steps():
        return case(
            size + 2,
            6,
            penalty=number(2, 4),
            ngram=2,
            temperature=number(1.5, 3),
            top_k=3,
            top_p=number(0.6, 0.8),
        )

    tiny = draw_model(rng, 3, 2)
    refused = [
        generate_case(rng, tiny, 1, 1, refused=True, **{name: value})
        for name, value in (
            ("temperature", 0.0),
            ("temperature", -1.0),
            ("top_k", 0),
            ("top_p", 0.0),
            ("top_p", 1.5),
            ("penalty", 0.5),
            ("ngram", 0),
        )
    ]
    usual = [
        _until(all_steps, _tells_orders_apart),
        case(size + 3, 4, seed=None),
        case(2, 4, temperature=number(0.4, 0.8)),
        case(2, 4, top_k=2),  # with top_p, one more token rarely matters
        case(size + 1, 6, penalty=number(2, 4), ngram=2),
        case(2, 5, top_p=number(0.5, 0.8)),
        _until(lambda: case(size + 3, 8, ngram=3), _tells_orders_apart),
    ]
    all_excluded = _until(
        lambda: case(3 * V, 3, ngram=1), lambda case: len({*case.inputs["prompt"]}) == V
    )
    unusual = [
        case(2, 3, top_k=V + 3, top_p=1.0),
        case(2, 3, ngram=1),
        all_excluded,
        case(1, 0),
        *refused,
    ]
    free = case(1, 40, temperature=1.2, followed=False)
    free = dataclasses.replace(free, about={"random numbers": True})
    return small([*usual, free, *map(rare, unusual)])


def _until(draw, fits):
    while not fits(case := draw()):
        pass
    return case


def _tells_orders_apart(case):
    """Whether each step affects this case of generate, and, with all steps, the order of those that
    do not commute; and whether these mistakes differ from each other.
    """
    orders = {
        "ngram, temperature, top_k, top_p, penalty",
        "penalty, temperature, top_k, top_p, ngram",
        "penalty, ngram, top_k, top_p, temperature",
        "penalty, ngram, temperature, top_p, top_k",
    }
    telling = [
        value()
        for sentence, value in case.wrong
        if sentence.endswith("is not used.") or any(f" {order};" in sentence for order in orders)
    ]
    return all(
        value is not None and not any(same(value, other) for other in [case.right, *telling[:i]])
        for i, value in enumerate(telling)
    )


@makes("6e-7-basic")
def texts(rng):
    """A language, its greedy text, and statistics of sampled ones."""
    logits = np.log(draw_language(rng).chances).astype(np.float32)
    start, greedy = int(rng.integers(VOCAB)), []
    for _ in range(STEPS + 1):
        greedy.append(int(logits[greedy[-1]].argmax()) if greedy else start)
    tempered = logits.astype(float) / 0.9
    chances = softmax(np.where(top_p(tempered, 0.95), tempered, -np.inf))
    sampled = []
    for _ in range(10):
        words = [start]
        for _ in range(STEPS):
            words.append(int(rng.choice(VOCAB, p=chances[words[-1]])))
        sampled.append(words)
    about = {
        "repetition": float(np.mean([repetition_rate(words) for words in sampled])),
        "surprise": float(np.mean([surprise(logits, words) for words in sampled])),
    }
    return [
        Case(
            {"logits": logits, "start": start, "seed": int(rng.integers(1 << 30))},
            greedy,
            about=about,
        )
    ]
