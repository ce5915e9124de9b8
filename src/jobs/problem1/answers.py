"""Answer `Where was NAME born?` with a trained model: greedy decoding in batches, with a key-value
cache.
"""

import torch
from torch.nn.utils.rnn import pad_sequence


class KVCache:
    """The keys and values of up to `capacity` positions that one attention layer has read.

    With it, generating a token processes one position instead of the whole prefix.
    """

    def __init__(self, capacity: int):
        self.capacity = capacity
        self.length = 0  # stored positions
        self.keys = self.values = None  # (B, n_head, capacity, head_dim) each

    def append(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Store the new positions, (B, n_head, T, head_dim) each, and return all of them, oldest
        first.
        """
        if self.keys is None:
            B, n_head, _, head_dim = keys.shape
            self.keys, self.values = (
                new.new_empty(B, n_head, self.capacity, head_dim) for new in (keys, values)
            )
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
        cached: keep keys and values, so that a step reads one position instead of all; see
            cache_works.

    Returns:
        For each prompt at most `steps` tokens, up to but not including the first `stop`.
    """
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=prompts[0].device)
    x = pad_sequence(prompts, batch_first=True)
    room = min(x.size(1) + steps, model.get_block_size())
    x = torch.nn.functional.pad(x, (0, room - x.size(1)))
    caches = [KVCache(room) for _ in model.blocks] if cached else None
    done = lengths < 0
    read = 0
    for position in range(min(map(len, prompts)), room):
        logits, _ = model(x[:, read:position], caches=caches) if cached else model(x[:, :position])
        read = position
        token = logits[:, -1].argmax(dim=-1)
        x[:, position] = token.where(position >= lengths, x[:, position])
        done |= (position >= lengths) & (token == stop) | (position + 1 >= lengths + steps)
        if done.all():
            room = position + 1
            break
    rows = (
        row[len(prompt) : min(len(prompt) + steps, room)]
        for row, prompt in zip(x.tolist(), prompts)
    )
    return [row[: row.index(stop)] if stop in row else row for row in rows]


@torch.no_grad()
def cache_works(model, x: torch.Tensor) -> bool:
    """Whether the model computes the same logits (to 1e-3) with and without caches, on the prompts
    x (B, T), T > 1.

    A submission may not support caches, or may rotate a cached query by the wrong angle: then they
    must not be used.
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
        model: a GPT.
        questions: without MASK, every character in dataset.stoi.
        dataset: the pretraining dataset, for its vocabulary.
        device: where to compute; the model is moved there.
        steps: the maximum length of an answer, in characters.
        batch_size: the number of questions per batch.

    Returns:
        The places, in the order of the questions, without newlines or tabs: the text between the
        question's MASK and the next one.
    """
    model.to(device).eval()
    prompts = [
        torch.tensor([dataset.stoi[ch] for ch in question + dataset.MASK_CHAR], device=device)
        for question in questions
    ]
    cached = bool(prompts) and cache_works(model, prompts[0][None])
    by_length = sorted(range(len(prompts)), key=lambda number: len(prompts[number]))
    places = [""] * len(prompts)
    for chunk in (by_length[i : i + batch_size] for i in range(0, len(prompts), batch_size)):
        rows = generate(
            model,
            [prompts[number] for number in chunk],
            steps,
            dataset.stoi[dataset.MASK_CHAR],
            cached,
        )
        for number, row in zip(chunk, rows):
            places[number] = as_place(row, dataset)
    return places


def as_place(tokens: list[int], dataset) -> str:
    """An answer's tokens as a place: without padding, newlines or tabs."""
    text = "".join(dataset.itos[token] for token in tokens)
    return text.replace(dataset.PAD_CHAR, "").replace("\n", " ").replace("\t", " ").strip()
