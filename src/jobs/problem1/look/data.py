"""What a model does with questions: its answers, its attention weights, its likeliest next
characters, and its answers with one head muted.

All of it comes from the student's own code, watched and muted by hooks on modules that the given
code calls (MultiHeadAttention's attn_drop and proj).
"""

from dataclasses import dataclass

import torch
from torch.nn.utils.rnn import pad_sequence

from jobs.problem1.answers import as_place, cache_works, generate

POSITIONS = {"vanilla": "learned positions", "rope": "RoPE"}
UNTRAINED, PRETRAINED, FINETUNED, FROM_SCRATCH = STAGES = (
    "untrained",
    "pretrained",
    "finetuned",
    "only finetuned",
)
MOST_IN_PAGE = 1_000_000  # parameters of a model that a page can hold and run
LIKELIEST = 5  # next characters


@dataclass
class Seen:
    """What a model does with one question; T tokens are the question, MASK, the answer and, if the
    model ended it, MASK.

    Attributes:
        tokens: T of them.
        answer: the place, as an evaluation would write it.
        likeliest: (T, LIKELIEST, 2), tokens and their probabilities after each position.
        attention: (n_layer, n_head, T, T), or None if the code doesn't show its weights.
        muted: [layer][head] is the answer without that head, or None if no head can be muted.
    """

    tokens: list[int]
    answer: str
    likeliest: list[list[tuple[int, float]]]
    attention: torch.Tensor | None
    muted: list[list[str]] | None


@dataclass
class Look:
    """A model and what it does with the people of the page.

    Attributes:
        positions, stage: a key of POSITIONS, one of STAGES.
        source: its weights' file, or None if it is untrained.
        seen: one for each person.
        weights: its parameters, if the page is to answer other questions with them.
    """

    positions: str
    stage: str
    source: str | None
    seen: list[Seen]
    weights: dict[str, torch.Tensor] | None


@dataclass
class Found:
    """All that the page shows.

    Attributes:
        chars: the vocabulary.
        sizes: block_size, n_layer, n_head, n_embd, parameters, and steps, the most characters of an
            answer.
        people: (question, place) each.
        looks: at their models.
        rotations: what the student's code does at each position, (T, head_dim, head_dim), if the
            page is to run a model with RoPE.
        missing: what is not in the page and why, in sentences.
    """

    chars: list[str]
    sizes: dict[str, int]
    people: list[tuple[str, str]]
    looks: list[Look]
    rotations: torch.Tensor | None
    missing: list[str]


@torch.no_grad()
def see(model, questions: list[str], dataset, device: str, steps: int) -> list[Seen]:
    """Ask a model.

    Args:
        model: a GPT; it is moved to the device and put into eval mode.
        questions: without MASK.
        dataset: the CharCorruptionDataset of the corpus, for its vocabulary.
        device: where to compute.
        steps: the most characters of an answer.

    Returns:
        One Seen for each question.
    """
    model.to(device).eval()
    stop = dataset.stoi[dataset.MASK_CHAR]
    prompts = [
        torch.tensor([dataset.stoi[ch] for ch in question + dataset.MASK_CHAR], device=device)
        for question in questions
    ]
    cached = cache_works(model, prompts[0][None])
    answers = generate(model, prompts, steps, stop, cached)
    room = model.get_block_size()
    texts = []
    for prompt, answer in zip(prompts, answers):
        ended = len(answer) < steps and len(prompt) + len(answer) < room
        texts.append(prompt.tolist() + answer + [stop] * ended)
    logits, attention = watch(model, texts, device)
    probabilities, likely = logits.softmax(dim=-1).topk(min(LIKELIEST, logits.size(-1)))
    muted = answers_without_heads(model, prompts, steps, stop, cached)
    places = muted and [
        [[as_place(answer, dataset) for answer in layer] for layer in one] for one in muted
    ]
    return [
        Seen(
            tokens=text,
            answer=as_place(answers[row], dataset),
            likeliest=[
                list(zip(*pair))
                for pair in zip(
                    likely[row, : len(text)].tolist(), probabilities[row, : len(text)].tolist()
                )
            ],
            attention=None if attention is None else attention[row, ..., : len(text), : len(text)],
            muted=places and places[row],
        )
        for row, text in enumerate(texts)
    ]


def watch(model, texts: list[list[int]], device) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Read texts in one batch.

    Returns:
        Logits, (B, T, vocab_size), and attention weights, (B, n_layer, n_head, T, T), where T is
        the longest text's; None if the code doesn't pass all weights to attn_drop.
    """
    x = pad_sequence([torch.tensor(text, device=device) for text in texts], batch_first=True)
    weights = []
    hooks = [
        block.attn.attn_drop.register_forward_hook(
            lambda module, inputs, output: weights.append(output)
        )
        for block in model.blocks
        if hasattr(block.attn, "attn_drop")
    ]
    try:
        logits = model(x)[0].float()
    finally:
        for hook in hooks:
            hook.remove()
    B, T = x.shape
    fits = [each.shape == (B, model.config.n_head, T, T) for each in weights]
    if len(fits) != len(model.blocks) or not all(fits):
        return logits, None
    return logits, torch.stack(weights, dim=1).float().cpu()


def answers_without_heads(
    model, prompts: list[torch.Tensor], steps: int, stop: int, cached: bool
) -> list[list[list[list[int]]]] | None:
    """The answers with one head muted: with zeros for its output, before the heads are projected.

    All heads are muted at the same time, each in rows of its own.

    Returns:
        [prompt][layer][head] is the answer's tokens; None if the code doesn't call proj as the
        given code does, once a layer with the joined heads.
    """
    n_layer, n_head = len(model.blocks), model.config.n_head
    width, called = model.config.n_embd // n_head, set()
    rows = [prompt for prompt in prompts for _ in range(n_layer * n_head)]
    keep = torch.ones(n_layer, n_head, n_layer, n_head, width, device=prompts[0].device)
    for layer in range(n_layer):
        for head in range(n_head):
            keep[layer, head, layer, head] = 0  # row (layer, head), in the layer's head
    # (rows, n_layer, 1, n_embd)
    keep = keep.view(n_layer * n_head, n_layer, 1, -1).repeat(len(prompts), 1, 1, 1)

    def mute(layer):
        def hook(module, inputs):
            if [*inputs[0].shape[::2]] == [len(rows), keep.size(-1)]:
                called.add(layer)
                return inputs[0] * keep[:, layer]

        return hook

    hooks = [
        block.attn.proj.register_forward_pre_hook(mute(layer))
        for layer, block in enumerate(model.blocks)
        if hasattr(block.attn, "proj")
    ]
    try:
        answers = generate(model, rows, steps, stop, cached)
    finally:
        for hook in hooks:
            hook.remove()
    if len(called) < n_layer:
        return None
    by_layer = [answers[start : start + n_head] for start in range(0, len(answers), n_head)]
    return [by_layer[start : start + n_layer] for start in range(0, len(by_layer), n_layer)]
