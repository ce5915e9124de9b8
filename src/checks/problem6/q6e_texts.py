"""Question 6e, basic: what changes logits, generate, and case ii, a model that repeats itself."""

from dataclasses import dataclass, replace

import numpy as np

from autograder import WrongAnswer, check, describe, probe
from autograder.inside.wire import Array
from checks.problem6.q6e import require_rare_last
from checks.problem6.shared import TOLERANCE
from checks.support.asked import Asked, Close, Same
from common.ngrams import repetition_rate


@probe
def change_logits(function, logits, arguments):
    """Call a function of fixes.py that returns other logits; has it changed its arguments?"""
    import copy

    import torch

    from submission.problem6 import fixes

    given, others = torch.tensor(logits), copy.deepcopy(arguments)
    result = getattr(fixes, function)(given, *others)
    changed = not torch.equal(given, torch.tensor(logits)) or others != arguments
    return {"changed": changed, "result": result}


@dataclass(frozen=True)
class Logits:
    """Logits of which some are -inf: the same ones, and the others within the tolerance."""

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if other tokens are kept, or the logits differ; see `Asked`."""
        kept = ~np.isneginf(right.data)
        if isinstance(got, Array) and got.data.shape == kept.shape and got.data.dtype.kind == "f":
            stays = ~np.isneginf(got.data)
            if (stays != kept).any() and not np.isnan(got.data).any():
                row = tuple(np.argwhere(stays != kept)[0][:-1].tolist())
                where = f"In row {', '.join(map(str, row))} of " if row else "In "
                tokens, wanted = (np.flatnonzero(each[row]).tolist() for each in (stays, kept))
                raise WrongAnswer(
                    f"{where}the result of {call}, the tokens {tokens} are kept; it should be "
                    f"{wanted}. The logits of others are -inf."
                )
            got = replace(got, data=np.where(kept | stays, got.data, 0))
        right = replace(right, data=np.where(kept, right.data, 0))
        Close("The result of {call}", TOLERANCE).require(call, got, right)


def _changing(inputs):
    """A call of a function that changes logits, as a student would write it."""
    logits = inputs["logits"]
    shown = f"<logits {logits.shape} {logits.dtype}>"
    if logits.size <= 4:
        shown = str([round(float(logit), 3) for logit in logits])
    return f"{inputs['function']}({', '.join([shown, *map(str, inputs['arguments'])])})"


FILTERS = Asked(
    change_logits,
    _changing,
    {
        "changed": Same(
            "{call} changes its argument in place (as logits[...] = ... and functions whose name "
            "ends with _ do). Work on a copy: logits.clone(), or masked_fill without _."
        ),
        "result": Logits(),
    },
)


@probe
def build(tokens, positions, first):
    """For other probes: a model whose logits add up what tables have for the token at each
    position, for the position, and for the first token. It reads len(positions) tokens.
    """
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = torch.nn.ParameterList(map(torch.tensor, (tokens, positions, first)))

        def get_block_size(self):
            return len(positions)

        def forward(self, idx, targets=None):
            if idx.size(1) > len(positions):
                raise ValueError(f"the model reads {len(positions)} tokens; got {idx.size(1)}")
            token, position, first = self.tables
            return token[idx] + position[: idx.size(1)] + first[idx[:, :1]], None

    return Model().eval()


@probe(uses=(build,))
def write(tables, prompt, drawn, options, seed):
    """Run generate, with torch.multinomial made to draw the tokens `drawn`: the text, whether x
    changed, and how and from what each token was drawn.

    `close`: top-p keeps others where it is a little smaller or larger, so rounding could decide.
    """
    from collections import Counter

    import torch
    from torch.overrides import TorchFunctionMode

    from submission.problem6.fixes import generate

    default, model = torch.default_generator, build(**tables)
    if seed is not None:
        options = {**options, "generator": torch.Generator().manual_seed(seed)}

    class Recorder(TorchFunctionMode):
        """Records how torch.multinomial is called, and determines its result."""

        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if getattr(function, "__name__", "") != "multinomial":
                return result
            given = dict(zip(("input", "num_samples", "replacement"), args)) | (kwargs or {})
            weights = given["input"].detach().double().flatten()
            its = (given.get("generator") or default) is (options.get("generator") or default)
            whose = "its" if its else "another"
            ways.append(f"for {given['num_samples']} token with {whose} generator")
            chances.append(weights / weights.sum())
            return torch.full_like(result, (drawn * len(ways))[len(ways) - 1])

    p, kept = options.get("top_p", 1), []
    for near in (p - 1e-5, p + 1e-5, p) if 0 < p < 1 else (p,):
        x, ways, chances = torch.tensor([prompt]), [], []
        with Recorder():
            y = generate(model, x, len(drawn), **options | ({"top_p": near} if near < 1 else {}))
        kept.append([(each > 0).tolist() for each in chances])
    return {
        "changed": x.tolist() != [prompt],
        "draws": ", ".join(f"{n} times {way}" for way, n in Counter(ways).items()) or "not at all",
        "text": y,
        "chances": {"close": any(other != kept[-1] for other in kept), "each": chances},
    }


@dataclass(frozen=True)
class Chances(Close):
    """The probabilities of the draws, where rounding cannot decide what top-p keeps."""

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if they differ; see `Asked`."""
        if not right["close"]:
            got = got.get("each") if isinstance(got, dict) else got
            super().require(call, got, right["each"])


def _generating(inputs):
    """A call of generate as a student would write it."""
    given = {**inputs["options"]} | ({} if inputs["seed"] is None else {"generator": "generator"})
    options = "".join(f", {name}={value}" for name, value in given.items())
    return (
        f"generate(model, x (1, {len(inputs['prompt'])}), {len(inputs['drawn'])}{options}) of a "
        f"model that reads {len(inputs['tables']['positions'])} tokens"
    )


TEXTS = Asked(
    write,
    _generating,
    {
        "changed": Same("{call} changes x in place."),
        "draws": Same("{call} should call torch.multinomial {right}; it does so {got}."),
        "text": Close("The result of {call}, x and the tokens drawn by torch.multinomial,"),
        "chances": Chances("In {call}, the probabilities of new tokens", TOLERANCE),
    },
)


@probe(uses=(build,))
def write_again(tables, prompt, steps, temperature, seeds):
    """Run generate with the same and with other random numbers: is the text the same?"""
    import torch

    from submission.problem6.fixes import generate

    def text(own, default):
        torch.default_generator.manual_seed(default)
        generator = None if own is None else torch.Generator().manual_seed(own)
        x = torch.tensor([prompt])
        return generate(model, x, steps, temperature=temperature, generator=generator).tolist()

    model, (a, b) = build(**tables), seeds
    same = {
        "generators of one seed": text(a, a) == text(a, b),
        "one torch.manual_seed": text(None, a) == text(None, a),
        "generators of other seeds": text(a, a) == text(b, a),
        "another torch.manual_seed": text(None, a) == text(None, b),
    }
    return {"same": " and ".join(name for name in same if same[name]) or "nothing"}


# Two texts of 40 tokens are the same by chance less than once in 10 ** 9 calls.
AGAIN = Asked(
    write_again,
    "generate(model, x, {steps}, temperature={temperature})",
    {"same": Same("{call} should write the same text again with {right}; it does with {got}.")},
)


@check("6e-4-basic", "6e-5-basic", "6e-9-basic")
def test_texts(student, calls):
    """What changes logits, and generate; then the rare cases."""
    require_rare_last(student, calls, FILTERS, TEXTS, AGAIN)


# Case ii: texts of a model that knows a language perfectly


@probe(uses=(build,))
def speak(logits, start, steps, seed):
    """Run generate in several ways, with a model whose logits depend on the last token alone."""
    import numpy as np
    import torch

    from submission.problem6.fixes import generate

    sampled, zeros, texts = {"temperature": 0.9, "top_p": 0.95}, np.zeros_like(logits), {}
    ways = {"top_k": 1}, sampled, {**sampled, "ngram": 4}, {"penalty": 1.2, "ngram": 4}
    model, x = build(logits, zeros[:16], zeros), torch.tensor([[start]])
    for number, options in enumerate(ways):
        generator = torch.Generator().manual_seed(seed + number)
        text = generate(model, x.clone(), steps, **options, generator=generator)
        texts[", ".join(f"{name}={value}" for name, value in options.items())] = text
    return texts


@dataclass(frozen=True)
class Varied:
    """A text, of whose 4-grams at most a share occurred earlier in it."""

    way: str
    most: float

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if more did; see `Asked`."""
        if not isinstance(got, Array) or describe(got) != describe(right):
            Close(f"{call}, with {self.way},").require(call, got, right)
        rate = repetition_rate(got.data[0].tolist())
        if rate > self.most:
            raise WrongAnswer(
                f"{call}, with {self.way}: of its 4-grams, {rate:.0%} occurred earlier; at most "
                f"{self.most:.0%} should. Is each token drawn, with new random numbers?"
            )


SAMPLED = "temperature=0.9, top_p=0.95"
SPEECH = Asked(
    speak,
    "Case ii: generate(model, x, {steps})",
    {
        "top_k=1": Close("{call}, with top_k=1, which is greedy decoding,"),
        SAMPLED: Varied(SAMPLED, 0.5),  # of greedy texts 79% or more, of sampled ones 20 +- 6%
        **{way: Varied(way, 0) for way in (f"{SAMPLED}, ngram=4", "penalty=1.2, ngram=4")},
    },
)
