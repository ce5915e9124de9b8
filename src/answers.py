"""Answering `Where was NAME born?` with a trained model: greedy decoding in batches, with a key-value cache."""
import torch


class KVCache:
    """The keys and values of the positions that one attention layer has already read.

    With it, generating one more token costs one position of work instead of the whole prefix again.
    """

    def __init__(self):
        self.keys = self.values = None      # (B, n_head, length, head_dim) each

    @property
    def length(self) -> int:
        """How many positions are stored."""
        return 0 if self.keys is None else self.keys.size(-2)

    def append(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Store the new positions, (B, n_head, T, head_dim) each, and return all of them, oldest first."""
        if self.keys is not None:
            keys = torch.cat((self.keys, keys), dim=-2)
            values = torch.cat((self.values, values), dim=-2)
        self.keys, self.values = keys, values
        return keys, values


@torch.no_grad()
def generate(model, x: torch.Tensor, steps: int, stop: int, cached: bool = False) -> torch.Tensor:
    """Extend token sequences by the most likely token, one at a time.

    Args:
        model: a GPT in eval mode.
        x: int64 prompts of equal length, (B, T).
        steps: how many tokens to add at most; no more than fit into the model's block are added.
        stop: the token that ends a row. Generation ends when every row has one.
        cached: keep keys and values, so that a step reads one position instead of all; see cache_works.

    Returns:
        int64, (B, T + n) with n <= steps. What follows a row's `stop` means nothing.
    """
    caches = [KVCache() for _ in model.blocks] if cached else None
    stopped = torch.zeros(x.size(0), dtype=torch.bool, device=x.device)
    unread = x
    for _ in range(min(steps, model.get_block_size() - x.size(1))):
        logits, _ = model(unread, caches=caches) if caches else model(x)
        unread = logits[:, -1, :].argmax(dim=-1, keepdim=True)
        x = torch.cat((x, unread), dim=1)
        stopped |= unread[:, 0] == stop
        if stopped.all():
            break
    return x


@torch.no_grad()
def cache_works(model, x: torch.Tensor) -> bool:
    """Whether the model computes the same logits (to 1e-3) with caches as without, on the prompts x (B, T), T > 1.

    A submission may not know caches at all, or rotate a cached query by the wrong angle: then they must not be used.
    """
    expected = model(x)[0][:, -1]
    try:
        caches = [KVCache() for _ in model.blocks]
        model(x[:, :-1], caches=caches)
        got = model(x[:, -1:], caches=caches)[0][:, -1]
    except Exception:       # whatever a student's code raises when it is given caches
        return False
    return torch.allclose(got, expected, atol=1e-3, rtol=1e-3)


def predict_places(model, questions: list[str], dataset, device="cpu", steps: int = 32, batch_size: int = 256) -> list[str]:
    """Answer questions. Questions of one length are answered together, so none needs padding.

    Args:
        model: a GPT.
        questions: without MASK, every character in dataset.stoi.
        dataset: the pretraining dataset, for its vocabulary.
        device: where to compute; the model is moved there.
        steps: the longest answer, in characters.
        batch_size: how many questions at once.

    Returns:
        The places, in the order of the questions, each without newline or tab: what stands between the question's MASK
        and the next one.
    """
    model.to(device).eval()
    mask = dataset.stoi[dataset.MASK_CHAR]
    by_length = {}
    for number, question in enumerate(questions):
        by_length.setdefault(len(question), []).append(number)
    places = [""] * len(questions)
    cached = bool(questions) and cache_works(model, _prompts(questions[:1], dataset, device))
    for numbers in by_length.values():
        for chunk in (numbers[i:i + batch_size] for i in range(0, len(numbers), batch_size)):
            prompts = _prompts([questions[n] for n in chunk], dataset, device)
            rows = generate(model, prompts, steps, mask, cached)[:, prompts.size(1):].tolist()
            for number, row in zip(chunk, rows):
                answer = row[:row.index(mask)] if mask in row else row
                text = "".join(dataset.itos[token] for token in answer)
                places[number] = text.replace(dataset.PAD_CHAR, "").replace("\n", " ").replace("\t", " ").strip()
    return places


def _prompts(questions, dataset, device):
    """Questions of one length as tokens, each with its MASK: (B, T) int64."""
    return torch.tensor([[dataset.stoi[ch] for ch in question + dataset.MASK_CHAR] for question in questions], device=device)
