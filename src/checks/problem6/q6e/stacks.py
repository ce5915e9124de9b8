"""Runs PreNormStack and init_depth_scaled of fixes.py and judges their results."""

import math

import numpy as np

from autograder import WrongAnswer, probe
from checks.problem6.q6e.runs import run_cases
from checks.support.cases import Case

TOLERANCE = 1e-5


def call_of(case: Case) -> str:
    """Describe the call, for messages."""
    if "x" in case.inputs:
        count, shape = len(case.inputs["weights"]), case.inputs["x"].shape
        return f"PreNormStack with {count} sublayers on x of shape {shape}"
    std = "" if case.inputs["std"] is None else f", std={case.inputs['std']:.3g}"
    return f"init_depth_scaled(model, {case.inputs['n_layer']}{std})"


@probe
def run_stacks(calls):
    """Run PreNormStack for each case on its x: the outputs with the initial LayerNorms, and with
    the case's, set in the order in which they are called; and the parameters. Sublayers are tanh(x
    @ weight).
    """
    import torch

    from submission.problem6.fixes import PreNormStack

    class Sublayer(torch.nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.from_numpy(weight))

        def forward(self, x):
            return torch.tanh(x @ self.weight)

    results = []
    for case in calls:
        sublayers = [Sublayer(weight) for weight in case["weights"]]
        stack = PreNormStack(sublayers, case["x"].shape[-1])
        x = torch.tensor(case["x"])
        kept, y = x.clone(), stack(x)
        parameters = list(stack.parameters())
        own = [
            part
            for part in stack.modules()
            if not isinstance(part, Sublayer) and list(part.parameters(recurse=False))
        ]
        called = []
        hooks = [
            part.register_forward_hook(lambda part, *rest: called.append(part)) for part in own
        ]
        stack(x)
        for hook in hooks:
            hook.remove()
        result = {
            "y": y,
            "kept": torch.equal(x, kept),
            "called": [own.index(part) for part in called],
            "registered": all(
                any(p is weight for p in parameters)
                for weight in (part.weight for part in sublayers)
            ),
            "shapes": [[list(p.shape) for p in part.parameters(recurse=False)] for part in own],
            "scaled": None,
        }
        results.append(result)
        if len(called) == len(case["gains"]) and all(
            len(shapes) == 2 for shapes in result["shapes"]
        ):
            with torch.no_grad():
                for part, gain, shift in zip(called, case["gains"], case["shifts"]):
                    for parameter, value in zip(part.parameters(recurse=False), (gain, shift)):
                        parameter.copy_(torch.from_numpy(value))
            result["scaled"] = stack(x)
    return results


def judge_stacks(student, cases: list[Case]) -> None:
    """Check PreNormStack. `right` of a case has the output with initial LayerNorms, "plain", and
    with the case's, "scaled".

    Raises:
        WrongAnswer: it is wrong; names the likely cause.
    """
    for case, answer in zip(cases, run_cases(student, run_stacks, cases, call_of)):
        shape, count = case.inputs["x"].shape, len(case.inputs["weights"])
        name = f"The output of {call_of(case)}"
        case.require(
            name,
            answer["y"].named(name).present().array("float32", shape).astype(float),
            TOLERANCE,
            "plain",
        )
        if not answer["kept"].flag():
            raise WrongAnswer(
                "PreNormStack changes its argument x in place (as x += ... does). Write x = x + ..."
            )
        if not answer["registered"].flag():
            raise WrongAnswer(
                "The parameters of the sublayers are not among stack.parameters(), so no optimizer "
                "would train them. Keep the sublayers themselves, not copies, in an nn.ModuleList."
            )
        _require_norms(answer, count, shape[-1])
        scaled = answer["scaled"].named(f"{name}, with trained LayerNorms,")
        if scaled.value is None:
            raise WrongAnswer(f"Each of the {count + 1} LayerNorms should be used exactly once.")
        case.require(scaled.name, scaled.array("float32", shape).astype(float), TOLERANCE, "scaled")


def _require_norms(answer, count, d_model):
    """Check that there is a LayerNorm for each sublayer and one more, each with weight and bias."""
    shapes = [
        [tuple(int(n.number()) for n in shape.items()) for shape in part.items()]
        for part in answer["shapes"].items()
    ]
    if any(part != [(d_model,), (d_model,)] for part in shapes):
        raise WrongAnswer(
            "Besides the sublayers, PreNormStack should have only LayerNorms, each with a weight "
            f"and a bias of {d_model} entries (torch's defaults). It has parameters of the shapes "
            f"{shapes}."
        )
    if len(shapes) != count + 1:
        cause = ""
        if len(shapes) <= 2 < count + 1:
            cause = (
                "\nLikely cause: all sublayers share one. Or they are in a plain list; use "
                "nn.ModuleList, which registers them."
            )
        raise WrongAnswer(
            f"PreNormStack should have {count + 1} LayerNorms for {count} "
            f"sublayers: one for each, and one at the end. {len(shapes)} are among "
            f"its modules.{cause}"
        )


@probe
def run_init(calls):
    """Run init_depth_scaled on a model for each case: all parameters afterwards, by name, and which
    are unchanged.
    """
    import torch

    from submission.problem6.fixes import init_depth_scaled

    nn = torch.nn

    class Gated(nn.Module):
        """A feed-forward part that is not a Sequential and has more than two linear layers, not all
        of them direct children.
        """

        def __init__(self, C):
            super().__init__()
            self.up, self.gate = nn.Linear(C, 2 * C), nn.Linear(C, 2 * C, bias=False)
            self.act, self.down = nn.SiLU(), nn.Sequential(nn.Dropout(0.1), nn.Linear(2 * C, C))

    class Attention(nn.Module):
        def __init__(self, C, unusual):
            super().__init__()
            self.query, self.value, self.proj = (nn.Linear(C, C) for _ in range(3))
            self.add_module("key_proj" if unusual else "key", nn.Linear(C, C))

    class Block(nn.Module):
        def __init__(self, C, unusual):
            super().__init__()
            self.ln1, self.ln2, self.attn = nn.LayerNorm(C), nn.LayerNorm(C), Attention(C, unusual)
            self.mlp = (
                Gated(C)
                if unusual
                else nn.Sequential(
                    nn.Linear(C, 2 * C), nn.GELU(), nn.Linear(2 * C, C), nn.Dropout(0.1)
                )
            )

    class Model(nn.Module):
        def __init__(self, C, unusual):
            super().__init__()
            self.tok_emb, self.pos_emb = nn.Embedding(30, C), nn.Parameter(torch.ones(1, 8, C))
            self.blocks = nn.ModuleList([Block(C, second and unusual) for second in (False, True)])
            self.conv, self.ln_f = nn.Conv1d(C, C, 1), nn.LayerNorm(C)
            self.head = nn.Linear(C, 40, bias=not unusual)

    results = []
    for case in calls:
        model = Model(64, case["unusual"])
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.5)
        held = {name: value.detach().clone() for name, value in model.named_parameters()}
        init_depth_scaled(
            model, case["n_layer"], **({} if case["std"] is None else {"std": case["std"]})
        )
        results.append(
            {
                "parameters": {
                    name: value.detach().clone() for name, value in model.named_parameters()
                },
                "unchanged": [
                    name
                    for name, value in model.named_parameters()
                    if torch.equal(value, held[name])
                ],
            }
        )
    return results


def judge_init(student, cases: list[Case]) -> None:
    """Check init_depth_scaled. `right` of a case has the standard deviation that the weights of
    each nn.Linear should have, and `about` their names.

    Raises:
        WrongAnswer: it is wrong; names the likely cause.
    """
    for case, answer in zip(cases, run_cases(student, run_init, cases, call_of)):
        call = call_of(case)
        unchanged = answer["unchanged"].texts()
        values = {
            name: value.array("float32").astype(float)
            for name, value in answer["parameters"].entries().items()
        }
        for name, value in values.items():
            linear = name.rpartition(".")[0] in case.about["names"]
            if not linear and name not in unchanged:
                raise WrongAnswer(f"{call} changes {name}, which doesn't belong to an nn.Linear.")
            if linear and name.endswith("bias") and value.any():
                raise WrongAnswer(
                    f"After {call}, {name} should be 0 everywhere; its largest "
                    f"entry is {np.abs(value).max():.3g}."
                )
        _require_deviations(
            case, call, {name: values[f"{name}.weight"] for name in case.about["names"]}
        )


def _require_deviations(case, call, weights):
    got = np.array([value.std() for value in weights.values()])

    def near(wanted):  # of at least 2,560 weights: 8% are 5.7 standard deviations
        return np.abs(got - wanted) < 0.08 * wanted

    for (name, value), fits, own, wanted in zip(weights.items(), near(case.right), got, case.right):
        if not fits:
            cause = next(
                (
                    f"\nLikely cause: {sentence}"
                    for sentence, wrong in case.wrong
                    if near(wrong).all()
                ),
                "",
            )
            raise WrongAnswer(
                f"After {call}, the weights of {name} have standard deviation "
                f"{own:.3g}; it should be {wanted:.3g}.{cause}"
            )
        if abs(value.mean()) > 7 * wanted / math.sqrt(value.size):
            raise WrongAnswer(
                f"After {call}, the weights of {name} have mean {value.mean():.3g}; it should be 0."
            )
    # The kurtosis is 3 for a normal distribution, 1.8 for a uniform one. For 90,000 weights, 0.3 is
    # 18 standard deviations.
    normed = np.concatenate([(value / value.std()).ravel() for value in weights.values()])
    fourth = (normed**4).mean()
    if abs(fourth - 3) > 0.3:
        raise WrongAnswer(
            f"After {call}, the weights are not normally distributed"
            + (", but uniformly: use nn.init.normal_." if abs(fourth - 1.8) < 0.1 else ".")
        )
