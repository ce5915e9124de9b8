"""What weights are asked: probes that load them into a model, and texts to measure its loss on."""

from pathlib import Path

from autograder import probe
from checks.problem1.random_texts import MASK

SAMPLE = 30  # texts of a kind


@probe
def read_state(path):
    """Read a file of weights. Returns the state_dict, and what is wrong with it."""
    import torch

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        return {}, {"unreadable": str(error)[:3000]}
    if not isinstance(state, dict):
        return {}, {"odd": f"It is not a state_dict but a {type(state).__name__}"}
    names = [str(name)[:60] for name in state][:500]
    if not state or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in state.items()
    ):
        return {}, {"names": names, "odd": "It is not a state_dict, a dict of tensors"}
    for name, value in state.items():
        if value.layout != torch.strided or value.is_meta or value.nelement() > 10**8:
            why = f"{name} is sparse, has no values, or has more than 100 million numbers"
            return {}, {"odd": why}
    if not all(torch.isfinite(value).all() for value in state.values()):
        return {}, {"odd": "Some of the weights are NaN or infinite"}
    return state, {"names": names, "learned": "pos_emb" in state}


@probe(uses=(read_state,))
def load_and_ask(make, computed, weights, symbols, questions, texts):
    """Load weights into the model that `make` returns, without those whose names end as one of
    `computed`; answer questions as ./run.sh does, and measure the loss on texts, each given with
    the number of characters that don't count, in nats a character.
    """
    from types import SimpleNamespace

    import torch
    from answers import predict_places

    state, about = read_state(weights)
    if not state:
        return about
    model = make()
    try:
        model.load_state_dict(
            {name: value for name, value in state.items() if not name.endswith(computed)}
        )
    except RuntimeError as error:
        return {**about, "mismatch": str(error)[:600]}
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    vocabulary = SimpleNamespace(
        stoi=numbers, itos=dict(enumerate(symbols)), PAD_CHAR=symbols[0], MASK_CHAR=symbols[1]
    )
    places = predict_places(model, questions, vocabulary)
    longest = max(len(text) for text, _ in texts)
    tokens = torch.tensor(
        [[numbers[ch] for ch in text.ljust(longest, symbols[0])] for text, _ in texts]
    )
    with torch.no_grad():
        logits = model(tokens[:, :-1])[0]
    nats = torch.nn.functional.cross_entropy(logits.mT, tokens[:, 1:], reduction="none")
    counted = [row[start - 1 : len(text) - 1] for row, (text, start) in zip(nats, texts)]
    return {"places": places, "losses": [float(row.mean()) for row in counted]}


@probe(uses=(load_and_ask,))
def answer_with_code(weights, variant, sizes, symbols, questions, texts):
    """Load the weights into the submission's model, and ask it."""
    from submission import helper
    from submission.model import GPTConfig

    def make():
        initialize = getattr(helper, f"initialize_{variant}_model")
        return initialize(GPTConfig(len(symbols), **sizes))

    return load_and_ask(make, (), weights, symbols, questions, texts)


def draw_texts(rng, data: Path, corpus: str, symbols: list[str], block_size: int) -> dict:
    """Draw texts to measure the loss on, each with the number of its first characters that don't
    count: "asked", questions of finetuning, of which the answers count; "read", documents; and
    "filled_in", the same with a word moved to the end as in pretraining, which counts.

    Rows of the questions that a job could not read are left out.
    """

    def some(texts):
        return [texts[i] for i in rng.permutation(len(texts))[:SAMPLE]]

    path = data / "birth_places_train.tsv"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    rows = [line.split("\t") for line in text.split("\n") if {*line} <= {*symbols, "\t"}]
    asked = [
        (question + MASK + place, len(question) + 1)
        for question, place in (row for row in rows if len(row) == 2)
        if place and len(question) + len(place) + 2 <= block_size + 1
    ]
    documents = [document[: block_size * 3 // 4] for document in corpus.split("\n")]
    documents = some([document for document in documents if len(document.strip()) > 1])
    filled_in = []
    for document in documents:
        word = str(rng.choice(document.split()))
        shown = document.replace(word, MASK, 1) + MASK
        filled_in.append((shown + word + MASK, len(shown)))
    read = [(document, 1) for document in documents]
    return {"asked": some(asked), "read": read, "filled_in": filled_in}
