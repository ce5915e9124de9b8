"""Question 6g: documents, memories and long texts, and the hidden checks."""

from autograder import check
from checks.problem6.q6d_work import LONG
from checks.problem6.q6g import ACROSS, require_documents, require_work
from checks.problem6.q6g_memory import MEMORY
from instructor.checks.drawing import draws

LARGE = ", with scores in the thousands"


@check("6g-3-hidden")
def test_documents(student, calls):
    """As the basic checks, with other sizes."""
    require_documents(student, calls)


@check("6g-4-hidden")
def test_work(student, calls):
    """As the basic check, with other lengths."""
    require_work(student, calls)


def text(rng, lengths, question: int, window: int, B: int, n_head: int, head_dim: int, **more):
    """Draw the inputs of cross_document_attention.

    Args:
        more: replaces any of them.
    """
    drawn = {"seed": int(rng.integers(2**31)), "lengths": list(lengths), "window": window}
    drawn |= {"shape": [B, n_head, sum(lengths) + question, head_dim], "dtype": "float32"}
    drawn |= {"scale": 1.0, "transposed": False, "iterator": False, "gradients": False}
    return {**drawn, **more}


def memory(rng, lengths, B: int, n: int, n_head: int, head_dim: int, **more):
    """Draw the inputs of remember and ask.

    Args:
        n: states of the decoder in each of B sequences.
        more: replaces any of them.
    """
    drawn = {"seed": int(rng.integers(2**31)), "lengths": list(lengths), "B": B, "n": n}
    drawn |= {"n_head": n_head, "head_dim": head_dim, "dtype": "float32"}
    return {**drawn, "gradients": False, "rotates": False, **more}


def long_text(rng, lengths, question: int, window: int) -> dict:
    """Draw the inputs of a call on a long text. In a short one, operations of torch are counted."""
    n = sum(lengths) + question
    return {
        "function": "cross_document_attention",
        "shape": [1, 1, n, 4],
        "seed": int(rng.integers(2**31)),
        "operations": 2 * n if n <= 12_000 else None,
        "arguments": {"lengths": list(lengths), "window": window},
    }


@draws(ACROSS, "6g-1-basic")
def documents(rng):
    """Documents shorter and longer than the window and than a block; others, with another question,
    in the same shape; one document, documents and questions of one token; large scores.
    """
    window, (many, much) = int(rng.integers(3, 6)), rng.integers((140, 1060), (170, 1100)).tolist()
    some = rng.choice(range(window + 3, 14), 3, replace=False).tolist()
    return [
        text(rng, some, 7, window, 2, 3, 4),
        text(rng, (*some[1:], some[0] + 1), 6, window, 2, 3, 4),
        text(rng, (*some[::-1], 2), 4, window, 1, 2, 3, dtype="float64"),
        text(rng, (many, 40, 9), 6, int(rng.integers(20, 30)), 2, 1, 1),
        text(rng, (12,), 1, 2, 1, 2, 3),
        text(rng, (1, 1, 1), 3, 0, 2, 1, 4),
        text(rng, some, 9, 0, 1, 2, 3),
        text(rng, some, 5, 100, 1, 3, 2, transposed=True),
        text(rng, (1,), 1, 1, 1, 1, 1, dtype="float64"),
        text(rng, (5, much), 6, window, 1, 1, 1),  # longer than the smallest default stride
        (text(rng, some, 5, window, 1, 2, 3, dtype="float64", scale=700.0), LARGE),
    ]


@draws(ACROSS, "6g-3-hidden")
def more_documents(rng):
    """A document longer than the smallest default stride; others, also in another order and with
    another question; large scores.
    """
    lengths, window = rng.permutation([9, 14, 6, 11]).tolist(), int(rng.integers(2, 5))
    return [
        text(rng, lengths, 6, window, 1, 2, 3),
        text(rng, lengths[1:] + lengths[:1], 6, window, 1, 2, 3),
        text(rng, (*lengths[:3], lengths[3] + 1), 5, window, 1, 2, 3),
        text(rng, (int(rng.integers(1100, 1200)), 4), 6, window, 1, 1, 2),
        (text(rng, lengths, 7, window, 1, 2, 3, dtype="float64", scale=800.0), LARGE),
    ]


@draws(LONG, "6g-1-basic", "6g-3-hidden")
def many_documents(rng):
    """Many documents, each of which may be dense attention, but not all together."""
    return [long_text(rng, [int(rng.integers(190, 210))] * 120, 20, int(rng.integers(250, 270)))]


@draws(MEMORY, "6g-2-basic", "6g-3-hidden")
def memories(rng, large):
    """Several documents, in another order, too; one, and some of one token; one state and several,
    of several sequences.
    """
    lengths = rng.permutation([6, 9, 11, 14] if large else [3, 4, 6, 8]).tolist()
    heads = (2, 3) if large else (2, 4)
    return [
        memory(rng, lengths, 3, 5, *heads),
        memory(rng, lengths[2:] + lengths[:2], 3, 5, *heads),
        memory(rng, lengths[:1], 1, 4, 3, 2),
        memory(rng, [1, 6, 1], 2, 1, 2, 5),
    ]


@draws(ACROSS, "6g-5-basic", "6g-3-hidden")
def gradients(rng, large):
    """Gradients of cross_document_attention."""
    window, n, more = int(rng.integers(2, 5)), 7 if large else 4, {"gradients": True}
    wide = [text(rng, (150, 3), n, 20, 2, 2, 3, dtype="float64", **more)] if large else []
    lengths = rng.permutation([9, 14, 6, 11] if large else [6, 9, 5]).tolist()
    return [
        text(rng, lengths, n, window, 2, 1, 3, **more),
        text(rng, lengths[:2], n, window, 1, 2, 3, dtype="float64", **more),
        *wide,
    ]


@draws(MEMORY, "6g-5-basic", "6g-3-hidden")
def memory_gradients(rng, large):
    """Gradients of remember and ask."""
    lengths = rng.permutation([9, 14, 6] if large else [3, 5, 7]).tolist()
    return [memory(rng, lengths, 2, 3, 2, 3, dtype="float64", gradients=True)]


@draws(LONG, "6g-6-basic", "6g-4-hidden")
def long_documents(rng):
    """A short and a long text of documents, over which dense attention would be too slow."""
    return [
        long_text(rng, lengths, 30, int(rng.integers(240, 260)))
        for lengths in ((10_000, 900), (30_000, 1, int(rng.integers(2_000, 3_000))))
    ]


@draws(ACROSS, "6g-7-basic")
def misfits(rng):
    """Lengths and windows that do not fit 12 tokens, after some that do."""
    a, b = rng.choice(range(3, 6), 2, replace=False).tolist()
    plain = text(rng, [a, b], 12 - a - b, 3, 1, 2, 4)
    lengths = [], [a, 12 - a], [12 - b, b + 2], [a, 0], [12 - b, -2]
    return [
        plain,
        {**plain, "iterator": True},
        *({**plain, "lengths": each} for each in lengths),
        {**plain, "window": -1},
    ]


@draws(MEMORY, "6g-7-basic")
def memory_misfits(rng):
    """No documents, and a module that rotates, after what fits."""
    plain = memory(rng, [4], 1, 3, 2, 4)
    return [plain, {**plain, "lengths": []}, {**plain, "rotates": True}]
