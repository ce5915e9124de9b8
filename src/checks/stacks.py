"""Running PreNormStack and init_depth_scaled of fixes.py, and the mistakes that are known by name.

The checks of question 6e share it.
"""
import math

import numpy as np

from autograder import WrongAnswer, probe, require_close
from checks.encoder import layer_norm

TOLERANCE = 1e-5


@probe
def run_stacks(cases):
    """PreNormStack for each case, on its x: the outputs with LayerNorms as they come, and with those of the case, set in the
    order in which they are called; and what there is of parameters. Sublayers are tanh(x @ weight)."""
    import torch
    from submission.fixes import PreNormStack

    class Sublayer(torch.nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.from_numpy(weight))

        def forward(self, x):
            return torch.tanh(x @ self.weight)

    results = []
    for case in cases:
        sublayers = [Sublayer(weight) for weight in case["weights"]]
        stack = PreNormStack(sublayers, case["x"].shape[-1])
        x = torch.tensor(case["x"])
        kept, y = x.clone(), stack(x)
        parameters = list(stack.parameters())
        own = [part for part in stack.modules() if not isinstance(part, Sublayer) and list(part.parameters(recurse=False))]
        called = []
        hooks = [part.register_forward_hook(lambda part, *rest: called.append(part)) for part in own]
        stack(x)
        for hook in hooks:
            hook.remove()
        result = {"y": y, "kept": torch.equal(x, kept), "called": [own.index(part) for part in called],
                  "registered": all(any(p is weight for p in parameters) for weight in (part.weight for part in sublayers)),
                  "shapes": [[list(p.shape) for p in part.parameters(recurse=False)] for part in own], "scaled": None}
        results.append(result)
        if len(called) == len(case["gains"]) and all(len(shapes) == 2 for shapes in result["shapes"]):
            with torch.no_grad():
                for part, gain, shift in zip(called, case["gains"], case["shifts"]):
                    for parameter, value in zip(part.parameters(recurse=False), (gain, shift)):
                        parameter.copy_(torch.from_numpy(value))
            result["scaled"] = stack(x)
    return results


def draw_stack(rng, count: int) -> dict:
    """A case of so many sublayers, with LayerNorms of its own."""
    B, T, C = (int(n) for n in rng.permutation([2, 3, 5]) + [0, 0, 4])
    return {"x": rng.standard_normal((B, T, C)).astype(np.float32) * 2,
            "weights": [rng.standard_normal((C, C)).astype(np.float32) / 2 for _ in range(count)],
            "gains": [(1 + 0.4 * rng.standard_normal(C)).astype(np.float32) for _ in range(count + 1)],
            "shifts": [(0.4 * rng.standard_normal(C)).astype(np.float32) for _ in range(count + 1)]}


def run_stack(case: dict, gains=None, shifts=None, kind: str = "pre", final: bool = True, shared: bool = False) -> np.ndarray:
    """The output of a stack. kind: "pre", or a mistake; final: whether there is a last norm; shared: the same norm before each
    sublayer."""
    x, count = case["x"].astype(float), len(case["weights"])

    def norm(place, x):
        if gains is None:
            return layer_norm(x, {"weight": 1.0, "bias": 0.0})
        place = 0 if shared and place < count else place
        return layer_norm(x, {"weight": gains[place].astype(float), "bias": shifts[place].astype(float)})

    for place, weight in enumerate(case["weights"]):
        def sublayer(x, weight=weight.astype(float)):
            return np.tanh(x @ weight)
        if kind == "post":
            x = norm(place, x + sublayer(x))
        elif kind == "bare":
            x = x + sublayer(x)
        elif kind == "normed residual":
            x = norm(place, x) + sublayer(norm(place, x))
        elif kind == "no residual":
            x = sublayer(norm(place, x))
        elif kind == "sandwich":
            x = x + norm(place, sublayer(x))
        else:
            x = x + sublayer(norm(place, x))
    return norm(count, x) if final else x


def judge_stacks(student, cases: list[dict]) -> None:
    """PreNormStack is right.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    for case, answer in zip(cases, student.run(run_stacks, cases=cases).items(len(cases))):
        shape, count = case["x"].shape, len(case["weights"])
        name = f"The output of PreNormStack with {count} sublayers on x of shape {shape}"
        causes = [("the last LayerNorm is missing.", run_stack(case, final=False)),
                  ("this is post-norm, x = norm(x + sublayer(x)). The norm belongs before the sublayer, off the residual path.",
                   run_stack(case, kind="post", final=False)),
                  ("this is post-norm, x = norm(x + sublayer(x)), with one more norm.", run_stack(case, kind="post")),
                  ("the residual path starts from the normalized x. Add to x itself.", run_stack(case, kind="normed residual")),
                  ("the residual path starts from the normalized x, and the last LayerNorm is missing.",
                   run_stack(case, kind="normed residual", final=False)),
                  ("there is no residual path: x + ... is missing.", run_stack(case, kind="no residual")),
                  ("the norm acts on what the sublayer returns, not on what it gets.", run_stack(case, kind="sandwich")),
                  ("the sublayers get x without a norm.", run_stack(case, kind="bare")),
                  ("the sublayers are used in the reverse order.", run_stack({**case, "weights": case["weights"][::-1]})),
                  ("only the first sublayer is used.", run_stack({**case, "weights": case["weights"][:1]}))]
        y = answer["y"].named(name).present().array("float32", shape).astype(float)
        require_close(name, y, run_stack(case), TOLERANCE, causes)
        if not answer["kept"].flag():
            raise WrongAnswer("PreNormStack changes the x that it is given, in place (as x += ... does). Write x = x + ...")
        if not answer["registered"].flag():
            raise WrongAnswer("The parameters of the sublayers are not among stack.parameters(), so no optimizer would train "
                              "them. Keep the sublayers themselves, no copies, in an nn.ModuleList.")
        _require_norms(answer, count, shape[-1])
        scaled = answer["scaled"].named(f"{name}, with LayerNorms that have learned something,")
        if scaled.value is None:
            raise WrongAnswer(f"Of the {count + 1} LayerNorms, not each is used once.")
        require_close(scaled.name, scaled.array("float32", shape).astype(float), run_stack(case, case["gains"], case["shifts"]),
                      TOLERANCE, [("the same LayerNorm is used for several sublayers.",
                                   run_stack(case, case["gains"], case["shifts"], shared=True))])


def _require_norms(answer, count, d_model):
    """There is a LayerNorm for each sublayer and one more, each with weight and bias."""
    shapes = [[tuple(int(n.number()) for n in shape.items()) for shape in part.items()] for part in answer["shapes"].items()]
    if any(part != [(d_model,), (d_model,)] for part in shapes):
        raise WrongAnswer("Besides the sublayers, PreNormStack should have LayerNorms alone, each with a weight and a bias of "
                          f"{d_model} entries (torch's defaults). It has parameters of the shapes {shapes}.")
    if len(shapes) != count + 1:
        cause = ""
        if len(shapes) <= 2 < count + 1:
            cause = "\nLikely cause: all sublayers share one. Or they are in a plain list; nn.ModuleList makes them known."
        raise WrongAnswer(f"PreNormStack should have {count + 1} LayerNorms for {count} sublayers: one for each, and one at the "
                          f"end. {len(shapes)} are among its modules.{cause}")


@probe
def run_init(cases):
    """init_depth_scaled on a model for each case: all its parameters afterwards, by name, and which are what they were."""
    import torch
    from submission.fixes import init_depth_scaled
    nn = torch.nn

    class Gated(nn.Module):
        """A feed-forward part that is no Sequential, and has more than two linear layers, not all of them its children."""

        def __init__(self, C):
            super().__init__()
            self.up, self.gate = nn.Linear(C, 2 * C), nn.Linear(C, 2 * C, bias=False)
            self.act, self.down = nn.SiLU(), nn.Sequential(nn.Dropout(0.1), nn.Linear(2 * C, C))

    class Attention(nn.Module):
        def __init__(self, C):
            super().__init__()
            self.query, self.key_proj, self.value, self.proj = (nn.Linear(C, C) for _ in range(4))

    class Block(nn.Module):
        def __init__(self, C, gated):
            super().__init__()
            self.ln1, self.ln2, self.attn = nn.LayerNorm(C), nn.LayerNorm(C), Attention(C)
            self.mlp = Gated(C) if gated else nn.Sequential(nn.Linear(C, 2 * C), nn.GELU(), nn.Linear(2 * C, C), nn.Dropout(0.1))

    class Model(nn.Module):
        def __init__(self, C):
            super().__init__()
            self.tok_emb, self.pos_emb = nn.Embedding(30, C), nn.Parameter(torch.ones(1, 8, C))
            self.blocks = nn.ModuleList([Block(C, gated) for gated in (False, True)])
            self.conv, self.ln_f, self.head = nn.Conv1d(C, C, 1), nn.LayerNorm(C), nn.Linear(C, 40, bias=False)

    results = []
    for case in cases:
        model = Model(case["C"])
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.5)
        held = {name: value.detach().clone() for name, value in model.named_parameters()}
        init_depth_scaled(model, case["n_layer"], **({} if case["std"] is None else {"std": case["std"]}))
        results.append({"parameters": {name: value.detach().clone() for name, value in model.named_parameters()},
                        "unchanged": [name for name, value in model.named_parameters() if torch.equal(value, held[name])],
                        "linear": [f"{name}.{part}" for name, module in model.named_modules() if isinstance(module, nn.Linear)
                                   for part, _ in module.named_parameters()]})
    return results


SCALED = ("blocks.0.attn.proj", "blocks.1.attn.proj", "blocks.0.mlp.2", "blocks.1.mlp.down.1")
WIDTH = 64


def judge_init(student, cases: list[dict]) -> None:
    """init_depth_scaled is right. A case has n_layer, and std or None.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    cases = [{**case, "C": WIDTH} for case in cases]
    for case, answer in zip(cases, student.run(run_init, cases=cases).items(len(cases))):
        n, std = case["n_layer"], 0.02 if case["std"] is None else case["std"]
        call = f"init_depth_scaled(model, {n}{'' if case['std'] is None else f', std={std:.3g}'})"
        unchanged, linear = answer["unchanged"].texts(), answer["linear"].texts()
        values = {name: value.array("float32").astype(float) for name, value in answer["parameters"].entries().items()}
        for name, value in values.items():
            if name not in linear and name not in unchanged:
                raise WrongAnswer(f"{call} changes {name}, which belongs to no nn.Linear.")
            if name in linear and name.endswith("bias") and value.any():
                raise WrongAnswer(f"After {call}, {name} should be 0 everywhere; its largest entry is {np.abs(value).max():.3g}.")
        weights = {name.removesuffix(".weight"): value for name, value in values.items()
                   if name in linear and name.endswith("weight")}
        _require_deviations(call, weights, n, std)


def _require_deviations(call, weights, n, std):
    small = std / math.sqrt(2 * n)
    got = {name: float(value.std()) for name, value in weights.items()}

    def near(name, wanted):         # of at least 2,560 weights: 8% are 5.7 standard deviations
        return abs(got[name] - wanted) < 0.08 * wanted

    for name, value in weights.items():
        wanted = small if name in SCALED else std
        if not near(name, wanted):
            raise WrongAnswer(f"After {call}, the weights of {name} have standard deviation {got[name]:.3g}; it should be "
                              f"{wanted:.3g}." + _cause(name, near, std, n, weights))
        if abs(value.mean()) > 7 * wanted / math.sqrt(value.size):
            raise WrongAnswer(f"After {call}, the weights of {name} have mean {value.mean():.3g}; it should be 0.")
    # Of a normal distribution 3, of an even one 1.8. Of 90,000 weights, 0.3 are 18 standard deviations.
    fourth = np.concatenate([(value / value.std()).ravel() ** 4 for value in weights.values()]).mean()
    if abs(fourth - 3) > 0.3:
        raise WrongAnswer(f"After {call}, the weights are not normally distributed"
                          + (", but evenly within bounds: nn.init.normal_." if abs(fourth - 1.8) < 0.1 else "."))


def _cause(name, near, std, n, weights):
    small = std / math.sqrt(2 * n)
    last = name.split(".")[-1]
    if name in SCALED:
        known = [(near(name, std), "it writes into the residual stream, and is not scaled. Such are the nn.Linear that are "
                                   "named proj, and the last nn.Linear in each module named mlp."),
                 (near(name, std / math.sqrt(n)), "it is divided by the root of n_layer; each layer writes twice, so 2 n_layer."),
                 (near(name, std / (2 * n)), "it is divided by 2 n_layer; its root is asked for."),
                 (near(name, std / n), "it is divided by n_layer; the root of 2 n_layer is asked for."),
                 (near(name, std / math.sqrt(4)), "it is scaled by the number of blocks in the model. n_layer is an argument."),
                 (near(name, small / math.sqrt(2 * n)), "it is scaled twice.")]
    else:
        known = [(near(name, small) and all(near(other, small) for other in weights),
                  "all layers are scaled. Scale those alone that write into the residual stream."),
                 (near(name, small) and last == "key_proj", "its name ends with proj, but is not proj."),
                 (near(name, small), "it is scaled, but does not write into the residual stream: it is neither named proj nor "
                                     "the last nn.Linear of an mlp."),
                 (near(name, 0.02), "the argument std is not used.")]
    return next((f"\nLikely cause: {sentence}" for fits, sentence in known if fits), "")
