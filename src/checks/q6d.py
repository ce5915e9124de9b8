"""Question 6d, basic: global positions, the pattern and its connections; the attention, the module and the stream."""
import numpy as np

from autograder import WrongAnswer, check, probe
from checks.patterns import Spec, connected, count, draw_spec, edge_specs, mistakes, require_positions
from checks.sparse import draw_case, given, require_output, run_cases
from checks.sparse_layers import draw_layer, require_layer, run_layers
from checks.streams import Stream, require_stream, run_streams
from checks.work import require_not_dense

SECONDS = 4         # of one core for a count; a second is asked for


@probe
def globals_from(every, headers, scores):
    """every_kth for each (n, k), section_headers for each (tokens, regex), predicted_globals for each (scores, limit); without
    what is None."""
    import torch
    from submission.efficient_attention import every_kth, predicted_globals, section_headers
    return {"every": [every_kth(n, k) for n, k in every],
            "headers": [section_headers(tokens, *filter(None, [regex])) for tokens, regex in headers],
            "scores": [predicted_globals(torch.from_numpy(x), *([] if limit is None else [limit])) for x, limit in scores]}


@check("6d-5-basic")
def test_global_positions(student, rng):
    """From a rule, from headers, from scores: with ties, zeros, more and fewer than the limit."""
    n, k = int(rng.integers(20, 40)), int(rng.integers(3, 7))
    every = [(n, k), (n * k, k), (n * k + 1, k), (n, 1), (n, n + 5), (1, k)]
    tokens = ["Name:", "HISTORY:", "of", "PAST ILLNESSES:", "ALLERGIES", ":", "see ALLERGIES:", "ALLERGIES: none", "A:", " PLAN:",
              "PLAN:\n", "MG2:", "", "ÄTZUNG:"]
    tokens = [tokens[i] for i in rng.permutation(len(tokens))]
    words = [("H" if flag else "x") + str(i) for i, flag in enumerate(rng.random(12) < 0.5)]
    headers = [(tokens, None), (words, r"H\d"), ([], None), (words, "h"), (["ab", "a", "abc"], "a|ab")]
    whole = [[i for i, token in enumerate(tokens) if token in ("HISTORY:", "PAST ILLNESSES:", "A:")],
             [i for i, word in enumerate(words) if word[0] == "H" and len(word) == 2], [], [], [0, 1]]
    scores = [(x.astype("float32"), limit) for x, limit in (
        (rng.standard_normal(30), 6), (rng.standard_normal(31), None), (rng.integers(-2, 3, 40).astype(float), 9),
        (np.ones(25), 7), (-rng.random(9), 3), (np.zeros(8), 5), (rng.standard_normal(500) + 1, None), (rng.random(5), 5),
        (rng.standard_normal(12), 0), (np.ones(300), None))]
    answer = student.run(globals_from, every=every, headers=headers, scores=scores)
    for (n, k), got in zip(every, answer["every"].items(len(every))):
        require_positions(got.named(f"every_kth({n}, {k})"), list(range(0, n, k)))
    for (tokens, regex), right, got in zip(headers, whole, answer["headers"].items(len(headers))):
        call = f"section_headers({tokens}{'' if regex is None else f', {regex!r}'})"
        require_positions(got.named(call), right,
                          "\nLikely cause: the expression must match the whole token, as with re.fullmatch.")
    for (x, limit), got in zip(scores, answer["scores"].items(len(scores))):
        what = f"limit={limit}" if limit is not None else "the default limit, 200"
        name = f"predicted_globals for {len(x)} scores, {(x > 0).sum()} of them above 0, and {what},"
        require_positions(got.named(name), _predicted(x, limit), _predicted_cause(x, limit, got.value))


def _predicted(scores, limit, above=0.0, order=None):
    """What predicted_globals should give; `above` and `order` are for mistakes."""
    order = np.argsort(-scores, kind="stable") if order is None else order
    return sorted([int(i) for i in order if scores[i] > above][:200 if limit is None else limit])


def _scores(scores, positions):
    return sorted(scores[i] for i in positions if type(i) is int and 0 <= i < len(scores))


def _predicted_cause(scores, limit, got):
    late = len(scores) - 1 - np.argsort(-scores[::-1], kind="stable")
    for sentence, positions in (
            ("of equal scores, the earlier positions are taken.", _predicted(scores, limit, order=late)),
            ("of equal scores, others than the first are taken: topk promises no order among them; a stable sort does.",
             got if isinstance(got, list) and _scores(scores, got) == _scores(scores, _predicted(scores, limit)) else None),
            ("the first positions are taken; it should be those with the highest scores.",
             _predicted(scores, limit, order=np.arange(len(scores)))),
            ("the lowest scores are taken.", _predicted(scores, limit, order=np.argsort(scores, kind="stable"))),
            ("a score of 0 is not above 0.", _predicted(scores, limit, above=-1e-9)),
            ("the limit is not kept.", _predicted(scores, len(scores))),
            ("positions with scores below 0 are taken, too.", _predicted(scores, limit, above=-np.inf))):
        if got == positions:
            return f"\nLikely cause: {sentence}"
    return ""


@probe(uses=(given,))
def attended(specs):
    """attended_positions of every position, for each spec."""
    from submission.efficient_attention import attended_positions
    return [[attended_positions(i, spec["n"], *given(spec)) for i in range(spec["n"])] for spec in specs]


@check("6d-6-basic")
def test_attended_positions(student, rng):
    """Random patterns and those at the ends; global positions from a set, a tuple, an iterator."""
    specs = [draw_spec(rng, causal, kind=kind) for causal in (False, True) for kind in ("list", "set", "iterator")]
    specs += edge_specs(rng)
    for spec, answer in zip(specs, student.run(attended, specs=[spec.data for spec in specs]).items(len(specs))):
        rows, right = answer.items(spec.n), connected(spec)
        cause = next((f"\nLikely cause: {sentence}" for sentence, mask in mistakes(spec)
                      if all(row.value == np.flatnonzero(mask[i]).tolist() for i, row in enumerate(rows))), "")
        for i, row in enumerate(rows):
            require_positions(row.named(f"attended_positions({i}, ...) with {spec}"), np.flatnonzero(right[i]).tolist(), cause)


@probe(uses=(given,))
def counted(specs):
    """count_connections and its time, for each spec."""
    import time
    from submission.efficient_attention import count_connections
    results = []
    for spec in specs:
        pattern, chosen = given(spec)
        started = time.process_time()
        results.append([count_connections(spec["n"], pattern, chosen), time.process_time() - started])
    return results


@check("6d-7-basic")
def test_count_connections(student, rng):
    """Small patterns, whose mask is summed; then about 75,000 positions, in time."""
    small = [draw_spec(rng, causal, kind=kind) for causal in (False, True)
             for kind in ("list", "iterator", "set")] + edge_specs(rng)
    small += [Spec(16, 2, (4, 8), causal, (0,)) for causal in (False, True)]
    n = int(rng.integers(70_000, 80_000))
    strides = tuple(int(s) for s in rng.integers(700, 20_000, 4))
    large = [Spec(n, int(rng.integers(400, 600)), strides, causal, tuple(rng.choice(n, 150, replace=False).tolist()))
             for causal in (False, True)]
    for specs in (small, large):
        totals = []
        for spec, answer in zip(specs, student.run(counted, specs=[spec.data for spec in specs]).items(len(specs))):
            total, seconds = answer.items(2)
            totals.append(total.named(f"count_connections with {spec}").present())
            if seconds.number() > SECONDS:
                raise WrongAnswer(f"count_connections takes {seconds.number():.1f} s for {spec.n:,} positions; a second is the "
                                  f"limit. Count rules, or rows, and not pairs.")
        _require_counts(totals, specs)


def _require_counts(answers, specs):
    """The numbers are exact; names the likely cause of others."""
    got, right = [answer.number() for answer in answers], [count(spec) for spec in specs]
    for answer, number, expected, spec in zip(answers, got, right, specs):
        if number == expected and (type(number) is int or float(number).is_integer()):
            continue
        cause = ""
        if spec.n < 1000:
            # Different mistakes may lead to one small number: it is the cause if it explains others, too.
            alike = [n for n, other in enumerate(specs) if other.causal == spec.causal][:3] + [specs.index(spec)]
            known = {n: _mistaken(specs[n]) for n in alike}
            cause = next((f"\nLikely cause: {sentence}" for sentence in _mistaken(spec)
                          if all(got[n] == known[n].get(sentence, right[n]) for n in alike)), "")
        raise WrongAnswer(f"{answer.name} is {number:,}; it should be {expected:,}.{cause}")


def _mistaken(spec):
    """Mistakes in counting: sentence -> the number that it leads to."""
    i, j = np.indices((spec.n, spec.n), sparse=True)
    nothing = {name: lambda i, j, _: (i != i) & (j != j) for name in ("near", "far", "rows", "columns")}
    near, far, rows, columns = (connected(spec, **{other: rule for other, rule in nothing.items() if other != name})
                                for name in nothing)
    right, local = connected(spec).sum(), near | far
    causes = {sentence: mask.sum() for sentence, mask in mistakes(spec)}
    return causes | {
        "the position itself is left out.": right - spec.n,
        "pairs that several rules allow are counted several times.": sum(part.sum() for part in (near, far, rows, columns)),
        "pairs of two global positions are counted twice.": right + (rows & columns).sum(),
        "global pairs that are also in the window or at a stride are counted twice.": local.sum() + (rows | columns).sum(),
        "global pairs that are also at a stride are counted twice.": right + (far & ~near & (rows | columns)).sum(),
        "what two global positions have in the window or at a stride is subtracted twice.":
            right - (local & rows & columns).sum(),
        "what two global positions have at a stride is subtracted twice.": right - (far & ~near & rows & columns).sum(),
        "strides within the window are counted again.": right + (near & far).sum(),
        "a position that is named twice in the global ones counts once.":
            right + (len(spec.chosen) - len(set(spec.chosen))) * (spec.n if spec.causal else 2 * spec.n),
        "all are taken for rows in the middle of the text: near the ends, the window is cut off.":
            right - near.sum() + spec.n * ((1 if spec.causal else 2) * spec.window + 1)}


@check("6d-8-basic")
def test_sparse_attention(student, rng):
    """Random patterns over several blocks, edges, large scores, float64; and less work than dense attention."""
    cases = []
    for causal in (False, True):
        n = int(rng.integers(290, 420))
        cases += [draw_case(rng, Spec(n, int(rng.integers(20, 50)), (), causal), 2, 3, 5),
                  draw_case(rng, draw_spec(rng, causal, n, int(rng.integers(20, 50))), 2, 3, 5, transposed=True),
                  draw_case(rng, draw_spec(rng, causal, n + 7, 5, kind="iterator"), 1, 2, 7, "float64"),
                  draw_case(rng, draw_spec(rng, causal, kind="set"), 3, 2, 4, "float64", scale=3000.0)]
        # Windows wider than a block of any common size.
        cases += [draw_case(rng, draw_spec(rng, causal, n + 100, int(rng.integers(130, 170))), 1, 2, 3),
                  draw_case(rng, draw_spec(rng, causal, 1300, int(rng.integers(520, 600))), 1, 1, 2)]
    cases += [draw_case(rng, spec, 2, 1, 3, "float64") for spec in edge_specs(rng)]
    for case, answer in run_cases(student, cases):
        require_output(answer, case)
    require_not_dense(student, rng)


@check("6d-9-basic")
def test_module(student, rng):
    """From a dense module, whose output it gives where the pattern covers everything; other patterns; a new module; the
    predictor, whose choice is used where no positions are given; and no dense attention."""
    T = int(rng.integers(20, 30))
    every, causal, both = Spec(T, T, (), True), draw_spec(rng, True), draw_spec(rng, False)
    cases = [draw_layer(rng, every, 2, 3, 4, dense=True, block_size=T + 3),
             draw_layer(rng, causal, 2, 3, 4, dense=True, block_size=64),
             draw_layer(rng, both, 2, 2, 5, dense=True, block_size=64),
             draw_layer(rng, both, 3, 2, 5), draw_layer(rng, causal, 1, 3, 4), draw_layer(rng, Spec(T, 2, (5,)), 2, 3, 4),
             draw_layer(rng, Spec(T, 2, (5,)), 1, 3, 4, predict=True, max_global=4),
             draw_layer(rng, Spec(T, 3, (), True), 1, 2, 6, predict=True, max_global=200)]
    for case, answer in run_layers(student, cases):
        require_layer(answer, case)
    require_not_dense(student, rng, module=True)


@check("6d-10-basic")
def test_stream(student, rng):
    """One at a time, a few at a time, all at once; with more declared than become global."""
    T = int(rng.integers(60, 90))
    streams = []
    for B, window, strides, cuts in ((2, 4, (11,), [1] * T), (1, 3, (7, 19), None), (1, 6, (), [T]), (2, 2, (9, 4), None)):
        spec = Spec(T, window, strides, True)
        streams.append(Stream.draw(rng, draw_layer(rng, spec, B, 2, 3), cuts, max_global=4))
    long = Spec(300, 12, (37,), True)
    streams.append(Stream.draw(rng, draw_layer(rng, long, 1, 2, 3), [1, 150, 149], max_global=5))
    for stream, answer in run_streams(student, streams):
        require_stream(answer, stream)
