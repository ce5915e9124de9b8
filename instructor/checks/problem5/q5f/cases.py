"""Cases of question 5f: copiers with the loss that copy_task should measure."""

import math

import numpy as np

from checks.problem5.q5f.copying import AXES, ROWS, draw_rows
from checks.support.cases import Case
from instructor.checks.makers import makes
from instructor.checks.problem5.encoder import softmax

OTHER_LOSS = 3.0  # of a copier where the loss should not be measured
SLOWLY = 0.995  # factor by which a slowly learning copier's loss shrinks in each training step


def loss_over_places(rng, loss: float) -> float:
    """Return F.cross_entropy(model(x), y) for a copier with that loss: a softmax over the places,
    indexed by the symbols. It varies between rows, and by 2% for 512 rows.
    """
    x = draw_rows(rng, 8 * ROWS)
    copied = np.concatenate((0 * x[:, :8], x[:, :8]), axis=1)
    logits = np.eye(16)[copied] * math.log(15 / math.expm1(loss))  # (n, places, classes)
    chances = softmax(logits, axis=1)
    row, place = np.nonzero(x[:, 8:])
    return float(-np.log(chances[row, x[row, place], 8 + place]).mean())


def copier(
    rng,
    what: str,
    loss: float = 0.001,
    training: float | None = None,
    unseen: float | None = None,
    gap: float = 0.0,
    where: str = "",
    kind: str = "",
) -> Case:
    """Make a case of a model that copies without learning, as in make_copier; messages name it
    `what`.
    """
    inputs = {
        "loss": loss,
        "training": training,
        "unseen": unseen,
        "gap": gap,
        "where": where,
        "kind": kind,
        "slowly": SLOWLY,
    }
    expected, within = loss, 0.02
    if kind == "uneven":
        # Of 36 BLANKs, in rows of all lengths, 14 have a tenth of the loss. For 512 rows that
        # varies by 2.2%.
        expected, within = loss * (14 * 0.1 + 22) / 36, 0.14
    wrong = [(AXES, lambda: loss_over_places(rng, loss))] if kind == "" else []
    return Case(inputs, wrong=wrong, about={"what": what, "loss": expected, "within": within})


@makes("5f-0-basic")
def right_models(rng):
    """Models that should pass, one of which has to learn."""
    return [
        copier(rng, "a model that copies correctly", loss=float(rng.uniform(0.002, 0.008))),
        copier(
            rng,
            "a model that copies correctly, but not in training mode, as with dropout",
            training=OTHER_LOSS,
        ),
        copier(
            rng,
            "a model that copies correctly, in which padding changes logits only at places that "
            "are PAD",
            gap=0.5,
            where="pads",
        ),
        copier(rng, "a model that learns slowly", loss=OTHER_LOSS, kind="slow"),
    ]


@makes("5f-2-basic")
def wrong_models(rng):
    """Models that should fail, each for a different reason."""
    gap = float(rng.uniform(0.2, 0.4))
    return [
        copier(
            rng, "a model whose loss is a little too large", loss=float(rng.uniform(0.012, 0.02))
        ),
        copier(
            rng,
            "a model that copies short rows, and the first symbol of others, better than the rest",
            loss=float(rng.uniform(0.018, 0.02)),
            kind="uneven",
        ),
        copier(rng, "a model that ignores the padding mask at BLANKs", gap=gap, where="blanks"),
        copier(rng, "a model that ignores the padding mask at symbols", gap=gap, where="symbols"),
        copier(
            rng,
            "a model that ignores the padding mask, and has smaller logits with padding",
            gap=-gap,
            where="symbols",
        ),
        copier(
            rng, "a model that attends to padding in rows of 8 symbols", gap=-gap, where="full rows"
        ),
        copier(
            rng,
            "a model that attends to padding in the last row of a batch",
            gap=gap,
            where="the last row",
        ),
        copier(
            rng,
            "a model in which padding has a small effect",
            gap=float(rng.uniform(2e-4, 8e-4)),
            where="blanks",
        ),
        copier(rng, "a model that copies only in training mode", loss=1.0, training=0.001),
        copier(rng, "a model that knows only its training rows", unseen=OTHER_LOSS),
    ]
