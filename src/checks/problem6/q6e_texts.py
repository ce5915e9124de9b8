"""Question 6e, basic: what changes logits, generate, and case ii, a model that repeats itself; and
the checks of all of 6e.
"""

from dataclasses import dataclass

from autograder import Verdict, check, probe
from checks.problem6.q6e import CLIPPING, INIT, SCORES, STACK, TRAINING
from checks.support.asked import TOLERANCE, Asked, Close, Same
from checks.support.unchanged import Unchanged, summarize

RARE = " (a rare case)"
KEPT = 0.75  # share of a check's points if only rare cases are wrong, as the handout says


@probe(uses=(summarize,))
def change_logits(function, logits, arguments):
    """Call a function of fixes.py that returns other logits: its arguments afterwards, the tokens
    that it keeps in each row, and its result, with 0 for -inf.
    """
    import torch

    from submission.problem6 import fixes

    given = torch.from_numpy(logits)
    result = getattr(fixes, function)(given, *arguments)
    reply = {"arguments": summarize([given, *arguments]), "like": result}
    if isinstance(result, torch.Tensor) and result.shape == given.shape:
        excluded = result.isneginf()
        rows = (~excluded).reshape(-1, given.size(-1))
        reply["like"] = "logits of the same shape"
        reply["kept"] = str([row.nonzero().flatten().tolist() for row in rows])
        reply["result"] = result.masked_fill(excluded, 0)
    return reply


FILTERS = Asked(
    change_logits,
    lambda inputs: (
        f"{inputs['function']}(<logits {inputs['logits'].shape} {inputs['logits'].dtype}>, "
        f"{', '.join(map(str, inputs['arguments']))})"
    ),
    {
        "arguments": Unchanged(
            "{call} changes its argument in place (as logits[...] = ... and functions whose name "
            "ends with _ do). Work on a copy: logits.clone(), or masked_fill without _."
        ),
        "like": Close("The result of {call}"),
        "kept": Same(
            "The tokens kept in each row of the result of {call} are {got}; it should be {right}. "
            "The logits of others are -inf."
        ),
        "result": Close("The result of {call}", TOLERANCE),
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
            tables = (torch.nn.Parameter(torch.tensor(each)) for each in (tokens, positions, first))
            self.token, self.position, self.first = tables

        def get_block_size(self):
            return len(positions)

        def forward(self, idx, targets=None):
            if idx.size(1) > len(positions):
                raise ValueError(f"the model reads {len(positions)} tokens; got {idx.size(1)}")
            logits = self.token[idx] + self.position[: idx.size(1)] + self.first[idx[:, :1]]
            return logits, None

    return Model().eval()


@probe(uses=(build, summarize))
def write(tables, prompt, drawn, options, seed):
    """Run generate, with torch.multinomial made to draw the tokens `drawn`: the text, x
    afterwards, and how and from what each token was drawn.

    `close`: a little smaller or larger, top-p keeps others, so rounding could decide.
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
    for near in (p - 1e-5, p + 1e-5) if 0 < p < 1 else (p,):
        x, ways, chances = torch.tensor([prompt]), [], []
        with Recorder():
            y = generate(model, x, len(drawn), **options | ({"top_p": near} if near < 1 else {}))
        kept.append([(each > 0).tolist() for each in chances])
    return {
        "arguments": summarize({"x": x}),
        "draws": ", ".join(f"{n} times {way}" for way, n in Counter(ways).items()) or "not at all",
        "text": y,
        "chances": {"close": kept[0] != kept[-1], "each": chances},
    }


@dataclass(frozen=True)
class Chances(Close):
    """The probabilities of the draws, where rounding cannot decide what top-p keeps."""

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if they differ; see `Asked`."""
        if not right["close"]:
            got = got.get("each") if isinstance(got, dict) else got
            super().require(call, got, right["each"])


TEXTS = Asked(
    write,
    lambda inputs: (
        f"generate(model, x (1, {len(inputs['prompt'])}), {len(inputs['drawn'])}"
        + "".join(f", {name}={value}" for name, value in inputs["options"].items())
        + ("" if inputs["seed"] is None else ", generator=generator")
        + f") of a model that reads {len(inputs['tables']['positions'])} tokens"
    ),
    {
        "arguments": Unchanged("{call} changes x in place."),
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
    given, drawn = text(a, a), text(None, a)
    same = {
        "generators of one seed": given == text(a, b),
        "one torch.manual_seed": drawn == text(None, a),
        "generators of other seeds": given == text(b, a),
        "another torch.manual_seed": drawn == text(None, b),
    }
    return {"same": " and ".join(name for name in same if same[name]) or "nothing"}


# Two texts of 12 tokens, of 20 that are about equally likely, are the same by chance less than once
# in 10 ** 12 calls.
AGAIN = Asked(
    write_again,
    "generate(model, x, {steps}, temperature={temperature})",
    {"same": Same("{call} should write the same text again with {right}; it does with {got}.")},
)


@probe(uses=(build,))
def speak(logits, start, steps, seed):
    """Run generate greedily and otherwise with a model whose logits depend on the last token alone:
    the greedy text, and with which options most 4-grams of a text occurred earlier in it.
    """
    import torch

    from submission.problem6.fixes import generate

    zeros = 0 * logits
    model, x = build(logits, zeros[:16], zeros), torch.tensor([[start]])
    generator, repetitive = torch.Generator().manual_seed(seed), []
    greedy, sampled = {"top_k": 1}, {"temperature": 0.9, "top_p": 0.95}
    for options in (sampled, {**sampled, "ngram": 4}, greedy):
        text = generate(model, x, steps, **options, generator=generator)
        tokens = text[0].tolist()
        grams = [*zip(*(tokens[n:] for n in range(4)))]
        if len({*grams}) < len(grams) / 2:
            repetitive.append(", ".join(f"{name}={value}" for name, value in options.items()))
    return {"greedy": text, "repetitive": repetitive}


# Of the 4-grams of sampled texts, 22 +- 7% occurred earlier.
SPEECH = Asked(
    speak,
    "Case ii: generate(model, x, {steps})",
    {
        "greedy": Close("{call}, with top_k=1, which is greedy decoding,"),
        "repetitive": Same(
            "{call}: most 4-grams of a text occurred earlier in it with {got}; that should be so "
            "with {right} alone. Is each token drawn, with new random numbers?"
        ),
    },
)

ASKED = SCORES, CLIPPING, STACK, INIT, FILTERS, TEXTS, AGAIN, SPEECH, TRAINING


@check("6e-3-basic", "6e-4-basic", "6e-5-basic", "6e-6-basic", "6e-7-basic", "6e-9-basic")
def test_fixes(student, calls):
    """The usual calls, and then the rare ones, which cost less: those with the remark RARE."""
    known, faults = {asked.name: asked for asked in ASKED}, []
    for name in dict.fromkeys(call.asked for call in calls):
        asked, mine = known[name], [call for call in calls if call.asked == name]
        replies = student.each(asked.probe, [call.inputs for call in mine])
        for call, reply in zip(mine, replies):
            if fault := asked.fault(call, reply):
                faults.append((RARE in call.remark, fault.explained(call)))
    if faults:
        rare, failed = min(faults, key=lambda fault: fault[0])
        if rare and failed.verdict in (Verdict.WRONG_ANSWER, Verdict.EXCEPTION):
            failed.fraction = KEPT
        raise failed
