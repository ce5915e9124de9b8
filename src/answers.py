"""Answering `Where was NAME born?` with a trained model: greedy decoding in batches, with a key-value cache."""
import inspect

import torch


@torch.no_grad()
def generate(model, x: torch.Tensor, steps: int, stop: int, new_cache=None) -> torch.Tensor:
    """Extend token sequences by the most likely token, one at a time.

    Args:
        model: a GPT in eval mode.
        x: int64 prompts of equal length, (B, T).
        steps: how many tokens to add at most; no more than fit into the model's block are added.
        stop: the token that ends a row. Generation ends when every row has one.
        new_cache: makes the cache of one layer (attention.KVCache): a step then reads one position instead of all.

    Returns:
        int64, (B, T + n) with n <= steps. What follows a row's `stop` means nothing.
    """
    caches = [new_cache() for _ in model.blocks] if new_cache else None
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
def cache_works(model, x: torch.Tensor, new_cache) -> bool:
    """Whether the model computes the same logits (to 1e-3) with caches as without, on the prompts x (B, T), T > 1.

    A model may not know caches, or rotate a cached query by the wrong angle: then they must not be used.
    """
    if new_cache is None or "caches" not in inspect.signature(model.forward).parameters:
        return False
    caches = [new_cache() for _ in model.blocks]
    model(x[:, :-1], caches=caches)
    with_cache = model(x[:, -1:], caches=caches)[0][:, -1]
    return torch.allclose(with_cache, model(x)[0][:, -1], atol=1e-3, rtol=1e-3)


def predict_places(model, questions: list[str], dataset, new_cache=None, device="cpu", steps: int = 32,
                   batch_size: int = 256) -> list[str]:
    """Answer questions. Questions of one length are answered together, so none needs padding.

    Args:
        model: a GPT.
        questions: without MASK, every character in dataset.stoi.
        dataset: the pretraining dataset, for its vocabulary.
        new_cache: as in generate(); None decodes without caches.
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
    if questions and not cache_works(model, _prompts(questions[:1], dataset, device), new_cache):
        new_cache = None
    for numbers in by_length.values():
        for chunk in (numbers[i:i + batch_size] for i in range(0, len(numbers), batch_size)):
            prompts = _prompts([questions[n] for n in chunk], dataset, device)
            rows = generate(model, prompts, steps, mask, new_cache)[:, prompts.size(1):].tolist()
            for number, row in zip(chunk, rows):
                answer = row[:row.index(mask)] if mask in row else row
                text = "".join(dataset.itos[token] for token in answer)
                places[number] = " ".join(text.replace(dataset.PAD_CHAR, "").split())
    return places


def _prompts(questions, dataset, device):
    """Questions of one length as tokens, each with its MASK: (B, T) int64."""
    return torch.tensor([[dataset.stoi[ch] for ch in question + dataset.MASK_CHAR] for question in questions], device=device)
