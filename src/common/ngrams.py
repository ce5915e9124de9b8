"""How repetitive a text is."""


def repetition_rate(tokens: list, n: int = 4) -> float:
    """The share of a text's n-grams that occurred earlier in it; 0 for a text shorter than n."""
    grams = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0
