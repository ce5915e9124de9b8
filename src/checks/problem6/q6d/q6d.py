"""Question 6d, basic: global positions, the pattern and its connections; the attention."""

import numpy as np

from autograder import WrongAnswer, check, probe
from checks.problem6.q6d.limits import require_limits
from checks.problem6.q6d.rows import describe, given, masks, require_each, require_positions
from checks.problem6.q6d.sparse import require_gradients, require_output, run_cases
from checks.problem6.q6d.work import require_few_flops, require_little_work

SECONDS = 4  # CPU seconds allowed for a count; the handout asks for one


@probe
def globals_from(calls):
    """Run every_kth, section_headers or predicted_globals for each call."""
    import numpy as np
    import torch

    from submission.problem6 import efficient_attention as student

    results = []
    for call in calls:
        args = [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in call["args"]]
        results.append(getattr(student, call["function"])(*args))
    return results


@check("6d-5-basic")
def test_global_positions(student, cases):
    """From a rule, from headers, from scores: with ties, zeros, more and fewer than the limit."""
    answers = student.run(globals_from, calls=[case.inputs for case in cases]).items(len(cases))

    def judge(got, case):
        cause = next((sentence for sentence, positions in case.wrong if got.value == positions), "")
        predicted = case.inputs["function"] == "predicted_globals"
        if not cause and predicted and isinstance(got.value, list):
            scores = case.inputs["args"][0]
            taken = [
                sorted(scores[i] for i in positions if type(i) is int and 0 <= i < len(scores))
                for positions in (got.value, case.right)
            ]
            if taken[0] == taken[1]:
                cause = (
                    "among equal scores, the first ones are not the ones taken: topk guarantees no "
                    "order among them; a stable sort does."
                )
        require_positions(
            got.named(case.about["call"]), case.right, f"\nLikely cause: {cause}" if cause else ""
        )

    require_each(list(zip(cases, answers)), judge)


@probe(uses=(given,))
def attended(specs):
    """Run attended_positions on every position, for each spec."""
    from submission.problem6.efficient_attention import attended_positions

    return [
        [attended_positions(i, spec["n"], *given(spec)) for i in range(spec["n"])] for spec in specs
    ]


@check("6d-6-basic")
def test_attended_positions(student, cases):
    """Random patterns and extreme ones; global positions from a list, a set, an iterator."""
    answers = student.run(attended, specs=[case.inputs for case in cases]).items(len(cases))

    def judge(answer, case):
        n = case.inputs["n"]
        rows, right = answer.items(n), masks(case.right, (n, n))
        cause = next(
            (
                f"\nLikely cause: {sentence}"
                for sentence, bits in case.wrong
                if all(
                    row.value == np.flatnonzero(wanted).tolist()
                    for row, wanted in zip(rows, masks(bits, (n, n)))
                )
            ),
            "",
        )
        for i, row in enumerate(rows):
            name = f"attended_positions({i}, ...) with {describe(case.inputs)}"
            require_positions(row.named(name), np.flatnonzero(right[i]).tolist(), cause)

    require_each(list(zip(cases, answers)), judge)


@probe(uses=(given,))
def counted(specs):
    """Run count_connections for each spec."""
    from submission.problem6.efficient_attention import count_connections

    return [count_connections(spec["n"], *given(spec)) for spec in specs]


@check("6d-7-basic")
def test_count_connections(student, cases):
    """Small patterns, whose mask can be summed; then about 75,000 positions, within the time
    limit.
    """
    small = [case for case in cases if case.inputs["n"] < 1000]
    for some in (small, *([case] for case in cases if case not in small)):
        before = student.cpu_seconds
        answers = student.run(counted, specs=[case.inputs for case in some]).items(len(some))
        if (seconds := student.cpu_seconds - before) > SECONDS:
            raise WrongAnswer(
                f"count_connections takes {seconds:.1f} s for {some[0].inputs['n']:,} positions; "
                "the limit is one second. Count by rules or rows, not pairs."
            )
        names = [f"count_connections with {describe(case.inputs)}" for case in some]
        totals = [answer.named(name).present() for name, answer in zip(names, answers)]
        _require_counts(totals, some)


def _require_counts(answers, cases):
    """Check that the numbers are exact; names the likely cause if not."""
    got = [answer.number() for answer in answers]
    failed = None
    for answer, number, case in zip(answers, got, cases):
        if number == case.right and (type(number) is int or float(number).is_integer()):
            continue
        # Different mistakes may give the same small number; the cause must explain other numbers,
        # too.
        alike = [
            (other, its)
            for other, its in zip(cases, got)
            if other.inputs["causal"] == case.inputs["causal"]
        ][:3]
        known = [
            {sentence: value() if callable(value) else value for sentence, value in other.wrong}
            for other, _ in alike
        ]
        for sentence, value in case.wrong:
            value = value() if callable(value) else value
            if number == value != case.right and all(
                its == its_known.get(sentence, other.right)
                for (other, its), its_known in zip(alike, known)
            ):
                raise WrongAnswer(
                    f"{answer.name} is {number:,}; it should be "
                    f"{case.right:,}.\nLikely cause: {sentence}"
                )
        failed = failed or WrongAnswer(f"{answer.name} is {number:,}; it should be {case.right:,}.")
    if failed:
        raise failed


@check("6d-8-basic")
def test_sparse_attention(student, cases):
    """Random patterns over several blocks, edges, large scores, float64; and less work than dense
    attention.
    """
    require_each(
        run_cases(student, [case for case in cases if "dense" not in case.about]), require_output
    )
    require_little_work(student, [case for case in cases if "dense" in case.about])


@check("6d-15-basic")
def test_gradients(student, cases):
    """Over several blocks, bidirectional and causal, in both dtypes."""
    require_each(run_cases(student, cases), require_gradients)


@check("6d-16-basic")
def test_growth(student, cases):
    """Connections and FLOPs; the memory of a long text with 8 heads; the seconds of 75,000."""
    require_few_flops(student, [case for case in cases if "times" in case.about])
    require_little_work(student, [case for case in cases if "dense" in case.about])


@check("6d-18-basic")
def test_pattern_limits(student, rng):
    """What Pattern and the functions of the first step reject."""
    require_limits(student, rng, 1)


@check("6d-19-basic")
def test_attention_limits(student, rng, cases):
    """What sparse_attention rejects; global positions from an iterator."""
    require_limits(student, rng, 2, cases)
