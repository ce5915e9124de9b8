"""Cases of generate with known mistakes."""

import functools

import numpy as np

from checks.support.cases import Case
from instructor.checks.problem6.q6e.logits import (
    before,
    penalized,
    softmax,
    top_k,
    top_p,
    unrepeated,
)

ORDER = ("penalty", "ngram", "temperature", "top_k", "top_p")
DEFAULTS = {"temperature": 1.0, "top_k": None, "top_p": None, "penalty": 1.0, "ngram": None}
CLEAR = 1e-4  # distance of p from all sums of probabilities, so that rounding has no effect


def draw_model(rng, V: int, block_size: int) -> dict[str, np.ndarray | int]:
    """Draw a model over V tokens: the tables of its logits."""

    def table(rows, scale):
        return (scale * rng.standard_normal((rows, V))).astype(np.float32)

    return {
        "tokens": table(V, 1.5),
        "positions": table(block_size, 0.7),
        "first": table(V, 0.7),
        "block_size": block_size,
    }


def generate_case(
    rng,
    model: dict,
    prompt: int,
    steps: int,
    followed: bool = True,
    seed: int | None = 0,
    refused: bool = False,
    **options,
) -> Case:
    """Make a case of generate.

    Args:
        model: from draw_model.
        prompt: its number of tokens.
        followed: the tokens to be drawn are fixed, and `right` has the draws' probabilities; else
            `right` is None.
        seed: the generator's; None: no generator.
    """
    V = model["tokens"].shape[1]
    inputs = {
        **model,
        "prompt": [],
        "steps": steps,
        "options": options,
        "refused": refused,
        "seed": seed,
        "global_seed": int(rng.integers(1 << 30)),
        "follow": None,
    }
    while True:
        inputs["prompt"] = rng.integers(V, size=prompt).tolist()
        if not followed or refused:
            return Case(inputs)
        text, sums = list(inputs["prompt"]), []
        for _ in range(steps):
            text.append(int(rng.choice(V, p=chances(inputs, text, sums=sums))))
        p = options.get("top_p", 1)
        if p == 1 or np.abs(np.concatenate(sums) - p).min() > CLEAR:
            break
    inputs["follow"] = text[prompt:]

    def drawn(**changed):
        """The probabilities of all draws, (steps, V), with a mistake."""
        with np.errstate(invalid="ignore"):  # a mistake may exclude all tokens
            rows = np.array(
                [chances(inputs, text[:end], **changed) for end in range(prompt, len(text))]
            )
        return rows if np.isfinite(rows).all() else None

    wrong = [
        (sentence, functools.partial(drawn, **changed)) for sentence, changed in _mistakes(inputs)
    ]
    return Case(inputs, drawn(), wrong if steps else [])


def logits_of(inputs: dict, text: list[int], read: int | slice, place: int = -1) -> np.ndarray:
    """Compute the model's logits for the next token, (V,).

    Args:
        read: the number of last tokens that it reads, or a slice.
        place: the position whose logits are taken.
    """
    tokens = np.array(text[read if isinstance(read, slice) else slice(-read, None)])
    by_token, by_position, by_first = (
        inputs[name].astype(float) for name in ("tokens", "positions", "first")
    )
    return (by_token[tokens] + by_position[: len(tokens)] + by_first[tokens[0]])[place]


def chances(
    inputs: dict,
    text: list[int],
    order: tuple[str, ...] = ORDER,
    read: int | slice | None = None,
    place: int = -1,
    seen: slice = slice(None),
    sums: list | None = None,
    **changed,
) -> np.ndarray:
    """Compute the probabilities from which the token after `text` should be drawn, (V,).

    Args:
        sums: collects the sums that top-p compares with p.

    For mistakes: another order of the steps; what the model reads, and where its logits are taken;
    the part of the text that penalty and n-grams see; other options.
    """
    options = {**DEFAULTS, **inputs["options"], **changed}
    logits = logits_of(inputs, text, read or inputs["block_size"], place)
    for step in order:
        value = options[step]
        if value is None:
            continue
        if step == "penalty":
            logits = penalized(logits, text[seen], value)
        elif step == "temperature":
            logits = logits / value
        else:
            if step == "top_p" and sums is not None:
                sums.append(before(logits))
            kept = {
                "ngram": lambda: unrepeated(len(logits), text[seen], value),
                "top_k": lambda: top_k(logits, value),
                "top_p": lambda: top_p(logits, value),
            }[step]()
            logits = np.where(kept, logits, -np.inf)
    return softmax(logits)


def _mistakes(inputs):
    """Return known mistakes as (sentence, changed arguments of `chances`)."""
    prompt, size, options = len(inputs["prompt"]), inputs["block_size"], inputs["options"]
    if prompt + inputs["steps"] > size + 1:
        yield "the model reads the first tokens, not the last ones.", {"read": slice(0, size)}
        for n in (size - 1, 1):
            yield f"the model reads {n} tokens; it can read {size}.", {"read": n}
    yield "the logits of the first position are taken, not those of the last.", {"place": 0}
    if "penalty" in options or "ngram" in options:
        yield "penalty and n-grams leave out the prompt.", {"seen": slice(prompt, None)}
        yield "penalty and n-grams leave out what was generated.", {"seen": slice(0, prompt)}
        yield (
            "penalty and n-grams leave out what the model no longer reads.",
            {"seen": slice(-size, None)},
        )
    for name in options:
        yield f"{name} is not used.", {name: DEFAULTS[name]}
    given = [name for name in ORDER if name in options]
    for order in dict.fromkeys(_moved(given)):
        sentence = f"the order of the steps is {', '.join(order)}; it should be {', '.join(given)}."
        yield sentence, {"order": order}
    if "temperature" in options:
        value = options["temperature"]
        yield "the logits are multiplied by the temperature.", {"temperature": 1 / value}
        yield "the temperature is used twice.", {"temperature": value**2}


def _moved(given):
    """Return all orders in which one step comes too early or too late."""
    for name in given:
        others = [other for other in given if other != name]
        for place in range(len(given)):
            if (order := (*others[:place], name, *others[place:])) != tuple(given):
                yield order
