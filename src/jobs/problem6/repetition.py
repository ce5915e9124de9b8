"""debug_repetition, case ii: a well-trained decoder that repeats itself under greedy decoding."""

import importlib
import math
import random
import textwrap
from html import escape

import torch
from tqdm import tqdm

from common import pages
from common.files import UserError
from common.ngrams import repetition_rate
from common.pages import ACCENT, figure
from jobs.errors import says_where

from .broken_training import (
    batches,
    descend,
    describe,
    is_tensor,
    losses_drawn,
    mean_at,
    table,
    trial,
)

BLOCK, ROWS, STEPS, LEARNING_RATE = 32, 16, 300, 3e-3
SENTENCES, PROMPT, NEW, N = 3000, "the", 70, 4
SAMPLED = "temperature 0.8, top-p 0.9"
WAYS = {
    SAMPLED: {"temperature": 0.8, "top_p": 0.9},
    f"{SAMPLED}, no {N}-gram twice": {"temperature": 0.8, "top_p": 0.9, "ngram": N},
    "top-k 1 (which is greedy), penalty 1.2": {"top_k": 1, "penalty": 1.2},
    f"top-k 1, no {N}-gram twice": {"top_k": 1, "ngram": N},
}

# The parts of sentences; the first of each list is the most frequent.
WHO = "cat dog child farmer bird fox teacher horse sailor judge".split()
WHERE = "mat chair roof table wall boat hill bridge".split()
DID = "sat slept stood waited sang".split()
PLACED = "on under near behind".split()
LIKE = "big small black quiet young".split()
WHEN = "morning evening night winter".split()
PATTERNS = (
    "the {who} {did} {placed} the {where} .",
    "the {like} {who} {did} {placed} the {where} .",
    "the {who} saw a {like} {who2} {placed} the {where} .",
    "in the {when} the {who} {did} {placed} the {where} and the {who2} {did2} .",
    "then it ran to the {where} .",
)


def sentences(seed: int, count: int = SENTENCES) -> list[str]:
    """The words of independent random sentences, in order."""
    rng = random.Random(seed)

    def draw(words):
        return rng.choices(words, [1 / (rank + 1) for rank in range(len(words))])[0]

    return " ".join(
        draw(PATTERNS).format(
            who=draw(WHO),
            who2=draw(WHO),
            did=draw(DID),
            did2=draw(DID),
            placed=draw(PLACED),
            where=draw(WHERE),
            like=draw(LIKE),
            when=draw(WHEN),
        )
        for _ in range(count)
    ).split()


def train(model_file, vocab: int, text: torch.Tensor, seed: int) -> tuple[torch.nn.Module, list]:
    """A small GPT with learned positions trained on the text, in evaluation mode, and the loss of
    each step.
    """
    torch.manual_seed(seed)
    model = model_file.GPT(
        model_file.GPTConfig(
            vocab,
            BLOCK,
            n_layer=2,
            n_head=4,
            n_embd=64,
            embd_pdrop=0.0,
            resid_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    pairs = tqdm(
        batches(text, ROWS, BLOCK, STEPS, seed),
        total=STEPS,
        desc="Training",
        unit="step",
        leave=False,
    )
    losses = list(descend(lambda x: model(x)[0], optimizer, pairs))
    return model.eval(), losses


@says_where
def run(fixes, seed: int) -> dict[str, str]:
    """Run debug_repetition: a text as in case ii, and texts by the student's generate.

    Returns:
        The sections of a page.

    Raises:
        UserError: a function of fixes.py returned something invalid.
    """
    corpus = sentences(seed)
    vocabulary = ["<pad>", *sorted(set(corpus))]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    print(
        f"A GPT with learned positions, trained on {SENTENCES:,} shuffled sentences of "
        f"{len(vocabulary) - 1} different words.\nMissing in fixes.py:"
    )
    if all(look(fixes)):
        print("  nothing")
    text = torch.tensor([numbers[word] for word in corpus])
    model_file, utils = (
        importlib.import_module(f"submission.{name}") for name in ("model", "utils")
    )
    model, losses = train(model_file, len(vocabulary), text, seed)
    x = torch.tensor([[numbers[PROMPT]]])
    texts = {
        f"{NEW + 1} words of the corpus": corpus[: NEW + 1],
        "greedy, as it was": [vocabulary[number] for number in utils.sample(model, x, NEW)[0]],
    }
    for name, options in WAYS.items():
        try:
            y = fixes.generate(
                model, x, NEW, generator=torch.Generator().manual_seed(seed), **options
            )
        except NotImplementedError:
            continue  # look has printed what is missing
        if not is_tensor(y, (1, NEW + 1), torch.int64):
            raise UserError(
                f"generate of fixes.py returned {describe(y)}. It should return an int64 tensor of "
                f"shape {(1, NEW + 1)} for a prompt of 1 token and {NEW} steps."
            )
        texts[name] = [vocabulary[number] for number in y[0].tolist()]
    print(
        f"\nIts loss is fine: {mean_at(losses, STEPS):.2f} nats per word (guessing: "
        f"{math.log(len(vocabulary) - 1):.2f})."
    )
    for name, words in texts.items():
        text = " ".join(words).replace(" .", ".")
        print(f"\n{name}:\n{textwrap.fill(text, 100, initial_indent='  ', subsequent_indent='  ')}")
    rates = {name: repetition_rate(words) for name, words in texts.items()}
    rows = [
        [f"repeated {N}-grams", "text"],
        *([f"{rate:.0%}", name] for name, rate in rates.items()),
    ]
    width = max(len(name) for _, name in rows)
    print(f"\n{table([[share, name.ljust(width)] for share, name in rows])}\n\n{verdict(rates)}")
    return {
        "Loss": losses_drawn({"the training": losses}, {"guessing": math.log(len(vocabulary) - 1)}),
        f"Repeated {N}-grams": bars(rates),
        "Texts": "".join(
            f"<h3>{escape(name)}</h3>\n<p>{escape(' '.join(words).replace(' .', '.'))}</p>\n"
            for name, words in texts.items()
        ),
    }


def bars(rates: dict[str, float]) -> str:
    """The share of repeated 4-grams of each text, as a figure."""
    says = f"The share of {N}-grams that occurred before in the same text."
    each = ", ".join(f"{name} {rate:.0%}" for name, rate in rates.items())
    with pages.plotted(height=0.5 + 0.4 * len(rates)) as drawing:
        axes = drawing.subplots()
        names = [f"{name}: {rate:.0%}" for name, rate in rates.items()]
        axes.barh(range(len(rates)), rates.values(), height=0.35, color=ACCENT)
        for row, name in enumerate(names):
            axes.annotate(name, (0, row - 0.3))
        axes.set(xlim=(0, 1), ylim=(len(rates) - 0.4, -0.8), yticks=[])
        axes.xaxis.set_major_formatter("{x:.0%}")
        return figure(pages.svg(drawing, f"Bars. {says} {each}."), says)


def look(fixes) -> list[bool]:
    """Whether each function is implemented; prints the place if not."""
    calls = {
        "apply_temperature": (0.5,),
        "top_k_filter": (2,),
        "top_p_filter": (0.5,),
        "repetition_penalty": ([1, 2], 1.2),
        "no_repeat_ngrams": ([1, 2, 1], 2),
    }
    there = [
        trial(
            name,
            lambda name=name, arguments=arguments: getattr(fixes, name)(
                torch.arange(5.0), *arguments
            ),
            "logits of shape (5,) for logits of that shape",
            lambda logits: is_tensor(logits, (5,)),
        )
        for name, arguments in calls.items()
    ]

    def model(x):
        return torch.zeros(1, x.size(1), 5), None

    model.get_block_size = lambda: 4
    # What generate itself calls may be missing, and has been reported.
    return [
        *there,
        trial(
            "generate",
            lambda: fixes.generate(model, torch.tensor([[1, 2]]), 1),
            "an int64 tensor of shape (1, 3) for x of shape (1, 2) and 1 step",
            lambda x: is_tensor(x, (1, 3), torch.int64),
        ),
    ]


def verdict(rates: dict[str, float]) -> str:
    """What the shares mean, and where to look."""
    (_, corpus), (_, before), *_ = rates.items()
    lines = [
        f"As it was, {before:.0%} of the {N}-grams occurred before; in as many words of the "
        f"corpus, {corpus:.0%}."
    ]
    if SAMPLED not in rates:
        lines.append("With generate and the functions that it calls, more texts appear here.")
        return "\n".join(lines)
    if rates[SAMPLED] > (before + corpus) / 2:
        lines.append(
            "With sampling it should be far less. Look at the draw in generate, and at what "
            "top_p_filter keeps."
        )
    else:
        lines.append(f"With your {SAMPLED}, {rates[SAMPLED]:.0%}.")
    blocked = [rate for name, rate in rates.items() if name.endswith("twice")]
    if any(rate > 0 for rate in blocked):
        lines.append(
            f"Where no {N}-gram may occur twice, one does. Look at no_repeat_ngrams: does it see "
            "all tokens, including the prompt?"
        )
    elif blocked:
        lines.append(
            f"Where no {N}-gram may occur twice, none does. Read the text to see the cost: the "
            "model is forced away from what it learned."
        )
    return "\n".join(lines)
