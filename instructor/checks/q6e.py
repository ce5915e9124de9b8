"""Question 6e, hidden: generate, with models whose logits are known; each draw is looked at."""
import itertools

import numpy as np

from autograder import Answer, WrongAnswer, check, probe
from autograder.compare import matches
from checks.calls import attempt, require_refusal
from checks.logit_cases import short
from checks.logits import before, penalized, softmax, top_k, unrepeated

TOLERANCE = 1e-5
DEFAULTS = {"temperature": 1.0, "top_k": None, "top_p": None, "penalty": 1.0, "ngram": None}


@probe(uses=(attempt,))
def run_generate(cases):
    """generate for each case: what it returns and draws from, what the model was given, and what becomes of x.

    The model's logits are a function of the tokens that it reads: of the one at each position, of the position, and of the first.
    """
    import torch
    from torch.overrides import TorchFunctionMode
    from submission.fixes import generate

    class Model(torch.nn.Module):
        def __init__(self, case):
            super().__init__()
            self.tables = torch.nn.ParameterList([torch.from_numpy(case[name]) for name in ("tokens", "positions", "first")])
            self.block_size, self.read = case["block_size"], []

        def get_block_size(self):
            return self.block_size

        def forward(self, idx, targets=None):
            if idx.size(1) > self.block_size:
                raise ValueError(f"the model reads at most block_size = {self.block_size} tokens; got {idx.size(1)}")
            self.read.append(idx[0].tolist())
            tokens, positions, first = self.tables
            return tokens[idx] + positions[:idx.size(1)] + first[idx[:, :1]], None

    class Recorder(TorchFunctionMode):
        """Writes down what torch.multinomial is called with."""

        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            result = function(*args, **kwargs)
            if getattr(function, "__name__", "") == "multinomial":
                given = dict(zip(("input", "num_samples", "replacement"), args)) | kwargs
                draws.append({"chances": given["input"].detach().clone(), "count": given["num_samples"],
                              "ours": given.get("generator") is generator, "token": result.detach().clone()})
            return result

    results = []
    for case in cases:
        model, draws = Model(case).eval(), []
        x = torch.tensor([case["prompt"]])
        generator = None if case["seed"] is None else torch.Generator().manual_seed(case["seed"])
        torch.manual_seed(case["global_seed"])
        options = case["options"] | ({"generator": generator} if generator else {})
        with Recorder():
            y, raised = attempt(lambda: generate(model, x, case["steps"], **options), case["refused"])
        results.append({"y": y, "draws": draws, "read": model.read, "raised": raised, "kept": x.tolist() == [case["prompt"]]})
    return results


def draw_case(rng, V: int, prompt: int, block_size: int, steps: int, seed: int | None, **options) -> dict:
    """A case with a random model over V tokens, and a prompt of so many."""
    def table(rows, scale):
        return (scale * rng.standard_normal((rows, V))).astype(np.float32)

    return {"tokens": table(V, 1.5), "positions": table(block_size, 0.7), "first": table(V, 0.7), "block_size": block_size,
            "prompt": rng.integers(V, size=prompt).tolist(), "steps": steps, "seed": seed,
            "global_seed": int(rng.integers(1 << 30)),
            "options": options, "refused": False}


def logits_of(case: dict, tokens: list[int], block_size: int | None = None, place: int = -1) -> np.ndarray:
    """The model's logits for what follows `tokens`, (V,)."""
    read = np.array(tokens[-(block_size or case["block_size"]):])
    tokens, positions, first = (case[name].astype(float) for name in ("tokens", "positions", "first"))
    return (tokens[read] + positions[:len(read)] + first[read[0]])[place]


def chances_of(case: dict, tokens: list[int], order: str = "penalty ngram temperature top_k top_p",
               logits: np.ndarray | None = None, seen: list[int] | None = None, nudge: float = 0.0, **changed) -> np.ndarray:
    """What the next token should be drawn from, (V,).

    nudge is added to p, which may be so near to a sum that rounding decides. For mistakes: another order of the steps; other
    logits; another list of tokens for penalty and n-grams; other options.
    """
    options, seen = {**DEFAULTS, **case["options"], **changed}, tokens if seen is None else seen
    logits = logits_of(case, tokens) if logits is None else logits
    for step in order.split():
        value = options[step]
        if value is None:
            continue
        if step == "penalty":
            logits = penalized(logits, seen, value)
        elif step == "temperature":
            logits = logits / value
        else:
            kept = {"ngram": lambda: unrepeated(len(logits), seen, value), "top_k": lambda: top_k(logits, value),
                    "top_p": lambda: before(logits) < (value + nudge if value < 1 else 2)}[step]()
            logits = np.where(kept, logits, -np.inf)
    return softmax(logits)


def judge(case: dict, answer: Answer) -> list[int]:
    """The text is right, and each of its tokens was drawn once, from what it should be, with the generator. Returns the text.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    prompt, steps = case["prompt"], case["steps"]
    options = "".join(f", {name}={short(value)}" for name, value in case["options"].items())
    call = f"generate(model, x of shape (1, {len(prompt)}), {steps}{options}) with a model that reads {case['block_size']} tokens"
    y = answer["y"].named(f"the result of {call}").present().array("int64", (1, len(prompt) + steps))[0].tolist()
    if y[:len(prompt)] != prompt:
        raise WrongAnswer(f"{call} does not begin with x.")
    if not all(0 <= token < case["tokens"].shape[1] for token in y):
        raise WrongAnswer(f"{call} has tokens in it that there are not.")
    if not answer["kept"].flag():
        raise WrongAnswer(f"{call} changes x in place.")
    draws = answer["draws"].items()
    if len(draws) != steps:
        raise WrongAnswer(f"{call} calls torch.multinomial {len(draws)} times; it should once for each of the {steps} new "
                          "tokens.")
    for i, draw in enumerate(draws):
        _require_draw(case, call, y[:len(prompt) + i], y[len(prompt) + i], draw, answer)
    return y


def _require_draw(case, call, tokens, token, draw, answer):
    V = case["tokens"].shape[1]
    where = f"{call}: new token {len(tokens) - len(case['prompt'])}"
    if draw["count"].value != 1:
        raise WrongAnswer(f"{where}: torch.multinomial should draw 1 token; num_samples is {draw['count'].describe()}.")
    if not draw["ours"].flag():
        raise WrongAnswer(f"{where} is not drawn with the generator that was given." if case["seed"] is not None else
                          f"{where} is drawn with a generator, though none was given.")
    chances = draw["chances"].named("what torch.multinomial is given")
    weights = chances.array(None).astype(float)
    if weights.size != V or (weights < 0).any() or weights.sum() <= 0:
        raise WrongAnswer(f"{where}: torch.multinomial should be given {V} probabilities; it is {chances.describe()}.")
    weights = weights.ravel() / weights.sum()
    if draw["token"].array("int64").ravel().tolist() != [token]:
        raise WrongAnswer(f"{where} is not what was drawn.")
    if any(matches(weights, chances_of(case, tokens, nudge=nudge), TOLERANCE) for nudge in (0.0, 1e-5, -1e-5)):
        return
    right = np.round(chances_of(case, tokens), 4).tolist()
    cause = next((f"\nLikely cause: {sentence}" for sentence, wrong in _mistakes(case, tokens)
                  if np.isfinite(wrong).all() and matches(weights, wrong, TOLERANCE)), "")
    raise WrongAnswer(f"{where} is drawn from {np.round(weights, 4).tolist()}; it should be {right}.{cause}")


def _mistakes(case, tokens):
    """What known mistakes draw from, as pairs of a sentence and probabilities."""
    prompt, size, options = case["prompt"], case["block_size"], case["options"]

    def drawn(**changed):
        return chances_of(case, tokens, **changed)

    if len(tokens) > size:
        yield "the model reads the first tokens, not the last ones.", drawn(logits=logits_of(case, tokens[:size]))
        for n in (size - 1, 1):
            yield f"the model reads {n} tokens; it can read {size}.", drawn(logits=logits_of(case, tokens, n))
    yield "the logits of the first position are taken, not those of the last.", drawn(logits=logits_of(case, tokens, place=0))
    if len(tokens) == len(prompt):
        yield "penalty and n-grams leave out the prompt, or are not used at all.", drawn(seen=[])
    yield "penalty and n-grams leave out the prompt.", drawn(seen=tokens[len(prompt):])
    yield "penalty and n-grams leave out what was generated.", drawn(seen=prompt)
    yield "penalty and n-grams leave out what the model does not read any more.", drawn(seen=tokens[-size:])
    for name in options:
        yield f"{name} is not used.", drawn(**{name: DEFAULTS[name]})
    for order in itertools.permutations(("penalty", "ngram", "temperature", "top_k", "top_p")):
        yield f"the order of the steps is {', '.join(order)}.", drawn(order=" ".join(order))
    if "temperature" in options:
        yield "the logits are multiplied by the temperature.", drawn(temperature=1 / options["temperature"])
        yield "the temperature is used twice.", drawn(temperature=options["temperature"] ** 2)
    yield "the most probable token is taken.", np.eye(len(drawn()))[drawn().argmax()]


@check("6e-8-hidden")
def test_generate(student, rng):
    """Each option alone and several together, prompts and texts longer than the model reads; then the generator; then what is
    out of range."""
    V, size = int(rng.integers(8, 12)), int(rng.integers(5, 8))

    def number(low, high):
        return float(rng.uniform(low, high))

    def case(prompt=3, steps=14, seed=None, **options):
        return draw_case(rng, V, prompt, size, steps, int(rng.integers(1 << 30)) if seed is None else seed, **options)

    cases = [case(), case(prompt=size + 4), case(prompt=1, steps=0), case(temperature=number(0.4, 0.8)), case(top_k=3),
             case(top_k=1),
             case(top_p=number(0.5, 0.8)), case(penalty=number(1.5, 3)), case(prompt=size + 3, ngram=2),
             case(prompt=size + 4, ngram=1),
             case(ngram=3, steps=25), case(top_k=V + 3, top_p=1.0)]
    together = {"penalty": lambda: number(2, 4), "ngram": lambda: 2, "temperature": lambda: number(1.5, 3), "top_k": lambda: 4,
                "top_p": lambda: number(0.5, 0.7)}
    cases += [case(prompt=size + 2, **{name: together[name]() for name in pair}) for pair in itertools.combinations(together, 2)]
    cases += [case(prompt=prompt, **{name: draw() for name, draw in together.items()}) for prompt in (1, size, size + 5)]
    for one, answer in zip(cases, student.run(run_generate, cases=cases).items(len(cases))):
        judge(one, answer)

    # The same random numbers and others. Two texts of 40 tokens are equal by chance less than once in 10 ** 9 runs.
    plain = case(steps=40, temperature=1.2)
    seeds = [(11, 1), (11, 2), (12, 1), (None, 3), (None, 3), (None, 4)]
    repeated = [{**plain, "seed": seed, "global_seed": other} for seed, other in seeds]
    texts = [judge(one, answer) for one, answer in zip(repeated, student.run(run_generate, cases=repeated).items(len(repeated)))]
    if texts[0] != texts[1]:
        raise WrongAnswer("With generators of the same seed, generate writes different texts.")
    if texts[3] != texts[4]:
        raise WrongAnswer("Without a generator, generate writes different texts after the same torch.manual_seed.")
    if texts[0] == texts[2] or texts[3] == texts[5]:
        raise WrongAnswer("With other random numbers, generate writes the same text. Does it seed them itself?")

    refused = [{**case(**{name: value}), "refused": True} for name, value in (
        ("temperature", 0.0), ("temperature", -1.0), ("top_k", 0), ("top_p", 0.0), ("top_p", 1.5), ("penalty", 0.5),
        ("ngram", 0))]
    for one, answer in zip(refused, student.run(run_generate, cases=refused).items(len(refused))):
        (name, value), = one["options"].items()
        require_refusal(f"generate(..., {name}={value})", answer["raised"])
