"""The eleven jobs of the assignment: what each reads and writes. run.py runs them."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """One target of `./run.sh`.

    kind is "pretrain", "finetune" or "evaluate"; variant "vanilla" or "rope"; reads and writes are file names in the
    folder of results (reads is None for a training from scratch); split is "dev" or "test" for an evaluation.
    """
    target: str
    kind: str
    variant: str
    reads: str | None
    writes: str
    split: str | None = None

    @property
    def pretrained(self) -> bool:
        """Whether the model of this job has been pretrained (or is being)."""
        return "without_pretrain" not in self.target


def _evaluations(variant: str, suffix: str, reads: str, writes: str) -> list[Job]:
    return [Job(f"{variant}_eval_{split}_{suffix}", "evaluate", variant, reads, f"{writes}.{split}.predictions", split)
            for split in ("dev", "test")]


def _with_pretraining(variant: str) -> list[Job]:
    return [Job(f"{variant}_pretrain", "pretrain", variant, None, f"{variant}.pretrain.params"),
            Job(f"{variant}_finetune_with_pretrain", "finetune", variant, f"{variant}.pretrain.params",
                f"{variant}.finetune.params"),
            *_evaluations(variant, "with_pretrain", f"{variant}.finetune.params", f"{variant}.pretrain")]


_ALL = [Job("vanilla_finetune_without_pretrain", "finetune", "vanilla", None, "vanilla.model.params"),
        *_evaluations("vanilla", "without_pretrain", "vanilla.model.params", "vanilla.nopretrain"),
        *_with_pretraining("vanilla"),
        *_with_pretraining("rope")]

JOBS = {job.target: job for job in _ALL}
WRITTEN_BY = {job.writes: job for job in _ALL}
