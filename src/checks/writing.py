"""Case ii of question 6e: texts that generate writes with a model that knows a language perfectly. The judge reads them."""
from dataclasses import dataclass

import numpy as np

from autograder import WrongAnswer, probe
from checks.logits import softmax, top_p

VOCAB = 24
STEPS, N = 120, 4       # of the texts: words, and the size of what may not repeat
SAMPLED = "temperature=0.9, top_p=0.95"
DECODINGS = {"top_k=1": {"top_k": 1}, SAMPLED: {"temperature": 0.9, "top_p": 0.95},
             f"{SAMPLED}, ngram={N}": {"temperature": 0.9, "top_p": 0.95, "ngram": N},
             f"penalty=1.2, ngram={N}": {"penalty": 1.2, "ngram": N}}


@dataclass(frozen=True)
class Language:
    """A random language of VOCAB words, in which a word depends on the one before: chances[i, j] is that of j after i."""
    chances: np.ndarray

    def write(self, rng, length: int) -> np.ndarray:
        """A text, int64."""
        sums, words = self.chances.cumsum(axis=1), [int(rng.integers(VOCAB))]
        for number in rng.random(length - 1):
            words.append(min(int(np.searchsorted(sums[words[-1]], number)), VOCAB - 1))
        return np.array(words)

    def ideal(self, x: np.ndarray, y: np.ndarray) -> float:
        """The loss of who knows all chances."""
        return float(-np.log(self.chances[x, y]).mean())


def draw_language(rng) -> Language:
    """After each word, three others are likely. All words are equally frequent: no language is harder to learn than another."""
    chances = np.full((VOCAB, VOCAB), 0.05 / VOCAB)
    for chance in (0.6, 0.25, 0.1):
        chances[np.arange(VOCAB), rng.permutation(VOCAB)] += chance
    return Language(chances)


@probe
def write_texts(logits, start, steps, cases, seed):
    """Case ii: generate for each case of options, with a model whose logits for the next token depend on the last one alone."""
    import torch
    from submission.fixes import generate

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
    return [generate(model, torch.tensor([[start]]), steps, generator=torch.Generator().manual_seed(seed + i), **options)
            for i, options in enumerate(cases)]


def repetition_rate(words: list[int], n: int = N) -> float:
    """The share of n-grams that occurred before in the same text."""
    grams = [tuple(words[i:i + n]) for i in range(len(words) - n + 1)]
    return 1 - len(set(grams)) / len(grams)


def judge_texts(student, rng) -> None:
    """Greedy texts loop, sampled ones do not, and are texts of the language.

    Raises:
        WrongAnswer: it is otherwise.
    """
    language = draw_language(rng)
    logits = np.log(language.chances).astype(np.float32)
    start, seed = int(rng.integers(VOCAB)), int(rng.integers(1 << 30))
    answers = student.run(write_texts, logits=logits, start=start, steps=STEPS, cases=list(DECODINGS.values()), seed=seed)
    texts = {}
    for name, answer in zip(DECODINGS, answers.items(len(DECODINGS))):
        words = answer.named(f"the text that generate writes, {name},").present().array("int64", (1, STEPS + 1))[0].tolist()
        if words[0] != start or not all(0 <= word < VOCAB for word in words):
            raise WrongAnswer(f"Case ii: the text that generate writes, {name}, does not begin with the prompt, or has tokens "
                              f"that are none of the {VOCAB}.")
        texts[name] = words
    loop = [start]
    for _ in range(STEPS):
        loop.append(int(logits[loop[-1]].argmax()))
    if texts["top_k=1"] != loop:
        raise WrongAnswer("Case ii: generate with top_k=1 should write what greedy decoding does, a loop; it writes something "
                          "else.")
    rates = {name: repetition_rate(words) for name, words in texts.items()}
    own = _sample(language, rng, start)
    # Greedy texts have 79% and more, sampled ones 20%, give or take 6.
    limit = (repetition_rate(loop) + np.mean([repetition_rate(words) for words in own])) / 2
    if rates[SAMPLED] > limit:
        raise WrongAnswer(f"Case ii: of the {N}-grams in a text that generate writes with {SAMPLED}, {rates[SAMPLED]:.0%} have "
                          f"been there before. Greedy decoding has {repetition_rate(loop):.0%}, and sampling should have less "
                          f"than {limit:.0%}.\nLikely cause: the token is not drawn, or always with the same random numbers.")
    for name, words in list(texts.items())[2:]:
        if rates[name]:
            raise WrongAnswer(f"Case ii: with {name}, generate repeats {N}-grams: {rates[name]:.0%} have been there before.")
    # The mean of 120 logarithms has a standard deviation of 0.1; what is drawn evenly is above by 2 and more.
    surprise = [np.mean([_surprise(language, words) for words in own]), _surprise(language, texts[SAMPLED])]
    if surprise[1] > surprise[0] + 1:
        raise WrongAnswer(f"Case ii: what generate writes with {SAMPLED} is not what the model would write. A word costs "
                          f"{surprise[1]:.2f} nats on average; it should be about {surprise[0]:.2f}.")


def _sample(language, rng, start):
    """Texts at temperature 0.9 with top-p 0.95, of the judge's own."""
    logits = np.log(language.chances) / 0.9
    chances = softmax(np.where(top_p(logits, 0.95), logits, -np.inf))
    texts = []
    for _ in range(10):
        words = [start]
        for _ in range(STEPS):
            words.append(int(rng.choice(VOCAB, p=chances[words[-1]])))
        texts.append(words)
    return texts


def _surprise(language, words):
    """What a word costs on average, in nats."""
    return float(-np.log(language.chances[words[:-1], words[1:]]).mean())
