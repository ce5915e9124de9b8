"""Question 5d, hidden: sizes and number formats, rows of nothing but padding, gradients, parameters, dropout."""
import re

import numpy as np

from autograder import WrongAnswer, check, probe, require_close
from checks.encoder import attention_shapes, own_work
from checks.gradients import require_gradients
from checks.heads import (TOLERANCE, draw_padding, expected, floats, make_case, read, require_output, require_parameters,
                          require_weights,
                          run_cases, sentence_case, split_answer)


@check("5d-4-hidden")
def test_sizes(student, rng):
    """From one of everything to many heads; with padding and without; float64."""
    sizes = [(1, 1, 1, 1, "float32"), (1, 7, 4, 1, "float32"), (5, 1, 2, 3, "float32"), (3, 2, 1, 6, "float64"),
             (2, 11, 3, 5, "float64"),
             (2, 3, 7, 4, "float32"), (9, 4, 2, 8, "float64")]
    cases = []
    for B, T, n_head, head_dim, dtype in sizes:
        cases.append(make_case(rng, B, T, n_head, head_dim, dtype=dtype, pair=bool(rng.integers(2))))
        if T > 1:
            cases.append(make_case(rng, B, T, n_head, head_dim, draw_padding(rng, B, T), dtype=dtype, pair=bool(rng.integers(2))))
    cases.append(_low_scores(rng))
    for case, answer in run_cases(student, cases):
        y, weights = split_answer(case, answer)
        require_output(y, case)
        if weights is not None:
            require_weights(weights, case)


def _low_scores(rng):
    """A case with padding in which all scores are near -200, so that -100 is no score to hide anything with. In float64: in
    float32, such scores have too few digits."""
    n_head, head_dim = 3, 4
    case = make_case(rng, 2, 7, n_head, head_dim, draw_padding(rng, 2, 7), dtype="float64", pair=True, scale=0.1)
    size = np.sqrt(200 / np.sqrt(head_dim))     # q k is about -head_dim size ** 2
    bias = np.repeat([size, -size, 0], n_head * head_dim).astype(np.float32)
    return {**case, "weights": {**case["weights"], "qkv.bias": case["weights"]["qkv.bias"] + bias}}


@check("5d-5-hidden")
def test_empty_rows(student, rng):
    """Two rows are padding alone, one has none, the others some; then the gradients, without padding and with it."""
    B, T, n_head, head_dim = 5, 7, 3, 4
    padding = draw_padding(rng, B, T)
    empty, full = rng.choice(B, 2, replace=False), rng.integers(B)
    padding[full], padding[empty] = False, True
    upstream = rng.standard_normal((B, T, n_head * head_dim))
    cases = [make_case(rng, B, T, n_head, head_dim, padding, pair=True),
             *(make_case(rng, B, T, n_head, head_dim, mask, pair=True, dtype="float64", upstream=upstream)
               for mask in (None, draw_padding(rng, B, T), padding))]
    for case, answer in run_cases(student, cases):
        y, weights = split_answer(case, answer)
        if case["padding"] is not None and case["padding"].all(axis=1).any():
            _require_empty(y, weights, case)
        require_output(y, case)
        require_weights(weights, case)
        if case["upstream"] is None:
            continue
        inputs = {"x": case["x"].astype(float), **floats(case["weights"])}
        require_gradients(answer["gradients"], inputs, lambda inputs,
                          case=case: (expected({**case, "x": inputs["x"], "weights": inputs})[0]
                                                                                 * upstream).sum(), rng, "MultiHeadAttention")


def _require_empty(y, weights, case):
    """Weights of 0 in rows of nothing but padding; else the likely cause."""
    got, output = read(weights, case, (*case["x"].shape[:1], case["n_head"], *2 * case["x"].shape[1:2])), read(y, case,
                                                                                                               case["x"].shape)
    empty = case["padding"].all(axis=1)
    bias = np.broadcast_to(case["weights"]["proj.bias"].astype(float), output[empty].shape)
    unmasked = {**case, "padding": case["padding"] & ~empty[:, None]}
    require_close(f"{sentence_case(weights.name)}, in rows of nothing but padding", got[empty], np.zeros_like(got[empty]),
                  TOLERANCE, [
        ("they are even, as a softmax makes them of equal scores.", lambda: np.full_like(got[empty], 1 / got.shape[-1])),
        ("they are what they would be without the mask.", lambda: expected(unmasked)[1][empty])])
    require_close(f"{sentence_case(y.name)}, in rows of nothing but padding", output[empty], bias, TOLERANCE, [
        ("it is 0; it should be the bias of proj.", lambda: np.zeros_like(bias)),
        ("the weights with which the values are averaged are not 0.", lambda: expected(unmasked)[0][empty])])


@probe(uses=(own_work,))
def refuse(sizes):
    """What MultiHeadAttention says of sizes that do not fit: the error's type and text, or None."""
    with own_work():
        from submission.encoder import MultiHeadAttention
        said = []
        for n_embd, n_head in sizes:
            try:
                MultiHeadAttention(n_embd, n_head)
                said.append(None)
            except NotImplementedError:
                raise
            except Exception as error:
                said.append([type(error).__name__, isinstance(error, ValueError), str(error)])
        return said


@check("5d-6-hidden")
def test_parameters_and_dropout(student, rng):
    """No other parameters; dropout on the weights, in training alone, and not on those that are returned; sizes that do not
    fit."""
    # Fewer keys than features of a head, and a square proj: from the output, the weights that made it can be worked out.
    p = float(rng.choice([0.2, 0.3, 0.4]))
    more = {"scale": 0.15, "dtype": "float64", "pair": True}
    cases = [make_case(rng, 20, 7, 3, 11, dropout=rate, train=train, **more) for rate,
             train in ((p, False), (0.0, True), (None, True), (p, True))]
    answers = list(run_cases(student, cases))
    for case, answer in answers:
        require_parameters(answer["parameters"], attention_shapes(case["n_embd"]), "MultiHeadAttention", exact=True)
    for case, answer in answers[:3]:
        y, weights = split_answer(case, answer)
        mode = f"with dropout {case['dropout']} in {'training' if case['train'] else 'evaluation'} mode"
        require_weights(weights.named(f"{weights.name}, {mode}"), case)
        again = answer["again"]
        again = None if again.value is None else again.named("the output of a second call")
        require_output(y.named(f"{y.name}, {mode}"), case, again)
    _require_dropout(*answers[3], p)

    sizes = [(30, 7), (33, 2), (3, 12), (64, 5)]
    for (n_embd, n_head), answer in zip(sizes, student.run(refuse, sizes=[list(pair) for pair in sizes]).items(len(sizes))):
        call = f"MultiHeadAttention({n_embd}, {n_head})"
        if answer.value is None:
            raise WrongAnswer(f"{call} raises no error: {n_embd} is not a multiple of {n_head}.")
        kind, fits, text = answer.items(3)
        if not fits.flag():
            raise WrongAnswer(f"{call} raises {kind.text()}: {text.text()[:200]}. It should raise ValueError.")
        if not {str(n_embd), str(n_head)} <= set(re.findall(r"\d+", text.text())):
            raise WrongAnswer(f"The error of {call} should have both numbers in it. It says: {text.text()[:200]!r}.")


def _require_dropout(case, answer, p):
    """In training: some of the weights are 0, the others are 1 / (1 - p) times as large."""
    y, weights = split_answer(case, answer)
    right, w = expected(case)[1], floats(case["weights"])
    got = read(weights, case, right.shape)
    if np.allclose(got, np.where(got == 0, 0, right / (1 - p)), atol=1e-6):
        raise WrongAnswer("The weights that are returned in training mode are those after dropout. Return those before it.")
    require_close(f"{sentence_case(weights.name)}, in training mode with dropout {p}", got, right, TOLERANCE)

    output = read(y, case, case["x"].shape)
    B, T, C = output.shape
    if np.allclose(output, expected(case)[0], atol=1e-6):
        raise WrongAnswer(f"With dropout {p}, the output in training mode is the one without dropout.")
    for name, plain in (("the output", expected(case)[0]),
                        ("the output of proj, before its bias", expected(case)[0] - w["proj.bias"])):
        if np.allclose(output, np.where(np.isclose(output, 0), 0, plain / (1 - p)), atol=1e-6):
            raise WrongAnswer(f"Dropout acts on {name}. It should act on the weights.")
    joined = np.linalg.solve(w["proj.weight"], (output - w["proj.bias"]).reshape(-1, C).T).T.reshape(B, T, case["n_head"],
                                                                                                     -1).swapaxes(1, 2)
    values = (case["x"].astype(float) @ w["qkv.weight"][2 * C:].T + w["qkv.bias"][2 * C:]).reshape(B, T, case["n_head"],
                                                                                                   -1).swapaxes(1, 2)
    used = joined @ np.linalg.pinv(values)          # (B, n_head, T, T)
    dropped = np.abs(used) < 1e-5
    if not np.allclose(used, np.where(dropped, 0, right / (1 - p)), atol=1e-5):
        without = np.allclose(used, np.where(dropped, 0, right), atol=1e-5)
        raise WrongAnswer(f"In training mode with dropout {p}, the output is not that of weights of which some are dropped and "
                          f"the others divided by {1 - p:.1f}." + (" They are dropped, but the others not divided." if without
                                                else " Does dropout act on the "
                                                "weights, after the softmax?"))
    for name, axis in (("rows of the batch", 0), ("heads", 1), ("queries", 2), ("keys", 3)):
        if (dropped == dropped.take([0], axis)).all():
            raise WrongAnswer(f"In training mode with dropout {p}, the same weights are dropped for all {name}. Dropout draws "
                              "for each weight on its own.")
    # 2,940 weights: 0.06 is 6.6 standard deviations or more.
    if not abs(dropped.mean() - p) < 0.06:
        raise WrongAnswer(f"With dropout {p}, a share of {dropped.mean():.2f} of the weights is dropped.")
