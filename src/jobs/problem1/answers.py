"""Answer `Where was NAME born?` with a trained model: greedy decoding in batches, with a key-value
cache.
"""

import torch
from torch.nn.utils.rnn import pad_sequence


class KVCache:
    """The keys and values of up to `capacity` positions that one attention layer has read: with it,
    a generated token takes the work of one position instead of the whole prefix.
    """

    def __init__(self, capacity: int):
        self.capacity, self.length = capacity, 0  # positions: at most, stored
        self.keys = self.values = None  # (B, n_head, capacity, head_dim) each

    def append(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Store the new positions, (B, n_head, T, head_dim) each, and return all of them, oldest
        first.
        """
        if self.keys is None:
            shape = (*keys.shape[:2], self.capacity, keys.size(-1))
            self.keys, self.values = keys.new_empty(shape), values.new_empty(shape)
        start, self.length = self.length, self.length + keys.size(-2)
        self.keys[:, :, start : self.length] = keys
        self.values[:, :, start : self.length] = values
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]


@torch.no_grad()
def generate(
    model, prompts: list[torch.Tensor], steps: int, stop: int, cached: bool = False
) -> list[list[int]]:
    """Extend prompts greedily, one token at a time.

    All rows are at the same position, whatever the lengths of their prompts: a row that is still in
    its prompt reads its next token, the others the token that was generated. So prompts need no
    left padding, and few steps serve many rows.

    Args:
        model: a GPT in eval mode.
        prompts: int64, (T,) each, on the model's device; T may differ.
        steps: the maximum number of new tokens; fewer if the model's block is full.
        stop: the token that ends a row. Generation ends when every row has one.
        cached: keep keys and values, if cache_works.

    Returns:
        For each prompt at most `steps` tokens, up to but not including the first `stop`.
    """
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=prompts[0].device)
    x = pad_sequence(prompts, batch_first=True)
    room = min(x.size(1) + steps, model.get_block_size())
    x = torch.nn.functional.pad(x, (0, room - x.size(1)))
    caches = [KVCache(room) for _ in model.blocks] if cached else None
    done, read = lengths < 0, 0
    for position in range(min(map(len, prompts)), room):
        logits, _ = model(x[:, read:position], caches=caches) if cached else model(x[:, :position])
        read = position
        token = logits[:, -1].argmax(dim=-1)
        x[:, position] = token.where(position >= lengths, x[:, position])
        done |= (position >= lengths) & (token == stop) | (position + 1 >= lengths + steps)
        if done.all():
            x = x[:, : position + 1]
            break
    rows = (row[len(prompt) : len(prompt) + steps] for row, prompt in zip(x.tolist(), prompts))
    return [row[: row.index(stop)] if stop in row else row for row in rows]


@torch.no_grad()
def cache_works(model, x: torch.Tensor) -> bool:
    """Whether the model computes the same logits (to 1e-3) with and without caches, on the prompts
    x (B, T), T > 1. A submission may know no caches, or rotate a cached query by the wrong angle.
    """
    expected = model(x)[0][:, -1]
    try:
        caches = [KVCache(x.size(1)) for _ in model.blocks]
        model(x[:, :-1], caches=caches)
        got = model(x[:, -1:], caches=caches)[0][:, -1]
    except Exception:  # anything that a student's code raises when it gets caches
        return False
    return torch.allclose(got, expected, atol=1e-3, rtol=1e-3)


def predict_places(
    model, questions: list[str], dataset, device="cpu", steps: int = 32, batch_size: int = 256
) -> list[str]:
    """Answer questions.

    Args:
        model: a GPT; it is moved to `device`.
        questions: without MASK, every character in dataset.stoi.
        dataset: the pretraining dataset, for its vocabulary.
        steps: the maximum length of an answer, in characters.

    Returns:
        The places, in the order of the questions.
    """
    if not questions:
        return []
    model.to(device).eval()
    prompts = [
        torch.tensor([dataset.stoi[ch] for ch in question + dataset.MASK_CHAR], device=device)
        for question in questions
    ]
    cached = cache_works(model, prompts[0][None])
    stop, places = dataset.stoi[dataset.MASK_CHAR], {}
    # of similar lengths at a time: one starts to answer when all shorter ones have begun
    for batch in torch.tensor([*map(len, prompts)]).argsort(stable=True).split(batch_size):
        rows = generate(model, [prompts[i] for i in batch], steps, stop, cached)
        places |= zip(batch.tolist(), (as_place(row, dataset) for row in rows))
    return [places[i] for i in range(len(questions))]


def as_place(tokens: list[int], dataset) -> str:
    """An answer's tokens as a place: without padding, newlines or tabs."""
    text = "".join(dataset.itos[token] for token in tokens)
    return text.replace(dataset.PAD_CHAR, "").replace("\n", " ").replace("\t", " ").strip()
