"""What a target of `./run.sh` is."""

from dataclasses import dataclass


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
