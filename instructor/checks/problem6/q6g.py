"""Question 6g: documents, memories and long texts, and the hidden checks."""

from checks.problem6.q6g import DOCUMENTS, LONG_DOCUMENTS, MEMORY, WORK
from instructor.checks.drawing import draws
from instructor.checks.problem6.q6d import pattern
from instructor.checks.problem6.q6d_attention import inputs
from instructor.checks.problem6.q6d_module import dense, layer

LARGE = ", with scores in the thousands"
ACROSS = "cross_document_attention"


def of(lengths, question: int, window: int, kind: str = "list") -> dict:
    """Documents and a question. kind: of the lengths, "list", "iterator", or "kept", a list that
    must be the same afterwards.
    """
    n = sum(lengths) + question
    return {"n": n, "lengths": list(lengths), "window": window, "kind": kind}


def attend(rng, drawn: dict, *sizes: int, **more) -> dict:
    """The inputs of a call. sizes: B, n_head and head_dim."""
    return inputs(rng, drawn, *sizes, function=ACROSS, **more)


def memory(rng, lengths, B: int, n: int, *heads: int, gradients: bool = False, **more) -> dict:
    """The inputs of remember and ask.

    Args:
        n: states of the decoder in each of B sequences.
        heads: n_head and head_dim.
        more: settings of the module.
    """
    module = layer(rng, heads, pattern(4, (2,), False), **more)
    return {"layer": module, "lengths": list(lengths), "B": B, "n": n, "gradients": gradients}


@draws(DOCUMENTS, "6g-1-basic", "6g-3-hidden")
def documents(rng):
    """Documents shorter and longer than the window and than a block; others, with another question,
    in the same shape; one document, documents and questions of one token; large scores.
    """
    window, (many, much) = int(rng.integers(3, 6)), rng.integers((140, 1060), (170, 1100)).tolist()
    some = rng.choice(range(window + 3, 14), 3, replace=False).tolist()
    return [
        attend(rng, of(some, 7, window), 2, 3, 4),
        attend(rng, of((*some[1:], some[0] + 1), 6, window), 2, 3, 4),
        attend(rng, of((*some[::-1], 2), 4, window), 1, 2, 3, dtype="float64"),
        attend(rng, of((many, 40, 9), 6, int(rng.integers(20, 30))), 2, 1, 1),
        attend(rng, of((12,), 1, 2), 1, 2, 3),
        attend(rng, of((1, 1, 1), 3, 0), 2, 1, 4),
        attend(rng, of(some, 9, 0), 1, 2, 3),
        attend(rng, of(some, 5, 100), 1, 3, 2, transposed=True),
        attend(rng, of((1,), 1, 1), 1, 1, 1, dtype="float64"),
        attend(rng, of((5, much), 6, window), 1, 1, 1),  # longer than the smallest default stride
        (attend(rng, of(some, 5, window), 1, 2, 3, dtype="float64", scale=700.0), LARGE),
    ]


@draws(LONG_DOCUMENTS, "6g-1-basic")
def many_documents(rng):
    """Many documents, each of which may be dense attention, but not all together."""
    lengths = [int(rng.integers(490, 510))] * 50
    return [attend(rng, of(lengths, 20, int(rng.integers(50, 70))), 1, 1, 4)]


@draws(MEMORY, "6g-2-basic", "6g-3-hidden")
def memories(rng):
    """Several documents, in another order, too; one, and some of one token; one state and several,
    of several sequences.
    """
    lengths = _lengths(rng, 4)
    return [
        memory(rng, lengths, 3, 5, 2, 4),
        memory(rng, lengths[2:] + lengths[:2], 3, 5, 2, 4),
        memory(rng, lengths[:1], 1, 4, 3, 2),
        memory(rng, [1, 6, 1], 2, 1, 2, 5),
    ]


@draws(DOCUMENTS, "6g-5-basic", "6g-3-hidden")
def gradients(rng):
    """Gradients of cross_document_attention."""
    lengths, window = _lengths(rng, 3), int(rng.integers(2, 5))
    drawn = of(lengths, 4, window), of(lengths[:2], 4, window), of((150, 3), 7, 20)
    dtypes = "float32", "float64", "float64"
    return [
        attend(rng, each, 2, 1, 3, dtype=dtype, gradients=True)
        for each, dtype in zip(drawn, dtypes)
    ]


@draws(MEMORY, "6g-5-basic", "6g-3-hidden")
def memory_gradients(rng):
    """Gradients of remember and ask."""
    return [memory(rng, _lengths(rng, 3), 2, 3, 2, 3, gradients=True, dtype="float64")]


def _lengths(rng, count):
    return rng.choice(range(3, 15), count, replace=False).tolist()


@draws(LONG_DOCUMENTS, "6g-6-basic", "6g-4-hidden")
def long_documents(rng):
    """Short documents, in which a loop over tokens is counted; and long ones, over which dense
    attention would be too slow.
    """
    window, last = rng.integers((50, 2_000), (70, 3_000)).tolist()
    loop, long = of((1500, 1, 300), 30, window), of((20_000, 1, last), 30, window)
    return [attend(rng, each, 1, 1, 4) for each in (loop, long)]


@draws(WORK, "6g-6-basic", "6g-4-hidden")
def large_memory(rng):
    """Far more tokens of documents than of questions."""
    return [memory(rng, rng.integers(20, 50, 3).tolist(), 1, 2, 2, 4)]


@draws(DOCUMENTS, "6g-7-basic")
def misfits(rng):
    """Lengths and windows that do not fit 12 tokens, after some that do, and an iterator; scores
    that are lower than most numbers that are taken for -inf.
    """
    a, b = rng.choice(range(3, 6), 2, replace=False).tolist()
    lengths = [], [a, 12 - a], [12 - b, b + 2], [a, 0], [12 - b, -2]
    plain = of([a, b], 12 - a - b, 3)
    others = (
        {"kind": "kept"},
        {"kind": "iterator"},
        *({"lengths": each} for each in lengths),
        {"window": -1},
    )
    steep = attend(rng, of((1,), 9, 3), 1, 2, 3, dtype="float64", scale=1e5)
    return [
        *(attend(rng, {**plain, **other}, 1, 2, 4) for other in ({}, *others)),
        (steep, ", with scores near 100,000"),
    ]


@draws(MEMORY, "6g-7-basic")
def memory_misfits(rng):
    """No documents, and a module that rotates, after what fits."""
    sizes = 1, 3, 2, 4
    rotating = memory(rng, [4], *sizes, **dense(9, True))
    return [memory(rng, [4], *sizes), memory(rng, [], *sizes), rotating]
