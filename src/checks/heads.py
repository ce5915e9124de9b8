"""Running MultiHeadAttention, and reading what it gives. The checks of question 5d share it."""
import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from autograder import Answer, Failed, Probe, Verdict, WrongAnswer, probe, require_close
from checks.encoder import attention_shapes, draw, multi_head, own_work, softmax

TOLERANCE = 1e-5
WORDS = {"q": "queries", "k": "keys", "v": "values"}


@probe(uses=(own_work,))
def attend(cases):
    """MultiHeadAttention with the weights of each case, on its x and padding: the output, or the pair of output and weights; and
    the gradients of sum(output * upstream), if there is an upstream. A layer whose parameters do not fit is not run."""
    import torch
    with own_work():
        from submission.encoder import MultiHeadAttention
        results = []
        for case in cases:
            sizes = [case["n_embd"], case["n_head"]]
            layer = MultiHeadAttention(*sizes) if case["dropout"] is None else MultiHeadAttention(*sizes, case["dropout"])
            layer = layer.to(getattr(torch, case["dtype"])).train(case["train"])
            parameters = dict(layer.named_parameters())
            result = {"parameters": {name: value.detach().clone() for name, value in parameters.items()}, "y": None,
                      "again": None, "gradients": None}
            results.append(result)
            if any(name not in parameters or parameters[name].shape != value.shape for name, value in case["weights"].items()):
                continue
            with torch.no_grad():
                for name, value in case["weights"].items():
                    parameters[name].copy_(torch.from_numpy(value))
            x = torch.tensor(case["x"]).to(getattr(torch, case["dtype"])).requires_grad_(case["upstream"] is not None)
            padding = None if case["padding"] is None else torch.tensor(case["padding"])
            result["y"] = layer(x, padding, True) if case["pair"] else layer(x) if padding is None else layer(x, padding)
            result["after"] = {"x": x.detach().clone(), "padding": None if padding is None else padding.clone()}
            if case["dropout"] and not case["train"]:
                result["again"] = layer(x, padding)
            if case["upstream"] is not None:
                y = result["y"][0] if isinstance(result["y"], tuple) else result["y"]
                if isinstance(y, torch.Tensor) and y.requires_grad:
                    (y * torch.from_numpy(case["upstream"])).sum().backward()
                result["gradients"] = {"x": x.grad, **{name: parameters[name].grad for name in case["weights"]}}
        return results


def make_case(rng, B: int, T: int, n_head: int, head_dim: int, padding: np.ndarray | None = None, dtype: str = "float32",
              scale: float = 0.3,
              **more) -> dict:
    """A case for `attend` with random weights and x; `more` replaces any of its entries."""
    C = n_head * head_dim
    return {"n_embd": C, "n_head": n_head, "dropout": None, "dtype": dtype, "train": False, "pair": False, "upstream": None,
            "padding": padding,
            "weights": draw(rng, attention_shapes(C), scale), "x": rng.standard_normal((B, T, C)).astype(np.float32), **more}


def draw_padding(rng, B: int, T: int) -> np.ndarray:
    """Padding anywhere: in each row somewhere, and not everywhere."""
    padding = rng.random((B, T)) < 0.4
    places = np.array([rng.choice(T, 2, replace=False) for _ in range(B)])
    padding[np.arange(B), places[:, 0]], padding[np.arange(B), places[:, 1]] = True, False
    return padding


def expected(case: dict, **mistakes) -> tuple[np.ndarray, np.ndarray]:
    """Output and weights, in float64."""
    return multi_head(case["x"].astype(float), floats(case["weights"]), case["n_head"], case["padding"], **mistakes)


def floats(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same weights in float64."""
    return {name: value.astype(float) for name, value in weights.items()}


def require_parameters(answer: Answer, shapes: dict[str, tuple[int, ...]], what: str, exact: bool = False) -> None:
    """All parameters are there, in their shapes, and with `exact` no others.

    Raises:
        WrongAnswer: names those that are not.
    """
    parameters = answer.entries()
    if missing := [name for name in shapes if name not in parameters]:
        raise WrongAnswer(f"{what} lacks parameters: {', '.join(missing)}. It has {', '.join(sorted(parameters)) or 'none'}.")
    for name, shape in shapes.items():
        parameters[name].named(f"{what}'s {name}").array(None, shape)
    if exact and (extra := sorted(parameters.keys() - shapes.keys())):
        raise WrongAnswer(f"{what} has parameters that it should not have: {', '.join(extra)[:300]}.")


def run_each(student, probe: Probe, cases: list[dict], call: Callable[[dict], str]) -> Iterator[tuple[dict, Answer]]:
    """Run a probe on all cases at once; each case with its answer. Where the code raises an exception, the cases are run one by
    one, so that those before can be judged, and the message says which `call` it was."""
    try:
        answers = student.run(probe, cases=cases).items(len(cases))
    except Failed as failed:
        if failed.verdict is not Verdict.EXCEPTION:
            raise
        answers = None
    for i, case in enumerate(cases):
        try:
            answer = student.run(probe, cases=[case]).items(1)[0] if answers is None else answers[i]
        except Failed as failed:
            if failed.verdict is not Verdict.EXCEPTION:
                raise
            raise Failed(failed.verdict, f"{failed.message}\nThe call was {call(case)}.") from None
        yield case, answer


def run_cases(student, cases: list[dict]) -> Iterator[tuple[dict, Answer]]:
    """Run `attend`; each case with its answer, whose parameters fit."""
    for case, answer in run_each(student, attend, cases, describe_call):
        require_parameters(answer["parameters"], attention_shapes(case["n_embd"]), f"MultiHeadAttention({case['n_embd']}, "
                                                                                   f"{case['n_head']})")
        yield case, answer


def describe(case: dict) -> str:
    """The call, for messages."""
    B, T, C = case["x"].shape
    extra = "" if case["padding"] is None else ", key_padding_mask"
    return f"MultiHeadAttention({C}, {case['n_head']}) on x of shape ({B}, {T}, {C}){extra}"


def describe_call(case: dict) -> str:
    """The call, for messages where it fails."""
    B, T = case["x"].shape[:2]
    mask = "" if case["padding"] is None else f" of shape ({B}, {T})"
    return f"{describe(case)}{mask}{', return_weights=True' if case['pair'] else ''}, in {case['dtype']}"


def split_answer(case: dict, answer: Answer) -> tuple[Answer, Answer | None]:
    """The output, and the weights where they were asked for.

    Raises:
        WrongAnswer: they are no pair, or x or the mask has been changed.
    """
    for name, key, dtype in (("x", "x", case["dtype"]), ("key_padding_mask", "padding", "bool")):
        before = case[key]
        if before is not None and not np.array_equal(answer["after"][key].array(dtype, before.shape, finite=False), before):
            raise WrongAnswer(f"{describe(case)} changes {name}, which is not its own, in place (as x += ... and functions with "
                              "a _ at the end of their name do).")
    if not case["pair"]:
        return answer["y"].named(f"the output of {describe(case)}"), None
    y, weights = answer["y"].named(f"what {describe(case)}, return_weights=True returns").items(2)
    return y.named(f"the output of {describe(case)}"), weights.named(f"the weights of {describe(case)}")


def read(answer: Answer, case: dict, shape: tuple | None) -> np.ndarray:
    """The array, of the case's dtype; NaN where there may be padding is refused with the likely cause."""
    data = answer.array(case["dtype"], shape, finite=False)
    if np.isnan(data).any() and ("padding" in case or "idx" in case):
        padding = case.get("padding")
        if padding is not None and data.shape[:2] == padding.shape and np.array_equal(np.isnan(data).any(axis=2), padding) \
                and not padding.all(axis=1).any():
            raise WrongAnswer(f"{answer.name} is NaN for the queries at padded positions. Likely cause: they attend to nothing. "
                              f"The mask hides keys, and the queries at padded positions are computed like any other.")
        places = case["idx"] == 0 if "idx" in case else padding
        empty = places is not None and places.all(axis=1).any()
        cause = ("There is a row of nothing but padding here: put zeros in place of its weights, after the softmax." if empty else
                 "Is the mask the right way around (True: padding)?")
        raise WrongAnswer(f"{answer.name} has {np.isnan(data).sum()} values that are NaN. A softmax over nothing but -inf gives "
                          f"NaN. {cause}")
    return answer.array(case["dtype"], shape).astype(float)


def mistakes(case: dict) -> list[tuple[str, dict]]:
    """Mistakes known by name, as (sentence, arguments of multi_head)."""
    T, C = case["x"].shape[1:]
    n_head = case["n_head"]
    d = C // n_head
    known = [
        ("the mask is upside down: True marks padding, which nothing attends to.", {"hide": "other"}),
        ("the padding mask is not used.", {"hide": "nothing"}),
        ("the mask hides queries instead of keys: use key_padding_mask[:, None, None, :].", {"hide": "queries"}),
        ("the mask hides the queries at padded positions, too. They are computed like any other.", {"hide": "both"}),
        ("the mask is applied after the softmax alone, so that the rows no longer add up to 1. Set the scores of padding to "
         "-inf before it, with masked_fill. (After it, only rows of nothing but padding need mending, which are NaN then.)",
         {"hide": "after"}),
        ("the mask sets whole rows of scores, those of queries at PAD, to one number. It hides keys: use key_padding_mask[:, "
         "None, None, :].",
         {"hide": "rows"}),
        ("the scores of padding are set to a number that is not low enough, such as -100: other scores may be lower. Set them to "
         "-inf.", {"fill": -100.0}),
        ("the scores of padding are set to 0, which is a score like any other. Set them to -inf.", {"hide": "zeros"}),
    ] if case["padding"] is not None else []
    known += [
        ("heads are mixed with the sequence: a view to (B, n_head, T, head_dim) cuts the features of a position apart. Use "
         "view(B, T, n_head, head_dim).transpose(1, 2), and transpose back before the heads are joined.",
         {"split": "view", "join": "view"}),
        ("heads are mixed with the sequence: a view to (B, n_head, T, head_dim) cuts the features of a position apart. Use "
         "view(B, T, n_head, head_dim).transpose(1, 2).", {"split": "view"}),
        ("the heads are put together in the wrong order: the transpose back, y.transpose(1, 2), is missing before the heads "
         "are joined.", {"join": "view"}),
        ("the heads are put together in the wrong order: head 0 first, with all its features, then head 1.",
         {"join": "features"}),
        ("the features are dealt out to the heads one by one. Head 0 has the first head_dim features, head 1 the "
         "next.", {"split": "features", "join": "features"}),
        ("the features are dealt out to the heads one by one. Head 0 has the first head_dim features, head 1 the next.",
         {"split": "features"}),
        ("qkv's output is read head by head. It is first all queries, then all keys, then all values.", {"split": "each"}),
    ]
    for order in itertools.permutations("qkv"):
        if order != ("q", "k", "v"):
            known.append((f"qkv's output is taken for {', '.join(WORDS[letter] for letter in order)}, in this order. It is first "
                          f"all queries, then all keys, then all values.", {"order": "".join(order)}))
    known += [
        ("the softmax goes over the queries. It goes over the keys, dim=-1.", {"axis": -2}),
        ("the softmax goes over the heads. It goes over the keys, dim=-1.", {"axis": 1}),
        ("the softmax goes over the batch. It goes over the keys, dim=-1.", {"axis": 0}),
        ("the projection at the end is missing.", {"project": False}),
        ("there is a causal mask. Here, every position attends to every other one.", {"causal": True}),
    ]
    right = math.sqrt(d)
    for name, divisor in (("the root of n_embd", math.sqrt(C)), ("n_embd", C), ("head_dim, without the root,", d),
                          ("n_head", n_head),
                          ("the root of n_head", math.sqrt(n_head)), ("the root of T", math.sqrt(T))):
        known.append((f"the scores are divided by {name} instead of the root of head_dim = {d}.", {"divisor": divisor}))
    known += [("the scores are not scaled: divide them by the root of head_dim.", {"divisor": 1.0}),
              ("the scores are multiplied by the root of head_dim. Divide them.", {"divisor": 1 / right})]
    return [(sentence, wrong) for sentence, wrong in known if "divisor" not in wrong or not math.isclose(wrong["divisor"], right)]


def require_output(answer: Answer, case: dict, again: Answer | None = None) -> None:
    """The output is right. again: that of a second call.

    Raises:
        WrongAnswer: it is not; names the likely cause.
    """
    y = read(answer, case, case["x"].shape)
    causes = [(sentence, lambda wrong=wrong: expected(case, **wrong)[0]) for sentence, wrong in mistakes(case)]
    swapped = {**case, "x": case["x"].swapaxes(0, 1), "padding": None}
    causes += [("positions attend across the batch instead of the sequence: x is (B, T, n_embd).",
                lambda: expected(swapped)[0].swapaxes(0, 1)),
               ("x is added. The residual connection belongs into EncoderLayer.", lambda: expected(case)[0] + case["x"]),
               ("the heads of each position attend to each other: heads are mixed with the sequence. Transpose T and n_head "
                "before the scores are computed.", lambda: _across_heads(case)[0]),
               ("the heads of each position attend to each other: T and n_head are transposed back before the heads are joined, "
                "but not before the scores are computed.", lambda: _across_heads(case, back=True)[0])]
    if again is not None and not np.array_equal(y, read(again, case, case["x"].shape)):
        causes.append(("a second call gives something else. Does dropout act in evaluation mode, too?", y))
    require_close(sentence_case(answer.name), y, expected(case)[0], TOLERANCE, causes)


def _across_heads(case, back=False):
    """Output and weights where T and n_head have not been transposed: each position is a batch of its own, and its heads are
    the sequence. back: where they are transposed before the heads are joined all the same."""
    B, T, C = case["x"].shape
    n_head, w = case["n_head"], floats(case["weights"])
    q, k, v = np.moveaxis((case["x"] @ w["qkv.weight"].T + w["qkv.bias"]).reshape(B, T, 3, n_head, C // n_head), 2, 0)
    attended = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(C // n_head))         # (B, T, n_head, n_head)
    y = attended @ v
    return (y.swapaxes(1, 2) if back else y).reshape(B, T, C) @ w["proj.weight"].T + w["proj.bias"], attended


def require_weights(answer: Answer, case: dict) -> None:
    """The weights are right.

    Raises:
        WrongAnswer: they are not; names the likely cause.
    """
    got, right = read(answer, case, None), expected(case)[1]
    causes = [("they are averaged over the heads. There is a matrix for each head.", lambda: right.mean(axis=1)),
              ("they are averaged over the heads. There is a matrix for each head.", lambda: right.mean(axis=1, keepdims=True)),
              ("queries and keys have changed places: weights[b, h, i, j] is how much i attends to j.",
               lambda: right.swapaxes(2, 3)),
              ("the axis of the heads is not the second: (B, n_head, T, T).", lambda: right.transpose(0, 2, 1, 3)),
              ("the axis of the heads is not the second: (B, n_head, T, T).", lambda: right.transpose(0, 2, 3, 1)),
              ("the axis of the heads is not the second: (B, n_head, T, T).", lambda: right.swapaxes(0, 1))]
    causes += [(sentence, lambda wrong=wrong: expected(case, **wrong)[1]) for sentence, wrong in mistakes(case)]
    causes.append(("the heads of each position attend to each other. Transpose T and n_head before the scores are computed.",
                   lambda: _across_heads(case)[1]))
    if got.shape == right.shape and not got.any() and right.any():
        raise WrongAnswer(f"{sentence_case(answer.name)} are all 0.")
    if got.shape == right.shape and (np.abs(got.sum(axis=-1) - 1) > 0.1).any() and _are_scores(got, right):
        raise WrongAnswer(f"{sentence_case(answer.name)} are scores: the weights are what the softmax makes of them.")
    require_close(sentence_case(answer.name), got, right, TOLERANCE, causes)


def _are_scores(got, right):
    """Whether the softmax of `got` is `right`, wherever that is not 0."""
    shifted = np.exp(np.where(right > 0, got - got.max(axis=-1, keepdims=True), -np.inf))
    total = shifted.sum(axis=-1, keepdims=True)
    return np.allclose(shifted / np.where(total == 0, 1, total), right, atol=1e-4)


def sentence_case(name: str) -> str:
    """With a capital letter."""
    return name[:1].upper() + name[1:]
