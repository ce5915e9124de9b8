"""Every target of `./run.sh`: its question, and what it calls, reads and writes. run.py, its help,
the handout and the tables in the documents use this list.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A target of `./run.sh`.

    Attributes:
        target: its name.
        question: the question of the handout that it belongs to.
        does: what it does, as a line of the help.
        calls: the student's file that it runs; None for the jobs of problem 1, which run the whole
            model.
        reads: the result of another target that it needs, or None.
        writes: its result, a file in the results folder, or None.
        handed_in: whether the result is handed in.
    """

    target: str
    question: str
    does: str = ""
    calls: str | None = None
    reads: str | None = None
    writes: str | None = None
    handed_in: bool = False


@dataclass(frozen=True, kw_only=True)
class Job(Target):
    """One of the eleven jobs of problem 1.

    Attributes:
        kind: "pretrain", "finetune" or "evaluate".
        variant: "vanilla" (learned positions) or "rope".
        split: "dev" or "test" for an evaluation.
    """

    kind: str
    variant: str
    split: str | None = None
    handed_in: bool = True

    @property
    def pretrained(self) -> bool:
        """Whether this job's model is or will be pretrained."""
        return "without_pretrain" not in self.target


def _evaluations(question, variant, suffix, reads, writes):
    return [
        Job(
            f"{variant}_eval_{split}_{suffix}",
            question,
            reads=reads,
            writes=f"{writes}.{split}.predictions",
            kind="evaluate",
            variant=variant,
            split=split,
        )
        for split in ("dev", "test")
    ]


def _with_pretraining(question, variant):
    pretrained, finetuned = f"{variant}.pretrain.params", f"{variant}.finetune.params"
    return [
        Job(f"{variant}_pretrain", question, writes=pretrained, kind="pretrain", variant=variant),
        Job(
            f"{variant}_finetune_with_pretrain",
            question,
            reads=pretrained,
            writes=finetuned,
            kind="finetune",
            variant=variant,
        ),
        *_evaluations(question, variant, "with_pretrain", finetuned, f"{variant}.pretrain"),
    ]


_JOBS = [
    Job(
        "vanilla_finetune_without_pretrain",
        "1e",
        writes="vanilla.model.params",
        kind="finetune",
        variant="vanilla",
    ),
    *_evaluations(
        "1e", "vanilla", "without_pretrain", "vanilla.model.params", "vanilla.nopretrain"
    ),
    *_with_pretraining("1f", "vanilla"),
    *_with_pretraining("1h", "rope"),
]

LOOK = Target(
    "look",
    "1h",
    "a page to play with: where your trained models look, letter by letter; seconds",
    writes="look.html",
)

# These have one size, and take a few minutes on the CPU at most.
_SMALL = [
    Target(
        "show_corruption",
        "1c",
        "a page of your span corruption: one example step by step, and histograms",
        "dataset.py",
        writes="span_corruption.html",
    ),
    Target(
        "encoder_scaling",
        "5b",
        "the table and plot of 5b: softmax with and without scaling",
        "problem5/numpy_attention.py",
        writes="encoder_scaling.png",
    ),
    Target(
        "encoder_copy",
        "5f",
        "the sanity check of 5f: can your encoder learn to copy?",
        "problem5/encoder.py",
    ),
    Target(
        "encoder_report",
        "5g",
        "trains the encoders of 5g; writes encoder.params, a report and its maps",
        "problem5/encoder.py",
        writes="encoder.params",
        handed_in=True,
    ),
    Target(
        "plot_positions",
        "6c",
        "the plot of 6c, and its claims in numbers",
        "problem6/positions.py",
        writes="positions.png",
    ),
    Target(
        "measure_sparse",
        "6d",
        "time and memory of your sparse_attention over 5,000 to 75,000 tokens",
        "problem6/efficient_attention.py",
        writes="sparse_attention.png",
    ),
    Target(
        "debug_exploding",
        "6e",
        "a training that explodes, before and after your fixes",
        "problem6/fixes.py",
        writes="debug_exploding.html",
    ),
    Target(
        "debug_repetition",
        "6e",
        "a model that repeats itself, before and after your fixes",
        "problem6/fixes.py",
        writes="debug_repetition.html",
    ),
    Target(
        "debug_slow",
        "6e",
        "a deep model that learns slowly, before and after your fixes",
        "problem6/fixes.py",
        writes="debug_slow.html",
    ),
    Target(
        "practice_monitor",
        "6f",
        "your monitor on six recorded trainings: what it reported, against their labels",
        "problem6/diagnostics.py",
        writes="practice.html",
    ),
    Target(
        "dashboard",
        "6f",
        "a page from the newest log that a training kept with --log, and your alarms",
        "problem6/diagnostics.py",
        writes="dashboard.html",
    ),
]

JOBS = {job.target: job for job in _JOBS}
SMALL = {target.target: target for target in _SMALL}
TARGETS = JOBS | {LOOK.target: LOOK} | SMALL
WRITTEN_BY = {job.writes: job for job in _JOBS}
