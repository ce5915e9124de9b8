"""What a model does with questions, by the student's own code: its answers, also with one head
muted, its likeliest next characters, and its attention weights.
"""

import torch

from jobs.problem1.answers import as_place, cache_works, generate


@torch.no_grad()
def see(model, questions: list[str], dataset, device: str, steps: int) -> list[dict]:
    """Ask a model.

    Args:
        model: a GPT; it is moved to the device, put into eval mode, and watched from then on.
        questions: without MASK.
        dataset: the CharCorruptionDataset of the corpus, for its vocabulary.
        device: where to compute.
        steps: the most characters of an answer.

    Returns:
        For each question, where heads are counted through the layers:
            tokens: T of them: the question, MASK, the answer and, if the model ended it, MASK.
            answer: the place, as an evaluation would write it.
            muted: the answer without each head: with zeros in its columns of proj's weight.
            next: (T, vocab_size), the probabilities of the token after each.
            attention: (heads, T, T); None if the code doesn't pass its weights to attn_drop, as the
                given code does.
    """
    model.to(device).eval()
    stop, n_head = dataset.stoi[dataset.MASK_CHAR], model.config.n_head
    prompts = [
        torch.tensor([dataset.stoi[ch] for ch in question + dataset.MASK_CHAR], device=device)
        for question in questions
    ]
    cached = cache_works(model, prompts[0][None])
    answers = generate(model, prompts, steps, stop, cached)
    muted = []
    for block in model.blocks:
        for columns in block.attn.proj.weight.chunk(n_head, dim=1):
            kept = columns.clone()
            columns.zero_()
            without = generate(model, prompts, steps, stop, cached)
            muted.append([as_place(answer, dataset) for answer in without])
            columns.copy_(kept)
    result, weights = [], []
    for block in model.blocks:
        if hasattr(block.attn, "attn_drop"):
            block.attn.attn_drop.register_forward_hook(lambda *call: weights.append(call[-1]))
    for prompt, answer, without in zip(prompts, answers, zip(*muted)):
        ended = len(answer) < steps and len(prompt) + len(answer) < model.get_block_size()
        text, T = prompt.tolist() + answer + [stop] * ended, len(prompt) + len(answer) + ended
        weights.clear()
        logits = model(torch.tensor([text], device=device))[0][0].float()
        shown = [each.shape for each in weights] == [(1, n_head, T, T)] * len(model.blocks)
        result.append(
            {
                "tokens": text,
                "answer": as_place(answer, dataset),
                "muted": without,
                "next": logits.softmax(dim=-1).cpu(),
                "attention": torch.cat(weights, dim=1)[0].float().cpu() if shown else None,
            }
        )
    return result
