"""Question 6e: logits, lists of tokens, models and a language for its functions on texts; and the
hidden check.
"""

import itertools

import numpy as np

from autograder import check
from checks.problem6 import q6e_texts
from checks.problem6.q6e_texts import AGAIN, FILTERS, RARE, SPEECH, TEXTS
from instructor.checks.drawing import draws

OUT_OF_RANGE = {
    "temperature": (0.0, -1.0),
    "top_k": (0, -2),
    "top_p": (0.0, 1.5, -0.5),
    "penalty": (0.5,),
    "ngram": (0, -1),
}


@check("6e-8-hidden")
def test_generate(student, calls):
    """As the basic check, with other sizes, and all pairs of options."""
    q6e_texts.test_fixes(student, calls)


def call(function: str, logits: np.ndarray, *arguments) -> dict:
    """The inputs of a call of a function that changes logits."""
    return {"function": function, "logits": logits, "arguments": list(arguments)}


def rarely(*calls: dict) -> list[tuple[dict, str]]:
    """Mark calls as rare."""
    return [(inputs, RARE) for inputs in calls]


def draw_logits(rng, *shape: int) -> np.ndarray:
    """Draw logits, float32, of which no two in a row are close."""
    V = shape[-1]
    ranks = rng.permuted(np.tile(np.arange(V), (*shape[:-1], 1)), axis=-1)
    return ((ranks + 0.3 * rng.random(shape)) * 6 / V - 3).astype(np.float32)


def draw_p(rng, logits: np.ndarray, least: float = 0.2) -> float:
    """Draw a p that is no sum of the largest probabilities of a row, so that rounding has no
    effect.
    """
    ordered = np.exp(-np.sort(-logits.astype(float)))
    sums = ordered.cumsum(axis=-1) / ordered.sum(axis=-1, keepdims=True)
    while True:
        p = round(float(rng.uniform(least, 0.95)), 3)
        if np.abs(sums - p).min() > 1e-4:
            return p


@draws(FILTERS, "6e-4-basic")
def filters(rng):
    """The handout's examples, a row, rows with few or many likely tokens at different levels; rare:
    ties, limits, arguments out of range.
    """
    V = int(rng.integers(8, 11))
    k, temperature = int(rng.integers(2, V - 2)), round(float(rng.uniform(0.3, 0.8)), 3)
    row, other = draw_logits(rng, V), draw_logits(rng, V)
    ranges = (0.4, 1.6), (-5, 5)
    steep, high = (rng.permutation(np.linspace(*ends, 6)).reshape(2, 3, 1) for ends in ranges)
    rows = (draw_logits(rng, 2, 3, V) * steep + high).astype(np.float32)
    example = np.log([0.5, 0.3, 0.15, 0.05]).astype(np.float32)[rng.permutation(4)]
    two = np.log([0.05, 0.95]).astype(np.float32)
    cut, equal = draw_logits(rng, V), np.zeros((2, 8), np.float32)
    cut[int(rng.integers(V))] = -np.inf
    # the second to fifth are equal
    ties = rng.permuted(np.tile([3, 1, 1, 1, 1, *range(0, 5 - V, -1)], (4, 1)), axis=-1)
    steep = -rng.permutation(40)  # rounding makes the probabilities of the first ones sum to 1
    return [
        (call("top_p_filter", example, 0.9), f" of probabilities {np.exp(example).round(2)}"),
        (call("top_p_filter", two, 0.9), " of probabilities 0.05 and 0.95"),
        *(call("apply_temperature", logits, temperature) for logits in (row, other)),
        call("apply_temperature", rows[0].astype(float), round(float(rng.uniform(1.3, 3)), 3)),
        *(call("top_k_filter", logits, k) for logits in (row, other, rows.astype(float))),
        call("top_k_filter", rows[1], V),
        *(call("top_p_filter", logits, draw_p(rng, logits, 0.4)) for logits in (row, rows)),
        call("top_p_filter", rows.astype(float), draw_p(rng, rows, 0.5)),
        *rarely(
            call("top_k_filter", ties.astype(np.float32), int(rng.integers(2, 5))),
            call("top_k_filter", row, V + 5),
            call("top_p_filter", cut, draw_p(rng, cut[np.isfinite(cut)])),
            call("top_p_filter", equal, float(rng.choice([0.3, 0.45, 0.6, 0.8]))),
            call("top_p_filter", steep.astype(np.float32), 1.0),
            *(call("apply_temperature", row, value) for value in OUT_OF_RANGE["temperature"]),
            *(call("top_k_filter", row, value) for value in OUT_OF_RANGE["top_k"]),
            *(call("top_p_filter", row, value) for value in OUT_OF_RANGE["top_p"]),
        ),
    ]


@draws(FILTERS, "6e-5-basic")
def repetition(rng):
    """The handout's example, tokens that occur often or not at all; rare: no tokens, n = 1, n
    above their number, all excluded.
    """
    V, penalty = int(rng.integers(8, 12)), round(float(rng.uniform(1.3, 2.5)), 3)
    logits, few = draw_logits(rng, V), draw_logits(rng, 4)
    often = rng.integers(V, size=5).repeat(3).tolist()
    texts = {n: draw_texts(rng, V, n) for n in (1, 2, 3, 4)}
    penalized = [
        (np.array([2, -1, 0.5], np.float32), [0, 1], 1.2),
        (logits, rng.permutation(V)[:4].tolist()),
        *((each, often, penalty) for each in (logits, draw_logits(rng, V))),
        (logits.astype(float), [*range(V)] * 2, penalty),
        (logits, often, 1.0),
    ]
    rare = [(logits, texts[1][0], 1), (logits, [], 1), (logits, [], 2)]
    rare += [(logits, [3, 1, 2], n) for n in (3, 4, 9)]
    # each of 4 tokens has followed a 0, or occurred
    rare += [(few, [0, 1, 0, 2, 0, 3, 0, 0], 2), (few, [2, 0, 3, 1, 0], 1)]
    rare += [(logits, often, n) for n in OUT_OF_RANGE["ngram"]]
    return [
        *(call("repetition_penalty", *given) for given in penalized),
        *(call("no_repeat_ngrams", logits, text, n) for n in (2, 3, 4) for text in texts[n]),
        *rarely(
            *(call("repetition_penalty", logits, *given) for given in (([], 2.0), (often, 0.5))),
            *(call("no_repeat_ngrams", *given) for given in rare),
        ),
    ]


def draw_texts(rng, V: int, n: int) -> list[list[int]]:
    """Draw lists of tokens in which the last n - 1 tokens have occurred several times, once in
    another order; and others of few different tokens.
    """
    end, followers, text = rng.permutation(V)[: n - 1].tolist(), rng.permutation(V).tolist(), []
    for follower in followers[:3]:
        text += [*rng.integers(V, size=2).tolist(), *end, follower]
    if n > 2:
        text += [*end[::-1], next(token for token in followers[3:] if token not in end)]
    return [text + end, rng.integers(3, size=25).tolist(), rng.integers(4, size=12).tolist()]


def draw_tables(rng, vocab: int, block_size: int) -> dict[str, np.ndarray]:
    """Draw a model: the tables of its logits."""
    sizes = {"tokens": vocab, "positions": block_size, "first": vocab}
    return {name: rng.standard_normal((n, vocab)).astype(np.float32) for name, n in sizes.items()}


@draws(TEXTS, "6e-9-basic", "6e-8-hidden")
def texts(rng, large):
    """Texts and prompts longer than the model's context; options alone and combined; rare: limits,
    and options out of range.
    """
    V, size = rng.integers((8, 5), (12, 8)) if large else rng.integers((6, 4), (8, 6))
    V, size = int(V), int(size)

    def number(low, high):
        return round(float(rng.uniform(low, high)), 3)

    def case(prompt, steps, among=V, **options):
        text = rng.choice(rng.permutation(V)[:among], prompt + steps).tolist()
        given = {"prompt": text[:prompt], "drawn": text[prompt:], "options": options}
        return {"tables": draw_tables(rng, V, size), **given, "seed": int(rng.integers(1 << 30))}

    drawn = {
        "penalty": lambda: number(2, 4),
        "ngram": lambda: 2,
        "temperature": lambda: number(1.5, 3),
        "top_k": lambda: V // 2,
        "top_p": lambda: number(0.6, 0.8),
    }
    pairs = [("penalty", "top_k"), ("temperature", "top_p"), ("top_k", "top_p")]
    chosen = [drawn, drawn, *(itertools.combinations(drawn, 2) if large else pairs)]
    rare = [case(2, 3, top_k=V + 3, top_p=1.0), case(2, 3, ngram=1), case(1, 0)]
    rare.append({**case(3 * V, 3, ngram=1), "prompt": [*range(V)] * 3})
    rare += [case(2, 1, **{name: values[0]}) for name, values in OUT_OF_RANGE.items()]
    return [
        case(2, 4),
        case(size + 3, 4),
        case(size + 3, 4) | {"seed": None},
        *(case(size + 1, 5, 3, **{name: draw()}) for name, draw in drawn.items()),
        case(2, 4, ngram=3) | {"prompt": draw_texts(rng, V, 3)[0]},
        case(size + 2, 12, 3, ngram=2, top_k=V // 2),
        *(case(size + 2, 5, 4, **{name: drawn[name]() for name in names}) for names in chosen),
        *rarely(*rare),
    ]


@draws(AGAIN, "6e-9-basic", "6e-8-hidden")
def again(rng):
    """Texts of twelve tokens, with random numbers of two seeds."""
    given = {"prompt": [int(rng.integers(20))], "steps": 12, "temperature": 4.0}
    seeds = rng.integers(1 << 30, size=2).tolist()
    return [{"tables": draw_tables(rng, 20, 4), **given, "seeds": seeds}]


@draws(SPEECH, "6e-7-basic")
def language(rng):
    """A model that knows a language of 24 words. After each word, three are likely."""
    chances = np.full((24, 24), 0.05 / 24)
    for chance in (0.6, 0.25, 0.1):
        chances[np.arange(24), rng.permutation(24)] += chance
    start, seed = rng.integers((24, 1 << 30))
    logits = np.log(chances).astype(np.float32)
    return [{"logits": logits, "start": int(start), "steps": 100, "seed": int(seed)}]
