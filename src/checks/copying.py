"""Trying out copy_task on models of the judge's own. The checks of question 5f share it.

Copiers copy without having learned it, and their losses and gaps are known beforehand. Others are encoders, broken on purpose.
"""
import math
from dataclasses import dataclass

from autograder import Answer, WrongAnswer, probe
from autograder.inside.wire import Array
from checks.encoder import own_work

LOSS, GAP = 0.01, 1e-4      # of the handout: below these, a model has passed
ROWS = 512
STEPS = 130             # of copiers, which have nothing to learn
FEW_STEPS = 70          # of broken encoders: more than a warm-up takes, and too few for any encoder to learn the task
SHARE_OF_BLANKS = (0.25, 0.31)      # of the 16 places of a row: 4.5 on average
OTHER_LOSS = 3.0                    # of a copier where it is not supposed to be looked at


@probe
def make_copier(config, log, loss, training, unseen, gap, where):
    """A model that copies without having learned it, and writes down how it is used.

    Args:
        loss: its cross-entropy at every BLANK.
        training, unseen: that in training mode, and in evaluation mode for rows that it was not trained on; None for the same.
        gap, where: 8 more columns of PAD add `gap` to one logit at the places `where`.
    """
    import math
    import torch
    import torch.nn as nn

    def spread(loss):
        chance = math.exp(-loss)
        return math.log(15 * chance / (1 - chance))     # as far as the right one of 16 logits is above the others

    class Copier(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = config
            self.unused = nn.Parameter(torch.rand(4))
            self.register_buffer("seen", torch.zeros(0, dtype=torch.int64))

        def forward(self, idx, return_weights=False):
            rows = (idx[:, :8] * 16 ** torch.arange(8)).sum(dim=1)
            if self.training:
                self.seen = torch.cat((self.seen, rows))
                log["forward"] += 1
                log["long"] += rows[idx[:, 5] > 0].tolist()
                height = torch.full((len(idx),), spread(loss if training is None else training))
            else:
                log["measured"] += [idx.size(1)] * len(idx)
                log["gradients"] = log["gradients"] or torch.is_grad_enabled()
                height = torch.full((len(idx),), spread(loss))
                if unseen is not None:
                    height[~torch.isin(rows, self.seen)] = spread(unseen)
            copied = torch.cat((torch.zeros_like(idx[:, :8]), idx[:, :-8]), dim=1)
            logits = nn.functional.one_hot(copied, 16) * height[:, None, None]
            places = {"": idx < 0, "pads": idx == 0, "blanks": idx == 1, "symbols": idx > 1,
                      "full rows": (idx > 0) & (idx[:, 7:8] > 0)}[where]
            added = places * gap * (idx.size(1) - 16) / 8
            logits = torch.cat((logits[..., :5], logits[..., 5:6] + added[..., None], logits[..., 6:]), dim=-1)
            logits = logits + 0 * self.unused.sum()
            names = ("vocab_size", "max_len", "n_classes", "pooling", "n_embd", "n_layer")
            log["fields"] = {name: getattr(config, name, None) for name in names}
            return (logits, []) if return_weights else logits
    return Copier()


@probe(uses=(own_work, make_copier))
def measure_copiers(cases, steps, seed):
    """What copy_task returns for copiers, and how it used each."""
    import time
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook
    with own_work():
        from submission.encoder import copy_task
    answers = []
    for case in cases:
        log = {"made": 0, "steps": 0, "forward": 0, "long": [], "measured": [], "gradients": False, "fields": {}, "draw": None}

        def make(config):
            log["made"] += 1
            log["draw"] = torch.rand(()).item()
            return make_copier(config, log, **case)
        torch.rand(len(answers) + 1)        # whatever was drawn before
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


@probe
def make_broken(config, fault):
    """An encoder of two layers, without "residuals" or "positions", or one that ignores the "mask", or has it "inverted"."""
    import math
    import torch
    import torch.nn as nn

    def norm(x):
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.proj = nn.Linear(32, 96), nn.Linear(32, 32)
            self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

        def forward(self, x, hidden):
            heads = self.qkv(norm(x)).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
            scores = (heads[0] @ heads[1].transpose(-2, -1) / math.sqrt(8)).masked_fill(hidden[:, None, None], -1e9)
            attended = self.proj((scores.softmax(-1) @ heads[2]).transpose(1, 2).flatten(2))
            x = attended if fault == "residuals" else x + attended
            y = self.down(torch.relu(self.up(norm(x))))
            return y if fault == "residuals" else x + y

    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = config
            self.tokens = nn.Embedding(16, 32)
            self.layers = nn.ModuleList([Layer(), Layer()])
            self.head = nn.Linear(32, 16)
            angles = torch.outer(torch.arange(24), 10000.0 ** (-torch.arange(0, 32, 2) / 32))
            self.register_buffer("table", torch.cat((angles.sin(), angles.cos()), dim=-1) * (fault != "positions"))

        def forward(self, idx, return_weights=False):
            x = self.tokens(idx) + self.table[:idx.size(1)]
            hidden = {"mask": idx < 0, "inverted": idx != 0}.get(fault, idx == 0)
            for part in self.layers:
                x = part(x, hidden)
            logits = self.head(norm(x))
            return (logits, []) if return_weights else logits
    return Broken()


@probe(uses=(own_work, make_broken))
def measure_broken(faults, steps, seed):
    """What copy_task returns for broken encoders."""
    with own_work():
        from submission.encoder import copy_task
        return [copy_task(make_model=lambda config: make_broken(config, fault), steps=steps, seed=seed) for fault in faults]


@dataclass(frozen=True)
class Measured:
    """What copy_task returned."""
    loss: float
    gap: float
    passed: bool


def read_result(answer: Answer, seconds: float = math.inf) -> Measured:
    """Read copy_task's dict.

    Args:
        seconds: that the call took.

    Raises:
        WrongAnswer: an entry is missing, of a wrong type, or contradicts another one.
    """
    answer = answer.named("what copy_task returns")
    entries = answer.present().entries()
    if missing := [name for name in ("loss", "padding_gap", "seconds", "passed") if name not in entries]:
        raise WrongAnswer(f"The dict that copy_task returns lacks {', '.join(missing)}.")
    loss, gap, took = (_float(entries[name], name) for name in ("loss", "padding_gap", "seconds"))
    passed = entries["passed"].value
    if isinstance(passed, Array) and passed.kind == "ndarray" and passed.dtype == "bool" and passed.data.size == 1:
        passed = bool(passed.data)       # np.bool_, of a comparison of NumPy's floats
    if not isinstance(passed, bool):
        raise WrongAnswer(f'"passed" should be True or False; it is {entries["passed"].describe()}.')
    if gap < 0:
        raise WrongAnswer(f'"padding_gap" should be the largest absolute difference; it is {gap:.3g}.')
    if passed != (loss < LOSS and gap < GAP):
        raise WrongAnswer(f'"passed" should say whether the loss is under {LOSS} and the gap under {GAP:g}. It is {passed}, with '
                          f'a loss of {loss:.3g} and a gap of {gap:.3g}.')
    if not 0 < took <= 1.1 * seconds + 0.5:
        raise WrongAnswer(f'"seconds" should be the time that everything took, {seconds:.1f} seconds here; it is {took:.3g}.')
    return Measured(loss, gap, passed)


def _float(answer, name):
    if isinstance(answer.value, Array) and answer.value.kind == "tensor":
        raise WrongAnswer(f'"{name}" should be a Python float; it is {answer.describe()}. Its .item() is one.')
    return answer.named(f'"{name}"').number()


@dataclass(frozen=True)
class Copier:
    """A model that copies without having learned it, as in make_copier. what: of it, for messages."""
    what: str
    loss: float = 0.001
    training: float | None = None
    unseen: float | None = None
    gap: float = 0.0
    where: str = ""

    def inputs(self) -> dict:
        """The arguments of make_copier."""
        return {name: getattr(self, name) for name in ("loss", "training", "unseen", "gap", "where")}


def judge_copiers(student, rng, copiers: list[Copier]) -> None:
    """copy_task measures each rightly, and uses it as it should.

    Raises:
        WrongAnswer: it does not; names the likely cause.
    """
    seed = int(rng.integers(1, 1000))
    cases = [copier.inputs() for copier in copiers]
    answers = student.run(measure_copiers, cases=cases, steps=STEPS, seed=seed).items(len(cases))
    draws = set()
    for copier, answer in zip(copiers, answers):
        log = answer["log"]
        if log["made"].number() == 0:
            raise WrongAnswer("copy_task did not call make_model. The model to test is make_model(config).")
        measured = read_result(answer["result"], log["seconds"].number())
        _require_use(log)
        _require_loss(copier, measured, log)
        _require_gap(copier, measured)
        draws.add(log["draw"].number())
    if len(draws) > 1:
        raise WrongAnswer("With the same seed, copy_task makes models with different random weights. torch.manual_seed(seed) "
                          "comes first.")


def _require_use(log):
    fields = {"vocab_size": 16, "max_len": 24, "n_classes": 16, "pooling": "none", "n_embd": 32, "n_layer": 2}
    wrong = [f"{name}={field.describe()}" for name, field in log["fields"].entries().items() if field.value != fields.get(name)]
    if wrong:
        raise WrongAnswer("The config that make_model gets should have vocab_size=16, max_len=24, n_classes=16, "
                          f"pooling=\"none\", and otherwise the defaults. It has {', '.join(wrong)}.")
    if (steps := log["steps"].number()) > STEPS:
        raise WrongAnswer(f"With steps={STEPS}, copy_task makes {steps} steps of the optimizer.")
    rows, distinct = log["long"].number(), log["distinct"].number()
    if rows > 200 and distinct < 0.25 * rows:
        raise WrongAnswer(f"copy_task trains on the same rows again and again: only {distinct} of {rows} long ones are "
                          "different. Draw a fresh batch for each step, from one generator that is seeded once.")


def _require_loss(copier, measured, log):
    """The losses of copiers are known to 2%, except where it matters which rows were seen."""
    if copier.unseen is not None:
        # Rows of up to 4 symbols may have been seen. Of all BLANKs, those of longer ones are 26 / 36, with a standard deviation
        # of 0.01, and this asks for 0.6.
        if measured.loss < 0.6 * copier.unseen:
            raise WrongAnswer(f"For {copier.what}, the loss is {measured.loss:.3g}; it should be about "
                              f"{copier.unseen:.1f}.\nLikely cause: it is measured on rows of the training; draw fresh ones.")
        return
    short, long = (rows.number() for rows in log["measured"].items(2))
    if abs(measured.loss - copier.loss) > 0.02 * copier.loss + 1e-5:
        share = measured.loss / copier.loss
        causes = [(short + long == 0 or _near(measured.loss, copier.training),
                   "it is that of the training, or measured in training mode. model.eval() comes first, and then fresh rows."),
                  (SHARE_OF_BLANKS[0] < share < SHARE_OF_BLANKS[1], "it is the mean over all places, also those whose target is "
                                                                    "-100."),
                  (share > 50, "it is the sum over the BLANKs, not their mean.")]
        cause = next((f"\nLikely cause: {sentence}" for applies, sentence in causes if applies), "")
        raise WrongAnswer(f"For {copier.what}, the loss should be {copier.loss:.4g}; it is {measured.loss:.4g}.{cause}")
    if short + long == 0:
        raise WrongAnswer("copy_task does not measure in evaluation mode. model.eval() comes before.")
    if short < ROWS:
        raise WrongAnswer(f"copy_task measures the loss on {short} rows of 16 places; it should draw {ROWS} fresh ones.")
    if log["gradients"].flag():
        raise WrongAnswer("copy_task measures with gradients switched on. Measure within torch.no_grad().")


def _near(got, known):
    return known is not None and abs(got - known) < 0.05 * known


def _require_gap(copier, measured):
    expected = 0.0 if copier.where == "pads" else abs(copier.gap)
    if abs(measured.gap - expected) <= 0.02 * expected + 2e-6:
        return
    causes = [(copier.where == "pads" and _near(measured.gap, abs(copier.gap)),
               "places that are PAD count, too; compare only where x is not PAD."),
              (measured.gap == 0 and copier.gap < 0, "the largest difference is looked for without .abs(), or not in all rows."),
              (measured.gap == 0, f"it is not measured, or not at {copier.where}. All places where x is not PAD count."),
              (0 < measured.gap < 0.5 * expected, "it is a mean, or the difference of two losses. The largest difference of a "
                                                  "logit is asked for.")]
    cause = next((f"\nLikely cause: {sentence}" for applies, sentence in causes if applies), "")
    raise WrongAnswer(f"For {copier.what}, the padding gap should be {expected:.3g}; it is {measured.gap:.3g}.{cause}")
