"""Copiers: models on which copy_task is tested. They look up their answers, so their losses and
gaps are known, and they record how they are used.
"""

from dataclasses import asdict, dataclass

from autograder import Answer, WrongAnswer, probe
from checks.problem5.forbidden_builtins import forbid_builtins

STEPS = 30, 41  # copiers have nothing to learn: from the one, below the other
SLOWLY = 0.99  # a slowly learning copier's loss shrinks by this factor in each training step
AXES = (
    "F.cross_entropy takes the second axis for the classes. There are 16 places and 16 classes, so "
    "F.cross_entropy(model(x), y) runs, but treats places as classes. Flatten both: logits to (N, "
    "16), targets to (N)."
)


@dataclass(frozen=True)
class Copier:
    """A model that copies without learning.

    Attributes:
        what: it is, for messages.
        loss: its cross-entropy at every BLANK.
        training, unseen: the loss in training mode, and in evaluation mode for rows that it was not
            trained on; None for the same.
        gap, where: 8 more columns of PAD add `gap` to one logit at the places `where`.
        kind: "slow", each forward pass in training multiplies the loss, in both modes, by SLOWLY;
            "uneven": the first BLANK of each row, and all in rows of up to 4 symbols, have a tenth
            of the loss.
    """

    what: str
    loss: float = 0.001
    training: float | None = None
    unseen: float | None = None
    gap: float = 0.0
    where: str = ""
    kind: str = ""


@probe
def make_copier(config, log, what, loss, training, unseen, gap, where, kind, slowly):
    """Create a model as in Copier, which records how it is used."""
    import math

    import torch
    import torch.nn as nn

    def spread(loss):
        # How far the right logit of 16 must be above the others.
        return math.log(15) - math.log(math.expm1(loss))

    def touch(gradient):
        """Record for which of the 16 places and 16 classes the training loss has a gradient."""
        if gradient.shape[1:] == log["touched"].shape:
            log["touched"] |= (gradient != 0).any(dim=0)

    class Copier(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = config
            self.unused = nn.Parameter(torch.rand(4))
            self.register_buffer("seen", torch.zeros(0, dtype=torch.int64))

        def forward(self, idx, return_weights=False):
            rows = (idx[:, :8] * 16 ** torch.arange(8)).sum(dim=1)
            now = loss * slowly ** log["forward"] if kind == "slow" else loss
            if self.training:
                self.seen = torch.cat((self.seen, rows))
                log["forward"] += 1
                log["wide"] = log["wide"] or idx.size(1) == 24
                log["long"] += rows[idx[:, 5] > 0].tolist()
                log["first"] = log["first"] or rows[:64].tolist()
                height = torch.full((len(idx),), spread(now if training is None else training))
            else:
                log["measured"] += [idx.size(1)] * len(idx)
                log["last"] = (log["last"] + rows[: 64 * (idx.size(1) == 16)].tolist())[-64:]
                log["gradients"] = log["gradients"] or torch.is_grad_enabled()
                height = torch.full((len(idx),), spread(now))
                if unseen is not None:
                    height[~torch.isin(rows, self.seen)] = spread(unseen)
            copied = torch.cat((torch.zeros_like(idx[:, :8]), idx[:, :-8]), dim=1)
            height = height[:, None].repeat(1, idx.size(1))
            if kind == "uneven":
                height[idx[:, 4] == 0] = spread(loss / 10)
                height[:, 8] = spread(loss / 10)
            logits = nn.functional.one_hot(copied, 16) * height[:, :, None]
            places = {
                "": idx < 0,
                "pads": idx == 0,
                "blanks": idx == 1,
                "symbols": idx > 1,
                "full rows": (idx > 0) & (idx[:, 7:8] > 0),
                "the last row": (idx > 0) & (torch.arange(len(idx)) == len(idx) - 1)[:, None],
            }[where]
            added = places * gap * (idx.size(1) - 16) / 8
            logits = torch.cat(
                (logits[..., :5], logits[..., 5:6] + added[..., None], logits[..., 6:]), dim=-1
            )
            logits = logits + 0 * self.unused.sum()
            if self.training and logits.requires_grad:
                logits.register_hook(touch)
            names = ("vocab_size", "max_len", "n_classes", "pooling", "n_embd", "n_layer")
            log["fields"] = {name: getattr(config, name, None) for name in names}
            return (logits, []) if return_weights else logits

    return Copier()


@probe(uses=(forbid_builtins, make_copier))
def measure_copiers(copiers, steps, seeds, slowly):
    """Return copy_task's result for copiers, each with its seed, and how it used each."""
    import time

    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    with forbid_builtins():
        from submission.problem5.encoder import copy_task
    answers = []
    for case, seed in zip(copiers, seeds):
        log = {
            "made": 0,
            "steps": 0,
            "forward": 0,
            "first": [],  # training rows
            "long": [],
            "last": [],  # rows in evaluation mode
            "measured": [],
            "gradients": False,
            "fields": {},
            "draw": None,
            "wide": False,
            "touched": torch.zeros(16, 16, dtype=torch.bool),
        }

        def make(config):
            log["made"] += 1
            log["draw"] = torch.rand(()).item()
            return make_copier(config, log, **case, slowly=slowly)

        torch.rand(len(answers) + 1)  # independent of earlier draws
        hook = register_optimizer_step_pre_hook(lambda *args: log.update(steps=log["steps"] + 1))
        started = time.perf_counter()
        try:
            result = copy_task(make_model=make, steps=steps, seed=seed)
        finally:
            hook.remove()
        log["seconds"] = time.perf_counter() - started
        log["distinct"], log["long"] = len(set(log["long"])), len(log["long"])
        log["measured"] = [log["measured"].count(width) for width in (16, 24)]
        answers.append({"result": result, "log": log})
    return answers


def run_copiers(student, rng, copiers: list[Copier]) -> list[tuple[Copier, Answer, Answer]]:
    """Run copy_task on each copier, and check that it uses them as it should.

    Returns:
        Each copier with copy_task's result and the copier's log.

    Raises:
        WrongAnswer: it does not; names the likely cause.
    """
    steps = int(rng.integers(*STEPS))
    seeds = (1 + rng.choice(1000, size=len(copiers), replace=False)).tolist()
    seeds[-1] = seeds[1]
    found, drawn = [], []
    # The first one alone: code that trains another model would take too long for all of them. The
    # others in one process, in which something may be kept between calls.
    for which in (slice(1), slice(1, None)):
        inputs = [asdict(copier) for copier in copiers[which]]
        answers = student.run(
            measure_copiers, copiers=inputs, steps=steps, seeds=seeds[which], slowly=SLOWLY
        ).items(len(inputs))
        for copier, answer in zip(copiers[which], answers):
            log = answer["log"]
            _require_model(log)
            _require_use(copier, log, steps)
            rows = [[n.number() for n in log[name].items()] for name in ("first", "last")]
            drawn.append([log["draw"].number(), *rows])
            found.append((copier, answer["result"], log))
    _require_seeds(drawn[1], drawn[2], drawn[-1])
    return found


def _require_seeds(once, other, again):
    """Check what three calls drew, the last one with the seed of the first: a number when the model
    was created, the first training rows, and the last rows in evaluation mode.
    """
    if once[0] != again[0]:
        raise WrongAnswer(
            "With the same seed, copy_task creates models with different random weights. Call "
            "torch.manual_seed(seed) first."
        )
    if once[1] != again[1]:
        raise WrongAnswer(
            "With the same seed, copy_task trains on other rows. Draw all rows from `generator`, "
            "which is new in each call."
        )
    if once[1] == other[1] != [] or once[2] == other[2] != []:
        does = "trains" if once[1] == other[1] else "measures"
        raise WrongAnswer(
            f"With another seed, copy_task {does} on the same rows. Draw all rows from "
            "`generator`, in each call."
        )


def _require_model(log):
    """Check that the model from make_model was run, in evaluation mode as well."""
    measured = sum(rows.number() for rows in log["measured"].items(2))
    if log["made"].number() == 0:
        raise WrongAnswer(
            "copy_task did not call make_model. The model to test is make_model(config)."
        )
    if log["forward"].number() + measured == 0:
        raise WrongAnswer(
            "copy_task calls make_model, but never runs the model that it returns. Train and "
            "measure that model."
        )
    if measured == 0 and log["wide"].flag():
        raise WrongAnswer(
            "copy_task measures in training mode. Call model.eval() first, and then draw new rows."
        )
    if measured == 0:
        raise WrongAnswer(
            "copy_task trains the model that make_model returns, but never runs it in evaluation "
            "mode.\n"
            "Likely cause: the results were measured during training, or on another model."
        )


def _require_use(copier, log, allowed):
    fields = dict(vocab_size=16, max_len=24, n_classes=16, pooling="none", n_embd=32, n_layer=2)
    wrong = [
        f"{name}={field.describe()}"
        for name, field in log["fields"].entries().items()
        if field.value != fields.get(name)
    ]
    if wrong:
        raise WrongAnswer(
            "The config that make_model gets should have vocab_size=16, max_len=24, n_classes=16, "
            f'pooling="none", and otherwise the defaults. It has {", ".join(wrong)}.'
        )
    if (steps := log["steps"].number()) > allowed:
        raise WrongAnswer(f"With steps={allowed}, copy_task makes {steps} steps of the optimizer.")
    if copier.kind == "slow" and steps < allowed / 2:
        raise WrongAnswer(
            f"With steps={allowed}, copy_task makes {steps} steps of the optimizer for "
            f"{copier.what}. It should stop early only if the loss is already small."
        )
    if copier.kind == "slow" and (runs := log["forward"].number()) < steps / 2:
        raise WrongAnswer(
            f"copy_task makes {steps} steps of the optimizer, and runs the model that make_model "
            f"returns {runs} times in training mode. That is the one to train."
        )
    # The right loss reaches all classes, at the places of the BLANKs: never none of the first 8
    # classes, and some first places.
    touched = log["touched"].array("bool", (16, 16))
    if touched[:8].any() and not touched[:, :8].any():
        raise WrongAnswer(
            "copy_task's training loss has no gradient for half of the classes, and has one at "
            "places that are not BLANKs.\n"
            f"Likely cause: {AXES} Look at the loss that is measured, too."
        )
    # Of rows with 6 or more symbols, two in 10 ** 7 are equal, and batches of 4 have 50 of them.
    rows, distinct = log["long"].number(), log["distinct"].number()
    if rows >= 40 and distinct < 0.25 * rows:
        raise WrongAnswer(
            f"copy_task trains on the same rows repeatedly: only {distinct} of {rows} long rows "
            "are different. Draw a new batch for each step, from one generator that is seeded once."
        )
