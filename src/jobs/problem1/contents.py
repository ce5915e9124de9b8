"""Problem 1: its files in src/submission, and its targets of ./run.sh."""

from jobs.target import Job, Problem, Target


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
    pretrain, finetune = f"{variant}_pretrain", f"{variant}_finetune_with_pretrain"
    return [
        Job(pretrain, question, writes=pretrained, kind="pretrain", variant=variant),
        Job(
            finetune, question, reads=pretrained, writes=finetuned, kind="finetune", variant=variant
        ),
        *_evaluations(question, variant, "with_pretrain", finetuned, f"{variant}.pretrain"),
    ]


_SCRATCH = "vanilla_finetune_without_pretrain", "vanilla.model.params"

PROBLEM = Problem(
    code=("attention.py", "dataset.py", "helper.py", "model.py"),
    supplied=("trainer.py", "utils.py", "given/cuda_graphs.py", "given/epochs.py"),
    files=(
        *("data/wiki.txt", "data/birth_*", "data/laptop/*", "src/submission/mingpt-demo/*"),
        *("docs/running.md", "slurm.sbatch", "train_on_gpu.ipynb"),
    ),
    options="--submission, --out, --seed, --data",
    targets=(
        Job(_SCRATCH[0], "1e", writes=_SCRATCH[1], kind="finetune", variant="vanilla"),
        *_evaluations("1e", "vanilla", "without_pretrain", _SCRATCH[1], "vanilla.nopretrain"),
        *_with_pretraining("1f", "vanilla"),
        *_with_pretraining("1h", "rope"),
        Target(
            "show_corruption",
            "1c",
            "your span corruption: examples, and a plot beside what is asked",
            "dataset.py",
            writes="span_corruption.png",
            data=True,
        ),
        Target(
            "look",
            "1h",
            "a page to play with: where your trained models look, letter by letter; seconds",
            writes="look.html",
        ),
    ),
)
