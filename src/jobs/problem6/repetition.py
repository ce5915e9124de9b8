"""debug_repetition, case ii: a well-trained decoder that repeats itself under greedy decoding."""

import contextlib
import importlib
import math
import random
import textwrap
from html import escape
from statistics import fmean

import torch

from common import pages
from jobs.training_log import repetition_rate

from .broken_training import NO_DROPOUT, checked, look, losses_drawn, train

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


def run(fixes, seed: int) -> dict[str, str]:
    """Show a text as in case ii, and texts by the student's generate. Returns the sections of a
    page; raises UserError if a fix returns something invalid.
    """
    corpus = sentences(seed)
    vocabulary = ["<pad>", *sorted(set(corpus))]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    guessing = math.log(len(vocabulary) - 1)
    print(
        f"A GPT with learned positions, trained on {SENTENCES:,} shuffled sentences of "
        f"{len(vocabulary) - 1} different words."
    )
    logits, x = torch.arange(5.0), torch.tensor([[1, 2]])
    of_logits = {
        "apply_temperature": (0.5,),
        "top_k_filter": (2,),
        "top_p_filter": (0.5,),
        "repetition_penalty": ([1, 2], 1.2),
        "no_repeat_ngrams": ([1, 2, 1], 2),
    }
    trials = {name: (logits, logits, *others) for name, others in of_logits.items()}

    def one_letter(x):
        return torch.zeros(1, x.size(1), 5), None

    one_letter.get_block_size = lambda: 4
    # what generate itself calls may be missing, and is reported before
    look(fixes, trials | {"generate": (torch.tensor([[1, 2, 0]]), one_letter, x, 1)})
    gpt, utils = (importlib.import_module(f"submission.{name}") for name in ("model", "utils"))
    torch.manual_seed(seed)
    sizes = {"n_layer": 2, "n_head": 4, "n_embd": 64}
    model = gpt.GPT(gpt.GPTConfig(len(vocabulary), BLOCK, **sizes, **NO_DROPOUT))
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    tokens = torch.tensor([numbers[word] for word in corpus])
    losses = train("as it was", model, optimizer, tokens, (STEPS, ROWS, BLOCK), seed)
    model.eval()
    x = torch.tensor([[numbers[PROMPT]]])
    right = torch.zeros(1, NEW + 1, dtype=torch.int64)
    found = {f"{NEW + 1} words of the corpus": tokens[None, : NEW + 1]}
    found["greedy, as it was"] = utils.sample(model, x, NEW)
    for name, options in WAYS.items():
        options = options | {"generator": torch.Generator().manual_seed(seed)}
        with contextlib.suppress(NotImplementedError):  # look has printed what is missing
            found[name] = checked(fixes, "generate", right, model, x, NEW, **options)
    loss, texts = fmean(losses[-10:]), ""
    print(f"\nIts loss is fine: {loss:.2f} nats per word (guessing: {guessing:.2f}).")
    for name, y in found.items():
        text = " ".join(vocabulary[number] for number in y[0]).replace(" .", ".")
        print(f"\n{name}:\n{textwrap.indent(textwrap.fill(text, 98), '  ')}")
        texts += f"<h3>{escape(name)}</h3>\n<p>{escape(text)}</p>\n"
    rates = {name: repetition_rate(y[0].tolist()) for name, y in found.items()}
    print(f"\nrepeated {N}-grams  text")
    for name, rate in rates.items():
        print(f"{rate:>16.0%}  {name}")
    print(f"\n{verdict(rates)}")
    says, head = "The share of 4-grams that occurred before in the same text", ["Text", "Repeated"]
    shares = [[escape(name), f"{rate:.0%}"] for name, rate in rates.items()]
    return {
        "Loss": losses_drawn({"as it was": losses}, guessing=guessing),
        f"Repeated {N}-grams": pages.table(says, head, shares),
        "Texts": texts,
    }


def verdict(rates: dict[str, float]) -> str:
    """What the shares mean, and where to look."""
    (_, corpus), (_, before), *_ = rates.items()
    sampled = rates.get(SAMPLED)
    said = f"As it was, {before:.0%} of the {N}-grams occurred before; in as many words of the "
    said += f"corpus, {corpus:.0%}.\n"
    if sampled is None:
        said += "With generate and the functions that it calls, more texts appear here."
    elif sampled > (before + corpus) / 2:
        said += "With sampling it should be far less. Look at the draw in generate, and at what "
        said += "top_p_filter keeps."
    else:
        said += f"With your {SAMPLED}, {sampled:.0%}."
    blocked = [rate for name, rate in rates.items() if name.endswith("twice")]
    if any(blocked):
        said += f"\nWhere no {N}-gram may occur twice, one does. Look at no_repeat_ngrams: does it "
        said += "see all tokens, including the prompt?"
    elif blocked:
        said += f"\nWhere no {N}-gram may occur twice, none does. Read the text to see the cost: "
        said += "the model is forced away from what it learned."
    return said
