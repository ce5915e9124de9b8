"""debug_repetition, case ii: a well-trained decoder that repeats itself under greedy decoding."""

import importlib
import math
import random
import textwrap
from html import escape
from statistics import fmean

import torch

from common import pages
from common.ngrams import repetition_rate
from jobs.errors import says_where

from .broken_training import descend, look, losses_drawn, require, train

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
DID = "sat slept stood waited sang".split()
PARTS = {
    "who": WHO,
    "who2": WHO,
    "did": DID,
    "did2": DID,
    "placed": "on under near behind".split(),
    "where": "mat chair roof table wall boat hill bridge".split(),
    "like": "big small black quiet young".split(),
    "when": "morning evening night winter".split(),
}
PATTERNS = (
    "the {who} {did} {placed} the {where} .",
    "the {like} {who} {did} {placed} the {where} .",
    "the {who} saw a {like} {who2} {placed} the {where} .",
    "in the {when} the {who} {did} {placed} the {where} and the {who2} {did2} .",
    "then it ran to the {where} .",
)


def sentences(seed: int) -> list[str]:
    """The words of independent random sentences, in order."""
    rng = random.Random(seed)

    def draw(words):
        return rng.choices(words, [1 / (rank + 1) for rank in range(len(words))])[0]

    return " ".join(
        draw(PATTERNS).format_map({name: draw(words) for name, words in PARTS.items()})
        for _ in range(SENTENCES)
    ).split()


@says_where
def run(fixes, seed: int) -> dict[str, str]:
    """Run debug_repetition: a text as in case ii, and texts by the student's generate. Returns the
    sections of a page.

    Raises:
        UserError: a function of fixes.py returned something invalid.
    """
    corpus = sentences(seed)
    vocabulary = ["<pad>", *sorted(set(corpus))]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    guessing = math.log(len(vocabulary) - 1)
    print(
        f"A GPT with learned positions, trained on {SENTENCES:,} shuffled sentences of "
        f"{len(vocabulary) - 1} different words."
    )
    look(trials(fixes))
    gpt, utils = (importlib.import_module(f"submission.{name}") for name in ("model", "utils"))
    torch.manual_seed(seed)
    sizes = {"n_layer": 2, "n_head": 4, "n_embd": 64}
    without = dict.fromkeys(("embd_pdrop", "resid_pdrop", "attn_pdrop"), 0.0)
    model = gpt.GPT(gpt.GPTConfig(len(vocabulary), BLOCK, **sizes, **without))
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    tokens, x = (torch.tensor([numbers[word] for word in words]) for words in (corpus, [PROMPT]))
    losses = descend(model, optimizer, tokens, (ROWS, BLOCK), STEPS, seed)
    runs = train({"as it was": losses}, STEPS)
    model.eval()
    found = {"greedy, as it was": utils.sample(model, x[None], NEW)}
    for name, options in WAYS.items():
        generator = torch.Generator().manual_seed(seed)
        try:
            y = fixes.generate(model, x[None], NEW, generator=generator, **options)
        except NotImplementedError:
            continue  # look has printed what is missing
        right = torch.zeros(1, NEW + 1, dtype=torch.int64)
        require("generate", y, right, f"a prompt of 1 token and {NEW} steps")
        found[name] = y
    words = {name: [vocabulary[number] for number in y[0]] for name, y in found.items()}
    words = {f"{NEW + 1} words of the corpus": corpus[: NEW + 1], **words}
    texts = {name: " ".join(each).replace(" .", ".") for name, each in words.items()}
    rates = {name: repetition_rate(each) for name, each in words.items()}
    loss = fmean(runs["as it was"][-10:])
    print(f"\nIts loss is fine: {loss:.2f} nats per word (guessing: {guessing:.2f}).")
    for name, text in texts.items():
        indent = {"initial_indent": "  ", "subsequent_indent": "  "}
        print(f"\n{name}:\n{textwrap.fill(text, 100, **indent)}")
    print(f"\nrepeated {N}-grams  text")
    for name, rate in rates.items():
        print(f"{rate:>16.0%}  {name}")
    explain(rates)
    written = (f"<h3>{escape(name)}</h3>\n<p>{escape(text)}</p>\n" for name, text in texts.items())
    return {
        "Loss": losses_drawn(runs, guessing=guessing),
        f"Repeated {N}-grams": bars(rates),
        "Texts": "".join(written),
    }


def trials(fixes) -> dict[str, tuple]:
    """A small call of each function, as look wants it."""
    calls = {
        "apply_temperature": (0.5,),
        "top_k_filter": (2,),
        "top_p_filter": (0.5,),
        "repetition_penalty": ([1, 2], 1.2),
        "no_repeat_ngrams": ([1, 2, 1], 2),
    }
    logits = torch.arange(5.0)

    def call(name):
        return lambda: getattr(fixes, name)(logits, *calls[name])

    def model(x):
        return torch.zeros(1, x.size(1), 5), None

    model.get_block_size = lambda: 4
    x, y = torch.tensor([[1, 2]]), torch.tensor([[1, 2, 0]])
    # What generate itself calls may be missing, and has been reported.
    generate = (lambda: fixes.generate(model, x, 1)), y, "x of shape (1, 2) and 1 step"
    return {name: (call(name), logits, "logits of shape (5,)") for name in calls} | {
        "generate": generate
    }


def bars(rates: dict[str, float]) -> str:
    """The share of repeated 4-grams of each text, as a figure."""
    says = f"The share of {N}-grams that occurred before in the same text."
    names = [f"{name}: {rate:.0%}" for name, rate in rates.items()]
    with pages.plotted(height=0.5 + 0.4 * len(rates)) as drawing:
        axes = drawing.subplots()
        axes.barh(range(len(rates)), rates.values(), height=0.35, color=pages.ACCENT)
        for row, name in enumerate(names):
            axes.annotate(name, (0, row - 0.3))
        axes.set(xlim=(0, 1), ylim=(len(rates) - 0.4, -0.8), yticks=[])
        axes.xaxis.set_major_formatter("{x:.0%}")
        return pages.figure(pages.svg(drawing, f"Bars. {says} {', '.join(names)}."), says)


def explain(rates: dict[str, float]) -> None:
    """Print what the shares mean, and where to look."""
    (_, corpus), (_, before), *_ = rates.items()
    print(
        f"\nAs it was, {before:.0%} of the {N}-grams occurred before; in as many words of the "
        f"corpus, {corpus:.0%}."
    )
    if SAMPLED not in rates:
        print("With generate and the functions that it calls, more texts appear here.")
    elif rates[SAMPLED] > (before + corpus) / 2:
        print(
            "With sampling it should be far less. Look at the draw in generate, and at what "
            "top_p_filter keeps."
        )
    else:
        print(f"With your {SAMPLED}, {rates[SAMPLED]:.0%}.")
    blocked = [rate for name, rate in rates.items() if name.endswith("twice")]
    if any(blocked):
        print(
            f"Where no {N}-gram may occur twice, one does. Look at no_repeat_ngrams: does it see "
            "all tokens, including the prompt?"
        )
    elif blocked:
        print(
            f"Where no {N}-gram may occur twice, none does. Read the text to see the cost: the "
            "model is forced away from what it learned."
        )
