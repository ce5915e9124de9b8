"""What a problem with code is, and what a target of `./run.sh` is."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """A target of `./run.sh`.

    Attributes:
        target: its name.
        question: the question of the handout that it belongs to.
        does: what it does, as a line of the help.
        calls: the student's file that it runs; None for jobs, which run the whole model.
        reads: the result of another target that it needs, or None.
        writes: its result, a file in the results folder, or None.
        handed_in: whether the result is handed in.
        data: whether it reads the folder of --data (all jobs do).
        log: whether it reads the log of a job's training, so that there is none without jobs.
    """

    target: str
    question: str
    does: str = ""
    calls: str | None = None
    reads: str | None = None
    writes: str | None = None
    handed_in: bool = False
    data: bool = False
    log: bool = False


@dataclass(frozen=True, kw_only=True)
class Job(Target):
    """A job: a training of the model, or an evaluation.

    Attributes:
        kind: "pretrain", "finetune" or "evaluate".
        variant: "vanilla" (learned positions) or "rope".
        pretrained: whether its model is or will be pretrained.
        split: "dev" or "test" for an evaluation.
    """

    kind: str
    variant: str
    pretrained: bool
    split: str | None = None
    handed_in: bool = True


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem that students write code for; names of files are those in src/submission.

    Attributes:
        code: the files that students write code in.
        answers: those for numbers and choices, with their questions.
        supplied: given files.
        needed: files of another problem that its code imports.
        targets: of `./run.sh`; run() in the problem's run.py runs those that are no jobs.
        files: patterns of files elsewhere that only this problem needs.
        exercises: files of data/ that checks read.
        gold: the files of answers; gold_shared: those that are the same for every cohort.
    """

    code: tuple[str, ...]
    answers: dict[str, str] = field(default_factory=dict)
    supplied: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    files: tuple[str, ...] = ()
    exercises: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    gold_shared: tuple[str, ...] = ()
