"""Runs generate of fixes.py with models whose logits are known and judges each draw."""

import numpy as np

from autograder import Answer, WrongAnswer, matches, probe
from checks.problem6.q6e.filters import words
from checks.problem6.q6e.runs import run_cases
from checks.support.calls import attempt, require_refusal
from checks.support.cases import Case

TOLERANCE = 1e-5


@probe(uses=(attempt,))
def run_generate(calls):
    """Run generate for each case: its result, what it draws from, and x afterwards.

    The model's logits depend on the token at each position, the position, and the first token. If a
    case has `follow`, torch.multinomial is made to draw these tokens.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    from submission.problem6.fixes import generate

    class Model(torch.nn.Module):
        def __init__(self, case):
            super().__init__()
            self.tables = torch.nn.ParameterList(
                [torch.from_numpy(case[name]) for name in ("tokens", "positions", "first")]
            )
            self.block_size = case["block_size"]

        def get_block_size(self):
            return self.block_size

        def forward(self, idx, targets=None):
            if idx.size(1) > self.block_size:
                raise ValueError(
                    f"the model reads at most block_size = {self.block_size} tokens; "
                    f"got {idx.size(1)}"
                )
            tokens, positions, first = self.tables
            return tokens[idx] + positions[: idx.size(1)] + first[idx[:, :1]], None

    class Recorder(TorchFunctionMode):
        """Records the arguments of torch.multinomial, and determines its result."""

        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            result = function(*args, **kwargs)
            if getattr(function, "__name__", "") == "multinomial":
                if case["follow"] is not None and len(draws) < len(case["follow"]):
                    result = torch.full_like(result, case["follow"][len(draws)])
                given = dict(zip(("input", "num_samples", "replacement"), args)) | kwargs
                draws.append(
                    {
                        "chances": given["input"].detach().clone(),
                        "count": given["num_samples"],
                        "ours": given.get("generator") is generator,
                        "token": result.detach().clone(),
                    }
                )
            return result

    results = []
    for case in calls:
        model, draws = Model(case).eval(), []
        x = torch.tensor([case["prompt"]])
        generator = None if case["seed"] is None else torch.Generator().manual_seed(case["seed"])
        torch.manual_seed(case["global_seed"])
        options = case["options"] | ({"generator": generator} if generator else {})
        with Recorder():
            y, raised = attempt(
                lambda: generate(model, x, case["steps"], **options), case["refused"]
            )
        results.append(
            {"y": y, "draws": draws, "raised": raised, "kept": x.tolist() == [case["prompt"]]}
        )
    return results


def judge_generate(student, cases: list[Case]) -> list[list[int]]:
    """Check each text: each token was drawn once, from the right probabilities, with the generator.

    `right` of a case has the probabilities of each draw, (steps, V), or is None if only the rest is
    judged; a case to be rejected must raise ValueError.

    Returns:
        The texts, without the rejected cases.

    Raises:
        WrongAnswer: something is wrong; names the likely cause.
    """
    answers = run_cases(student, run_generate, cases, call_of)
    return [
        text for case, answer in zip(cases, answers) if (text := _judge(case, answer)) is not None
    ]


def judge_random_numbers(student, case: Case) -> None:
    """Check that the same random numbers give the same text, and others a different one.

    Args:
        case: without fixed draws. Two texts of 40 tokens are equal by chance less than once in 10
            ** 9 runs.

    Raises:
        WrongAnswer: they don't.
    """
    seeds = [(11, 1), (11, 2), (12, 1), (None, 3), (None, 3), (None, 4)]
    texts = judge_generate(
        student,
        [Case({**case.inputs, "seed": seed, "global_seed": other}) for seed, other in seeds],
    )
    if texts[0] != texts[1]:
        raise WrongAnswer("With generators of the same seed, generate writes different texts.")
    if texts[3] != texts[4]:
        raise WrongAnswer(
            "Without a generator, generate writes different texts after the same torch.manual_seed."
        )
    if texts[0] == texts[2] or texts[3] == texts[5]:
        raise WrongAnswer(
            "With different random numbers, generate writes the same text. Does it set a seed "
            "itself?"
        )


def call_of(case: Case) -> str:
    """Describe the call, for messages."""
    options = "".join(f", {name}={words(value)}" for name, value in case.inputs["options"].items())
    return (
        f"generate(model, x of shape (1, {len(case.inputs['prompt'])}), "
        f"{case.inputs['steps']}{options}) with a model that reads "
        f"{case.inputs['block_size']} tokens"
    )


def _judge(case, answer: Answer):
    call, prompt, steps = call_of(case), case.inputs["prompt"], case.inputs["steps"]
    V = case.inputs["tokens"].shape[1]
    if case.inputs["refused"]:
        require_refusal(call, answer["raised"])
        return None
    text = answer["y"].named(f"the result of {call}").present()
    y = text.array("int64", (1, len(prompt) + steps))[0].tolist()
    if y[: len(prompt)] != prompt:
        raise WrongAnswer(f"{call} does not start with x.")
    if not all(0 <= token < V for token in y):
        raise WrongAnswer(f"{call} has tokens that are not in the vocabulary.")
    if not answer["kept"].flag():
        raise WrongAnswer(f"{call} changes x in place.")
    draws = answer["draws"].items()
    if len(draws) != steps:
        raise WrongAnswer(
            f"{call} calls torch.multinomial {len(draws)} times; it should call it once for each "
            f"of the {steps} new tokens."
        )
    chances = np.array(
        [
            _read(case, f"{call}: new token {i}", y[len(prompt) + i], draw)
            for i, draw in enumerate(draws)
        ]
    )
    if case.right is not None and steps:
        _require_chances(case, call, chances)
    return y


def _read(case, where, token, draw):
    """Return the probabilities that a token was drawn from, (V,)."""
    V = case.inputs["tokens"].shape[1]
    if draw["count"].value != 1:
        raise WrongAnswer(
            f"{where}: torch.multinomial should draw 1 token; num_samples is "
            f"{draw['count'].describe()}."
        )
    if not draw["ours"].flag():
        raise WrongAnswer(
            f"{where} is not drawn with the generator that was given."
            if case.inputs["seed"] is not None
            else f"{where} is drawn with a generator, though none was given."
        )
    chances = draw["chances"].named("what torch.multinomial is given")
    weights = chances.array(None).astype(float)
    if weights.size != V or (weights < 0).any() or weights.sum() <= 0:
        raise WrongAnswer(
            f"{where}: torch.multinomial should be given {V} probabilities; it is "
            f"{chances.describe()}."
        )
    if draw["token"].array("int64").ravel().tolist() != [token]:
        raise WrongAnswer(f"{where} is not the token that was drawn.")
    return weights.ravel() / weights.sum()


def _require_chances(case, call, chances):
    for i, (got, right) in enumerate(zip(chances, case.right)):
        if not matches(got, right, TOLERANCE):
            # A mistake must explain all draws: a single draw may fit several.
            causes = [
                sentence
                for sentence, wrong in case.solved().wrong
                if matches(chances, wrong, TOLERANCE)
            ]
            raise WrongAnswer(
                f"{call}: new token {i} is drawn from {np.round(got, 4).tolist()}; "
                f"it should be {np.round(right, 4).tolist()}."
                + (f"\nLikely cause: {causes[0]}" if causes else "")
                + "\nIf 6e-4-basic or 6e-5-basic finds something in the functions "
                "that generate calls, fix that first."
            )
