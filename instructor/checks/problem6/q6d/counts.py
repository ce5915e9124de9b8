"""Mistakes in counting connections."""

from instructor.checks.problem6.q6d.patterns import Spec, connected, mistakes, only


def mistaken_counts(spec: Spec) -> list[tuple[str, int]]:
    """Return counting mistakes that change the result: (sentence, wrong count)."""
    rules = "near", "far", "rows", "columns"
    near, far, rows, columns = (only(spec, rule) for rule in rules)
    right, local = connected(spec).sum(), near | far
    repeated = len(spec.chosen) - len(set(spec.chosen))
    causes = {}
    for sentence, mask in mistakes(spec):
        causes.setdefault(sentence, mask.sum())
    causes |= {
        "the position itself is left out.": right - spec.n,
        "pairs that several rules allow are counted several times.": sum(
            part.sum() for part in (near, far, rows, columns)
        ),
        "pairs of two global positions are counted twice.": right + (rows & columns).sum(),
        "global pairs that are also in the window or at a stride are counted twice.": local.sum()
        + (rows | columns).sum(),
        "global pairs that are also at a stride are counted twice.": right
        + (far & ~near & (rows | columns)).sum(),
        "pairs of two global positions in the window or at a stride are subtracted twice.": right
        - (local & rows & columns).sum(),
        "pairs of two global positions at a stride are subtracted twice.": right
        - (far & ~near & rows & columns).sum(),
        "strides within the window are counted again.": right + (near & far).sum(),
        "a global position that is listed twice counts once.": right
        + repeated * (spec.n if spec.causal else 2 * spec.n),
        "all rows are treated as in the middle of the text: near the ends, the window is cut "
        "off.": right - near.sum() + spec.n * ((1 if spec.causal else 2) * spec.window + 1),
    }
    return [(sentence, int(number)) for sentence, number in causes.items() if number != right]
