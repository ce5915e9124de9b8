"""Case ii of question 6e: judges texts that generate writes with a model that knows a language
perfectly.
"""

import numpy as np

from autograder import WrongAnswer, probe
from checks.support.cases import Case
from common.ngrams import repetition_rate

STEPS, N = 120, 4  # of the texts: words, and the n of n-grams
SAMPLED = "temperature=0.9, top_p=0.95"
DECODINGS = {
    "top_k=1": {"top_k": 1},
    SAMPLED: {"temperature": 0.9, "top_p": 0.95},
    f"{SAMPLED}, ngram={N}": {"temperature": 0.9, "top_p": 0.95, "ngram": N},
    f"penalty=1.2, ngram={N}": {"penalty": 1.2, "ngram": N},
}


@probe
def write_texts(logits, start, steps, cases, seed):
    """Run generate for each case of options, with a model whose logits depend only on the last
    token.
    """
    import torch

    from submission.problem6.fixes import generate

    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.logits = torch.nn.Parameter(torch.from_numpy(logits))

        def get_block_size(self):
            return 16

        def forward(self, idx, targets=None):
            if idx.size(1) > 16:
                raise ValueError(f"the model reads at most 16 tokens; got {idx.size(1)}")
            return self.logits[idx], None

    model = Table().eval()
    return [
        generate(
            model,
            torch.tensor([[start]]),
            steps,
            generator=torch.Generator().manual_seed(seed + i),
            **options,
        )
        for i, options in enumerate(cases)
    ]


def surprise(logits: np.ndarray, words: list[int]) -> float:
    """Return the mean surprise per word in nats, for logits that are log probabilities."""
    return float(-logits[words[:-1], words[1:]].mean())


def judge_texts(student, case: Case) -> None:
    """Check that greedy texts loop, and that sampled ones don't and are in the language.

    Args:
        case: its inputs are a language and a first word, `right` is the greedy text; `about` has
            the mean repetition and surprise of sampled texts.

    Raises:
        WrongAnswer: one of these fails.
    """
    logits, start = case.inputs["logits"], case.inputs["start"]
    answers = student.run(write_texts, **case.inputs, steps=STEPS, cases=list(DECODINGS.values()))
    texts = {}
    for name, answer in zip(DECODINGS, answers.items(len(DECODINGS))):
        text = answer.named(f"the text that generate writes, {name},").present()
        words = text.array("int64", (1, STEPS + 1))[0].tolist()
        if words[0] != start or not all(0 <= word < len(logits) for word in words):
            raise WrongAnswer(
                f"Case ii: the text that generate writes, {name}, does not start with the prompt, "
                f"or has tokens outside the vocabulary of {len(logits)}."
            )
        texts[name] = words
    if texts["top_k=1"] != case.right:
        raise WrongAnswer(
            "Case ii: generate with top_k=1 should write the same as greedy decoding, a loop; it "
            "writes something else."
        )
    rates = {name: repetition_rate(words) for name, words in texts.items()}
    greedy = repetition_rate(case.right)
    # Greedy texts have 79% or more, sampled ones 20 ± 6%.
    limit = (greedy + case.about["repetition"]) / 2
    if rates[SAMPLED] > limit:
        raise WrongAnswer(
            f"Case ii: of the {N}-grams in a text that generate writes with {SAMPLED}, "
            f"{rates[SAMPLED]:.0%} occurred earlier. Greedy decoding has {greedy:.0%}, and "
            f"sampling should have less than {limit:.0%}.\n"
            "Likely cause: the token is not drawn, or always with the same random numbers."
        )
    for name, rate in list(rates.items())[2:]:
        if rate:
            raise WrongAnswer(
                f"Case ii: with {name}, generate repeats {N}-grams: {rate:.0%} occurred earlier."
            )
    # The mean of 120 logarithms has a standard deviation of 0.1; uniform draws are higher by at
    # least 2.
    cost = surprise(logits, texts[SAMPLED])
    if cost > case.about["surprise"] + 1:
        raise WrongAnswer(
            f"Case ii: what generate writes with {SAMPLED} doesn't follow the model's "
            f"probabilities. A word's mean surprise is {cost:.2f} nats; it should be about "
            f"{case.about['surprise']:.2f}."
        )
